//! The stacks of a made incident: snapshots of threads, profiles, tables of locks.

use model::{
    ChainLink, FrameSide, Holder, HolderBy, LockCaller, LockRow, LockTable, Millis, NamedBy,
    Profile, ProfileCount, RunState, SnapshotMeta, SnapshotMethod, StackEnd, StackEvidence,
    StackFrame, StackId, StackTable, ThreadRun, WaitChain, WaitCounting,
};

use super::{IncidentSize, Numbers, ONSET_MS, TRIGGER_MS};

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

pub(super) fn stacks(size: &IncidentSize, end: Millis, numbers: &mut Numbers) -> StackEvidence {
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
        table: book,
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
