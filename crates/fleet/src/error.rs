//! What may go wrong with a fleet's store.

use std::path::{Path, PathBuf};

/// Why a store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite's complaint.
    #[error("{path}: {}", words(source))]
    Sqlite {
        /// The file, or what it is called.
        path: PathBuf,
        /// The complaint.
        source: rusqlite::Error,
    },
    /// The file system's complaint.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The complaint.
        source: std::io::Error,
    },
    /// There is no file.
    #[error(
        "{path}: no store of a fleet; `freezeframe fleet init {}` makes one",
        url(.path)
    )]
    NotThere {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{path}: not the store of a fleet; nothing was changed")]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// The file is no gateway's journal.
    #[error("{path}: not the journal of a gateway; nothing was changed")]
    NotAJournal {
        /// The file.
        path: PathBuf,
    },
    /// A newer program made it.
    #[error(
        "{path}: its tables were made by a newer freezeframe (version {found}; this one knows up to {known}): use a newer one"
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// Its tables are of an older version.
    #[error(
        "{path}: its tables have version {found}, but {known} is needed; `freezeframe fleet init {}` upgrades them",
        url(.path)
    )]
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that is needed.
        known: u32,
    },
    /// A row does not fit its table.
    #[error("a row of '{0}' does not fit its table")]
    WrongRow(&'static str),
}

impl StoreError {
    /// Whether it is said of these rows alone: others may be taken.
    pub(crate) fn is_of_rows(&self) -> bool {
        use rusqlite::ErrorCode::{ConstraintViolation, TooBig, TypeMismatch};
        match self {
            Self::WrongRow(_) => true,
            Self::Sqlite { source, .. } => source
                .sqlite_error_code()
                .is_some_and(|code| matches!(code, ConstraintViolation | TooBig | TypeMismatch)),
            _ => false,
        }
    }
}

/// How a file is written as a store.
fn url(path: &Path) -> String {
    match path.is_absolute() {
        true => format!("sqlite://{}", path.display()),
        false => format!("sqlite:{}", path.display()),
    }
}

/// SQLite's complaint without the statement: whoever reads it has not written one.
fn words(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(_, Some(words)) => words.clone(),
        other => other.to_string(),
    }
}
