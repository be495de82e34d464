//! Stacks and profiles of the recorded server, from two threads that look at it (one for all
//! threads, one for the processors) to the incident. Taking is fast and never waits for naming;
//! names are given once, when an incident is written, on the thread that writes it.
//!
//! **Numbers now, names later.** What is taken is unwound at once (28 KiB a thread) and put into a book of distinct
//! stacks (8 bytes a frame). Names are given when an incident is written or reported: reading symbol tables takes up
//! to a second.
//!
//! **Runs.** A thread with the same stack, state and wait in snapshot after snapshot is one run, which costs nothing
//! as it grows. In calm, a thread whose count of context switches has not changed is not copied again. Profiles are
//! counted in slices of 2 s, the length of the shortest stall.
//!
//! **Sweeping.** Once a minute what left the ring is forgotten, with every stack that nothing refers to. A read-write
//! lock (`sweeping`) keeps a stack from being forgotten between book and ring; sweeping tries, and does not wait for
//! it.
//!
//! **Bursts.** 10 s at the trigger, then 5 s each minute: snapshots at 10 Hz kept whole (lock tables are made from
//! them), all threads copied (a lock may have another owner), 99 samples a second. The first and the two latest are
//! kept.

mod evidence;
mod recent;
mod ring;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use model::{Millis, Window};
use stacks::images::Images;
use stacks::{LockLocation, RawStackId, RawStackTable, UnwoundSnapshot};

pub(crate) use evidence::RawEvidence;
pub use recent::RecentStacks;
use ring::{SliceKey, StackRing};

/// How long a burst lasts: the one of the trigger, and those that follow while the stall lasts.
const FIRST_BURST_MS: Millis = 10_000;
const LATER_BURST_MS: Millis = 5000;

/// Stacks of so long are named first, milliseconds: a snapshot each second, and a slice of the profile.
const FIRST_NAMED_MS: Millis = 3000;

/// From the begin of one burst to the next while a stall lasts.
const BURST_AGAIN_MS: Millis = 60_000;

/// Distinct stacks kept, about 300 bytes each.
const STACKS_MAX: usize = 50_000;

/// How often stacks that nothing refers to any more are forgotten.
const SWEEP_EVERY_MS: Millis = 60_000;

/// A sample of the profile, unwound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProfileSample {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) server: bool,
    pub(crate) stack: RawStackId,
    pub(crate) complete: bool,
}

/// What the two threads and the recorder share.
#[derive(Debug)]
pub(crate) struct StackWatch {
    /// The programs and libraries seen.
    pub(crate) images: Images,
    /// Stacks by number. Held while one is added, never while anything can block.
    pub(crate) book: Arc<Mutex<RawStackTable>>,
    ring: Mutex<StackRing>,
    burst_from: AtomicU64,
    burst_until: AtomicU64,
    swept: AtomicU64,
    naming: evidence::Naming,
    /// Read while stacks are on their way from the book to the ring, written while what nothing
    /// refers to is forgotten: a number must not be given to another stack in between.
    pub(crate) sweeping: RwLock<()>,
}

/// The lock of a value that a panic cannot leave half-written in a way that matters: what was
/// being added is missing.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StackWatch {
    pub(crate) fn new() -> Self {
        Self {
            images: Images::new(),
            book: Arc::new(Mutex::new(RawStackTable::new(STACKS_MAX))),
            ring: Mutex::default(),
            burst_from: AtomicU64::new(0),
            burst_until: AtomicU64::new(0),
            swept: AtomicU64::new(0),
            naming: evidence::Naming::default(),
            sweeping: RwLock::new(()),
        }
    }

    /// Takes a snapshot in; of a burst also the places of the locks that are waited for.
    pub(crate) fn add(
        &self,
        seen: UnwoundSnapshot,
        places: impl IntoIterator<Item = (u64, LockLocation)>,
    ) {
        lock(&self.ring).add(seen, places);
    }

    /// Runs that were dropped for room since the recording began.
    pub(crate) fn dropped(&self) -> u64 {
        lock(&self.ring).dropped
    }

    pub(crate) fn count(
        &self,
        at: Millis,
        rate: (u32, u32),
        sample: &ProfileSample,
        name: Arc<str>,
    ) {
        let key = SliceKey {
            stack: sample.stack,
            thread: name,
            server: sample.server,
        };
        lock(&self.ring).count(at, rate, key);
    }

    pub(crate) fn profiled(&self, at: Millis, rate: (u32, u32), lost: u64) {
        lock(&self.ring).profiled(at, rate, lost);
    }

    /// Whether a burst is on.
    pub(crate) fn in_burst(&self, now: Millis) -> bool {
        now < self.burst_until.load(Ordering::Relaxed)
    }

    /// A stall was noticed.
    pub(crate) fn begin_burst(&self, now: Millis) {
        self.burst(now, FIRST_BURST_MS);
    }

    fn burst(&self, now: Millis, length: Millis) {
        lock(&self.ring).begin_burst();
        self.burst_from.store(now, Ordering::Relaxed);
        self.burst_until.store(now + length, Ordering::Relaxed);
    }

    /// What is due by time: the next burst while a stall lasts, the end of one, forgetting.
    pub(crate) fn beat(&self, now: Millis, stalling: bool, keep_from: Millis) {
        let until = self.burst_until.load(Ordering::Relaxed);
        if until != 0 && now >= until {
            lock(&self.ring).end_burst();
            self.burst_until.store(0, Ordering::Relaxed);
        }
        if stalling && until == 0 && now >= self.burst_from.load(Ordering::Relaxed) + BURST_AGAIN_MS
        {
            self.burst(now, LATER_BURST_MS);
        }
        if now >= self.swept.load(Ordering::Relaxed) + SWEEP_EVERY_MS
            && let Ok(_nobody_adds) = self.sweeping.try_write()
        {
            self.swept.store(now, Ordering::Relaxed);
            let mut ring = lock(&self.ring);
            ring.forget_before(keep_from);
            let in_use: HashSet<RawStackId> = ring.stacks_in_use();
            drop(ring);
            lock(&self.book).retain(&in_use);
        }
    }

    /// What an incident takes along, still without names.
    pub(crate) fn evidence(&self, window: Window) -> RawEvidence {
        let taken = lock(&self.ring).between(window);
        RawEvidence::new(taken, &lock(&self.book))
    }

    /// What reads the symbol tables when it is named: the stacks of the last moments. Nothing where they were read before,
    /// or there are no stacks.
    pub(crate) fn first_to_name(&self, now: Millis) -> Option<RawEvidence> {
        if self.naming.has_begun() {
            return None;
        }
        let raw = self.evidence(Window {
            from: now.saturating_sub(FIRST_NAMED_MS),
            to: now,
        });
        raw.has_stacks().then_some(raw)
    }

    /// Gives names, on the caller's thread: the first time this reads symbol tables.
    pub(crate) fn name(&self, raw: RawEvidence) -> model::StackEvidence {
        raw.named(&self.naming, &self.images)
    }
}
