//! Follow the holder, not the crowd: chains of waits decide which of two findings is the root.

use std::collections::BTreeSet;

use model::{Holder, WaitChain};

use crate::actors::{Scene, rows_wait_for_commits};
use crate::catalogue::Catalogue;
use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::measure::Sign;
use crate::verdict::Finding;

/// Of two causes one is the consequence of the other, because who holds the lock of the one is held
/// up by the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Effect {
    /// The id of the consequence.
    pub(crate) effect: String,
    /// The id of the root.
    pub(crate) root: String,
}

impl Effect {
    fn new(effect: &str, root: &str) -> Self {
        Self {
            effect: effect.to_owned(),
            root: root.to_owned(),
        }
    }
}

/// The consequences that the chains of the stall show among the findings.
///
/// Where two chains contradict each other, nothing is said.
pub(crate) fn effects<'s, 'i: 's>(
    findings: &[Finding],
    catalogue: &Catalogue,
    evidence: &Evidence,
    scene: impl Fn() -> &'s Scene<'i>,
) -> BTreeSet<Effect> {
    let causes = findings.iter();
    let causes = causes.filter_map(|finding| catalogue.get(&finding.cause));
    let causes: Vec<&Cause> = causes.collect();
    let mut seen = BTreeSet::new();
    let tables = evidence.incident.stacks.locks.iter();
    for table in tables.filter(|table| evidence.tells_of_stall(table.from, table.to)) {
        // A circle has no end that could be the root.
        for chain in table.chains.iter().filter(|chain| !chain.circular) {
            for effect in &causes {
                for root in causes.iter().filter(|root| root.id != effect.id) {
                    if leads(chain, effect, root, evidence) {
                        seen.insert(Effect::new(&effect.id, &root.id));
                    }
                }
            }
        }
    }
    seen.extend(behind_commits(&causes, scene));
    let all = seen.clone();
    seen.retain(|one| !all.contains(&Effect::new(&one.root, &one.effect)));
    seen
}

/// The state of a session in its commit, and what waits for rows is about, in the lexicon.
const COMMIT: &str = "Commit";
const ROW_LOCK: &str = "row-lock";

/// Where all that hold the rows are in their commit, waiting for rows is a consequence of what holds commits up: lists of
/// sessions and of locks tell it where nobody took stacks.
fn behind_commits<'s, 'i: 's>(causes: &[&Cause], scene: impl Fn() -> &'s Scene<'i>) -> Vec<Effect> {
    let is_of_commits = |cause: &&&Cause| cause.asks_for(lexicon::Kind::State, COMMIT);
    let is_of_rows = |cause: &&&Cause| cause.about.iter().any(|layer| layer == ROW_LOCK);
    let Some(effect) = causes.iter().find(is_of_rows) else {
        return Vec::new();
    };
    let roots: Vec<&&Cause> = causes.iter().filter(is_of_commits).collect();
    if roots.is_empty() || !rows_wait_for_commits(scene()) {
        return Vec::new();
    }
    let roots = roots.into_iter().filter(|root| root.id != effect.id);
    roots
        .map(|root| Effect::new(&effect.id, &root.id))
        .collect()
}

/// Whether the chain goes through a lock that names `effect` and from there on to a lock, or to a
/// holder at work, that names `root` and not `effect`.
fn leads(chain: &WaitChain, effect: &Cause, root: &Cause, evidence: &Evidence) -> bool {
    let mut links = chain.links.iter();
    let crowd = links.find(|link| names_lock(effect, &link.lock));
    if crowd.is_none_or(|crowd| names_lock(root, &crowd.lock)) {
        return false;
    }
    let by_lock = links.any(|further| names_lock(root, &further.lock));
    let holder = chain.links.last().and_then(|link| link.holder.as_ref());
    // A holder at what the effect itself looks for in a holder, such as the leader of a group commit in
    // its own fsync, is no other cause.
    let circumstances = effect.witnesses.iter().filter(|sign| !sign.counts);
    by_lock
        || holder.is_some_and(|holder| {
            names_holder(root.counting(), holder, evidence)
                && !names_holder(circumstances, holder, evidence)
        })
}

/// A lock sign of the cause is about this lock: one that asks for a holder is about any lock.
fn names_lock(cause: &Cause, lock: &str) -> bool {
    let mut calls = cause.counting().filter_map(Sign::call);
    calls.any(|call| call.function.is_of_lock(lock))
}

/// The last holder of a chain stands where a sign of the cause looks.
fn names_holder<'a>(
    signs: impl Iterator<Item = &'a Sign>,
    holder: &Holder,
    evidence: &Evidence,
) -> bool {
    let mut calls = signs.filter_map(Sign::call);
    calls.any(|call| call.function.is_of_holder(holder, evidence))
}
