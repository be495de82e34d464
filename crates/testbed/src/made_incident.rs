//! An incident made by code: the same bytes for the same size, whatever machine it is made on.
//! For measuring how long a verdict takes and for tests that compare bytes. Its story is the
//! published one of a mutex whose holder waits for the allocator; its numbers are made up.

use std::borrow::Cow;

use model::{
    Absent, ChainLink, Clock, Counted, Fact, FrameSide, Holder, HolderBy, Incident, LockCaller,
    LockRow, LockTable, Millis, NamedBy, ProcessList, Profile, ProfileCount, QueryClass,
    QueryDigest, QueryMeasure, QueryMethod, Reading, Reason, RunState, Server, Session,
    SnapshotMeta, SnapshotMethod, StackEnd, StackEvidence, StackFrame, StackId, StackTable, Stall,
    TextKind, ThreadRun, TimedAbsent, TimedDigest, TimedFact, TimedText, Timeline, Trigger, Unit,
    WaitChain, WaitCounting, Window,
};

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
    if counts {
        Reading::counter(name, Unit::Count, value)
    } else {
        Reading::gauge(name, Unit::Count, value)
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

fn frame(name: impl Into<String>, side: FrameSide) -> StackFrame {
    StackFrame {
        name: name.into(),
        image: match side {
            FrameSide::Kernel => "[kernel]".to_owned(),
            FrameSide::User => "mysqld".to_owned(),
        },
        side,
        nameless: None,
    }
}

/// The stack of those that wait for the mutex, and that of its holder.
fn story(book: &mut StackTable) -> [StackId; 2] {
    let kernel =
        ["futex_wait_queue", "futex_wait", "do_futex"].map(|n| frame(n, FrameSide::Kernel));
    let user = |names: &[&str]| -> Vec<StackFrame> {
        names
            .iter()
            .map(|name| frame(*name, FrameSide::User))
            .collect()
    };
    let base = [
        "row_search_for_mysql",
        "handle_select",
        "mysql_execute_command",
        "dispatch_command",
        "do_handle_one_connection",
        "start_thread",
    ];
    let waits = [
        kernel.to_vec(),
        user(&["os_event_wait_low", "mutex_spin_wait", "trx_start_low"]),
        user(&base),
    ]
    .concat();
    let holds = [
        kernel.to_vec(),
        user(&[
            "__lll_lock_wait_private",
            "_int_free",
            "free",
            "mem_heap_block_free",
            "trx_commit_off_kernel",
        ]),
        user(&base),
    ]
    .concat();
    [
        book.intern(waits, StackEnd::Complete),
        book.intern(holds, StackEnd::Complete),
    ]
}

fn stacks(size: &IncidentSize, end: Millis, numbers: &mut Numbers) -> StackEvidence {
    let mut book = StackTable::default();
    let [waits, holds] = story(&mut book);
    let ids: Vec<StackId> = (0..size.stacks)
        .map(|_| {
            let depth = 12 + numbers.next(24);
            let frames: Vec<StackFrame> = (0..depth)
                .map(|level| match level {
                    0 => frame(
                        format!("kernel_fn_{}", numbers.next(300)),
                        FrameSide::Kernel,
                    ),
                    _ => frame(
                        format!("Made::up_fn_{}", numbers.next(2000)),
                        FrameSide::User,
                    ),
                })
                .collect();
            book.intern(frames, StackEnd::Complete)
        })
        .collect();
    let pick = |numbers: &mut Numbers| {
        let at = numbers.next(ids.len() as u64) as usize;
        ids.get(at).copied().unwrap_or(waits)
    };
    let mut moments: Vec<Millis> = (1000..=size.seconds * 1000).step_by(1000).collect();
    // The first burst, and the two latest ones.
    let bursts = [
        TRIGGER_MS,
        end.saturating_sub(70_000),
        end.saturating_sub(10_000),
    ];
    for (index, begin) in bursts.into_iter().enumerate() {
        let length = if index == 0 { 10_000 } else { 5000 };
        moments.extend((begin.max(TRIGGER_MS)..begin.max(TRIGGER_MS) + length).step_by(100));
    }
    moments.sort_unstable();
    moments.dedup();
    let notes = moments.iter().map(|at| SnapshotMeta {
        at: *at,
        method: SnapshotMethod::Bpf,
        wall_us: 13_000,
        stopped_us: 0,
        threads: size.threads,
        complete: size.threads,
    });
    let snapshots: Vec<SnapshotMeta> = notes.collect();
    let run = |tid: u32, stack, from, to, count, unmoved| ThreadRun {
        tid,
        name: "mysqld".to_owned(),
        from,
        to,
        snapshots: count,
        unmoved,
        state: RunState::Sleeping,
        syscall: None,
        stack,
    };
    let last = moments.last().copied().unwrap_or(1000);
    let in_stall = moments
        .iter()
        .filter(|at| (ONSET_MS..=end).contains(*at))
        .count() as u32;
    let mut runs = Vec::new();
    for index in 0..size.threads {
        let tid = 5000 + index;
        if index < size.busy_threads {
            for at in &moments {
                runs.push(run(tid, pick(numbers), *at, *at, 1, false));
            }
        } else if index % 3 == 0 {
            // One of those that the stall catches.
            let stack = if index % 30 == 0 { holds } else { waits };
            runs.push(run(tid, stack, ONSET_MS, end, in_stall, true));
        } else {
            let stack = pick(numbers);
            runs.push(run(tid, stack, 1000, last, moments.len() as u32, true));
        }
    }
    runs.sort_by_key(|run| run.from);
    let mut profiles = Vec::new();
    for from in (0..size.seconds * 1000).step_by(5000) {
        let mut counts: Vec<ProfileCount> = (0..size.stacks.min(300))
            .map(|_| ProfileCount {
                stack: pick(numbers),
                thread: "mysqld".to_owned(),
                server: true,
                count: 1 + numbers.next(4),
            })
            .collect();
        if from >= ONSET_MS && from < end {
            counts.push(ProfileCount {
                stack: waits,
                thread: "mysqld".to_owned(),
                server: true,
                count: 400,
            });
        }
        profiles.push(Profile {
            from,
            to: from + 5000,
            hz: 49,
            processors: 16,
            counts,
            lost: 0,
        });
    }
    let tables = (TRIGGER_MS..end).step_by(60_000);
    let locks = tables
        .map(|from| lock_table(size, from, [waits, holds], numbers))
        .collect();
    StackEvidence {
        book,
        snapshots,
        runs,
        profiles,
        callers: Vec::new(),
        locks,
    }
}

fn lock_table(
    size: &IncidentSize,
    from: Millis,
    [waits, holds]: [StackId; 2],
    numbers: &mut Numbers,
) -> LockTable {
    let holder = |tid: u32, doing: &str| Holder {
        tid,
        name: "mysqld".to_owned(),
        by: HolderBy::Stack,
        snapshots: 80,
        stack: holds,
        doing: doing.to_owned(),
    };
    let mut row = |name: String, waiters: u32, total_us: f64| LockRow {
        name,
        named_by: NamedBy::Symbol,
        address: 0x7f3a_0000_1000 + u64::from(waiters),
        waiters_max: waiters,
        waits: u64::from(waiters) * 50,
        total_us,
        max_us: 900_000.0,
        share: 0.6,
        callers: (0..4)
            .map(|caller| LockCaller {
                path: vec![
                    format!("trx_start_low_{caller}"),
                    "row_search_for_mysql".to_owned(),
                    "handle_select".to_owned(),
                ],
                stack: waits,
                waits: 10 + numbers.next(100),
                total_us: total_us / 4.0,
                max_us: 500_000.0,
            })
            .collect(),
        holders: vec![holder(5060, "waits for malloc arena main_arena")],
    };
    let mut locks = vec![
        row("kernel_mutex".to_owned(), 300, 2.9e9),
        row("malloc arena main_arena".to_owned(), 30, 3e8),
    ];
    for index in 0..size.locks {
        locks.push(row(format!("made_up_mutex_{index}"), 2, 1e5));
    }
    LockTable {
        from,
        to: from + 10_000,
        depth: WaitCounting::Sampled {
            snapshots: 100,
            interval_ms: 100.0,
        },
        locks,
        conditions: Vec::new(),
        idle_threads: size.threads / 2,
        chains: vec![WaitChain {
            links: vec![
                ChainLink {
                    lock: "kernel_mutex".to_owned(),
                    waiters: 300,
                    holder: Some(holder(5060, "waits for malloc arena main_arena")),
                },
                ChainLink {
                    lock: "malloc arena main_arena".to_owned(),
                    waiters: 30,
                    holder: None,
                },
            ],
            circular: false,
        }],
        kernel_locks: Vec::new(),
        absent: Vec::new(),
    }
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
                way: QueryMethod::PerformanceSchema,
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
