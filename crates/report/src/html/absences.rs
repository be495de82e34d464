//! What is missing, and what was read.

use diagnosis::Verdict;
use model::{Incident, TimedAbsent};

use super::table::{Column, Holds, Table, cell};
use crate::when;

/// Absences shown.
const ABSENCES_MAX: usize = 100;
/// Things read that are shown.
const SOURCES_MAX: usize = 100;

pub(super) fn section(incident: &Incident, verdict: &Verdict) -> Option<String> {
    let from = when::column(&incident.clock, "From");
    let to = when::column(&incident.clock, "To");
    let columns = [
        Column("What", Holds::Words),
        Column("Why", Holds::Words),
        Column("Detail", Holds::Words),
        Column("Times", Holds::Numbers),
        Column(&from, Holds::Numbers),
        Column(&to, Holds::Numbers),
    ];
    let clock = |at| when::moment(&incident.clock, at);
    let recorded = |timed: &TimedAbsent| {
        let absent = &timed.absent;
        vec![
            cell(&absent.what),
            absent.reason.words().to_owned(),
            cell(&absent.detail),
            timed.count.to_string(),
            clock(timed.first),
            clock(timed.last),
        ]
    };
    let only_named = verdict
        .absent
        .iter()
        .filter(|absent| !incident.absent.iter().any(|timed| timed.absent == **absent))
        .map(|absent| {
            let dash = || "–".to_owned();
            vec![
                cell(&absent.what),
                absent.reason.words().to_owned(),
                cell(&absent.detail),
                dash(),
                dash(),
                dash(),
            ]
        });
    let rows: Vec<Vec<String>> = only_named
        .chain(incident.absent.iter().map(recorded))
        .collect();
    if rows.is_empty() {
        return Some(
            "<p class=\"none\">Every source brought what it was asked for.</p>".to_owned(),
        );
    }
    Some(Table::wide("", &columns).rows(rows, ABSENCES_MAX))
}

pub(super) fn read(verdict: &Verdict) -> Option<String> {
    if verdict.sources.is_empty() {
        return Some("<p class=\"none\">Not stated.</p>".to_owned());
    }
    let columns = [
        Column("Path", Holds::Code),
        Column("What it is", Holds::Words),
    ];
    let rows = verdict.sources.iter().map(|source| {
        let line = source.line();
        let what = line
            .strip_prefix(&source.path)
            .map_or(line.as_str(), |rest| rest.trim_start_matches(": "));
        vec![cell(&source.path), cell(what)]
    });
    Some(Table::wide("", &columns).rows(rows, SOURCES_MAX))
}
