//! Who holds a lock that others wait for.
//!
//! Two things tell. The lock itself: a pthread mutex of glibc keeps its owner's thread id, some
//! locks of MariaDB's InnoDB their writer's `pthread_self()`, the read-write locks of MySQL's too,
//! which its table of waits leads to (`crate::latches`). That word is believed only where
//! the stacks say that it is such a lock (behind the plain word of an arena stands something else),
//! and only for a thread of the same snapshot that does not wait there itself. Otherwise the stacks:
//! a thread in code that runs only under the lock. A lock has one owner, so two such threads mean
//! that there are two locks, or two moments seen as one, and nobody is named.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::{Holder, HolderBy, OrderBy, SnapshotThread, StackId};

use super::HOLDERS_MAX;
use super::holding::{ArenaWork, arena_work, runs_under};
use super::own::{Kind, own_kind};
use super::scene::{RowId, Scene, SceneSnapshot, Waiter};

/// The holders of each row's lock in one moment.
pub(super) type Held = BTreeMap<RowId, Vec<(u32, HolderBy)>>;

/// What stacks say of locks, each question asked once for all moments.
struct Work<'s, 'a> {
    scene: &'s Scene<'a>,
    /// Rows for locks of glibc's arenas. With several of them a thread in the allocator may hold
    /// any.
    arenas: HashSet<RowId>,
    runs_under: HashMap<(RowId, StackId), bool>,
    in_arena: HashMap<StackId, Option<ArenaWork>>,
}

impl Work<'_, '_> {
    fn runs_under(&mut self, row: RowId, stack: StackId) -> bool {
        let scene = self.scene;
        *self.runs_under.entry((row, stack)).or_insert_with(|| {
            scene
                .rows
                .get(row)
                .is_some_and(|row| runs_under(&row.name, &scene.names(stack)))
        })
    }

    fn in_arena(&mut self, stack: StackId) -> Option<ArenaWork> {
        let scene = self.scene;
        *self.in_arena.entry(stack).or_insert_with(|| {
            let names = scene.names(stack);
            // Woken, and not on a processor yet: it runs, and still stands in its wait.
            let waits = names
                .first()
                .and_then(|name| own_kind(name))
                .is_some_and(Kind::is_lock);
            if waits { None } else { arena_work(&names) }
        })
    }
}

/// Who held what, by moment.
pub(super) fn by_moment(scene: &Scene<'_>) -> Vec<Held> {
    let arenas = scene
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
    let mut work = Work {
        scene,
        arenas,
        runs_under: HashMap::new(),
        in_arena: HashMap::new(),
    };
    scene
        .moments
        .iter()
        .map(|moment| in_moment(&mut work, moment))
        .collect()
}

fn in_moment(work: &mut Work<'_, '_>, moment: &SceneSnapshot<'_>) -> Held {
    let tids: HashSet<u32> = moment
        .snapshot
        .threads
        .iter()
        .map(|thread| thread.tid)
        .collect();
    let mut waiters: BTreeMap<RowId, Vec<&Waiter<'_>>> = BTreeMap::new();
    for waiter in &moment.waiters {
        if work
            .scene
            .rows
            .get(waiter.row)
            .is_some_and(|row| row.contended)
        {
            waiters.entry(waiter.row).or_default().push(waiter);
        }
    }
    let mut held = Held::new();
    for (row, waiters) in waiters {
        let mut owners = by_owner_field(&waiters, &tids);
        if owners.is_empty() {
            owners.extend(by_stack(work, moment, row).map(|tid| (tid, HolderBy::Stack)));
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
        Kind::InnodbRwLock if futex.latch_owner != 0 => futex.latch_owner,
        Kind::OwnFutex | Kind::InnodbMutex | Kind::InnodbRwLock if !waiter.class.on_condition => {
            futex.pointer_owner
        }
        _ => 0,
    };
    (tid != 0 && tid != waiter.thread.tid).then_some(tid)
}

fn by_owner_field(waiters: &[&Waiter<'_>], tids: &HashSet<u32>) -> Vec<(u32, HolderBy)> {
    // The word itself: a writer that has a latch waits on the latch's other word for its readers.
    let word = |waiter: &Waiter<'_>| waiter.futex().map_or(waiter.address, |futex| futex.address);
    let waits_at: HashSet<(u32, u64)> = waiters
        .iter()
        .map(|waiter| (waiter.thread.tid, word(waiter)))
        .collect();
    let mut owners: Vec<(u32, HolderBy)> = Vec::new();
    for waiter in waiters {
        if let Some(tid) = owner(waiter)
            && tids.contains(&tid)
            && !waits_at.contains(&(tid, word(waiter)))
            && !owners.contains(&(tid, HolderBy::OwnerField))
        {
            owners.push((tid, HolderBy::OwnerField));
        }
    }
    owners
}

/// The one thread that stands in code under the row's lock and does not wait for it.
fn by_stack(work: &mut Work<'_, '_>, moment: &SceneSnapshot<'_>, row: RowId) -> Option<u32> {
    let awake: Vec<&SnapshotThread> = moment
        .snapshot
        .threads
        .iter()
        .filter(|thread| !moment.idle.contains_key(&thread.tid))
        .collect();
    if !work.arenas.contains(&row) {
        return only(
            awake
                .into_iter()
                .filter(|thread| {
                    moment
                        .waiter(thread.tid)
                        .is_none_or(|waiter| waiter.row != row)
                })
                .filter(|thread| work.runs_under(row, thread.stack))
                .map(|thread| thread.tid),
        );
    }
    let main_arena = work.scene.rows.get(row)?.name.ends_with("main_arena");
    let several = work.arenas.len() > 1;
    let mut working: Vec<(u32, ArenaWork)> = Vec::new();
    for thread in awake {
        // One that waits for an arena has none: the allocator takes one at a time.
        if moment
            .waiter(thread.tid)
            .is_some_and(|waiter| work.arenas.contains(&waiter.row))
        {
            continue;
        }
        match work.in_arena(thread.stack) {
            Some(ArenaWork::MainArena) if main_arena => {
                working.push((thread.tid, ArenaWork::MainArena))
            }
            Some(sure @ (ArenaWork::Held | ArenaWork::Maybe)) if !several => {
                working.push((thread.tid, sure))
            }
            _ => {}
        }
    }
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
    moment: &SceneSnapshot<'_>,
    row: RowId,
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
        doing: match moment.waiter(tid) {
            Some(waiter) if waiter.row == row => {
                if scene.rows.get(row).is_some_and(|row| row.address != 0) {
                    "waits for those that have it to read".to_owned()
                } else {
                    "waits for another of them".to_owned()
                }
            }
            _ => scene.describe(moment, thread),
        },
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
            .and_then(|moment| at_moment(scene, moment, row, tid, by, snapshots));
        holders.entry(row).or_default().extend(holder);
    }
    for holders in holders.values_mut() {
        holders.order_by(|a, b| b.snapshots.cmp(&a.snapshots).then(a.tid.cmp(&b.tid)));
        holders.truncate(HOLDERS_MAX);
    }
    holders
}
