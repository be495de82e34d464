//! Evidence as a loaded server of 500 threads shows it: made up, of the real shapes.

use std::collections::HashMap;

use model::{
    Absent, ChainLink, FrameSide, FutexWait, Holder, HolderBy, KernelLockRow, LockCaller, LockRow,
    LockTable, NamedBy, Profile, ProfileCount, Reason, RunState, SnapshotMethod, SnapshotThread,
    StackEnd, StackFrame, StackId, StackTable, Syscall, ThreadSession, ThreadSnapshot,
    UnnamedReason, WaitChain, WaitCounting,
};

pub fn user(name: &str, image: &str) -> StackFrame {
    StackFrame {
        name: name.to_owned(),
        image: image.to_owned(),
        side: FrameSide::User,
        nameless: None,
    }
}

/// Frames from names: `[k]` in front for the kernel, `image!` for a library, `?` for no symbol.
pub fn frames(names: &[&str]) -> Vec<StackFrame> {
    names
        .iter()
        .map(|name| {
            if let Some(name) = name.strip_prefix("[k]") {
                return StackFrame {
                    side: FrameSide::Kernel,
                    ..user(name, "[kernel]")
                };
            }
            if let Some(name) = name.strip_prefix('?') {
                let image = name.split_once('+').map_or("", |(image, _)| image);
                return StackFrame {
                    nameless: Some(UnnamedReason::NoSymbol),
                    ..user(name, image)
                };
            }
            match name.split_once('!') {
                Some((image, name)) => user(name, image),
                None => user(name, "mariadbd"),
            }
        })
        .collect()
}

const FUTEX_KERNEL: [&str; 4] = [
    "[k]futex_wait_queue",
    "[k]__futex_wait",
    "[k]do_futex",
    "[k]do_syscall_64",
];
const CONNECTION: [&str; 9] = [
    "mysql_execute_command",
    "mysql_parse",
    "dispatch_command",
    "do_command",
    "do_handle_one_connection",
    "handle_one_connection",
    "?mariadbd+0xd0a1c0",
    "?libc.so.6+0x89140",
    "libc.so.6!clone3",
];

pub struct Server {
    pub book: StackTable,
    pub snapshot: ThreadSnapshot,
    pub sessions: HashMap<u32, ThreadSession>,
}

impl Server {
    fn add(&mut self, count: u32, names: &[&str], state: RunState, call: Option<(&str, Wait)>) {
        let stack = self.book.intern(frames(names), StackEnd::Complete);
        self.add_stack(count, stack, state, call);
    }

    fn add_stack(
        &mut self,
        count: u32,
        stack: StackId,
        state: RunState,
        call: Option<(&str, Wait)>,
    ) {
        for index in 0..count {
            let tid = 4711 + self.snapshot.threads.len() as u32;
            let syscall = call.as_ref().map(|(name, wait)| Syscall {
                number: if *name == "futex" { 202 } else { 7 },
                name: (*name).to_owned(),
                futex: match wait {
                    Wait::None => None,
                    Wait::One(address) => Some(*address),
                    Wait::Each(address) => Some(address + u64::from(index) * 64),
                }
                .map(|address| FutexWait {
                    address,
                    operation: 0x189,
                    owner_word: 0,
                    pointer_owner: 0,
                    latch_owner: 0,
                }),
            });
            self.snapshot.threads.push(SnapshotThread {
                tid,
                name: if index % 9 == 8 {
                    "tp_worker"
                } else {
                    "mariadbd"
                }
                .to_owned(),
                state,
                syscall,
                stack,
                switches: u64::from(tid),
                sampled: false,
            });
        }
    }

    fn connect(&mut self, classes: &[(&str, &str, f64)]) {
        for (index, thread) in self.snapshot.threads.iter().enumerate() {
            if index % 7 == 6 {
                continue;
            }
            let (class, state, seconds) = classes[index % classes.len()];
            self.sessions.insert(
                thread.tid,
                ThreadSession {
                    connection: 10_000 + index as u64,
                    command: if class.is_empty() { "Sleep" } else { "Query" }.to_owned(),
                    state: state.to_owned(),
                    statement_class: class.to_owned(),
                    seconds: seconds + index as f64 / 100.0,
                },
            );
        }
    }
}

enum Wait {
    None,
    One(u64),
    Each(u64),
}

/// 500 threads in 30 groups.
pub fn server() -> Server {
    let mut server = Server {
        book: StackTable::default(),
        snapshot: ThreadSnapshot {
            at: 1000,
            method: SnapshotMethod::Bpf,
            wall_us: 5350,
            stopped_us: 0,
            threads: Vec::new(),
            left_out: 2,
        },
        sessions: HashMap::new(),
    };
    let with = |first: &[&'static str], rest: &[&'static str]| [first, rest].concat();
    let wait = with(
        &FUTEX_KERNEL,
        &[
            "libc.so.6!__futex_abstimed_wait_common",
            "libc.so.6!pthread_cond_wait",
        ],
    );
    let trx = with(
        &[
            "?mariadbd+0xe4c210",
            "?mariadbd+0xe55b90",
            "trx_commit_for_mysql",
            "ha_commit_trans",
            "trans_commit_stmt",
        ],
        &CONNECTION,
    );
    server.add(
        231,
        &with(&wait, &trx),
        RunState::Sleeping,
        Some(("futex", Wait::One(0x7f3a_1234_5678))),
    );
    let idle = with(
        &[
            "[k]do_sys_poll",
            "[k]__x64_sys_ppoll",
            "[k]do_syscall_64",
            "libc.so.6!ppoll",
            "vio_io_wait",
            "vio_read",
            "my_net_read_packet_reallen",
            "do_command",
        ],
        CONNECTION.get(4..).unwrap(),
    );
    server.add(120, &idle, RunState::Sleeping, Some(("ppoll", Wait::None)));
    let cache = with(
        &with(&wait, &["cache_thread"]),
        CONNECTION.get(5..).unwrap(),
    );
    server.add(
        60,
        &cache,
        RunState::Sleeping,
        Some(("futex", Wait::Each(0x55d0_aa00_0010))),
    );
    let long = "std::_Rb_tree<std::__cxx11::basic_string<char>, std::pair<std::__cxx11::basic_string<char> const, rocksdb::ColumnFamilyOptions>, std::_Select1st<std::pair<std::__cxx11::basic_string<char> const, rocksdb::ColumnFamilyOptions> > >::_M_get_insert_hint_unique_pos";
    server.add(
        21,
        &with(
            &[
                "[k]clear_page_erms",
                "[k]do_huge_pmd_anonymous_page",
                "libc.so.6!malloc",
                "libstdc++.so.6.0.30!operator new",
                long,
                "JOIN::exec",
            ],
            &CONNECTION,
        ),
        RunState::Running,
        None,
    );
    server.add(
        16,
        &with(
            &[
                "[k]io_schedule",
                "[k]folio_wait_bit_common",
                "libc.so.6!fdatasync",
                "?mariadbd+0xf11200",
            ],
            &CONNECTION,
        ),
        RunState::Uninterruptible,
        Some(("fdatasync", Wait::None)),
    );
    server.add(
        8,
        &with(&["libc.so.6!_int_free", "my_free"], &CONNECTION),
        RunState::Running,
        None,
    );
    let cut = server.book.intern(
        frames(&["[k]schedule", "evaluate_join_record", "sub_select"]),
        StackEnd::TooDeep,
    );
    server.add_stack(
        7,
        cut,
        RunState::Sleeping,
        Some(("futex", Wait::One(0x7f3a_1234_5678))),
    );
    let gone = server.book.intern([], StackEnd::Refused);
    server.add_stack(3, gone, RunState::Other, None);
    let on_processor = server.book.intern([], StackEnd::OnProcessor);
    server.add_stack(2, on_processor, RunState::Running, None);
    for index in 0..21 {
        let name = format!("Item_func_{index}::val_int");
        let names: Vec<&str> = [
            name.as_str(),
            "evaluate_join_record",
            "sub_select",
            "do_select",
        ]
        .into_iter()
        .chain(CONNECTION)
        .collect();
        let count = if index == 0 { 12 } else { 1 };
        server.add(
            count,
            &names,
            RunState::Sleeping,
            Some(("clock_nanosleep", Wait::None)),
        );
    }
    server.connect(&[
        ("SELECT", "Sending data", 4.2),
        ("UPDATE", "Updating", 0.3),
        ("", "", 900.0),
        ("INSERT", "Commit", 12.0),
        ("COMMIT", "Commit", 11.0),
    ]);
    assert_eq!(server.snapshot.threads.len(), 500);
    server
}

/// A profile of ten seconds; the stalled one is mostly compaction.
pub fn profile(stalled: bool) -> (Profile, StackTable) {
    let mut book = StackTable::default();
    let mut counts = Vec::new();
    let mut add = |names: &[&str], thread: &str, server: bool, count: u64| {
        let names: Vec<&str> = names
            .iter()
            .copied()
            .chain(if server { CONNECTION.to_vec() } else { vec![] })
            .collect();
        counts.push(ProfileCount {
            stack: book.intern(frames(&names), StackEnd::Complete),
            thread: thread.to_owned(),
            server,
            count,
        });
    };
    if stalled {
        add(
            &[
                "[k]compaction_alloc",
                "[k]migrate_pages_batch",
                "[k]compact_zone",
                "[k]try_to_compact_pages",
                "[k]__alloc_pages_slowpath",
                "[k]do_huge_pmd_anonymous_page",
                "[k]handle_mm_fault",
                "libc.so.6!malloc",
            ],
            "mariadbd",
            true,
            310,
        );
        add(
            &[
                "[k]isolate_migratepages_block",
                "[k]compact_zone",
                "[k]try_to_compact_pages",
                "[k]__alloc_pages_slowpath",
                "[k]do_huge_pmd_anonymous_page",
                "[k]handle_mm_fault",
                "libc.so.6!malloc",
            ],
            "mariadbd",
            true,
            620,
        );
        add(
            &[
                "[k]clear_page_erms",
                "[k]do_huge_pmd_anonymous_page",
                "[k]handle_mm_fault",
                "libc.so.6!malloc",
            ],
            "mariadbd",
            true,
            390,
        );
        add(
            &["[k]compact_zone", "[k]kcompactd"],
            "kcompactd0",
            false,
            210,
        );
    }
    let scale = if stalled { 40 } else { 4 };
    add(
        &[
            "?mariadbd+0xe4c210",
            "row_search_mvcc",
            "ha_innobase::index_read",
        ],
        "mariadbd",
        true,
        4 * scale,
    );
    add(
        &["evaluate_join_record", "sub_select"],
        "mariadbd",
        true,
        2 * scale,
    );
    add(
        &["[k]copy_user_enhanced_fast_string", "libc.so.6!pread64"],
        "mariadbd",
        true,
        scale,
    );
    add(&["bash!execute_command"], "bash", false, 3);
    let profile = Profile {
        from: 5000,
        to: if stalled { 15_000 } else { 65_000 },
        hz: 99,
        processors: 2,
        counts,
        lost: u64::from(stalled) * 3,
    };
    (profile, book)
}

/// A lock table with a chain from `kernel_mutex` to an arena.
pub fn locks(exact: bool) -> (LockTable, StackTable) {
    let mut book = StackTable::default();
    let stack = book.intern(
        frames(&[
            "libc.so.6!_int_free",
            "libc.so.6!free",
            "ut_free",
            "trx_free",
            "trx_commit",
        ]),
        StackEnd::Complete,
    );
    let freeing = book.intern(
        frames(&[
            "libc.so.6!_int_malloc",
            "libc.so.6!malloc",
            "my_malloc",
            "?mariadbd+0x77a10",
        ]),
        StackEnd::TooDeep,
    );
    let holder = |tid, by, doing: &str, stack| Holder {
        tid,
        name: "mysqld".to_owned(),
        by,
        snapshots: 12,
        stack,
        doing: doing.to_owned(),
    };
    let first = holder(
        4711,
        HolderBy::Stack,
        "waits for malloc arena main_arena",
        stack,
    );
    let second = holder(4712, HolderBy::OwnerField, "runs", freeing);
    let caller = |path: &[&str], waits, total_us| LockCaller {
        path: path.iter().map(ToString::to_string).collect(),
        stack,
        waits,
        total_us,
        max_us: total_us / 20.0,
    };
    let row =
        |name: &str, named_by, address, waiters_max, waits, total_us: f64, callers, holders| {
            LockRow {
                name: name.to_owned(),
                named_by,
                address,
                waiters_max,
                waits,
                total_us,
                max_us: total_us / 17.0,
                share: total_us / 1.3e8,
                callers,
                holders,
            }
        };
    let table = LockTable {
        from: 0,
        to: 5000,
        depth: match exact {
            true => WaitCounting::Exact {
                events: 1_234_567,
                stack_every: 64,
                cost_us: 131_000,
                switched_off_after_ms: Some(2800),
            },
            false => WaitCounting::Sampled {
                snapshots: 100,
                interval_ms: 50.0,
            },
        },
        locks: vec![
            row(
                "kernel_mutex",
                NamedBy::CallPath,
                0x7f3a_1234_5678,
                57,
                1240,
                4.12e7,
                vec![
                    caller(
                        &[
                            "trx_commit_off_kernel",
                            "trx_commit_for_mysql",
                            "innobase_commit",
                            "ha_commit_trans",
                            "trans_commit_stmt",
                            "mysql_execute_command",
                            "mysql_parse",
                            "dispatch_command",
                            "do_command",
                            "do_handle_one_connection",
                        ],
                        900,
                        3.1e7,
                    ),
                    caller(
                        &["lock_clust_rec_read_check_and_lock", "row_search_for_mysql"],
                        340,
                        1.02e7,
                    ),
                ],
                vec![first.clone()],
            ),
            row(
                "malloc arena main_arena",
                NamedBy::Arena,
                0x7f3a_0000_0080,
                3,
                77,
                1.9e6,
                vec![caller(&["_int_free", "free"], 77, 1.9e6)],
                vec![second.clone()],
            ),
            row(
                "0x55d0aa001040",
                NamedBy::Address,
                0x55d0_aa00_1040,
                2,
                3,
                812.0,
                vec![caller(&[], 3, 812.0)],
                vec![],
            ),
            row(
                "rocksdb::InstrumentedMutex in rocksdb::ColumnFamilyData::a_name_that_is_longer_than_its_column_by_far",
                NamedBy::Symbol,
                0,
                1,
                1,
                20.0,
                vec![],
                vec![],
            ),
        ],
        conditions: vec![row(
            "COND_wait_commit_ordered",
            NamedBy::Symbol,
            0,
            12,
            400,
            9e6,
            vec![caller(
                &["MYSQL_BIN_LOG::trx_group_commit_leader", "ordered_commit"],
                400,
                9e6,
            )],
            vec![],
        )],
        idle_threads: 131,
        chains: vec![WaitChain {
            links: vec![
                ChainLink {
                    lock: "kernel_mutex".to_owned(),
                    waiters: 57,
                    holder: Some(first),
                },
                ChainLink {
                    lock: "malloc arena main_arena".to_owned(),
                    waiters: 3,
                    holder: Some(second),
                },
            ],
            circular: false,
        }],
        kernel_locks: vec![KernelLockRow {
            name: "mmap_lock".to_owned(),
            path: [
                "rwsem_down_write_slowpath",
                "down_write_killable",
                "vm_mmap_pgoff",
            ]
            .map(str::to_owned)
            .to_vec(),
            waits: 21_340,
            total_us: 1.1e6,
            max_us: 31_000.0,
            server_waits: 20_991,
        }],
        absent: vec![Absent::new(
            "exact counts of waits",
            Reason::Permission,
            "needs CAP_BPF and CAP_PERFMON: setcap cap_bpf,cap_perfmon+ep freezeframe",
        )],
    };
    (table, book)
}
