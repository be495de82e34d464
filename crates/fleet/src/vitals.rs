//! The signals whose seconds are sent all the time, not only around incidents: what a person looks at first when somebody
//! says that a server is slow. `docs/reference/fleet-tables.md` lists them.
//!
//! Forty, because they are most of what a calm server sends: a minute by the second is fifteen times as large as its
//! smallest, largest and mean value.

use model::matches_pattern;

/// A signal that is sent by the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vital {
    /// Its name; `*` stands for a device or a channel.
    pub signal: &'static str,
    /// What it shows, a counter as its growth a second.
    pub what: &'static str,
}

const fn vital(signal: &'static str, what: &'static str) -> Vital {
    Vital { signal, what }
}

/// All of them: work, then what waits, then the engine, then the host.
pub static VITALS: [Vital; 40] = [
    vital("status.Threads_running", "statements that run"),
    vital("status.Threads_connected", "sessions"),
    vital("status.Connections", "new connections"),
    vital("status.Questions", "statements of clients"),
    vital("status.Com_select", "SELECT"),
    vital("status.Com_insert", "INSERT"),
    vital("status.Com_update", "UPDATE"),
    vital("status.Com_delete", "DELETE"),
    vital("status.Com_commit", "COMMIT"),
    vital(
        "status.Slow_queries",
        "statements longer than long_query_time",
    ),
    vital("status.Bytes_sent", "bytes sent to clients"),
    vital("status.Bytes_received", "bytes received from clients"),
    vital(
        "probe.query_us",
        "how long the SELECT 1 of the recorder took",
    ),
    vital(
        "probe.connect_us",
        "how long the recorder waited for a new connection",
    ),
    vital("processlist.waiting", "sessions in a state that waits"),
    vital("processlist.hung", "sessions that did not move"),
    vital(
        "status.Innodb_row_lock_current_waits",
        "waits for row locks",
    ),
    vital(
        "status.Innodb_row_lock_time",
        "time of waits for row locks that ended",
    ),
    vital("status.Innodb_buffer_pool_reads", "pages read from disk"),
    vital(
        "status.Innodb_buffer_pool_read_requests",
        "pages asked for in the buffer pool",
    ),
    vital(
        "status.Innodb_buffer_pool_pages_dirty",
        "pages to be written",
    ),
    vital(
        "status.Innodb_buffer_pool_wait_free",
        "waits for a free page",
    ),
    vital("status.Innodb_os_log_written", "bytes of redo log written"),
    vital("status.Innodb_data_fsyncs", "fsync calls"),
    vital(
        "innodb.checkpoint_age_bytes",
        "redo log since the last checkpoint",
    ),
    vital(
        "innodb.history_list_length",
        "changes that purge has not removed",
    ),
    vital("status.Created_tmp_disk_tables", "temporary tables on disk"),
    vital("status.Handler_read_rnd_next", "rows read by scans"),
    vital(
        "replica.seconds_behind",
        "replica lag of the channel with the most",
    ),
    vital("process.user_ticks", "CPU of the server, its own code"),
    vital("process.system_ticks", "CPU of the server in the kernel"),
    vital("process.resident_bytes", "memory of the server"),
    vital("cpu.busy_share", "CPU of the host"),
    vital("cpu.iowait_share", "CPU of the host that waits for disks"),
    vital("meminfo.MemAvailable", "memory that is left"),
    vital("vmstat.pswpin", "pages read from swap"),
    vital(
        "psi.cpu.some_us",
        "pressure: time that a task waited for CPU",
    ),
    vital("psi.io.some_us", "pressure: for disks"),
    vital("psi.memory.some_us", "pressure: for memory"),
    vital("disk.*.busy_ms", "time that a disk was busy"),
];

/// Whether the seconds of a signal are sent all the time.
pub fn is_vital(signal: &str) -> bool {
    VITALS
        .iter()
        .any(|vital| matches_pattern(vital.signal, signal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_vital_signal_is_told_by_its_name() {
        for signal in [
            "status.Threads_running",
            "disk.vda.busy_ms",
            "disk.nvme0n1.busy_ms",
        ] {
            assert!(is_vital(signal), "{signal}");
        }
        for signal in [
            "",
            "status.Threads_running2",
            "disk.busy_ms",
            "disk.vda.reads",
        ] {
            assert!(!is_vital(signal), "{signal}");
        }
    }

    #[test]
    fn each_stands_once() {
        let names: BTreeSet<&str> = VITALS.iter().map(|vital| vital.signal).collect();
        assert_eq!(names.len(), VITALS.len());
    }
}
