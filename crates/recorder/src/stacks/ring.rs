//! What the threads did in the last minutes, in memory: runs of equal stacks, profiles by slices,
//! and the bursts whole. Stacks are numbers here; names come when an incident is written.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use model::{Millis, RunState, SnapshotMeta, Window};
use stacks::{LockLocation, RawStackId, UnwoundSnapshot, UnwoundSyscall, UnwoundThread};

/// Ended runs kept at the most, about 100 bytes each: three minutes of 500 busy threads.
const RUNS_MAX: usize = 150_000;

/// Length of a slice of the profile: not longer than the shortest stall, or none might lie in it with its middle, and the
/// stall would have no profile.
const SLICE_MS: Millis = 2000;

/// Rows of a slice at the most; the rest is counted under the overflow stack.
const SLICE_ROWS_MAX: usize = 20_000;

/// Threads of all snapshots of a burst at the most, about 100 bytes each.
const BURST_THREADS_MAX: usize = 60_000;

/// Bursts kept: the one of the trigger and the latest.
const BURSTS_MAX: usize = 3;

/// A thread with the same stack in one snapshot after another.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) tid: u32,
    pub(crate) name: Arc<str>,
    pub(crate) from: Millis,
    pub(crate) to: Millis,
    pub(crate) snapshots: u32,
    pub(crate) first_switches: u64,
    pub(crate) last_switches: u64,
    pub(crate) state: RunState,
    pub(crate) syscall: Option<UnwoundSyscall>,
    pub(crate) stack: RawStackId,
}

impl Run {
    fn begin(at: Millis, thread: &UnwoundThread) -> Self {
        Self {
            tid: thread.tid,
            name: thread.name.clone(),
            from: at,
            to: at,
            snapshots: 1,
            first_switches: thread.switches,
            last_switches: thread.switches,
            state: thread.state,
            syscall: thread.syscall,
            stack: thread.stack,
        }
    }

    /// The same thread still does the same: its stack, state, and what it waits on.
    fn goes_on(&self, thread: &UnwoundThread) -> bool {
        let wait = |syscall: &Option<UnwoundSyscall>| {
            syscall.map(|call| {
                (
                    call.number,
                    call.futex.map(|futex| (futex.address, futex.operation)),
                )
            })
        };
        self.stack == thread.stack
            && self.state == thread.state
            && wait(&self.syscall) == wait(&thread.syscall)
            && self.name == thread.name
    }

    fn extend(&mut self, at: Millis, thread: &UnwoundThread) {
        self.to = at;
        self.snapshots += 1;
        self.last_switches = thread.switches;
        self.syscall = thread.syscall;
    }
}

/// What identifies a row of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SliceKey {
    pub(crate) stack: RawStackId,
    pub(crate) thread: Arc<str>,
    pub(crate) server: bool,
}

/// A stretch of the profile at one rate.
#[derive(Debug, Clone)]
pub(crate) struct Slice {
    pub(crate) from: Millis,
    pub(crate) to: Millis,
    pub(crate) hz: u32,
    pub(crate) processors: u32,
    pub(crate) counts: HashMap<SliceKey, u64>,
    pub(crate) lost: u64,
}

/// Snapshots in quick succession, whole: what a lock table is made of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Burst {
    pub(crate) snapshots: Vec<UnwoundSnapshot>,
    /// Where the locks that were waited for lie, by address.
    pub(crate) places: HashMap<u64, LockLocation>,
}

#[derive(Debug, Default)]
pub(crate) struct StackRing {
    notes: VecDeque<SnapshotMeta>,
    open: HashMap<u32, Run>,
    ended: VecDeque<Run>,
    slices: VecDeque<Slice>,
    bursts: VecDeque<Burst>,
    bursting: bool,
    /// Runs that were dropped for room.
    pub(crate) dropped: u64,
}

impl StackRing {
    /// Takes a snapshot in.
    pub(crate) fn add(
        &mut self,
        seen: UnwoundSnapshot,
        places: impl IntoIterator<Item = (u64, LockLocation)>,
    ) {
        let at = seen.note.at;
        self.notes.push_back(seen.note);
        let mut present = HashSet::with_capacity(seen.threads.len());
        for thread in &seen.threads {
            present.insert(thread.tid);
            match self.open.get_mut(&thread.tid) {
                Some(run) if run.goes_on(thread) => run.extend(at, thread),
                Some(run) => {
                    let ended = std::mem::replace(run, Run::begin(at, thread));
                    self.ended.push_back(ended);
                }
                None => {
                    self.open.insert(thread.tid, Run::begin(at, thread));
                }
            }
        }
        let ended = &mut self.ended;
        self.open.retain(|tid, run| {
            let there = present.contains(tid);
            if !there {
                ended.push_back(run.clone());
            }
            there
        });
        while self.ended.len() > RUNS_MAX {
            self.ended.pop_front();
            self.dropped += 1;
        }
        if self.bursting
            && let Some(burst) = self.bursts.back_mut()
        {
            let threads: usize = burst.snapshots.iter().map(|seen| seen.threads.len()).sum();
            if threads + seen.threads.len() <= BURST_THREADS_MAX {
                burst.snapshots.push(seen);
                burst.places.extend(places);
            }
        }
    }

    /// From now on snapshots are kept whole.
    pub(crate) fn begin_burst(&mut self) {
        self.bursting = true;
        self.bursts.push_back(Burst::default());
        if self.bursts.len() > BURSTS_MAX {
            // The first is the stall as it began; of the others the latest say most.
            self.bursts.remove(1);
        }
    }

    pub(crate) fn end_burst(&mut self) {
        self.bursting = false;
    }

    /// Counts a sample of the profile.
    pub(crate) fn count(&mut self, at: Millis, rate: (u32, u32), key: SliceKey) {
        let slice = self.slice(at, rate);
        slice.to = at;
        if slice.counts.len() >= SLICE_ROWS_MAX && !slice.counts.contains_key(&key) {
            let overflow = SliceKey {
                stack: RawStackId::OVERFLOW,
                ..key
            };
            *slice.counts.entry(overflow).or_default() += 1;
            return;
        }
        *slice.counts.entry(key).or_default() += 1;
    }

    /// Notes that the profile goes on, whether anything ran or not.
    pub(crate) fn profiled(&mut self, at: Millis, rate: (u32, u32), lost: u64) {
        let slice = self.slice(at, rate);
        slice.to = at;
        slice.lost += lost;
    }

    fn slice(&mut self, at: Millis, (hz, processors): (u32, u32)) -> &mut Slice {
        let fits = self.slices.back().is_some_and(|slice| {
            at < slice.from + SLICE_MS && slice.hz == hz && slice.processors == processors
        });
        if !fits {
            let from = self
                .slices
                .back()
                .map_or(at, |slice| slice.to.max(at.saturating_sub(SLICE_MS)));
            self.slices.push_back(Slice {
                from,
                to: at,
                hz,
                processors,
                counts: HashMap::new(),
                lost: 0,
            });
        }
        let last = self.slices.len() - 1;
        &mut self.slices[last]
    }

    /// Forgets what ended before `from`.
    pub(crate) fn forget_before(&mut self, from: Millis) {
        while self.notes.front().is_some_and(|note| note.at < from) {
            self.notes.pop_front();
        }
        // In the order in which they ended.
        while self.ended.front().is_some_and(|run| run.to < from) {
            self.ended.pop_front();
        }
        while self.slices.front().is_some_and(|slice| slice.to < from) {
            self.slices.pop_front();
        }
        let bursting = self.bursting;
        let newest = self.bursts.len();
        let mut place = 0;
        self.bursts.retain(|burst| {
            place += 1;
            let last = burst.snapshots.last().map(|seen| seen.note.at);
            (bursting && place == newest) || last.is_some_and(|at| at >= from)
        });
    }

    /// How many runs of threads and rows of profiles lie within a window.
    pub(crate) fn rows(&self, window: Window) -> usize {
        let inside = |from: Millis, to: Millis| to >= window.from && from <= window.to;
        let runs = self.ended.iter().chain(self.open.values());
        let slices = self
            .slices
            .iter()
            .filter(|slice| inside(slice.from, slice.to));
        runs.filter(|run| inside(run.from, run.to)).count()
            + slices.map(|slice| slice.counts.len()).sum::<usize>()
    }

    /// A copy of what lies within a window.
    pub(crate) fn between(&self, window: Window) -> Evidence {
        let Window { from, to } = window;
        let inside = |begin: Millis, end: Millis| end >= from && begin <= to;
        let mut runs: Vec<Run> = self
            .ended
            .iter()
            .chain(self.open.values())
            .filter(|run| inside(run.from, run.to))
            .cloned()
            .collect();
        runs.sort_by_key(|run| (run.from, run.tid));
        Evidence {
            notes: self
                .notes
                .iter()
                .filter(|note| inside(note.at, note.at))
                .copied()
                .collect(),
            runs,
            slices: self
                .slices
                .iter()
                .filter(|slice| inside(slice.from, slice.to))
                .cloned()
                .collect(),
            bursts: self
                .bursts
                .iter()
                .filter(|burst| {
                    burst
                        .snapshots
                        .iter()
                        .any(|seen| inside(seen.note.at, seen.note.at))
                })
                .cloned()
                .collect(),
        }
    }

    /// The stacks that are in use: the others may be forgotten.
    pub(crate) fn stacks_in_use(&self) -> HashSet<RawStackId> {
        let runs = self
            .ended
            .iter()
            .chain(self.open.values())
            .map(|run| run.stack);
        let slices = self.slices.iter().flat_map(|slice| slice.counts.keys());
        let bursts = self.bursts.iter().flat_map(|burst| &burst.snapshots);
        runs.chain(slices.map(|key| key.stack))
            .chain(bursts.flat_map(|seen| seen.threads.iter().map(|thread| thread.stack)))
            .collect()
    }
}

/// What an incident takes from the ring; its stacks are numbers still.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) notes: Vec<SnapshotMeta>,
    pub(crate) runs: Vec<Run>,
    pub(crate) slices: Vec<Slice>,
    pub(crate) bursts: Vec<Burst>,
}

#[cfg(test)]
mod tests {
    use model::{FutexWait, SnapshotMeta, SnapshotMethod};

    use super::*;

    fn thread(tid: u32, stack: u32, switches: u64) -> UnwoundThread {
        UnwoundThread {
            tid,
            name: "worker".into(),
            state: RunState::Sleeping,
            switches,
            syscall: None,
            stack: RawStackId(stack),
            sampled: false,
        }
    }

    fn seen(at: Millis, threads: Vec<UnwoundThread>) -> UnwoundSnapshot {
        UnwoundSnapshot {
            note: SnapshotMeta {
                at,
                method: SnapshotMethod::Proc,
                wall_us: 1,
                stopped_us: 0,
                threads: threads.len() as u32,
                complete: threads.len() as u32,
            },
            threads,
            left_out: 0,
        }
    }

    fn all(ring: &StackRing) -> Vec<(u32, u32, Millis, Millis, u32)> {
        let window = Window {
            from: 0,
            to: u64::MAX,
        };
        let run = |run: Run| (run.tid, run.stack.0, run.from, run.to, run.snapshots);
        ring.between(window).runs.into_iter().map(run).collect()
    }

    #[test]
    fn a_thread_with_the_same_stack_is_one_run_and_another_stack_begins_another() {
        let mut ring = StackRing::default();
        ring.add(seen(1000, vec![thread(1, 7, 5), thread(2, 8, 1)]), []);
        ring.add(seen(2000, vec![thread(1, 7, 5), thread(2, 9, 2)]), []);
        // Thread 2 has ended, a thread with its number comes back.
        ring.add(seen(3000, vec![thread(1, 7, 6)]), []);
        ring.add(seen(4000, vec![thread(2, 9, 1)]), []);
        assert_eq!(
            all(&ring),
            [
                (1, 7, 1000, 3000, 3),
                (2, 8, 1000, 1000, 1),
                (2, 9, 2000, 2000, 1),
                (2, 9, 4000, 4000, 1),
            ]
        );
    }

    #[test]
    fn another_owner_of_the_lock_does_not_end_a_wait_and_another_lock_does() {
        let waits = |address, owner_word| UnwoundThread {
            syscall: Some(UnwoundSyscall {
                number: 202,
                futex: Some(FutexWait {
                    address,
                    operation: 0x80,
                    owner_word,
                    pointer_owner: 0,
                    latch_owner: 0,
                }),
            }),
            ..thread(1, 7, 5)
        };
        let mut ring = StackRing::default();
        ring.add(seen(1000, vec![waits(0x10, 41)]), []);
        ring.add(seen(2000, vec![waits(0x10, 42)]), []);
        ring.add(seen(3000, vec![waits(0x20, 42)]), []);
        assert_eq!(all(&ring), [(1, 7, 1000, 2000, 2), (1, 7, 3000, 3000, 1)]);
    }

    #[test]
    fn a_burst_keeps_snapshots_whole_until_it_ends_and_the_first_burst_longest() {
        let mut ring = StackRing::default();
        ring.add(seen(500, vec![thread(1, 1, 1)]), []);
        for burst in 1..=5 {
            ring.begin_burst();
            ring.add(seen(burst * 1000, vec![thread(1, 1, 1)]), []);
            ring.add(seen(burst * 1000 + 100, vec![thread(1, 1, 1)]), []);
            ring.end_burst();
            ring.add(seen(burst * 1000 + 500, vec![thread(1, 1, 1)]), []);
        }
        let window = Window {
            from: 0,
            to: 10_000,
        };
        let kept: Vec<(Millis, usize)> = ring
            .between(window)
            .bursts
            .iter()
            .map(|burst| (burst.snapshots[0].note.at, burst.snapshots.len()))
            .collect();
        assert_eq!(kept, [(1000, 2), (4000, 2), (5000, 2)]);
    }

    #[test]
    fn a_burst_of_a_server_with_very_many_threads_is_bounded() {
        let mut ring = StackRing::default();
        ring.begin_burst();
        let threads = |switches| (0..20_000).map(|tid| thread(tid, 1, switches)).collect();
        for at in 0..10 {
            ring.add(seen(at * 100, threads(at)), []);
        }
        let burst = &ring.bursts[0];
        let kept: usize = burst.snapshots.iter().map(|seen| seen.threads.len()).sum();
        assert_eq!(kept, BURST_THREADS_MAX);
        assert_eq!(all(&ring).len(), 20_000, "the runs go on");
    }

    #[test]
    fn samples_are_counted_by_slices_of_one_rate() {
        let key = |stack| SliceKey {
            stack: RawStackId(stack),
            thread: "worker".into(),
            server: true,
        };
        let mut ring = StackRing::default();
        ring.count(1000, (49, 2), key(1));
        ring.count(1500, (49, 2), key(1));
        ring.count(2000, (49, 2), key(2));
        ring.profiled(2900, (49, 2), 3);
        ring.count(3100, (49, 2), key(1));
        ring.count(3200, (99, 2), key(1));
        let slices: Vec<(Millis, Millis, u32, u64, u64)> = ring
            .slices
            .iter()
            .map(|slice| {
                let samples = slice.counts.values().sum();
                (slice.from, slice.to, slice.hz, samples, slice.lost)
            })
            .collect();
        assert_eq!(
            slices,
            [
                (1000, 2900, 49, 3, 3),
                (2900, 3100, 49, 1, 0),
                (3100, 3200, 99, 1, 0)
            ]
        );
    }

    #[test]
    fn a_stall_of_two_seconds_has_a_slice() {
        for trigger in (10_000..14_000).step_by(250) {
            let mut ring = StackRing::default();
            for at in (1000..=trigger).step_by(250) {
                ring.profiled(at, (49, 2), 0);
            }
            for at in (trigger..trigger + 6000).step_by(250) {
                ring.profiled(at, (99, 2), 0);
            }
            let stall = trigger - 2000..=trigger;
            let mut middles = ring
                .slices
                .iter()
                .map(|slice| slice.from.midpoint(slice.to));
            assert!(middles.any(|middle| stall.contains(&middle)), "{trigger}");
        }
    }

    #[test]
    fn what_is_old_is_forgotten_and_its_stacks_are_free() {
        let mut ring = StackRing::default();
        ring.add(seen(1000, vec![thread(1, 1, 1), thread(2, 2, 1)]), []);
        ring.add(seen(2000, vec![thread(1, 3, 2), thread(2, 2, 1)]), []);
        ring.profiled(2000, (49, 2), 0);
        ring.forget_before(1500);
        assert_eq!(all(&ring), [(2, 2, 1000, 2000, 2), (1, 3, 2000, 2000, 1)]);
        let mut in_use: Vec<u32> = ring.stacks_in_use().iter().map(|id| id.0).collect();
        in_use.sort_unstable();
        assert_eq!(in_use, [2, 3]);
    }
}
