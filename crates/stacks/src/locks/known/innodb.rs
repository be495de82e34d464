//! Locks and waits of InnoDB. Its mutexes and latches of MySQL wait on events that are allocated
//! apart, so the address names none of them: the functions that ask do.

use super::InnodbGeneration::{AfterKernelMutex, KernelMutex, MariaDb};
use super::WaitMeaning::{Lock, LockEach, Wait};
use super::{ANY, EVENT, INNODB_MUTEX, INNODB_RW_LOCK, Kind, KnownWait, LATCH, row};

const PUBLISHED: &str = "stacks published with percona-toolkit";
const PUBLISHED_57: &str = "published stacks of 5.7";

/// Functions of MySQL 5.5 that enter `kernel_mutex` and are no more in 5.6.
const ENTERS_KERNEL_MUTEX: &str = "trx_start|trx_commit_off_kernel|trx_prepare_off_kernel|\
    row_vers_impl_x_locked_off_kernel|srv_suspend_mysql_thread|srv_lock_timeout_thread|lock_release_off_kernel";

/// Functions that enter `kernel_mutex` in MySQL 5.5 and another mutex from 5.6 on.
const ENTERS_KERNEL_MUTEX_TOO: &str = "lock_table|lock_rec_*|lock_clust_rec_*|lock_sec_rec_*|lock_update_*|lock_move_*|\
    lock_is_table_exclusive|lock_print_info_*|lock_remove_all_on_table|lock_trx_release_locks|\
    trx_commit_for_mysql|trx_commit_step|trx_prepare_for_mysql|trx_allocate_for_*|trx_free_for_*|\
    trx_serialisation_number_get|read_cursor_view_*|read_cursor_set_for_mysql|srv_get_active_thread_type|\
    srv_que_task_enqueue_low|que_thr_stop_for_mysql|que_thr_dec_refer_count|trx_general_rollback_for_mysql|\
    srv_wake_purge_thread_if_not_active|\
    trx_assign_read_view|trx_rollback_*|trx_purge*|trx_get_trx_by_xid|trx_recover_for_mysql|\
    trx_i_s_possibly_fetch_data_into_cache|read_view_close_for_mysql|row_search_for_mysql|row_unlock_for_mysql|\
    row_search_check_if_query_cache_permitted|row_vers_build_for_semi_consistent_read|que_run_threads*|que_thr_node_step|\
    srv_active_wake_master_thread|srv_wake_master_thread|srv_wake_purge_thread|srv_master_thread|srv_purge_thread|\
    row_add_table_to_background_drop_list|row_drop_tables_for_mysql_in_background|srv_get_n_threads|\
    innobase_query_caching_of_table_permitted";

const LOCK_SYS: &str = "lock_table|lock_rec_*|lock_clust_rec_*|lock_sec_rec_*|lock_update_*|lock_move_*|lock_release|\
    lock_trx_release_locks|lock_print_info_*|lock_unlock_table_autoinc|lock_cancel_waiting_and_release|lock_trx_handle_wait";

const PAGE_LATCH: &str = "buf_page_get_gen|buf_page_get_low|buf_page_get_known_nowait|buf_page_optimistic_get|buf_page_create*\
    |Buf_fetch::*|buf_page_get_zip|buf_page_try_get_func|mtr_t::page_lock*|mtr_t::memo_*\
    |mtr_t::upgrade_buffer_fix|buf_flush_page*|buf_page_init_for_read|buf_read_page_low|btr_block_get*\
    |btr_page_get*|buf_page_t::*|buf_flush_page_t::*";

/// The latches of MariaDB from 10.6 on, which call futex themselves.
const FUTEX_LATCH: &str = "srw_mutex_impl::*|ssux_lock_impl::*|ssux_lock::*|sux_lock::*|srw_lock_impl::*|block_lock::*|index_lock::*";

pub(super) static ROWS: &[KnownWait] = &[
    // The wait for a row lock is no latch: a transaction has it until it ends.
    row(Wait("row lock"), EVENT, &["lock_wait_suspend_thread|srv_suspend_mysql_thread|lock_wait|row_mysql_handle_errors*"], "MySQL 5.0 to 8.0, MariaDB", "srv/srv0srv.c (5.5), lock/lock0wait.cc"),
    row(Wait("place inside InnoDB (innodb_thread_concurrency)"), EVENT, &["srv_conc_enter_innodb*|srv_conc_force_*|srv_enter_innodb_*"], "MySQL 5.0 to 5.7", "srv/srv0srv.c (5.5)"),
    // The redo log.
    row(Wait("redo log write and flush"), EVENT, &["log_write_up_to|log_wait_for_write|log_wait_for_flush|log_write_and_flush*|group_commit_lock::acquire|group_commit_wait|log_flush_up_to|log_buffer_wait_for_ready_for_write_lsn"], "MySQL 5.0 to 8.0, MariaDB 10.5 and later", "log/log0log.c (5.5), log/log0sync.cc (MariaDB)"),
    row(Wait("redo log write and flush"), EVENT, &["thd_async_state::wait_for_pending_ops|THD::wait_for_pending_ops"], "MariaDB 10.6 and later, whose commit waits for the log's callback before it answers", "sql/sql_class.h; stack of MariaDB 11.4"),
    row(Wait("space in the redo log (checkpoint)"), EVENT, &["log_free_check_wait|log_wait_for_space*|log_checkpoint_margin|log_request_checkpoint*|log_make_checkpoint*|log_preflush_pool_modified_pages"], "MySQL 5.6 to 8.0, MariaDB", "log/log0chkp.cc"),
    row(Wait("dirty pages to be flushed (checkpoint)"), EVENT, &["buf_flush_wait_flushed|buf_flush_ahead|buf_flush_sync*|buf_flush_wait|buf_flush_request_force"], "MySQL 5.7 to 8.0, MariaDB", "buf/buf0flu.cc"),
    row(Wait("flush of a data file"), EVENT, &["fil_flush|fil_flush_file_spaces|Fil_shard::space_flush|fil_space_t::flush*"], "MySQL 5.5 to 8.0", PUBLISHED_57),
    row(Wait("pending I/O of a data file"), EVENT, &["fil_mutex_enter_and_prepare_for_io|Fil_shard::*|fil_space_t::*|fil_check_pending_*"], "MySQL 5.5 to 8.0, MariaDB", "fil/fil0fil.c (5.5)"),
    // Pages.
    row(Wait("a free page of the buffer pool"), EVENT, &["buf_LRU_get_free_block|buf_flush_free_margin*"], "MySQL 5.0 to 8.0, MariaDB", PUBLISHED_57),
    row(Wait("doublewrite buffer"), EVENT, &["buf_dblwr_*|dblwr::*|Double_write::*"], "MySQL 5.6 to 8.0, MariaDB", PUBLISHED_57),
    row(Wait("a batch of page writes"), EVENT, &["buf_flush_wait_batch_end|buf_flush_wait_LRU_batch_end|buf_flush_buffered_writes|buf_flush_lists|buf_flush_LRU_list"], "MySQL 5.0 to 8.0, MariaDB", "buf/buf0flu.c (5.5)"),
    row(Wait("read of a page by another thread"), EVENT, &["buf_wait_for_read|buf_page_get_gen|buf_page_get_low|Buf_fetch::*|buf_page_get_zip"], "MySQL 5.0 to 8.0", "buf/buf0buf.c (5.5)"),
    row(Wait("a free slot for asynchronous I/O"), EVENT, &["os_aio_array_reserve_slot|AIO::reserve_slot|AIO::*|os_aio_wait_until_no_pending_writes|os_aio_wait_until_no_pending_reads"], "MySQL 5.0 to 8.0", "os/os0file.c (5.5)"),
    row(Wait("InnoDB statistics or dictionary thread"), EVENT, &["dict_stats_wait_bg_to_stop_using_table|dict_table_stats_*|row_drop_table_for_mysql|row_drop_database_for_mysql"], "MySQL 5.6 to 8.0", "row/row0mysql.c (5.5)"),
    row(Wait("purge to keep up or stop"), EVENT, &["trx_purge_stop|trx_purge_wait_for_workers_to_complete|trx_purge|purge_sys_t::*|srv_purge_*"], "MySQL 5.6 to 8.0, MariaDB", "trx/trx0purge.cc"),
    // MariaDB: `writer` of a latch is an srw_mutex, so that a wait for it is one for the latch.
    row(LockEach("page latch"), LATCH, &[PAGE_LATCH], "MariaDB 10.6 and later", "include/sux_lock.h; stack of MariaDB 11.4").via(FUTEX_LATCH),
    row(LockEach("index latch"), LATCH, &["btr_cur_t::*|btr_pcur_t::*|btr_cur_search_to_nth_level*|btr_cur_open_at_*|dict_index_t::*"], "MariaDB 10.6 and later", "include/sux_lock.h, btr/btr0cur.cc; stack of MariaDB 11.4").via(FUTEX_LATCH),
    row(Lock("mutex of tpool"), &[Kind::Mutex], &["tpool::*"], "MariaDB 10.5 and later", "tpool/tpool_generic.cc; stack of MariaDB 11.4"),
    // MariaDB from 10.6 on has pthread mutexes here.
    row(Lock("buf_pool.mutex or flush_list_mutex"), &[Kind::Mutex], &["buf_LRU_*|buf_flush_*|buf_page_*|buf_pool_*|buf_pool_t::*|buf_buddy_*|buf_read_*|buf_do_*|buf_block_*"], "MariaDB 10.6 and later", "include/buf0buf.h: mysql_mutex_t mutex, flush_list_mutex").only(MariaDb),
    row(Lock("fil_system mutex"), &[Kind::Mutex], &["fil_*|fil_space_t::*|fil_node_t::*"], "MariaDB 10.6 and later", "include/fil0fil.h: mysql_mutex_t mutex").only(MariaDb),
    // Mutexes.
    row(LockEach("mutex of an InnoDB event"), &[Kind::Mutex], &["*"], "MySQL 5.0 to 9", "os/os0sync.c (5.5): os_event_wait_low takes event->os_mutex; stacks of MySQL 5.5.9 and 9.7").via("os_event_wait*|os_event::*|os_event_set|os_event_reset"),
    row(Lock("kernel_mutex"), INNODB_MUTEX, &[ENTERS_KERNEL_MUTEX], "InnoDB 1.0, MySQL 5.0 to 5.5", "MySQL 5.5: mutex_enter(&kernel_mutex) in trx, lock, srv, read, row, que"),
    row(Lock("kernel_mutex"), INNODB_MUTEX, &[ENTERS_KERNEL_MUTEX_TOO], "InnoDB 1.0, MySQL 5.0 to 5.5", "MySQL 5.5: mutex_enter(&kernel_mutex) in trx, lock, srv, read, row, que").only(KernelMutex),
    row(Lock("InnoDB sync array mutex"), ANY, &["sync_array_enter|sync_array_reserve_cell|sync_array_get_and_reserve_cell|sync_array_free_cell|sync_array_reserve_next_cell_*|sync_array_wait_*"], "MySQL 5.0 to 8.0", "sync/sync0arr.cc; published stack of 5.6"),
    row(Lock("lock_sys mutex"), INNODB_MUTEX, &[LOCK_SYS], "MySQL 5.6 to 8.0", "lock/lock0lock.cc: lock_mutex_enter").only(AfterKernelMutex),
    row(Lock("lock_sys latch"), LATCH, &["lock_sys_t::*|locksys::*|LockGuard::*|LockMultiGuard::*|lock_table_*|lock_table"], "MariaDB 10.6 and later, MySQL 8.0", "lock/lock0lock.cc"),
    row(Lock("trx_sys mutex"), INNODB_MUTEX, &["trx_write_serialisation_history|trx_serialisation_number_get*|trx_add_to_serialisation_list|trx_set_rw_mode|trx_commit_in_memory|trx_erase_lists|MVCC::*|ReadView::*|read_view_open_now*|trx_sys_*|trx_release_*"], "MySQL 5.6 to 8.0", "trx/trx0trx.cc; published stacks of 5.7").only(AfterKernelMutex),
    row(Lock("trx_sys or rollback segments (get_next_redo_rseg)"), INNODB_MUTEX, &["get_next_redo_rseg*|get_next_noredo_rseg*|trx_assign_rseg*"], "MySQL 5.7", PUBLISHED_57),
    row(Lock("purge_sys latch"), LATCH, &["trx_undo_get_undo_rec|trx_undo_prev_version_build"], "MySQL 5.0 to 9, MariaDB", "trx/trx0rec.cc, trx_undo_get_undo_rec: who reads an old version keeps purge from it; stack of MySQL 9.7"),
    row(Lock("trx pool mutex"), INNODB_MUTEX, &["trx_allocate_for_background|trx_create_low"], "MySQL 5.7 to 9", "include/ut0pool.h, Pool::get; stack of MySQL 9.7"),
    row(LockEach("rollback segment latch"), LATCH, &["trx_undo_*|trx_purge_add_undo_to_history|trx_purge_add_update_undo_to_history|trx_purge_truncate_rseg_history|trx_purge_free_segment|trx_purge_rseg_get_next_history_log|trx_write_serialisation_history|trx_rseg_*|trx_prepare_low|trx_roll_pop_top_rec*"], "MySQL 5.0 to 8.0, MariaDB", "MySQL 5.5: mutex_enter(&rseg->mutex)"),
    row(Lock("log_sys mutex"), LATCH, &["log_reserve_and_open|log_reserve_and_write_fast|log_get_lsn|log_write_up_to|log_checkpoint|log_io_complete*|log_buffer_*|log_close|log_free_check|log_check_margins|log_preflush_pool_modified_pages|log_append_on_checkpoint|mtr_t::finish_write|mtr_t::commit|mtr_t::Command::*|log_t::*|log_print"], "MySQL 5.0 to 8.0, MariaDB", "MySQL 5.5: mutex_enter(&log_sys->mutex)"),
    row(LockEach("log_sys mutex or log_flush_order_mutex"), INNODB_MUTEX, &["mtr_commit|mtr_memo_note_modifications"], "MySQL 5.5", "mtr/mtr0mtr.c (5.5): mtr_commit has log_reserve_and_write_fast and log_flush_order_mutex_enter inside; stack of MySQL 5.5.9"),
    row(Lock("checkpoint lock of the redo log"), INNODB_RW_LOCK, &["log_write_checkpoint_info|log_checkpoint*"], "MySQL 5.7", PUBLISHED_57).via("rw_lock_s_lock*|rw_lock_x_lock*"),
    row(Lock("dict_sys mutex"), LATCH, &["dict_table_open_on_*|dict_table_close|dict_table_get*|dict_mutex_enter_for_mysql|row_mysql_lock_data_dictionary*|innobase_build_index_translation|dict_table_decrement_handle_count|dict_index_get_if_in_cache|dict_sys_t::*|row_purge_parse_undo_rec|que_eval_sql|dict_sys_get_new_row_id|dict_print_info_on_foreign_keys|dict_acquire_mdl_shared"], "MySQL 5.0 to 8.0, MariaDB", "MySQL 5.5: mutex_enter(&dict_sys->mutex)"),
    row(Lock("dict_operation_lock"), INNODB_RW_LOCK, &["row_mysql_freeze_data_dictionary*|row_undo|row_purge*|row_ins_check_foreign_constraints|row_upd_check_references_constraints|row_ins_foreign_check_on_constraint|row_upd_index_is_referenced|dict_stats_*"], "MySQL 5.0 to 5.7, MariaDB 10", "MySQL 5.5: rw_lock_s_lock(&dict_operation_lock)"),
    row(Lock("fil_system mutex"), INNODB_MUTEX, &["fil_*|Fil_shard::*|Fil_system::*"], "MySQL 5.0 to 8.0, MariaDB", "MySQL 5.5: mutex_enter(&fil_system->mutex)"),
    row(Lock("InnoDB memory pool mutex"), LATCH, &["mem_pool_mutex_enter|mem_area_alloc|mem_area_free|mem_heap_create_block*|mem_heap_block_free"], "MySQL 5.0 to 5.5", "mem/mem0pool.c (5.5)"),
    row(Lock("change buffer mutex"), INNODB_MUTEX, &["ibuf_*"], "MySQL 5.0 to 8.0, MariaDB 10", "MySQL 5.5: mutex_enter(&ibuf_mutex)"),
    row(Lock("doublewrite mutex"), LATCH, &["buf_dblwr_*|trx_doublewrite_*|buf_flush_buffered_writes|buf_flush_post_to_doublewrite_buf|dblwr::*|Double_write::*|buf_dblwr_t::*"], "MySQL 5.0 to 8.0, MariaDB", "MySQL 5.5: mutex_enter(&trx_doublewrite->mutex)"),
    row(LockEach("flush list mutex"), INNODB_MUTEX, &["buf_flush_insert_into_flush_list|buf_flush_insert_sorted_into_flush_list|buf_flush_remove|buf_flush_relocate_on_flush_list|buf_flush_flush_list_batch|buf_flush_wait_flushed|buf_pool_get_oldest_modification*|buf_do_flush_list_batch|buf_flush_order_mutex_enter|log_flush_order_mutex_enter|mtr_add_dirtied_pages_to_flush_list|buf_flush_or_remove_page*"], "MySQL 5.5 to 8.0, MariaDB", "MySQL 5.5: buf_flush_list_mutex_enter; published stacks of 5.7"),
    row(LockEach("buffer pool mutex"), INNODB_MUTEX, &["buf_LRU_*|buf_flush_LRU_list*|buf_flush_page*|buf_flush_batch|buf_flush_start|buf_flush_end|buf_flush_do_batch|buf_page_init_for_read|buf_page_make_young*|buf_page_create*|buf_page_io_complete|buf_buddy_*|buf_read_ahead_*|buf_pool_*|buf_pool_t::*|buf_stats_*|buf_flush_try_neighbors|buf_do_LRU_batch"], "MySQL 5.0 to 8.0, MariaDB", "MySQL 5.5: buf_pool_mutex_enter; published stack of 8.0"),
    row(LockEach("block or buffer pool mutex"), INNODB_MUTEX, &["buf_page_get_gen|buf_page_get_low|buf_page_get_known_nowait|buf_page_optimistic_get|Buf_fetch::*|buf_page_release*|buf_flush_note_modification|buf_block_*|buf_page_hash_*"], "MySQL 5.0 to 8.0", "MySQL 5.5: mutex_enter(&block->mutex), buf_pool_mutex_enter; published stack of 5.7"),
    row(LockEach("autoincrement mutex of a table"), LATCH, &["dict_table_autoinc_lock|ha_innobase::innobase_lock_autoinc|ha_innobase::innobase_get_autoinc"], "MySQL 5.0 to 8.0, MariaDB", "MySQL 5.5: mutex_enter(&table->autoinc_mutex)"),
    // Read-write locks.
    row(LockEach("index latch"), ANY, &["btr_cur_search_to_nth_level*|btr_cur_t::*|btr_cur_open_at_*|btr_pcur_*|btr_validate_*|dict_index_get_lock"], "MySQL 5.7, 8.0, MariaDB", PUBLISHED).via("mtr_t::*|mtr_s_lock*|mtr_x_lock*|mtr_sx_lock*|rw_lock_sx_lock*|pfs_rw_lock_sx_*|index_lock::*"),
    row(LockEach("index latch or btr_search_latch"), INNODB_RW_LOCK, &["btr_cur_search_to_nth_level*|btr_cur_open_at_*|btr_cur_pessimistic_*"], "MySQL 5.0 to 8.0", "MySQL 5.5: btr/btr0cur.c"),
    row(Lock("btr_search_latch (adaptive hash index)"), INNODB_RW_LOCK, &["btr_search_*|row_search_for_mysql|row_search_mvcc|row_sel_try_search_shortcut*|row_sel|btr_cur_update_in_place|btr_cur_del_mark_set_*|btr_drop_ahi_for_table|btr_sea*"], "MySQL 5.0 to 8.0, MariaDB", "MySQL 5.5: rw_lock_s_lock(&btr_search_latch) in btr, row0sel"),
    row(LockEach("page latch"), INNODB_RW_LOCK, &[PAGE_LATCH], "MySQL 5.0 to 8.0, MariaDB", "MySQL 5.5: rw_lock_[sx]_lock_func(&block->lock)"),
    row(LockEach("page hash latch"), INNODB_RW_LOCK, &["buf_page_hash_*|page_hash_latch::*|buf_pool_t::page_hash_*|buf_page_peek"], "MySQL 5.6 to 8.0, MariaDB", "buf/buf0buf.cc"),
    row(LockEach("tablespace latch"), INNODB_RW_LOCK, &["fseg_*|fsp_*|xdes_*|fil_space_get_latch|mtr_t::x_lock_space|fil_space_t::*|ibuf_add_free_page|ibuf_remove_free_page|ibuf_free_excess_pages"], "MySQL 5.0 to 8.0, MariaDB", "MySQL 5.5: mtr_x_lock(fil_space_get_latch())"),
    row(LockEach("dict_table_stats latch"), INNODB_RW_LOCK, &["dict_table_stats_lock|dict_table_stats_unlock"], "MySQL 5.5 to 5.7", "dict/dict0dict.c (5.5); stack of MySQL 5.5.9"),
    row(Lock("purge_sys latch"), INNODB_RW_LOCK, &["row_vers_*|trx_purge*|purge_sys_t::*"], "MySQL 5.0 to 8.0, MariaDB", "MySQL 5.5: rw_lock_s_lock(&purge_sys->latch)"),
    row(Lock("trx_i_s_cache lock"), INNODB_RW_LOCK, &["trx_i_s_*|trx_i_s_cache_*|trx_i_s_common_*"], "MySQL 5.1 to 8.0, MariaDB", "trx/trx0i_s.c (5.5)"),
    // Plain mutexes inside InnoDB.
    row(LockEach("array of asynchronous I/O"), &[Kind::Mutex], &["os_aio_array_*|os_aio_simulated_handle|AIO::*|os_aio_*"], "MySQL 5.0 to 8.0", "os/os0file.c (5.5)"),
    row(Lock("srv_conc_mutex"), &[Kind::Mutex], &["srv_conc_*"], "MySQL 5.0 to 5.5", "srv/srv0srv.c (5.5)"),
    row(Lock("lock_sys.wait_mutex"), &[Kind::Mutex, Kind::InnodbMutex], &["lock_wait*|lock_sys_t::cancel_*|Deadlock::*"], "MariaDB 10.6 and later", "lock/lock0lock.cc (MariaDB)"),
];
