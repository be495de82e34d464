//! What is missing, and what was read.

use diagnosis::{Rejected, Verdict};
use model::{Absent, Incident};

use crate::document::{CellKind, Column, List, Part, Prose, Row, Shape, Table};
use crate::time_format;

/// Absences shown on a terminal and on a page.
const ABSENCES_MAX: (usize, usize) = (30, 100);
/// Things read that are shown.
const SOURCES_MAX: (usize, usize) = (60, 100);
/// Rejected causes shown on a page.
const REJECTED_MAX: usize = 40;

/// What the verdict misses, and then what the recording misses beside that.
pub(crate) fn absent(incident: &Incident, verdict: &Verdict) -> Vec<Part> {
    let timed = |absent: &Absent| incident.absent.iter().find(|timed| timed.absent == *absent);
    let recorded = incident.absent.iter().map(|timed| &timed.absent);
    let rows: Vec<Row> = verdict
        .absent
        .iter()
        .chain(recorded.filter(|absent| !verdict.absent.contains(absent)))
        .map(|absent| {
            let timed = timed(absent);
            let dash = || "–".to_owned();
            let at = |at| time_format::time_text(&incident.clock, at);
            let times = match timed.map_or(1, |timed| timed.count) {
                0 | 1 => String::new(),
                count => format!(" ({count} times)"),
            };
            Row::new([
                absent.what.clone(),
                absent.reason.to_text().to_owned(),
                absent.detail.clone(),
                timed.map_or_else(dash, |timed| timed.count.to_string()),
                timed.map_or_else(dash, |timed| at(timed.first)),
                timed.map_or_else(dash, |timed| at(timed.last)),
            ])
            .sentence(sentence(absent) + &times)
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let moment = |name| {
        Column::new(
            time_format::column(&incident.clock, name),
            CellKind::Numbers,
        )
    };
    let columns = vec![
        Column::new("What", CellKind::Text),
        Column::new("Why", CellKind::Text),
        Column::new("Detail", CellKind::Text),
        Column::new("Times", CellKind::Numbers),
        moment("From"),
        moment("To"),
    ];
    let table = Table::new(columns).rows(rows).shape(Shape::SENTENCES);
    vec![Part::Table(table.limits(ABSENCES_MAX.0, ABSENCES_MAX.1))]
}

/// What was not taken, and why.
pub(super) fn sentence(absent: &Absent) -> String {
    let detail = if absent.detail.is_empty() { "" } else { ": " };
    format!(
        "{}: {}{detail}{}",
        absent.what,
        absent.reason.to_text(),
        absent.detail
    )
}

/// What was not taken, a sentence each.
pub(crate) fn list(absents: &[Absent]) -> Vec<Part> {
    match absents.is_empty() {
        true => Vec::new(),
        false => vec![Part::List(List::new(absents.iter().map(sentence)))],
    }
}

/// What was read, and what of it was left out.
pub(crate) fn read(verdict: &Verdict) -> Vec<Part> {
    if verdict.sources.is_empty() {
        return Vec::new();
    }
    let rows = verdict.sources.iter().map(|source| {
        let line = source.line();
        let what = line
            .strip_prefix(&source.path)
            .map_or(line.as_str(), |rest| rest.trim_start_matches(": "));
        Row::new([source.path.as_str(), what]).sentence(line.clone())
    });
    let columns = vec![
        Column::new("Path", CellKind::Code),
        Column::new("Content", CellKind::Text),
    ];
    let more = verdict.sources.len().saturating_sub(SOURCES_MAX.0);
    let mut table = Table::new(columns).rows(rows).shape(Shape::SENTENCES);
    table.more = format!("{more} more (all in --json).");
    vec![Part::Table(table.limits(SOURCES_MAX.0, SOURCES_MAX.1))]
}

/// Why a cause is not it, for somebody who reads a page: where was looked, without patterns and formulas. A whole report
/// in a terminal and JSON have these.
pub(crate) fn in_words(rejected: &Rejected) -> String {
    if rejected.looked_in.is_empty() {
        return rejected.why.clone();
    }
    let mut places: Vec<String> = Vec::new();
    for source in &rejected.looked_in {
        let place = model::areas().find(|area| area.source == source);
        let place = place.map_or_else(|| source.replace('_', " "), |area| area.plain.to_owned());
        if !places.contains(&place) {
            places.push(place);
        }
    }
    format!(
        "Its necessary signs are missing. Looked at: {}.",
        places.join(", ")
    )
}

/// Causes that looked alike, and why it is none of them.
pub(crate) fn rejected(verdict: &Verdict) -> Vec<Part> {
    if verdict.rejected.is_empty() {
        return Vec::new();
    }
    let rows = verdict.rejected.iter().map(|rejected| {
        let cause = format!("{} [{}]", rejected.title, rejected.cause);
        let sentence = format!("{cause}: {}", rejected.why);
        let title = Prose::from(format!("{} ", rejected.title));
        Row::new([title.code(&rejected.cause), in_words(rejected).into()]).sentence(sentence)
    });
    let columns = vec![
        Column::new("Cause", CellKind::Text),
        Column::new("Ruled out because", CellKind::Text),
    ];
    let table = Table::new(columns).rows(rows).shape(Shape::SENTENCES);
    vec![Part::Table(table.limits(usize::MAX, REJECTED_MAX))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_where_was_looked_not_by_which_pattern() {
        let mut rejected = Rejected {
            cause: "ftwrl-backup".to_owned(),
            title: "FLUSH stops all".to_owned(),
            why: "a necessary sign is missing: the number of sessions in state /^waiting/ was 0"
                .to_owned(),
            looked_in: ["processlist", "processlist", "stacks", "kernel_log"]
                .map(str::to_owned)
                .to_vec(),
        };
        assert_eq!(
            in_words(&rejected),
            "Its necessary signs are missing. Looked at: the list of sessions, what each thread \
             of the server did, the kernel's log."
        );
        // What speaks against it says so itself.
        rejected.looked_in.clear();
        rejected.why = "the queues were never more than 16.8 % full".to_owned();
        assert_eq!(in_words(&rejected), rejected.why);
    }
}
