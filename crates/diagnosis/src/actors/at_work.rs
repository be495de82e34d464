//! Who does something that takes long, or is what is looked at.

use super::actor::Actor;
use super::holders::{sessions, surely};
use super::scene::Scene;
use super::statement::{self, Wait};

/// A statement that runs for less is not long, in seconds.
const LONG_SECONDS: f64 = 2.0;

/// A transaction that is open for less is not old, in seconds.
const OLD_SECONDS: f64 = 10.0;

/// DDL that waits for a metadata lock: later comers queue behind it.
pub(super) fn waiting_ddl(scene: &Scene) -> Vec<Actor> {
    sessions(scene, |session| {
        statement::wait(&session.state) == Some(Wait::Metadata)
            && statement::is_ddl(&session.statement)
    })
}

/// DDL at work.
pub(super) fn ddl(scene: &Scene) -> Vec<Actor> {
    sessions(scene, |session| {
        statement::works(session) && statement::is_ddl(&session.statement)
    })
}

/// A statement that takes or waits for a lock of all tables.
pub(super) fn global(scene: &Scene) -> Vec<Actor> {
    sessions(scene, |session| statement::is_global(&session.statement))
}

/// Who lists the events of the binary log. A replica that reads it is always there, and is none.
pub(super) fn binlog_reader(scene: &Scene) -> Vec<Actor> {
    sessions(scene, |session| statement::lists_binlog(&session.statement))
}

/// Statements that have been at work for longest.
pub(super) fn statements(scene: &Scene) -> Vec<Actor> {
    sessions(scene, |session| {
        statement::works(session)
            && session.seconds >= LONG_SECONDS
            && !statement::is_ddl(&session.statement)
    })
}

/// The transaction that has been open for longest.
pub(super) fn oldest_transaction(scene: &Scene) -> Vec<Actor> {
    let is_old = |one: &&server_text::innodb::ActiveTransaction| {
        one.active_seconds >= OLD_SECONDS && one.connection_id.is_some()
    };
    let oldest = scene.transactions().iter().find(is_old);
    surely(oldest.map(|one| scene.actor_of_transaction(one)))
}

/// The server.
pub(super) fn server(scene: &Scene) -> Vec<Actor> {
    surely(scene.pid.map(|pid| Actor {
        pid: Some(pid),
        ..Actor::default()
    }))
}
