//! What the time of the statements in a slow log went to: the words for it are entries of the lexicon.

use std::collections::BTreeMap;

use model::{QueryClass, QueryMethod};

use crate::evidence::Evidence;

/// A class of statements that took less on average tells of no stall, in seconds.
const SECONDS_MIN: f64 = 0.5;

/// Share of the time, or of the statements, from which on it is what a class did.
const MOST: f64 = 0.5;

/// Rows that were read for one that was returned, from which on reading is what took the time.
const READ_FOR_NOTHING: f64 = 1_000.0;

/// Rows of one statement, below which reading them takes no time.
const FEW_ROWS: f64 = 100.0;

const LOCKS: &str = "time in locks";
const COMMITS: &str = "time in commits";
const SINGLE_ROWS: &str = "time in changes of single rows";
const ON_DISK: &str = "time in temporary tables on disk";
const READING: &str = "time in reading rows";
const SCHEMA: &str = "time in queries of information_schema";
const LOGINS: &str = "time in logins";

/// The words, each with the seconds; and the seconds of all statements.
pub(crate) fn by_class(evidence: &Evidence) -> (BTreeMap<&'static str, f64>, f64) {
    let digests = evidence.incident.queries.iter().map(|timed| &timed.digest);
    let slow = digests.filter(|digest| digest.method == QueryMethod::SlowLog);
    let classes: Vec<&QueryClass> = slow.flat_map(|digest| &digest.classes).collect();
    let seconds = |class: &QueryClass| class.sum("Query_time").unwrap_or(0.0);
    let all = classes.iter().map(|class| seconds(class)).sum();
    let mut words = BTreeMap::new();
    for class in classes {
        if let Some(word) = word(class) {
            *words.entry(word).or_default() += seconds(class);
        }
    }
    (words, all)
}

fn word(class: &QueryClass) -> Option<&'static str> {
    let count = class.count.max(1) as f64;
    let sum = |name: &str| class.sum(name).unwrap_or(0.0);
    let seconds = sum("Query_time");
    if seconds < SECONDS_MIN * count {
        return None;
    }
    let fingerprint = class.fingerprint.to_ascii_lowercase();
    let on_disk = ["Tmp_disk_tables", "Tmp_table_on_disk", "Filesort_on_disk"];
    let examined = class.sum("Rows_examined");
    let is_change = ["INSERT", "UPDATE", "DELETE", "REPLACE"].contains(&class.kind.as_str());
    if class.kind.eq_ignore_ascii_case("commit") {
        Some(COMMITS)
    } else if fingerprint.starts_with("administrator command: connect") {
        Some(LOGINS)
    } else if sum("Lock_time") >= MOST * seconds {
        Some(LOCKS)
    } else if fingerprint.contains("information_schema.") || fingerprint.starts_with("show table") {
        Some(SCHEMA)
    } else if on_disk.iter().any(|name| sum(name) >= MOST * count) {
        Some(ON_DISK)
    } else if is_change && examined.is_some_and(|rows| rows <= FEW_ROWS * count) {
        Some(SINGLE_ROWS)
    } else if examined.is_some_and(|rows| rows >= READ_FOR_NOTHING * sum("Rows_sent").max(count)) {
        Some(READING)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use model::QueryMeasure;

    use super::*;

    fn class(fingerprint: &str, kind: &str, measures: &[(&str, f64)]) -> QueryClass {
        let measures = measures.iter().map(|(name, sum)| QueryMeasure {
            name: (*name).to_owned(),
            count: 2,
            sum: *sum,
            ..QueryMeasure::default()
        });
        QueryClass {
            fingerprint: fingerprint.to_owned(),
            kind: kind.to_owned(),
            count: 2,
            measures: measures.collect(),
            ..QueryClass::default()
        }
    }

    #[test]
    fn each_class_has_what_took_most_of_its_time() {
        let query = ("Query_time", 9.0);
        for (fingerprint, kind, measures, expected) in [
            ("commit", "COMMIT", &[query][..], Some(COMMITS)),
            (
                "select ?",
                "SELECT",
                &[query, ("Lock_time", 8.0)],
                Some(LOCKS),
            ),
            (
                "select ? from t",
                "SELECT",
                &[query, ("Rows_examined", 9e6), ("Rows_sent", 2.0)],
                Some(READING),
            ),
            (
                "select ? from t group by ?",
                "SELECT",
                &[query, ("Rows_examined", 9e6), ("Tmp_disk_tables", 4.0)],
                Some(ON_DISK),
            ),
            (
                "update t set a = ?",
                "UPDATE",
                &[query, ("Rows_examined", 2.0)],
                Some(SINGLE_ROWS),
            ),
            (
                "select ? from information_schema.tables",
                "SELECT",
                &[query],
                Some(SCHEMA),
            ),
            (
                "select sleep(?)",
                "SELECT",
                &[query, ("Rows_examined", 0.0)],
                None,
            ),
            // Fast ones fill a log, too.
            ("commit", "COMMIT", &[("Query_time", 0.02)], None),
        ] {
            assert_eq!(
                word(&class(fingerprint, kind, measures)),
                expected,
                "{fingerprint}"
            );
        }
    }
}
