//! Threads that wait for work. Only the function that waits tells: the same threads also wait for
//! locks, further in.

use super::WaitMeaning::{Condition, Idle};
use super::{EVENT, KnownWait, NO_LOCK, row};

const FOR_WORK: super::WaitMeaning = Idle("waits for work");
const FOR_CLIENT: super::WaitMeaning = Idle("waits for its client");
const FOR_CONNECTIONS: super::WaitMeaning = Idle("waits for connections");
const FOR_IO: super::WaitMeaning = Idle("waits for I/O to do or to end");
const FOR_TIME: super::WaitMeaning = Idle("waits for its time");
const FOR_CHANGES: super::WaitMeaning = Idle("waits for changes to send");

const PUBLISHED: &str = "stacks published with percona-toolkit";
const PUBLISHED_57: &str = "published stacks of 5.7";

pub(super) static ROWS: &[KnownWait] = &[
    // Connections.
    row(
        FOR_WORK,
        NO_LOCK,
        &["end_thread|cache_thread|one_thread_per_connection_end"],
        "MySQL 5.0, 5.1, 5.5, 5.6",
        PUBLISHED,
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &["*block_until_new_connection"],
        "MySQL 5.7, 8.0",
        PUBLISHED,
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &[
            "CONNECT_cache::*|THD_cache::*|Thread_cache::park|handle_one_connection|do_handle_one_connection|handle_connection",
        ],
        "MariaDB 10.11, 11.4",
        "sql/sql_connect.cc, Thread_cache",
    ),
    row(
        FOR_CLIENT,
        NO_LOCK,
        &[
            "vio_read*|vio_io_wait|vio_socket_io_wait|my_real_read|net_read_*|my_net_read*",
            "do_command|handle_one_connection|handle_connection|Protocol_classic::*",
        ],
        "MySQL 5.0 to 8.0, MariaDB",
        PUBLISHED,
    ),
    row(
        FOR_CLIENT,
        NO_LOCK,
        &["Protocol_classic::*"],
        "MySQL 5.7",
        PUBLISHED_57,
    ),
    row(
        FOR_CONNECTIONS,
        NO_LOCK,
        &[
            "handle_connections_sockets|poll|Mysqld_socket_listener::listen_for_connection_event|Admin_socket_listener::*",
        ],
        "MySQL 5.0 to 8.0, MariaDB",
        PUBLISHED,
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &["get_event|worker_main|listener|io_poll_wait|tp_*"],
        "MariaDB and Percona Server with a thread pool",
        "sql/threadpool_generic.cc",
    ),
    row(
        FOR_TIME,
        NO_LOCK,
        &["timer_thread|timer_handler|timer_notify_thread_func|process_timers"],
        "MySQL 5.7, MariaDB",
        PUBLISHED_57,
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &["signal_hand|signal_handler"],
        "MySQL 5.0 to 8.0, MariaDB",
        PUBLISHED,
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &[
            "handle_manager|compress_gtid_table|Rpl_opt_tracker::worker|slave_deadlock_handler|handle_slave_background|binlog_background_thread",
        ],
        "MySQL 5.5 to 8.0, MariaDB 10.11",
        PUBLISHED,
    ),
    row(
        FOR_TIME,
        NO_LOCK,
        &[
            "Event_queue::cond_wait|Event_scheduler::cond_wait|Event_queue::get_top_for_execution_if_time",
        ],
        "MySQL 5.1 to 8.0, MariaDB",
        PUBLISHED,
    ),
    row(
        FOR_TIME,
        NO_LOCK,
        &["process_alarm|alarm_handler|my_thread_alarm*"],
        "MySQL 5.0 to 5.5",
        "mysys/thr_alarm.c",
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &["handle_delayed_insert|Delayed_insert::handle_inserts"],
        "MySQL 5.0 to 5.6, MariaDB",
        "sql/sql_insert.cc",
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &["ngs::*|xpl::*|event_base_loop|epoll_dispatch"],
        "MySQL 8.0, X plugin",
        PUBLISHED,
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &[
            "tpool::thread_pool_generic::wait_for_tasks|tpool::thread_pool_generic::get_task|tpool::thread_pool_generic::worker_main",
        ],
        "MariaDB 10.5 and later",
        "tpool/tpool_generic.cc",
    ),
    row(
        FOR_TIME,
        NO_LOCK,
        &["tpool::thread_timer*|tpool::thread_pool_generic::maintenance*"],
        "MariaDB 10.5 and later",
        "tpool/tpool_generic.cc",
    ),
    row(
        FOR_IO,
        NO_LOCK,
        &[
            "tpool::aio_linux::*|tpool::aio_uring::*|uring_get_cqe|io_uring_get_cqe|getevent_thread_routine|my_getevents",
        ],
        "MariaDB 10.5 and later",
        "tpool/aio_linux.cc, tpool/aio_liburing.cc",
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &["ma_checkpoint_background|my_service_thread_sleep"],
        "MariaDB",
        "storage/maria/ma_checkpoint.c, ma_servicethread.c",
    ),
    // Replication.
    row(
        FOR_CHANGES,
        EVENT,
        &["MYSQL_LOG::wait_for_update*|MYSQL_BIN_LOG::wait_for_update*"],
        "MySQL 5.0 to 8.0, MariaDB",
        PUBLISHED,
    ),
    row(
        Idle("waits for changes to apply"),
        EVENT,
        &[
            "next_event|exec_relay_log_event|Rpl_applier_reader::*|Relay_log_info::wait_for_*update*",
            "handle_slave_sql",
        ],
        "MySQL 5.5 to 8.0, MariaDB",
        "sql/slave.cc, sql/rpl_slave.cc",
    ),
    row(
        FOR_WORK,
        EVENT,
        &[
            "handle_rpl_parallel_thread|rpl_parallel_thread::*|pop_jobs_item|slave_worker_exec_job_group",
            "handle_*|start_thread",
        ],
        "MySQL 5.6 to 8.0, MariaDB",
        "sql/rpl_parallel.cc, sql/rpl_rli_pdb.cc",
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &["Ack_receiver::run|Ack_receiver::wait_for_slave_connection"],
        "MySQL 5.7, MariaDB",
        "sql/semisync_master_ack_receiver.cc",
    ),
    // Galera.
    row(
        FOR_WORK,
        NO_LOCK,
        &[
            "*",
            "galera::ServiceThd::thd_func|galera::GcsActionSource::process|gcs_recv_thread|wsrep_rollback_process|wsrep_rollbacker*",
        ],
        "MariaDB and MySQL with Galera",
        "galera/src/galera_service_thd.cpp",
    ),
    // InnoDB, its I/O threads.
    row(
        FOR_IO,
        EVENT,
        &["os_aio_simulated_handle|os_aio_simulated_handler|SimulatedAIOHandler::*"],
        "MySQL 5.0 to 8.0",
        PUBLISHED,
    ),
    row(
        FOR_IO,
        NO_LOCK,
        &["LinuxAIOHandler::*|os_aio_linux_*|os_aio_handler|fil_aio_wait|io_handler_thread"],
        "MySQL 5.5 to 8.0",
        PUBLISHED,
    ),
    // InnoDB, its background threads.
    row(
        FOR_TIME,
        NO_LOCK,
        &[
            "srv_master_thread|srv_master_sleep|srv_master_main_loop|srv_master_callback|srv_suspend_thread*",
        ],
        "MySQL 5.0 to 8.0",
        PUBLISHED,
    ),
    row(
        FOR_TIME,
        NO_LOCK,
        &["srv_lock_timeout_thread|srv_lock_timeout_and_monitor_thread|lock_wait_timeout_thread"],
        "MySQL 5.0 to 8.0",
        PUBLISHED,
    ),
    row(
        FOR_TIME,
        NO_LOCK,
        &["srv_error_monitor_thread|srv_monitor_thread|srv_monitor_task"],
        "MySQL 5.0 to 8.0",
        PUBLISHED,
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &[
            "srv_purge_thread|srv_worker_thread|srv_purge_coordinator_suspend|srv_purge_coordinator_thread|purge_coordinator*|srv_release_threads",
        ],
        "MySQL 5.5 to 8.0",
        PUBLISHED,
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &[
            "buf_flush_page_cleaner*|buf_flush_page_coordinator_thread|pc_sleep_if_needed|page_cleaner_sleep_if_needed|buf_lru_manager*|buf_LRU_manager*",
        ],
        "MySQL 5.6 to 8.0, MariaDB, Percona Server",
        PUBLISHED,
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &[
            "buf_dump_thread|buf_resize_thread|fts_optimize_thread|fts_optimize_callback|dict_stats_thread|dict_stats_func|btr_defragment_thread|recv_writer_thread",
        ],
        "MySQL 5.6 to 8.0, MariaDB 10",
        PUBLISHED,
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &["fil_crypt_thread*|fil_crypt_find_space_to_rotate|btr_scrub_thread"],
        "MariaDB 10",
        "storage/innobase/fil/fil0crypt.cc",
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &[
            "log_writer|log_flusher|log_write_notifier|log_flush_notifier|log_checkpointer|log_closer|log_files_governor|log_archiver*",
        ],
        "MySQL 8.0",
        PUBLISHED,
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &["Clone_persist_gtid::*|srv_tmp_table*|log_consumer*"],
        "MySQL 8.0",
        PUBLISHED,
    ),
    row(
        FOR_WORK,
        NO_LOCK,
        &["background_thread_entry|background_work_sleep_once|background_thread_sleep"],
        "jemalloc 5",
        "src/background_thread.c",
    ),
    // Neither work nor a lock.
    row(
        Condition("SLEEP()"),
        EVENT,
        &["*", "Item_func_sleep::val_int"],
        "MySQL 5.5 to 8.0, MariaDB 10.11",
        "stack of MariaDB 10.11",
    ),
    row(
        Condition("user lock (GET_LOCK)"),
        EVENT,
        &["*", "Item_func_get_lock::val_int"],
        "MySQL 5.0 to 5.6, where it is no metadata lock",
        "sql/item_func.cc",
    ),
    row(
        Condition("a position of the source (MASTER_POS_WAIT)"),
        EVENT,
        &[
            "Relay_log_info::wait_for_pos|Relay_log_info::wait_for_gtid_set|Item_master_pos_wait::val_int|rpl_slave_state::*",
        ],
        "MySQL 5.5 to 8.0, MariaDB",
        "sql/rpl_rli.cc",
    ),
    row(
        Condition("InnoDB: delay of inserts behind purge (innodb_max_purge_lag)"),
        EVENT,
        &["row_mysql_delay_if_needed"],
        "MySQL 5.0 to 8.0",
        "row/row0mysql.c",
    ),
];
