//! The statements of a server before the onset and in the stall, as one method saw them.

use crate::document::{CellKind, Column, Folded, Part, Prose, Row, Shape, Table};
use crate::evidence::workload::{Workload, WorkloadRow, senders};
use crate::markup::{Markup, markup};
use crate::units::{Quantity, grouped, rounded};

/// Rows that a page has.
const PAGE_ROWS_MAX: usize = 15;
/// Rows that a terminal has: of those that changed.
const TERMINAL_ROWS_MAX: usize = 4;
/// How many times as much, or as little, is a change.
const CHANGE_MIN: f64 = 1.3;
/// A class below this share of all statements, and of their time, says nothing on a terminal.
const SHARE_MIN: f64 = 0.01;

/// What a method saw: how much, then the classes. A terminal has those that changed.
pub(crate) fn parts(asked: &Workload) -> Vec<Part> {
    let mut sentences = 0;
    let rows: Vec<Row> = asked
        .rows
        .iter()
        .map(|one| {
            let tells = sentences < TERMINAL_ROWS_MAX && matters(one, asked);
            sentences += usize::from(tells);
            Row {
                sentence: tells.then(|| sentence(one).into()),
                ..row(one)
            }
        })
        .collect();
    let columns = vec![
        Column::new("Statement", CellKind::Code),
        Column::new("A second, before", CellKind::Numbers),
        Column::new("A second, in stall", CellKind::Numbers),
        Column::new("At a time, before", CellKind::Numbers),
        Column::new("At a time, in stall", CellKind::Numbers),
        Column::new("Errors", CellKind::Numbers),
        Column::new("From", CellKind::Text),
    ];
    let table = Table::new(columns).rows(rows).shape(Shape::SENTENCES);
    let mut out = vec![Part::Paragraph(head(asked, sentences > 0))];
    if !table.rows.is_empty() {
        out.push(Part::Table(table.limits(TERMINAL_ROWS_MAX, PAGE_ROWS_MAX)));
    }
    if !asked.blind.is_empty() {
        let absents = asked.blind.iter();
        let lines = absents.map(|absent| format!("{}: {}", absent.what, absent.detail));
        out.push(Part::Folded(Folded {
            summary: "Not visible with this method".into(),
            parts: vec![Part::list(lines)],
            ..Folded::default()
        }));
    }
    out
}

fn head(asked: &Workload, has_rows: bool) -> Prose {
    let seen = |seconds: Option<f64>| {
        let seconds = seconds.map(|seconds| Quantity::Seconds.to_text(seconds));
        markup!(" (seen for {})", seconds.unwrap_or_default())
    };
    let before = |out: Prose, rate: f64| {
        out.strong(rounded(rate))
            .text(" statements a second before the onset")
            .page(seen(asked.before_seconds))
    };
    let lost = match asked.lost {
        0 => String::new(),
        lost => format!(" at least ({} were lost)", grouped(lost)),
    };
    let mut out = Prose::default()
        .strong(format!("By {}", asked.way.to_text()))
        .text(": ");
    out = match (asked.before, asked.in_stall) {
        (Some(rate), Some(in_stall)) => before(out, rate)
            .text(", ")
            .strong(rounded(in_stall))
            .text(" in the stall")
            .page(seen(asked.stall_seconds))
            .text(lost),
        (None, Some(in_stall)) => out
            .strong(rounded(in_stall))
            .text(" statements a second in the stall")
            .page(seen(asked.stall_seconds))
            .text(lost)
            .text("; not recorded before"),
        (Some(rate), None) => before(out, rate).text("; nothing in the stall"),
        (None, None) => out,
    };
    if let Some(share) = asked.seen_share.filter(|_| asked.is_blind_to_most()) {
        out = out
            .strong(format!(", {:.1} % of the server's count", 100.0 * share))
            .text(": most cannot be seen this way");
    }
    match has_rows {
        true => out.terminal(":").page(Markup::literal(".")),
        false => {
            out.text("; no kind of statement became much more frequent, less frequent or slower.")
        }
    }
}

fn matters(row: &WorkloadRow, asked: &Workload) -> bool {
    let reaches = |part: Option<f64>, whole: Option<f64>| {
        part.zip(whole)
            .is_some_and(|(part, whole)| part >= SHARE_MIN * whole)
    };
    let times = [row.time_before, row.time_in_stall].into_iter().flatten();
    let large = reaches(row.in_stall, asked.in_stall)
        || reaches(row.before, asked.before)
        || times.fold(0.0, f64::max) >= SHARE_MIN;
    large && changed(row)
}

/// As often as before and as slow as before is what no reader asks for; a way that did not look before tells all.
fn changed(row: &WorkloadRow) -> bool {
    let differs = |before: f64, after: f64| {
        before.max(after) >= CHANGE_MIN * before.min(after) && before.max(after) > 0.0
    };
    let (Some(before), Some(after)) = (row.before, row.in_stall) else {
        return true;
    };
    let times = (row.time_before, row.time_in_stall);
    differs(before, after)
        || differs(times.0.unwrap_or(0.0), times.1.unwrap_or(0.0))
            && times.1.is_some_and(|time| time >= 0.05)
}

fn sentence(row: &WorkloadRow) -> String {
    let mut out = String::new();
    if let Some(before) = row.before {
        out.push_str(&format!("{}/s before, ", rounded(before)));
    }
    out.push_str(&format!(
        "{}/s in the stall",
        rounded(row.in_stall.unwrap_or(0.0))
    ));
    if let Some(time) = row.time_in_stall.filter(|time| *time >= 0.05) {
        out.push_str(&format!(", {} at a time", rounded(time)));
    }
    out.push_str(&format!(": {}", row.fingerprint));
    let from = senders(row);
    if !from.is_empty() {
        out.push_str(&format!(" (from {from})"));
    }
    out
}

fn row(row: &WorkloadRow) -> Row {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), rounded);
    let errors = row.errors_in_stall.filter(|errors| *errors > 0);
    Row::new([
        row.fingerprint.as_str().into(),
        number(row.before).into(),
        Prose::default().strong(number(row.in_stall)),
        number(row.time_before).into(),
        number(row.time_in_stall).into(),
        errors.map(grouped).unwrap_or_default().into(),
        senders(row).into(),
    ])
}

#[cfg(test)]
mod tests {
    use model::QueryMethod;

    use super::*;

    #[test]
    fn what_did_not_change_is_said_so() {
        let asked = Workload {
            way: QueryMethod::StatementCounters,
            before_seconds: Some(60.0),
            stall_seconds: Some(8.0),
            before: Some(785.0),
            in_stall: Some(809.0),
            rows: Vec::new(),
            left_out: 0,
            lost: 0,
            blind: Vec::new(),
            seen_share: None,
        };
        let end = "; no kind of statement became much more frequent, less frequent or slower.";
        assert!(head(&asked, false).plain().ends_with(end));
        assert!(head(&asked, true).plain().ends_with("809 in the stall:"));
        let flooded = Workload {
            in_stall: Some(15_624.3),
            ..asked
        };
        let told = head(&flooded, true).plain();
        assert!(told.ends_with("15,600 in the stall:"), "{told}");
    }
}
