//! Making, opening and migrating a store.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, params};

use super::ddl::VERSION;
use super::{ddl, places};
use crate::error::StoreError;
use crate::tables::TABLES;

/// "Ffle": SQLite's `application_id` of a fleet's store.
const APPLICATION_ID: i64 = 0x4666_6c65;

/// How long another process may hold the file before a statement fails.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Steps of SQLite's machine between two looks at the clock.
const STEPS: i32 = 10_000;

/// Pages of the file that are kept in memory where there is little, KiB. SQLite itself keeps 2,000.
const LITTLE_KIB: i64 = 256;

/// A fleet's store in SQLite.
pub struct Store {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
}

/// What [`Store::init`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initialised {
    /// The tables were made.
    Made,
    /// They were brought from this version to the one that is needed.
    Migrated(u32),
    /// They were as they should be.
    Unchanged,
}

impl Store {
    /// A store of its own for this process, with its tables: in memory as far as that is small, and gone with it.
    ///
    /// # Errors
    ///
    /// When SQLite has neither memory nor a place for its file.
    pub fn temporary() -> Result<Self, StoreError> {
        let path = PathBuf::from("a temporary file");
        let connection = Connection::open("").map_err(sqlite(&path))?;
        let mut store = Self { connection, path };
        store.migrate(0, 0, "").map_err(sqlite(&store.path))?;
        Ok(store)
    }

    /// Makes the store where there is none, and brings the tables of an older one to [`VERSION`]. Once more it changes
    /// nothing. `now`: seconds since 1970. `program`: the version of the program, for the store's own record.
    ///
    /// # Errors
    ///
    /// When the file is something else, of a newer program, or cannot be written.
    pub fn init(path: &Path, now: i64, program: &str) -> Result<(Self, Initialised), StoreError> {
        create_private(path)?;
        let mut store = Self::at(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let empty = store.is_empty()?;
        let found = if empty { 0 } else { store.version()? };
        if found == VERSION {
            return Ok((store, Initialised::Unchanged));
        }
        if empty {
            let wal = store.connection.pragma_update(None, "journal_mode", "WAL");
            wal.map_err(sqlite(path))?;
        }
        store.migrate(found, now, program).map_err(sqlite(path))?;
        let done = if empty {
            Initialised::Made
        } else {
            Initialised::Migrated(found)
        };
        Ok((store, done))
    }

    /// Opens a store to write to it.
    ///
    /// # Errors
    ///
    /// When there is none, or its tables are of another version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::checked(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens a store to ask it; nothing can be written.
    ///
    /// # Errors
    ///
    /// As [`Store::open`].
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        Self::checked(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    /// The same, which keeps few pages of the file in memory: a recorder writes a minute at a time, each signal to another
    /// page, and reads none of them again.
    ///
    /// # Errors
    ///
    /// When SQLite does not take that.
    pub fn with_little(self) -> Result<Self, StoreError> {
        let connection = &self.connection;
        let set = connection.pragma_update(None, "cache_size", -LITTLE_KIB);
        set.map_err(sqlite(&self.path))?;
        Ok(self)
    }

    /// Gives back the pages that SQLite keeps of the file.
    pub fn rest(&self) {
        // What cannot be given back is still kept within SQLite's limit.
        let _ = self.connection.execute_batch("PRAGMA shrink_memory");
    }

    /// The same, whose statements end with an error after this moment.
    ///
    /// # Errors
    ///
    /// When SQLite does not take that.
    pub fn until(mut self, end: Instant) -> Result<Self, StoreError> {
        let left = end.saturating_duration_since(Instant::now());
        let is_over = move || Instant::now() > end;
        let connection = &mut self.connection;
        let set = connection
            .busy_timeout(left.min(BUSY_TIMEOUT))
            .and_then(|()| connection.progress_handler(STEPS, Some(is_over)));
        set.map_err(sqlite(&self.path))?;
        Ok(self)
    }

    fn checked(path: &Path, mode: OpenFlags) -> Result<Self, StoreError> {
        // SQLite says "unable to open" for everything; the file system says why.
        match std::fs::File::open(path).and_then(|file| file.metadata()) {
            Ok(file) if file.is_file() => {}
            Ok(_) => {
                return Err(StoreError::NotAStore {
                    path: path.to_owned(),
                });
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(StoreError::NotThere {
                    path: path.to_owned(),
                });
            }
            Err(source) => {
                let path = path.to_owned();
                return Err(StoreError::Io { path, source });
            }
        }
        let store = Self::at(path, mode)?;
        // Whoever was making it was killed: it is still to be made.
        if store.is_empty()? {
            let path = path.to_owned();
            return Err(StoreError::NotThere { path });
        }
        let (found, known, path) = (store.version()?, VERSION, path.to_owned());
        match found < known {
            true => Err(StoreError::TooOld { path, found, known }),
            false => Ok(store),
        }
    }

    fn at(path: &Path, mode: OpenFlags) -> Result<Self, StoreError> {
        let open = || {
            let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            // A killed process loses nothing, a crashed machine the last batches: their senders have not heard that they
            // are there for good only when this is FULL.
            connection.pragma_update(None, "synchronous", "FULL")?;
            Ok(connection)
        };
        let connection =
            open().map_err(|error: rusqlite::Error| match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::NotADatabase) => StoreError::NotAStore {
                    path: path.to_owned(),
                },
                _ => sqlite(path)(error),
            })?;
        let path = path.to_owned();
        Ok(Self { connection, path })
    }

    /// A file of nobody's: nothing is in it.
    fn is_empty(&self) -> Result<bool, StoreError> {
        let tables = "SELECT count(*) FROM sqlite_schema";
        let tables = self.connection.query_row(tables, [], |row| row.get(0));
        let tables: i64 = tables.map_err(|_| self.not_a_store())?;
        Ok(tables == 0)
    }

    fn not_a_store(&self) -> StoreError {
        StoreError::NotAStore {
            path: self.path.clone(),
        }
    }

    /// The version of its tables.
    fn version(&self) -> Result<u32, StoreError> {
        let pragma = |name: &str| -> Result<i64, StoreError> {
            let value = self
                .connection
                .pragma_query_value(None, name, |row| row.get(0));
            value.map_err(|_| self.not_a_store())
        };
        if pragma("application_id")? != APPLICATION_ID {
            return Err(self.not_a_store());
        }
        let found = u32::try_from(pragma("user_version")?).unwrap_or(u32::MAX);
        match found > VERSION {
            true => Err(StoreError::TooNew {
                path: self.path.clone(),
                found,
                known: VERSION,
            }),
            false => Ok(found),
        }
    }

    /// All in one transaction, so that a killed migration is none. Version 1 had no sums of stacks.
    fn migrate(&mut self, found: u32, now: i64, program: &str) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        for table in TABLES {
            transaction.execute_batch(&ddl::create(table))?;
        }
        transaction.execute_batch(ddl::TOKENS)?;
        for statement in ddl::SUMS.iter().chain(&ddl::INDEXES) {
            transaction.execute_batch(statement)?;
        }
        if found < 2 {
            places::update_all(&transaction)?;
        }
        transaction.execute(
            "INSERT INTO schema_version (version, at, program) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            params![VERSION, now, program],
        )?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.commit()
    }
}

/// Creates a file where there is none, made private before anything is in it.
pub(crate) fn create_private(path: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path);
    made.map(drop).map_err(|source| StoreError::Io {
        path: path.to_owned(),
        source,
    })
}

/// SQLite's complaint about this file.
pub(crate) fn sqlite(path: &Path) -> impl FnOnce(rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Sqlite { path, source }
}
