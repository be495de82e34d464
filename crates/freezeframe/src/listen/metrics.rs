//! Prometheus' text format, version 0.0.4, of the recorder's own state and of incidents.

use std::fmt::Write;

use kernel::procfs::{task_stat, task_status};
use recorder::Why;

use super::Board;

/// Ticks a second of /proc/PID/stat (USER_HZ).
const TICKS_A_SECOND: f64 = 100.0;

const STAT_BYTES_MAX: usize = 4096;

/// Bytes of all metrics. A server has 1 KiB and 60 bytes for each cause that it had; hundreds of both are less.
const TEXT_BYTES_MAX: usize = 1 << 20;

struct Text(String);

impl Text {
    fn is_full(&self) -> bool {
        self.0.len() >= TEXT_BYTES_MAX
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        if self.is_full() {
            return;
        }
        let _ = writeln!(
            self.0,
            "# HELP freezeframe_{name} {help}\n# TYPE freezeframe_{name} {kind}"
        );
    }

    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        if self.is_full() {
            return;
        }
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let labels = match labels.join(",") {
            labels if labels.is_empty() => labels,
            labels => format!("{{{labels}}}"),
        };
        let _ = writeln!(self.0, "freezeframe_{name}{labels} {value}");
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

pub(super) fn text(board: &Board) -> String {
    let mut text = Text(String::new());
    text.head("info", "gauge", "The recorder's version.");
    text.value("info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    own(&mut text);
    servers(&mut text, board);
    hooks(&mut text, board);
    retention(&mut text, board);
    if text.is_full() {
        text.0
            .push_str("# The rest is left out: there are too many servers and causes.\n");
    }
    text.0
}

fn own(text: &mut Text) {
    let stat = kernel::read::whole("/proc/self/stat".as_ref(), STAT_BYTES_MAX)
        .ok()
        .and_then(|bytes| task_stat::parse(&bytes));
    if let Some(stat) = stat {
        text.head(
            "recorder_cpu_seconds_total",
            "counter",
            "CPU time of this process.",
        );
        let ticks = (stat.utime_ticks + stat.stime_ticks) as f64;
        text.value("recorder_cpu_seconds_total", &[], ticks / TICKS_A_SECOND);
    }
    let resident = task_status::read("/proc/self/status".as_ref())
        .ok()
        .and_then(|status| status.vm_rss_kib);
    if let Some(kib) = resident {
        text.head(
            "recorder_resident_bytes",
            "gauge",
            "Resident memory of this process.",
        );
        text.value("recorder_resident_bytes", &[], kib as f64 * 1024.0);
    }
}

/// Name, kind, help, value of each.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    fn(&super::board::Server, &recorder::PulseNow) -> Option<f64>,
);

#[rustfmt::skip]
const OF_SERVERS: &[Row] = &[
    ("up", "gauge", "1 while the recorder of this server runs.", |server, _| Some(if server.ended { 0.0 } else { 1.0 })),
    ("stalled", "gauge", "1 while a stall of this server lasts.", |_, now| Some(f64::from(u8::from(now.stalled)))),
    ("stalled_seconds", "gauge", "For how long a stall of this server lasts; 0 when none does.", |_, now| Some(now.stalled_ms.unwrap_or(0) as f64 / 1000.0)),
    ("probe_unanswered_seconds", "gauge", "For how long the query probe gets no answer.", |_, now| Some(now.unanswered_ms.unwrap_or(0) as f64 / 1000.0)),
    ("last_incident_timestamp_seconds", "gauge", "When the last stall was noticed, Unix time.", |server, _| Some(server.last_incident_ms? as f64 / 1000.0)),
    ("stalls_suppressed_total", "counter", "Stalls over the limit an hour, not captured.", |server, _| Some(server.suppressed as f64)),
    ("recorder_beat_age_seconds", "gauge", "Time since the recorder's last beat, which comes four times a second.", |_, now| Some(now.beat_age_ms? as f64 / 1000.0)),
    ("recorder_samples_total", "counter", "Samples taken in.", |_, now| Some(now.samples as f64)),
    ("recorder_missed_deadlines_total", "counter", "Readings that were not back at their deadline.", |_, now| Some(now.missed_deadlines as f64)),
    ("recorder_lost_samples_total", "counter", "Samples lost because the recorder could not keep up.", |_, now| Some(now.lost as f64)),
    ("recorder_absent_evidence", "gauge", "Different kinds of evidence that were absent in the last minutes.", |_, now| Some(now.absent as f64)),
    ("recorder_ring_signals", "gauge", "Signals in the ring.", |_, now| Some(now.ring_series as f64)),
    ("recorder_ring_bytes", "gauge", "Values and texts in the ring; stacks are not counted.", |_, now| Some(now.ring_values as f64 * 8.0 + now.ring_text_bytes as f64)),
];

fn servers(text: &mut Text, board: &Board) {
    let servers = board.servers();
    let states: Vec<_> = servers
        .values()
        .map(|server| (server, server.now()))
        .collect();
    for (name, kind, help, value) in OF_SERVERS {
        text.head(name, kind, help);
        for (server, now) in &states {
            if let Some(value) = value(server, now) {
                text.value(name, &[("server", &server.name)], value);
            }
        }
    }
    if states.iter().any(|(server, _)| !server.labels.is_empty()) {
        text.head(
            "target_info",
            "gauge",
            "What is said of a target in its labels.",
        );
        for (server, _) in states
            .iter()
            .filter(|(server, _)| !server.labels.is_empty())
        {
            let own = server.labels.iter();
            let own = own.map(|(name, value)| (name.as_str(), value.as_str()));
            let labels: Vec<_> = std::iter::once(("server", server.name.as_str()))
                .chain(own)
                .collect();
            text.value("target_info", &labels, 1.0);
        }
    }
    text.head(
        "incidents_total",
        "counter",
        "Incidents written, by the cause that the verdict names first; empty when it names none.",
    );
    for (server, _) in &states {
        for (cause, count) in &server.incidents {
            let labels = [("server", server.name.as_str()), ("cause", cause.as_str())];
            text.value("incidents_total", &labels, *count as f64);
        }
    }
}

fn hooks(text: &mut Text, board: &Board) {
    let states = board.hook_states();
    for (index, (name, kind, help)) in [
        ("hook_queued", "gauge", "Events that wait for this hook."),
        (
            "hook_delivered_total",
            "counter",
            "Events delivered to this hook.",
        ),
        ("hook_failed_total", "counter", "Events given up."),
        (
            "hook_dropped_total",
            "counter",
            "Events dropped for want of room.",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        text.head(name, kind, help);
        for state in &states {
            let value = state.counts().get(index).copied().unwrap_or(0);
            text.value(name, &[("hook", &state.name)], value as f64);
        }
    }
}

/// What was recorded and is kept, and what had to go.
fn retention(text: &mut Text, board: &Board) {
    let Some((now, deleted)) = board.kept_now() else {
        return;
    };
    let short = u64::from(now.is_short);
    for (name, help, value) in [
        (
            "incidents_kept",
            "Incidents in the recorder's directory.",
            now.incidents,
        ),
        (
            "incidents_kept_bytes",
            "Their bytes, pages included.",
            now.incident_bytes,
        ),
        (
            "directory_free_bytes",
            "What the file system of the recorder's directory has left.",
            now.free_bytes,
        ),
        (
            "directory_short",
            "1 while it has less left than there must be.",
            short,
        ),
    ] {
        text.head(name, "gauge", help);
        text.value(name, &[], value as f64);
    }
    for (name, help, value) in [
        (
            "retention_deleted_total",
            "Incidents and put-aside histories deleted, and histories made smaller, by why.",
            (|of| of.0) as fn(&(u64, u64)) -> u64,
        ),
        ("retention_deleted_bytes_total", "Bytes of them.", |of| of.1),
    ] {
        text.head(name, "counter", help);
        for what in ["history", "incident"] {
            for why in Why::ALL.map(Why::name) {
                let labels = [("what", what), ("why", why)];
                let of = deleted.get(&(what, why)).copied().unwrap_or_default();
                text.value(name, &labels, value(&of) as f64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use recorder::Pulse;

    use super::*;

    #[test]
    fn every_line_is_of_the_format_and_names_are_escaped() {
        let board = Board::default();
        board.add("a\"b\\c\nd", "h:a\"b\\c\nd", Arc::new(Pulse::default()));
        board.triggered("a\"b\\c\nd", "id", 1_795_251_600_123);
        board.written("a\"b\\c\nd", Some("thp-compaction"));
        board.written("a\"b\\c\nd", None);
        board.retention(Arc::default());
        board.deleted("/x/a.frame".as_ref(), 5, Why::Age);
        board.deleted("/x/b.frame".as_ref(), 6, Why::Age);
        board.deleted("/x/history-3306.db.damaged-1".as_ref(), 7, Why::Space);
        let text = text(&board);
        for line in [
            "incidents_kept 0",
            "directory_short 0",
            "retention_deleted_total{what=\"incident\",why=\"age\"} 2",
            "retention_deleted_bytes_total{what=\"incident\",why=\"age\"} 11",
            "retention_deleted_bytes_total{what=\"history\",why=\"space\"} 7",
            "retention_deleted_total{what=\"incident\",why=\"size\"} 0",
        ] {
            assert!(
                text.contains(&format!("freezeframe_{line}\n")),
                "{line}: {text}"
            );
        }
        for line in text.lines() {
            let fine = line.starts_with("# HELP freezeframe_")
                || line.starts_with("# TYPE freezeframe_")
                || (line.starts_with("freezeframe_")
                    && line.rsplit(' ').next().unwrap().parse::<f64>().is_ok());
            assert!(fine, "{line}");
        }
        assert!(text.contains("freezeframe_stalled{server=\"h:a\\\"b\\\\c\\nd\"} 0\n"));
        assert!(text.contains("cause=\"thp-compaction\"} 1\n"));
        assert!(text.contains("_timestamp_seconds{server=\"h:a\\\"b\\\\c\\nd\"} 1795251600.123\n"));
    }
}
