//! What a recorder tells while it works, and the channel by which it does.

use std::path::PathBuf;
use std::sync::mpsc::Sender;

use model::{Absent, Incident, Server, Trigger};

use crate::held::HeldIncident;

/// Why something is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionReason {
    /// It is older than it may become.
    Age,
    /// All together take more than they may.
    Size,
    /// The file system has less left than it must.
    Space,
}

impl DeletionReason {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Age, Self::Size, Self::Space];

    /// As it is called in messages and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Size => "size",
            Self::Space => "space",
        }
    }
}

/// What a recorder tells while it works.
#[derive(Debug)]
pub enum Notice {
    /// Recording begins.
    Started(Server),
    /// It is not recorded, and why.
    NotStarted(String),
    /// The server's version is known: there is a login.
    Version(String),
    /// A kind of evidence is absent, told the first time.
    Absent(Absent),
    /// A stall: when it began and when it was noticed, wall-clock milliseconds, and why.
    Triggered {
        /// Name of the incident.
        id: String,
        /// Its first sign, milliseconds since 1970 UTC.
        onset_wall_ms: i64,
        /// When the recorder was sure.
        trigger_wall_ms: i64,
        /// The rule that fired, and what it saw.
        trigger: Trigger,
    },
    /// The stall is there again, so soon after its end that it is one incident: times as in
    /// `Triggered`.
    Again {
        /// Name of the incident.
        id: String,
        /// When it began, milliseconds since 1970 UTC.
        onset_wall_ms: i64,
        /// When the recorder was sure.
        trigger_wall_ms: i64,
        /// The rule that fired, and what it saw.
        trigger: Trigger,
    },
    /// Somebody asked for an incident: it goes on for so long from now, milliseconds.
    Asked {
        /// Name of the incident.
        id: String,
        /// How long the incident goes on, milliseconds.
        for_ms: u64,
    },
    /// Another rule fired within the stall.
    Joined(Trigger),
    /// The incident as known while the stall lasts.
    Preliminary(Box<HeldIncident>),
    /// The stall lasts: told again and again, in growing intervals.
    Lasts {
        /// When it began, wall-clock milliseconds.
        onset_wall_ms: i64,
        /// What users felt when it was noticed.
        says: String,
    },
    /// The stall is over, wall-clock milliseconds.
    Ended {
        /// When it began, milliseconds since 1970 UTC.
        onset_wall_ms: i64,
        /// When work flowed again.
        end_wall_ms: i64,
        /// What is known of a stall that was not captured.
        suppressed: Option<Box<Incident>>,
    },
    /// The incident's file is written.
    Written {
        /// The file.
        path: PathBuf,
        /// What is in it.
        incident: Box<HeldIncident>,
        /// It was rebuilt after an earlier recorder died.
        recovered: bool,
    },
    /// The incident's file could not be written so far.
    NotWritten(String),
    /// An incident is lost: its file could not be written, and it is not tried again.
    IncidentLost {
        /// Name of the incident.
        id: String,
        /// Why it could not be done.
        error: String,
    },
    /// A stall that is not captured because of the limit an hour.
    Suppressed {
        /// When it began, wall-clock milliseconds.
        onset_wall_ms: i64,
        /// When the recorder was sure, wall-clock milliseconds.
        trigger_wall_ms: i64,
        /// The rule that fired, and what it saw.
        trigger: Trigger,
    },
    /// The history cannot be written.
    HistoryTrouble(String),
    /// The history can be written again.
    HistoryWorks {
        /// Samples that it misses since the recording began.
        missing: u64,
    },
    /// Something that was recorded is deleted, by what is kept at the most: an incident with its page, a history that
    /// was put aside, or the oldest minutes of one that is written.
    Deleted {
        /// The file.
        path: PathBuf,
        /// Bytes that this gives back.
        bytes: u64,
        /// Why it is deleted.
        why: DeletionReason,
    },
    /// Room on the disk is short, and nothing that may be deleted would change that; or something cannot be deleted.
    Room(String),
    /// A trigger of the user names a signal that nothing has brought so far.
    UnknownSignal {
        /// The trigger.
        trigger: String,
        /// The signal.
        signal: String,
    },
    /// A change of the server that is ours is still in force, and why.
    Lease(String),
    /// Samples were lost because something could not keep up.
    Lost(u64),
    /// Recording has ended.
    Stopped,
}

/// Where notices go. Nobody need listen.
#[derive(Debug, Clone)]
pub(crate) struct Notices {
    pub(crate) label: String,
    pub(crate) sender: Sender<(String, Notice)>,
}

impl Notices {
    pub(crate) fn send(&self, notice: Notice) {
        // A listener that is gone is no reason to stop recording.
        let _ = self.sender.send((self.label.clone(), notice));
    }
}
