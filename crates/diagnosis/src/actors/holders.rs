//! Who stands in front: those that hold what others wait for and wait for nobody themselves.

use std::collections::BTreeSet;

use model::{OrderBy, Session};
use server_text::activity::{self, Takes, Wait};
use server_text::innodb::{ActiveTransaction, InnodbStatus};

use super::actor::Actor;
use super::scene::Scene;

/// Transactions that have row locks, are at least as old as the longest wait for one, and wait for nobody. One in its
/// commit is none: who ends it has to wait for that as well.
pub(super) fn row_locks(scene: &Scene) -> Vec<Actor> {
    let mut actors = row_lock_holders(scene);
    actors.retain(|actor| !commits(scene, actor));
    actors
}

/// Rows are waited for, and all that hold them are in their commit: the row locks are a consequence.
pub(crate) fn rows_wait_for_commits(scene: &Scene) -> bool {
    let holders = row_lock_holders(scene);
    !holders.is_empty() && holders.iter().all(|actor| commits(scene, actor))
}

fn commits(scene: &Scene, actor: &Actor) -> bool {
    let session = actor.connection.and_then(|id| scene.session(id));
    session.is_some_and(activity::commits)
}

fn row_lock_holders(scene: &Scene) -> Vec<Actor> {
    let reported = reported(scene, |lock| !is_metadata(lock) && !is_user_lock(lock));
    if !reported.is_empty() {
        return reported;
    }
    let Some(status) = &scene.innodb else {
        return Vec::new();
    };
    let wait = status.transactions.longest_lock_wait_seconds;
    // A prepared one only waits for its commit: who ends it has to wait for that as well.
    let may_hold = |one: &&ActiveTransaction| {
        let is_old = wait.is_none_or(|wait| one.active_seconds >= wait.floor());
        one.connection_id.is_some() && one.holds() && !one.waits && !one.prepared && is_old
    };
    let mut holders: Vec<&ActiveTransaction> = status.blockers.iter().filter(may_hold).collect();
    holders.order_by_key(|one| (one.has_query, std::cmp::Reverse(one.row_locks)));
    surely_if_alone(waited_behind(scene, status, holders), wait.is_some())
}

/// Distributed transactions that are prepared and have row locks that others wait for, which nobody is about to commit:
/// their session is gone or idle. They outlive it, and a restart of the server too (MySQL manual, XA Transaction States).
pub(super) fn prepared(scene: &Scene) -> Vec<Actor> {
    let Some(status) = &scene.innodb else {
        return Vec::new();
    };
    let Some(wait) = status.transactions.longest_lock_wait_seconds else {
        return Vec::new();
    };
    let is_left = |one: &&ActiveTransaction| {
        let is_old = one.active_seconds >= wait.floor();
        let is_idle = one.connection_id.is_none() || !one.has_query;
        one.prepared && one.holds() && !one.waits && is_old && is_idle
    };
    let mut left: Vec<&ActiveTransaction> = status.active.iter().filter(is_left).collect();
    left.order_by_key(|one| std::cmp::Reverse(one.row_locks));
    let others = row_lock_holders(scene);
    let in_commit = |actor: &Actor| {
        let session = actor.connection.and_then(|id| scene.session(id));
        session.is_some_and(|session| session.command != "Sleep")
    };
    let mut left = waited_behind(scene, status, left);
    left.retain(|actor| !in_commit(actor));
    surely_if_alone(left, others.is_empty())
}

/// Transactions as actors, with what is waited for.
fn waited_behind(
    scene: &Scene,
    status: &InnodbStatus,
    holders: Vec<&ActiveTransaction>,
) -> Vec<Actor> {
    let (lock, waiters) = waited_for(status).unzip();
    let actors = holders.into_iter().map(|one| Actor {
        lock: lock.clone(),
        waiters,
        ..scene.actor_of_transaction(one)
    });
    actors.collect()
}

/// What most of those that wait for rows wait for, and how many these are.
fn waited_for(status: &InnodbStatus) -> Option<(String, u64)> {
    let name = |wait: &server_text::innodb::LockWait| {
        let table = wait.table.as_ref()?;
        Some(match &wait.index {
            Some(index) => format!("rows of {table}, index {index}"),
            None => format!("a lock of {table}"),
        })
    };
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    for name in status.lock_waits.iter().filter_map(name) {
        *counts.entry(name).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count)
}

/// Who may hold the metadata lock that sessions wait for.
pub(super) fn metadata_lock(scene: &Scene) -> Vec<Actor> {
    let reported = reported(scene, is_metadata);
    if !reported.is_empty() {
        return reported;
    }
    in_front_of(scene, Wait::Metadata, |_| true)
}

/// Who may hold a table's own lock.
pub(super) fn table_lock(scene: &Scene) -> Vec<Actor> {
    in_front_of(scene, Wait::Table, |takes| takes == Takes::Tables)
}

/// Who may have the name that sessions wait for in GET_LOCK(). Its statement is over, so it was seen to take nothing.
pub(super) fn user_lock(scene: &Scene) -> Vec<Actor> {
    let reported = reported(scene, is_user_lock);
    if !reported.is_empty() {
        return reported;
    }
    in_front_of(scene, Wait::Name, |_| false)
}

/// Who may hold the lock of all tables, where the statement that took it is over.
pub(super) fn global_lock(scene: &Scene) -> Vec<Actor> {
    let runs = |session: &Session| activity::is_global(&session.statement);
    if scene.busy().iter().any(runs) {
        return Vec::new();
    }
    let waits = waits(scene, Wait::Global);
    if waits.is_empty() {
        // The server's table names its holder: a metadata lock of no object.
        return reported(scene, |lock| lock.starts_with("metadata lock ("));
    }
    let took = took(scene, |takes| takes == Takes::Everything);
    if !took.is_empty() {
        return surely_if_alone(took, true);
    }
    let (asleep, more) = scene.asleep();
    let actors = asleep.iter().map(|session| scene.actor_of_session(session));
    let actors: Vec<Actor> = actors.collect();
    // A dump keeps the lock and reads on.
    let all = more == 0 && !scene.others_work(&actors);
    surely_if_alone(actors, all)
}

/// The statements in front of a FLUSH: they use tables that were opened before it.
pub(super) fn flush(scene: &Scene) -> Vec<Actor> {
    let Some(wait) = longest(scene, Wait::Flush) else {
        return Vec::new();
    };
    sessions(scene, |session| {
        activity::works(session)
            && !activity::is_global(&session.statement)
            && session.seconds >= wait
    })
}

/// Everybody who may stand in front of those that wait so: who was seen to take such a lock; else old transactions and
/// statements, and who slept already when the wait began.
fn in_front_of(scene: &Scene, wait: Wait, takes: impl Fn(Takes) -> bool) -> Vec<Actor> {
    let Some(longest) = longest(scene, wait) else {
        return Vec::new();
    };
    let took = took(scene, takes);
    if !took.is_empty() {
        return surely_if_alone(took, true);
    }
    let waiting = waiting(scene);
    let mut actors: Vec<Actor> = Vec::new();
    let mut add = |actor: Actor| {
        let is_known = actors.iter().any(|one| one.connection == actor.connection);
        let waits = actor.connection.is_none_or(|id| waiting.contains(&id));
        if !is_known && !waits {
            actors.push(actor);
        }
    };
    let old = |one: &&ActiveTransaction| !one.waits && one.active_seconds >= longest;
    let transactions = scene.transactions().iter().filter(old);
    transactions.for_each(|one| add(scene.actor_of_transaction(one)));
    let busy = scene.busy().iter();
    busy.filter(|session| activity::works(session) && session.seconds >= longest)
        .for_each(|session| add(scene.actor_of_session(session)));
    let (asleep, more) = scene.asleep();
    asleep
        .iter()
        .for_each(|session| add(scene.actor_of_session(session)));
    // An old transaction keeps its metadata locks. Of who only sleeps that is not known: who works now may have taken
    // them before.
    let keeps = |only: &Actor| wait == Wait::Metadata && only.transaction.is_some();
    let all = more == 0 && (actors.first().is_some_and(keeps) || !scene.others_work(&actors));
    let mut actors = surely_if_alone(actors, all);
    let waiters = waits(scene, wait).len() as u64;
    for actor in &mut actors {
        actor.waiters = Some(waiters);
    }
    actors
}

/// Sessions that took such a lock before and are not among those that wait or run the like now.
fn took(scene: &Scene, wanted: impl Fn(Takes) -> bool) -> Vec<Actor> {
    let is_over = |id: u64| scene.busy().iter().all(|session| session.id != id);
    let took = scene.took.iter();
    took.filter(|(takes, session)| wanted(*takes) && is_over(session.id))
        .map(|(takes, session)| {
            let now = scene.session(session.id);
            let mut actor = scene.actor_of_session(now.unwrap_or(session));
            if now.is_none() {
                actor.running_seconds = None;
                actor.statement_class = None;
            }
            actor.lock = Some(match takes {
                Takes::Tables => "what its LOCK TABLES took".to_owned(),
                Takes::Everything => "the lock of all tables that it took".to_owned(),
            });
            actor
        })
        .collect()
}

/// Holders that the server told, most waiters first.
fn reported(scene: &Scene, wanted: impl Fn(&str) -> bool) -> Vec<Actor> {
    let waiting = waiting(scene);
    let waits = |id: u32| waiting.contains(&u64::from(id));
    let reported = scene.reported.iter();
    let mut reported: Vec<_> = reported
        .filter(|one| wanted(one.lock) && !waits(one.holder.tid))
        .collect();
    reported.order_by_key(|one| std::cmp::Reverse(one.waiters));
    let mut seen = BTreeSet::new();
    reported.retain(|one| seen.insert(one.holder.tid));
    surely(reported.into_iter().map(|one| scene.actor_of_reported(one)))
}

fn is_metadata(lock: &str) -> bool {
    lock.contains("metadata")
}

fn is_user_lock(lock: &str) -> bool {
    lock.starts_with("user lock")
}

/// The connections that wait for anything.
fn waiting(scene: &Scene) -> BTreeSet<u64> {
    let busy = scene.busy().iter();
    busy.filter(|session| activity::wait(&session.state).is_some())
        .map(|session| session.id)
        .collect()
}

fn waits<'s>(scene: &'s Scene, wanted: Wait) -> Vec<&'s Session> {
    let busy = scene.busy().iter();
    busy.filter(|session| activity::wait(&session.state) == Some(wanted))
        .collect()
}

/// How long the longest of these waits lasts, seconds.
fn longest(scene: &Scene, wanted: Wait) -> Option<f64> {
    let waits = waits(scene, wanted).into_iter();
    waits.map(|session| session.seconds).reduce(f64::max)
}

/// Those of the sessions that do something which are it.
pub(super) fn sessions(scene: &Scene, wanted: impl Fn(&Session) -> bool) -> Vec<Actor> {
    let busy = scene.busy().iter().filter(|session| wanted(session));
    surely(busy.map(|session| scene.actor_of_session(session)))
}

pub(super) fn surely(actors: impl IntoIterator<Item = Actor>) -> Vec<Actor> {
    let sure = |actor| Actor {
        sure: true,
        ..actor
    };
    actors.into_iter().map(sure).collect()
}

/// One that nobody else can be in place of. `all`: nobody was left out.
fn surely_if_alone(mut actors: Vec<Actor>, all: bool) -> Vec<Actor> {
    if let [only] = actors.as_mut_slice() {
        only.sure = all;
    }
    actors
}
