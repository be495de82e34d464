//! What SQLite is told to make the tables and to fill them.
//!
//! A table's sort key is its primary key, so that no key stands twice. 64 bits of a hash are stored as SQLite's integer
//! with the same bits, moments as whole numbers since 1970, words of a choice as the words, lists and maps as JSON.

use std::fmt::Write as _;

use crate::table::{Column, Repeated, Table, Type};

/// Version of the tables in SQLite, with what is made of them there. It rises with every change, and each store can be
/// brought to it.
pub const VERSION: u32 = 2;

/// The tokens of the batches that are in the store.
pub const TOKENS: &str = "CREATE TABLE IF NOT EXISTS batch_tokens (token TEXT PRIMARY KEY, at INTEGER NOT NULL) \
                          WITHOUT ROWID, STRICT";

/// What `new-in-stalls` adds up (`places.rs`): places by their number, and the time of threads in each by incident,
/// which stands there as half of its id.
pub const SUMS: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS places (place INTEGER PRIMARY KEY, functions TEXT NOT NULL UNIQUE) STRICT",
    "CREATE TABLE IF NOT EXISTS stack_sums (kind TEXT NOT NULL, place INTEGER NOT NULL, ts INTEGER NOT NULL, \
     incident INTEGER NOT NULL, host_id INTEGER NOT NULL, is_stall INTEGER NOT NULL, stall_ns INTEGER NOT NULL, \
     calm_ns INTEGER NOT NULL, PRIMARY KEY (kind, place, ts, incident)) WITHOUT ROWID, STRICT",
];

/// Ways to rows other than by their key.
pub const INDEXES: [&str; 4] = [
    "CREATE INDEX IF NOT EXISTS incidents_by_onset ON incidents (onset)",
    "CREATE INDEX IF NOT EXISTS incidents_by_id ON incidents (incident_id)",
    "CREATE INDEX IF NOT EXISTS findings_by_incident ON findings (incident_id)",
    "CREATE INDEX IF NOT EXISTS stacks_by_incident ON stacks (incident_id)",
];

/// `CREATE TABLE` for this table.
pub fn create(table: &Table) -> String {
    let mut sql = format!("CREATE TABLE IF NOT EXISTS {} (", table.name);
    for column in table.columns {
        let (name, kind) = (name(column), type_name(column.of));
        let _ = write!(
            sql,
            "{name} {kind} NOT NULL DEFAULT {}, ",
            default(column.of)
        );
    }
    let key = table.sort_key.join(", ");
    let _ = write!(sql, "PRIMARY KEY ({key})) WITHOUT ROWID, STRICT");
    sql
}

/// `INSERT` of a row of this table, with a place for each column's value.
pub fn insert(table: &Table) -> String {
    let names: Vec<String> = table.columns.iter().map(name).collect();
    let places = vec!["?"; names.len()].join(", ");
    let key = table.sort_key.join(", ");
    let mut sql = format!(
        "INSERT INTO {} ({}) VALUES ({places}) ON CONFLICT ({key}) DO ",
        table.name,
        names.join(", ")
    );
    match table.repeated {
        Repeated::Largest(by) => {
            let rest = table
                .columns
                .iter()
                .filter(|column| !table.sort_key.contains(&column.name));
            let set: Vec<String> = rest
                .map(|column| format!("{0} = excluded.{0}", name(column)))
                .collect();
            let _ = write!(
                sql,
                "UPDATE SET {} WHERE excluded.{by} >= {}.{by}",
                set.join(", "),
                table.name
            );
        }
        Repeated::Same | Repeated::MadeOf(_) => sql.push_str("NOTHING"),
    }
    sql
}

/// A column's name in a statement: `trigger` and `offset` are words of SQL.
pub fn name(column: &Column) -> String {
    format!("\"{}\"", column.name)
}

fn type_name(of: Type) -> &'static str {
    match of {
        Type::U8
        | Type::U16
        | Type::U32
        | Type::U64
        | Type::I8
        | Type::Hash
        | Type::Seconds
        | Type::Millis
        | Type::Day => "INTEGER",
        Type::F32 | Type::F64 => "REAL",
        Type::Text
        | Type::Word
        | Type::Id
        | Type::Sha256
        | Type::Choice(_)
        | Type::List(_)
        | Type::Map(..) => "TEXT",
    }
}

fn default(of: Type) -> &'static str {
    match of {
        Type::List(_) => "'[]'",
        Type::Map(..) => "'{}'",
        _ if type_name(of) == "TEXT" => "''",
        _ => "0",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables;

    #[test]
    fn a_table_is_made_of_its_description() {
        assert_eq!(
            create(&tables::STACK_FRAMES),
            "CREATE TABLE IF NOT EXISTS stack_frames (\"stack_id\" INTEGER NOT NULL DEFAULT 0, \
             \"frames\" TEXT NOT NULL DEFAULT '[]', \"seen\" INTEGER NOT NULL DEFAULT 0, \
             PRIMARY KEY (stack_id)) WITHOUT ROWID, STRICT"
        );
        assert_eq!(
            insert(&tables::STACK_FRAMES),
            "INSERT INTO stack_frames (\"stack_id\", \"frames\", \"seen\") VALUES (?, ?, ?) \
             ON CONFLICT (stack_id) DO UPDATE SET \"frames\" = excluded.\"frames\", \"seen\" = excluded.\"seen\" \
             WHERE excluded.seen >= stack_frames.seen"
        );
    }
}
