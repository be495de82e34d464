use std::collections::HashMap;

use model::{LockTable, NamedBy};
use stacks::locks::{DataSymbol, LockSymbols};

use crate::notation::{Story, row};

fn locks(table: &LockTable) -> Vec<(&str, NamedBy)> {
    table
        .locks
        .iter()
        .map(|row| (row.name.as_str(), row.named_by))
        .collect()
}

/// The only contended row of a single waiting thread.
fn named(thread: &str) -> Option<String> {
    let table = Story::of(&[thread]).table();
    assert!(table.locks.len() <= 1);
    table.locks.first().map(|row| row.name.clone())
}

#[test]
fn waits_of_all_generations_are_locks_with_names() {
    for (frames, name) in [
        // MySQL 5.5.
        (
            "pthread_cond_wait@@GLIBC_2.3.2 < os_event_wait_low < sync_array_wait_event < mutex_spin_wait < trx_start < row_search_for_mysql",
            "kernel_mutex",
        ),
        // 5.6: InnoDB waits for a plain mutex inside its array of waits.
        (
            "__lll_lock_wait < _L_lock_1082 < __GI___pthread_mutex_lock < os_fast_mutex_lock_func < pfs_os_fast_mutex_lock < os_mutex_enter < sync_array_enter < sync_array_reserve_cell < mutex_spin_wait < f",
            "InnoDB sync array mutex",
        ),
        // 5.7.
        (
            "futex_wait_cancelable < __pthread_cond_wait_common < __pthread_cond_wait < os_event::wait < os_event::wait_low < os_event_wait_low < sync_array_wait_event < TTASEventMutex<GenericPolicy>::wait < TTASEventMutex<GenericPolicy>::spin_and_try_lock < TTASEventMutex<GenericPolicy>::enter < PolicyMutex<TTASEventMutex<GenericPolicy> >::enter < buf_flush_LRU_list < pc_flush_slot < buf_flush_page_cleaner_coordinator",
            "buffer pool mutex at 0x1000",
        ),
        // MySQL 8.0, woken and waiting for the event's own mutex.
        (
            "__lll_lock_wait < __pthread_mutex_cond_lock < os_event::wait < os_event::wait_low < os_event_wait_low < sync_array_wait_event < rw_lock_sx_lock_func < pfs_rw_lock_sx_lock_func < mtr_t::sx_lock < btr_cur_search_to_nth_level < btr_pcur_t::open",
            "index latch at 0x1000",
        ),
        // 5.7: what is waited for when pages and the log cannot be written fast enough.
        (
            "pthread_cond_wait < os_event::wait_low < os_event_wait_low < buf_LRU_get_free_block < buf_page_create",
            "a free page of the buffer pool",
        ),
        (
            "pthread_cond_wait < os_event::wait_low < os_event_wait_low < buf_dblwr_add_to_batch < buf_flush_write_block_low",
            "doublewrite buffer",
        ),
        (
            "pthread_cond_wait < os_event::wait_low < os_event_wait_low < sync_array_wait_event < TTASEventMutex<GenericPolicy>::wait < PolicyMutex<TTASEventMutex<GenericPolicy> >::enter < buf_dblwr_add_to_batch < buf_flush_write_block_low",
            "doublewrite mutex",
        ),
        (
            "pthread_cond_wait < os_event::wait_low < os_event_wait_low < fil_flush < log_checkpoint",
            "flush of a data file",
        ),
        (
            "pthread_cond_wait < os_event::wait_low < os_event_wait_low < sync_array_wait_event < TTASEventMutex<GenericPolicy>::wait < PolicyMutex<TTASEventMutex<GenericPolicy> >::enter < buf_flush_insert_into_flush_list < mtr_t::Command::execute",
            "flush list mutex at 0x1000",
        ),
        (
            "pthread_cond_wait < os_event::wait_low < os_event_wait_low < sync_array_wait_event < TTASEventMutex<GenericPolicy>::wait < PolicyMutex<TTASEventMutex<GenericPolicy> >::enter < buf_page_get_gen < row_search_mvcc",
            "block or buffer pool mutex at 0x1000",
        ),
        (
            "pthread_cond_wait < os_event::wait_low < os_event_wait_low < sync_array_wait_event < TTASEventMutex<GenericPolicy>::wait < PolicyMutex<TTASEventMutex<GenericPolicy> >::enter < get_next_redo_rseg < trx_assign_rseg_low",
            "trx_sys or rollback segments (get_next_redo_rseg)",
        ),
        (
            "pthread_cond_wait < os_event::wait_low < os_event_wait_low < sync_array_wait_event < rw_lock_s_lock_spin < rw_lock_s_lock_func < log_write_checkpoint_info < log_checkpoint",
            "checkpoint lock of the redo log",
        ),
        // MariaDB 11.4 calls futex itself.
        (
            "syscall < srw_mutex_impl<true>::wait_and_lock < ssux_lock_impl<true>::wr_lock < dict_sys_t::lock_wait < f",
            "dict_sys mutex",
        ),
        (
            "syscall < binary_semaphore::wait < group_commit_lock::acquire < log_write_up_to < trx_flush_log_if_needed_low",
            "redo log write and flush",
        ),
        // Woken together, they wait for the event's own mutex.
        (
            "__lll_lock_wait < __pthread_mutex_cond_lock < os_cond_wait < os_event_wait_low < srv_suspend_mysql_thread < f",
            "mutex of an InnoDB event at 0x1000",
        ),
        // A commit of MariaDB waits for the log's callback before it answers.
        (
            "___pthread_cond_wait < thd_async_state::wait_for_pending_ops < net_real_write < net_flush",
            "redo log write and flush",
        ),
        (
            "___pthread_cond_timedwait64 < MDL_wait::timed_wait < MDL_context::acquire_lock < open_table_get_mdl_lock",
            "metadata lock",
        ),
        (
            "pthread_cond_timedwait < mariadbd+0x77 < MDL_context::acquire_lock < open_table",
            "metadata lock",
        ),
        (
            "pthread_cond_wait < os_event_wait_low < lock_wait_suspend_thread < row_mysql_handle_errors",
            "row lock",
        ),
        (
            "pthread_cond_timedwait < lock_wait < row_mysql_handle_errors",
            "row lock",
        ),
        (
            "pthread_cond_wait < os_event_wait_low < srv_suspend_mysql_thread < row_mysql_handle_errors",
            "row lock",
        ),
        (
            "pthread_cond_wait < native_cond_wait < my_cond_wait < inline_mysql_cond_wait < Stage_manager::enroll_for < MYSQL_BIN_LOG::ordered_commit",
            "binlog group commit",
        ),
        (
            "pthread_cond_wait < wait_for_lock < thr_lock < thr_multi_lock < mysql_lock_tables",
            "table lock (THR_LOCK)",
        ),
        (
            "__lll_lock_wait < pthread_mutex_lock < open_table < open_tables",
            "LOCK_open",
        ),
        // MySQL 5.1: a table whose definition is being changed.
        (
            "pthread_cond_wait < wait_for_condition < open_table < open_tables < mysql_insert",
            "table being altered or flushed",
        ),
        (
            "pthread_cond_wait < _gcs_sm_enqueue_common < gcs_sm_enter < gcs_replv",
            "Galera: queue of the send monitor (flow control)",
        ),
        (
            "__lll_lock_wait_private < _L_lock_2163 < __tz_convert < Time_zone_system::gmt_sec_to_TIME",
            "libc time zone lock (tzset_lock)",
        ),
        (
            "__lll_lock_wait_private < __tz_convert < __localtime_r < f",
            "libc time zone lock (tzset_lock)",
        ),
        (
            "pthread_cond_wait < pthread_rwlock_wrlock < mine",
            "lock of mine at 0x1000",
        ),
        ("pthread_rwlock_rdlock < mine", "lock of mine at 0x1008"),
    ] {
        let address = if frames.starts_with("pthread_rwlock") {
            "0x100c"
        } else {
            "0x1004"
        };
        assert_eq!(
            named(&format!("tid 7 S futex {address} | {frames}")).as_deref(),
            Some(name),
            "{frames}"
        );
    }
}

#[test]
fn kernel_mutex_is_named_only_where_the_generation_has_it() {
    const WAITER: &str = "tid 7 S futex 0x1000 | pthread_cond_wait < os_event_wait_low < sync_array_wait_event < mutex_spin_wait \
        < lock_clust_rec_read_check_and_lock < row_search_for_mysql";
    let with = |other: &str| {
        let table = Story::of(&[&format!("{WAITER}\ntid 8 S futex 0x9000 | pthread_cond_timedwait < os_event_wait_time_low < {other}")]).table();
        assert_eq!(table.idle_threads, 1);
        table.locks[0].name.clone()
    };
    assert_eq!(with("srv_lock_timeout_thread"), "kernel_mutex");
    assert_eq!(with("lock_wait_timeout_thread"), "lock_sys mutex");
    assert_eq!(
        named(WAITER).as_deref(),
        Some("lock of lock_clust_rec_read_check_and_lock at 0x1000"),
        "nothing tells the generation"
    );
}

#[test]
fn trx_sys_mutex_is_named_where_there_is_no_kernel_mutex() {
    let table = Story::of(&["
        tid 7 S futex 0x1000 | pthread_cond_wait < os_event_wait_low < sync_array_wait_event < mutex_spin_wait < trx_set_rw_mode < lock_table
        tid 8 S futex 0x9000 | pthread_cond_timedwait < os_event_wait_time_low < lock_wait_timeout_thread"]).table();
    assert_eq!(table.locks[0].name, "trx_sys mutex");
}

#[test]
fn threads_without_work_are_no_contention() {
    let table = Story::of(&["
        tid 1 S futex 0x10 | pthread_cond_wait < os_event_wait_low < os_aio_simulated_handle < fil_aio_wait < io_handler_thread < start_thread
        tid 2 S futex 0x20 | pthread_cond_wait < safe_cond_wait < end_thread < handle_one_connection < start_thread
        tid 3 S futex 0x30 | ___pthread_cond_wait < Per_thread_connection_handler::block_until_new_connection < handle_connection
        tid 4 S futex 0x40 | __pthread_cond_wait < os_event::wait < os_event_wait_low < srv_worker_thread < start_thread
        tid 5 S futex 0x50 | pthread_cond_timedwait < os_event_wait_time_low < os_event_wait_for<log_writer(log_t*)::lambda> < Log_thread_waiting::wait<x> < log_writer
        tid 6 S futex 0x60 | ___pthread_cond_clockwait64 < tpool::thread_pool_generic::wait_for_tasks < tpool::thread_pool_generic::get_task
        tid 7 S in poll | __GI___poll < vio_io_wait < vio_read < net_read_packet_header < my_net_read_packet < do_command < handle_connection
        tid 8 S in io_getevents | syscall < io_getevents < LinuxAIOHandler::collect < LinuxAIOHandler::poll < os_aio_handler < fil_aio_wait
        tid 9 S in select | select < os_thread_sleep < srv_master_thread < start_thread
        tid 10 S in rt_sigtimedwait | __GI___sigtimedwait < signal_hand
        tid 11 S in recvfrom | mysqld+0x10
        tid 12 S futex 0x70 | pthread_cond_wait < MYSQL_BIN_LOG::wait_for_update < Binlog_sender::wait_with_heartbeat
    "]).table();
    assert_eq!(table.idle_threads, 12);
    assert!(
        table.locks.is_empty() && table.conditions.is_empty(),
        "{table:?}"
    );
}

#[test]
fn the_same_threads_waiting_for_a_lock_do_not_idle() {
    let table = Story::of(&["
        tid 1 S futex 0x10 | pthread_cond_wait < os_event_wait_low < sync_array_wait_event < PolicyMutex<TTASEventMutex<GenericPolicy> >::enter < buf_page_io_complete < fil_aio_wait < io_handler_thread
        tid 2 S futex 0x24 owner 9 | __lll_lock_wait < pthread_mutex_lock < inline_mysql_mutex_lock < Per_thread_connection_handler::block_until_new_connection
        tid 3 D in fsync | fsync < os_file_flush_func < log_flush_low < log_flusher
        tid 4 R | log_writer
    "]).table();
    assert_eq!(table.idle_threads, 0);
    assert_eq!(table.locks.len(), 2);
}

#[test]
fn a_nameless_condition_is_told_and_not_guessed() {
    let story = Story::of(&["
        tid 1 S futex 0x1028 op 0x189 | libc.so.6+0x89f < pthread_cond_timedwait[libc.so.6] < mariadbd+0x75d < mariadbd+0x756 < mariadbd+0x2 < libc.so.6+0x88
        tid 2 S futex 0x2028 op 0x189 | libc.so.6+0x89f < pthread_cond_wait[libc.so.6] < handle_manager < mariadbd+0x7bd
        tid 3 S futex 0x3028 op 0x189 |
    "]);
    let table = story.table();
    assert!(table.locks.is_empty(), "{table:?}");
    assert_eq!(table.idle_threads, 1);
    let mut names: Vec<&str> = table
        .conditions
        .iter()
        .map(|row| row.name.as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "condition of mariadbd+0x75d at 0x1028",
            "condition, callers not taken, at 0x3028"
        ]
    );
    assert_eq!(table.absent.len(), 1);
    assert!(
        table.absent[0].detail.starts_with("2 of 2 waits"),
        "{}",
        table.absent[0].detail
    );
}

#[test]
fn nameless_waits_are_contention_where_the_word_names_an_owner() {
    let story = Story::of(&["
        tid 1 S futex 0x1000 op 0x80 owner 9 | libc.so.6+0x89f < libc.so.6+0x9a
        tid 2 S futex 0x2000 op 0x80 owner 77 | libc.so.6+0x89f
        tid 3 S futex 0x3000 op 0x189 owner 9 | libc.so.6+0x89f
        tid 4 S futex 0x4000 op 0x80 | syscall[libc.so.6] < mariadbd+0x10 < mariadbd+0x20
        tid 9 R | f
    "]);
    let table = story.table();
    assert_eq!(
        table
            .locks
            .iter()
            .map(|row| row.address)
            .collect::<Vec<_>>()
            .len(),
        2,
        "{table:?}"
    );
    let held = row(&table.locks, "0x1000");
    assert_eq!(held.holders[0].tid, 9);
    assert_eq!(held.holders[0].doing, "runs");
    assert_eq!(row(&table.locks, "0x4000").named_by, NamedBy::Address);
    assert_eq!(table.conditions.len(), 2);
}

#[test]
fn symbols_name_locks_and_idle_conditions() {
    let symbol = |name: &str, offset, size| DataSymbol {
        name: name.to_owned(),
        offset,
        size,
    };
    let symbols = LockSymbols {
        names: HashMap::from([
            (0x5000, symbol("LOCK_thread_count", 0, 48)),
            (0x6028, symbol("COND_manager", 40, 56)),
            (0x7028, symbol("COND_refresh", 40, 56)),
            (0x702c, symbol("COND_refresh", 44, 56)),
            (0x8060, symbol("fil_system", 0x60, 4096)),
        ]),
        libc_data: Vec::new(),
        ..LockSymbols::default()
    };
    let table = Story::of(&["
        tid 1 S futex 0x5000 | __lll_lock_wait < pthread_mutex_lock < whatever
        tid 2 S futex 0x6028 | pthread_cond_wait < mariadbd+0x75d
        tid 3 S futex 0x7028 | pthread_cond_wait < mariadbd+0x75d
        tid 4 S futex 0x702c | pthread_cond_wait < mariadbd+0x75d
        tid 5 S futex 0x8060 | __lll_lock_wait < pthread_mutex_lock < whatever
    "])
    .table_with(&symbols);
    assert_eq!(
        locks(&table),
        [
            ("LOCK_thread_count", NamedBy::Symbol),
            ("fil_system+0x60", NamedBy::Symbol)
        ]
    );
    assert_eq!(table.idle_threads, 1);
    let refresh = row(&table.conditions, "COND_refresh");
    assert_eq!(
        (refresh.waiters_max, refresh.address),
        (2, 0x7028),
        "both words of a condition are one"
    );
}

#[test]
fn arenas_are_named_by_place_and_told_with_their_callers() {
    let symbols = LockSymbols {
        names: HashMap::new(),
        libc_data: Vec::from_iter(Some(0x7f43_7341_3000..0x7f43_7341_8000)),
        ..LockSymbols::default()
    };
    let table = Story::of(&["
        tid 1 S futex 0x7f4373413c60 owner 4 | __GI___lll_lock_wait_private < __GI___libc_malloc < get_block < run < start_thread < clone3
        tid 2 S futex 0x7f4373413c60 owner 4 | __GI___lll_lock_wait_private < _int_free < __GI___libc_free < run < start_thread < clone3
        tid 3 S futex 0x7f4374000030 owner 4 | libc.so.6+0x89f50 < libc.so.6+0x99 < malloc[libc.so.6] < operator new < f
        tid 4 R | run
    "])
    .table_with(&symbols);
    let main = row(&table.locks, "malloc arena main_arena");
    assert_eq!(main.named_by, NamedBy::Arena);
    assert_eq!(main.waiters_max, 2);
    let mut paths: Vec<&[String]> = main
        .callers
        .iter()
        .map(|caller| caller.path.as_slice())
        .collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            ["free", "run"].as_slice(),
            ["malloc", "get_block", "run"].as_slice()
        ]
    );
    assert!(
        main.holders.is_empty(),
        "behind an arena's word stands no owner: {:?}",
        main.holders
    );
    let other = row(&table.locks, "malloc arena at 0x7f4374000030");
    assert_eq!(other.callers[0].path, ["malloc", "operator new", "f"]);
}

#[test]
fn one_name_with_many_addresses_is_one_row_unless_each_is_a_lock() {
    let table = Story::of(&["
        tid 1 S futex 0x1000 | pthread_cond_timedwait < MDL_wait::timed_wait < MDL_context::acquire_lock < a
        tid 2 S futex 0x2000 | pthread_cond_timedwait < MDL_wait::timed_wait < MDL_context::acquire_lock < a
        tid 3 S futex 0x3000 | pthread_cond_wait < os_event_wait_low < sync_array_wait_event < rw_lock_x_lock_func < buf_page_get_gen < a
        tid 4 S futex 0x4000 | pthread_cond_wait < os_event_wait_low < sync_array_wait_event < rw_lock_x_lock_func < buf_page_get_gen < a
        tid 5 S | pthread_cond_wait < os_event_wait_low < sync_array_wait_event < rw_lock_x_lock_func < buf_page_get_gen < a
    "]).table();
    let metadata = row(&table.locks, "metadata lock");
    assert_eq!(
        (metadata.address, metadata.waiters_max, metadata.waits),
        (0, 2, 2)
    );
    assert_eq!(row(&table.locks, "page latch at 0x3000").address, 0x3000);
    assert_eq!(row(&table.locks, "page latch at 0x4000").address, 0x4000);
    assert_eq!(
        row(&table.locks, "page latch").address,
        0,
        "an address that is not known"
    );
}

#[test]
fn kernel_frames_and_threads_at_work_are_no_waits() {
    let table = Story::of(&["
        tid 1 S futex 0x1000 | k:futex_wait_queue < k:do_futex < __lll_lock_wait < pthread_mutex_lock < f
        tid 2 D in pread64 | k:io_schedule < pread64 < os_file_pread
        tid 3 R | pthread_mutex_lock < f
        tid 4 S in sendto | send < vio_write
        tid 5 S in clock_nanosleep | clock_nanosleep < nanosleep < my_own_pause
    "]).table();
    assert_eq!(table.locks.len(), 1);
    assert_eq!(table.locks[0].callers[0].path, ["f"]);
    assert_eq!(table.idle_threads, 0);
    assert!(
        (table.locks[0].share - 0.2).abs() < 1e-9,
        "one of five that do not idle"
    );
}
