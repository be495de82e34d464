//! Made-up stacks, profiles, lock tables and digests for a story.

use model::{
    ChainLink, FrameSide, Holder, HolderBy, LockCaller, LockRow, LockTable, NamedBy, Profile,
    ProfileCount, QueryClass, QueryDigest, QueryMeasure, QueryMethod, RunState, SnapshotMeta,
    SnapshotMethod, StackEnd, StackEvidence, StackFrame, StackId, StackTable, ThreadRun,
    TimedDigest, WaitChain, WaitCounting, Window,
};

/// Threads in one place: how many, their name, their state, their frames, innermost first; a frame
/// of the kernel begins with `k:`.
pub type Threads = (u32, &'static str, RunState, &'static [&'static str]);

/// Samples a second of the server in one place.
pub type Samples = (u64, &'static [&'static str]);

/// A lock with waiters: name, threads that wait, one caller's path, and who holds it.
#[derive(Clone)]
pub struct Lock {
    pub name: &'static str,
    pub waiters: u32,
    pub path: &'static [&'static str],
    pub holder: Option<(&'static str, &'static [&'static str])>,
}

/// Statements of one class a second, with the seconds of all of them.
#[derive(Clone)]
pub struct Asked {
    pub way: QueryMethod,
    pub kind: &'static str,
    pub fingerprint: &'static str,
    pub before: u64,
    pub during: u64,
    pub seconds_each: Option<f64>,
}

#[derive(Clone, Default)]
pub struct Deep {
    pub threads_before: Vec<Threads>,
    pub threads_during: Vec<Threads>,
    pub samples_before: Vec<Samples>,
    pub samples_during: Vec<Samples>,
    pub locks: Vec<Lock>,
    /// Indices of `locks`, the crowd first.
    pub chains: Vec<Vec<usize>>,
    pub asked: Vec<Asked>,
    pub no_stacks: bool,
    pub no_profile: bool,
}

const IDLE: Threads = (
    56,
    "mysqld",
    RunState::Sleeping,
    &["k:do_poll", "poll", "vio_io_wait", "do_command"],
);
const WORKING: Threads = (
    3,
    "mysqld",
    RunState::Running,
    &["row_search_mvcc", "ha_innobase::index_read", "do_command"],
);
const COMMITTING: Threads = (
    1,
    "mysqld",
    RunState::Sleeping,
    &[
        "k:blkdev_issue_flush",
        "fsync",
        "log_write_up_to",
        "trx_commit",
    ],
);
const HEALTHY_SAMPLES: [Samples; 4] = [
    (
        20,
        &["row_search_mvcc", "ha_innobase::index_read", "do_command"],
    ),
    (8, &["k:tcp_sendmsg", "send", "net_flush", "do_command"]),
    (3, &["malloc", "my_malloc", "do_command"]),
    (
        2,
        &["k:finish_task_switch", "futex_wait", "poll", "do_command"],
    ),
];

impl Deep {
    /// Sessions that mostly wait for their clients.
    pub fn healthy() -> Self {
        let threads = vec![IDLE, WORKING, COMMITTING];
        Self {
            threads_before: threads.clone(),
            threads_during: threads,
            samples_before: HEALTHY_SAMPLES.to_vec(),
            samples_during: HEALTHY_SAMPLES.to_vec(),
            ..Self::default()
        }
    }

    pub fn evidence(&self, onset_s: u64, end_s: u64, to_s: u64) -> StackEvidence {
        let mut book = StackTable::default();
        let mut evidence = StackEvidence::default();
        let phases = [
            (0, onset_s, &self.threads_before, &self.samples_before),
            (onset_s, end_s, &self.threads_during, &self.samples_during),
            (end_s, to_s, &self.threads_before, &self.samples_before),
        ];
        let mut tid = 100;
        for (from_s, to_s, threads, samples) in phases {
            if to_s <= from_s {
                continue;
            }
            if !self.no_stacks {
                // The phase's first snapshot is one second after it began.
                let mut total = 0;
                for (count, name, state, frames) in threads {
                    total += count;
                    let stack = intern(&mut book, frames);
                    for _ in 0..*count {
                        tid += 1;
                        evidence.runs.push(ThreadRun {
                            tid,
                            name: (*name).to_owned(),
                            from: (from_s + 1) * 1000,
                            to: to_s * 1000,
                            snapshots: (to_s - from_s) as u32,
                            unmoved: false,
                            state: *state,
                            syscall: None,
                            stack,
                        });
                    }
                }
                for second in from_s + 1..=to_s {
                    evidence.snapshots.push(SnapshotMeta {
                        at: second * 1000,
                        method: SnapshotMethod::Bpf,
                        wall_us: 300,
                        stopped_us: 0,
                        threads: total,
                        complete: total,
                    });
                }
            }
            if !self.no_profile {
                evidence
                    .profiles
                    .push(profile(&mut book, from_s, to_s, samples));
            }
        }
        if !self.no_stacks {
            evidence.locks.push(self.table(&mut book, onset_s));
        }
        evidence.table = book;
        evidence
    }

    fn table(&self, book: &mut StackTable, onset_s: u64) -> LockTable {
        let micros = 2e6;
        let holder = |book: &mut StackTable, lock: &Lock| {
            lock.holder.map(|(doing, frames)| Holder {
                tid: 7,
                name: "mysqld".to_owned(),
                by: HolderBy::OwnerField,
                snapshots: 15,
                stack: intern(book, frames),
                doing: doing.to_owned(),
            })
        };
        let locks = self
            .locks
            .iter()
            .map(|lock| LockRow {
                name: lock.name.to_owned(),
                named_by: NamedBy::Symbol,
                address: 0x1000,
                waiters_max: lock.waiters,
                waits: u64::from(lock.waiters) * 20,
                total_us: f64::from(lock.waiters) * micros,
                max_us: micros,
                share: f64::from(lock.waiters) / 60.0,
                callers: vec![LockCaller {
                    path: lock.path.iter().map(|name| (*name).to_owned()).collect(),
                    stack: StackId(0),
                    waits: u64::from(lock.waiters) * 20,
                    total_us: f64::from(lock.waiters) * micros,
                    max_us: micros,
                }],
                holders: holder(book, lock).into_iter().collect(),
            })
            .collect();
        let chains = self
            .chains
            .iter()
            .map(|chain| WaitChain {
                links: chain
                    .iter()
                    .filter_map(|index| self.locks.get(*index))
                    .map(|lock| ChainLink {
                        lock: lock.name.to_owned(),
                        waiters: lock.waiters,
                        holder: holder(book, lock),
                    })
                    .collect(),
                circular: false,
            })
            .collect();
        LockTable {
            from: (onset_s + 3) * 1000,
            to: (onset_s + 5) * 1000,
            depth: WaitCounting::Sampled {
                snapshots: 20,
                interval_ms: 100.0,
            },
            locks,
            conditions: Vec::new(),
            idle_threads: 40,
            chains,
            kernel_locks: Vec::new(),
            absent: Vec::new(),
        }
    }

    pub fn queries(&self, onset_s: u64, end_s: u64) -> Vec<TimedDigest> {
        let mut digests: Vec<TimedDigest> = Vec::new();
        for (from_s, to_s, stalls) in [(0, onset_s, false), (onset_s, end_s, true)] {
            for asked in &self.asked {
                let window = Window {
                    from: from_s * 1000,
                    to: to_s * 1000,
                };
                let rate = if stalls { asked.during } else { asked.before };
                let count = rate * (to_s - from_s);
                let class = QueryClass {
                    fingerprint: asked.fingerprint.to_owned(),
                    kind: asked.kind.to_owned(),
                    count,
                    measures: asked
                        .seconds_each
                        .map(|seconds| QueryMeasure {
                            name: "Query_time".to_owned(),
                            count,
                            sum: seconds * count as f64,
                            ..QueryMeasure::default()
                        })
                        .into_iter()
                        .collect(),
                    ..QueryClass::default()
                };
                let same = digests
                    .iter_mut()
                    .find(|one| one.digest.method == asked.way && one.window == window);
                match same {
                    Some(timed) => {
                        timed.digest.count += count;
                        timed.digest.classes.push(class);
                    }
                    None => digests.push(TimedDigest {
                        window,
                        digest: QueryDigest {
                            tried: Vec::new(),
                            method: asked.way,
                            from_us: None,
                            to_us: None,
                            count,
                            errors: None,
                            classes: vec![class],
                            folded: None,
                            lost: 0,
                            blind: Vec::new(),
                            connections: None,
                        },
                    }),
                }
            }
        }
        digests
    }
}

fn profile(book: &mut StackTable, from_s: u64, to_s: u64, samples: &[Samples]) -> Profile {
    Profile {
        from: from_s * 1000,
        to: to_s * 1000,
        hz: 49,
        processors: 4,
        counts: samples
            .iter()
            .map(|(rate, frames)| ProfileCount {
                stack: intern(book, frames),
                thread: "mysqld".to_owned(),
                server: true,
                count: rate * (to_s - from_s),
            })
            .collect(),
        lost: 0,
    }
}

fn intern(book: &mut StackTable, frames: &[&str]) -> StackId {
    let frames: Vec<StackFrame> = frames
        .iter()
        .map(|name| {
            let (name, side) = match name.strip_prefix("k:") {
                Some(name) => (name, FrameSide::Kernel),
                None => (*name, FrameSide::User),
            };
            StackFrame {
                name: name.to_owned(),
                image: if side == FrameSide::Kernel {
                    "[kernel]"
                } else {
                    "mysqld"
                }
                .to_owned(),
                side,
                nameless: None,
            }
        })
        .collect();
    book.intern(frames, StackEnd::Complete)
}
