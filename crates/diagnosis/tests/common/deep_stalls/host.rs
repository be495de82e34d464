//! Made-up stalls that come from the host, the network or the way in, after the published cases that the causes name.

use model::RunState::{Running, Sleeping, Stopped, Uninterruptible};

use super::super::Story;
use super::super::deep::{Asked, Samples, Threads};
use super::{held, lock, waiting};

pub fn reclaim() -> Story {
    const CPU: Samples = (
        30,
        &[
            "k:shrink_inactive_list",
            "k:shrink_node",
            "k:try_to_free_pages",
            "my_malloc",
        ],
    );
    const FREES: Threads = (2, "mysqld", Running, CPU.1);
    Story::healthy()
        .rate("vmstat.allocstall_normal", 0.0, 400.0)
        .rate("vmstat.pgscan_direct", 0.0, 90_000.0)
        .rate("psi.memory.some_us", 0.0, 300_000.0)
        .samples(&[CPU])
        .threads(&[FREES])
}

pub fn swapping() -> Story {
    const WAITS: Threads = (
        6,
        "mysqld",
        Uninterruptible,
        &[
            "k:io_schedule",
            "k:swap_readpage",
            "k:do_swap_page",
            "buf_page_get_gen",
        ],
    );
    Story::healthy()
        .rate("vmstat.pswpin", 0.0, 3_000.0)
        .rate("process.major_faults", 0.0, 400.0)
        .level("process.swap_bytes", 0.0, 2e9)
        .threads(&[WAITS])
}

pub fn memory_limit() -> Story {
    const WAITS: Threads = (
        6,
        "mysqld",
        Uninterruptible,
        &[
            "k:mem_cgroup_handle_over_high",
            "k:exit_to_user_mode_loop",
            "malloc",
        ],
    );
    Story::healthy()
        .rate("cgroup.memory.high", 0.0, 90.0)
        .rate("cgroup.memory.max", 0.0, 0.0)
        .level("cgroup.memory.current_bytes", 7.9e9, 8e9)
        .fact("cgroup.memory_max", "8000000000")
        .threads(&[WAITS])
}

pub fn thread_limit() -> Story {
    Story::healthy()
        .level("probe.connect_outcome", 0.0, 8.0)
        .rate("cgroup.pids.max", 0.0, 30.0)
        .level("cgroup.pids.current", 60.0, 99.0)
        .fact("cgroup.pids_max", "100")
        .rate("status.Connection_errors_internal", 0.0, 30.0)
}

pub fn throttled() -> Story {
    Story::healthy()
        .rate("cgroup.cpu.nr_periods", 10.0, 10.0)
        .rate("cgroup.cpu.nr_throttled", 0.0, 8.0)
        .rate("cgroup.cpu.throttled_us", 0.0, 600_000.0)
        .rate("threads.by_name.mysqld.wait_ns", 1e7, 6e9)
}

pub fn steal() -> Story {
    Story::healthy()
        .level("cpu.steal_share", 0.0, 0.4)
        .rate("psi.cpu.some_us", 60_000.0, 700_000.0)
        .level("recorder.late_ms", 1.0, 400.0)
}

/// Programs that compute beside a server of sixteen processors.
pub fn other_programs() -> Story {
    Story::healthy()
        .fact("host.cpus", "16")
        .rate("status.Questions", 4_000.0, 700.0)
        .level("status.Threads_running", 4.0, 30.0)
        .level("cpu.busy_share", 0.1, 1.0)
        .rate("process.user_ticks", 60.0, 40.0)
        .rate("process.system_ticks", 20.0, 10.0)
        .rate("threads.by_name.mysqld.wait_ns", 1e7, 1.2e10)
        .rate("psi.cpu.some_us", 60_000.0, 990_000.0)
}

pub fn too_many() -> Story {
    Story::healthy()
        .rate("status.Questions", 4_000.0, 3_000.0)
        .level("status.Threads_running", 4.0, 200.0)
        .level("cpu.busy_share", 0.5, 1.0)
        .level("threads.running", 1.0, 60.0)
        .rate("process.user_ticks", 60.0, 350.0)
        .rate("psi.cpu.some_us", 60_000.0, 950_000.0)
}

pub fn innodb_queue() -> Story {
    const WAITS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "nanosleep",
            "os_thread_sleep",
            "srv_conc_enter_innodb_with_atomics",
            "row_search_mvcc",
        ],
    );
    waiting("Sending data")
        .fact("variables.innodb_thread_concurrency", "8")
        .level("innodb.queries_in_queue", 0.0, 30.0)
        .threads(&[WAITS])
}

pub fn stopped() -> Story {
    const STOPPED: Threads = (400, "mysqld", Stopped, &["k:do_signal_stop", "poll"]);
    Story::healthy()
        .rate("process.user_ticks", 60.0, 0.0)
        .rate("process.system_ticks", 20.0, 0.0)
        .level("probe.query_outcome", 0.0, 2.0)
        .threads(&[STOPPED])
}

pub fn writeback() -> Story {
    const WAITS: Threads = (
        5,
        "mysqld",
        Uninterruptible,
        &["k:balance_dirty_pages", "k:ext4_file_write_iter", "write"],
    );
    Story::healthy()
        .level("meminfo.Dirty", 2e7, 3e9)
        .rate("psi.io.some_us", 20_000.0, 800_000.0)
        .rate("disk.sda.write_bytes", 4e6, 2e8)
        .rate("disk.sda.busy_ms", 150.0, 990.0)
        .threads(&[WAITS])
}

pub fn full_disk() -> Story {
    const WAITS: Threads = (
        1,
        "mysqld",
        Sleeping,
        &[
            "nanosleep",
            "wait_for_free_space",
            "my_write",
            "MYSQL_BIN_LOG::write",
        ],
    );
    waiting("Commit")
        .rate("status.Com_commit", 800.0, 0.0)
        .rate("status.Com_insert", 400.0, 0.0)
        .rate("status.Com_update", 400.0, 0.0)
        .threads(&[WAITS])
        .locks(&[lock("space on a full disk", 1)], &[])
}

pub fn temporary_tables() -> Story {
    const WORK: Threads = (
        20,
        "mysqld",
        Uninterruptible,
        &[
            "k:io_schedule",
            "pwrite64",
            "create_internal_tmp_table",
            "JOIN::exec",
        ],
    );
    waiting("Copying to tmp table on disk")
        .rate("status.Created_tmp_disk_tables", 2.0, 300.0)
        .rate("disk.sda.busy_ms", 150.0, 990.0)
        .rate("disk.sda.write_bytes", 4e6, 2e8)
        .threads(&[WORK])
}

pub fn deadlock_search() -> Story {
    const CPU: Samples = (
        90,
        &[
            "lock_rec_has_to_wait_in_queue",
            "DeadlockChecker::search",
            "lock_rec_lock",
        ],
    );
    Story::healthy()
        .level("status.Innodb_row_lock_current_waits", 0.0, 90.0)
        .level("cpu.busy_share", 0.35, 1.0)
        .samples(&[CPU])
}

pub fn autoinc() -> Story {
    const WAITS: Threads = (
        20,
        "mysqld",
        Sleeping,
        &[
            "pthread_cond_wait",
            "lock_wait_suspend_thread",
            "row_lock_table_autoinc_for_mysql",
            "ha_innobase::write_row",
        ],
    );
    waiting("update").threads(&[WAITS])
}

pub fn resolver() -> Story {
    const WAITS: Threads = (
        9,
        "mysqld",
        Sleeping,
        &[
            "k:do_poll",
            "poll",
            "__res_context_send",
            "getnameinfo",
            "ip_to_hostname",
            "check_connection",
        ],
    );
    Story::healthy()
        .level("probe.connect_us", 900.0, 5_000_000.0)
        .busy(&[("", "login", "unauthenticated user", 9)])
        .threads(&[WAITS])
}

pub fn accept_queue() -> Story {
    Story::healthy()
        .rate("net.listen_overflows", 0.0, 40.0)
        .level("accept_queue.tcp.length", 0.0, 129.0)
        .level("probe.connect_us", 900.0, 1_100_000.0)
}

pub fn handshakes() -> Story {
    const CPU: Samples = (
        90,
        &[
            "rsaz_1024_mul_avx2",
            "RSA_private_encrypt",
            "SSL_do_handshake",
            "SSL_accept",
        ],
    );
    Story::healthy()
        .rate("status.Ssl_finished_accepts", 1.0, 700.0)
        .rate("status.Connections", 20.0, 150.0)
        .samples(&[CPU])
}

pub fn semisync() -> Story {
    const WAITS: Threads = (
        20,
        "mysqld",
        Sleeping,
        &["pthread_cond_timedwait", "ReplSemiSyncMaster::commitTrx"],
    );
    waiting("Waiting for semi-sync ACK from slave")
        .threads(&[WAITS])
        .locks(&[lock("semi-synchronous acknowledgement", 20)], &[])
}

pub fn galera() -> Story {
    const WAITS: Threads = (
        20,
        "mysqld",
        Sleeping,
        &[
            "pthread_cond_wait",
            "_gcs_sm_enqueue_common",
            "gcs_replv",
            "galera_pre_commit",
        ],
    );
    waiting("wsrep: initiating pre-commit")
        .rate("status.wsrep_flow_control_paused_ns", 0.0, 9e8)
        .threads(&[WAITS])
}

pub fn no_majority() -> Story {
    waiting("waiting for handler commit").error_log(&[
        "2026-10-19T16:47:36.707073Z 0 [Warning] [MY-011493] [Repl] Plugin group_replication reported: 'Member with address mgr03:3306 has become unreachable.'",
        "2026-10-19T16:47:36.707099Z 0 [ERROR] [MY-011495] [Repl] Plugin group_replication reported: 'This server is not able to reach a majority of members \
         in the group. This server will now block all updates.'",
    ])
}

pub fn non_primary() -> Story {
    // As MariaDB 10.11 in a cluster of three wrote it, whose other nodes were stopped.
    const WAITS: Threads = (
        40,
        "mariadbd",
        Sleeping,
        &[
            "pthread_cond_wait",
            "libgalera_smm.so+0xb09b0",
            "wsrep_certify_v1",
            "wsrep::wsrep_provider_v26::certify",
            "wsrep::transaction::certify_commit",
        ],
    );
    waiting("Waiting for certification")
        .rate("status.wsrep_flow_control_paused_ns", 0.0, 0.0)
        .threads(&[WAITS])
        .error_log(&[
            "2026-11-22 20:56:41 0 [Note] WSREP: (205b4099-99b2, 'tcp://127.0.0.1:4570') connection to peer 20ae3237-bcb5 with addr tcp://127.0.0.1:4580 timed out, no messages seen in PT3S",
            "2026-11-22 20:56:43 0 [Note] WSREP: evs::proto(205b4099-99b2, OPERATIONAL, view_id(REG,205b4099-99b2,3)) suspecting node: 20ae3237-bcb5",
            "2026-11-22 20:56:44 0 [Note] WSREP: view(view_id(NON_PRIM,205b4099-99b2,3) memb {",
        ])
}

pub fn jemalloc() -> Story {
    const CPU: Samples = (
        30,
        &[
            "k:smp_call_function_many_cond",
            "k:flush_tlb_mm_range",
            "k:zap_pte_range",
            "madvise",
            "je_arena_decay",
        ],
    );
    Story::healthy()
        .fact("server.allocator", "jemalloc")
        .rate("process.minor_faults", 200.0, 90_000.0)
        .rate("process.system_ticks", 20.0, 250.0)
        .samples(&[CPU])
}

pub fn tcmalloc() -> Story {
    const WAITS: Threads = (
        20,
        "mysqld",
        Sleeping,
        &[
            "base::internal::SpinLockDelay",
            "SpinLock::SlowLock",
            "tcmalloc::CentralFreeList::RemoveRange",
        ],
    );
    const CPU: Samples = (
        30,
        &["tcmalloc::CentralFreeList::FetchFromOneSpans", "tc_malloc"],
    );
    waiting("Sending data")
        .fact("server.allocator", "tcmalloc")
        .rate("cpu.context_switches", 9_000.0, 90_000.0)
        .threads(&[WAITS])
        .samples(&[CPU])
        .locks(&[lock("tcmalloc central free list at 0x1", 20)], &[])
}

pub fn memory_map() -> Story {
    const WAITS: Threads = (
        12,
        "mysqld",
        Uninterruptible,
        &[
            "k:rwsem_down_read_slowpath",
            "k:down_read",
            "k:do_user_addr_fault",
            "memset",
        ],
    );
    Story::healthy()
        .level("threads.uninterruptible", 0.2, 12.0)
        .threads(&[WAITS])
}

/// As the kernel shows threads that sleep: without the functions of the lock.
pub fn memory_map_walked() -> Story {
    const WAITS: Threads = (
        2,
        "mysqld",
        Uninterruptible,
        &["k:vm_mmap_pgoff", "mmap", "sysmalloc", "malloc", "filesort"],
    );
    const WALK: Samples = (20, &["k:smaps_pte_range", "k:walk_page_range", "read"]);
    Story::healthy()
        .level("threads.uninterruptible", 0.2, 4.0)
        .threads(&[WAITS])
        .samples(&[WALK])
}

pub fn monitoring() -> Story {
    const CPU: Samples = (
        20,
        &["calc_sum_of_all_status", "fill_status", "mysqld_show"],
    );
    waiting("init").samples(&[CPU]).locks(
        &[held(
            "LOCK_thread_count",
            30,
            "runs",
            &["calc_sum_of_all_status", "fill_status"],
        )],
        &[],
    )
}

pub fn statement_log() -> Story {
    const WAITS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "__lll_lock_wait",
            "pthread_mutex_lock",
            "MYSQL_QUERY_LOG::write",
            "LOGGER::general_log_write",
        ],
    );
    const CPU: Samples = (
        20,
        &["k:ext4_file_write_iter", "write", "MYSQL_QUERY_LOG::write"],
    );
    waiting("init")
        .fact("variables.general_log", "ON")
        .rate("disk.sda.write_bytes", 4e6, 9e7)
        .threads(&[WAITS])
        .samples(&[CPU])
}

pub fn spinning() -> Story {
    const CPU: Samples = (60, &["ut_delay", "rw_lock_s_lock_spin", "buf_page_get_gen"]);
    Story::healthy()
        .rate("status.Questions", 4_000.0, 500.0)
        .level("status.Threads_running", 4.0, 30.0)
        .level("innodb.semaphore_waits", 0.0, 12.0)
        .samples(&[CPU])
}

pub fn leap_second() -> Story {
    timers_at_once().kernel_log(&["Clock: inserting leap second 23:59:60 UTC"])
}

pub fn timers_at_once() -> Story {
    const TIMERS: Samples = (
        60,
        &[
            "k:hrtimer_start_range_ns",
            "k:futex_wait",
            "k:do_futex",
            "pthread_cond_timedwait",
            "os_event_wait_time_low",
        ],
    );
    Story::healthy()
        .fact("host.kernel", "2.6.32-220.el6.x86_64")
        .level("cpu.system_share", 0.05, 0.6)
        .rate("process.system_ticks", 20.0, 180.0)
        .samples(&[TIMERS])
}

pub fn lost_wakeup() -> Story {
    const WAITS: Threads = (
        30,
        "mysqld",
        Sleeping,
        &[
            "k:futex_wait_queue_me",
            "k:futex_wait",
            "__lll_lock_wait",
            "pthread_mutex_lock",
            "buf_page_get_gen",
        ],
    );
    Story::healthy()
        .fact("host.kernel", "2.6.32-504.8.1.el6.x86_64")
        .rate("status.Questions", 4_000.0, 0.0)
        .rate("process.user_ticks", 90.0, 0.0)
        .rate("process.system_ticks", 20.0, 0.0)
        .threads(&[WAITS])
}

pub fn audit() -> Story {
    const CPU: Samples = (
        30,
        &[
            "k:audit_filter_syscall",
            "k:__audit_syscall_exit",
            "send",
            "net_flush",
        ],
    );
    Story::healthy()
        .rate("process.system_ticks", 20.0, 90.0)
        .samples(&[CPU])
}

pub fn audit_queue() -> Story {
    const HELD_BACK: Threads = (
        2,
        "mysqld",
        Uninterruptible,
        &[
            "k:audit_log_start",
            "k:audit_log_exit",
            "pwrite64",
            "os_file_pwrite",
        ],
    );
    Story::healthy().threads(&[HELD_BACK]).kernel_log(&[
        "audit: audit_lost=50 audit_rate_limit=0 audit_backlog_limit=64",
        "audit: kauditd retry queue overflow",
    ])
}

pub fn caches() -> Story {
    const CPU: Samples = (
        60,
        &[
            "k:_raw_spin_lock_irqsave",
            "k:arc_evict_state",
            "k:arc_reclaim_thread",
            "read",
        ],
    );
    Story::healthy()
        .level("cpu.system_share", 0.1, 0.8)
        .samples(&[CPU])
}

pub fn expressions() -> Story {
    const CPU: Samples = (
        90,
        &[
            "pcre2_match_8",
            "Regexp_processor_pcre::pcre_exec",
            "Item_func_regex::val_int",
        ],
    );
    Story::healthy()
        .rate("process.user_ticks", 60.0, 380.0)
        .samples(&[CPU])
        .asked(&[
            Asked {
                way: model::QueryMethod::PerformanceSchema,
                kind: "SELECT",
                fingerprint: "select * from t where a regexp ?",
                before: 1,
                during: 20,
                seconds_each: Some(0.4),
            },
            Asked {
                way: model::QueryMethod::PerformanceSchema,
                kind: "SELECT",
                fingerprint: "select * from t where id = ?",
                before: 400,
                during: 400,
                seconds_each: Some(0.001),
            },
        ])
}

pub fn instruments() -> Story {
    const CPU: Samples = (
        10,
        &[
            "pfs_start_mutex_wait_v1",
            "inline_mysql_mutex_lock",
            "do_command",
        ],
    );
    Story::healthy()
        .level("cpu.busy_share", 0.6, 1.0)
        .samples(&[CPU])
}

pub fn mapped_buffers() -> Story {
    const CPU: Samples = (
        30,
        &[
            "k:clear_page_erms",
            "k:do_anonymous_page",
            "Filesort_buffer::alloc_sort_buffer",
            "filesort",
        ],
    );
    Story::healthy()
        .rate("status.Sort_scan", 20.0, 1_500.0)
        .rate("process.minor_faults", 200.0, 4_000.0 * 60.0)
        .rate("process.system_ticks", 20.0, 180.0)
        .samples(&[CPU])
}
