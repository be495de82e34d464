//! Metrics in Prometheus' text format, version 0.0.4, or in OpenMetrics, version 1.0.0
//! (https://prometheus.io/docs/specs/om/open_metrics_spec).

use std::fmt::Write;

use kernel::procfs::{task_stat, task_status};

/// Ticks a second of /proc/PID/stat (USER_HZ).
const TICKS_A_SECOND: f64 = 100.0;

const STAT_BYTES_MAX: usize = 4096;

/// Bytes of all metrics. A server has 1 KiB and 60 bytes for each cause that it had; hundreds of both are less.
pub(super) const TEXT_BYTES_MAX: usize = 1 << 20;

/// The format of the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus' text format, version 0.0.4.
    Text,
    /// OpenMetrics, version 1.0.0: units, families of counters without `_total`, an end that shows that all came.
    OpenMetrics,
}

impl Format {
    /// What a client asks for by `Accept` (RFC 9110, section 12.5.1). OpenMetrics for whoever names it and likes nothing
    /// of ours better; who says nothing gets the text.
    pub(crate) fn wanted(accept: &str) -> Self {
        let (mut open, mut text) = (0.0, 0.0);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let (mut version, mut quality) = (None, 1.0);
            for (name, value) in parts.filter_map(|part| part.split_once('=')) {
                match name.trim().to_ascii_lowercase().as_str() {
                    "version" => version = Some(value.trim().trim_matches('"')),
                    "q" => quality = value.trim().parse::<f64>().unwrap_or(0.0),
                    _ => {}
                }
            }
            let best = match (kind.as_str(), version) {
                ("application/openmetrics-text", None | Some("1.0.0")) => &mut open,
                ("text/plain", None | Some("0.0.4")) | ("text/*" | "*/*", _) => &mut text,
                _ => continue,
            };
            *best = f64::max(*best, quality);
        }
        match open > 0.0 && open >= text {
            true => Self::OpenMetrics,
            false => Self::Text,
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Metrics as they are told, one after the other.
pub(crate) struct Text {
    format: Format,
    text: String,
}

impl Text {
    /// None yet.
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            text: String::new(),
        }
    }

    /// All of them.
    pub(crate) fn end(mut self) -> String {
        match self.format {
            Format::Text if self.is_full() => self
                .text
                .push_str("# The rest is left out: there are too many servers and causes.\n"),
            Format::Text => {}
            // Comments there are none, but the end.
            Format::OpenMetrics => self.text.push_str("# EOF\n"),
        }
        self.text
    }

    /// What this process takes.
    pub(crate) fn own(&mut self, prefix: &str) {
        let stat = kernel::read::whole("/proc/self/stat".as_ref(), STAT_BYTES_MAX)
            .ok()
            .and_then(|bytes| task_stat::parse(&bytes));
        if let Some(stat) = stat {
            let name = format!("{prefix}_cpu_seconds_total");
            self.head(&name, "counter", "CPU time of this process.");
            let ticks = (stat.utime_ticks + stat.stime_ticks) as f64;
            self.value(&name, &[], ticks / TICKS_A_SECOND);
        }
        let resident = task_status::read("/proc/self/status".as_ref())
            .ok()
            .and_then(|status| status.vm_rss_kib);
        if let Some(kib) = resident {
            let name = format!("{prefix}_resident_bytes");
            self.head(&name, "gauge", "Resident memory of this process.");
            self.value(&name, &[], kib as f64 * 1024.0);
        }
    }

    fn is_full(&self) -> bool {
        self.text.len() >= TEXT_BYTES_MAX
    }

    /// What the samples are that follow.
    pub(crate) fn head(&mut self, name: &str, kind: &str, help: &str) {
        if self.is_full() {
            return;
        }
        // A family has the name of its samples without what their kind adds.
        let family = match (self.format, kind) {
            (Format::OpenMetrics, "counter") => name.strip_suffix("_total").unwrap_or(name),
            _ => name,
        };
        let _ = writeln!(
            self.text,
            "# HELP freezeframe_{family} {help}\n# TYPE freezeframe_{family} {kind}"
        );
        let unit = ["seconds", "bytes"].into_iter().find(|unit| {
            let rest = family.strip_suffix(unit);
            rest.is_some_and(|rest| rest.ends_with('_'))
        });
        if let (Format::OpenMetrics, Some(unit)) = (self.format, unit) {
            let _ = writeln!(self.text, "# UNIT freezeframe_{family} {unit}");
        }
    }

    /// A sample.
    pub(crate) fn value(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
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
        let _ = writeln!(self.text, "freezeframe_{name}{labels} {value}");
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
