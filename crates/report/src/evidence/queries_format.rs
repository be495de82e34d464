//! How the numbers of statements are said, in text and on pages.

use model::{Counted, QueryDigest, QueryMeasure, QueryMethod};

use crate::time_format;
use crate::units::{Quantity, digits, grouped};

/// Numbers of the log that are 1 for yes: with the slow log's own names.
const YES_NO: [&str; 10] = [
    "QC_Hit",
    "QC_hit",
    "Full_scan",
    "Full_join",
    "Tmp_table",
    "Tmp_table_on_disk",
    "Disk_tmp_table",
    "Filesort",
    "Filesort_on_disk",
    "Disk_filesort",
];

/// What a number is, for people.
pub(crate) fn quantity(measure: &str) -> Quantity {
    if measure.ends_with("_time") || measure.ends_with("_wait") {
        Quantity::Seconds
    } else if measure.starts_with("Bytes_") || measure.ends_with("_sizes") {
        Quantity::Bytes
    } else {
        Quantity::Count
    }
}

/// Whether it is a yes or a no.
pub(crate) fn is_yes_no(measure: &QueryMeasure) -> bool {
    YES_NO.contains(&measure.name.as_str()) && measure.max.is_none_or(|max| max <= 1.0)
}

/// A number of a measure with its unit.
pub(crate) fn value(measure: &QueryMeasure, value: Option<f64>) -> String {
    value.map_or_else(
        || "–".to_owned(),
        |value| quantity(&measure.name).to_short_text(value),
    )
}

/// Total, smallest, largest, mean, 95 %, standard deviation, median.
pub(crate) fn values(measure: &QueryMeasure) -> [String; 7] {
    let mean = measure.sum / measure.count.max(1) as f64;
    [
        Some(measure.sum),
        measure.min,
        measure.max,
        Some(mean),
        measure.p95,
        measure.stddev,
        measure.median,
    ]
    .map(|number| value(measure, number))
}

/// A share of a whole: `71.3%`.
pub(crate) fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 {
        format!("{:.1}%", 100.0 * part / whole)
    } else {
        "–".to_owned()
    }
}

/// How often a second: `76,000/s`, `0.25/s`.
pub(crate) fn rate(per_second: f64) -> String {
    if !per_second.is_finite() {
        return "–".to_owned();
    }
    if per_second.abs() >= 99.95 {
        return format!("{}/s", grouped(per_second.round() as i64));
    }
    format!("{}/s", digits(per_second))
}

/// The seconds that a digest is of; `None` when nothing tells them. Logs know whole seconds, so a log's stretch is one
/// second at the least.
pub(crate) fn seconds(digest: &QueryDigest) -> Option<f64> {
    let (from, to) = (digest.from_us?, digest.to_us?);
    let seconds = to.saturating_sub(from) as f64 / 1e6;
    let least = match digest.method {
        QueryMethod::SlowLog | QueryMethod::GeneralLog => 1.0,
        _ => 0.001,
    };
    (seconds >= 0.0).then_some(seconds.max(least))
}

/// The moments that something was seen between.
pub(crate) fn range(from_us: Option<i64>, to_us: Option<i64>) -> Option<String> {
    let (from, to) = (from_us? / 1000, to_us? / 1000);
    let (from, to) = (time_format::date_time(from), time_format::date_time(to));
    // The same day is said once.
    let to = match (from.get(..11), to.get(..11)) {
        (Some(day), Some(same)) if day == same => to.get(11..).unwrap_or_default().to_owned(),
        _ => to,
    };
    Some(format!("{from} to {to} UTC"))
}

/// Names with counts: `app 12,000, root 345 and 3 more`.
pub(crate) fn names(counted: &[Counted], most: usize) -> String {
    let shown: Vec<String> = counted
        .iter()
        .take(most)
        .map(|one| {
            let name = if one.name.is_empty() {
                "(none)"
            } else {
                &one.name
            };
            format!("{name} {}", grouped(one.count))
        })
        .collect();
    let more = match counted.len().saturating_sub(most) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    shown.join(", ") + &more
}

/// A count with what is counted: `1 call`, `12,345 classes`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{} {noun}", grouped(number))
}

/// How the statements were seen, in words.
pub(crate) fn method_text(way: QueryMethod) -> &'static str {
    match way {
        QueryMethod::SlowLog => "from the slow log",
        QueryMethod::GeneralLog => "from the general log",
        QueryMethod::PerformanceSchema => "from performance_schema's digests",
        QueryMethod::Packets => "from packets on the server's port",
        QueryMethod::StatementCounters => "from the server's statement counters",
    }
}

/// What a class is called in a line: its fingerprint, or what stands for it.
pub(crate) fn item(fingerprint: &str, kind: &str) -> String {
    match (fingerprint, kind) {
        ("", "") => "(no statement)".to_owned(),
        ("", kind) => kind.to_owned(),
        (fingerprint, _) => fingerprint.to_owned(),
    }
}
