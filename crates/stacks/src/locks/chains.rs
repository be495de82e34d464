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

/// Chains from the largest crowd on. A lock that an earlier chain goes through begins no chain of
/// its own.
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
    let mut told: HashSet<RowId> = HashSet::new();
    let mut chains = Vec::new();
    for (row, best) in order {
        if chains.len() == CHAINS_MAX {
            break;
        }
        if told.contains(&row) {
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
            chain.circular = true;
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
            holder: owner.and_then(|(tid, by)| at_moment(scene, moment, *tid, *by, 1)),
        });
        if chain.links.len() == LINKS_MAX {
            break;
        }
        next = owner
            .and_then(|(tid, _)| moment.waiter(*tid))
            .map(|waiter| waiter.row)
            .filter(|row| scene.rows.get(*row).is_some_and(|row| row.contended));
    }
    Some(chain)
}
