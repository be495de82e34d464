//! Facts: settings, versions, limits; and those that changed.

use crate::markup::{Markup, markup, row};
use std::collections::BTreeMap;

use model::{Incident, OrderBy, TimedFact};

use super::table::{CellKind, Table, cell, column};
use crate::{time_format, units::Quantity};

/// Rows of a table of facts.
const FACTS_MAX: usize = 1_500;
/// Changes shown.
const CHANGES_MAX: usize = 100;

/// Numbers of bytes from here on are also written in words.
const BYTES_IN_WORDS_MIN: f64 = 1024.0 * 1024.0;

/// Variables that explain most stalls, shown first.
const FIRST_VARIABLES: [&str; 28] = [
    "max_connections",
    "back_log",
    "thread_handling",
    "thread_cache_size",
    "thread_pool_size",
    "table_open_cache",
    "table_definition_cache",
    "innodb_buffer_pool_size",
    "innodb_buffer_pool_instances",
    "innodb_thread_concurrency",
    "innodb_adaptive_hash_index",
    "innodb_flush_method",
    "innodb_flush_log_at_trx_commit",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "innodb_doublewrite",
    "innodb_lock_wait_timeout",
    "sync_binlog",
    "binlog_format",
    "query_cache_type",
    "query_cache_size",
    "protocol_compression_algorithms",
    "slave_compressed_protocol",
    "general_log",
    "slow_query_log",
    "performance_schema",
];

type ByName<'a> = BTreeMap<&'a str, Vec<&'a TimedFact>>;

pub(super) fn section(incident: &Incident) -> Option<Markup> {
    let facts = by_name(incident);
    if facts.is_empty() {
        return None;
    }
    let variable = |name: &str| name.strip_prefix("variables.").map(str::to_owned);
    let is_first =
        |name: &str| variable(name).is_some_and(|name| FIRST_VARIABLES.contains(&name.as_str()));
    let pair = [
        column("Name", CellKind::Code),
        column("Value", CellKind::Code),
    ];
    let group = |title: &str, belongs: &dyn Fn(&str) -> bool| {
        let rows: Vec<Vec<Markup>> = facts
            .iter()
            .filter(|(name, _)| belongs(name))
            .map(|(name, values)| {
                let shown = name.strip_prefix("variables.").unwrap_or(name);
                row![shown, value_cell(name, held_at_onset(incident, values)),]
            })
            .collect();
        match rows.is_empty() {
            true => Markup::new(),
            false => Table::narrow("pairs", title, &pair).rows(rows, FACTS_MAX),
        }
    };
    let server = |name: &str| name.starts_with("server.");
    let host = |name: &str| name.starts_with("host.") || name.starts_with("cgroup.");
    let memory = |name: &str| name.starts_with("thp.");
    let rest = |name: &str| !server(name) && !host(name) && !memory(name) && !is_first(name);
    let mut out = markup!(
        "<div class=\"columns\">{}{}{}{}</div>",
        group("Server", &server),
        group("Host", &host),
        group("Huge pages", &memory),
        group("Variables that explain most stalls", &is_first),
    );
    let others = facts.keys().filter(|name| rest(name)).count();
    if others > 0 {
        out += markup!(
            "<details><summary>All other facts: {others}</summary><div class=\"columns\">{}</div></details>",
            group("All others", &rest),
            ..others
        );
    }
    Some(out)
}

/// Facts that changed within the recording.
pub(super) fn changes(incident: &Incident) -> Option<Markup> {
    if incident.facts.is_empty() {
        return None;
    }
    let mut changed: Vec<(&TimedFact, &TimedFact)> = by_name(incident)
        .values()
        .flat_map(|values| values.windows(2).map(<[_]>::to_vec).collect::<Vec<_>>())
        .filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)))
        .filter(|(before, after)| before.fact.value != after.fact.value)
        .collect();
    if changed.is_empty() {
        return Some(Markup::literal(
            "<p class=\"none\">No fact changed during the recording.</p>",
        ));
    }
    changed.order_by_key(|(_, after)| after.at);
    let time = time_format::column(&incident.clock, "Time");
    let columns = [
        column(&time, CellKind::Text),
        column("Fact", CellKind::Code),
        column("From", CellKind::Code),
        column("To", CellKind::Code),
    ];
    let rows = changed.iter().map(|(before, after)| {
        row![
            time_format::time_text(&incident.clock, after.at),
            after.fact.name,
            before.fact.value,
            after.fact.value,
        ]
    });
    Some(Table::wide("", &columns).rows(rows, CHANGES_MAX))
}

fn by_name(incident: &Incident) -> ByName<'_> {
    let mut facts = ByName::new();
    for timed in &incident.facts {
        facts
            .entry(timed.fact.name.as_str())
            .or_default()
            .push(timed);
    }
    facts
}

/// A value as its owner writes it; a long number of bytes also in words.
fn value_cell(name: &str, value: &str) -> Markup {
    let bytes = value
        .parse::<f64>()
        .ok()
        .filter(|bytes| *bytes >= BYTES_IN_WORDS_MIN);
    match bytes.filter(|_| name.ends_with("_bytes") || name.ends_with("_size")) {
        Some(bytes) => markup!(
            "{} <small>{}</small>",
            cell(value),
            Quantity::Bytes.to_text(bytes)
        ),
        None => cell(value),
    }
}

/// The value at the onset, or the first one known after it.
fn held_at_onset<'a>(incident: &Incident, values: &[&'a TimedFact]) -> &'a str {
    values
        .iter()
        .rfind(|timed| timed.at <= incident.stall.onset)
        .or(values.first())
        .map_or("", |timed| timed.fact.value.as_str())
}
