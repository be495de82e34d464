//! The sources: what each brings is described by its line in [`crate::table::SOURCES`].

pub(crate) mod backoff;
mod cgroup;
pub(crate) mod database;
pub(crate) mod disk;
pub(crate) mod filesystem;
pub(crate) mod host;
pub(crate) mod logs;
pub(crate) mod memory;
pub(crate) mod network;
pub(crate) mod own;
pub(crate) mod packets;
pub(crate) mod probes;
pub(crate) mod process;
pub(crate) mod profile;
pub(crate) mod replica;
pub(crate) mod stacks;

use kernel::read::ReadError;
use model::{Absent, Reading, Reason, Taken};

/// What a run of a source brings.
pub(crate) type Outcome = Result<Taken, Absent>;

/// The absence that a failed read of a kernel file is.
pub(crate) fn absent(what: &str, error: &ReadError) -> Absent {
    let reason = match error {
        ReadError::Io { source, .. } => match source.kind() {
            std::io::ErrorKind::PermissionDenied => Reason::Permission,
            std::io::ErrorKind::NotFound => Reason::Unsupported,
            _ if error.is_gone() => Reason::Gone,
            _ => Reason::Failed,
        },
        ReadError::TooLong { .. } => Reason::Limit,
        ReadError::Format { .. } => Reason::Failed,
    };
    Absent::new(what, reason, error.to_string())
}

/// Readings and nothing else.
pub(crate) fn readings(readings: Vec<Reading>) -> Taken {
    Taken {
        readings,
        ..Taken::default()
    }
}
