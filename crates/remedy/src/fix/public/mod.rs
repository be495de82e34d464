//! What others may know of a fix: a small file beside the private journal, for the recorder, which tells the fleet.
//!
//! The recorder is a user without rights, and the journal is 0600: it has values, paths, sessions. A public record has
//! none of these, only what the fleet asks for: which remedy, against which cause, from when to when. It is written each
//! time the journal's entry is, and is made of the entry alone, so whoever puts a fix back tells of it, too: the entry
//! has the place.
//!
//! **Nothing depends on it.** A record that cannot be written stops no fix, and nothing is ever changed because of one.
//!
//! **Root writes where nobody else may**: a directory of its own that only its owner can write (as of a journal, see
//! `trust.rs`), by a descriptor of it, under a name that is new (`O_EXCL`, no link is followed), and a rename. Who may
//! read is the directory's matter: of the packages, the group `freezeframe`.

mod place;
mod read;
mod record;
mod write;

pub use place::{Proof, PublicPlace};
pub use read::{PublicRecords, Skipped, read_public};
pub use record::{ChangeKind, Outcome, PublicRecord};
pub use write::make_public_directory;
pub(super) use write::publish;

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::trust::Distrust;

/// Where root tells the recorder of what it changed. The packages make it: root:freezeframe 0750.
pub const PUBLIC: &str = "/var/lib/freezeframe-remedies";

/// The same beside the incidents, where fixes and the recorder are of one user.
pub const PUBLIC_BESIDE: &str = "remedies";

/// How the names of records end.
const SUFFIX: &str = ".remedy.json";

/// More bytes than any record has.
const BYTES_MAX: usize = 4096;

/// Records of a directory: the oldest go for new ones. A recorder reads them within seconds.
const RECORDS_MAX: usize = 256;

/// Why records are not written, or not read.
#[derive(Debug, Error)]
pub enum PublicError {
    /// Nobody wants them.
    #[error("{0} does not exist")]
    Missing(PathBuf),
    /// Others may write there.
    #[error("{0}")]
    NotTrusted(Distrust),
    /// A file or directory fails.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

fn io(path: &Path) -> impl FnOnce(rustix::io::Errno) -> PublicError + use<> {
    let path = path.to_owned();
    move |error| match error {
        rustix::io::Errno::NOENT => PublicError::Missing(path),
        error => PublicError::Io {
            path,
            source: error.into(),
        },
    }
}

fn not_trusted(why: Distrust) -> PublicError {
    match why {
        Distrust::Io { path, source } => PublicError::Io { path, source },
        why => PublicError::NotTrusted(why),
    }
}

#[cfg(test)]
mod tests;
