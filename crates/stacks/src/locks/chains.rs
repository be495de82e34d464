//! From the crowd to the root: what those that wait wait for, who has it, what that one waits for.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::{ChainLink, HolderBy, OrderBy, WaitChain};

use super::holders::{Held, at_moment};
use super::scene::{RowId, Scene};
use super::{CHAINS_MAX, LINKS_MAX};

/// The moment that shows a row best: one that names its holder before one that does not, then
/// the largest crowd, then the latest. A holder that waits itself leads on to the cause and makes up
/// for half of the crowd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Best {
    held: bool,
    worth: u32,
    waiters: u32,
    moment: usize,
}

/// A chain that names no holder and has less than one in so many of the largest crowd says nothing
/// beside the others.
const CROWD_PART: u32 = 10;

/// Chains that begin with one lock: their holders wait for different ones.
const CAUSES_MAX: usize = 3;

/// Chains from the largest crowd on. A lock that an earlier chain goes through begins no chain of
/// its own; nor do a single thread and a small crowd whose lock has no known holder, where there is
/// anything better.
pub(super) fn chains(scene: &Scene<'_>, held: &[Held]) -> Vec<WaitChain> {
    let mut best: BTreeMap<(RowId, Option<RowId>), Best> = BTreeMap::new();
    let mut crowd: HashMap<RowId, u32> = HashMap::new();
    for index in 0..scene.moments.len() {
        for (row, waiters) in crowds(scene, index) {
            let most = crowd.entry(row).or_insert(0);
            *most = waiters.max(*most);
            let owner = owner(scene, held, index, row);
            let next = owner.and_then(|(tid, _)| waits_for(scene, index, tid, row));
            let this = Best {
                held: owner.is_some(),
                worth: waiters.saturating_mul(1 + u32::from(next.is_some())),
                waiters,
                moment: index,
            };
            best.entry((row, next))
                .and_modify(|best| *best = (*best).max(this))
                .or_insert(this);
        }
    }
    let mut order: Vec<((RowId, Option<RowId>), Best)> =
        best.iter().map(|(key, best)| (*key, *best)).collect();
    order.order_by(|((a_row, a_next), a), ((b_row, b_next), b)| {
        crowd
            .get(b_row)
            .cmp(&crowd.get(a_row))
            .then(a_row.cmp(b_row))
            .then(b.cmp(a))
            .then(a_next.cmp(b_next))
    });
    // The largest crowd, if there is anything that tells more than that one thread waits.
    let most = order
        .iter()
        .filter(|(_, best)| best.held || best.waiters > 1)
        .map(|(_, best)| best.waiters)
        .max();
    let mut told: HashSet<RowId> = HashSet::new();
    let mut begun: HashMap<RowId, usize> = HashMap::new();
    let mut chains = Vec::new();
    for ((row, next), best) in order {
        // Another cause of the same crowd is told too.
        let again = begun
            .get(&row)
            .is_some_and(|begun| next.is_some() && *begun < CAUSES_MAX);
        if told.contains(&row) && !again {
            continue;
        }
        if !best.held && most.is_some_and(|most| best.waiters < 2.max(most / CROWD_PART)) {
            continue;
        }
        if let Some(chain) = follow(scene, held, row, best.moment, &mut told) {
            *begun.entry(row).or_insert(0) += 1;
            chains.push(chain);
        }
    }
    // Of too many those go first that name no holder.
    while chains.len() > CHAINS_MAX {
        let names_one = |chain: &WaitChain| chain.links.iter().any(|link| link.holder.is_some());
        let least = chains.iter().rposition(|chain| !names_one(chain));
        chains.remove(least.unwrap_or(chains.len() - 1));
    }
    chains
}

/// Who has a row's lock in a moment. Of several (locks put together under one name) one that waits
/// itself leads on.
fn owner(scene: &Scene<'_>, held: &[Held], index: usize, row: RowId) -> Option<(u32, HolderBy)> {
    let owners = held.get(index)?.get(&row)?;
    owners
        .iter()
        .find(|(tid, _)| waits_for(scene, index, *tid, row).is_some())
        .or_else(|| owners.first())
        .copied()
}

/// The lock that a thread waits for in a moment, other than `row`: within one row a writer waits for
/// the readers, or for another of several locks.
fn waits_for(scene: &Scene<'_>, index: usize, tid: u32, row: RowId) -> Option<RowId> {
    let waiter = scene.moments.get(index)?.waiter(tid)?;
    let contended = scene.rows.get(waiter.row)?.contended;
    (contended && waiter.row != row).then_some(waiter.row)
}

/// Waiting threads by row, in one moment, of rows that are contention.
fn crowds(scene: &Scene<'_>, moment: usize) -> BTreeMap<RowId, u32> {
    let mut crowds = BTreeMap::new();
    for waiter in scene
        .moments
        .get(moment)
        .map_or(&[][..], |moment| &moment.waiters)
    {
        if scene.rows.get(waiter.row).is_some_and(|row| row.contended) {
            *crowds.entry(waiter.row).or_insert(0) += 1;
        }
    }
    crowds
}

fn follow(
    scene: &Scene<'_>,
    held: &[Held],
    first: RowId,
    index: usize,
    told: &mut HashSet<RowId>,
) -> Option<WaitChain> {
    let moment = scene.moments.get(index)?;
    let crowds = crowds(scene, index);
    let mut chain = WaitChain {
        links: Vec::new(),
        circular: false,
    };
    let mut on_chain: HashSet<RowId> = HashSet::new();
    let mut next = Some(first);
    while let Some(row) = next.take() {
        if !on_chain.insert(row) {
            // A row of several locks may be met twice without a circle.
            chain.circular = scene.rows.get(row).is_some_and(|row| !row.is_several());
            break;
        }
        told.insert(row);
        let owner = owner(scene, held, index, row);
        chain.links.push(ChainLink {
            lock: scene.rows.get(row)?.name.clone(),
            waiters: crowds.get(&row).copied().unwrap_or(0),
            holder: owner.and_then(|(tid, by)| at_moment(scene, moment, row, tid, by, 1)),
        });
        if chain.links.len() == LINKS_MAX {
            break;
        }
        next = owner.and_then(|(tid, _)| waits_for(scene, index, tid, row));
    }
    Some(chain)
}
