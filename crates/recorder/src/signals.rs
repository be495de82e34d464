//! All signals, so that a trigger that no source can ever answer is refused before it is waited for.

use model::matches_pattern;

use crate::reader::{Signals, signals};
use crate::sources::brought;

/// The source of what the recorder notices between readings.
pub(crate) const OWN: &str = "recorder";

static OWN_SIGNALS: [Signals; 2] = [
    signals(
        &["probe.query_waiting_us", "probe.connect_waiting_us"],
        "g, µs",
        "how long a probe has had no answer; only while one hangs",
    ),
    signals(
        &["recorder.lost_samples", "recorder.history_missing_samples"],
        "c",
        "lost; not in the history; only when there are any",
    ),
];

/// Each source with signals that it brings, on some kernel and server.
pub fn all_signals() -> impl Iterator<Item = (&'static str, &'static Signals)> {
    brought().chain(OWN_SIGNALS.iter().map(|signals| (OWN, signals)))
}

fn names() -> impl Iterator<Item = &'static str> {
    all_signals().flat_map(|(_, signals)| signals.names.iter().copied())
}

/// Whether any source can bring a signal of this name, on some kernel and server.
pub fn can_bring(signal: &str) -> bool {
    names().any(|known| matches_pattern(known, signal))
}

/// The names of an area in which `*` stands for what its owner names; empty for an area that there is not.
pub fn names_of_area(area: &str) -> Vec<&'static str> {
    let of_area = |name: &'static str| name.strip_prefix(area)?.strip_prefix('.');
    names().filter_map(of_area).collect()
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
