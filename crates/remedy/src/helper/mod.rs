//! What root does for others: settings of this host's kernel, for a time.
//!
//! A process of root's answers on a unix socket, one line of JSON a connection, one request after the other. It can do
//! three things: make the kernel's part of a built-in cause's remedy for some time, put it back, and tell what is in
//! force. A request has the cause's name and the time, and nothing else: no path, no value, no command. What is made
//! goes through the journal and the watchdogs of [`crate::fix`], as a lease; what may be made at all is a table
//! (`allowed.rs`), which the service's unit has once more as the only files that can be written.
//!
//! **Who asks.** The socket's file admits root and one group, so the kernel has looked at all groups of whoever connects.
//! A file that admits everybody is no such look: then only root is answered. The user's number is in the journal.
//!
//! **When it ends, what it made ends.** Two watchdogs a lease see to the time and to a killed helper; a service manager
//! that stops the helper kills them too, and calls [`Helper::restore`].

mod allowed;
mod ask;
mod serve;

pub use allowed::{refusal, written_paths};
pub use ask::ask;
pub use serve::Helper;

use serde::{Deserialize, Serialize};

use crate::fix::Entry;

/// The socket of the installed helper.
pub const SOCKET: &str = "/run/freezeframe/lease.sock";

/// Where the installed helper keeps its journal, which root's own commands use as well.
pub const STATE: &str = "/var/lib/freezeframe-lease";

/// The longest time of a lease, seconds.
pub const SECONDS_MAX: u64 = 24 * 60 * 60;

/// Longest request, bytes.
const REQUEST_BYTES_MAX: usize = 512;

/// Longest answer, bytes: some leases, each with its steps.
const ANSWER_BYTES_MAX: u64 = 256 << 10;

/// What the helper is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// The kernel's part of a cause's remedy.
    Apply {
        /// The id of a built-in cause.
        cause: String,
        /// For how long.
        seconds: u64,
    },
    /// Putting a lease of the helper's back before its time.
    Revert {
        /// Its id, whole.
        id: String,
    },
    /// What is in force, or could not be put back.
    List,
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The lease that was made.
    Made(Box<Entry>),
    /// Put back, but for this.
    Reverted {
        /// What is left, in words.
        left: Vec<String>,
    },
    /// The leases.
    Leases(Vec<Entry>),
    /// Why not.
    Refused(String),
}
