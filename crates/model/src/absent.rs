//! Evidence that could not be taken, as a value with its reason: absent is never zero.

use serde::{Deserialize, Serialize};

/// What a source is called that was read in part only, because it is too much. Why it was cut says how far it was read.
pub const READ_IN_PART: &str = "not all of it was read";

/// Why evidence could not be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The reading was not back when its deadline passed; it may still be under way.
    Deadline,
    /// The operating system or the server refused it.
    Permission,
    /// There is no connection to the server.
    NoConnection,
    /// No login was given, or the server refuses the one given.
    NoLogin,
    /// This kernel, host or server version does not have it.
    Unsupported,
    /// The process, thread or file is gone.
    Gone,
    /// It was there and could not be understood or read.
    Failed,
    /// A limit of the recorder was reached and the rest was left out.
    Limit,
    /// The recorder itself was not running.
    NotRecorded,
}

/// Evidence that could not be taken, as a value: it travels with the incident and is shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Absent {
    /// What is missing, in the words of the source table ("processlist").
    pub what: String,
    /// The kind of reason.
    pub reason: Reason,
    /// What was seen, and where it helps what would bring the evidence.
    pub detail: String,
}

impl Absent {
    /// An absence of `what`.
    pub fn new(what: impl Into<String>, reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            reason,
            detail: detail.into(),
        }
    }
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 9] = [
        Self::Deadline,
        Self::Permission,
        Self::NoConnection,
        Self::NoLogin,
        Self::Unsupported,
        Self::Gone,
        Self::Failed,
        Self::Limit,
        Self::NotRecorded,
    ];

    /// The reason in plain words, for people.
    pub fn to_text(self) -> &'static str {
        match self {
            Self::Deadline => "no answer in time",
            Self::Permission => "not permitted",
            Self::NoConnection => "no connection",
            Self::NoLogin => "no login",
            Self::Unsupported => "not available here",
            Self::Gone => "gone",
            Self::Failed => "could not be read",
            Self::Limit => "over a limit",
            Self::NotRecorded => "not recorded",
        }
    }
}
