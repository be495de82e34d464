//! Made-up stalls with stacks, profiles and locks, each with the cause that it has.

pub mod host;
pub mod more;
pub mod server;
pub mod waits;

use diagnosis::Level;

use super::Story;
use super::deep::Lock;

pub fn lock(name: &'static str, waiters: u32) -> Lock {
    Lock {
        name,
        waiters,
        path: &["do_command"],
        holder: None,
    }
}

pub fn held(
    name: &'static str,
    waiters: u32,
    doing: &'static str,
    frames: &'static [&'static str],
) -> Lock {
    Lock {
        holder: Some((doing, frames)),
        ..lock(name, waiters)
    }
}

pub fn waiting(state: &'static str) -> Story {
    Story::healthy()
        .rate("status.Questions", 4_000.0, 60.0)
        .level("status.Threads_running", 4.0, 40.0)
        .busy(&[("select", state, "app", 36)])
}

/// Every stall, the cause that it has, and how sure.
pub fn all() -> Vec<(&'static str, Level, Story)> {
    use Level::{Certain, Likely};
    vec![
        ("malloc-arena", Certain, server::malloc_arena()),
        ("timezone-mutex", Certain, server::timezone()),
        ("kernel-mutex", Certain, server::kernel_mutex()),
        ("trx-sys-rseg", Certain, server::trx_sys()),
        ("ahi-latch", Certain, server::ahi()),
        ("btr-index-latch", Certain, server::index_latch()),
        ("mdl-pileup", Certain, server::metadata()),
        ("ftwrl-backup", Certain, server::read_lock()),
        ("query-cache", Certain, server::query_cache()),
        ("table-open-cache", Certain, server::table_cache()),
        ("checkpoint-sync-flush", Certain, server::checkpoint()),
        ("lru-single-page-flush", Certain, server::free_pages()),
        ("binlog-group-commit", Certain, server::binlog()),
        ("large-trx", Certain, server::huge_transaction()),
        ("purge-lag", Likely, server::purge()),
        ("drop-table-bufpool", Certain, server::drop_table()),
        ("persistent-stats", Certain, server::statistics()),
        ("direct-reclaim", Certain, host::reclaim()),
        ("numa-swap", Certain, host::swapping()),
        ("cgroup-memory", Certain, host::memory_limit()),
        ("thread-limit", Certain, host::thread_limit()),
        ("cgroup-throttle", Certain, host::throttled()),
        ("steal-time", Certain, host::steal()),
        ("other-programs-cpu", Certain, host::other_programs()),
        ("too-many-running", Certain, host::too_many()),
        ("innodb-thread-concurrency", Certain, host::innodb_queue()),
        ("server-stopped", Certain, host::stopped()),
        ("pagecache-writeback", Certain, host::writeback()),
        ("disk-full", Certain, host::full_disk()),
        ("tmp-disk", Certain, host::temporary_tables()),
        ("deadlock-detect", Certain, host::deadlock_search()),
        ("autoinc-lock", Certain, host::autoinc()),
        ("dns-resolve", Certain, host::resolver()),
        ("tcp-accept-overflow", Certain, host::accept_queue()),
        ("tls-handshake", Likely, host::handshakes()),
        ("semisync-ack", Certain, host::semisync()),
        ("galera-gr-flow-control", Certain, host::galera()),
        ("quorum-lost", Certain, host::no_majority()),
        ("quorum-lost", Certain, host::non_primary()),
        ("jemalloc-purge", Likely, host::jemalloc()),
        ("tcmalloc-central", Certain, host::tcmalloc()),
        ("mmap-lock", Certain, host::memory_map()),
        ("mmap-lock", Certain, host::memory_map_walked()),
        ("status-monitoring", Certain, host::monitoring()),
        ("general-log", Certain, host::statement_log()),
        ("redo-log-buffer", Certain, server::log_buffer()),
        ("fil-system", Certain, server::open_files()),
        ("hot-page-latch", Likely, server::hot_page()),
        ("change-buffer", Likely, server::merges()),
        ("doublewrite", Likely, server::double_writes()),
        ("leap-second", Certain, host::leap_second()),
        ("futex-wait-bug", Likely, host::lost_wakeup()),
        ("linux-auditd", Certain, host::audit()),
        ("linux-auditd", Certain, host::audit_queue()),
        ("fs-memory-reclaim", Certain, host::caches()),
        ("regex-json", Likely, host::expressions()),
        ("pfs-overhead", Likely, host::instruments()),
        ("malloc-mmap-threshold", Likely, host::mapped_buffers()),
        ("spin-tuning", Likely, host::spinning()),
        ("oom", Certain, more::killed()),
        ("ulimit-nofile-memory", Certain, more::few_files()),
        ("thread-pool-stall", Certain, more::thread_pool()),
        // The error log's line and InnoDB's list tell of the same wait.
        ("long-semaphore-bug", Likely, more::hung_latch()),
        ("fts-aux", Certain, more::full_text()),
        ("bulk-ddl-flush", Certain, more::index_build()),
        ("bufpool-resize", Certain, more::resizing()),
        ("optimizer-plan", Certain, more::worse_plan()),
        ("is-metadata-cost", Certain, more::metadata_queries()),
        ("table-lock-pileup", Certain, more::table_lock()),
        ("replication-apply", Certain, more::commit_order()),
        ("adaptive-flush-io-capacity", Likely, more::slow_flushing()),
        (
            "percona-empty-free-list-backoff",
            Certain,
            more::backing_off(),
        ),
        ("conntrack-ephemeral", Certain, more::tracked_connections()),
        ("binlog-rotation-flush", Certain, more::rotation()),
        ("thp-allocator-bloat", Likely, more::huge_heap()),
        ("ssd-trim-raid", Certain, more::discards()),
        ("user-lock", Certain, waits::user_lock()),
        ("binlog-reader", Certain, waits::binlog_reader()),
        ("table-flush-pileup", Certain, waits::flushed_tables()),
        ("lock-sys-mutex", Certain, waits::lock_system()),
        ("galera-commit-order", Certain, waits::commit_queue()),
        ("galera-toi-ddl", Likely, waits::isolated_ddl()),
        ("slow-startup", Certain, waits::slow_start()),
        ("shutdown-hang", Likely, waits::endless_stop()),
        ("clock-set-back", Likely, waits::clock_back()),
    ]
}
