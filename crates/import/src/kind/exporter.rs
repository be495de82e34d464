//! What exporters of metrics answer when they are asked (Prometheus, "Exposition formats", text).

/// A line of it: `name{label="value",…} number`, of which the moment that may follow is not kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Metric<'a> {
    pub(crate) name: &'a str,
    /// What stands between the braces; empty where there are none.
    pub(crate) labels: &'a str,
    pub(crate) value: f64,
}

/// What the names of the metrics of mysqld_exporter and of node_exporter begin with.
const STARTS: [&str; 2] = ["mysql_", "node_"];

/// A metric of the server or of its host, or the help in front of one.
pub(super) fn is_exporter(text: &str) -> bool {
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
pub(crate) fn is_metrics_line(text: &str) -> bool {
    text.starts_with("# HELP ") || text.starts_with("# TYPE ") || metric(text).is_some()
}

/// Reads a line.
pub(crate) fn metric(text: &str) -> Option<Metric<'_>> {
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
    pub(crate) fn label(&self) -> &'a str {
        let value = self.labels.split_once("=\"").map(|(_, rest)| rest);
        value
            .and_then(|rest| rest.split_once('"'))
            .map_or("", |(value, _)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
