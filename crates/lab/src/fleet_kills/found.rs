//! What is in a store of a fleet: its rows by table, of the hosts of the lab.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use fleet::clickhouse::Store;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Value, json};

/// The tables that are looked at, each with what is added up beside its rows: whether what is there is right, too.
pub(super) const TABLES: [(&str, &str); 6] = [
    ("signals", "sum(n)"),
    ("recorder_health", "sum(lost)"),
    ("incidents", "sum(duration_ms)"),
    ("findings", "sum(rank)"),
    ("stacks", "sum(samples)"),
    ("queries", "sum(n)"),
];

/// Hosts of recorders and of their incidents begin so; what a recorder records of this machine is no row of them.
const HOSTS: &str = "host_id IN (SELECT host_id FROM hosts WHERE host LIKE 'sim%')";

/// How long an answer may take.
const DEADLINE: Duration = Duration::from_secs(300);

/// Rows by table, and a sum over them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counts(Vec<(&'static str, i64, i64)>);

impl Counts {
    /// Rows of a table.
    pub(super) fn of(&self, table: &str) -> i64 {
        let found = self.0.iter().find(|(name, ..)| *name == table);
        found.map_or(0, |(_, rows, _)| *rows)
    }

    pub(super) fn as_json(&self) -> Value {
        let tables = self.0.iter();
        let tables = tables.map(|(name, rows, sum)| ((*name).to_owned(), json!([rows, sum])));
        Value::Object(tables.collect::<Map<_, _>>())
    }
}

/// What a file holds.
pub(super) fn of_sqlite(path: &Path) -> Result<Counts> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut counts = Vec::new();
    for (table, sum) in TABLES {
        let sql = format!("SELECT count(*), coalesce({sum}, 0) FROM {table} WHERE {HOSTS}");
        let (rows, sum): (i64, i64) =
            connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        counts.push((table, rows, sum));
    }
    Ok(Counts(counts))
}

/// What a server holds: each key once, or all that lies there.
pub(super) fn of_clickhouse(store: &Store, is_final: bool) -> Result<Counts> {
    let mut counts = Vec::new();
    let word = if is_final { " FINAL" } else { "" };
    for (table, sum) in TABLES {
        let sql = format!("SELECT count(), toUInt64({sum}) FROM {table}{word} WHERE {HOSTS}");
        let answer = store.answer(&sql, DEADLINE)?;
        let mut numbers = answer.split_whitespace().map(str::parse::<i64>);
        let mut next = || {
            numbers
                .next()
                .context(table)?
                .with_context(|| answer.clone())
        };
        let (rows, sum) = (next()?, next()?);
        counts.push((table, rows, sum));
    }
    Ok(Counts(counts))
}
