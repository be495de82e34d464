use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// `Time` column, seconds in the current state; MariaDB's `Time_ms` where it has it.
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
}

impl ProcessList {
    /// Sessions that do something.
    pub fn active(&self) -> u64 {
        self.by_class.values().sum()
    }
}
