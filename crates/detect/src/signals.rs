//! The signals that the detector judges by: what a recording of it has to hold.

/// Their names; see the sources in `recorder` for what each is.
pub const SIGNALS: [&str; 67] = [
    "accept_queue.tcp.length",
    "accept_queue.tcp.limit",
    "accept_queue.unix.length",
    "accept_queue.unix.limit",
    "cgroup.cpu_max",
    "cgroup.memory.oom_kill",
    "connections.answered",
    "connections.established",
    "connections.going",
    "connections.hung",
    "connections.hung_oldest_ms",
    "connections.hung_workers",
    "connections.since_answer_ms",
    "connections.ungreeted",
    "connections.ungreeted_oldest_ms",
    "connections.waiting",
    "cpu.busy_share",
    "cpu.count",
    "cpu.nice_share",
    "probe.connect_outcome",
    "probe.connect_us",
    "probe.connect_waiting_us",
    "probe.query_outcome",
    "probe.query_us",
    "probe.query_waiting_us",
    "process.system_ticks",
    "process.user_ticks",
    "processlist.active_2s",
    "processlist.clients",
    "processlist.finished",
    "processlist.going",
    "processlist.hung",
    "processlist.hung_oldest_ms",
    "processlist.hung_workers",
    "processlist.hung_writes",
    "processlist.in_flight",
    "processlist.in_flight_unusual",
    "processlist.logging_in",
    "processlist.logging_in_oldest_ms",
    "processlist.short_hung_2s",
    "processlist.since_finish_ms",
    "processlist.waiting",
    "processlist.waiting_2s",
    "processlist.waiting_oldest_ms",
    "recorder.statements",
    "status.Aborted_connects",
    "status.Com_delete",
    "status.Com_insert",
    "status.Com_replace",
    "status.Com_update",
    "status.Connection_errors_max_connections",
    "status.Handler_delete",
    "status.Handler_read_key",
    "status.Handler_read_next",
    "status.Handler_read_rnd",
    "status.Handler_read_rnd_next",
    "status.Handler_update",
    "status.Handler_write",
    "status.Innodb_row_lock_current_waits",
    "status.Innodb_row_lock_waits",
    "status.Questions",
    "status.Threads_connected",
    "status.Threads_running",
    "status.Uptime",
    "threads.on_cpu",
    "threads.queued",
    "variables.max_connections",
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// All names in quotes of this crate's sources.
    fn quoted(dir: &Path, names: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                quoted(&path, names);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let is_own = path.file_name().is_some_and(|name| name == "signals.rs");
            let parts = text.split('"').skip(1).step_by(2);
            let areas: BTreeSet<&str> = SIGNALS.iter().map(|name| area(name)).collect();
            names.extend(
                parts
                    .filter(|_| !is_own)
                    .filter(|part| areas.contains(area(part)) && !part.contains([' ', '\n', '{']))
                    .filter(|part| part.split('.').nth(1).is_some_and(|rest| !rest.is_empty()))
                    .map(str::to_owned),
            );
        }
    }

    fn area(name: &str) -> &str {
        name.split_once('.').map_or("", |(area, _)| area)
    }

    #[test]
    fn every_signal_that_is_judged_is_in_the_table_and_no_other() {
        assert!(SIGNALS.is_sorted());
        let mut names = BTreeSet::new();
        quoted(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
            &mut names,
        );
        let table: BTreeSet<String> = SIGNALS.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(names, table);
    }
}
