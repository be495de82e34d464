//! Incidents and samples for the tests of the store.

use model::{
    Absent, Callers, ChainLink, Clock, Counted, Fact, FrameSide, FutexWait, Holder, HolderBy,
    Incident, LockCaller, LockRow, LockTable, Millis, NamedBy, Profile, ProfileCount, QueryClass,
    QueryDigest, QueryMeasure, QueryMethod, Reading, Reason, RunState, Sample, Server,
    SnapshotMeta, SnapshotMethod, SourceData, StackEnd, StackEvidence, StackFrame, StackTable,
    Stall, Syscall, TextKind, ThreadRun, TimedAbsent, TimedDigest, TimedFact, TimedText, Timeline,
    Trigger, Unit, UnnamedReason, WaitChain, WaitCounting, Window,
};

pub fn clock() -> Clock {
    Clock {
        wall_at_zero_ms: 1_790_000_000_000,
        boot_id: "b00t".into(),
    }
}

pub fn server() -> Server {
    Server {
        label: "3306".into(),
        version: "10.11.19-MariaDB".into(),
        pid: Some(42),
        address: "socket /tmp/s".into(),
    }
}

pub fn stall() -> Stall {
    Stall {
        earlier: Vec::new(),
        onset: 60_500,
        trigger: 62_000,
        end: Some(80_000),
        triggers: vec![Trigger {
            rule: "system-cpu".into(),
            says: "80 %".into(),
        }],
    }
}

/// A second of a server: a counter, a share, a signal that is there only at times.
pub fn sample(second: u64) -> Sample {
    let mut readings = vec![
        Reading::counter(
            "status.Questions",
            Unit::Count,
            1e9 + second as f64 * 1234.0,
        ),
        Reading::gauge("cpu.system_share", Unit::Share, (second % 7) as f64 / 10.0),
        Reading::gauge("status.Threads_running", Unit::Count, 4.0),
    ];
    if second.is_multiple_of(5) {
        readings.push(Reading::gauge("thread.odd", Unit::Count, second as f64));
    }
    Sample {
        source: "status",
        at: second * 1000,
        took_us: 250,
        outcome: Ok(SourceData {
            readings,
            ..SourceData::default()
        }),
    }
}

pub fn timeline(seconds: std::ops::Range<u64>) -> Timeline {
    let mut timeline = Timeline::default();
    for second in seconds {
        timeline.push(&sample(second));
    }
    timeline
}

pub fn incident() -> Incident {
    let at: Millis = 61_000;
    Incident {
        mentions: Vec::new(),
        known_words: Vec::new(),
        id: "3306-20260921T000000Z".into(),
        host: "db1".into(),
        tool_version: "0.1.0".into(),
        server: server(),
        clock: clock(),
        stall: Stall {
            earlier: vec![
                Window {
                    from: 100,
                    to: 1_100,
                },
                Window {
                    from: 2_000,
                    to: 2_500,
                },
                Window {
                    from: 2_000,
                    to: 31_000,
                },
            ],
            ..stall()
        },
        window: Window {
            from: 500,
            to: 110_000,
        },
        timeline: timeline(1..110),
        texts: vec![TimedText {
            at,
            text: server_text::stored(TextKind::InnodbStatus, "=====\nINNODB MONITOR OUTPUT"),
        }],
        stacks: stacks(),
        queries: queries(),
        facts: vec![TimedFact {
            at,
            fact: Fact::new("variables.max_connections", "151"),
        }],
        absent: vec![TimedAbsent {
            first: at,
            last: at + 3000,
            count: 3,
            absent: Absent::new("processlist", Reason::Deadline, "no answer for 3 s"),
        }],
    }
}

/// Two threads, one behind the other, a profile and a lock table.
/// A flood as packets show it.
pub fn queries() -> Vec<TimedDigest> {
    let class = QueryClass {
        fingerprint: "show warnings".to_owned(),
        id: "1f0c3a2b4d5e6f70".to_owned(),
        kind: "show warnings".to_owned(),
        count: 76_000,
        errors: Some(0),
        measures: vec![QueryMeasure {
            name: "Query_time".to_owned(),
            count: 76_000,
            sum: 12.5,
            p95: Some(0.0004),
            quantile_error: Some(0.01),
            decades: vec![0, 3, 75_000, 997, 0, 0, 0, 0],
            ..QueryMeasure::default()
        }],
        users: vec![Counted {
            name: "app".to_owned(),
            count: 76_000,
        }],
        ..QueryClass::default()
    };
    vec![TimedDigest {
        window: Window {
            from: 60_500,
            to: 70_500,
        },
        digest: QueryDigest {
            tried: Vec::new(),
            method: QueryMethod::Packets,
            from_us: Some(1_795_233_862_457_000),
            to_us: Some(1_795_233_872_457_000),
            count: 76_000,
            errors: Some(0),
            classes: vec![class],
            folded: None,
            lost: 12,
            blind: vec![Absent::new(
                "sessions with TLS",
                Reason::Unsupported,
                "3 connections cannot be read",
            )],
            connections: None,
        },
    }]
}

pub fn stacks() -> StackEvidence {
    let frame = |name: &str, side| StackFrame {
        name: name.into(),
        image: "mysqld".into(),
        side,
        nameless: None,
    };
    let mut book = StackTable::default();
    let waiting = book.intern(
        [
            frame("futex_wait", FrameSide::Kernel),
            frame("pthread_mutex_lock", FrameSide::User),
            StackFrame {
                nameless: Some(UnnamedReason::NoSymbol),
                ..frame("mysqld+0x7a10", FrameSide::User)
            },
        ],
        StackEnd::Complete,
    );
    let working = book.intern([frame("free", FrameSide::User)], StackEnd::TooDeep);
    let run = |tid, stack, syscall| ThreadRun {
        tid,
        name: "connection".into(),
        from: 61_000,
        to: 63_000,
        snapshots: 3,
        unmoved: true,
        state: RunState::Sleeping,
        syscall,
        stack,
    };
    let futex = Syscall {
        number: 202,
        name: "futex".into(),
        futex: Some(FutexWait {
            address: 0x7f00_0000_1000,
            operation: 0x80,
            owner_word: 12,
            pointer_owner: 0,
            latch_owner: 13,
        }),
    };
    let holder = Holder {
        tid: 12,
        name: "connection".into(),
        by: HolderBy::OwnerField,
        snapshots: 3,
        stack: working,
        doing: "runs".into(),
    };
    StackEvidence {
        table: book,
        snapshots: vec![SnapshotMeta {
            at: 61_000,
            method: SnapshotMethod::Bpf,
            wall_us: 900,
            stopped_us: 0,
            threads: 2,
            complete: 1,
        }],
        runs: vec![run(11, waiting, Some(futex)), run(12, working, None)],
        profiles: vec![Profile {
            from: 60_000,
            to: 61_000,
            hz: 49,
            processors: 2,
            counts: vec![ProfileCount {
                stack: working,
                thread: "connection".into(),
                server: true,
                count: 42,
            }],
            lost: 1,
        }],
        callers: vec![Callers {
            profile: 0,
            counts: vec![ProfileCount {
                stack: waiting,
                thread: String::new(),
                server: true,
                count: 60,
            }],
        }],
        locks: vec![LockTable {
            from: 61_000,
            to: 63_000,
            depth: WaitCounting::Sampled {
                snapshots: 3,
                interval_ms: 1000.0,
            },
            locks: vec![LockRow {
                name: "kernel_mutex".into(),
                named_by: NamedBy::CallPath,
                address: 0x7f00_0000_1000,
                waiters_max: 1,
                waits: 1,
                total_us: 2e6,
                max_us: 2e6,
                share: 0.5,
                callers: vec![LockCaller {
                    path: vec!["row_search_for_mysql".into()],
                    stack: waiting,
                    waits: 1,
                    total_us: 2e6,
                    max_us: 2e6,
                }],
                holders: vec![holder.clone()],
            }],
            conditions: Vec::new(),
            idle_threads: 0,
            chains: vec![WaitChain {
                links: vec![ChainLink {
                    lock: "kernel_mutex".into(),
                    waiters: 1,
                    holder: Some(holder),
                }],
                circular: false,
            }],
            kernel_locks: Vec::new(),
            absent: Vec::new(),
        }],
    }
}
