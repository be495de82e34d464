//! What the server was asked before the onset and in the stall, a table for each way that looked.

use crate::markup::{Markup, markup, row};
use model::Incident;

use super::table::{Holds, Table, cell, column};
use crate::evidence::asked::{Asked, AskedRow, asked, senders};
use crate::units::{Quantity, digits, grouped};

/// Rows of a table.
const ROWS_MAX: usize = 15;

pub(super) fn section(incident: &Incident) -> Option<Markup> {
    let ways = asked(incident);
    if ways.is_empty() {
        return None;
    }
    Some(ways.iter().map(way).collect())
}

fn way(of_way: &Asked) -> Markup {
    let columns = [
        column("Statement", Holds::Code),
        column("A second, before", Holds::Numbers),
        column("A second, in stall", Holds::Numbers),
        column("At a time, before", Holds::Numbers),
        column("At a time, in stall", Holds::Numbers),
        column("Errors", Holds::Numbers),
        column("From", Holds::Words),
    ];
    let rows = of_way.rows.iter().map(row);
    let mut out = markup!("<p>{}</p>", head(of_way));
    out += Table::wide("", &columns).rows(rows, ROWS_MAX);
    if !of_way.blind.is_empty() {
        let items: Markup = of_way
            .blind
            .iter()
            .map(|absent| markup!("<li>{}: {}</li>", cell(&absent.what), cell(&absent.detail)))
            .collect();
        out += markup!(
            "<details><summary>What this way does not see</summary><ul>{items}</ul></details>",
            ..items
        );
    }
    out
}

fn head(of_way: &Asked) -> Markup {
    let looked = |seconds: Option<f64>, rate: Option<f64>| {
        let (seconds, rate) = seconds.zip(rate)?;
        Some(markup!(
            "<b>{}</b> statements a second (seen for {})",
            digits(rate),
            Quantity::Seconds.say(seconds)
        ))
    };
    let before = looked(of_way.before_seconds, of_way.before);
    let stall = looked(of_way.stall_seconds, of_way.in_stall);
    let mut out = markup!("<b>By {}</b>: ", of_way.way.words());
    out += match (before, stall) {
        (Some(before), Some(stall)) => {
            markup!("{} before the onset, {} in the stall.", before, stall)
        }
        (None, Some(stall)) => markup!("{} in the stall; it did not look before.", stall),
        (Some(before), None) => markup!("{} before the onset; nothing in the stall.", before),
        (None, None) => Markup::new(),
    };
    if let Some(share) = of_way.seen_share.filter(|_| of_way.is_blind_to_most()) {
        out += markup!(
            " <b>That is {:.1} % of what the server counted</b>: most is not seen this way.",
            100.0 * share
        );
    }
    if of_way.lost > 0 {
        out += markup!(
            " {} were lost.",
            grouped(i64::try_from(of_way.lost).unwrap_or(i64::MAX))
        );
    }
    out
}

fn row(row: &AskedRow) -> Vec<Markup> {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), digits);
    row![
        row.fingerprint,
        number(row.before),
        markup!("<b>{}</b>", number(row.in_stall)),
        number(row.time_before),
        number(row.time_in_stall),
        match row.errors_in_stall {
            None | Some(0) => String::new(),
            Some(errors) => grouped(i64::try_from(errors).unwrap_or(i64::MAX)),
        },
        senders(row),
    ]
}
