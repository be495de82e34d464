//! An incident made by code: the same bytes for the same size, whatever machine it is made on.
//! For measuring how long a verdict takes and for tests that compare bytes. Its story is the
//! published one of a mutex whose holder waits for the allocator; its numbers are made up.

use std::borrow::Cow;

use model::{
    Absent, Clock, Counted, Fact, Incident, Millis, ProcessList, QueryClass, QueryDigest,
    QueryMeasure, QueryMethod, Reading, Reason, Server, Session, Stall, TextKind, TimedAbsent,
    TimedDigest, TimedFact, TimedText, Timeline, Trigger, Unit, Window,
};

use self::stacks::stacks;

mod stacks;

/// How much is in an incident.
#[derive(Debug, Clone, Copy)]
pub struct IncidentSize {
    /// Its length.
    pub seconds: u64,
    /// Threads of the server.
    pub threads: u32,
    /// Threads of them whose stack changes from second to second.
    pub busy_threads: u32,
    /// Signals, beside those that the story needs.
    pub signals: usize,
    /// Distinct stacks.
    pub stacks: u32,
    /// Variables of the server.
    pub variables: usize,
    /// Locks in each lock table.
    pub locks: usize,
    /// Classes of statements in each digest.
    pub classes: usize,
    /// Sessions in each processlist.
    pub sessions: u64,
}

impl IncidentSize {
    /// The most that an incident holds: ten minutes of a server with a thousand threads.
    pub fn full() -> Self {
        Self {
            seconds: 600,
            threads: 1000,
            busy_threads: 100,
            signals: 760,
            stacks: 5000,
            variables: 700,
            locks: 60,
            classes: 200,
            sessions: 50,
        }
    }

    /// A minute and a half of a small server.
    pub fn small() -> Self {
        Self {
            seconds: 90,
            threads: 12,
            busy_threads: 3,
            signals: 6,
            stacks: 20,
            variables: 5,
            locks: 3,
            classes: 4,
            sessions: 5,
        }
    }
}

const ONSET_MS: Millis = 60_000;
const TRIGGER_MS: Millis = 62_000;

/// Numbers that look like chance and are the same everywhere (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below.max(1)
    }
}

/// The incident of this size.
pub fn made_incident(size: &IncidentSize) -> Incident {
    let mut numbers = Numbers(42);
    let end = (size.seconds.saturating_sub(20) * 1000).max(TRIGGER_MS + 1000);
    let stall = Stall {
        earlier: Vec::new(),
        onset: ONSET_MS,
        trigger: TRIGGER_MS,
        end: Some(end),
        triggers: vec![Trigger {
            rule: "running-threads".to_owned(),
            says: "412 threads run while completions fell to 3 % of their usual rate".to_owned(),
        }],
    };
    let window = Window {
        from: 0,
        to: size.seconds * 1000,
    };
    Incident {
        mentions: Vec::new(),
        known_words: Vec::new(),
        id: "3306-20240512T031300.000Z".to_owned(),
        host: "db1".to_owned(),
        tool_version: "0.1.0".to_owned(),
        server: Server {
            label: "3306".to_owned(),
            version: "5.5.9-log MySQL Community Server (GPL)".to_owned(),
            pid: Some(4711),
            address: "socket /run/mysqld/mysqld.sock".to_owned(),
        },
        clock: Clock {
            wall_at_zero_ms: 1_715_483_520_000,
            boot_id: String::new(),
        },
        timeline: timeline(size, end, &mut numbers),
        texts: texts(size, &mut numbers),
        facts: facts(size),
        stacks: stacks(size, end, &mut numbers),
        queries: queries(size, &mut numbers),
        absent: vec![TimedAbsent {
            first: 1000,
            last: size.seconds * 1000,
            count: size.seconds,
            absent: Absent::new(
                "cgroup",
                Reason::Unsupported,
                "the server is in the root cgroup",
            ),
        }],
        stall,
        window,
    }
}

/// Name, whether it counts, its value or rate before the onset and in the stall.
const SIGNALS: [(&str, bool, f64, f64); 18] = [
    ("cpu.system_share", false, 0.05, 0.62),
    ("cpu.user_share", false, 0.30, 0.25),
    ("cpu.context_switches", true, 9e3, 2e5),
    ("cpu.procs_running", false, 3.0, 40.0),
    ("probe.query_us", false, 300.0, 900_000.0),
    ("probe.query_outcome", false, 0.0, 0.0),
    ("process.user_ticks", true, 120.0, 100.0),
    ("process.system_ticks", true, 20.0, 240.0),
    ("status.Questions", true, 4000.0, 120.0),
    ("status.Com_select", true, 3000.0, 90.0),
    ("status.Com_update", true, 500.0, 10.0),
    ("status.Threads_running", false, 5.0, 412.0),
    ("status.Threads_connected", false, 400.0, 640.0),
    ("status.Innodb_row_lock_current_waits", false, 0.0, 2.0),
    ("disk.vda.reads", true, 30.0, 20.0),
    ("disk.vda.busy_ms", true, 50.0, 40.0),
    ("vmstat.compact_stall", true, 0.0, 0.0),
    ("vmstat.pgfault", true, 2000.0, 9000.0),
];

fn timeline(size: &IncidentSize, end: Millis, numbers: &mut Numbers) -> Timeline {
    let mut timeline = Timeline::default();
    let mut sums: Vec<f64> = vec![1e6; SIGNALS.len() + size.signals];
    for at in (1000..=size.seconds * 1000).step_by(1000) {
        let stalled = at >= ONSET_MS && at <= end;
        let mut by_source: [Vec<Reading>; 4] = Default::default();
        for (index, (name, counts, before, during)) in SIGNALS.iter().enumerate() {
            let level = if stalled { *during } else { *before };
            let value = if *counts {
                let sum = sums.get(index).copied().unwrap_or(0.0) + level;
                if let Some(slot) = sums.get_mut(index) {
                    *slot = sum;
                }
                sum
            } else {
                level
            };
            let source = match name.split('.').next() {
                Some("cpu" | "disk" | "vmstat") => 0,
                Some("process") => 1,
                Some("probe") => 2,
                _ => 3,
            };
            if let Some(readings) = by_source.get_mut(source) {
                readings.push(reading((*name).into(), *counts, value));
            }
        }
        for filler in 0..size.signals {
            let slot = sums.get_mut(SIGNALS.len() + filler);
            // Most of a server's counters stand still from second to second.
            let grown = if filler % 8 == 0 {
                numbers.next(100) as f64
            } else {
                0.0
            };
            let value = slot.map_or(0.0, |sum| {
                *sum += grown;
                *sum
            });
            let name = format!("status.Made_up_{filler}");
            if let Some(readings) = by_source.get_mut(3) {
                readings.push(reading(name.into(), true, value));
            }
        }
        for (source, readings) in ["stat", "process", "query-probe", "status"]
            .iter()
            .zip(&by_source)
        {
            timeline.push_readings(source, at, readings);
        }
    }
    timeline
}

fn reading(name: Cow<'static, str>, counts: bool, value: f64) -> Reading {
    let unit = match &*name {
        name if name.ends_with("_us") => Unit::Microseconds,
        name if name.ends_with("_share") => Unit::Share,
        _ => Unit::Count,
    };
    match counts {
        true => Reading::counter(name, unit, value),
        false => Reading::gauge(name, unit, value),
    }
}

const STATES: [&str; 4] = ["Sending data", "Updating", "Opening tables", "statistics"];

fn texts(size: &IncidentSize, numbers: &mut Numbers) -> Vec<TimedText> {
    let mut texts = Vec::new();
    for at in (1000..=size.seconds * 1000).step_by(1000) {
        let mut list = ProcessList {
            sessions: size.sessions,
            ..ProcessList::default()
        };
        for id in 0..size.sessions {
            let state = STATES
                .get(numbers.next(4) as usize)
                .copied()
                .unwrap_or_default();
            *list.by_state.entry(state.to_owned()).or_default() += 1;
            *list.by_command.entry("Query".to_owned()).or_default() += 1;
            *list.by_user.entry("app".to_owned()).or_default() += 1;
            *list.by_class.entry("select".to_owned()).or_default() += 1;
            list.longest.push(Session {
                id: id + 100,
                user: "app".to_owned(),
                host: format!("app{}.example", id % 7),
                db: "shop".to_owned(),
                command: "Query".to_owned(),
                seconds: numbers.next(30) as f64,
                state: state.to_owned(),
                statement: format!("SELECT name, price FROM stock_{} WHERE id = ?", id % 40),
            });
        }
        let body = serde_json::to_string(&list).unwrap_or_default();
        texts.push(text(at, TextKind::Processlist, body));
        if at % 10_000 == 0 {
            let mut body = "=====================================\nTRANSACTIONS\n".to_owned();
            for id in 0..size.sessions * 8 {
                body += &format!(
                    "---TRANSACTION {id:X}, ACTIVE {} sec starting index read\n\
                     mysql tables in use 1, locked 0\nMySQL thread id {id}, query id {}\n",
                    numbers.next(60),
                    numbers.next(1_000_000)
                );
            }
            texts.push(text(at, TextKind::InnodbStatus, body));
            texts.push(text(at, TextKind::Semaphores, "[]".to_owned()));
        }
    }
    texts
}

fn text(at: Millis, kind: TextKind, body: String) -> TimedText {
    TimedText {
        at,
        text: server_text::stored(kind, &body),
    }
}

fn facts(size: &IncidentSize) -> Vec<TimedFact> {
    let mut facts = vec![
        Fact::new("host.cpus", "16"),
        Fact::new("host.memory_bytes", "68719476736"),
        Fact::new("thp.enabled", "never"),
        Fact::new("server.allocator", "glibc"),
        Fact::new("server.version", "5.5.9-log"),
        Fact::new("variables.innodb_buffer_pool_size", "34359738368"),
        Fact::new("variables.innodb_thread_concurrency", "0"),
    ];
    facts.extend((0..size.variables).map(|n| {
        let name = format!("variables.made_up_{n}");
        Fact::new(name, format!("value {n}"))
    }));
    facts
        .into_iter()
        .map(|fact| TimedFact { at: 1000, fact })
        .collect()
}

fn queries(size: &IncidentSize, numbers: &mut Numbers) -> Vec<TimedDigest> {
    let mut digests = Vec::new();
    for from in (0..size.seconds * 1000).step_by(10_000) {
        let classes: Vec<QueryClass> = (0..size.classes)
            .map(|index| {
                let count = 1 + numbers.next(500);
                QueryClass {
                    fingerprint: format!("select name, price from stock_{index} where id = ?"),
                    id: format!("{index:016x}"),
                    kind: "SELECT".to_owned(),
                    count,
                    measures: vec![QueryMeasure {
                        name: "Query_time".to_owned(),
                        count,
                        sum: count as f64 * 0.001,
                        ..QueryMeasure::default()
                    }],
                    users: vec![Counted {
                        name: "app".to_owned(),
                        count,
                    }],
                    ..QueryClass::default()
                }
            })
            .collect();
        digests.push(TimedDigest {
            window: Window {
                from,
                to: from + 10_000,
            },
            digest: QueryDigest {
                tried: Vec::new(),
                method: QueryMethod::PerformanceSchema,
                from_us: None,
                to_us: None,
                count: classes.iter().map(|class| class.count).sum(),
                errors: None,
                classes,
                folded: None,
                lost: 0,
                blind: Vec::new(),
                connections: None,
            },
        });
    }
    digests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_size_gives_the_same_incident() {
        let size = IncidentSize::small();
        let made = made_incident(&size);
        assert_eq!(made, made_incident(&size));
        assert_eq!(made.stacks.runs.iter().map(|r| r.tid).max(), Some(5011));
        assert!(made.timeline.get("status.Made_up_5").is_some());
    }
}
