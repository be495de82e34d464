//! What is missing, and what was read.

use crate::markup::{Markup, row};
use diagnosis::Verdict;
use model::{Incident, TimedAbsent};

use super::table::{Holds, Table, column};
use crate::when;

/// Absences shown.
const ABSENCES_MAX: usize = 100;
/// Things read that are shown.
const SOURCES_MAX: usize = 100;

pub(super) fn section(incident: &Incident, verdict: &Verdict) -> Option<Markup> {
    let from = when::column(&incident.clock, "From");
    let to = when::column(&incident.clock, "To");
    let columns = [
        column("What", Holds::Words),
        column("Why", Holds::Words),
        column("Detail", Holds::Words),
        column("Times", Holds::Numbers),
        column(&from, Holds::Numbers),
        column(&to, Holds::Numbers),
    ];
    let clock = |at| when::moment(&incident.clock, at);
    let recorded = |timed: &TimedAbsent| {
        let absent = &timed.absent;
        row![
            absent.what,
            absent.reason.words().to_owned(),
            absent.detail,
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
            row![
                absent.what,
                absent.reason.words().to_owned(),
                absent.detail,
                dash(),
                dash(),
                dash(),
            ]
        });
    let rows: Vec<Vec<Markup>> = only_named
        .chain(incident.absent.iter().map(recorded))
        .collect();
    if rows.is_empty() {
        return Some(Markup::literal(
            "<p class=\"none\">Every source brought what it was asked for.</p>",
        ));
    }
    Some(Table::wide("", &columns).rows(rows, ABSENCES_MAX))
}

pub(super) fn read(verdict: &Verdict) -> Option<Markup> {
    if verdict.sources.is_empty() {
        return Some(Markup::literal("<p class=\"none\">Not stated.</p>"));
    }
    let columns = [
        column("Path", Holds::Code),
        column("What it is", Holds::Words),
    ];
    let rows = verdict.sources.iter().map(|source| {
        let line = source.line();
        let what = line
            .strip_prefix(&source.path)
            .map_or(line.as_str(), |rest| rest.trim_start_matches(": "));
        row![source.path, what]
    });
    Some(Table::wide("", &columns).rows(rows, SOURCES_MAX))
}
