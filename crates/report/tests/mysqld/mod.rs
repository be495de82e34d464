//! Made-up stacks of a server: profiles with about 2,000 different stacks, snapshots and a lock
//! table in which 57 threads wait for `kernel_mutex`, whose holder waits in malloc.

use model::{
    Absent, ChainLink, FrameSide, FutexWait, Holder, HolderBy, Incident, KernelLockRow, LockCaller,
    LockRow, LockTable, Millis, NamedBy, Profile, ProfileCount, Reason, RunState, SnapshotMeta,
    SnapshotMethod, Stack, StackEnd, StackEvidence, StackFrame, StackId, StackTable, Syscall,
    ThreadRun, UnnamedReason, WaitChain, WaitCounting,
};

use crate::common::{END_S, Noise, ONSET_S};

/// From a thread's first function to where statements part, outermost first.
const TRUNK: &str = "clone3 start_thread handle_one_connection do_handle_one_connection do_command dispatch_command mysql_parse mysql_execute_command";

/// Statements, outermost first, with how often before and in the stall.
const STATEMENTS: [(&str, [u64; 2]); 7] = [
    (
        "handle_select mysql_select JOIN::exec do_select sub_select evaluate_join_record join_read_next_same ha_innobase::index_next_same ha_innobase::general_fetch row_search_for_mysql",
        [46, 20],
    ),
    (
        "handle_select mysql_select JOIN::optimize make_join_statistics get_quick_record_count SQL_SELECT::test_quick_select ha_innobase::records_in_range btr_estimate_n_rows_in_range",
        [12, 6],
    ),
    (
        "mysql_insert write_record handler::ha_write_row ha_innobase::write_row row_insert_for_mysql row_ins_step row_ins",
        [14, 12],
    ),
    (
        "mysql_update handler::ha_update_row ha_innobase::update_row row_update_for_mysql row_upd_step",
        [12, 10],
    ),
    (
        "trans_commit_stmt ha_commit_trans innobase_commit trx_commit_for_mysql",
        [10, 30],
    ),
    ("open_and_lock_tables open_tables open_table", [4, 5]),
    (
        "trans_begin innobase_start_trx_and_assign_read_view read_view_open_now",
        [2, 17],
    ),
];

/// What they end in, innermost last, with how often before and in the stall.
const LEAVES: [(&str, [u64; 2]); 16] = [
    (
        "btr_cur_search_to_nth_level page_cur_search_with_match cmp_dtuple_rec_with_match",
        [16, 6],
    ),
    ("btr_pcur_move_to_next buf_page_get_gen", [12, 5]),
    ("buf_page_get_gen buf_page_hash_get", [9, 3]),
    (
        "row_sel_store_mysql_rec row_sel_field_store_in_mysql_format memcpy",
        [12, 4],
    ),
    ("rec_get_offsets_func", [8, 3]),
    ("mem_heap_create_block malloc _int_malloc", [4, 9]),
    (
        "mem_heap_free free _int_free __lll_lock_wait k:entry_SYSCALL_64 k:do_syscall_64 k:do_futex k:futex_wait k:schedule",
        [1, 14],
    ),
    ("mutex_spin_wait ut_delay", [2, 23]),
    (
        "mutex_spin_wait os_thread_yield sched_yield k:entry_SYSCALL_64 k:do_syscall_64 k:do_sched_yield k:schedule",
        [1, 11],
    ),
    (
        "sync_array_wait_event os_event_wait_low pthread_cond_wait k:entry_SYSCALL_64 k:do_syscall_64 k:do_futex k:futex_wait k:__schedule k:finish_task_switch",
        [1, 12],
    ),
    ("lock_rec_lock lock_rec_has_to_wait_in_queue", [3, 5]),
    ("mtr_commit log_reserve_and_write_fast", [6, 2]),
    ("my_hash_search my_hash_first", [3, 1]),
    (
        "net_write_packet vio_write send k:entry_SYSCALL_64 k:do_syscall_64 k:__sys_sendto k:tcp_sendmsg k:tcp_write_xmit k:__tcp_transmit_skb k:ip_queue_xmit",
        [9, 3],
    ),
    ("mysqld+0x7a3f10", [4, 2]),
    (
        "operator·new std::vector<std::pair<unsigned·long,·TABLE*>,·Mem_root_allocator<std::pair<unsigned·long,·TABLE*>·>·>::_M_realloc_insert",
        [2, 2],
    ),
];

/// An incident with stacks, of which story S4 tells.
pub(crate) fn incident() -> Incident {
    Incident {
        stacks: evidence(),
        queries: Vec::new(),
        ..crate::common::incident()
    }
}

/// The profile before (`half` 0) and in the stall (1), of a server under load.
pub(crate) fn profile(book: &mut StackTable, half: usize) -> Profile {
    let mut noise = Noise(0x5eed + half as u64);
    let mut counts = Vec::new();
    for (statement, times) in STATEMENTS {
        for (leaf, leaf_times) in LEAVES {
            for variant in 0..18u64 {
                let middle = middle(variant);
                let all = times[half] * leaf_times[half];
                let count = (all as f64 * noise.next() / (1.0 + variant as f64)) as u64;
                if count == 0 {
                    continue;
                }
                let names = format!("{TRUNK} {statement} {middle} {leaf}");
                counts.push(ProfileCount {
                    stack: intern(book, &names, StackEnd::Complete),
                    thread: "mysqld".to_owned(),
                    server: true,
                    count,
                });
            }
        }
    }
    let others = [
        (
            "mysqld",
            "clone3 start_thread buf_flush_page_cleaner_thread buf_flush_list buf_flush_batch fil_io os_aio_func pwrite64 k:entry_SYSCALL_64 k:do_syscall_64 k:vfs_write k:ext4_file_write_iter",
            [90u64, 70u64],
            StackEnd::Complete,
        ),
        (
            "mysqld",
            "row_search_for_mysql btr_pcur_restore_position",
            [12, 9],
            StackEnd::TooDeep,
        ),
        (
            "kworker/3:1",
            "k:ret_from_fork k:kthread k:worker_thread k:process_one_work k:blk_mq_run_work_fn",
            [40, 44],
            StackEnd::KernelOnly,
        ),
        (
            "kswapd0",
            "k:ret_from_fork k:kthread k:kswapd k:balance_pgdat k:shrink_node",
            [3, 25],
            StackEnd::KernelOnly,
        ),
        (
            "node_exporter",
            "runtime.mcall runtime.schedule",
            [6, 5],
            StackEnd::NoUnwindRule,
        ),
    ];
    for (thread, names, times, end) in others {
        counts.push(ProfileCount {
            stack: intern(book, names, end),
            thread: thread.to_owned(),
            server: thread == "mysqld",
            count: times[half],
        });
    }
    let (from, to) = match half {
        0 => (0, ONSET_S * 1000),
        _ => (ONSET_S * 1000, END_S * 1000),
    };
    Profile {
        from,
        to,
        hz: if half == 0 { 19 } else { 99 },
        processors: 32,
        counts,
        lost: half as u64 * 3,
    }
}

/// Functions between a statement and what it ends in.
fn middle(variant: u64) -> String {
    const NAMES: [&str; 9] = [
        "row_sel_get_clust_rec_for_mysql",
        "btr_pcur_open_with_no_init_func",
        "row_vers_build_for_consistent_read",
        "trx_undo_prev_version_build",
        "que_run_threads",
        "que_thr_step",
        "row_purge_step",
        "ibuf_merge_or_delete_for_page",
        "Item_func_between::val_int",
    ];
    let names = (0..variant % 4).map(|step| NAMES[((variant * 5 + step * 7) % 9) as usize]);
    names.collect::<Vec<_>>().join(" ")
}

/// A stack from names outermost first; `k:` marks the kernel's, `·` stands for a blank in a name.
fn intern(book: &mut StackTable, names: &str, end: StackEnd) -> StackId {
    let frames: Vec<StackFrame> = names
        .split_whitespace()
        .rev()
        .map(|name| {
            let kernel = name.strip_prefix("k:");
            let image = match name {
                _ if kernel.is_some() => "[kernel]",
                "clone3" | "start_thread" | "malloc" | "_int_malloc" | "free" | "_int_free"
                | "__lll_lock_wait" | "memcpy" | "pthread_cond_wait" | "sched_yield" | "send"
                | "pwrite64" | "poll" | "fdatasync" => "libc.so.6",
                _ if name.starts_with("runtime.") => "node_exporter",
                _ => "mysqld",
            };
            StackFrame {
                name: kernel.unwrap_or(name).replace('·', " "),
                image: image.to_owned(),
                side: if kernel.is_some() {
                    FrameSide::Kernel
                } else {
                    FrameSide::User
                },
                nameless: name.contains("+0x").then_some(UnnamedReason::NoSymbol),
            }
        })
        .collect();
    let frames = frames
        .into_iter()
        .map(|frame| book.frame_id(frame))
        .collect();
    book.stack_id(Stack { frames, end })
}

const FUTEX: &str = "k:entry_SYSCALL_64 k:do_syscall_64 k:__x64_sys_futex k:do_futex k:futex_wait k:futex_wait_queue k:schedule";

fn statement(rest: &str) -> String {
    format!("{TRUNK} {rest}")
}

fn evidence() -> StackEvidence {
    let mut book = StackTable::default();
    let profiles = vec![profile(&mut book, 0), profile(&mut book, 1)];
    let mut notes = Vec::new();
    for second in ONSET_S - 60..ONSET_S + 6 {
        notes.push(note(second * 1000 + 120));
    }
    for tick in 0..200 {
        notes.push(note((ONSET_S + 6) * 1000 + tick * 50));
    }
    for second in ONSET_S + 20..END_S + 5 {
        notes.push(note(second * 1000 + 130));
    }
    let mut runs = Vec::new();
    let last = (END_S + 4) * 1000 + 130;
    let (calm, stall) = ((ONSET_S - 60) * 1000 + 120, ONSET_S * 1000 + 120);
    let waits = [
        (
            "trans_commit_stmt ha_commit_trans innobase_commit trx_commit_for_mysql trx_commit_off_kernel mutex_enter_func mutex_spin_wait sync_array_wait_event os_event_wait_low pthread_cond_wait",
            31,
            0,
        ),
        (
            "trans_begin innobase_start_trx_and_assign_read_view read_view_open_now mutex_enter_func mutex_spin_wait sync_array_wait_event os_event_wait_low pthread_cond_wait",
            19,
            1,
        ),
        (
            "mysql_update handler::ha_update_row ha_innobase::update_row row_update_for_mysql lock_rec_lock mutex_enter_func mutex_spin_wait sync_array_wait_event os_event_wait_low pthread_cond_wait",
            7,
            0,
        ),
    ];
    let mut tid = 4_800;
    for (rest, threads, before) in waits {
        let stack = intern(
            &mut book,
            &format!("{} {FUTEX}", statement(rest)),
            StackEnd::Complete,
        );
        for thread in 0..threads {
            tid += 1;
            let from = if thread < before { calm } else { stall };
            runs.push(run(
                tid,
                (from, END_S * 1000),
                RunState::Sleeping,
                "futex",
                stack,
            ));
        }
    }
    let holder_stack = intern(
        &mut book,
        &format!(
            "{} {FUTEX}",
            statement(
                "trans_commit_stmt ha_commit_trans innobase_commit trx_commit_for_mysql trx_commit_off_kernel lock_release_off_kernel mem_heap_free_func free _int_free __lll_lock_wait"
            )
        ),
        StackEnd::Complete,
    );
    runs.push(run(
        4_711,
        (stall, END_S * 1000),
        RunState::Sleeping,
        "futex",
        holder_stack,
    ));
    let arena_holder = intern(
        &mut book,
        &statement(
            "handle_select mysql_select JOIN::exec create_tmp_table alloc_root malloc sysmalloc mprotect k:entry_SYSCALL_64 k:do_syscall_64 k:mprotect_fixup k:down_write k:rwsem_down_write_slowpath",
        ),
        StackEnd::Complete,
    );
    runs.push(run(
        4_822,
        (stall, END_S * 1000),
        RunState::Uninterruptible,
        "mprotect",
        arena_holder,
    ));
    let idle = intern(
        &mut book,
        "clone3 start_thread handle_one_connection do_handle_one_connection do_command my_net_read vio_read vio_io_wait poll k:entry_SYSCALL_64 k:do_syscall_64 k:do_sys_poll k:schedule_hrtimeout_range",
        StackEnd::Complete,
    );
    for thread in 0..360 {
        let to = if thread < 300 { last } else { stall };
        runs.push(run(
            5_000 + thread,
            (calm, to),
            RunState::Sleeping,
            "poll",
            idle,
        ));
    }
    let running = intern(
        &mut book,
        &statement("handle_select mysql_select JOIN::exec do_select sub_select"),
        StackEnd::OnProcessor,
    );
    for thread in 0..12 {
        runs.push(run(
            6_000 + thread,
            (calm, last),
            RunState::Running,
            "",
            running,
        ));
    }
    for background in [
        "io_handler_thread fil_aio_wait os_aio_simulated_handle",
        "srv_lock_timeout_thread",
        "srv_error_monitor_thread",
        "srv_monitor_thread",
        "srv_master_thread",
        "buf_flush_page_cleaner_thread",
    ] {
        let names =
            format!("clone3 start_thread {background} os_event_wait_low pthread_cond_wait {FUTEX}");
        let stack = intern(&mut book, &names, StackEnd::Complete);
        tid += 1;
        runs.push(run(tid, (calm, last), RunState::Sleeping, "futex", stack));
    }
    for (index, (leaf, _)) in LEAVES.iter().enumerate() {
        let stack = intern(
            &mut book,
            &statement(&format!("mysql_insert write_record {leaf}")),
            StackEnd::Complete,
        );
        let from = stall + index as u64 * 1_000;
        runs.push(run(
            7_000 + index as u32,
            (from, from + 3_000),
            RunState::Running,
            "",
            stack,
        ));
    }
    runs.sort_by_key(|run| run.from);
    let locks = vec![
        table(&mut book, holder_stack, arena_holder, 0),
        exact(&mut book),
        table(&mut book, holder_stack, arena_holder, 2),
    ];
    StackEvidence {
        table: book,
        snapshots: notes,
        runs,
        profiles,
        callers: Vec::new(),
        locks,
    }
}

fn note(at: Millis) -> SnapshotMeta {
    SnapshotMeta {
        at,
        method: SnapshotMethod::Bpf,
        wall_us: 4_300 + at % 1_700,
        stopped_us: 0,
        threads: 452,
        complete: 450,
    }
}

fn run(tid: u32, span: (Millis, Millis), state: RunState, call: &str, stack: StackId) -> ThreadRun {
    let syscall = (!call.is_empty()).then(|| Syscall {
        number: 202,
        name: call.to_owned(),
        futex: (call == "futex").then_some(FutexWait {
            address: 0x7f3a_1c00_2b40,
            operation: 0x89,
            owner_word: 4_711,
            pointer_owner: 0,
            latch_owner: 0,
        }),
    });
    ThreadRun {
        tid,
        name: "mysqld".to_owned(),
        from: span.0,
        to: span.1,
        snapshots: ((span.1 - span.0) / 1000 + 1) as u32,
        unmoved: !call.is_empty() && tid.is_multiple_of(3),
        state,
        syscall,
        stack,
    }
}

fn table(book: &mut StackTable, holder: StackId, arena: StackId, later: u64) -> LockTable {
    let mut caller = |path: &str, waits: u64, total_ms: f64| {
        let names: Vec<&str> = path.split(' ').collect();
        let outermost: Vec<&str> = names.iter().rev().copied().collect();
        LockCaller {
            stack: intern(book, &statement(&outermost.join(" ")), StackEnd::Complete),
            path: names.into_iter().map(str::to_owned).collect(),
            waits,
            total_us: total_ms * 1000.0,
            max_us: 900_000.0,
        }
    };
    let kernel_mutex = Holder {
        tid: 4_711,
        name: "mysqld".to_owned(),
        by: HolderBy::Stack,
        snapshots: 161,
        stack: holder,
        doing: "waits for malloc arena main_arena".to_owned(),
    };
    let main_arena = Holder {
        tid: 4_822,
        name: "mysqld".to_owned(),
        by: HolderBy::OwnerField,
        snapshots: 148,
        stack: arena,
        doing: "in mprotect, uninterruptible".to_owned(),
    };
    let row = |name: &str,
               named_by,
               address,
               waiters_max,
               waits,
               total_ms: f64,
               share,
               callers,
               holders| LockRow {
        name: name.to_owned(),
        named_by,
        address,
        waiters_max,
        waits,
        total_us: total_ms * 1000.0,
        max_us: 2_800_000.0,
        share,
        callers,
        holders,
    };
    let locks = vec![
        row(
            "kernel_mutex",
            NamedBy::CallPath,
            0,
            57,
            1_904,
            512_000.0,
            0.71,
            vec![
                caller(
                    "trx_commit_off_kernel trx_commit_for_mysql innobase_commit ha_commit_trans trans_commit_stmt",
                    1_011,
                    276_000.0,
                ),
                caller(
                    "read_view_open_now innobase_start_trx_and_assign_read_view trans_begin",
                    640,
                    171_000.0,
                ),
                caller(
                    "lock_rec_lock row_upd_step row_update_for_mysql ha_innobase::update_row",
                    253,
                    65_000.0,
                ),
            ],
            vec![kernel_mutex.clone()],
        ),
        row(
            "malloc arena main_arena",
            NamedBy::Arena,
            0x7f43_7341_3c60,
            9,
            388,
            31_000.0,
            0.043,
            vec![
                caller(
                    "_int_free free mem_heap_free_func lock_release_off_kernel",
                    201,
                    19_000.0,
                ),
                caller(
                    "_int_malloc malloc mem_heap_create_block row_mysql_store_col_in_innobase_format",
                    187,
                    12_000.0,
                ),
            ],
            vec![main_arena.clone()],
        ),
        row(
            "LOCK_open",
            NamedBy::Symbol,
            0x0118_22c0,
            3,
            41,
            900.0,
            0.001,
            vec![caller(
                "open_table open_tables open_and_lock_tables",
                41,
                900.0,
            )],
            Vec::new(),
        ),
        row(
            "0x7f3a1c002b40",
            NamedBy::Address,
            0x7f3a_1c00_2b40,
            1,
            4,
            20.0,
            0.000_03,
            Vec::new(),
            Vec::new(),
        ),
    ];
    let conditions = vec![row(
        "COND_thread_cache",
        NamedBy::Symbol,
        0x0118_3000,
        14,
        14,
        140_000.0,
        0.0,
        vec![caller(
            "pthread_cond_wait block_until_new_connection handle_one_connection",
            14,
            140_000.0,
        )],
        Vec::new(),
    )];
    LockTable {
        from: (ONSET_S + 6 + later * 10) * 1000,
        to: (ONSET_S + 16 + later * 10) * 1000,
        depth: WaitCounting::Sampled {
            snapshots: 200,
            interval_ms: 50.3,
        },
        locks: if later == 0 {
            locks
        } else {
            locks.into_iter().skip(2).collect()
        },
        conditions,
        idle_threads: 306,
        chains: vec![WaitChain {
            links: vec![
                ChainLink {
                    lock: "kernel_mutex".to_owned(),
                    waiters: 57 - later as u32,
                    holder: Some(kernel_mutex),
                },
                ChainLink {
                    lock: "malloc arena main_arena".to_owned(),
                    waiters: 9,
                    holder: Some(main_arena),
                },
            ],
            circular: false,
        }],
        kernel_locks: vec![
            KernelLockRow {
                name: "mmap_lock".to_owned(),
                path: ["down_write_killable", "__vm_munmap", "__x64_sys_munmap"]
                    .map(str::to_owned)
                    .to_vec(),
                waits: 211,
                total_us: 840_000.0,
                max_us: 31_000.0,
                server_waits: 209,
            },
            KernelLockRow {
                name: "rwsem".to_owned(),
                path: ["ext4_file_write_iter", "vfs_write"]
                    .map(str::to_owned)
                    .to_vec(),
                waits: 18,
                total_us: 1_200.0,
                max_us: 300.0,
                server_waits: 11,
            },
        ],
        absent: Vec::new(),
    }
}

fn exact(book: &mut StackTable) -> LockTable {
    let mut table = table(book, StackId(0), StackId(0), 1);
    table.depth = WaitCounting::Exact {
        events: 48_112,
        stack_every: 16,
        cost_us: 61_000,
        switched_off_after_ms: Some(2_300),
    };
    table.absent = vec![Absent::new(
        "kernel locks",
        Reason::Permission,
        "CAP_PERFMON would bring them",
    )];
    table.chains.clear();
    table
}
