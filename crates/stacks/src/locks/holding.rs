//! Functions that run only under a lock: a thread in one of them that does not wait for the lock
//! has it.

use super::matching::matches_any;

/// A lock and functions that run only while its owner has it.
struct Held {
    /// Name of the lock, as the table of known waits gives it; `*` is any run.
    lock: &'static str,
    /// Functions, with `|` between them; one anywhere on the stack is enough.
    functions: &'static str,
    /// Functions of which one must be there besides; empty when there need not.
    within: &'static str,
    /// Functions of which none may be there.
    outside: &'static str,
    /// Where that is from. Read by people, and by the test that there is no row without it.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the source of a row is for its readers")
    )]
    source: &'static str,
}

static HELD: &[Held] = &[
    // Of the functions with `ut_ad(mutex_own(&kernel_mutex))` only those that do not give it up in
    // between: `trx_commit_off_kernel`, `lock_release_off_kernel`, `lock_rec_convert_impl_to_expl`
    // and `row_vers_impl_x_locked_off_kernel` do.
    Held {
        lock: "kernel_mutex",
        functions: "lock_rec_create|lock_rec_add_to_queue|lock_rec_lock_fast|lock_rec_lock_slow|lock_rec_lock|\
            lock_rec_enqueue_waiting|lock_rec_has_expl|lock_rec_other_has_expl_req|lock_rec_other_has_conflicting|\
            lock_rec_find_similar_on_page|lock_rec_dequeue_from_page|lock_rec_discard|lock_rec_move|\
            lock_rec_inherit_to_gap|lock_rec_inherit_to_gap_if_gap_lock|lock_rec_reset_and_release_wait|\
            lock_rec_free_all_from_discard_page|lock_rec_has_to_wait_in_queue|lock_grant|lock_deadlock_occurs|\
            lock_deadlock_recursive|lock_table_create|lock_table_enqueue_waiting|lock_table_dequeue|\
            lock_table_remove_low|lock_table_other_has_incompatible|lock_cancel_waiting_and_release|\
            read_view_open_now|read_view_oldest_copy_or_open_new|read_view_close|trx_start_low|trx_assign_rseg|\
            trx_sys_flush_max_trx_id|trx_create|trx_free|trx_list_insert_ordered|trx_end_lock_wait|\
            que_thr_end_wait|que_thr_end_wait_no_next_thr|srv_release_mysql_thread_if_suspended|\
            srv_table_reserve_slot|srv_table_reserve_slot_for_mysql|fetch_data_into_cache|fill_trx_row|\
            add_trx_relevant_locks_to_cache",
        within: "",
        outside: "",
        source: "MySQL 5.5: ut_ad(mutex_own(&kernel_mutex)) in lock0lock.c, trx0trx.c, read0read.c, srv0srv.c, que0que.c",
    },
    Held {
        lock: "LOCK_open",
        functions: "free_cache_entry|intern_close_table|release_table_share|table_def_free_entry|\
            kill_delayed_threads_for_table|assign_new_table_id|get_cached_table_share",
        within: "",
        outside: "",
        source: "MySQL 5.1, 5.5: safe_mutex_assert_owner(&LOCK_open) in sql_base.cc",
    },
    // One thread writes and flushes for all: it runs or is in the system call, the others wait.
    Held {
        lock: "redo log write and flush",
        functions: "log_write_flush_to_disk_low|log_group_write_buf|log_flush_low|log_files_write_buffer|log_writer_write_buffer|\
            log_t::write_buf|log_t::flush|log_write_buf",
        within: "",
        outside: "",
        source: "log0log.cc (5.7, MariaDB), log0write.cc (8.0): called between the checks of the waiters",
    },
    Held {
        lock: "redo log write and flush",
        functions: "fil_flush|fil_io|log_group_write_buf",
        within: "log_write_up_to",
        outside: "",
        source: "log0log.c (5.5): n_pending_writes is raised around them",
    },
    Held {
        lock: "redo log write and flush",
        functions: "fsync|fdatasync|pwrite|pwrite64",
        within: "log_write_up_to|log_writer|log_flusher|log_t::*|log_self_write_up_to",
        outside: "",
        source: "log0log.cc, log0write.cc (8.0 and later), where the functions between have no names",
    },
    // Where the engine has no names at all: what a commit writes and is not the binary log.
    Held {
        lock: "redo log write and flush",
        functions: "fsync|fdatasync|pwrite|pwrite64",
        within: "ha_commit_trans|ha_commit_one_phase",
        outside: "MYSQL_BIN_LOG::*|MYSQL_LOG::*|TC_LOG_MMAP::*",
        source: "sql/handler.cc; stacks of MariaDB 10.11",
    },
    Held {
        lock: "binlog group commit",
        functions: "MYSQL_BIN_LOG::sync_binlog_file|MYSQL_BIN_LOG::process_flush_stage_queue|\
            MYSQL_BIN_LOG::process_commit_stage_queue|MYSQL_BIN_LOG::flush_cache_to_file|MYSQL_BIN_LOG::flush_and_sync",
        within: "",
        outside: "",
        source: "sql/binlog.cc (5.6 to 8.0), sql/log.cc (MariaDB): the leader's work for its group",
    },
    Held {
        lock: "flush of a data file",
        functions: "os_file_flush_func|pfs_os_file_flush_func|os_file_flush",
        within: "fil_flush|Fil_shard::*|fil_space_t::*",
        outside: "",
        source: "fil0fil.c: n_pending_flushes is raised around os_file_flush",
    },
];

/// How surely a function of the allocator runs under an arena's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ArenaWork {
    /// It runs outside of the lock too: `_int_free` for small chunks.
    Maybe,
    /// Only under the lock, for any arena (`malloc/malloc.c`).
    Held,
    /// Only under the lock of `main_arena`: it moves the program break.
    MainArena,
}

/// Whether a thread with these frames (plain names) is in code that runs only under `lock`.
pub(super) fn runs_under(lock: &str, frames: &[&str]) -> bool {
    HELD.iter()
        .filter(|held| model::matches_pattern(held.lock, lock))
        .any(|held| {
            frames
                .iter()
                .any(|frame| matches_any(held.functions, frame))
                && (held.within.is_empty()
                    || frames.iter().any(|frame| matches_any(held.within, frame)))
                && (held.outside.is_empty()
                    || !frames.iter().any(|frame| matches_any(held.outside, frame)))
        })
}

/// What a thread with these frames does in glibc's allocator, as far as it has to do with arenas.
pub(super) fn arena_work(frames: &[&str]) -> Option<ArenaWork> {
    const HELD: &str = "_int_malloc|malloc_consolidate|sysmalloc*|systrim*|sYSMALLOc|sYSTRIm|heap_trim*|_int_realloc|\
        _int_memalign|_int_free_merge_chunk|_int_free_create_chunk|_int_free_maybe_consolidate|unlink_chunk*|grow_heap|shrink_heap";
    const BREAK: &str = "sbrk|brk|default_morecore|glibc_morecore|morecore";
    let mut work = None;
    for frame in frames {
        let this = if matches_any(BREAK, frame) {
            Some(ArenaWork::MainArena)
        } else if matches_any(HELD, frame) {
            Some(ArenaWork::Held)
        } else if *frame == "_int_free" {
            Some(ArenaWork::Maybe)
        } else {
            None
        };
        work = work.max(this);
    }
    work
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_are_told_by_what_they_run() {
        assert!(runs_under(
            "kernel_mutex",
            &[
                "malloc",
                "mem_heap_create_block",
                "lock_rec_create",
                "lock_rec_lock"
            ]
        ));
        assert!(!runs_under(
            "kernel_mutex",
            &["fil_flush", "trx_commit_off_kernel"]
        ));
        assert!(!runs_under("LOCK_grant", &["lock_rec_create"]));
        let redo = "redo log write and flush";
        assert!(runs_under(
            redo,
            &["fdatasync", "mariadbd+0x1", "ha_commit_trans"]
        ));
        assert!(!runs_under(
            redo,
            &[
                "fdatasync",
                "MYSQL_BIN_LOG::flush_and_sync",
                "ha_commit_trans"
            ]
        ));
        assert!(!runs_under(
            redo,
            &["fdatasync", "mariadbd+0x1", "open_table"]
        ));
        assert!(HELD.iter().all(|held| !held.source.is_empty()));
    }

    #[test]
    fn work_in_an_arena_has_degrees() {
        assert_eq!(
            arena_work(&["_int_free", "free", "f"]),
            Some(ArenaWork::Maybe)
        );
        assert_eq!(
            arena_work(&["_int_malloc", "malloc"]),
            Some(ArenaWork::Held)
        );
        assert_eq!(
            arena_work(&["brk", "sbrk", "sysmalloc", "_int_malloc"]),
            Some(ArenaWork::MainArena)
        );
        assert_eq!(arena_work(&["malloc", "f"]), None);
    }
}
