//! Locks and waits of the SQL layer.

use super::WaitMeaning::{Lock, LockEach, Wait};
use super::{ANY, CONDITION, EVENT, Kind, KnownWait, NO_LOCK, PTHREAD_LOCK, row};

const PUBLISHED: &str = "stacks published with percona-toolkit";
/// Calls of the SQL layer into a storage engine (sql/handler.cc).
const ENGINE_CALLS: &str = "handler::ha_*|handler::read_*|handler::multi_range_*|handler::index_*|ha_commit_*|ha_rollback_*|\
    ha_prepare*|handler::write_row|handler::update_row|handler::delete_row";
const SQL_BASE_55: &str = "MySQL 5.5 sql/sql_base.cc";

pub(super) static ROWS: &[KnownWait] = &[
    // Locks of the users' making.
    row(
        Wait("metadata lock"),
        NO_LOCK,
        &["MDL_wait::timed_wait|MDL_context::acquire_lock|MDL_context::wait_for_lock*"],
        "MySQL 5.5 to 8.0, MariaDB",
        "sql/mdl.cc",
    ),
    row(
        Wait("metadata lock"),
        NO_LOCK,
        &["*", "MDL_context::acquire_lock"],
        "MySQL 5.5 to 8.0, MariaDB",
        "sql/mdl.cc",
    ),
    row(
        Wait("global read lock"),
        NO_LOCK,
        &[
            "Global_read_lock::*|wait_if_global_read_lock|lock_global_read_lock|make_global_read_lock_block_commit",
        ],
        "MySQL 5.0, 5.1, 5.5",
        "sql/lock.cc",
    ),
    row(
        Wait("table lock (THR_LOCK)"),
        NO_LOCK,
        &["wait_for_lock|thr_lock|thr_multi_lock"],
        "MySQL 5.0 to 8.0, MariaDB",
        "mysys/thr_lock.c",
    ),
    row(
        LockEach("mutex of a table's THR_LOCK"),
        PTHREAD_LOCK,
        &["thr_lock|thr_unlock|thr_multi_lock|thr_multi_unlock|thr_abort_locks*"],
        "MySQL 5.0 to 8.0, MariaDB",
        "mysys/thr_lock.c; stack of MySQL 5.5.9",
    ),
    row(
        Wait("table being altered or flushed"),
        NO_LOCK,
        &[
            "open_table|wait_for_condition|wait_for_refresh|wait_while_table_is_used|wait_for_tables|table_is_used|close_cached_tables|wait_for_locked_table_names",
        ],
        "MySQL 5.0, 5.1",
        PUBLISHED,
    ),
    row(
        Wait("old version of a table (FLUSH)"),
        NO_LOCK,
        &[
            "TABLE_SHARE::wait_for_old_version|tdc_wait_for_old_version|tdc_remove_table|tdc_wait_*|TDC_element::*",
        ],
        "MySQL 5.5 to 8.0, MariaDB",
        SQL_BASE_55,
    ),
    // Commit. Before it answers the client MariaDB waits for the redo log, whose writer calls back:
    // net_real_write has thd_async_state::wait_for_pending_ops inside.
    row(
        Wait("redo log write and flush"),
        CONDITION,
        &["net_real_write|THD::wait_for_pending_ops|thd_async_state::*"],
        "MariaDB 10.6 and later",
        "sql/net_serv.cc, sql/sql_class.h; stacks of MariaDB 10.11 and 11.4",
    ),
    row(
        Lock("mutex of a session's thd_async_state"),
        PTHREAD_LOCK,
        &[
            "net_real_write|thd_async_state::*|THD::wait_for_pending_ops|thd_increment_pending_ops|thd_decrement_pending_ops",
        ],
        "MariaDB 10.6 and later",
        "sql/sql_class.h",
    ),
    row(
        Wait("binlog group commit"),
        EVENT,
        &[
            "Stage_manager::*|Commit_stage_manager::*|MYSQL_BIN_LOG::change_stage|MYSQL_BIN_LOG::ordered_commit|MYSQL_BIN_LOG::enter_stage_*",
        ],
        "MySQL 5.6 to 8.0",
        "sql/binlog.cc",
    ),
    row(
        Wait("binlog group commit"),
        EVENT,
        &[
            "MYSQL_BIN_LOG::queue_for_group_commit|MYSQL_BIN_LOG::write_transaction_to_binlog_events|MYSQL_BIN_LOG::trx_group_commit_leader|wait_for_commit::wait_for_prior_commit*",
        ],
        "MariaDB 10",
        "sql/log.cc",
    ),
    row(
        Wait("group commit in order (wait_for_prior_commit)"),
        EVENT,
        &["wait_for_commit::*|THD::wait_for_prior_commit"],
        "MariaDB 10",
        "sql/sql_class.cc",
    ),
    row(
        Wait("commit order of the source"),
        EVENT,
        &["Commit_order_manager::wait*|Commit_order_queue::*|has_commit_order_manager"],
        "MySQL 5.7, 8.0",
        "sql/rpl_slave_commit_order_manager.cc",
    ),
    row(
        Wait("semi-synchronous acknowledgement"),
        EVENT,
        &["ReplSemiSyncMaster::*|Repl_semi_sync_master::*"],
        "MySQL 5.5 to 8.0, MariaDB",
        "plugin/semisync/semisync_master.cc",
    ),
    row(
        Wait("group replication flow control or certification"),
        EVENT,
        &["*", "group_replication_trans_before_commit"],
        "MySQL 5.7, 8.0",
        "plugin/group_replication",
    ),
    row(
        Wait("Galera: queue of the send monitor (flow control)"),
        EVENT,
        &["_gcs_sm_enqueue_common|gcs_sm_enter|gcs_replv|gcs_sm_*"],
        "with Galera 3, 4",
        "gcs/src/gcs_sm.hpp; published stack",
    ),
    // The provider's own functions have no names where it is stripped, as Debian's is.
    row(
        Wait("Galera: certification in the cluster"),
        EVENT,
        &["*", "wsrep_certify_v1|wsrep::wsrep_provider_v26::certify"],
        "MariaDB 10.4 and later with Galera 4",
        "wsrep-lib/src/wsrep_provider_v26.cpp; stack of MariaDB 10.11 whose cluster did not answer",
    ),
    row(
        Wait("Galera: order of commits"),
        EVENT,
        &["galera::Monitor::*|galera::ReplicatorSMM::*"],
        "with Galera 3, 4",
        "galera/src/monitor.hpp",
    ),
    // Mutexes of the SQL layer, for servers whose data symbols are not there.
    row(
        Lock("binlog index or LOCK_log"),
        PTHREAD_LOCK,
        &[
            "MYSQL_BIN_LOG::*|MYSQL_LOG::*|mysql_binlog_send|Log_event::read_log_event|Stage_manager::*|Commit_stage_manager::*",
        ],
        "MySQL 5.0 to 8.0, MariaDB",
        PUBLISHED,
    ),
    row(
        Lock("prepare_commit_mutex"),
        PTHREAD_LOCK,
        &["innobase_xa_prepare"],
        "MySQL 5.0 to 5.5",
        "handler/ha_innodb.cc (5.5): innobase_xa_prepare; stack of MySQL 5.5.9",
    ),
    row(
        Lock("THR_LOCK_open or mutex of MyISAM"),
        PTHREAD_LOCK,
        &["mi_open|mi_close|mi_lock_database|maria_open|ma_open*"],
        "MySQL 5.0 to 5.7, MariaDB",
        PUBLISHED,
    ),
    row(
        Lock("debug mutex of safemalloc (THR_LOCK_malloc)"),
        PTHREAD_LOCK,
        &["_mymalloc|_myfree|_myrealloc|_sanity"],
        "MySQL 5.0, debug builds",
        PUBLISHED,
    ),
    // Both makes: the table cache has a mutex for each of its instances, the shares of tables have
    // theirs. MariaDB has no LOCK_open since 10.
    row(
        Lock("table cache (LOCK_table_cache)"),
        PTHREAD_LOCK,
        &[
            "tc_acquire_table|tc_release_table|tc_add_table|tc_records|tc_remove_all_unused_tables|Table_cache::*|Table_cache_instance::*|Table_cache_manager::*",
        ],
        "MySQL 5.6 to 9, MariaDB 10.1 to 11.4",
        "sql/table_cache.cc (MariaDB: Table_cache_instance), sql/table_cache.h (MySQL: Table_cache::m_lock)",
    ),
    row(
        Lock("table definition cache (LOCK_table_share, LOCK_unused_shares)"),
        PTHREAD_LOCK,
        &["tdc_*|tc_*|TDC_element::*"],
        "MariaDB 10, 11",
        "sql/table_cache.cc (MariaDB)",
    )
    .only(super::InnodbGeneration::MariaDb),
    row(
        Lock("LOCK_open"),
        PTHREAD_LOCK,
        &[
            "open_table|close_thread_table|close_thread_tables|check_if_table_exists|list_open_tables|close_cached_tables|close_cached_connection_tables|tdc_open_view|tdc_remove_table|reopen_name_locked_table|get_table_share*|close_open_tables",
        ],
        "MySQL 5.0 to 8.0",
        SQL_BASE_55,
    ),
    row(
        Lock("query cache"),
        ANY,
        &["Query_cache::*"],
        "MySQL 5.0 to 5.7, MariaDB",
        "sql/sql_cache.cc",
    ),
    row(
        Lock("LOCK_thread_count"),
        PTHREAD_LOCK,
        &[
            "create_thread_to_handle_connection|create_new_thread|unlink_thd|end_thread|one_thread_per_connection_end|thd_end_connection|Global_THD_manager::*|THD_list::*|server_threads*|mysqld_list_processes",
        ],
        "MySQL 5.0 to 8.0, MariaDB",
        "sql/mysqld.cc",
    ),
    row(
        Lock("LOCK_grant"),
        PTHREAD_LOCK,
        &["check_grant*|get_column_grant|table_hash_search|mysql_grant*|get_table_grant"],
        "MySQL 5.0 to 5.7, MariaDB",
        "sql/sql_acl.cc",
    ),
    row(
        Lock("ACL cache"),
        PTHREAD_LOCK,
        &["acl_getroot*|acl_get*|check_connection|acl_authenticate|Acl_cache_lock_guard::*"],
        "MySQL 5.0 to 8.0, MariaDB",
        "sql/sql_acl.cc",
    ),
    row(
        Lock("LOCK_global_system_variables"),
        PTHREAD_LOCK,
        &["THD::init|THD::init_for_queries|plugin_thdvar_init|sys_var::*|intern_sys_var_ptr"],
        "MySQL 5.1 to 8.0, MariaDB",
        "sql/sql_plugin.cc, sql/set_var.cc",
    ),
    row(
        Lock("LOCK_plugin"),
        PTHREAD_LOCK,
        &["plugin_lock*|plugin_unlock*|plugin_foreach*|intern_plugin_*|ha_lock_engine"],
        "MySQL 5.1 to 8.0, MariaDB",
        "sql/sql_plugin.cc",
    ),
    row(
        Lock("LOCK_status"),
        PTHREAD_LOCK,
        &["add_to_status|fill_status|calc_sum_of_all_status|THD::~THD|show_status_array"],
        "MySQL 5.0 to 8.0, MariaDB",
        "sql/sql_show.cc",
    ),
    row(
        Lock("mutex of metadata locks (MDL_map, MDL_lock)"),
        PTHREAD_LOCK,
        &["MDL_map::*|MDL_lock::*|MDL_context::*|MDL_map_partition::*"],
        "MySQL 5.5 to 8.0, MariaDB",
        "sql/mdl.cc",
    ),
    row(
        Lock("key cache of MyISAM"),
        ANY,
        &["key_cache_*|find_key_block|wait_on_queue|pagecache_*"],
        "MySQL 5.0 to 8.0, MariaDB",
        "mysys/mf_keycache.c",
    ),
    row(
        Lock("translog of Aria"),
        PTHREAD_LOCK,
        &["translog_*"],
        "MariaDB",
        "storage/maria/ma_loghandler.c",
    ),
    row(
        Wait("space on a full disk"),
        EVENT,
        &["wait_for_free_space|mariadb_sleep_for_space|my_write|my_pwrite"],
        "MySQL 5.0 to 8.0, MariaDB",
        "mysys/errors.c",
    ),
    // For servers whose storage engine has no names. A session that waits on a condition variable
    // inside of it does not idle; with a timeout it waits for a row (innodb_lock_wait_timeout).
    row(
        Wait("row lock (timed wait inside the storage engine)"),
        CONDITION,
        &["*+0x*", ENGINE_CALLS],
        "MariaDB 10.11 without symbols",
        "lock_wait (lock/lock0lock.cc): the only timed wait of a session in InnoDB",
    )
    .via("pthread_cond_timedwait*|pthread_cond_clockwait*"),
    row(
        Lock("dict_sys latch"),
        &[Kind::OwnFutex],
        &["*+0x*", "prepare_fk_prelocking_list"],
        "MariaDB 10.11 without symbols",
        "ha_innobase::referenced_by_foreign_key, get_parent_foreign_key_list (handler/ha_innodb.cc): dict_sys.freeze",
    ),
    row(
        Wait("wait inside the storage engine"),
        CONDITION,
        &["*+0x*", ENGINE_CALLS],
        "MariaDB 10.11 without symbols",
        "sql/handler.cc",
    ),
];
