//! A synthetic incident: a flood of SHOW WARNINGS stalls a server for 67 seconds.
//!
//! Shared by the tests and by the example that prints a page.

pub(crate) mod verdict;

use std::collections::BTreeMap;

use model::{
    Absent, Clock, Fact, Incident, ProbeOutcome, ProcessList, Reading, Reason, Server, Session,
    Stall, TextKind, TimedAbsent, TimedFact, TimedText, Timeline, Trigger, Unit, Window,
};

pub(crate) use verdict::verdict;

pub(crate) const ONSET_S: u64 = 240;
const TRIGGER_S: u64 = 246;
pub(crate) const END_S: u64 = 307;
const LAST_S: u64 = 360;

/// The incident.
pub(crate) fn incident() -> Incident {
    Incident {
        mentions: Vec::new(),
        known_words: Vec::new(),
        id: "3306-20240512T031605Z".to_owned(),
        host: "db7.example".to_owned(),
        tool_version: "0.1.0".to_owned(),
        server: Server {
            label: "3306".to_owned(),
            version: "8.0.36 MySQL Community Server - GPL".to_owned(),
            pid: Some(4711),
            address: "socket /run/mysqld/mysqld.sock".to_owned(),
        },
        clock: Clock {
            wall_at_zero_ms: 1_715_483_525_120,
            boot_id: String::new(),
        },
        stall: Stall {
            earlier: Vec::new(),
            onset: ONSET_S * 1000,
            trigger: TRIGGER_S * 1000,
            end: Some(END_S * 1000),
            triggers: vec![
                Trigger {
                    rule: "system-cpu".to_owned(),
                    says: "system CPU 78 % of all CPUs for 5 s, limit 40 %".to_owned(),
                },
                Trigger {
                    rule: "query-probe".to_owned(),
                    says: "3 of the last 5 probes had no answer within 2 s".to_owned(),
                },
            ],
        },
        window: Window {
            from: 0,
            to: LAST_S * 1000,
        },
        timeline: timeline(),
        texts: texts(),
        facts: facts(),
        stacks: model::StackEvidence::default(),
        queries: Vec::new(),
        absent: vec![
            TimedAbsent {
                first: 251_000,
                last: 262_000,
                count: 12,
                absent: Absent::new(
                    "status",
                    Reason::Deadline,
                    "SHOW GLOBAL STATUS was not back after 900 ms",
                ),
            },
            TimedAbsent {
                first: 0,
                last: 360_000,
                count: 361,
                absent: Absent::new(
                    "cgroup",
                    Reason::Unsupported,
                    "the server is in the root cgroup",
                ),
            },
        ],
    }
}

fn timeline() -> Timeline {
    let mut timeline = Timeline::default();
    let mut noise = Noise(7);
    let mut sums: BTreeMap<&'static str, f64> = BTreeMap::new();
    for second in 0..=LAST_S {
        let at = second * 1000;
        let bad = stalled(second);
        let flood = if (ONSET_S - 8..END_S + 3).contains(&second) {
            1.0
        } else {
            0.0
        };
        let mut grow = |name: &'static str, unit, by: f64| {
            let sum = sums.entry(name).or_insert(1e6);
            *sum += by.max(0.0);
            Reading::counter(name, unit, sum.round())
        };
        let mut near = |value: f64| value * (0.85 + 0.3 * noise.next());
        let system = near(0.06 + 0.72 * bad);
        timeline.push_readings(
            "cpu",
            at + 20,
            &[
                Reading::gauge("cpu.system_share", Unit::Share, system),
                Reading::gauge(
                    "cpu.busy_share",
                    Unit::Share,
                    system + near(0.31 - 0.2 * bad),
                ),
                Reading::gauge("cpu.iowait_share", Unit::Share, near(0.01)),
                Reading::gauge("cpu.steal_share", Unit::Share, 0.0),
                Reading::gauge(
                    "cpu.procs_running",
                    Unit::Count,
                    near(9.0 + 140.0 * bad).round(),
                ),
                Reading::gauge("cpu.procs_blocked", Unit::Count, near(1.0).round()),
                grow(
                    "cpu.context_switches",
                    Unit::Count,
                    near(82e3 + 900e3 * bad),
                ),
                grow("vmstat.compact_stall", Unit::Count, 0.0),
                grow("vmstat.compact_fail", Unit::Count, 0.0),
                grow("vmstat.allocstall_normal", Unit::Count, 0.0),
                Reading::gauge("meminfo.MemAvailable", Unit::Bytes, near(1.0) * 1e8 + 61e9),
                Reading::gauge("meminfo.MemFree", Unit::Bytes, near(1.0) * 1e8 + 9e9),
                grow("psi.cpu.some_us", Unit::Microseconds, near(4e4 + 7e5 * bad)),
                grow("psi.memory.some_us", Unit::Microseconds, 0.0),
                grow("psi.io.some_us", Unit::Microseconds, near(9e3)),
            ],
        );
        let writes = near(400.0 - 300.0 * bad);
        timeline.push_readings(
            "disk",
            at + 30,
            &[
                grow("disk.nvme0n1.writes", Unit::Count, writes),
                grow(
                    "disk.nvme0n1.write_ms",
                    Unit::Milliseconds,
                    writes * near(0.4),
                ),
                grow("disk.nvme0n1.reads", Unit::Count, near(90.0)),
                grow("disk.nvme0n1.read_ms", Unit::Milliseconds, near(25.0)),
                grow(
                    "disk.nvme0n1.busy_ms",
                    Unit::Milliseconds,
                    near(110.0 - 80.0 * bad),
                ),
            ],
        );
        timeline.push_readings(
            "threads",
            at + 60,
            &[
                grow(
                    "threads.by_name.connection.run_ns",
                    Unit::Nanoseconds,
                    near(9e9 + 16e9 * bad),
                ),
                grow(
                    "threads.by_name.connection.wait_ns",
                    Unit::Nanoseconds,
                    near(3e8 + 9e10 * bad),
                ),
                Reading::gauge("threads.by_name.connection.count", Unit::Count, 412.0),
                grow(
                    "threads.by_name.ib_log_writer.run_ns",
                    Unit::Nanoseconds,
                    near(2e8),
                ),
                grow(
                    "threads.by_name.ib_log_writer.wait_ns",
                    Unit::Nanoseconds,
                    near(1e6),
                ),
                Reading::gauge("threads.by_name.ib_log_writer.count", Unit::Count, 1.0),
                Reading::gauge(
                    "accept_queue.tcp.length",
                    Unit::Count,
                    near(60.0 * bad).round(),
                ),
                Reading::gauge("accept_queue.tcp.limit", Unit::Count, 151.0),
            ],
        );
        // The server does not answer in time while it stalls hardest.
        let warnings = grow(
            "status.Com_show_warnings",
            Unit::Count,
            near(3.0 + 46_800.0 * flood),
        );
        let sent = grow("status.Bytes_sent", Unit::Bytes, near(11e6 + 19e6 * flood));
        let queries = near(21_400.0 - 17_000.0 * bad);
        let selects = grow("status.Com_select", Unit::Count, queries * 0.8);
        let updates = grow("status.Com_update", Unit::Count, queries * 0.1);
        let questions = grow(
            "status.Questions",
            Unit::Count,
            queries + near(46_800.0 * flood),
        );
        if !(251..=262).contains(&second) {
            timeline.push_readings(
                "status",
                at + 40,
                &[
                    warnings,
                    sent,
                    selects,
                    updates,
                    questions,
                    Reading::gauge(
                        "status.Threads_running",
                        Unit::Count,
                        near(14.0 + 330.0 * bad).round(),
                    ),
                    Reading::gauge(
                        "status.Threads_connected",
                        Unit::Count,
                        near(420.0 + 300.0 * bad).round(),
                    ),
                ],
            );
        }
        if second % 10 == 0 {
            timeline.push_readings(
                "innodb-status",
                at + 50,
                &[
                    Reading::gauge("innodb.semaphore_waits", Unit::Count, 0.0),
                    Reading::gauge(
                        "innodb.active_transactions",
                        Unit::Count,
                        near(12.0 + 20.0 * bad).round(),
                    ),
                    Reading::gauge(
                        "innodb.history_list_length",
                        Unit::Count,
                        near(1800.0).round(),
                    ),
                ],
            );
            timeline.push_readings(
                "sessions",
                at + 55,
                &[Reading::gauge(
                    "sessions.compressed",
                    Unit::Count,
                    near(4.0 + 396.0 * flood).round(),
                )],
            );
        }
        let slow = bad > 0.9 && noise.next() < 0.3;
        for beat in 0..if slow { 1 } else { 5 } {
            let (took, outcome) = match slow {
                true => (2e6, ProbeOutcome::TimedOut),
                false => (
                    310.0 + 300_000.0 * bad * noise.next().powi(3) + 300.0 * noise.next().powi(8),
                    ProbeOutcome::Ok,
                ),
            };
            timeline.push_readings(
                "probe",
                at + 70 + beat * 180,
                &[
                    Reading::gauge("probe.query_us", Unit::Microseconds, took),
                    Reading::gauge("probe.query_outcome", Unit::Code, outcome.code()),
                ],
            );
        }
        timeline.push_readings(
            "connect",
            at + 80,
            &[Reading::gauge(
                "probe.connect_us",
                Unit::Microseconds,
                900.0 + 400_000.0 * bad * noise.next(),
            )],
        );
    }
    timeline
}

/// How hard the server stalls, 0 to 1.
fn stalled(second: u64) -> f64 {
    match second {
        ONSET_S..END_S => ((second - ONSET_S) as f64 / 6.0).min(1.0),
        END_S..=310 => 0.3,
        _ => 0.0,
    }
}

/// Numbers that look random and are the same every time.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

fn processlist(bad: f64) -> ProcessList {
    let counts = |pairs: &[(&str, f64)]| {
        pairs
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count as u64))
            .filter(|(_, count)| *count > 0)
            .collect::<BTreeMap<String, u64>>()
    };
    let session = |id: u64| {
        Session {
        id,
        user: if id.is_multiple_of(3) { "reports" } else { "shop_api" }.to_owned(),
        host: format!("10.4.7.{}", id % 40 + 10),
        db: "shop".to_owned(),
        command: "Query".to_owned(),
        seconds: (7 + 60 / (1 + id % 9)) as f64 * bad.max(0.1),
        state: if id.is_multiple_of(5) { "Sending to client" } else { "starting" }.to_owned(),
        statement: if id.is_multiple_of(3) {
            "SELECT `o`.`id`, `o`.`total` FROM `orders` AS `o` WHERE `o`.`customer_id` = ? AND `o`.`placed_at` > ? ORDER BY `o`.`placed_at` DESC LIMIT ?"
        } else {
            "SHOW WARNINGS"
        }
        .to_owned(),
    }
    };
    ProcessList {
        sessions: (420.0 + 300.0 * bad) as u64,
        by_command: counts(&[
            ("Query", 14.0 + 330.0 * bad),
            ("Sleep", 402.0 - 40.0 * bad),
            ("Daemon", 2.0),
            ("Binlog Dump", 2.0),
        ]),
        by_state: counts(&[
            ("starting", 3.0 + 290.0 * bad),
            ("Sending to client", 2.0 + 35.0 * bad),
            ("executing", 6.0),
            ("updating", 3.0),
        ]),
        by_user: counts(&[
            ("shop_api", 9.0 + 318.0 * bad),
            ("reports", 4.0 + 12.0 * bad),
            ("batch", 1.0),
        ]),
        by_class: counts(&[
            ("show warnings", 1.0 + 318.0 * bad),
            ("select", 9.0 + 14.0 * bad),
            ("update", 3.0),
            ("commit", 1.0),
        ]),
        longest: (0..12).map(|id| session(81_233 + id * 7)).collect(),
        idle: Vec::new(),
        idle_count: 0,
        replicas: Vec::new(),
    }
}

fn texts() -> Vec<TimedText> {
    let mut texts: Vec<TimedText> = (0..LAST_S / 10)
        .map(|tenth| {
            let body =
                serde_json::to_string(&processlist(stalled(tenth * 10 + 5))).unwrap_or_default();
            let text = server_text::stored(TextKind::Processlist, &body);
            TimedText {
                at: (tenth * 10 + 5) * 1000,
                text,
            }
        })
        .collect();
    let status = "\n=====================================\nINNODB MONITOR OUTPUT\n=====================================\n\
        Per second averages calculated from the last 10 seconds\n----------\nSEMAPHORES\n----------\n\
        OS WAIT ARRAY INFO: reservation count 8812\nRW-shared spins 0, rounds 0, OS waits 0\n\
        --------------\nROW OPERATIONS\n--------------\n0 queries inside InnoDB, 0 queries in queue\n";
    for at in [231_000, 247_000] {
        let text = server_text::stored(TextKind::InnodbStatus, status);
        texts.push(TimedText { at, text });
    }
    let threads = r#"[{"tid":4802,"name":"connection","state":"R","run_ms":940.2,"wait_ms":55.0},{"tid":4811,"name":"connection","state":"R","run_ms":913.7,"wait_ms":81.4}]"#;
    texts.push(TimedText {
        at: 248_000,
        text: server_text::stored(TextKind::Threads, threads),
    });
    texts.sort_by_key(|timed| timed.at);
    texts
}

fn facts() -> Vec<TimedFact> {
    let mut facts: Vec<TimedFact> = [
        ("server.version", "8.0.36"),
        ("server.exe", "/usr/sbin/mysqld"),
        ("server.allocator", "glibc or linked in"),
        ("host.kernel", "6.1.0-21-amd64"),
        ("host.cpus", "32"),
        ("host.memory_bytes", "137438953472"),
        ("thp.enabled", "always [madvise] never"),
        ("thp.defrag", "always defer defer+madvise [madvise] never"),
        ("thp.server", "0"),
        ("variables.max_connections", "1000"),
        ("variables.innodb_buffer_pool_size", "85899345920"),
        ("variables.innodb_flush_log_at_trx_commit", "1"),
        ("variables.sync_binlog", "1"),
        ("variables.protocol_compression_algorithms", "zlib,zstd,uncompressed"),
        ("variables.sql_mode", "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"),
        ("variables.max_error_count", "1024"),
        ("variables.long_query_time", "10.000000"),
    ]
    .into_iter()
    .map(|(name, value)| TimedFact { at: 0, fact: Fact::new(name, value) })
    .collect();
    facts.push(TimedFact {
        at: 232_000,
        fact: Fact::new("variables.max_error_count", "65535"),
    });
    facts
}
