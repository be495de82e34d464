//! Sessions that an incident found in front of others: looked for in the server as it is now, before anybody is offered
//! to end them.

use diagnosis::{Actor, advise};
use model::FixAction;
use remedy::fix::{Access, EndSession, Suspect, System};

use super::selection::SelectedCause;

/// The part whose holders the server itself tells of, row by row.
const OF_ROWS: &str = "row-lock-holder";

/// Those that the cause's fixes would end, each with what it is now.
pub(super) fn find_live(
    what: &SelectedCause,
    system: &System,
    mut access: Option<&mut Access>,
) -> Vec<Suspect> {
    let parts: Vec<&String> = what
        .cause
        .fixes
        .iter()
        .filter_map(|fix| match &fix.action {
            FixAction::EndSession { who } => Some(who),
            _ => None,
        })
        .collect();
    let Some(incident) = what.incident.as_ref().filter(|_| !parts.is_empty()) else {
        return Vec::new();
    };
    let here = system.server.as_ref().and_then(|server| server.process);
    let other = match (here, incident.server.pid) {
        (Some(here), Some(then)) => here.pid != then,
        _ => false,
    };
    let (actors, _) = advise(what.cause, incident);
    let wanted = actors
        .into_iter()
        .filter(|actor| parts.contains(&&actor.who));
    wanted
        .filter_map(|actor| {
            let session = session(&actor)?;
            let looked = match access.as_deref_mut() {
                _ if other => Err(
                    "this is not the server of the incident, or it was restarted since".to_owned(),
                ),
                Some(access) => session.find_live(access),
                None => Err("no login to the server".to_owned()),
            };
            Some(Suspect {
                who: actor.who,
                says: actor.says,
                sure: actor.sure,
                session,
                looked,
            })
        })
        .collect()
}

/// What a session is known again by; nothing where its account was not recorded.
fn session(actor: &Actor) -> Option<EndSession> {
    let since = |seconds: Option<f64>| {
        let (seen, seconds) = (actor.seen_ms?, seconds?);
        Some(seen.saturating_sub((seconds * 1000.0) as i64))
    };
    Some(EndSession {
        connection: actor.connection?,
        user: actor.user.clone()?,
        host: actor.host.clone()?,
        transaction: actor.transaction.clone(),
        transaction_since_ms: since(actor.transaction_seconds),
        idle_since_ms: since(actor.idle_seconds),
        of_rows: actor.who == OF_ROWS,
    })
}
