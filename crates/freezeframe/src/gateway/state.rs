//! How a gateway does. Written by its threads, read by anybody.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::fleet::gateway::{Journal, Waiting};
use cli::output;

/// How often the same is told of the same sender.
const AGAIN: Duration = Duration::from_secs(600);

/// Senders that are remembered for that.
const SENDERS_MAX: usize = 1000;

/// Why batches were not taken, as metrics name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// No token, or an unknown one.
    Token,
    /// Rows of another host.
    Foreign,
    /// It is no batch, or one of a newer version.
    Unreadable,
    /// Too many bytes, or too many days.
    TooLarge,
    /// It came too slowly, or broke off.
    TooSlow,
    /// There is no room: connections, memory, journal.
    Full,
    /// The disk did not take it.
    Disk,
}

impl Reason {
    /// All of them, with their names.
    pub(super) const ALL: [(Self, &str); 7] = [
        (Self::Token, "token"),
        (Self::Foreign, "foreign"),
        (Self::Unreadable, "unreadable"),
        (Self::TooLarge, "too_large"),
        (Self::TooSlow, "too_slow"),
        (Self::Full, "full"),
        (Self::Disk, "disk"),
    ];
}

/// What can be in trouble for itself.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// Nothing can be taken.
    Journal = 0,
    /// Nothing can be brought to the store.
    Store = 1,
}

/// What a gateway counts.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Batches that were taken, and those that were there already.
    pub(super) received: AtomicU64,
    pub(super) repeated: AtomicU64,
    /// Batches that the store has, and in how many inserts it got them.
    pub(super) stored: AtomicU64,
    pub(super) inserts: AtomicU64,
    /// Inserts that failed.
    pub(super) failures: AtomicU64,
    /// Batches that were lost after they were taken: the disk damaged them, or the store refused them until there was no
    /// room for them.
    pub(super) lost: AtomicU64,
    /// Connections that are open.
    pub(super) connections: AtomicU64,
    refused: [AtomicU64; Reason::ALL.len()],
    waiting: Mutex<Waiting>,
    troubles: Mutex<[Option<String>; 2]>,
    told: Mutex<BTreeMap<String, Instant>>,
}

/// What is behind a lock, whatever became of who held it.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn add(count: &AtomicU64, more: usize) {
    count.fetch_add(more as u64, Ordering::Relaxed);
}

impl State {
    /// What waits now.
    pub(super) fn look_at(&self, journal: &Mutex<Journal>) {
        if let Ok(waiting) = locked(journal).waiting() {
            *locked(&self.waiting) = waiting;
        }
    }

    pub(super) fn waiting(&self) -> Waiting {
        *locked(&self.waiting)
    }

    /// Something of this sender was not taken, and why. Told once in a while.
    pub(super) fn refuse(&self, reason: Reason, sender: &str, why: &str) {
        if let Some(count) = self.refused.get(reason as usize) {
            add(count, 1);
        }
        if self.is_news(format!("{sender} {reason:?}")) {
            output::note(&format!("gateway: refused from {sender}: {why}"));
        }
    }

    /// The store refuses a batch as it is, and why. Told once in a while.
    pub(super) fn set_aside(&self, why: &str) {
        if self.is_news("the store".to_owned()) {
            output::note(&format!(
                "gateway: {why}; this batch is set aside for later tries, the others go on"
            ));
        }
    }

    /// Whether this was not told for a while; it is now.
    fn is_news(&self, key: String) -> bool {
        let mut told = locked(&self.told);
        if told.len() >= SENDERS_MAX {
            told.retain(|_, at| at.elapsed() < AGAIN);
        }
        let is_new = told.get(&key).is_none_or(|at| at.elapsed() >= AGAIN);
        let is_told = is_new && told.len() < SENDERS_MAX;
        if is_told {
            told.insert(key, Instant::now());
        }
        is_told
    }

    pub(super) fn refused(&self, reason: Reason) -> u64 {
        let count = self.refused.get(reason as usize);
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Loud once, until it works again.
    pub(super) fn trouble(&self, part: Part, why: &str) {
        let before = locked(&self.troubles)
            .get_mut(part as usize)
            .and_then(|trouble| trouble.replace(why.to_owned()));
        if before.is_none() {
            output::note(&format!("gateway: {why}; trying again"));
        }
    }

    pub(super) fn works(&self, part: Part) {
        let before = locked(&self.troubles)
            .get_mut(part as usize)
            .and_then(Option::take);
        if before.is_some() {
            output::note(match part {
                Part::Journal => "gateway: takes batches again",
                Part::Store => "gateway: the store takes batches again",
            });
        }
    }

    /// What is wrong with a part, if anything.
    pub(super) fn wrong(&self, part: Part) -> Option<String> {
        locked(&self.troubles).get(part as usize).cloned().flatten()
    }
}
