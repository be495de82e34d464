//! The snapshots, read: what each thread does in each of them, and for which row of the table it
//! waits.

use std::collections::{HashMap, HashSet};

use model::{FutexWait, NamedBy, RunState, SnapshotThread, StackId, ThreadSnapshot};

use super::classify::{Activity, Class, Classifier, syscall_name};
use super::naming::{RowName, idles_after_all, lock_address, row_of};
use super::own::Kind;
use super::{LockSymbols, Observed};

/// Number of a row.
pub(super) type RowId = usize;

/// A thread that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiter<'a> {
    pub(super) thread: &'a SnapshotThread,
    pub(super) class: Class,
    pub(super) row: RowId,
    /// Address of the lock; 0 where it is not known.
    pub(super) address: u64,
}

impl Waiter<'_> {
    pub(super) fn futex(&self) -> Option<&FutexWait> {
        self.thread.syscall.as_ref()?.futex.as_ref()
    }
}

/// One snapshot.
#[derive(Debug)]
pub(super) struct SceneSnapshot<'a> {
    pub(super) snapshot: &'a ThreadSnapshot,
    /// The stretch of time that it stands for, microseconds; 1 for a single snapshot.
    pub(super) weight: f64,
    pub(super) waiters: Vec<Waiter<'a>>,
    /// Where in `waiters` a thread is.
    waiter_at: HashMap<u32, usize>,
    /// Threads that wait for work, with what they say of it.
    pub(super) idle: HashMap<u32, &'static str>,
    /// Threads that do not idle.
    pub(super) busy: u32,
}

impl SceneSnapshot<'_> {
    pub(super) fn waiter(&self, tid: u32) -> Option<&Waiter<'_>> {
        self.waiters.get(*self.waiter_at.get(&tid)?)
    }
}

/// All moments, with the rows of the table that is to be made.
pub(super) struct Scene<'a> {
    pub(super) classifier: Classifier<'a>,
    pub(super) moments: Vec<SceneSnapshot<'a>>,
    pub(super) rows: Vec<RowName>,
    row_ids: HashMap<RowName, RowId>,
    /// What one unit of weight is in microseconds: 1, and 0 where one snapshot tells no time.
    pub(super) us_per_weight: f64,
    /// Milliseconds from one snapshot to the next, on average.
    pub(super) interval_ms: f64,
}

impl<'a> Scene<'a> {
    pub(super) fn new(observed: &Observed<'a>, symbols: &LockSymbols) -> Self {
        let mut snapshots: Vec<&ThreadSnapshot> = observed.snapshots.iter().collect();
        snapshots.sort_by_key(|snapshot| snapshot.at);
        let weights = weights(&snapshots);
        let mut scene = Self {
            classifier: Classifier::new(observed.book),
            moments: Vec::with_capacity(snapshots.len()),
            rows: Vec::new(),
            row_ids: HashMap::new(),
            us_per_weight: if snapshots.len() > 1 { 1.0 } else { 0.0 },
            interval_ms: interval_ms(&snapshots),
        };
        for (snapshot, weight) in snapshots.into_iter().zip(weights) {
            let moment = scene.moment(snapshot, weight, symbols);
            scene.moments.push(moment);
        }
        scene
    }

    fn moment(
        &mut self,
        snapshot: &'a ThreadSnapshot,
        weight: f64,
        symbols: &LockSymbols,
    ) -> SceneSnapshot<'a> {
        let tids: HashSet<u32> = snapshot.threads.iter().map(|thread| thread.tid).collect();
        let mut moment = SceneSnapshot {
            snapshot,
            weight,
            waiters: Vec::new(),
            waiter_at: HashMap::new(),
            idle: HashMap::new(),
            busy: 0,
        };
        let mut seen = HashSet::new();
        for thread in &snapshot.threads {
            if thread.state == RunState::Dead || !seen.insert(thread.tid) {
                continue;
            }
            let futex = thread
                .syscall
                .as_ref()
                .and_then(|syscall| syscall.futex.as_ref());
            let address = futex.map_or(0, |futex| futex.address);
            let mut class = self.classifier.thread(thread);
            if let Some(futex) = futex
                && !class.woken
                && matches!(class.doing, Activity::Condition(None))
                && class.kind == Kind::Unknown
                && names_an_owner(thread.tid, futex, &tids)
            {
                class = class.as_mutex();
            }
            if idles_after_all(&class, address, symbols) {
                class.doing = Activity::Idle("waits for work");
            }
            if let Activity::Idle(words) = class.doing {
                moment.idle.insert(thread.tid, words);
                continue;
            }
            moment.busy = moment.busy.saturating_add(1);
            if let Some(row) = row_of(&class, address, symbols) {
                moment.waiter_at.insert(thread.tid, moment.waiters.len());
                moment.waiters.push(Waiter {
                    thread,
                    class,
                    row: self.row_id(row),
                    address: lock_address(&class, address, symbols),
                });
            }
        }
        moment
    }

    /// The number of a row; a new one when it is not there yet.
    pub(super) fn row_id(&mut self, row: RowName) -> RowId {
        if let Some(id) = self.row_ids.get(&row) {
            return *id;
        }
        let id = self.rows.len();
        self.rows.push(row.clone());
        self.row_ids.insert(row, id);
        id
    }

    /// Time of all threads that do not idle, in units of weight.
    pub(super) fn busy_time(&self) -> f64 {
        self.moments
            .iter()
            .map(|moment| f64::from(moment.busy) * moment.weight)
            .sum()
    }

    /// Threads that wait for work, in the moment with most of them.
    pub(super) fn idle_max(&self) -> u32 {
        let most = self
            .moments
            .iter()
            .map(|moment| moment.idle.len())
            .max()
            .unwrap_or(0);
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// Waiting threads, and those of them whose frames have no names: over all moments.
    pub(super) fn nameless(&self) -> (usize, usize) {
        let waiters = self.moments.iter().flat_map(|moment| &moment.waiters);
        let (mut all, mut nameless) = (0, 0);
        for waiter in waiters {
            all += 1;
            nameless += usize::from(waiter.class.nameless);
        }
        (all, nameless)
    }

    /// What a thread does at a moment, in a few words.
    pub(super) fn describe(&self, moment: &SceneSnapshot<'_>, thread: &SnapshotThread) -> String {
        if let Some(waiter) = moment.waiter(thread.tid) {
            let row = self.rows.get(waiter.row);
            let name = row.map_or("something", |row| row.name.as_str());
            let verb = if row.is_some_and(|row| row.contended) {
                "for"
            } else {
                "on"
            };
            let woken = if waiter.class.woken {
                " (woken, no processor yet)"
            } else {
                ""
            };
            return format!("waits {verb} {name}{woken}");
        }
        if let Some(words) = moment.idle.get(&thread.tid) {
            return (*words).to_owned();
        }
        let syscall = thread.syscall.as_ref().map_or("", syscall_name);
        match (thread.state, syscall) {
            (RunState::Running, _) if let Some(lock) = self.spins_for(thread) => {
                format!("spins for {lock}")
            }
            (RunState::Running, _) if self.classifier.has_no_processor(thread) => {
                "is ready to run and has no processor".to_owned()
            }
            (RunState::Running, "") => "runs".to_owned(),
            (RunState::Running, name) => format!("runs in {name}"),
            (RunState::Uninterruptible, "") => {
                "uninterruptible, in no system call (page fault)".to_owned()
            }
            (RunState::Uninterruptible, name) => format!("in {name}, uninterruptible"),
            (RunState::Sleeping, "") => "sleeps".to_owned(),
            (state, "") => state.to_text().to_owned(),
            (_, name) => format!("in {name}"),
        }
    }

    /// The lock that a thread tries to get that does not sleep yet.
    fn spins_for(&self, thread: &SnapshotThread) -> Option<String> {
        let class = self.classifier.spinning(thread.stack)?;
        let row = row_of(&class, 0, &LockSymbols::default())?;
        if row.named_by != NamedBy::Address {
            return Some(row.name);
        }
        let path = self.classifier.path(thread.stack, &class);
        path.first().map(|name| format!("a lock of {name}"))
    }

    /// A stack's functions with plain names, innermost first.
    pub(super) fn names(&self, stack: StackId) -> Vec<&str> {
        self.classifier.names(stack)
    }
}

/// The word behind the futex is the id of another thread of the process, and the operation is the
/// one that glibc waits for a mutex with: FUTEX_WAIT, where condition variables, semaphores and
/// read-write locks have FUTEX_WAIT_BITSET (nptl/lowlevellock.c, futex-internal.c).
fn names_an_owner(tid: u32, futex: &FutexWait, tids: &HashSet<u32>) -> bool {
    /// FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME.
    const FLAGS: u32 = 0x80 | 0x100;
    const FUTEX_WAIT: u32 = 0;
    futex.operation & !FLAGS == FUTEX_WAIT
        && futex.owner_word != tid
        && tids.contains(&futex.owner_word)
}

/// Milliseconds from one snapshot to the next, on average; 0 for fewer than two.
fn interval_ms(snapshots: &[&ThreadSnapshot]) -> f64 {
    match snapshots {
        [first, .., last] => last.at.saturating_sub(first.at) as f64 / (snapshots.len() - 1) as f64,
        _ => 0.0,
    }
}

/// The stretch each snapshot stands for, microseconds: from the middle of the gap before it to the
/// middle of the gap behind it, the first and the last as if their one gap were on both sides. With
/// a steady burst that is its interval. A single snapshot, which tells no time, weighs 1.
fn weights(snapshots: &[&ThreadSnapshot]) -> Vec<f64> {
    let at = |index: usize| snapshots.get(index).map(|snapshot| snapshot.at);
    (0..snapshots.len())
        .map(|index| {
            let here = snapshots[index].at;
            let before = index
                .checked_sub(1)
                .and_then(at)
                .map(|other| here.saturating_sub(other));
            let behind = at(index + 1).map(|other| other.saturating_sub(here));
            match (before, behind) {
                (None, None) => 1.0,
                (before, behind) => {
                    let before_ms = before.or(behind).unwrap_or(0) as f64;
                    let behind_ms = behind.or(before).unwrap_or(0) as f64;
                    (before_ms + behind_ms) / 2.0 * 1000.0
                }
            }
        })
        .collect()
}
