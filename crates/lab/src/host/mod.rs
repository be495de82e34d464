//! Changes of the host for the time of an experiment: a setting of the kernel, a control group, a mounted file system,
//! the wall clock, a process that must not outlive it.
//!
//! Like every lease they are on disk before they are made, and a second process watches. Unlike a fix they end with
//! the process that made them: when it is killed, the watchdog puts everything back at once, in the other order. When
//! both are killed, [`give_back_left`] does it, which whoever begins such a lease calls first.

mod change;
mod journal;
mod lease;

use remedy::JournalError;
use thiserror::Error;

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
    /// The journal fails, or others may write to it.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Another experiment that runs has changed the same.
    #[error("process {owner} has already changed {what}: only one lease at a time")]
    Taken {
        /// What.
        what: String,
        /// By whom.
        owner: u32,
    },
    /// The watchdog does not run.
    #[error("no watchdog would undo the change: {0}")]
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
