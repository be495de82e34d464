//! Locks: who waited for what, for how long, and who held it.

use model::{Incident, LockTable};

use super::chain;
use super::document::parts;
use crate::content::locks;
use crate::markup::{Markup, markup};
use crate::time_format;
use crate::units::{Quantity, grouped};

/// Other tables that are named.
const TABLES_MAX: usize = 20;

pub(super) fn section(incident: &Incident) -> Option<Markup> {
    let stall = incident.stall_window();
    let all = &incident.stacks.locks;
    let waited = |table: &LockTable| table.locks.iter().map(|row| row.total_us).sum::<f64>();
    let inside = |table: &LockTable| table.to >= stall.from && table.from <= stall.to;
    let shown = all.iter().max_by(|a, b| {
        let by = inside(a).cmp(&inside(b));
        by.then_with(|| waited(a).total_cmp(&waited(b)))
    })?;
    let book = &incident.stacks.table;
    let place = match (inside(shown), shown.from < stall.from) {
        (true, _) => "",
        (false, true) => " before the onset",
        (false, false) => " after the stall",
    };
    let mut out = chain::chains(incident);
    out += markup!(
        "<p>{}{place}. {}</p>",
        range(incident, shown),
        locks::depth(shown),
        ..place
    );
    for (index, section) in locks::sections(shown, book, locks::PAGE_LOCKS_MAX)
        .iter()
        .enumerate()
    {
        if index > 0 {
            out += markup!("<h3>{}</h3>", section.title);
        }
        out += parts(&section.parts);
    }
    let others: Vec<&LockTable> = all
        .iter()
        .filter(|table| !std::ptr::eq(*table, shown))
        .collect();
    if !others.is_empty() {
        out += other_tables(incident, &others);
    }
    Some(out)
}

fn range(incident: &Incident, table: &LockTable) -> Markup {
    markup!(
        "<b>{} to {}</b> ({})",
        time_format::time_text(&incident.clock, table.from),
        time_format::time_text_utc(&incident.clock, table.to),
        time_format::duration(table.to.saturating_sub(table.from))
    )
}

fn other_tables(incident: &Incident, tables: &[&LockTable]) -> Markup {
    let items: Markup = tables
        .iter()
        .take(TABLES_MAX)
        .map(|table| {
            let first = table.locks.first().map_or_else(
                || "no lock waited for".to_owned(),
                |row| {
                    format!(
                        "{}: {} waiting at once, {} waited",
                        row.name,
                        grouped(row.waiters_max),
                        time(row.total_us)
                    )
                },
            );
            markup!("<li>{}: {first}</li>", range(incident, table), ..first)
        })
        .collect();
    let more = match tables.len().saturating_sub(TABLES_MAX) {
        0 => Markup::new(),
        count => markup!("<p class=\"none\">{count} more not shown.</p>", ..count),
    };
    markup!(
        "<details><summary>This is the table with most waits; the other {} by their first lock</summary><ul>{items}</ul>{more}</details>",
        tables.len(),
        ..items,
        ..more
    )
}

fn time(us: f64) -> String {
    Quantity::Seconds.to_text(us * 1e-6)
}
