//! Changes of the host for the time of an experiment: a setting of the kernel, a control group, a mounted file system,
//! a process that must not outlive it.
//!
//! Like every lease they are on disk before they are made, and a second process watches. Unlike a fix they end with
//! the process that made them: when it is killed, the watchdog puts everything back at once, in the other order. When
//! both are killed, [`give_back_left`] does it, which whoever begins such a lease calls first.

mod change;
mod journal;
mod lease;

use std::path::PathBuf;

use thiserror::Error;

use crate::trust::Distrust;

pub use change::HostChange;
pub use journal::{HostEntry, NumberedChange};
pub use lease::{HostLease, give_back_left, watch};

/// The hidden command of our program that is the watchdog.
pub const COMMAND: &str = "host-watchdog";

/// Where these leases are written down: what they change does not outlive the running system either.
pub const DIRECTORY: &str = "/run/freezeframe-host";

/// Why a change of the host cannot be made or put back.
#[derive(Debug, Error)]
pub enum HostError {
    /// A file fails.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Others may write to the journal: what it says would be done as root.
    #[error("the journal of the host's leases must be ours and writable by nobody else: {}", .0.advice())]
    NotOurs(Distrust),
    /// Another experiment that runs has changed the same.
    #[error("{what} is changed already, by process {owner}: one at a time")]
    Taken {
        /// What.
        what: String,
        /// By whom.
        owner: u32,
    },
    /// The watchdog does not run.
    #[error("nobody would put it back: {0}")]
    Unwatched(String),
    /// A change could not be made or put back.
    #[error("{what}: {why}")]
    Failed {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
}

fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> HostError {
    let path = path.to_owned();
    move |source| HostError::Io { path, source }
}

impl From<Distrust> for HostError {
    fn from(why: Distrust) -> Self {
        match why {
            Distrust::Io { path, source } => Self::Io { path, source },
            why => Self::NotOurs(why),
        }
    }
}
