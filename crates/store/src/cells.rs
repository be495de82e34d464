//! Every text of a file, whatever its tables mean: for whoever looks for something that must not be
//! there.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::StoreError;
use crate::budget::open_careful;

/// A text or a blob of a file, and where it stands.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    /// The table.
    pub table: &'a str,
    /// The column.
    pub column: &'a str,
    /// The row, from 1, in the order in which the table is read.
    pub row: usize,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Hands every text and blob of every table over, until one is answered with `false`.
///
/// # Errors
///
/// When the file cannot be opened or read to its end.
pub fn each_cell(path: &Path, with: &mut dyn FnMut(Cell<'_>) -> bool) -> Result<(), StoreError> {
    let connection = open_careful(path).map_err(StoreError::sqlite(path))?;
    each(&connection, with).map_err(StoreError::sqlite(path))
}

fn each(connection: &Connection, with: &mut dyn FnMut(Cell<'_>) -> bool) -> rusqlite::Result<()> {
    let tables: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for table in tables {
        // A name in double quotes, whatever is in it.
        let quoted = table.replace('"', "\"\"");
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{quoted}\""))?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([])?;
        let mut number = 0;
        while let Some(row) = rows.next()? {
            number += 1;
            for (index, column) in columns.iter().enumerate() {
                let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = row.get_ref(index)? else {
                    continue;
                };
                let cell = Cell {
                    table: &table,
                    column,
                    row: number,
                    bytes,
                };
                if !with(cell) {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_handed_over_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE \"odd \"\" name\" (n INTEGER, a TEXT, b BLOB);
                 INSERT INTO \"odd \"\" name\" VALUES (1, 'one', NULL), (2, 'two', x'0102');",
            )
            .unwrap();
        drop(connection);
        let mut seen = Vec::new();
        each_cell(&path, &mut |cell| {
            seen.push((
                cell.table.to_owned(),
                cell.column.to_owned(),
                cell.row,
                cell.bytes.to_vec(),
            ));
            cell.bytes != b"two"
        })
        .unwrap();
        let name = "odd \" name".to_owned();
        let expected = [
            (name.clone(), "a".to_owned(), 1, b"one".to_vec()),
            // The reader has seen enough.
            (name, "a".to_owned(), 2, b"two".to_vec()),
        ];
        assert_eq!(seen, expected);
        assert!(each_cell(&dir.path().join("none"), &mut |_| true).is_err());
    }
}
