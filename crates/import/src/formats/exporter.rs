//! Metrics of mysqld_exporter and node_exporter, as they answer over HTTP (Prometheus, "Exposition formats", text): what the
//! server and the host told, under the exporters' names.

use std::collections::HashSet;

use model::{Fact, Reading, Unit};

use crate::format::{Format, Group, Recogniser};
use crate::line::Line;
use crate::read::{Read, counted};
use crate::server_names;
use crate::shell::capitalised;

pub(crate) static FORMAT: Format = Format {
    id: "exporter",
    group: Group::Server,
    name: "metrics of an exporter",
    printed_by: "mysqld_exporter, node_exporter, once or repeatedly",
    content: "status, settings, `/proc/vmstat`, `/proc/meminfo`",
    recognisers: &[Recogniser::new(290, "#mn", 0, |at| is_exporter(at.text))],
    continues: |_, next| is_metrics_line(next.text),
    preference: 21,
    read,
    ..Format::NONE
};

/// A line of it: `name{label="value",…} number`, of which the moment that may follow is not kept.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Metric<'a> {
    name: &'a str,
    /// What stands between the braces; empty where there are none.
    labels: &'a str,
    value: f64,
}

/// What the names of the metrics of mysqld_exporter and of node_exporter begin with.
const STARTS: [&str; 2] = ["mysql_", "node_"];

/// A metric of the server or of its host, or the help in front of one.
fn is_exporter(text: &str) -> bool {
    let is_ours = |name: &str| STARTS.iter().any(|start| name.starts_with(start));
    let comment = ["# HELP ", "# TYPE "]
        .iter()
        .find_map(|start| text.strip_prefix(start));
    match comment {
        Some(name) => is_ours(name),
        None => is_ours(text) && metric(text).is_some(),
    }
}

/// Any line of such an answer.
fn is_metrics_line(text: &str) -> bool {
    text.starts_with("# HELP ") || text.starts_with("# TYPE ") || metric(text).is_some()
}

/// Reads a line.
fn metric(text: &str) -> Option<Metric<'_>> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
    let end = text.bytes().position(|byte| !is_of_name(byte))?;
    let (name, rest) = text.split_at_checked(end)?;
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.contains('_') {
        return None;
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        // A label's value may hold braces; numbers have none.
        Some(rest) => rest.rsplit_once('}')?,
        None => ("", rest),
    };
    let mut words = rest.strip_prefix(' ')?.split_whitespace();
    let value: f64 = words.next()?.parse().ok()?;
    let is_moment = |word: &str| word.parse::<i64>().is_ok();
    (words.next().is_none_or(is_moment) && words.next().is_none() && value.is_finite()).then_some(
        Metric {
            name,
            labels,
            value,
        },
    )
}

impl<'a> Metric<'a> {
    /// The first label's value; empty where there is none.
    fn label(&self) -> &'a str {
        let value = self.labels.split_once("=\"").map(|(_, rest)| rest);
        value
            .and_then(|rest| rest.split_once('"'))
            .map_or("", |(value, _)| value)
    }
}

/// Families that put a part of a status variable's name into a label (mysqld_exporter, collector/global_status.go).
const FAMILIES: [(&str, &str, &str); 7] = [
    ("commands_total", "Com_", ""),
    ("handlers_total", "Handler_", ""),
    ("connection_errors_total", "Connection_errors_", ""),
    ("buffer_pool_pages", "Innodb_buffer_pool_pages_", ""),
    (
        "buffer_pool_page_changes_total",
        "Innodb_buffer_pool_pages_",
        "",
    ),
    ("innodb_row_ops_total", "Innodb_rows_", ""),
    (
        "performance_schema_lost_total",
        "Performance_schema_",
        "_lost",
    ),
];

/// Metrics that are read: an exporter has some thousands, and may have been asked for an hour.
const METRICS_MAX: usize = 400_000;

/// One answer of an exporter, source by source.
#[derive(Default)]
struct Answer<'a> {
    seen: HashSet<(&'a str, &'a str)>,
    status: Vec<Reading>,
    vmstat: Vec<Reading>,
    meminfo: Vec<Reading>,
    cpu: Vec<Reading>,
    facts: Vec<Fact>,
    /// When, by the host's clock, milliseconds since 1970 UTC.
    at: Option<i64>,
    /// How long the server has been up, seconds.
    uptime: Option<f64>,
}

fn read(lines: &[Line<'_>]) -> Read {
    let mut answers: Vec<Answer<'_>> = Vec::new();
    let mut others = 0_usize;
    let mut read = Read::default();
    let metrics = lines
        .iter()
        .filter_map(|line| Some((line.number, metric(line.trimmed())?)));
    for (count, (number, one)) in metrics.enumerate() {
        if count == METRICS_MAX {
            let why = format!("metrics after the first {METRICS_MAX}");
            read.skipped.push((number, why.into()));
            break;
        }
        // In one answer each is there once.
        let is_of = |answer: &Answer<'_>| !answer.seen.contains(&(one.name, one.labels));
        if !answers.last().is_some_and(is_of) {
            answers.push(Answer::default());
        }
        if let Some(answer) = answers.last_mut() {
            answer.seen.insert((one.name, one.labels));
            others += usize::from(!answer.take(one));
        }
    }
    // Without their times, counters of two answers tell no rate.
    let is_timed = |answer: &Answer<'_>| answer.at.is_some() || answer.uptime.is_some();
    let untimed = match answers.iter().all(is_timed) {
        true => 0,
        false => answers.len().saturating_sub(1),
    };
    if untimed > 0 {
        let earlier = counted(untimed, "earlier answer", "earlier answers");
        let why = format!("{earlier}: the time of each is unknown");
        read.skipped.push((0, why.into()));
        answers.drain(..untimed);
    }
    let first_uptime = answers.iter().find_map(|answer| answer.uptime);
    for answer in answers {
        answer.end(&mut read, first_uptime);
    }
    let values: usize = read.ticks.iter().map(|tick| tick.readings.len()).sum();
    read.brought = match read.facts.len() {
        0 => counted(values, "value", "values"),
        facts => format!("{}, {facts} settings", counted(values, "value", "values")),
    };
    if others > 0 {
        let metrics = counted(others, "metric", "metrics");
        read.skipped
            .push((0, format!("{metrics} that no cause uses").into()));
    }
    read
}

impl Answer<'_> {
    /// Whether anything is made of it.
    fn take(&mut self, one: Metric<'_>) -> bool {
        let value = one.value;
        if let Some(name) = one.name.strip_prefix("mysql_global_variables_") {
            self.facts.push(server_names::setting(name, &plain(value)));
        } else if let Some(name) = one.name.strip_prefix("mysql_global_status_") {
            let name = status_name(name, one.label());
            if name == "Uptime" {
                self.uptime = Some(value);
            }
            self.status
                .extend(server_names::counter(&name, &plain(value)));
        } else if let Some(name) = one.name.strip_prefix("node_vmstat_") {
            let name = format!("vmstat.{name}");
            self.vmstat.push(match name.starts_with("vmstat.nr_") {
                true => Reading::gauge(name, Unit::Pages, value),
                false => Reading::counter(name, Unit::Count, value),
            });
        } else if let Some(name) = one.name.strip_prefix("node_memory_") {
            let Some(name) = name.strip_suffix("_bytes") else {
                return false;
            };
            let name = format!("meminfo.{name}");
            self.meminfo.push(Reading::gauge(name, Unit::Bytes, value));
        } else {
            return self.take_of_processors(one);
        }
        true
    }

    fn take_of_processors(&mut self, one: Metric<'_>) -> bool {
        let gauge = |name| Reading::gauge(name, Unit::Count, one.value);
        self.cpu.push(match one.name {
            "node_procs_running" => gauge("cpu.procs_running"),
            "node_procs_blocked" => gauge("cpu.procs_blocked"),
            "node_context_switches_total" => {
                Reading::counter("cpu.context_switches", Unit::Count, one.value)
            }
            "node_time_seconds" => {
                self.at = Some((one.value * 1000.0) as i64);
                return true;
            }
            name => return name == "mysql_up",
        });
        true
    }

    fn end(self, read: &mut Read, first_uptime: Option<f64>) {
        read.facts.extend(self.facts);
        let since = self
            .uptime
            .zip(first_uptime)
            .map(|(now, first)| now - first);
        let after = since.filter(|since| (0.0..1e6).contains(since));
        for (source, readings) in [
            ("status", self.status),
            ("vmstat", self.vmstat),
            ("meminfo", self.meminfo),
            ("cpu", self.cpu),
        ] {
            let after = after.map_or(0, |seconds| (seconds * 1000.0) as u64);
            read.push(source, self.at, after, readings);
        }
    }
}

/// `threads_running` → `Threads_running`; with a label as [`FAMILIES`] says.
fn status_name(name: &str, label: &str) -> String {
    if let Some((_, start, end)) = FAMILIES.iter().find(|(family, ..)| *family == name) {
        return format!("{start}{label}{end}");
    }
    capitalised(name)
}

/// `1.34217728e+08` → `134217728`.
fn plain(value: f64) -> String {
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    fn is(text: &str) -> Option<(&str, &str, f64)> {
        metric(text).map(|one| (one.name, one.label(), one.value))
    }

    #[test]
    fn metrics_with_labels_and_moments() {
        assert_eq!(
            is("mysql_global_status_threads_running 312"),
            Some(("mysql_global_status_threads_running", "", 312.0))
        );
        assert_eq!(
            is(
                "mysql_global_status_commands_total{command=\"select\",x=\"}\"} 1.5e+06 1700000000000"
            ),
            Some(("mysql_global_status_commands_total", "select", 1_500_000.0))
        );
        for text in [
            "a 5",
            "max_connections = 5",
            "some_word or other",
            "mysql_up NaN",
            "mysql_up{ 1",
        ] {
            assert_eq!(is(text), None, "{text}");
        }
        assert!(is_exporter("# TYPE mysql_up gauge"));
        assert!(!is_exporter("go_goroutines 12"));
    }

    #[test]
    fn names_of_the_server_again() {
        let text = "# HELP mysql_global_status_commands_total Total number of executed MySQL commands.\n\
            # TYPE mysql_global_status_commands_total counter\n\
            mysql_global_status_commands_total{command=\"select\"} 1.2e+06\n\
            mysql_global_status_threads_running 312\n\
            mysql_global_status_wsrep_local_recv_queue 3\n\
            mysql_global_status_buffer_pool_pages{state=\"free\"} 8\n\
            mysql_global_variables_innodb_buffer_pool_size 1.34217728e+08\n\
            mysql_up 1\nmysql_exporter_scrapes_total 9\n";
        let capture = read(&clean::lines(text));
        assert_eq!(capture.values("status.Com_select"), [1.2e6]);
        assert_eq!(capture.values("status.Threads_running"), [312.0]);
        assert_eq!(capture.values("status.wsrep_local_recv_queue"), [3.0]);
        assert_eq!(
            capture.values("status.Innodb_buffer_pool_pages_free"),
            [8.0]
        );
        assert_eq!(capture.facts[0].name, "variables.innodb_buffer_pool_size");
        assert_eq!(capture.facts[0].value, "134217728");
        assert_eq!(capture.brought, "4 values, 1 settings");
        assert_eq!(capture.skipped[0].1, "1 metric that no cause uses");
    }

    #[test]
    fn two_answers_are_two_moments() {
        let answer = |uptime: u32, questions: u32| {
            format!(
                "mysql_global_status_questions {questions}\nmysql_global_status_uptime {uptime}\nmysql_up 1\n"
            )
        };
        let capture = read(&clean::lines(&[answer(100, 5), answer(115, 905)].concat()));
        assert_eq!(
            capture.points("status.Questions"),
            [(0, 5.0), (15_000, 905.0)]
        );
        let capture = read(&clean::lines(
            &"mysql_global_status_questions 7\n".repeat(2),
        ));
        assert_eq!(capture.points("status.Questions"), [(0, 7.0)]);
        assert!(capture.skipped[0].1.starts_with("1 earlier answer"));
        let capture = read(&clean::lines(
            "node_vmstat_oom_kill 1\nnode_memory_MemFree_bytes 4096\nnode_procs_blocked 7\nnode_time_seconds 1.7e+09\n",
        ));
        let at: Vec<_> = capture.ticks.iter().map(|tick| tick.at).collect();
        assert_eq!(at, [Some(1_700_000_000_000); 3]);
        assert_eq!(capture.values("meminfo.MemFree"), [4096.0]);
        assert_eq!(capture.values("vmstat.oom_kill"), [1.0]);
    }
}
