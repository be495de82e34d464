//! The batches that a gateway has acknowledged and the store has not: on the disk, each once.
//!
//! **SQLite, written ahead and synced at each commit**: what was acknowledged survives a kill and a power cut, and many
//! arrivals share one sync. A batch has its own checksum, so that a damaged one is found and costs itself only. Tokens stay
//! when their batches go, a million of them: who did not hear the answer sends the batch again.
//!
//! **The plan.** Which batches go to the store together is written down before they go, and they are always the oldest, so
//! that one number is enough. A gateway that was killed finds the same batches, in the same order: the same bytes under
//! the same token. Only a group that the store refuses as it is becomes a smaller one (`aside.rs`).

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::batch::Token;
use crate::error::StoreError;
use crate::sqlite::{create_private, sqlite};

/// "Ffgw": SQLite's `application_id` of a gateway's journal.
const APPLICATION_ID: i64 = 0x4666_6777;

/// The version of its tables.
const VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS tokens (id INTEGER PRIMARY KEY AUTOINCREMENT, token BLOB NOT NULL UNIQUE) STRICT;
    CREATE TABLE IF NOT EXISTS waiting (
        id INTEGER PRIMARY KEY, at INTEGER NOT NULL, first_day INTEGER NOT NULL, last_day INTEGER NOT NULL,
        cells INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS plan (one INTEGER PRIMARY KEY CHECK (one = 1), last INTEGER NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS aside (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;";

/// Tokens that are remembered: a day and a half of 400 hosts. A batch that comes again later has the keys that its rows
/// had, and replaces them.
const TOKENS: i64 = 1_000_000;

/// Pages that are given back to the disk after a group.
const PAGES_BACK: i64 = 2_000;

/// A batch that has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// What it is told apart by.
    pub token: Token,
    /// Its bytes, as they came.
    pub bytes: Vec<u8>,
    /// The days of its rows, as [`super::days`] gives them.
    pub days: Option<(i64, i64)>,
    /// Values of its rows.
    pub cells: usize,
}

/// What became of an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is on the disk.
    New,
    /// It was there already, or the store has it.
    Known,
    /// There is no room for it now.
    Full,
}

/// How much goes to the store at once. The first batch goes in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupLimits {
    /// Batches.
    pub batches: usize,
    /// Values of their rows.
    pub cells: usize,
    /// Bytes of the batches.
    pub bytes: usize,
    /// Days from the first to the last.
    pub days: i64,
}

/// Batches that go to the store together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub(super) last: i64,
    /// Their bytes, in the order in which they came.
    pub batches: Vec<Vec<u8>>,
}

/// What waits for the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Batches.
    pub batches: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When the oldest came, seconds since 1970.
    pub oldest_at: Option<i64>,
    /// Batches that were set aside, beside those.
    pub aside: u64,
}

/// The journal of a gateway.
pub struct Journal {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    pub(super) bytes_max: u64,
    pub(super) batches: u64,
    pub(super) bytes: u64,
    /// What was set aside: batches, and their bytes.
    pub(super) aside: (u64, u64),
}

impl Journal {
    /// Opens the journal, and makes it where there is none. `bytes_max`: what may wait.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or is something else.
    pub fn open(path: &Path, bytes_max: u64) -> Result<Self, StoreError> {
        create_private(path)?;
        let connection = connect(path)?;
        let (batches, bytes) = size_of(&connection, "waiting").map_err(sqlite(path))?;
        let aside = size_of(&connection, "aside").map_err(sqlite(path))?;
        Ok(Self {
            connection,
            path: path.to_owned(),
            bytes_max,
            batches,
            bytes,
            aside,
        })
    }

    /// What waits for the store.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn waiting(&self) -> Result<Waiting, StoreError> {
        let oldest_at = self
            .connection
            .prepare_cached("SELECT at FROM waiting ORDER BY id LIMIT 1")
            .and_then(|mut oldest| oldest.query_row([], |row| row.get(0)).optional())
            .map_err(sqlite(&self.path))?;
        Ok(Waiting {
            batches: self.batches,
            bytes: self.bytes,
            oldest_at,
            aside: self.aside.0,
        })
    }

    /// Puts these on the disk, all that there is room for, and says what became of each. `now`: seconds since 1970.
    ///
    /// # Errors
    ///
    /// When the disk does not take them: then none of them is there.
    pub fn add(&mut self, arrivals: &[Arrival], now: i64) -> Result<Vec<Added>, StoreError> {
        let path = self.path.clone();
        self.add_all(arrivals, now).map_err(sqlite(&path))
    }

    fn add_all(&mut self, arrivals: &[Arrival], now: i64) -> rusqlite::Result<Vec<Added>> {
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        let (mut batches, mut bytes) = (self.batches, self.bytes);
        let mut all = Vec::with_capacity(arrivals.len());
        {
            let mut known = transaction.prepare_cached("SELECT 1 FROM tokens WHERE token = ?1")?;
            let mut token = transaction.prepare_cached("INSERT INTO tokens (token) VALUES (?1)")?;
            let mut keep = transaction.prepare_cached(
                "INSERT INTO waiting (id, at, first_day, last_day, cells, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            for one in arrivals {
                let name = token_bytes(&one.token);
                if known.exists([name])? {
                    all.push(Added::Known);
                    continue;
                }
                let size = one.bytes.len() as u64;
                if bytes + self.aside.1 + size > self.bytes_max {
                    all.push(Added::Full);
                    continue;
                }
                let id = token.insert([name])?;
                let (first, last) = one.days.unwrap_or((i64::MAX, i64::MIN));
                let cells = i64::try_from(one.cells).unwrap_or(i64::MAX);
                keep.execute(params![id, now, first, last, cells, one.bytes])?;
                (batches, bytes) = (batches + 1, bytes + size);
                all.push(Added::New);
            }
            let mut forget = transaction.prepare_cached(
                "DELETE FROM tokens WHERE id <= (SELECT max(id) FROM tokens) - ?1
                 AND id < coalesce((SELECT min(id) FROM waiting), ?2)",
            )?;
            forget.execute([TOKENS, i64::MAX])?;
        }
        transaction.commit()?;
        (self.batches, self.bytes) = (batches, bytes);
        Ok(all)
    }

    /// The batches that go to the store next, the same ones until [`Journal::done`].
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or the plan cannot be written.
    pub fn group(&mut self, limits: &GroupLimits) -> Result<Option<Group>, StoreError> {
        let path = self.path.clone();
        self.planned(limits).map_err(sqlite(&path))
    }

    fn planned(&mut self, limits: &GroupLimits) -> rusqlite::Result<Option<Group>> {
        let mut plan = self.connection.prepare_cached("SELECT last FROM plan")?;
        let planned: Option<i64> = plan.query_row([], |row| row.get(0)).optional()?;
        let last = match planned {
            Some(last) => last,
            None => {
                let Some(last) = self.next(limits)? else {
                    return Ok(None);
                };
                self.connection
                    .execute("INSERT INTO plan (one, last) VALUES (1, ?1)", [last])?;
                last
            }
        };
        let mut read = self
            .connection
            .prepare_cached("SELECT bytes FROM waiting WHERE id <= ?1 ORDER BY id")?;
        let batches = read.query_map([last], |row| row.get(0))?;
        let batches = batches.collect::<rusqlite::Result<Vec<Vec<u8>>>>()?;
        Ok(Some(Group { last, batches }))
    }

    /// The last of the oldest batches that are within the limits.
    fn next(&self, limits: &GroupLimits) -> rusqlite::Result<Option<i64>> {
        let mut read = self.connection.prepare_cached(
            "SELECT id, first_day, last_day, cells, length(bytes) FROM waiting ORDER BY id LIMIT ?1",
        )?;
        let mut rows = read.query([i64::try_from(limits.batches).unwrap_or(i64::MAX)])?;
        let (mut cells, mut bytes, mut first, mut last) = (0_i64, 0_i64, i64::MAX, i64::MIN);
        let mut chosen = None;
        while let Some(row) = rows.next()? {
            first = first.min(row.get(1)?);
            last = last.max(row.get(2)?);
            cells = cells.saturating_add(row.get(3)?);
            bytes = bytes.saturating_add(row.get(4)?);
            let is_over = usize::try_from(cells).unwrap_or(usize::MAX) > limits.cells
                || usize::try_from(bytes).unwrap_or(usize::MAX) > limits.bytes
                || last.saturating_sub(first) >= limits.days;
            if is_over && chosen.is_some() {
                break;
            }
            chosen = Some(row.get(0)?);
        }
        Ok(chosen)
    }

    /// The store has this group.
    ///
    /// # Errors
    ///
    /// When the disk does not take that: then the group is still the next one.
    pub fn done(&mut self, group: &Group) -> Result<(), StoreError> {
        let path = self.path.clone();
        let bytes: u64 = group.batches.iter().map(|one| one.len() as u64).sum();
        self.forget(group.last).map_err(sqlite(&path))?;
        self.batches = self.batches.saturating_sub(group.batches.len() as u64);
        self.bytes = self.bytes.saturating_sub(bytes);
        Ok(())
    }

    fn forget(&mut self, last: i64) -> rusqlite::Result<()> {
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        transaction.execute("DELETE FROM waiting WHERE id <= ?1", [last])?;
        transaction.execute("DELETE FROM plan", [])?;
        transaction.commit()?;
        // What an outage took is given back, piece by piece. Without it all is as right.
        let give = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let _ = self
            .connection
            .prepare_cached(&format!("PRAGMA incremental_vacuum({PAGES_BACK})"))
            .and_then(|mut vacuum| vacuum.query_map([], give)?.last().transpose());
        Ok(())
    }
}

/// Batches in a table, and their bytes.
pub(super) fn size_of(connection: &Connection, table: &str) -> rusqlite::Result<(u64, u64)> {
    let all = format!("SELECT count(*), coalesce(sum(length(bytes)), 0) FROM {table}");
    let (batches, bytes): (i64, i64) =
        connection.query_row(&all, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((batches.unsigned_abs(), bytes.unsigned_abs()))
}

fn token_bytes(token: &Token) -> [u8; 24] {
    let mut bytes = [0; 24];
    let parts = [token.host_id, token.boot, token.seq].map(u64::to_be_bytes);
    for (to, from) in bytes.iter_mut().zip(parts.iter().flatten()) {
        *to = *from;
    }
    bytes
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let not_ours = || StoreError::NotAJournal {
        path: path.to_owned(),
    };
    let mut connection = Connection::open(path).map_err(sqlite(path))?;
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
        row.get::<_, i64>(0)
    });
    let is_new = tables.map_err(|_| not_ours())? == 0;
    let pragma = |connection: &Connection, name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0))
    };
    if !is_new && pragma(&connection, "application_id").map_err(sqlite(path))? != APPLICATION_ID {
        return Err(not_ours());
    }
    let found = pragma(&connection, "user_version").map_err(sqlite(path))?;
    if found > VERSION {
        return Err(StoreError::TooNew {
            path: path.to_owned(),
            found: u32::try_from(found).unwrap_or(u32::MAX),
            known: VERSION as u32,
        });
    }
    let set_up = |connection: &mut Connection| -> rusqlite::Result<()> {
        if is_new {
            // Before the first table, else it has no effect.
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
        }
        connection.pragma_update(None, "synchronous", "FULL")?;
        let transaction = connection.transaction()?;
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.commit()
    };
    set_up(&mut connection).map_err(sqlite(path))?;
    Ok(connection)
}
