//! Who holds a lock that others wait for.
//!
//! Two things tell. The lock itself: a pthread mutex of glibc keeps its owner's thread id, some
//! locks of MariaDB's InnoDB their writer's `pthread_self()`. That word is believed only where
//! the stacks say that it is such a lock (behind the plain word of an arena stands something else),
//! and only for a thread of the same snapshot that does not wait there itself. Otherwise the stacks:
//! a thread in code that runs only under the lock. A lock has one owner, so two such threads mean
//! that there are two locks, or two moments seen as one, and nobody is named.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::{Holder, HolderBy, StackId, ThreadAt};

use super::HOLDERS_MAX;
use super::holding::{ArenaWork, arena_work, runs_under};
use super::own::Kind;
use super::scene::{Moment, RowId, Scene, Waiter};

/// The holders of each row's lock in one moment.
pub(super) type Held = BTreeMap<RowId, Vec<(u32, HolderBy)>>;

/// Who held what, by moment.
pub(super) fn by_moment(scene: &Scene<'_>) -> Vec<Held> {
    // Rows for locks of glibc's arenas. With several of them a thread in the allocator may hold
    // any.
    let arenas: HashSet<RowId> = scene
        .moments
        .iter()
        .flat_map(|moment| &moment.waiters)
        .filter(|waiter| waiter.class.allocator)
        .map(|waiter| waiter.row)
        .filter(|row| {
            scene
                .rows
                .get(*row)
                .is_some_and(|row| row.name.starts_with("malloc arena"))
        })
        .collect();
    scene
        .moments
        .iter()
        .map(|moment| in_moment(scene, moment, &arenas))
        .collect()
}

fn in_moment(scene: &Scene<'_>, moment: &Moment<'_>, arenas: &HashSet<RowId>) -> Held {
    let threads: HashMap<u32, &ThreadAt> = moment
        .snapshot
        .threads
        .iter()
        .map(|thread| (thread.tid, thread))
        .collect();
    let mut waiters: BTreeMap<RowId, Vec<&Waiter<'_>>> = BTreeMap::new();
    for waiter in &moment.waiters {
        if scene.rows.get(waiter.row).is_some_and(|row| row.contended) {
            waiters.entry(waiter.row).or_default().push(waiter);
        }
    }
    let mut names: HashMap<StackId, Vec<&str>> = HashMap::new();
    if !waiters.is_empty() {
        for thread in &moment.snapshot.threads {
            names
                .entry(thread.stack)
                .or_insert_with(|| scene.names(thread.stack));
        }
    }
    let mut held = Held::new();
    for (row, waiters) in waiters {
        let mut owners = by_owner_field(&waiters, &threads);
        if owners.is_empty() {
            owners.extend(
                by_stack(scene, moment, row, &waiters, arenas, &names)
                    .map(|tid| (tid, HolderBy::Stack)),
            );
        }
        if !owners.is_empty() {
            held.insert(row, owners);
        }
    }
    held
}

/// The owner that the word of a waiter's lock names.
fn owner(waiter: &Waiter<'_>) -> Option<u32> {
    let futex = waiter.futex()?;
    let tid = match waiter.class.kind {
        Kind::Mutex if !waiter.class.allocator => futex.owner_word,
        Kind::OwnFutex | Kind::InnodbMutex | Kind::InnodbRwLock if !waiter.class.on_condition => {
            futex.pointer_owner
        }
        _ => 0,
    };
    (tid != 0 && tid != waiter.thread.tid).then_some(tid)
}

fn by_owner_field(
    waiters: &[&Waiter<'_>],
    threads: &HashMap<u32, &ThreadAt>,
) -> Vec<(u32, HolderBy)> {
    let waits_at: HashSet<(u32, u64)> = waiters
        .iter()
        .map(|waiter| (waiter.thread.tid, waiter.address))
        .collect();
    let mut owners: Vec<(u32, HolderBy)> = Vec::new();
    for waiter in waiters {
        if let Some(tid) = owner(waiter)
            && threads.contains_key(&tid)
            && !waits_at.contains(&(tid, waiter.address))
            && !owners.contains(&(tid, HolderBy::OwnerField))
        {
            owners.push((tid, HolderBy::OwnerField));
        }
    }
    owners
}

/// The one thread that stands in code under the row's lock and does not wait for it.
fn by_stack(
    scene: &Scene<'_>,
    moment: &Moment<'_>,
    row: RowId,
    waiters: &[&Waiter<'_>],
    arenas: &HashSet<RowId>,
    names: &HashMap<StackId, Vec<&str>>,
) -> Option<u32> {
    let lock = scene.rows.get(row)?;
    let waiting: HashSet<u32> = waiters.iter().map(|waiter| waiter.thread.tid).collect();
    let others = moment
        .snapshot
        .threads
        .iter()
        .filter(|thread| !waiting.contains(&thread.tid) && !moment.idle.contains_key(&thread.tid))
        .filter_map(|thread| Some((thread.tid, names.get(&thread.stack)?)));
    if !arenas.contains(&row) {
        return only(
            others
                .filter(|(_, frames)| runs_under(&lock.name, frames))
                .map(|(tid, _)| tid),
        );
    }
    let main_arena = lock.name.ends_with("main_arena");
    let working: Vec<(u32, ArenaWork)> = others
        // One that waits for an arena has none: the allocator takes one at a time.
        .filter(|(tid, _)| {
            moment
                .waiter(*tid)
                .is_none_or(|waiter| !arenas.contains(&waiter.row))
        })
        .filter_map(|(tid, frames)| Some((tid, arena_work(frames)?)))
        .filter(|(_, work)| main_arena || *work != ArenaWork::MainArena)
        .filter(|(_, work)| arenas.len() == 1 || *work == ArenaWork::MainArena)
        .collect();
    let surest = working.iter().map(|(_, work)| *work).max()?;
    only(
        working
            .into_iter()
            .filter(|(_, work)| *work == surest)
            .map(|(tid, _)| tid),
    )
}

fn only(mut tids: impl Iterator<Item = u32>) -> Option<u32> {
    let first = tids.next()?;
    tids.next().is_none().then_some(first)
}

/// A holder at one moment, as it is shown.
pub(super) fn at_moment(
    scene: &Scene<'_>,
    moment: &Moment<'_>,
    tid: u32,
    by: HolderBy,
    snapshots: u32,
) -> Option<Holder> {
    let thread = moment
        .snapshot
        .threads
        .iter()
        .find(|thread| thread.tid == tid)?;
    Some(Holder {
        tid,
        name: thread.name.clone(),
        by,
        snapshots,
        stack: thread.stack,
        doing: scene.words(moment, thread),
    })
}

/// The holders of each row over all moments, most often first, with what they did in the last.
pub(super) fn over_all(scene: &Scene<'_>, held: &[Held]) -> HashMap<RowId, Vec<Holder>> {
    let mut counts: HashMap<(RowId, u32), (u32, HolderBy, usize)> = HashMap::new();
    for (index, held) in held.iter().enumerate() {
        for (row, owners) in held {
            for (tid, by) in owners {
                let count = counts.entry((*row, *tid)).or_insert((0, *by, index));
                count.0 += 1;
                count.1 = count.1.min(*by);
                count.2 = index;
            }
        }
    }
    let mut holders: HashMap<RowId, Vec<Holder>> = HashMap::new();
    for ((row, tid), (snapshots, by, last)) in counts {
        let holder = scene
            .moments
            .get(last)
            .and_then(|moment| at_moment(scene, moment, tid, by, snapshots));
        holders.entry(row).or_default().extend(holder);
    }
    for holders in holders.values_mut() {
        holders.sort_by(|a, b| b.snapshots.cmp(&a.snapshots).then(a.tid.cmp(&b.tid)));
        holders.truncate(HOLDERS_MAX);
    }
    holders
}
