//! Who did it: the sessions, transactions and processes that an incident names, by the part that they have in it.
//!
//! A finding's remedy is made of them: a step with a `who` is told only where the incident has such a one, with its
//! values; else the step says how to find it.
//!
//! **Who did it is determined after the finding** (`actors/`, `advice.rs`), by the part that a session has: the
//! moment of the stall with most sessions at work, the InnoDB status with most waits, earlier statements that took a
//! lock which outlives them, and locks that the server listed. A holder is a session that is at least as old as the
//! longest wait and waits for nobody. Where there are several, none is said to be it. Where no single session did it, it
//! is a crowd of them that run the same (`crowds.rs`), a disk, or a setting (`setting.rs`).

mod actor;
mod at_work;
mod crowds;
mod disks;
mod holders;
mod programs;
mod scene;

pub use actor::Actor;
pub(crate) use holders::rows_wait_for_commits;
pub(crate) use scene::Scene;

/// How a part begins that is a setting: its name follows, as it has it among the facts.
pub(crate) const SETTING: &str = "setting ";

/// Actors of one kind that are told of a finding, at the most.
const ACTORS_MAX: usize = 3;

/// A part that somebody can have in a stall: its name as cause files have it, what it is called where nobody has it, and
/// what finds those that have it.
type Part = (&'static str, &'static str, fn(&Scene<'_>) -> Vec<Actor>);

#[rustfmt::skip]
const PARTS: [Part; 22] = [
    ("row-lock-holder", "the transaction in front", holders::row_locks),
    ("prepared-transaction", "the prepared transaction", holders::prepared),
    ("metadata-lock-holder", "the session in front", holders::metadata_lock),
    ("table-lock-holder", "the session in front", holders::table_lock),
    ("global-lock-holder", "the session that holds the lock", holders::global_lock),
    ("user-lock-holder", "the session that has the name", holders::user_lock),
    ("flush-blocker", "the statement in front", holders::flush),
    ("waiting-ddl", "the DDL", at_work::waiting_ddl),
    ("running-ddl", "the DDL", at_work::ddl),
    ("global-lock-statement", "the FLUSH or backup", at_work::global),
    ("binlog-reader", "the reader of the binary log", at_work::binlog_reader),
    ("long-statement", "the statement", at_work::statements),
    ("oldest-transaction", "the oldest transaction", at_work::oldest_transaction),
    ("applier", "the applier", at_work::appliers),
    ("replica", "the replica", at_work::replicas),
    ("common-statement", "the statement that most sessions run", crowds::common),
    ("metadata-reader", "the program that asks", crowds::metadata_readers),
    ("newcomer", "the clients that log in", crowds::newcomers),
    ("busy-disk", "the disk", disks::busy_or_slow),
    ("busy-program", "the other program", programs::busy),
    ("map-reader", "the program that reads the map", programs::map_readers),
    ("server", "the server", at_work::server),
];

fn part(name: &str) -> Option<&'static Part> {
    PARTS.iter().find(|(known, ..)| *known == name)
}

/// The names of all parts.
pub(crate) fn parts() -> String {
    PARTS.map(|(name, ..)| name).join(", ") + ", setting NAME"
}

/// What a part is called where nobody has it; nothing where there is none of this name.
pub(crate) fn general(name: &str) -> Option<&'static str> {
    let setting = name.starts_with(SETTING).then_some("the setting");
    setting.or_else(|| part(name).map(|(_, general, _)| *general))
}

/// Who has this part, those that most speaks for first.
pub(crate) fn having(name: &str, scene: &Scene<'_>) -> Vec<Actor> {
    let found = part(name).map_or(Vec::new(), |(_, _, find)| find(scene));
    told(name, found)
}

/// Of those that were found to have a part as many as are told.
pub(crate) fn told(name: &str, found: impl IntoIterator<Item = Actor>) -> Vec<Actor> {
    let told = found.into_iter().take(ACTORS_MAX).map(|actor| Actor {
        who: name.to_owned(),
        ..actor.reported()
    });
    told.collect()
}

/// Ends of parts of those that others wait behind, who wait for nobody themselves.
const IN_FRONT: [&str; 3] = ["-lock-holder", "prepared-transaction", "flush-blocker"];

/// Whoever of these surely stands in front of all.
pub(crate) fn in_front(actors: &[Actor]) -> Option<&Actor> {
    let is_front = |actor: &&Actor| IN_FRONT.iter().any(|end| actor.who.ends_with(end));
    actors.iter().find(|actor| actor.sure && is_front(actor))
}
