//! The processlist of one moment: counts over all sessions, the longest ones in full.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Characters of a state or class that become part of a signal's name.
const SIGNAL_WORD_CHARS_MAX: usize = 60;

/// One session of the processlist. Its statement has no literals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Connection id.
    pub id: u64,
    /// User name.
    pub user: String,
    /// Client host without the port.
    pub host: String,
    /// Default database, empty when none.
    pub db: String,
    /// `Command` column: `Query`, `Sleep`, `Daemon` …
    pub command: String,
    /// `Time` column, seconds in the current state.
    pub seconds: f64,
    /// `State` column.
    pub state: String,
    /// The statement with literals removed, cut at a limit; empty when none.
    pub statement: String,
}

/// The processlist of one moment: counts over all sessions, and the longest ones in full.
///
/// The recorder's own sessions are left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessList {
    /// Sessions seen.
    pub sessions: u64,
    /// Sessions by `Command`.
    pub by_command: BTreeMap<String, u64>,
    /// Sessions that do something (not `Sleep`, not `Daemon`, not replication dumps) by `State`.
    pub by_state: BTreeMap<String, u64>,
    /// Sessions that do something, by user.
    pub by_user: BTreeMap<String, u64>,
    /// Sessions that do something, by class of their statement.
    pub by_class: BTreeMap<String, u64>,
    /// The sessions that have been longest in their state, longest first.
    pub longest: Vec<Session>,
    /// Where sessions wait: sleeping ones that slept already when the longest of these waits began, the latest to fall
    /// asleep first. Who holds a lock and does nothing is among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle: Vec<Session>,
    /// How many there were, those that are not in `idle` included.
    #[serde(default, skip_serializing_if = "is_none")]
    pub idle_count: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl ProcessList {
    /// The name of the signal that counts the sessions of a command, class or state.
    pub fn signal(area: &str, name: &str) -> String {
        let word: String = name
            .chars()
            .take(SIGNAL_WORD_CHARS_MAX)
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let word = if word.is_empty() { "none" } else { &word };
        format!("processlist.{area}.{word}")
    }

    /// Sessions that do something.
    pub fn active(&self) -> u64 {
        // The counts of a file that somebody wrote by hand need not add up.
        self.by_class
            .values()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }
}
