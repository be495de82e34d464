//! Snapshots of real servers, shrunk: in `real/`, in the notation of [`crate::notation`].

use std::collections::HashMap;

use model::{LockTable, NamedBy};
use stacks::locks::{AddressTotals, ExactWaits, LockSymbols, WaitSample, exact_table};

use crate::notation::{Story, assert_consistent, row};

const MYSQL_5_5: &str = include_str!("real/mysql-5.5.txt");
const MARIADB_10_11: &str = include_str!("real/mariadb-10.11.txt");
const MARIADB_11_4: &str = include_str!("real/mariadb-11.4.txt");
const MYSQL_9_7: &str = include_str!("real/mysql-9.7.txt");

/// Where `kernel_mutex_temp` led to in that server.
const EVENT: u64 = 0x254b_1470;

fn names(table: &LockTable) -> Vec<(&str, u32)> {
    table
        .locks
        .iter()
        .map(|row| (row.name.as_str(), row.waiters_max))
        .collect()
}

fn sorted(table: &LockTable) -> Vec<(&str, u32)> {
    let mut names = names(table);
    names.sort_unstable();
    names
}

fn count(text: &str, part: &str) -> u32 {
    u32::try_from(text.lines().filter(|line| line.contains(part)).count()).unwrap()
}

fn kernel_mutex() -> LockSymbols {
    LockSymbols {
        events: HashMap::from([(EVENT, "kernel_mutex")]),
        ..LockSymbols::default()
    }
}

#[test]
fn kernel_mutex_is_one_lock_whichever_part_of_its_event_is_waited_for() {
    let waiters = count(MYSQL_5_5, "futex 0x254b1470");
    assert!(waiters > 15);
    for (symbols, by) in [
        (LockSymbols::default(), NamedBy::CallPath),
        (kernel_mutex(), NamedBy::Symbol),
    ] {
        let table = Story::of(&[MYSQL_5_5]).table_with(&symbols);
        let row = row(&table.locks, "kernel_mutex");
        assert_eq!(
            (row.waiters_max, row.address, row.named_by),
            (waiters, EVENT, by)
        );
        assert!(
            table.locks[1..]
                .iter()
                .all(|row| row.name.starts_with("page latch")),
            "{:?}",
            names(&table)
        );
        assert!(table.conditions.is_empty(), "{:?}", table.conditions);
        let idle = count(MYSQL_5_5, "srv_")
            + count(MYSQL_5_5, "os_aio_simulated_handle")
            + count(MYSQL_5_5, "signal_hand")
            + count(MYSQL_5_5, "handle_connections_sockets")
            + count(MYSQL_5_5, "S in read");
        assert_eq!(table.idle_threads, idle);
    }
}

/// Functions that enter `kernel_mutex` also enter mutexes of rollback segments.
#[test]
fn another_mutex_of_the_same_function_is_not_kernel_mutex() {
    let snapshot = format!(
        "{MYSQL_5_5}
        tid 1 S futex 0x26049cf0 | k:futex_do_wait < pthread_cond_wait[libc.so.6] < os_event_wait_low < sync_array_wait_event < mutex_spin_wait < trx_commit_off_kernel < trx_commit_for_mysql < innobase_commit
        tid 3 S | pthread_cond_wait[libc.so.6] < os_event_wait_low < sync_array_wait_event < mutex_spin_wait < trx_start < row_search_for_mysql
        tid 2 S futex 0x254b14d4 | k:futex_do_wait < pthread_cond_wait[libc.so.6] < os_event_wait_low < sync_array_wait_event < mutex_spin_wait < trx_commit_off_kernel < trx_commit_for_mysql < innobase_commit"
    );
    let table = Story::of(&[&snapshot]).table_with(&kernel_mutex());
    let kernel = row(&table.locks, "kernel_mutex");
    assert_eq!(
        kernel.waiters_max,
        count(MYSQL_5_5, "futex 0x254b1470") + 2,
        "the condition of the event is the event, and an address that was not seen is it too"
    );
    assert_eq!(
        row(&table.locks, "rollback segment latch at 0x26049c90").waiters_max,
        1
    );
}

/// The holder was woken from its wait for the arena and had no processor yet, as seen in that server.
#[test]
fn the_allocator_behind_kernel_mutex() {
    let snapshot = format!(
        "{MYSQL_5_5}
        tid 16838 R futex 0x7f5fd91f1c60 | k:futex_do_wait < __lll_lock_wait_private[libc.so.6] < malloc[libc.so.6] < mem_area_alloc < mem_heap_create_block < mem_heap_add_block < read_view_open_now < trx_assign_read_view < row_search_for_mysql
        tid 16839 S futex 0x7f5fd91f1c60 | k:futex_do_wait < __lll_lock_wait_private[libc.so.6] < free[libc.so.6] < free_root < dispatch_command"
    );
    let symbols = LockSymbols {
        libc_data: Vec::from_iter(Some(0x7f5f_d91f_0000..0x7f5f_d91f_3000)),
        ..kernel_mutex()
    };
    let table = Story::of(&[&snapshot]).table_with(&symbols);
    let chain = &table.chains[0];
    let locks: Vec<(&str, u32)> = chain
        .links
        .iter()
        .map(|link| (link.lock.as_str(), link.waiters))
        .collect();
    assert_eq!(
        locks,
        [
            ("kernel_mutex", count(MYSQL_5_5, "futex 0x254b1470")),
            ("malloc arena main_arena", 2)
        ]
    );
    let holder = chain.links[0].holder.as_ref().unwrap();
    assert_eq!(holder.tid, 16838);
    assert_eq!(
        holder.doing,
        "waits for malloc arena main_arena (woken, no processor yet)"
    );
}

/// Two moments of one crowd whose holders wait for different locks are two causes.
#[test]
fn each_cause_of_a_crowd_is_a_chain() {
    let with = |holder: &str| format!("{MYSQL_5_5}\n{holder}");
    let arena = with(
        "tid 16838 S futex 0x7f5fd91f1c60 | __lll_lock_wait_private[libc.so.6] < malloc[libc.so.6] < mem_heap_add_block < read_view_open_now < trx_assign_read_view",
    );
    let log = with(
        "tid 15342 S futex 0x25f1d900 | pthread_cond_wait[libc.so.6] < os_event_wait_low < sync_array_wait_event < mutex_spin_wait < mtr_commit < trx_sys_flush_max_trx_id < trx_start_low < trx_start",
    );
    let spins = with(
        "tid 15336 R | k:__do_sys_sched_yield < sched_yield[libc.so.6] < mutex_spin_wait < mtr_commit < trx_sys_flush_max_trx_id < trx_start_low < trx_start",
    );
    let table = Story::of(&[&arena, &log, &spins]).table_with(&kernel_mutex());
    let mut causes: Vec<&str> = table
        .chains
        .iter()
        .filter(|chain| chain.links[0].lock == "kernel_mutex")
        .map(|chain| chain.links[0].holder.as_ref().unwrap().doing.as_str())
        .collect();
    causes.sort_unstable();
    assert_eq!(
        causes,
        [
            "waits for log_sys mutex or log_flush_order_mutex at 0x25f1d8a0",
            "waits for malloc lock at 0x7f5fd91f1c60",
        ]
    );
    let spinning = Story::of(&[&spins]).table_with(&kernel_mutex());
    let holder = spinning.chains[0].links[0].holder.as_ref().unwrap();
    assert_eq!(
        holder.doing,
        "spins for log_sys mutex or log_flush_order_mutex"
    );
}

#[test]
fn a_server_without_symbols_has_its_commits_row_locks_and_idle_threads() {
    let symbols = LockSymbols {
        in_image: [0x5652_a304_f108, 0x5652_a304_f10c, 0x5652_a304_f140]
            .into_iter()
            .map(|address| {
                let place = ("mariadbd".to_owned(), address - 0x5652_a0ee_4000);
                (address, place)
            })
            .collect(),
        ..LockSymbols::default()
    };
    let table = Story::of(&[MARIADB_10_11]).table_with(&symbols);
    assert_eq!(
        sorted(&table),
        [
            // The two words of one latch in the data of the program.
            ("lock mariadbd+0x216b108", 5),
            ("lock of mariadbd+0x72d8a0 at 0x77b5300119f8", 1),
            ("lock of mariadbd+0x72d8a0 at 0x77b53180b558", 5),
            // Two that wait for the log's callback, four on their own semaphore; the two that were
            // woken from the callback got it.
            ("redo log write and flush", 6),
            ("row lock (timed wait inside the storage engine)", 4),
        ]
    );
    assert!(table.conditions.is_empty(), "{:?}", table.conditions);
    assert_eq!(table.idle_threads, 13);
    let latch = row(&table.locks, "0x77b53180b558");
    assert_eq!(
        latch.callers[0].path,
        [
            "mariadbd+0x72d8a0",
            "(6 nameless)",
            "handler::ha_update_row",
            "mysql_update",
            "mysql_execute_command",
            "mysql_parse"
        ],
        "the function that calls futex is the lock's own"
    );
}

#[test]
fn a_server_with_symbols_has_its_commits_and_idle_threads() {
    let table = Story::of(&[MARIADB_11_4]).table();
    assert_eq!(
        sorted(&table),
        [
            ("page latch at 0x7fd769205e78", 1),
            ("redo log write and flush", 5),
            ("row lock", 3),
            ("table cache (LOCK_table_cache)", 4),
        ]
    );
    assert!(table.conditions.is_empty(), "{:?}", table.conditions);
    assert_eq!(table.idle_threads, 10);
}

#[test]
fn a_writer_waits_for_the_readers_of_the_latch_it_has() {
    let table = Story::of(&["
        tid 26138 S futex 0x7fd76a207e5c op 0x80 | syscall[libc.so.6] < ssux_lock_impl<>::wr_wait < buf_page_get_gen < btr_cur_t::search_leaf < row_ins_clust_index_entry_low
        tid 26139 S futex 0x7fd76a207e58 op 0x80 pointer 26138 | syscall[libc.so.6] < srw_mutex_impl<>::wait_and_lock < buf_page_get_gen < btr_cur_t::search_leaf < row_ins_clust_index_entry_low
        tid 26140 S futex 0x7fd76a207e58 op 0x80 pointer 26138 | syscall[libc.so.6] < ssux_lock_impl<>::rd_wait < buf_page_get_gen < btr_cur_t::search_leaf < row_search_mvcc
        tid 26141 S futex 0x7fd7300a33e8 op 0x80 | syscall[libc.so.6] < ssux_lock_impl<>::rd_wait < btr_cur_t::search_leaf < row_search_index_entry < row_upd_sec_index_entry
    "])
    .table();
    assert_eq!(
        sorted(&table),
        [
            ("index latch at 0x7fd7300a33e8", 1),
            ("page latch at 0x7fd76a207e58", 3)
        ]
    );
    let chain = &table.chains[0];
    assert_eq!(chain.links.len(), 1, "{chain:?}");
    assert!(!chain.circular);
    let holder = chain.links[0].holder.as_ref().unwrap();
    assert_eq!(
        (holder.tid, holder.doing.as_str()),
        (26138, "waits for those that have it to read")
    );
    assert_eq!(table.chains.len(), 1, "one thread and no holder: no chain");
}

#[test]
fn todays_mysql_has_its_commits_and_idle_threads() {
    let table = Story::of(&[MYSQL_9_7]).table();
    assert_eq!(
        sorted(&table),
        [
            // A function without a name is between the latch's own.
            ("page latch at 0x5555880703d8", 1),
            ("redo log write and flush", 3),
            ("row lock", 3),
        ]
    );
    assert!(table.conditions.is_empty(), "{:?}", table.conditions);
    assert_eq!(table.idle_threads, 22);
}

const PAGE: &str = "syscall[libc.so.6] < mariadbd+0xde2ac0 < mariadbd+0x72d8a0 < mariadbd+0xe0fb70 < mariadbd+0xdcd980 < handler::ha_index_read_map";

#[test]
fn latches_of_one_kind_are_one_row_but_for_a_hot_one() {
    let waiter = |tid: u32, address: u64| format!("tid {tid} S futex {address:#x} | {PAGE}\n");
    let cold: String = (0..12)
        .map(|at| waiter(1 + at, 0x7000_0018 + 0xa0 * u64::from(at)))
        .collect();
    let table = Story::of(&[&cold]).table();
    assert_eq!(
        names(&table),
        [("lock of mariadbd+0x72d8a0 (12 addresses)", 12)]
    );
    assert_eq!(table.chains.len(), 1);
    let hot: String = (0..9).map(|at| waiter(101 + at, 0x9000_0018)).collect();
    let table = Story::of(&[&(cold + &hot)]).table();
    assert_eq!(
        sorted(&table),
        [
            ("lock of mariadbd+0x72d8a0 (12 others)", 12),
            ("lock of mariadbd+0x72d8a0 at 0x90000018", 9),
        ]
    );
}

/// Every wait counted: the same rows, and the numbers of what was put together add up.
#[test]
fn exact_counts_fold_as_snapshots_do() {
    let mut story = Story::default();
    let page = story.stack(PAGE);
    let addresses: Vec<u64> = (0..6).map(|at| 0x7000_0018 + 0xa0 * at).collect();
    let totals: Vec<AddressTotals> = addresses
        .iter()
        .map(|address| AddressTotals {
            address: *address,
            operation: 0x80,
            waits: 10,
            total_us: 500.0,
            max_us: 90.0,
            waiters_max: 2,
        })
        .collect();
    let samples: Vec<WaitSample> = addresses
        .iter()
        .map(|address| WaitSample {
            tid: 1,
            address: *address,
            stack: page,
            waited_us: 50.0,
        })
        .collect();
    let waits = ExactWaits {
        from: 0,
        to: 1000,
        events: 60,
        stack_every: 10,
        cost_us: 0,
        switched_off_after_ms: None,
        totals: &totals,
        samples: &samples,
    };
    let table = exact_table(&waits, &story.observed(), &LockSymbols::default());
    assert_consistent(&table);
    let row = row(&table.locks, "lock of mariadbd+0x72d8a0 (6 addresses)");
    assert_eq!((row.waits, row.waiters_max, row.address), (60, 2, 0));
    assert!((row.total_us - 3000.0).abs() < 1e-6);
    assert!((row.max_us - 90.0).abs() < 1e-6);
    assert_eq!(table.locks.len(), 1);
}

#[test]
fn one_thread_without_a_known_holder_is_no_chain_beside_others() {
    let one = "tid 1 S futex 0x10 | __lll_lock_wait < pthread_mutex_lock < f\n";
    let table = Story::of(&[one]).table();
    assert_eq!(table.chains.len(), 1, "there is nothing better");
    let many: String = (0..20)
        .map(|at| {
            format!(
                "tid {} S futex 0x20 | __lll_lock_wait < pthread_mutex_lock < g\n",
                10 + at
            )
        })
        .collect();
    let table = Story::of(&[&(one.to_owned() + &many)]).table();
    let locks: Vec<&str> = table
        .chains
        .iter()
        .map(|chain| chain.links[0].lock.as_str())
        .collect();
    assert_eq!(locks, ["lock of g at 0x20"]);
}
