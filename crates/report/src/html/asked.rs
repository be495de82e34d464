//! What the server was asked before the onset and in the stall, a table for each way that looked.

use model::Incident;

use super::table::{Column, Holds, Table, cell};
use crate::evidence::asked::{Asked, AskedRow, asked, senders};
use crate::{
    escape,
    units::{Quantity, digits, grouped},
};

/// Rows of a table.
const ROWS_MAX: usize = 15;

pub(super) fn section(incident: &Incident) -> Option<String> {
    let ways = asked(incident);
    if ways.is_empty() {
        return None;
    }
    Some(ways.iter().map(way).collect())
}

fn way(of_way: &Asked) -> String {
    let columns = [
        Column("Statement", Holds::Code),
        Column("A second, before", Holds::Numbers),
        Column("A second, in stall", Holds::Numbers),
        Column("At a time, before", Holds::Numbers),
        Column("At a time, in stall", Holds::Numbers),
        Column("Errors", Holds::Numbers),
        Column("From", Holds::Words),
    ];
    let rows = of_way.rows.iter().map(row);
    let mut out = format!("<p>{}</p>", head(of_way));
    out.push_str(&Table::wide("", &columns).rows(rows, ROWS_MAX));
    if !of_way.blind.is_empty() {
        let items: String = of_way
            .blind
            .iter()
            .map(|absent| format!("<li>{}: {}</li>", cell(&absent.what), cell(&absent.detail)))
            .collect();
        out.push_str(&format!(
            "<details><summary>What this way does not see</summary><ul>{items}</ul></details>"
        ));
    }
    out
}

fn head(of_way: &Asked) -> String {
    let looked = |seconds: Option<f64>, rate: Option<f64>| {
        let (seconds, rate) = seconds.zip(rate)?;
        Some(format!(
            "<b>{}</b> statements a second (seen for {})",
            digits(rate),
            escape::html(&Quantity::Seconds.say(seconds))
        ))
    };
    let before = looked(of_way.before_seconds, of_way.before);
    let stall = looked(of_way.stall_seconds, of_way.in_stall);
    let mut out = format!("<b>By {}</b>: ", escape::html(of_way.way.words()));
    out.push_str(&match (before, stall) {
        (Some(before), Some(stall)) => format!("{before} before the onset, {stall} in the stall."),
        (None, Some(stall)) => format!("{stall} in the stall; it did not look before."),
        (Some(before), None) => format!("{before} before the onset; nothing in the stall."),
        (None, None) => String::new(),
    });
    if let Some(share) = of_way.seen_share.filter(|_| of_way.is_blind_to_most()) {
        out.push_str(&format!(
            " <b>That is {:.1} % of what the server counted</b>: most is not seen this way.",
            100.0 * share
        ));
    }
    if of_way.lost > 0 {
        out.push_str(&format!(
            " {} were lost.",
            grouped(i64::try_from(of_way.lost).unwrap_or(i64::MAX))
        ));
    }
    out
}

fn row(row: &AskedRow) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), digits);
    vec![
        cell(&row.fingerprint),
        number(row.before),
        format!("<b>{}</b>", number(row.in_stall)),
        number(row.time_before),
        number(row.time_in_stall),
        match row.errors_in_stall {
            None | Some(0) => String::new(),
            Some(errors) => grouped(i64::try_from(errors).unwrap_or(i64::MAX)),
        },
        cell(&senders(row)),
    ]
}
