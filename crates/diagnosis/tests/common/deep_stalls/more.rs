//! Made-up stalls that are told by InnoDB's own list of waits, by lines of logs, or by settings.

use model::RunState::{Running, Sleeping, Uninterruptible};
use model::SemaphoreWait;

use super::super::Story;
use super::super::deep::{Samples, Threads};
use super::{held, waiting};

/// A wait for a latch, by the place that asks and the place that created it.
pub fn wait(asked: (&str, u32), created: (&str, u32), seconds: f64) -> SemaphoreWait {
    SemaphoreWait {
        thread: "140234".to_owned(),
        file: asked.0.to_owned(),
        line: asked.1,
        seconds,
        lock_kind: "S-lock".to_owned(),
        created_file: Some(created.0.to_owned()),
        created_line: Some(created.1),
        ..SemaphoreWait::default()
    }
}

/// The same with where it was last locked.
pub fn locked(asked: (&str, u32), last: &str, seconds: f64) -> SemaphoreWait {
    SemaphoreWait {
        last_write_locked: Some(last.to_owned()),
        ..wait(asked, ("dict0dict.cc", 1183), seconds)
    }
}

pub fn killed() -> Story {
    Story::healthy()
        // It is another process afterwards.
        .level("status.Uptime", 90_000.0, 3.0)
        .kernel_log(&[
            "mysqld invoked oom-killer: gfp_mask=0x140dca, order=0, oom_score_adj=0",
            "Out of memory: Killed process 4711 (mysqld) total-vm:9034512kB, anon-rss:7801232kB",
        ])
        .error_log(&["2026-01-02T03:05:09Z 0 [Note] InnoDB: Starting crash recovery."])
        .level("probe.connect_outcome", 0.0, 1.0)
        .rate("psi.memory.full_us", 0.0, 300_000.0)
}

pub fn few_files() -> Story {
    waiting("Opening tables")
        .fact("variables.open_files_limit", "1024")
        .level("status.Open_files", 300.0, 1_020.0)
        .error_log(&["[ERROR] Error in accept: Too many open files"])
}

pub fn thread_pool() -> Story {
    const WAITS: Threads = (
        60,
        "mysqld",
        Sleeping,
        &[
            "k:futex_wait",
            "pthread_cond_timedwait",
            "tp_wait_begin",
            "worker_main",
        ],
    );
    Story::healthy()
        .fact("variables.thread_handling", "pool-of-threads")
        .fact("variables.thread_pool_max_threads", "64")
        .level("status.Threadpool_threads", 12.0, 64.0)
        .level("status.Threadpool_idle_threads", 8.0, 0.0)
        .level("probe.query_us", 300.0, 3_000_000.0)
        .rate("status.Questions", 4_000.0, 200.0)
        .threads(&[WAITS])
}

pub fn hung_latch() -> Story {
    const WAITS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "k:futex_wait",
            "os_event_wait_low",
            "sync_array_wait_event",
            "mutex_spin_wait",
        ],
    );
    waiting("update")
        .semaphores(
            63,
            &vec![wait(("sync0rw.cc", 297), ("sync0sync.cc", 1472), 260.0); 12],
        )
        .error_log(&["InnoDB: Warning: a long semaphore wait:"])
        .threads(&[WAITS])
}

pub fn full_text() -> Story {
    const SYNC: Threads = (
        2,
        "mysqld",
        Running,
        &[
            "btr_cur_optimistic_insert",
            "fts_write_node",
            "fts_sync_write_words",
            "fts_sync",
        ],
    );
    waiting("update")
        .semaphores(
            63,
            &vec![wait(("fts0fts.cc", 3622), ("fts0fts.cc", 643), 5.0); 6],
        )
        .threads(&[SYNC])
}

pub fn index_build() -> Story {
    const DDL: Threads = (
        1,
        "mysqld",
        Running,
        &[
            "buf_flush_dirty_pages",
            "FlushObserver::flush",
            "row_merge_build_indexes",
        ],
    );
    const CPU: Samples = (
        40,
        &[
            "buf_flush_dirty_pages",
            "FlushObserver::flush",
            "row_merge_build_indexes",
        ],
    );
    Story::healthy()
        .rate("status.Questions", 4_000.0, 60.0)
        .level("status.Threads_running", 4.0, 40.0)
        .busy(&[
            ("update", "updating", "app", 36),
            ("alter", "altering table", "dba", 1),
        ])
        .threads(&[DDL])
        .samples(&[CPU])
}

pub fn resizing() -> Story {
    const RESIZE: Threads = (
        1,
        "mysqld",
        Running,
        &[
            "buf_pool_withdraw_blocks",
            "buf_pool_resize",
            "buf_resize_thread",
        ],
    );
    waiting("executing")
        .threads(&[RESIZE])
        .level("status.Innodb_buffer_pool_resize_status_code", 0.0, 3.0)
        .error_log(&["[Note] InnoDB: buffer pool 0 : will be withdrawing blocks"])
}

pub fn worse_plan() -> Story {
    const CPU: Samples = (
        150,
        &[
            "row_search_mvcc",
            "ha_innobase::rnd_next",
            "rr_sequential",
            "sub_select",
        ],
    );
    waiting("Sending data")
        .rate("status.Handler_read_rnd_next", 40_000.0, 9_000_000.0)
        .samples(&[CPU])
}

pub fn table_lock() -> Story {
    const WAITS: Threads = (
        36,
        "mysqld",
        Sleeping,
        &[
            "pthread_cond_timedwait",
            "wait_for_lock",
            "thr_lock",
            "thr_multi_lock",
            "mysql_lock_tables",
        ],
    );
    waiting("Waiting for table level lock")
        .rate("status.Table_locks_waited", 0.0, 18.0)
        .threads(&[WAITS])
        .locks(&[super::lock("table lock (THR_LOCK)", 36)], &[])
}

pub fn metadata_queries() -> Story {
    const ANSWERS: Threads = (
        2,
        "mysqld",
        Running,
        &[
            "dict_stats_update",
            "ha_innobase::info",
            "fill_schema_table_by_open",
            "get_all_tables",
        ],
    );
    let held = SemaphoreWait {
        holder_query: Some("SELECT * FROM information_schema.TABLES".to_owned()),
        ..locked(("dict0dict.c", 302), "dict0dict.c line 305", 40.0)
    };
    waiting("Opening tables")
        .semaphores(63, &vec![held; 8])
        .fact("variables.innodb_stats_on_metadata", "ON")
        .threads(&[ANSWERS])
}

pub fn commit_order() -> Story {
    const WORKERS: Threads = (
        8,
        "mysqld",
        Sleeping,
        &[
            "k:futex_wait",
            "pthread_cond_timedwait",
            "Commit_order_manager::wait",
        ],
    );
    Story::healthy()
        .rate("status.Innodb_rows_inserted", 900.0, 0.0)
        .rate("status.Innodb_rows_updated", 900.0, 0.0)
        .rate("status.Innodb_rows_deleted", 10.0, 0.0)
        .busy(&[
            (
                "",
                "Waiting for preceding transaction to commit",
                "system user",
                8,
            ),
            ("select", "Sending data", "app", 3),
        ])
        .threads(&[WORKERS])
}

pub fn slow_flushing() -> Story {
    Story::healthy()
        .fact("variables.innodb_io_capacity", "200")
        .rate("status.Innodb_buffer_pool_pages_flushed", 50.0, 198.0)
        .level("status.Innodb_buffer_pool_pages_dirty", 300.0, 6_500.0)
        .rate("disk.sda.busy_ms", 150.0, 180.0)
        .error_log(&["[Note] InnoDB: page_cleaner: 1000ms intended loop took 5013ms. The settings might not be optimal. (flushed=8123 and evicted=0, during the time.)"])
}

pub fn backing_off() -> Story {
    const ASLEEP: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "k:hrtimer_nanosleep",
            "nanosleep",
            "os_thread_sleep",
            "buf_LRU_get_free_block",
        ],
    );
    waiting("executing")
        .fact("variables.innodb_empty_free_list_algorithm", "backoff")
        .rate("status.Innodb_buffer_pool_wait_free", 0.0, 60.0)
        .level("status.Innodb_buffer_pool_pages_free", 1_000.0, 0.0)
        .threads(&[ASLEEP])
}

pub fn tracked_connections() -> Story {
    Story::healthy()
        .kernel_log(&["nf_conntrack: nf_conntrack: table full, dropping packet"])
        .level("probe.connect_outcome", 0.0, 2.0)
        .rate("status.Connections", 20.0, 2.0)
}

pub fn rotation() -> Story {
    const ROTATES: Threads = (
        1,
        "mysqld",
        Uninterruptible,
        &[
            "k:folio_wait_writeback",
            "MYSQL_BIN_LOG::close",
            "MYSQL_BIN_LOG::new_file_impl",
        ],
    );
    waiting("Commit")
        .fact("variables.sync_binlog", "0")
        .level("meminfo.Writeback", 0.0, 900e6)
        .threads(&[ROTATES])
        .locks(
            &[held(
                "MYSQL_BIN_LOG::LOCK_log",
                30,
                "writes",
                &["MYSQL_BIN_LOG::new_file_impl"],
            )],
            &[],
        )
}

pub fn huge_heap() -> Story {
    Story::healthy()
        .fact("server.allocator", "jemalloc")
        .level("process.resident_bytes", 3.0e9, 3.1e9)
        .level("meminfo.AnonHugePages", 2.7e9, 2.8e9)
        .rate("psi.memory.some_us", 0.0, 400_000.0)
}

pub fn discards() -> Story {
    const FREES: Threads = (
        1,
        "mysqld",
        Uninterruptible,
        &[
            "k:submit_bio_wait",
            "k:blkdev_issue_discard",
            "k:ext4_free_blocks",
            "unlink",
        ],
    );
    Story::healthy()
        .rate("disk.sda.discards", 0.0, 60.0)
        .rate("disk.sda.write_ms", 300.0, 25_000.0)
        .rate("psi.io.full_us", 5_000.0, 500_000.0)
        .threads(&[FREES])
}
