//! Who did it: the sessions, transactions and processes that an incident names, by the part that they have in it.
//!
//! A finding's remedy is made of them: a step with a `who` is told only where the incident has such a one, with its
//! values; else the step says how to find it.
//!
//! **Who did it is determined after the finding** (`actors/`, `advice.rs`), by the part that a session has: the
//! moment of the stall with most sessions at work, the InnoDB status with most waits, earlier statements that took a
//! lock which outlives them, and locks that the server listed. A holder is a session that is at least as old as the
//! longest wait and waits for nobody. Where there are several, none is said to be it.

mod actor;
mod at_work;
mod holders;
mod scene;
mod statement;

pub use actor::Actor;
pub(crate) use holders::rows_wait_for_commits;
pub(crate) use scene::Scene;

/// Actors of one kind that are told of a finding, at the most.
const ACTORS_MAX: usize = 3;

/// A part that somebody can have in a stall.
pub(crate) struct Who {
    /// Its name in cause files.
    pub(crate) name: &'static str,
    /// What it is called where nobody has it.
    pub(crate) general: &'static str,
    find: fn(&Scene<'_>) -> Vec<Actor>,
}

/// All of them.
pub(crate) const ALL: [Who; 14] = [
    who(
        "row-lock-holder",
        "the transaction in front",
        holders::row_locks,
    ),
    who(
        "prepared-transaction",
        "the prepared transaction",
        holders::prepared,
    ),
    who(
        "metadata-lock-holder",
        "the session in front",
        holders::metadata_lock,
    ),
    who(
        "table-lock-holder",
        "the session in front",
        holders::table_lock,
    ),
    who(
        "global-lock-holder",
        "the session that holds the lock",
        holders::global_lock,
    ),
    who(
        "user-lock-holder",
        "the session that has the name",
        holders::user_lock,
    ),
    who("flush-blocker", "the statement in front", holders::flush),
    who("waiting-ddl", "the DDL", at_work::waiting_ddl),
    who("running-ddl", "the DDL", at_work::ddl),
    who(
        "global-lock-statement",
        "the FLUSH or backup",
        at_work::global,
    ),
    who(
        "binlog-reader",
        "the reader of the binary log",
        at_work::binlog_reader,
    ),
    who("long-statement", "the statement", at_work::statements),
    who(
        "oldest-transaction",
        "the oldest transaction",
        at_work::oldest_transaction,
    ),
    who("server", "the server", at_work::server),
];

const fn who(name: &'static str, general: &'static str, find: fn(&Scene<'_>) -> Vec<Actor>) -> Who {
    Who {
        name,
        general,
        find,
    }
}

/// Parts of those that others wait behind, who wait for nobody themselves.
const IN_FRONT: [&str; 7] = [
    "row-lock-holder",
    "prepared-transaction",
    "metadata-lock-holder",
    "table-lock-holder",
    "global-lock-holder",
    "user-lock-holder",
    "flush-blocker",
];

/// Whoever of these surely stands in front of all.
pub(crate) fn in_front(actors: &[Actor]) -> Option<&Actor> {
    let mut actors = actors.iter();
    actors.find(|actor| actor.sure && IN_FRONT.contains(&actor.who.as_str()))
}

/// The part with this name.
pub(crate) fn named(name: &str) -> Option<&'static Who> {
    ALL.iter().find(|who| who.name == name)
}

impl Who {
    /// Who has this part, those that most speaks for first.
    pub(crate) fn actors(&self, scene: &Scene<'_>) -> Vec<Actor> {
        let mut actors = (self.find)(scene);
        actors.truncate(ACTORS_MAX);
        actors
            .into_iter()
            .map(|actor| Actor {
                who: self.name.to_owned(),
                ..actor.reported()
            })
            .collect()
    }
}
