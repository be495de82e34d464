//! Replay files of dolphie (`--record`, `--daemon`): SQLite with a row a second, each a JSON document
//! packed by zstd with a dictionary that stands in the same file. Source: `ReplayManager.py` of
//! github.com/charles-001/dolphie, schema version 2. Only rows are handed out here; unpacking is
//! the caller's.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use crate::StoreError;
use crate::budget::{ReadBudget, open_careful, row_bytes};

/// Bytes of one packed document that are read: unpacked it is some ten times as large.
const DATA_BYTES_MAX: usize = 4 << 20;

/// Bytes of all documents, packed, that are read.
const ROWS_BYTES_MAX: u64 = 64 << 20;

/// A replay file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replay {
    /// The server's address, as dolphie had it.
    pub host: String,
    /// zstd's dictionary; empty when there is none.
    pub dictionary: Vec<u8>,
    /// Documents of the file, also those that are not in `rows`.
    pub count: u64,
    /// The latest documents, oldest first: when, local time (`2026-11-21 09:53:58`), and what.
    pub rows: Vec<(String, Vec<u8>)>,
}

/// Whether a file is a replay.
pub fn is_replay(path: &Path) -> bool {
    let has_tables = |path: &Path| -> rusqlite::Result<i64> {
        open(path)?.query_row(
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('replay_data', 'metadata')",
            [],
            |row| row.get(0),
        )
    };
    has_tables(path).is_ok_and(|count| count == 2)
}

/// Reads the latest documents of a replay, `rows_max` of them at the most.
///
/// # Errors
///
/// The file cannot be read or is no replay.
pub fn read_replay(path: &Path, rows_max: usize) -> Result<Replay, StoreError> {
    read(path, rows_max).map_err(StoreError::sqlite(path))
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    open_careful(path)
}

fn read(path: &Path, rows_max: usize) -> rusqlite::Result<Replay> {
    let connection = open(path)?;
    let mut replay = Replay::default();
    let head = connection
        .query_row(
            "SELECT host, port, compression_dict FROM metadata LIMIT 1",
            [],
            |row| {
                Ok((
                    row.get::<_, Option<String>>(0)?,
                    row.get::<_, Option<i64>>(1)?,
                    row.get::<_, Option<Vec<u8>>>(2)?,
                ))
            },
        )
        .optional()?;
    if let Some((host, port, dictionary)) = head {
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        replay.host = host.unwrap_or_default() + &port;
        replay.dictionary = dictionary.unwrap_or_default();
    }
    let count: i64 =
        connection.query_row("SELECT count(*) FROM replay_data", [], |row| row.get(0))?;
    replay.count = u64::try_from(count).unwrap_or(0);
    let mut rows = connection.prepare(
        "SELECT timestamp, data FROM replay_data WHERE octet_length(data) <= ?1 ORDER BY id DESC LIMIT ?2",
    )?;
    let limit = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let mut found = rows.query((DATA_BYTES_MAX as i64, limit))?;
    let mut account = ReadBudget::new(ROWS_BYTES_MAX);
    while let Some(row) = found.next()? {
        // The count tells that there were more.
        if account.take(row_bytes(row, 64, false)?).is_err() {
            break;
        }
        let moment: Option<String> = row.get(0)?;
        replay.rows.push((moment.unwrap_or_default(), row.get(1)?));
    }
    replay.rows.reverse();
    Ok(replay)
}
