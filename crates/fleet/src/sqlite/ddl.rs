//! What SQLite is told to make the tables.
//!
//! A table's sort key is its primary key, so that no key stands twice. 64 bits of a hash are stored as SQLite's integer
//! with the same bits, moments as whole numbers since 1970, words of a choice as the words, lists and maps as JSON.

use std::fmt::Write as _;

use crate::table::{Column, Table, Type};

/// `CREATE TABLE` for this table.
pub fn create(table: &Table) -> String {
    let mut sql = format!("CREATE TABLE IF NOT EXISTS {} (", table.name);
    for column in table.columns {
        let _ = write!(
            sql,
            "{} {} NOT NULL DEFAULT {}, ",
            name(column),
            type_name(column.of),
            default(column.of)
        );
    }
    let key = table.sort_key.join(", ");
    let _ = write!(sql, "PRIMARY KEY ({key})) WITHOUT ROWID, STRICT");
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
    }
}
