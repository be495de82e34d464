//! Opening a history: lock, reserve, tables, and what is put aside.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, params};
use rustix::fs::FlockOperation;

use crate::StoreError;
use crate::files::touch_private;
use crate::history_upgrade::upgrade;
use crate::session::SessionStart;

const SCHEMA: &str = include_str!("history.sql");

/// Version of the history, SQLite's `user_version`. A history of a newer version is put aside, not deleted.
///
/// Version 1 has the same tables; its texts of error logs may hold values of statements, and are mended when the
/// recorder opens it.
pub(crate) const HISTORY_VERSION: i64 = 2;

/// How long another process (a reader with `sqlite3`) may hold the file before a write fails.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// Room that is kept for the log of a deletion when the disk is full.
const RESERVE_BYTES: usize = 512 * 1024;

/// Takes the lock that one recorder of a history holds; gone with its process.
pub(crate) fn lock(path: &Path) -> Result<File, StoreError> {
    let path = suffixed(path, ".lock");
    touch_private(&path)?;
    let file = File::open(&path).map_err(StoreError::io(&path))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(StoreError::InUse { path }),
        Err(error) => Err(StoreError::io(&path)(error.into())),
    }
}

/// A file that only holds room on the disk, for the moment when there is none.
pub(crate) fn reserve_path(path: &Path) -> PathBuf {
    suffixed(path, ".reserve")
}

/// Makes the reserve file if it is not there. On a disk that has no room for it there is none.
pub(crate) fn keep_reserve(path: &Path) {
    let reserve = reserve_path(path);
    if reserve.exists() {
        return;
    }
    let written = touch_private(&reserve).is_ok()
        && std::fs::write(&reserve, vec![0xff; RESERVE_BYTES]).is_ok();
    if !written {
        let _ = std::fs::remove_file(&reserve);
    }
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

pub(crate) fn open_database(path: &Path) -> Result<Connection, StoreError> {
    touch_private(path)?;
    let connection = Connection::open(path).map_err(StoreError::sqlite(path))?;
    let prepare = || -> rusqlite::Result<i64> {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // So that a history can become smaller when the disk is. Of a new file only: an older one would have to be
        // written anew for it, and keeps its size.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        // WAL with NORMAL: a killed process loses nothing, a crashed machine the last seconds.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "journal_size_limit", 4 << 20)?;
        // The cache is the recorder's memory, of each server; the history is written, hardly read, and what is written next
        // is in a few pages.
        connection.pragma_update(None, "cache_size", -128)?;
        let version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version == 0 {
            connection.execute_batch(SCHEMA)?;
            connection.pragma_update(None, "user_version", HISTORY_VERSION)?;
        } else if version < HISTORY_VERSION {
            upgrade(&connection)?;
            connection.pragma_update(None, "user_version", HISTORY_VERSION)?;
        }
        Ok(version)
    };
    let version = prepare().map_err(StoreError::sqlite(path))?;
    if version > HISTORY_VERSION {
        return Err(StoreError::TooNew {
            path: path.to_owned(),
            found: version,
            known: HISTORY_VERSION,
        });
    }
    Ok(connection)
}

/// The file can never grow past its limit and a quarter, however late [`History::retain`] comes.
pub(crate) fn cap_size(connection: &Connection, bytes: u64) -> rusqlite::Result<()> {
    let page_size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let pages = i64::try_from(bytes + bytes / 4).unwrap_or(i64::MAX) / page_size;
    // The pragma answers with the cap that holds: never below the file's present size.
    connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
}

/// Renames a damaged history and its log files, so that what is in it can still be looked at.
pub(crate) fn put_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let mut number = 1;
    let aside = loop {
        let name = format!("{}.damaged-{number}", path.display());
        if !Path::new(&name).exists() {
            break name;
        }
        number += 1;
    };
    for suffix in ["", "-wal", "-shm"] {
        let from = format!("{}{suffix}", path.display());
        match std::fs::rename(&from, format!("{aside}{suffix}")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::io(Path::new(&from))(error));
            }
            _ => {}
        }
    }
    Ok(PathBuf::from(aside))
}

pub(crate) fn begin_session(
    connection: &Connection,
    start: &SessionStart,
) -> rusqlite::Result<i64> {
    connection.execute(
        "INSERT INTO session (wall_at_zero_ms, boot_id, host, tool_version, server)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            start.clock.wall_at_zero_ms,
            start.clock.boot_id,
            start.host,
            start.tool_version,
            serde_json::to_string(&start.server).unwrap_or_default()
        ],
    )?;
    Ok(connection.last_insert_rowid())
}
