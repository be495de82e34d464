//! Who does something that takes long, or is what is looked at.

use server_text::activity::{self, Wait};

use super::actor::Actor;
use super::holders::{sessions, surely};
use super::scene::Scene;

/// A statement that runs for less is not long, in seconds.
const LONG_SECONDS: f64 = 2.0;

/// A transaction that is open for less is not old, in seconds.
const OLD_SECONDS: f64 = 10.0;

/// DDL that waits for a metadata lock: later comers queue behind it.
pub(super) fn waiting_ddl(scene: &Scene) -> Vec<Actor> {
    sessions(scene, |session| {
        activity::wait(&session.state) == Some(Wait::Metadata)
            && activity::is_ddl(&session.statement)
    })
}

/// DDL at work.
pub(super) fn ddl(scene: &Scene) -> Vec<Actor> {
    sessions(scene, |session| {
        activity::works(session) && activity::is_ddl(&session.statement)
    })
}

/// A statement that takes or waits for a lock of all tables.
pub(super) fn global(scene: &Scene) -> Vec<Actor> {
    sessions(scene, |session| activity::is_global(&session.statement))
}

/// Who lists the events of the binary log. A replica that reads it is always there, and is none.
pub(super) fn binlog_reader(scene: &Scene) -> Vec<Actor> {
    sessions(scene, |session| activity::lists_binlog(&session.statement))
}

/// Statements that have been at work for longest. States do not tell of waits for rows: InnoDB's list of them does.
pub(super) fn statements(scene: &Scene) -> Vec<Actor> {
    let waits = scene.innodb.iter().flat_map(|status| &status.lock_waits);
    let waits: Vec<Option<u64>> = waits.map(|wait| wait.connection_id).collect();
    sessions(scene, |session| {
        activity::works(session)
            && !waits.contains(&Some(session.id))
            && session.seconds >= LONG_SECONDS
            && !activity::is_ddl(&session.statement)
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

/// A replica's appliers that do something, with what they do.
pub(super) fn appliers(scene: &Scene) -> Vec<Actor> {
    let busy = scene.busy().iter().filter(|one| activity::applies(one));
    surely(busy.map(|session| Actor {
        value: Some(session.state.clone()),
        ..scene.actor_of_session(session)
    }))
}

/// Who reads the binary log as a replica. One that has gone may be it as well.
pub(super) fn replicas(scene: &Scene) -> Vec<Actor> {
    let list = scene.list.iter().flat_map(|list| &list.replicas);
    let found = list.map(|session| Actor {
        running_seconds: None,
        ..scene.actor_of_session(session)
    });
    found.collect()
}

/// The server.
pub(super) fn server(scene: &Scene) -> Vec<Actor> {
    surely(scene.pid.map(|pid| Actor {
        pid: Some(pid),
        ..Actor::default()
    }))
}
