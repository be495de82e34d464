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
    /// Sessions that send the binary log to a replica.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<Session>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl ProcessList {
    /// What a text of this kind holds (`TextKind::Processlist`); nothing where it is none.
    pub fn from_text(body: &str) -> Option<Self> {
        serde_json::from_str(body).ok()
    }

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

    /// Those of the longest that are wanted, in crowds: of one account with one and the same statement. Of each its
    /// longest session and how many there are, the largest first; its host is empty where they come from several.
    pub fn crowds(&self, wanted: impl Fn(&Session) -> bool) -> Vec<(u64, Session)> {
        let mut crowds: Vec<(u64, Session)> = Vec::new();
        for session in self.longest.iter().filter(|session| wanted(session)) {
            let same =
                |one: &Session| one.user == session.user && one.statement == session.statement;
            match crowds.iter_mut().find(|(_, one)| same(one)) {
                Some((count, one)) => {
                    *count += 1;
                    if one.host != session.host {
                        one.host.clear();
                    }
                }
                None => crowds.push((1, session.clone())),
            }
        }
        crowds.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        crowds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_of_one_account_and_one_statement() {
        let session = |id: u64, user: &str, host: &str, statement: &str| Session {
            id,
            user: user.to_owned(),
            host: host.to_owned(),
            db: String::new(),
            command: "Query".to_owned(),
            seconds: 1.0,
            state: String::new(),
            statement: statement.to_owned(),
        };
        let list = ProcessList {
            longest: vec![
                session(1, "app", "web1", "select 1"),
                session(2, "app", "web1", "select 2"),
                session(3, "app", "web2", "select 2"),
                session(4, "batch", "web1", "select 2"),
                session(5, "app", "web1", "select 2"),
                session(6, "app", "web1", "select 9"),
            ],
            ..ProcessList::default()
        };
        let crowds = list.crowds(|session| !session.statement.ends_with('9'));
        let told: Vec<_> = crowds
            .iter()
            .map(|(count, one)| (*count, one.id, one.user.as_str(), one.host.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (3, 2, "app", ""),
                (1, 1, "app", "web1"),
                (1, 4, "batch", "web1")
            ]
        );
    }
}
