use std::collections::HashMap;

use model::HolderBy;
use stacks::Latch;
use stacks::locks::LockSymbols;

use crate::notation::{Story, row};

#[test]
fn the_owner_word_of_a_mutex_names_its_holder() {
    let table = Story::of(&[
        "
        tid 12 S futex 0x10 owner 13 | __lll_lock_wait < pthread_mutex_lock < f < start_thread
        tid 13 R named boss | work
        tid 14 S futex 0x10 owner 13 | __lll_lock_wait < pthread_mutex_lock < f < start_thread
        ",
        "
        tid 12 S futex 0x10 owner 13 | __lll_lock_wait < pthread_mutex_lock < f < start_thread
        tid 13 D in fdatasync named boss | fdatasync < work
        tid 14 S futex 0x10 owner 12 | __lll_lock_wait < pthread_mutex_lock < f < start_thread
        ",
    ])
    .table();
    let holders = &row(&table.locks, "0x10").holders;
    assert_eq!(
        holders.len(),
        1,
        "who waits for it does not have it: {holders:?}"
    );
    let holder = &holders[0];
    assert_eq!(
        (
            holder.tid,
            holder.name.as_str(),
            holder.by,
            holder.snapshots
        ),
        (13, "boss", HolderBy::OwnerField, 2)
    );
    assert_eq!(holder.doing, "in fdatasync, uninterruptible");
}

#[test]
fn a_word_that_is_no_thread_of_the_process_names_nobody() {
    let table = Story::of(&["
        tid 12 S futex 0x10 owner 4711 | __lll_lock_wait < pthread_mutex_lock < f
        tid 13 S futex 0x20 owner 13 | __lll_lock_wait < pthread_mutex_lock < f
        tid 14 S futex 0x30 owner 15 | pthread_rwlock_wrlock < f
        tid 15 R | work
    "])
    .table();
    assert_eq!(table.locks.len(), 3);
    assert!(
        table.locks.iter().all(|row| row.holders.is_empty()),
        "{:?}",
        table.locks
    );
}

#[test]
fn a_writers_pointer_is_believed_only_where_locks_have_it() {
    let table = Story::of(&["
        tid 1 S futex 0x10 pointer 9 | syscall < ssux_lock_impl<true>::wr_wait < sux_lock<ssux_lock_impl<true> >::x_lock < buf_page_get_gen
        tid 2 S futex 0x20 pointer 9 | pthread_cond_wait < os_event_wait_low < sync_array_wait_event < rw_lock_x_lock_func < buf_page_get_gen
        tid 3 S futex 0x30 pointer 9 | __lll_lock_wait < pthread_mutex_lock < f
        tid 9 R | g
    "])
    .table();
    assert_eq!(
        row(&table.locks, "page latch at 0x10").holders[0].by,
        HolderBy::OwnerField
    );
    assert!(row(&table.locks, "page latch at 0x20").holders.is_empty());
    assert!(row(&table.locks, "0x30").holders.is_empty());
}

#[test]
fn the_writer_of_a_latch_is_the_one_that_the_servers_table_of_waits_led_to() {
    let wait = "pthread_cond_wait < os_event_wait_low < sync_array_wait_event";
    let moment = format!(
        "
        tid 1 S futex 0x1060 latch 9 | {wait} < rw_lock_s_lock_spin < row_mysql_freeze_data_dictionary_func < f
        tid 2 S futex 0x2060 | {wait} < rw_lock_x_lock_func < row_mysql_freeze_data_dictionary_func < g
        tid 3 S futex 0x3060 latch 2 | {wait} < rw_lock_s_lock_spin < buf_page_get_gen < h
        tid 4 S futex 0x4060 latch 8 | {wait} < rw_lock_s_lock_spin < row_mysql_freeze_data_dictionary_func < f
        tid 5 S futex 0x5060 latch 9 | {wait} < mutex_spin_wait < log_write_up_to < f
        tid 9 R | row_drop_table_for_mysql
        "
    );
    let latch = |address, name| Latch { address, name };
    let name = Some("dict_operation_lock");
    let symbols = LockSymbols {
        // Who waits as the next writer sleeps on an event of its own.
        latches: HashMap::from([
            (0x1060, latch(0x100, name)),
            (0x2060, latch(0x100, name)),
            (0x3060, latch(0x300, None)),
        ]),
        ..LockSymbols::default()
    };
    let table = Story::of(&[&moment]).table_with(&symbols);
    let dictionary = row(&table.locks, "dict_operation_lock");
    assert_eq!((dictionary.address, dictionary.waiters_max), (0x100, 2));
    let holders: Vec<_> = dictionary
        .holders
        .iter()
        .map(|one| (one.tid, one.by))
        .collect();
    assert_eq!(holders, [(9, HolderBy::OwnerField)]);
    let page = row(&table.locks, "page latch at 0x300");
    assert_eq!(page.holders[0].tid, 2);
    assert_eq!(page.holders[0].doing, "waits for dict_operation_lock");
    // Not where the path says, for that lock is elsewhere; and the owner is no thread of the process.
    let other = row(&table.locks, "InnoDB read-write lock at 0x4060");
    assert!(other.holders.is_empty(), "{other:?}");
    // A mutex is none.
    let log = table
        .locks
        .iter()
        .find(|row| row.name.starts_with("redo log") || row.name.starts_with("log_sys"));
    assert!(log.unwrap().holders.is_empty(), "{log:?}");
}

const MAIN: &str = "0x7f4373413c60";

fn libc() -> LockSymbols {
    LockSymbols {
        libc_data: Vec::from_iter(Some(0x7f43_7341_3000..0x7f43_7341_8000)),
        ..LockSymbols::default()
    }
}

fn arena_waiter(tid: u32, address: &str) -> String {
    format!("tid {tid} S futex {address} | __lll_lock_wait_private < malloc < my_malloc < f\n")
}

#[test]
fn who_works_in_the_arena_has_it() {
    for (thread, expected) in [
        ("tid 9 R | _int_malloc < malloc < g", Some(9)),
        (
            "tid 9 D in madvise | madvise < heap_trim < _int_free < free < g",
            Some(9),
        ),
        (
            "tid 9 S in brk | __brk < __sbrk < sysmalloc < _int_malloc < malloc < g",
            Some(9),
        ),
        (
            "tid 9 R | _int_free < free < g\n tid 8 R | malloc_consolidate < _int_free < free < g",
            Some(8),
        ),
        // Two that surely work in an arena work in two.
        (
            "tid 9 R | _int_malloc < malloc < g\n tid 8 R | malloc_consolidate < _int_free < free < g",
            None,
        ),
        ("tid 9 R | malloc < g", None),
        // Woken from its wait, but it has not run since.
        (
            "tid 9 R | __lll_lock_wait_private < _int_free < free < g",
            None,
        ),
        (
            "tid 9 R | __lll_lock_wait_private < _int_free < free < g\n tid 8 R | _int_malloc < malloc < g",
            Some(8),
        ),
        (
            "tid 9 S futex 0x7f4373413c60 | __lll_lock_wait_private < _int_free < free < g",
            None,
        ),
    ] {
        let table = Story::of(&[&(arena_waiter(1, MAIN) + thread)]).table_with(&libc());
        let row = row(&table.locks, "malloc arena main_arena");
        assert_eq!(
            row.holders.first().map(|holder| holder.tid),
            expected,
            "{thread}"
        );
        assert!(
            row.holders
                .iter()
                .all(|holder| holder.by == HolderBy::Stack)
        );
    }
}

#[test]
fn with_several_arenas_only_the_program_break_tells_which() {
    let both = arena_waiter(1, MAIN) + &arena_waiter(2, "0x7f4378000030");
    let table =
        Story::of(&[&(both.clone() + "tid 9 R | _int_malloc < malloc < g")]).table_with(&libc());
    assert!(table.locks.iter().all(|row| row.holders.is_empty()));
    let table =
        Story::of(
            &[&(both + "tid 9 S in brk | brk < sbrk < sysmalloc < _int_malloc < malloc < g")],
        )
        .table_with(&libc());
    assert_eq!(
        row(&table.locks, "malloc arena main_arena").holders[0].tid,
        9
    );
    assert!(
        row(&table.locks, "malloc arena at 0x7f4378000030")
            .holders
            .is_empty()
    );
}

#[test]
fn code_under_kernel_mutex_holds_it() {
    const WAITERS: &str = "
        tid 1 S futex 0x1000 | pthread_cond_wait < os_event_wait_low < sync_array_wait_event < mutex_spin_wait < trx_start < f
        tid 2 S futex 0x1000 | pthread_cond_wait < os_event_wait_low < sync_array_wait_event < mutex_spin_wait < trx_commit_off_kernel < f
    ";
    for (thread, expected) in [
        (
            "tid 9 R | lock_rec_create < lock_rec_lock < row_search_for_mysql",
            Some(9),
        ),
        (
            "tid 9 R | read_view_open_now < trx_assign_read_view < row_search_for_mysql",
            Some(9),
        ),
        // It gives the mutex up while it writes the log.
        ("tid 9 D in fsync | fsync < trx_commit_off_kernel < f", None),
        ("tid 9 S in recvfrom | recv < lock_rec_create", None),
    ] {
        let table = Story::of(&[&format!("{WAITERS}\n{thread}")]).table();
        let row = row(&table.locks, "kernel_mutex");
        assert_eq!(row.waiters_max, 2);
        assert_eq!(
            row.holders.first().map(|holder| holder.tid),
            expected,
            "{thread}"
        );
    }
}

#[test]
fn who_writes_the_log_for_all_is_behind_them() {
    let table = Story::of(&["
        tid 1 S futex 0x10 | pthread_cond_wait < os_event_wait_low < log_write_up_to < trx_commit_complete_for_mysql
        tid 2 S futex 0x10 | pthread_cond_wait < os_event_wait_low < log_write_up_to < trx_commit_complete_for_mysql
        tid 3 D in fsync | fsync < os_file_flush_func < fil_flush < log_write_up_to < trx_commit_complete_for_mysql
    "])
    .table();
    let row = row(&table.locks, "redo log write and flush");
    assert_eq!(row.holders[0].doing, "in fsync, uninterruptible");
    assert_eq!(table.chains[0].links.len(), 1);
}
