//! Sessions that do the same: who they are, and how many.

use model::Session;
use server_text::activity;

use super::actor::Actor;
use super::scene::Scene;

/// A crowd with such a part of all that do the like did it; else it is one of several.
const MOST: f64 = 0.6;

/// Fewer sessions that run the same are no crowd.
const CROWD_MIN: u64 = 4;

/// What most sessions run that run anything. It may be what brings the load, or only what waits.
pub(super) fn common(scene: &Scene) -> Vec<Actor> {
    let mut found = crowds(scene, CROWD_MIN, activity::runs);
    // Who commits only waits for what others do.
    let commits = |one: &Actor| one.statement_class.as_deref() == Some("commit");
    found.retain(|one| one.sure && !commits(one));
    found.iter_mut().for_each(|one| one.sure = false);
    found
}

/// Who asks the server about itself.
pub(super) fn metadata_readers(scene: &Scene) -> Vec<Actor> {
    let asks = |session: &Session| activity::asks_for_metadata(&session.statement);
    crowds(scene, 1, asks)
}

/// Who is not yet logged in: the host is all that is known of them.
pub(super) fn newcomers(scene: &Scene) -> Vec<Actor> {
    let is_new = |session: &Session| session.user == "unauthenticated user";
    crowds(scene, CROWD_MIN, is_new)
}

/// Crowds of so many or more; the one that is most of all, where there is one.
fn crowds(scene: &Scene, min: u64, wanted: impl Fn(&Session) -> bool) -> Vec<Actor> {
    let list = scene.list.as_ref();
    let found = list.map_or_else(Vec::new, |list| list.crowds(wanted));
    let all: u64 = found.iter().map(|(count, _)| count).sum();
    let actor = |(count, session): (u64, Session)| Actor {
        sure: count as f64 >= MOST * all as f64,
        connection: (count == 1).then_some(session.id),
        sessions: (count > 1).then_some(count),
        statement: Some(session.statement.clone()).filter(|text| !text.is_empty()),
        ..scene.actor_of_session(&session)
    };
    let found = found.into_iter().filter(|(count, _)| *count >= min);
    let mut found: Vec<Actor> = found.map(actor).collect();
    let has_most = found.iter().any(|one| one.sure);
    found.retain(|one| one.sure == has_most);
    found
}
