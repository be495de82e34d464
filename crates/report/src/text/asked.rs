//! What the server was asked, in a few lines.

use model::{Incident, QueryWay};

use super::page::{Page, Style};
use crate::evidence::asked::{Asked, AskedRow, asked, senders};
use crate::units::{digits, grouped};

/// Rows of each way.
const ROWS_MAX: usize = 4;
/// Ways told; the page has all of them.
const WAYS_MAX: usize = 2;
/// How many times as much, or as little, is a change.
const CHANGE_MIN: f64 = 1.3;
/// A class below this share of all statements, and of their time, says nothing here.
const SHARE_MIN: f64 = 0.01;

pub(super) fn asked_section(page: &mut Page, incident: &Incident) {
    let told: Vec<Asked> = asked(incident)
        .into_iter()
        .filter(|of_way| of_way.stall_seconds.is_some())
        .collect();
    // Counters know no statements: they are told where no way that does looked before the stall.
    let compared = |of_way: &Asked| of_way.before_seconds.is_some() && !of_way.is_blind_to_most();
    let known = told
        .iter()
        .any(|of_way| compared(of_way) && of_way.way != QueryWay::StatementCounters);
    let told: Vec<&Asked> = told
        .iter()
        .filter(|of_way| !known || of_way.way != QueryWay::StatementCounters)
        .take(WAYS_MAX)
        .collect();
    if told.is_empty() {
        return;
    }
    page.heading("WHAT IT WAS ASKED");
    for of_way in told {
        let rows = of_way.rows.iter().filter(|row| matters(row, of_way));
        let rows: Vec<&AskedRow> = rows.take(ROWS_MAX).collect();
        page.paragraph(2, &head(of_way, !rows.is_empty()), Style::Plain);
        for row in rows {
            page.item(4, "- ", &row_words(row), Style::Plain);
        }
    }
}

fn head(of_way: &Asked, has_rows: bool) -> String {
    let rate = |rate: f64| format!("{} statements a second", digits(rate));
    let mut out = format!("By {}: ", of_way.way.words());
    match (of_way.before, of_way.in_stall) {
        (Some(before), Some(in_stall)) => {
            out.push_str(&format!(
                "{} before, {} in the stall",
                rate(before),
                digits(in_stall)
            ));
        }
        (None, Some(in_stall)) => out.push_str(&format!("{} in the stall", rate(in_stall))),
        _ => {}
    }
    if of_way.lost > 0 {
        let lost = i64::try_from(of_way.lost).unwrap_or(i64::MAX);
        out.push_str(&format!(" at least ({} were lost)", grouped(lost)));
    }
    if let Some(share) = of_way.seen_share.filter(|_| of_way.is_blind_to_most()) {
        out.push_str(&format!(
            ", {:.1} % of what the server counted: most is not seen this way",
            100.0 * share
        ));
    }
    out.push_str(match has_rows {
        true => ":",
        false => "; no kind of statement came much more or less often than before, or took longer.",
    });
    out
}

fn matters(row: &AskedRow, of_way: &Asked) -> bool {
    let reaches = |part: Option<f64>, whole: Option<f64>| {
        part.zip(whole)
            .is_some_and(|(part, whole)| part >= SHARE_MIN * whole)
    };
    let times = [row.time_before, row.time_in_stall].into_iter().flatten();
    let large = reaches(row.in_stall, of_way.in_stall)
        || reaches(row.before, of_way.before)
        || times.fold(0.0, f64::max) >= SHARE_MIN;
    large && changed(row)
}

/// As often as before and as slow as before is what no reader asks for; a way that did not look before tells all.
fn changed(row: &AskedRow) -> bool {
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

fn row_words(row: &AskedRow) -> String {
    let mut out = String::new();
    if let Some(before) = row.before {
        out.push_str(&format!("{}/s before, ", digits(before)));
    }
    out.push_str(&format!(
        "{}/s in the stall",
        digits(row.in_stall.unwrap_or(0.0))
    ));
    if let Some(time) = row.time_in_stall.filter(|time| *time >= 0.05) {
        out.push_str(&format!(", {} at a time", digits(time)));
    }
    out.push_str(&format!(": {}", row.fingerprint));
    let from = senders(row);
    if !from.is_empty() {
        out.push_str(&format!(" (from {from})"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_change_is_said_so() {
        let asked = Asked {
            way: QueryWay::StatementCounters,
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
        let end =
            "; no kind of statement came much more or less often than before, or took longer.";
        assert!(head(&asked, false).ends_with(end));
        assert!(head(&asked, true).ends_with("809 in the stall:"));
    }
}
