//! What a running recorder can be asked by other commands of the same user: a socket in its directory.
//!
//! One request and one answer a connection, each a line of JSON. The socket is named after the
//! process, since several recorders may share a directory.

mod socket_client;
mod socket_server;

pub(crate) use socket_client::{PendingCapture, ask, is_there, now, stacks};
pub(crate) use socket_server::{ControlledRecorder, ControlledRecorders, serve};

use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{Clock, StackEvidence};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest request, bytes.
const REQUEST_BYTES_MAX: u64 = 64 << 10;

/// Longest answer, bytes: stacks of some minutes. Others have a line of names for each server, and the verdict on a stall.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// Stacks are of so long at the most, milliseconds: what the recorder has in memory.
const STACKS_MS_MAX: u64 = 180_000;

/// How long the other side may take for a line.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// An incident of the next time.
    Capture {
        /// How long, milliseconds.
        for_ms: u64,
        /// Of the server with this label; else of all that are recorded.
        server: Option<String>,
    },
    /// How each recorder does at this moment.
    Now {
        /// Only that of the server with this label.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<String>,
    },
    /// What threads did in the last time.
    Stacks {
        /// How long, milliseconds.
        for_ms: u64,
        /// Those of the server with this label.
        server: String,
    },
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// The incidents that are under way now.
    Captures(Vec<Capture>),
    /// How they do.
    Now(Vec<Doing>),
    /// What the threads did; nothing where the server is not recorded.
    Stacks(Option<Box<Stacks>>),
    /// Why there is none.
    Error(String),
}

/// Stacks in a recorder's memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Stacks {
    /// How their times relate to the time of day.
    clock: Clock,
    /// The stacks, profiles and lock tables.
    stacks: StackEvidence,
}

/// How a recorder does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Doing {
    /// Label of the server.
    server: String,
    /// Milliseconds since its last beat, which comes four times a second.
    beat_age_ms: Option<u64>,
    /// A stall lasts, for so long.
    stalled_ms: Option<u64>,
    /// What the rule saw that noticed it; empty when none lasts.
    reason: String,
    /// The verdict so far on that stall; an older recorder does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<Value>,
    /// For how long the query probe has no answer.
    unanswered_ms: Option<u64>,
}

/// An incident that is under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Capture {
    /// Label of the server.
    pub(crate) server: String,
    /// Name of the incident: its file is `ID.frame` in the recorder's directory.
    pub(crate) id: String,
    /// How long it goes on from now, milliseconds.
    pub(crate) for_ms: u64,
}

/// The socket of the recorder with this process number.
fn path(dir: &Path, pid: u32) -> PathBuf {
    dir.join(format!("recorder-{pid}.sock"))
}

/// Whether a file is named like such a socket.
fn is_socket_name(name: &str) -> bool {
    name.strip_prefix("recorder-")
        .and_then(|rest| rest.strip_suffix(".sock"))
        .is_some_and(|pid| pid.parse::<u32>().is_ok())
}
