//! Made-up stalls of waits behind one statement, one lock, a cluster or a clock, and of a server that starts or stops.

use model::RunState::{Running, Sleeping};

use super::super::Story;
use super::super::deep::{Samples, Threads};
use super::{held, lock, more, waiting};

pub fn binlog_reader() -> Story {
    const READER: Threads = (
        1,
        "mysqld",
        Sleeping,
        &[
            "my_net_write",
            "show_binlog_events",
            "mysql_show_binlog_events",
        ],
    );
    const COMMITS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "lll_lock_wait",
            "pthread_mutex_lock",
            "MYSQL_BIN_LOG::change_stage",
        ],
    );
    waiting("query end").threads(&[READER, COMMITS]).locks(
        &[held(
            "LOCK_log",
            30,
            "lists events of a binary log",
            &["my_net_write", "mysql_show_binlog_events"],
        )],
        &[],
    )
}

/// Workers that take turns by GET_LOCK(); the one whose turn it is hangs. The name is a metadata lock in the server's code.
pub fn user_lock() -> Story {
    const WAITS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "pthread_cond_timedwait",
            "MDL_wait::timed_wait",
            "MDL_context::acquire_lock",
            "Item_func_get_lock::val_int",
        ],
    );
    waiting("User lock").threads(&[WAITS])
}

pub fn flushed_tables() -> Story {
    const WAITS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "pthread_cond_wait",
            "MDL_wait::timed_wait",
            "tdc_wait_for_old_version",
        ],
    );
    waiting("Waiting for table flush").threads(&[WAITS])
}

pub fn lock_system() -> Story {
    const WAITS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &["sync_array_wait_event", "lock_rec_lock", "row_search_mvcc"],
    );
    const CPU: Samples = (30, &["ut_delay", "lock_mutex_enter", "lock_rec_lock"]);
    Story::healthy()
        .rate("status.Questions", 4_000.0, 60.0)
        .level("status.Threads_running", 4.0, 40.0)
        .busy(&[("update", "updating", "app", 36)])
        .semaphores(
            63,
            &vec![more::wait(("lock0lock.cc", 6415), ("lock0lock.cc", 454), 1.0); 12],
        )
        .threads(&[WAITS])
        .samples(&[CPU])
        .locks(&[lock("LOCK_SYS", 30)], &[])
}

pub fn commit_queue() -> Story {
    const WAITS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "pthread_cond_wait",
            "wsrep_wait_for_turn_in_group_commit",
            "MYSQL_BIN_LOG::ordered_commit",
        ],
    );
    waiting("wsrep: waiting for preceding commit")
        .rate("status.wsrep_flow_control_paused_ns", 0.0, 0.0)
        .rate("status.wsrep_last_committed", 800.0, 0.0)
        .level("status.wsrep_cluster_size", 3.0, 3.0)
        .level("status.wsrep_local_recv_queue", 0.0, 900.0)
        .threads(&[WAITS])
}

pub fn isolated_ddl() -> Story {
    const DDL: Threads = (
        2,
        "mysqld",
        Sleeping,
        &[
            "pthread_cond_wait",
            "wsrep_to_isolation_begin",
            "mysql_alter_table",
        ],
    );
    Story::healthy()
        .rate("status.Questions", 4_000.0, 60.0)
        .rate("status.wsrep_flow_control_paused_ns", 0.0, 0.0)
        .busy(&[
            ("alter", "wsrep: preparing for TO isolation", "dba", 2),
            ("commit", "commit", "app", 36),
        ])
        .threads(&[DDL])
}

pub fn slow_start() -> Story {
    const SCAN: Threads = (
        2,
        "mysqld",
        Running,
        &["pread64", "Tablespace_dirs::scan", "Fil_system::scan"],
    );
    Story::healthy()
        .level("probe.connect_outcome", 0.0, 1.0)
        .error_log(&[
            "2026-01-02T03:05:09Z 1 [System] [MY-013576] [InnoDB] InnoDB initialization has started.",
            "2026-01-02T03:05:19Z 1 [Note] [MY-012910] [InnoDB] Checked 20123/812331 files",
        ])
        .threads(&[SCAN])
}

pub fn endless_stop() -> Story {
    const STOP: Threads = (
        1,
        "mysqld",
        Sleeping,
        &[
            "nanosleep",
            "logs_empty_and_mark_files_at_shutdown",
            "innobase_shutdown_for_mysql",
        ],
    );
    Story::healthy()
        .error_log(&[
            "2026-01-02T03:05:09Z 0 [Note] mysqld: Normal shutdown",
            "2026-01-02T03:06:09Z 0 [Note] InnoDB: Waiting for purge thread to be suspended",
        ])
        .threads(&[STOP])
}

pub fn clock_back() -> Story {
    Story::healthy()
        .level("clock.wall_offset_ms", 0.0, -3_600_000.0)
        .kernel_log(&["chronyd[812]: System clock was stepped by -3600.113 seconds"])
        .rate("status.Innodb_buffer_pool_pages_flushed", 50.0, 0.0)
}
