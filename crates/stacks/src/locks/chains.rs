//! From the crowd to the root: what those that wait wait for, who has it, what that one waits for.

use std::collections::{BTreeMap, HashSet};

use model::{ChainLink, WaitChain};

use super::holders::{Held, at_moment};
use super::scene::{RowId, Scene};
use super::{CHAINS_MAX, LINKS_MAX};

/// The moment that shows a row best: one that names its holder before one that does not, then
/// the largest crowd, then the latest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Best {
    held: bool,
    waiters: u32,
    moment: usize,
}

/// A chain that names no holder and has less than one in so many of the largest crowd says nothing
/// beside the others.
const CROWD_PART: u32 = 10;

/// Chains from the largest crowd on. A lock that an earlier chain goes through begins no chain of
/// its own; nor do a single thread and a small crowd whose lock has no known holder, where there is
/// anything better.
pub(super) fn chains(scene: &Scene<'_>, held: &[Held]) -> Vec<WaitChain> {
    let mut best: BTreeMap<RowId, Best> = BTreeMap::new();
    for index in 0..scene.moments.len() {
        for (row, waiters) in crowds(scene, index) {
            let this = Best {
                held: held.get(index).is_some_and(|held| held.contains_key(&row)),
                waiters,
                moment: index,
            };
            best.entry(row)
                .and_modify(|best| *best = (*best).max(this))
                .or_insert(this);
        }
    }
    let mut order: Vec<(RowId, Best)> = best.into_iter().collect();
    order.sort_by(|(a_row, a), (b_row, b)| b.waiters.cmp(&a.waiters).then(a_row.cmp(b_row)));
    // The largest crowd, if there is anything that tells more than that one thread waits.
    let most = order
        .iter()
        .filter(|(_, best)| best.held || best.waiters > 1)
        .map(|(_, best)| best.waiters)
        .max();
    let mut told: HashSet<RowId> = HashSet::new();
    let mut chains = Vec::new();
    for (row, best) in order {
        if chains.len() == CHAINS_MAX {
            break;
        }
        if told.contains(&row) {
            continue;
        }
        if !best.held && most.is_some_and(|most| best.waiters < 2.max(most / CROWD_PART)) {
            continue;
        }
        chains.extend(follow(scene, held, row, best.moment, &mut told));
    }
    chains
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
        let owners = held.get(index).and_then(|held| held.get(&row));
        // Of several holders (locks put together under one name) one that waits itself leads on.
        let owner = owners.and_then(|owners| {
            owners
                .iter()
                .find(|(tid, _)| moment.waiter(*tid).is_some())
                .or_else(|| owners.first())
        });
        chain.links.push(ChainLink {
            lock: scene.rows.get(row)?.name.clone(),
            waiters: crowds.get(&row).copied().unwrap_or(0),
            holder: owner.and_then(|(tid, by)| at_moment(scene, moment, row, *tid, *by, 1)),
        });
        if chain.links.len() == LINKS_MAX {
            break;
        }
        // Within one row: a writer that waits for the readers, or another of several locks.
        next = owner
            .and_then(|(tid, _)| moment.waiter(*tid))
            .map(|waiter| waiter.row)
            .filter(|next| *next != row)
            .filter(|next| scene.rows.get(*next).is_some_and(|next| next.contended));
    }
    Some(chain)
}
