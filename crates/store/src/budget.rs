//! What reading a file may take, counted as it is read.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

/// Bytes of memory that an incident or a stretch of a history may become: with what is then made of
/// it (the diagnosis, a page) the process stays within its 512 MiB. A recorder keeps 24 MiB of texts
/// and a few million readings.
pub const READ_BYTES_MAX: u64 = 224 << 20;

/// A cell of a file is not read beyond this, bytes: a recorder's largest are a few MiB.
pub(crate) const CELL_BYTES_MAX: usize = 32 << 20;

/// A cell with JSON is not read beyond this, bytes: what it becomes is several times as large.
pub(crate) const JSON_BYTES_MAX: usize = 8 << 20;

/// How much larger than its JSON a value may be.
const JSON_GROWTH: u64 = 4;

/// Memory of SQLite itself, all files together, bytes: a cell, its copy, the cache. A schema of a
/// million tables would take more.
const SQLITE_BYTES_MAX: i64 = 96 << 20;

/// Steps of SQLite's machine from one look at their sum to the next.
const STEPS_BETWEEN: i32 = 1_000_000;

/// Steps that one file may take, in millions: a day of history takes some ten, this is half a minute.
const STEPS_MAX: u32 = 2_000;

/// Opens a file of SQLite that somebody else may have made: nothing in it is run (views, triggers,
/// functions in its schema), no cell, statement or sum of steps is longer than a file of ours needs.
pub(crate) fn open_careful(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    for (config, value) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        connection.set_db_config(config, value)?;
    }
    let cell = i32::try_from(CELL_BYTES_MAX).unwrap_or(i32::MAX);
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, cell),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
        (Limit::SQLITE_LIMIT_COLUMN, 200),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 20),
        (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, value)?;
    }
    connection.query_row(
        &format!("PRAGMA hard_heap_limit = {SQLITE_BYTES_MAX}"),
        [],
        |_| Ok(()),
    )?;
    let mut millions = 0_u32;
    let mut connection = connection;
    connection.progress_handler(
        STEPS_BETWEEN,
        Some(move || {
            millions = millions.saturating_add(1);
            millions > STEPS_MAX
        }),
    )?;
    Ok(connection)
}

/// What is wrong, in words for people.
pub(crate) fn error_text(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::OperationInterrupted) => {
            "reading it takes more steps than any file of freezeframe needs".to_owned()
        }
        Some(rusqlite::ErrorCode::TooBig) => {
            format!(
                "a cell or a statement of its schema is over the limit ({} MiB a cell)",
                CELL_BYTES_MAX >> 20
            )
        }
        Some(rusqlite::ErrorCode::OutOfMemory) => {
            format!(
                "SQLite needs more than {} MiB for it",
                SQLITE_BYTES_MAX >> 20
            )
        }
        _ => error.to_string(),
    }
}

/// Memory that is left for what is read.
#[derive(Debug)]
pub(crate) struct ReadBudget {
    left: u64,
    bytes_max: u64,
    is_over: bool,
}

/// The account has no more for this.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverBudget;

impl ReadBudget {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self {
            left: bytes_max,
            bytes_max,
            is_over: false,
        }
    }

    /// Takes so many bytes, or nothing where there are less.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<(), OverBudget> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.is_over = true;
                Err(OverBudget)
            }
        }
    }

    /// Something was asked of it that it had not.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// How much it had at the begin, bytes.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// A part of it: so many percent at the most, or what is left.
    pub(crate) fn part(&self, percent: u64) -> Self {
        Self::new((self.bytes_max / 100 * percent).min(self.left))
    }

    /// What was taken of a part is taken of the whole.
    pub(crate) fn settle(&mut self, part: &Self) {
        let used = part.bytes_max.saturating_sub(part.left);
        self.left = self.left.saturating_sub(used);
        self.is_over |= part.is_over;
    }
}

/// What a row becomes in memory, at the most: its cells, and what holds them.
pub(crate) fn row_bytes(row: &Row<'_>, fixed: usize, is_json: bool) -> rusqlite::Result<u64> {
    let columns = row.as_ref().column_count();
    let mut cells = 0_u64;
    for column in 0..columns {
        if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = row.get_ref(column)? {
            cells = cells.saturating_add(bytes.len() as u64);
        }
    }
    let growth = if is_json { JSON_GROWTH } else { 1 };
    Ok(cells.saturating_mul(growth).saturating_add(fixed as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_settled_with_the_whole() {
        let mut account = ReadBudget::new(1000);
        let mut part = account.part(50);
        assert!(part.take(501).is_err());
        assert!(part.take(400).is_ok());
        account.settle(&part);
        assert!(account.take(601).is_err());
        assert!(account.take(600).is_ok());
        assert_eq!(account.part(50).bytes_max(), 0);
    }
}
