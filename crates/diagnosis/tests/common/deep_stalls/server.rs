//! Made-up stalls inside of the server, after the published cases that the causes name.

use model::RunState::{Running, Sleeping, Uninterruptible};

use super::super::Story;
use super::super::deep::{Samples, Threads};
use super::{held, lock, waiting};

/// Slow statements, idle CPUs.
pub fn malloc_arena() -> Story {
    const WAITS: Threads = (
        20,
        "mysqld",
        Sleeping,
        &[
            "k:futex_wait",
            "__lll_lock_wait_private",
            "_int_free",
            "free",
            "THD::init_for_queries",
        ],
    );
    const CPU: Samples = (
        60,
        &[
            "k:native_queued_spin_lock_slowpath",
            "k:futex_wake",
            "_int_malloc",
            "malloc",
            "my_malloc",
        ],
    );
    waiting("Sending data")
        .rate("cpu.context_switches", 9_000.0, 90_000.0)
        .threads(&[WAITS])
        .samples(&[CPU])
        .locks(&[lock("malloc arena main_arena", 20)], &[])
}

pub fn timezone() -> Story {
    const WAITS: Threads = (
        19,
        "mysqld",
        Sleeping,
        &[
            "__lll_lock_wait_private",
            "_L_lock_2163",
            "__tz_convert",
            "Time_zone_system::gmt_sec_to_TIME",
        ],
    );
    const CPU: Samples = (40, &["__tz_convert", "Time_zone_system::gmt_sec_to_TIME"]);
    waiting("Sending data")
        .rate("cpu.context_switches", 9_000.0, 90_000.0)
        .threads(&[WAITS])
        .samples(&[CPU])
        .locks(&[lock("libc time zone lock (tzset_lock)", 19)], &[])
}

pub fn kernel_mutex() -> Story {
    const WAITS: Threads = (
        40,
        "mysqld",
        Sleeping,
        &[
            "os_event_wait_low",
            "sync_array_wait_event",
            "mutex_spin_wait",
            "trx_start",
            "row_search_for_mysql",
        ],
    );
    const CPU: Samples = (
        60,
        &["ut_delay", "mutex_spin_wait", "trx_commit_off_kernel"],
    );
    waiting("statistics")
        .fact("variables.version", "5.5.62")
        .level("innodb.semaphore_waits", 0.0, 40.0)
        .threads(&[WAITS])
        .samples(&[CPU])
        .locks(&[lock("kernel_mutex", 40)], &[])
}

pub fn trx_sys() -> Story {
    const WAITS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "os_event_wait",
            "PolicyMutex::enter",
            "get_next_redo_rseg",
            "trx_assign_rseg_low",
        ],
    );
    const CPU: Samples = (
        30,
        &["ReadView::prepare", "MVCC::view_open", "row_search_mvcc"],
    );
    waiting("update")
        .level("innodb.semaphore_waits", 0.0, 30.0)
        .threads(&[WAITS])
        .samples(&[CPU])
        .locks(
            &[lock(
                "trx_sys or rollback segments (get_next_redo_rseg)",
                30,
            )],
            &[],
        )
}

pub fn ahi() -> Story {
    const WAITS: Threads = (
        20,
        "mysqld",
        Sleeping,
        &[
            "os_event_wait",
            "rw_lock_s_lock_spin",
            "btr_search_guess_on_hash",
            "row_search_mvcc",
        ],
    );
    const CPU: Samples = (
        40,
        &[
            "ut_delay",
            "rw_lock_x_lock_func",
            "btr_search_drop_page_hash_index",
            "buf_LRU_free_page",
        ],
    );
    waiting("Sending data")
        .level("innodb.semaphore_waits", 0.0, 20.0)
        .threads(&[WAITS])
        .samples(&[CPU])
        .locks(&[lock("btr_search_latch (adaptive hash index)", 20)], &[])
}

pub fn index_latch() -> Story {
    const WAITS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "os_event_wait",
            "rw_lock_sx_lock_func",
            "btr_cur_search_to_nth_level",
            "row_ins_clust_index_entry",
        ],
    );
    const CPU: Samples = (
        20,
        &["btr_page_split_and_insert", "btr_cur_pessimistic_insert"],
    );
    waiting("update")
        .level("innodb.semaphore_waits", 0.0, 30.0)
        .threads(&[WAITS])
        .samples(&[CPU])
        .locks(&[lock("index latch at 0x7f00", 30)], &[])
}

pub fn metadata() -> Story {
    const WAITS: Threads = (
        36,
        "mysqld",
        Sleeping,
        &[
            "pthread_cond_timedwait",
            "MDL_wait::timed_wait",
            "MDL_context::acquire_lock",
            "open_table",
        ],
    );
    waiting("Waiting for table metadata lock")
        .level("innodb.active_seconds_max", 1.0, 1_262.0)
        .threads(&[WAITS])
        .locks(&[lock("metadata lock", 36)], &[])
}

pub fn read_lock() -> Story {
    const WAITS: Threads = (
        1,
        "mysqld",
        Sleeping,
        &[
            "MDL_wait::timed_wait",
            "MDL_context::acquire_lock",
            "Global_read_lock::lock_global_read_lock",
        ],
    );
    waiting("Waiting for global read lock")
        .threads(&[WAITS])
        .locks(&[lock("global read lock", 36)], &[])
}

pub fn query_cache() -> Story {
    const CPU: Samples = (
        30,
        &["Query_cache::free_query", "Query_cache::invalidate_table"],
    );
    waiting("Waiting for query cache lock")
        .samples(&[CPU])
        .locks(&[lock("query cache", 36)], &[])
}

pub fn table_cache() -> Story {
    waiting("Opening tables")
        .rate("status.Opened_tables", 0.1, 400.0)
        .rate("status.Table_open_cache_overflows", 0.0, 390.0)
        .level("status.Open_tables", 2_000.0, 2_000.0)
        .locks(&[lock("LOCK_open", 30)], &[])
}

pub fn checkpoint() -> Story {
    const WAITS: Threads = (
        12,
        "mysqld",
        Sleeping,
        &[
            "pthread_cond_wait",
            "buf_flush_wait_flushed",
            "log_checkpoint_margin",
            "log_free_check",
        ],
    );
    waiting("update")
        .level("status.Innodb_checkpoint_age", 30e6, 78e6)
        .level("innodb.checkpoint_age_bytes", 30e6, 78e6)
        .rate("status.Innodb_buffer_pool_pages_flushed", 50.0, 9_000.0)
        .rate("disk.sda.busy_ms", 150.0, 990.0)
        .rate("disk.sda.writes", 300.0, 9_000.0)
        .threads(&[WAITS])
        .locks(&[lock("space in the redo log (checkpoint)", 12)], &[])
}

pub fn free_pages() -> Story {
    const WAITS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "nanosleep",
            "buf_LRU_get_free_block",
            "buf_page_init_for_read",
            "buf_read_page",
        ],
    );
    waiting("Sending data")
        .rate("status.Innodb_buffer_pool_wait_free", 0.0, 900.0)
        .rate("disk.sda.busy_ms", 150.0, 990.0)
        .rate("disk.sda.writes", 300.0, 3_000.0)
        .threads(&[WAITS])
        .locks(&[lock("a free page of the buffer pool", 30)], &[])
}

pub fn binlog() -> Story {
    const LEADER: Threads = (
        1,
        "mysqld",
        Uninterruptible,
        &[
            "k:jbd2_log_wait_commit",
            "fdatasync",
            "MYSQL_BIN_LOG::sync_binlog_file",
            "MYSQL_BIN_LOG::ordered_commit",
        ],
    );
    const OTHERS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "pthread_cond_wait",
            "Stage_manager::enroll_for",
            "MYSQL_BIN_LOG::ordered_commit",
        ],
    );
    waiting("starting")
        .level("innodb.prepared_transactions", 1.0, 31.0)
        .threads(&[LEADER, OTHERS])
        .locks(&[lock("binlog group commit", 30)], &[])
}

pub fn huge_transaction() -> Story {
    const WRITER: Threads = (
        1,
        "mysqld",
        Running,
        &[
            "write",
            "my_b_flush_io_cache",
            "MYSQL_BIN_LOG::write_cache",
            "MYSQL_BIN_LOG::ordered_commit",
        ],
    );
    Story::healthy()
        .level("innodb.active_seconds_max", 1.0, 400.0)
        .level("innodb.lock_structs", 4.0, 3e6)
        .rate("status.Binlog_cache_disk_use", 0.0, 0.2)
        .threads(&[WRITER])
}

pub fn purge() -> Story {
    const CPU: Samples = (
        60,
        &[
            "trx_undo_prev_version_build",
            "row_vers_build_for_consistent_read",
            "row_search_mvcc",
        ],
    );
    Story::healthy()
        .level("innodb.history_list_length", 900_000.0, 4e6)
        .level("innodb.active_seconds_max", 900.0, 7_200.0)
        .samples(&[CPU])
}

pub fn drop_table() -> Story {
    const DROP: Threads = (
        1,
        "mysqld",
        Running,
        &[
            "buf_LRU_flush_or_remove_pages",
            "fil_delete_tablespace",
            "row_drop_table_for_mysql",
            "ha_innobase::delete_table",
        ],
    );
    const CPU: Samples = (
        60,
        &[
            "buf_LRU_flush_or_remove_pages",
            "fil_delete_tablespace",
            "row_drop_table_for_mysql",
        ],
    );
    waiting("Opening tables")
        .threads(&[DROP])
        .samples(&[CPU])
        .locks(
            &[held(
                "dict_sys mutex",
                36,
                "runs",
                &[
                    "buf_LRU_flush_or_remove_pages",
                    "fil_delete_tablespace",
                    "row_drop_table_for_mysql",
                ],
            )],
            &[],
        )
}

pub fn statistics() -> Story {
    const STATS: Threads = (
        1,
        "ib_dict_stats",
        Sleeping,
        &[
            "pthread_cond_wait",
            "os_event_wait",
            "que_eval_sql",
            "dict_stats_save",
            "dict_stats_thread",
        ],
    );
    waiting("Opening tables")
        .level("innodb.semaphore_waits", 0.0, 30.0)
        .threads(&[STATS])
        .locks(
            &[held(
                "dict_sys mutex",
                36,
                "waits",
                &[
                    "os_event_wait",
                    "que_eval_sql",
                    "dict_stats_save",
                    "dict_stats_thread",
                ],
            )],
            &[],
        )
}

pub fn log_buffer() -> Story {
    const WAITS: Threads = (
        12,
        "mysqld",
        Sleeping,
        &["pthread_cond_wait", "log_buffer_extend", "mtr_t::commit"],
    );
    waiting("update")
        .rate("status.Innodb_log_waits", 0.0, 40.0)
        .rate("disk.sda.write_bytes", 4e6, 9e7)
        .threads(&[WAITS])
}

pub fn open_files() -> Story {
    const WAITS: Threads = (
        12,
        "mysqld",
        Sleeping,
        &[
            "os_event_wait",
            "fil_mutex_enter_and_prepare_for_io",
            "fil_io",
        ],
    );
    waiting("Sending data")
        .level("status.Innodb_num_open_files", 1_990.0, 2_000.0)
        .fact("variables.innodb_open_files", "2000")
        .level("innodb.semaphore_waits", 0.0, 12.0)
        .threads(&[WAITS])
}

pub fn hot_page() -> Story {
    const WAITS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "os_event_wait",
            "rw_lock_x_lock_func",
            "buf_page_get_gen",
            "row_upd_clust_step",
        ],
    );
    waiting("updating")
        .level("innodb.semaphore_waits", 0.0, 30.0)
        .threads(&[WAITS])
        .locks(&[lock("page latch at 0x7f00", 30)], &[])
}

pub fn merges() -> Story {
    const WORK: Threads = (
        9,
        "mysqld",
        Uninterruptible,
        &[
            "k:io_schedule",
            "pread64",
            "ibuf_merge_or_delete_for_page",
            "buf_page_io_complete",
        ],
    );
    waiting("Sending data")
        .level("innodb.change_buffer_pages", 40_000.0, 40_000.0)
        .level("innodb.semaphore_waits", 0.0, 9.0)
        .threads(&[WORK])
}

pub fn double_writes() -> Story {
    const WAITS: Threads = (
        9,
        "mysqld",
        Sleeping,
        &["os_event_wait", "buf_dblwr_add_to_batch", "buf_flush_page"],
    );
    waiting("update")
        .rate("status.Innodb_buffer_pool_pages_flushed", 50.0, 4_000.0)
        .threads(&[WAITS])
}
