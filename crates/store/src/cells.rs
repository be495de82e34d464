//! Every text of a file, whatever its tables mean: for whoever looks for something that must not be
//! there.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::StoreError;

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
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(StoreError::sqlite(path))?;
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
        let columns: Vec<String> = statement
            .column_names()
            .into_iter()
            .map(str::to_owned)
            .collect();
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
