//! What is wanted of a general log, and how its lease ended.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use server::{Login, Waits};

use crate::ServerLogin;
use crate::give_back::DEADLINES;

/// How long all questions may take that come before anything is changed. A server that stalls so long would take its
/// settings back as late.
const LOOK_PATIENCE: Duration = Duration::from_secs(15);

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The directory of the journal.
    pub journal: PathBuf,
    /// The server, and how to log in to it when everything of us is gone.
    pub server: ServerLogin,
    /// The login itself.
    pub login: Login,
    /// How long at most.
    pub time_max: Duration,
    /// How many bytes of log at most.
    pub bytes_max: u64,
    /// Bytes that stay free on the log's file system.
    pub free_bytes_min: u64,
    /// Our program, which is started as the watchdog.
    pub program: PathBuf,
    /// Set by whoever does not want it any more. Once something is changed it is put back; a server that does
    /// not answer then is left to the watchdog.
    pub stop: Arc<AtomicBool>,
}

impl Plan {
    /// What ends the waits for the server until something is changed.
    pub(super) fn waits(&self) -> Waits {
        DEADLINES
            .or_until(&self.stop)
            .no_later_than(Instant::now() + LOOK_PATIENCE)
    }
}

/// Why a lease ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// Its time was over.
    Time,
    /// The log had as many bytes as it may.
    Size,
    /// The file system was about to be full.
    Space,
    /// Whoever waited was told to stop.
    Stopped,
    /// The watchdog was killed: nobody would give the lease back if we were killed too.
    WatchdogDied,
}

impl EndedBy {
    /// In words; nothing for the usual end.
    pub fn to_text(self) -> Option<&'static str> {
        match self {
            Self::Time | Self::Stopped => None,
            Self::Size => Some("the general log reached its size limit"),
            Self::Space => {
                Some("the general log was stopped because its file system was nearly full")
            }
            Self::WatchdogDied => {
                Some("the lease's watchdog was killed, so the general log was stopped at once")
            }
        }
    }
}
