//! The names of all signals, so that a trigger that no source can ever answer is refused before it is waited for.
//!
//! `*` stands for what the kernel or the server names: a counter of theirs, a disk, a thread's name.

use model::matches_pattern;

/// What each area has, without its name. docs/reference/frame-format.md says what they mean.
#[rustfmt::skip]
const NAMES: [(&str, &[&str]); 23] = [
    ("cpu", &[
        "*.user", "*.nice", "*.system", "*.idle", "*.iowait", "*.irq", "*.softirq", "*.steal", "system_share", "user_share",
        "nice_share", "busy_share", "iowait_share", "steal_share", "context_switches", "forks", "procs_running",
        "procs_blocked", "count",
    ]),
    ("psi", &["cpu.some_us", "cpu.full_us", "memory.some_us", "memory.full_us", "io.some_us", "io.full_us"]),
    ("vmstat", &crate::sources::memory::VMSTAT),
    ("meminfo", &["*"]),
    ("buddyinfo", &["order_*_free_blocks"]),
    ("disk", &[
        "*.reads", "*.writes", "*.discards", "*.flushes", "*.read_bytes", "*.write_bytes", "*.read_ms", "*.write_ms",
        "*.flush_ms", "*.busy_ms", "*.in_flight",
    ]),
    ("net", &["listen_overflows", "listen_drops"]),
    ("connections", &[
        "established", "waiting", "hung", "hung_workers", "answered", "going", "ungreeted", "ungreeted_oldest_ms",
        "hung_oldest_ms", "since_answer_ms",
    ]),
    ("accept_queue", &["tcp.length", "tcp.limit", "unix.length", "unix.limit"]),
    ("process", &[
        "user_ticks", "system_ticks", "minor_faults", "major_faults", "threads", "resident_bytes", "swap_bytes",
    ]),
    ("threads", &["running", "sleeping", "uninterruptible", "by_name.*.count", "by_name.*.run_ns", "by_name.*.wait_ns"]),
    ("cgroup", &[
        "cpu.user_us", "cpu.system_us", "cpu.throttled_us", "cpu.nr_periods", "cpu.nr_throttled", "memory.high", "memory.max",
        "memory.oom", "memory.oom_kill", "memory.current_bytes", "pids.current", "pids.max",
    ]),
    ("status", &["*"]),
    ("processlist", &[
        "sessions", "active", "active_2s", "clients", "in_flight", "in_flight_unusual", "hung", "hung_oldest_ms",
        "hung_workers", "hung_writes", "short_hung_2s", "waiting", "waiting_2s", "waiting_oldest_ms", "finished", "going",
        "since_finish_ms", "logging_in", "logging_in_oldest_ms", "command.*", "state.*", "class.*",
    ]),
    ("innodb", &[
        "history_list_length", "active_transactions", "lock_wait_transactions", "prepared_transactions", "lock_structs",
        "pending_log_flushes", "pending_log_writes", "pending_checkpoint_writes", "pending_fsyncs", "pending_aio_reads",
        "pending_aio_writes", "pending_preads", "pending_pwrites", "pending_reads", "pending_writes", "checkpoint_age_bytes",
        "checkpoint_age_max_bytes", "log_unflushed_bytes", "buffer_pool_pages", "free_buffers_pages", "dirty_pages",
        "hit_rate_per_1000", "change_buffer_pages", "queries_inside", "queries_in_queue", "read_views",
        "semaphore_wait_seconds_max", "active_seconds_max", "lock_wait_seconds_max", "semaphore_waits",
    ]),
    ("sessions", &["counted", "compressed"]),
    ("replica", &[
        "channels", "seconds_behind", "relay_log_bytes", "received_position", "applied_position", "receives", "applies",
    ]),
    ("digests", &["statements", "read_ms"]),
    ("filesystem", &["*.used_share"]),
    ("packets", &[
        "statements", "show_warnings", "errors", "bytes", "compressed_bytes", "lost", "connections",
        "compressed_connections", "tls_connections",
    ]),
    ("stacks", &["threads", "complete", "in_futex", "wall_us", "left_out", "dropped_runs"]),
    ("profile", &["samples", "complete", "lost", "own"]),
    ("probe", &[
        "query_us", "connect_us", "query_outcome", "connect_outcome", "query_waiting_us", "connect_waiting_us",
    ]),
];

/// The rest: logs, the recorder itself, the clock.
const OTHERS: [&str; 12] = [
    "error_log.lines",
    "error_log.bytes",
    "kernel_log.lines",
    "recorder.cpu_ticks",
    "recorder.resident_bytes",
    "recorder.heap_bytes",
    "recorder.late_ms",
    "recorder.statements",
    "recorder.com.*",
    "recorder.lost_samples",
    "recorder.history_missing_samples",
    "clock.wall_offset_ms",
];

/// Whether any source can bring a signal of this name, on some kernel and server.
pub fn can_bring(signal: &str) -> bool {
    let in_area = signal.split_once('.').is_some_and(|(area, name)| {
        let names = NAMES.iter().find(|(known, _)| *known == area);
        names.is_some_and(|(_, names)| names.iter().any(|known| matches_pattern(known, name)))
    });
    in_area || OTHERS.iter().any(|known| matches_pattern(known, signal))
}

/// The names of an area in which `*` stands for what its owner names; empty for an area that there is not.
pub fn names_of_area(area: &str) -> Vec<&'static str> {
    let of_area = NAMES.iter().find(|(known, _)| *known == area);
    let prefix = format!("{area}.");
    let others = OTHERS.iter().filter_map(|name| name.strip_prefix(&prefix));
    of_area
        .map_or(&[][..], |(_, names)| names)
        .iter()
        .copied()
        .chain(others)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sources_bring_is_known_and_nothing_else() {
        for known in [
            "cpu.all.user",
            "cpu.3.steal",
            "vmstat.compact_stall",
            "vmstat.pgscan_kswapd",
            "meminfo.MemAvailable",
            "disk.nvme0n1.write_ms",
            "status.Threads_running",
            "processlist.state.Waiting for table flush",
            "recorder.com.select",
            "filesystem./var/lib/mysql.used_share",
        ] {
            assert!(can_bring(known), "{known}");
        }
        for unknown in [
            "foo.bar",
            "vmstat.nr_free_pages",
            "cpu.all",
            "innodb.history_length",
            "disk.sda.writez",
            "meminfo",
            "variables.max_connections",
            "",
        ] {
            assert!(!can_bring(unknown), "{unknown}");
        }
        assert_eq!(names_of_area("net"), ["listen_overflows", "listen_drops"]);
        assert_eq!(names_of_area("error_log"), ["lines", "bytes"]);
        assert!(names_of_area("foo").is_empty());
    }
}
