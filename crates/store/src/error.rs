//! What may go wrong with a file: in use, full, damaged, of a newer version.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// What went wrong with a file.
#[derive(Debug, Error)]
pub enum StoreError {
    /// SQLite's complaint.
    #[error("{path}: {source}")]
    Sqlite {
        /// The file.
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
    /// The file is something else.
    #[error("{path}: not a freezeframe incident: {problem}")]
    NotAFrame {
        /// The file.
        path: PathBuf,
        /// What it looks like.
        problem: String,
    },
    /// Another process records to it.
    #[error("{path}: another freezeframe records there; choose another directory with --dir")]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A newer freezeframe wrote it.
    #[error(
        "{path}: written by a newer freezeframe (format version {found}; this one reads up to {known}): use a newer one"
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
}

impl StoreError {
    pub(crate) fn sqlite(path: &Path) -> impl FnOnce(rusqlite::Error) -> Self {
        let path = path.to_owned();
        move |source| match not_opened(&path, &source) {
            Some(source) => Self::Io { path, source },
            None => Self::Sqlite { path, source },
        }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// The same of another file: whoever names a file is told of that one, not of the one under which it is written
    /// first.
    #[must_use]
    pub fn about(self, path: &Path) -> Self {
        let path = path.to_owned();
        match self {
            Self::Sqlite { source, .. } => Self::Sqlite { path, source },
            Self::Io { source, .. } => Self::Io { path, source },
            Self::NotAFrame { .. } | Self::InUse { .. } | Self::TooNew { .. } => self,
        }
    }

    /// Whether the disk, or the room that the file may take, is used up.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Sqlite { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(rusqlite::ErrorCode::DiskFull)
            ),
            Self::Io { source, .. } => matches!(
                source.kind(),
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
            ),
            Self::NotAFrame { .. } | Self::InUse { .. } | Self::TooNew { .. } => false,
        }
    }

    /// Whether the file's content is broken, as opposed to the way to it.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Sqlite { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase)
            ),
            _ => false,
        }
    }
}

/// Why a file cannot be opened: SQLite says only that it cannot, not that it is another user's.
fn not_opened(path: &Path, error: &rusqlite::Error) -> Option<std::io::Error> {
    if error.sqlite_error_code() != Some(rusqlite::ErrorCode::CannotOpen) {
        return None;
    }
    match path.metadata() {
        // What is no file may be waited for.
        Ok(there) if there.is_file() => std::fs::File::open(path).err(),
        Ok(_) => None,
        Err(why) => Some(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_file_cannot_be_opened_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history-3306.db");
        let refused = rusqlite::Connection::open_with_flags(
            &path,
            rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY,
        );
        let error = StoreError::sqlite(&path)(refused.unwrap_err());
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
        assert!(error.to_string().contains("No such file"), "{error}");
    }
}
