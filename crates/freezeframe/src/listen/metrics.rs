//! The recorder's own state and incidents as metrics.

use recorder::DeletionReason;

use super::Board;
use super::exposition::{Format, Text};

pub(super) fn text(board: &Board, format: Format) -> String {
    let mut text = Text::new(format);
    text.head("info", "gauge", "The recorder's version.");
    text.value("info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    text.own("recorder");
    servers(&mut text, board);
    hooks(&mut text, board);
    fleet(&mut text, board);
    retention(&mut text, board);
    text.end()
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
    ("recorder_absent_evidence", "gauge", "Different kinds of evidence that were missing in the last minutes.", |_, now| Some(now.absent as f64)),
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
            "Events dropped because the queue was full.",
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

/// What is sent to the fleet.
fn fleet(text: &mut Text, board: &Board) {
    let Some(now) = board.feed_now() else {
        return;
    };
    let [minutes, incidents, remedies, frames] = now.lost;
    for (name, kind, help, value) in [
        (
            "fleet_up",
            "gauge",
            "1 while the fleet takes what is sent.",
            u64::from(now.trouble.is_none()),
        ),
        (
            "fleet_waiting_batches",
            "gauge",
            "Batches that wait for the fleet.",
            now.waiting,
        ),
        (
            "fleet_waiting_bytes",
            "gauge",
            "Their bytes.",
            now.waiting_bytes,
        ),
        (
            "fleet_sent_total",
            "counter",
            "Batches that the fleet took.",
            now.sent,
        ),
        (
            "fleet_failures_total",
            "counter",
            "Attempts to send that failed.",
            now.failures,
        ),
        (
            "fleet_thinned_total",
            "counter",
            "Batches of minutes without seconds, because more than half of what may wait did.",
            now.thinned,
        ),
    ] {
        text.head(name, kind, help);
        text.value(name, &[], value as f64);
    }
    let name = "fleet_lost_total";
    text.head(
        name,
        "counter",
        "Batches and files of incidents that the fleet will not get, by what they are of.",
    );
    text.value(name, &[("what", "minutes")], minutes as f64);
    text.value(name, &[("what", "incidents")], incidents as f64);
    text.value(name, &[("what", "remedies")], remedies as f64);
    text.value(name, &[("what", "frames")], frames as f64);
    if let Some(at) = now.sent_at {
        let name = "fleet_last_sent_timestamp_seconds";
        text.head(
            name,
            "gauge",
            "When the fleet took a batch last, Unix time.",
        );
        text.value(name, &[], at as f64);
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
            for why in DeletionReason::ALL.map(DeletionReason::name) {
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
    use crate::listen::exposition::TEXT_BYTES_MAX;

    fn board() -> Board {
        let board = Board::default();
        board.add("a\"b\\c\nd", "h:a\"b\\c\nd", Arc::new(Pulse::default()));
        board.triggered("a\"b\\c\nd", "id", 1_795_251_600_123);
        board.written("a\"b\\c\nd", Some("thp-compaction"));
        board.written("a\"b\\c\nd", None);
        board.retention(Arc::default());
        board.deleted("/x/a.frame".as_ref(), 5, DeletionReason::Age);
        board.deleted("/x/b.frame".as_ref(), 6, DeletionReason::Age);
        board.deleted(
            "/x/history-3306.db.damaged-1".as_ref(),
            7,
            DeletionReason::Space,
        );
        board
    }

    #[test]
    fn every_line_is_of_the_format_and_names_are_escaped() {
        let text = text(&board(), Format::Text);
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
    #[test]
    fn open_metrics_for_whoever_asks_for_it() {
        // As Prometheus 2.42 and 3.5 ask.
        let usual = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                     text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let newest = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                      application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,\
                      text/plain;version=0.0.4;q=0.3,*/*;q=0.2,";
        for accept in [
            usual,
            newest,
            "application/openmetrics-text",
            "Application/OpenMetrics-Text; Version=\"1.0.0\" ; Q=1",
        ] {
            assert_eq!(Format::wanted(accept), Format::OpenMetrics, "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "text/plain",
            "application/json",
            "application/openmetrics-text;version=2.0.0",
            "application/openmetrics-text;version=0.0.1",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=x",
            "application/openmetrics-text;q=0.4, text/plain;q=0.5",
            "application/openmetrics-textual",
            ";;=,=;q",
        ] {
            assert_eq!(Format::wanted(accept), Format::Text, "{accept}");
        }
    }

    /// A sample: its name, what stands in the braces, its value.
    fn sample(line: &str) -> (&str, &str, f64) {
        let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => rest.rsplit_once("} ").unwrap(),
            None => ("", rest.trim_start()),
        };
        (name, labels, value.parse().unwrap())
    }

    /// Rules of the specification, by its sections: Overall Structure, MetricFamily, Counter.
    fn check_open_metrics(text: &str) {
        let body = text.strip_suffix("# EOF\n").expect("the end");
        assert!(!body.contains("# EOF") && !body.contains('\r'));
        let mut families: Vec<(&str, &str)> = Vec::new();
        let mut samples = std::collections::BTreeSet::new();
        for line in body.lines() {
            assert!(!line.is_empty() && line.trim() == line, "{line}");
            if let Some(rest) = line.strip_prefix("# ") {
                let words: Vec<&str> = rest.splitn(3, ' ').collect();
                let [key, name, value] = words[..] else {
                    panic!("{line}")
                };
                match key {
                    // Each family begins once, and its samples follow it.
                    "HELP" => {
                        assert!(families.iter().all(|(known, _)| *known != name), "{line}");
                        families.push((name, ""));
                    }
                    "TYPE" => {
                        assert!(["counter", "gauge"].contains(&value), "{line}");
                        assert!(value != "counter" || !name.ends_with("_total"), "{line}");
                        let last = families.last_mut().unwrap();
                        assert_eq!(*last, (name, ""), "{line}");
                        last.1 = value;
                    }
                    "UNIT" => {
                        assert_eq!(families.last().unwrap().0, name, "{line}");
                        assert!(name.ends_with(&format!("_{value}")), "{line}");
                    }
                    _ => panic!("a comment is none: {line}"),
                }
                continue;
            }
            let (name, labels, value) = sample(line);
            let (family, kind) = *families.last().unwrap();
            match kind {
                "counter" => {
                    assert_eq!(name.strip_suffix("_total"), Some(family), "{line}");
                    assert!(value.is_finite() && value >= 0.0, "{line}");
                }
                "gauge" => assert_eq!(name, family, "{line}"),
                _ => panic!("a sample without a type: {line}"),
            }
            assert!(samples.insert((name, labels)), "twice: {line}");
            // Quotes and backslashes in values are escaped, so quotes come in pairs.
            let plain = labels.replace("\\\\", "").replace("\\\"", "");
            assert_eq!(plain.matches('"').count() % 2, 0, "{line}");
        }
        // Names of samples are of one family each.
        let names: Vec<String> = families
            .iter()
            .map(|(name, kind)| match *kind {
                "counter" => format!("{name}_total"),
                _ => (*name).to_owned(),
            })
            .collect();
        for (family, _) in &families {
            let clashes = names.iter().filter(|name| name == family).count();
            assert!(clashes <= 1, "{family}");
        }
    }

    #[test]
    fn open_metrics_are_as_the_specification_says() {
        let open = text(&board(), Format::OpenMetrics);
        check_open_metrics(&open);
        for line in [
            "# UNIT freezeframe_recorder_cpu_seconds seconds",
            "# UNIT freezeframe_incidents_kept_bytes bytes",
            "# TYPE freezeframe_incidents counter",
            "freezeframe_retention_deleted_bytes_total{what=\"incident\",why=\"age\"} 11",
        ] {
            assert!(open.lines().any(|one| one == line), "{line}: {open}");
        }
        // The same samples in both.
        let of = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines
                .map(sample)
                .map(|(name, labels, _)| format!("{name}{labels}"))
                .collect()
        };
        assert_eq!(of(&open), of(&text(&board(), Format::Text)));
    }

    #[test]
    fn too_many_open_metrics_end_as_they_must() {
        let board = Board::default();
        for number in 0..1500 {
            let name = format!("{}{number}", "x".repeat(100));
            board.add(&name, &name, Arc::new(Pulse::default()));
        }
        let open = text(&board, Format::OpenMetrics);
        assert!(open.len() < TEXT_BYTES_MAX + 4096);
        check_open_metrics(&open);
    }
}
