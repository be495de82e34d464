//! The search for names in rows, after they were made: the one that an export is searched with, too.

use export::redact::{Leak, Names};

use super::Refused;
use crate::batch::Batch;
use crate::table::Table;
use crate::tables::{HOSTS, INCIDENTS};
use crate::value::Value;

/// Columns that hold what the owner finds a server and its file by, and the digest of the file.
const KEPT: [(&Table, &[&str]); 2] = [
    (&HOSTS, &["host", "label", "cluster", "labels"]),
    (&INCIDENTS, &["frame_key", "frame_sha256", "name"]),
];

/// Refuses rows in which a name stands that was replaced, or what by its form can only be somebody's.
pub(super) fn check(batch: &Batch, names: &Names) -> Result<(), Refused> {
    for of_table in batch.tables() {
        let table = of_table.table;
        for (place, column) in table.columns.iter().enumerate() {
            let is_kept = |(kept, columns): &(&Table, &[&str])| {
                kept.name == table.name && columns.contains(&column.name)
            };
            if KEPT.iter().any(is_kept) {
                continue;
            }
            let values = of_table.rows.iter().filter_map(|row| row.get(place));
            if let Some(leak) = values.into_iter().find_map(|value| find(value, names)) {
                return Err(Refused::Leak {
                    leak,
                    table: table.name,
                    column: column.name,
                });
            }
        }
    }
    Ok(())
}

fn find(value: &Value, names: &Names) -> Option<Leak> {
    match value {
        Value::Text(text) => names.find_in_text(text.as_bytes()),
        Value::List(values) => values.iter().find_map(|value| find(value, names)),
        Value::Map(pairs) => pairs
            .iter()
            .find_map(|(key, value)| find(key, names).or_else(|| find(value, names))),
        _ => None,
    }
}
