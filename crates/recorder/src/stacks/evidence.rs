//! From numbers to names: the stacks, profiles and lock tables of an incident.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, OnceLock};

use model::{Profile, ProfileCount, StackEvidence, StackId, StackTable, ThreadRun, ThreadSnapshot};
use stacks::images::Images;
use stacks::locks::{Observed, sampled_table};
use stacks::names::Namer;
use stacks::profiler::under_its_program;
use stacks::{
    LockLocation, Numbers, RawStackId, RawStackTable, RawStacks, UnwoundSyscall, lock_symbols,
};

use super::lock;
use super::ring::{Evidence, Run, Slice};

/// Snapshots that a lock table needs: one alone says nothing of time.
const SNAPSHOTS_MIN: usize = 2;

/// The names found so far: a first naming reads symbol tables, later ones look up.
#[derive(Debug, Default)]
pub(crate) struct Naming {
    namer: OnceLock<Mutex<Namer>>,
}

impl Naming {
    /// Whether symbol tables were read.
    pub(super) fn has_begun(&self) -> bool {
        self.namer.get().is_some()
    }
}

/// What an incident took from the ring, and what is needed to name it.
#[derive(Debug)]
pub(crate) struct RawEvidence {
    taken: Evidence,
    stacks: RawStacks,
}

impl RawEvidence {
    pub(super) fn new(taken: Evidence, book: &RawStackTable) -> Self {
        let ids: HashSet<RawStackId> = stacks_of(&taken).collect();
        Self {
            stacks: RawStacks::copy(book, &ids),
            taken,
        }
    }

    /// Whether there is anything to name.
    pub(super) fn has_stacks(&self) -> bool {
        stacks_of(&self.taken).next().is_some()
    }

    /// Gives names. The first time this reads symbol tables: up to a second.
    pub(crate) fn named(self, naming: &Naming, images: &Images) -> StackEvidence {
        let mut book = StackTable::default();
        let namer = naming.namer.get_or_init(|| Mutex::new(Namer::new(images)));
        let numbers = self.stacks.name(&mut lock(namer), &mut book);
        let locks = self
            .taken
            .bursts
            .iter()
            .filter(|burst| burst.snapshots.len() >= SNAPSHOTS_MIN)
            .map(|burst| {
                let snapshots: Vec<ThreadSnapshot> = burst
                    .snapshots
                    .iter()
                    .map(|seen| seen.named(|id| numbers.get(id)))
                    .collect();
                let places = burst.places.iter();
                let symbols = lock_symbols(
                    places.map(|(address, place): (_, &LockLocation)| (*address, place)),
                );
                let observed = Observed {
                    book: &book,
                    snapshots: &snapshots,
                };
                sampled_table(&observed, &symbols)
            })
            .collect();
        let profiles = self
            .taken
            .slices
            .iter()
            .map(|slice| profile(slice, &numbers, &mut book))
            .collect();
        StackEvidence {
            snapshots: self.taken.notes,
            runs: self
                .taken
                .runs
                .iter()
                .map(|run| thread_run(run, &numbers))
                .collect(),
            profiles,
            callers: Vec::new(),
            locks,
            table: book,
        }
    }
}

fn stacks_of(taken: &Evidence) -> impl Iterator<Item = RawStackId> {
    let runs = taken.runs.iter().map(|run| run.stack);
    let slices = taken.slices.iter().flat_map(|slice| slice.counts.keys());
    let seen = taken.bursts.iter().flat_map(|burst| &burst.snapshots);
    let threads = seen.flat_map(|seen| &seen.threads);
    runs.chain(slices.map(|key| key.stack))
        .chain(threads.map(|thread| thread.stack))
}

fn thread_run(run: &Run, numbers: &Numbers) -> ThreadRun {
    ThreadRun {
        tid: run.tid,
        name: run.name.to_string(),
        from: run.from,
        to: run.to,
        snapshots: run.snapshots,
        unmoved: run.first_switches == run.last_switches && run.snapshots > 1,
        state: run.state,
        syscall: run.syscall.as_ref().map(UnwoundSyscall::named),
        stack: numbers.get(run.stack),
    }
}

fn profile(slice: &Slice, numbers: &Numbers, book: &mut StackTable) -> Profile {
    let mut counts: HashMap<(StackId, &str, bool), u64> = HashMap::new();
    for (key, count) in &slice.counts {
        let stack = numbers.get(key.stack);
        let stack = if key.server {
            stack
        } else {
            under_its_program(stack, &key.thread, book)
        };
        *counts.entry((stack, &*key.thread, key.server)).or_default() += count;
    }
    let mut counts: Vec<ProfileCount> = counts
        .into_iter()
        .map(|((stack, thread, server), count)| ProfileCount {
            stack,
            thread: thread.to_owned(),
            server,
            count,
        })
        .collect();
    counts.sort_by_key(|row| (std::cmp::Reverse(row.count), row.stack));
    Profile {
        from: slice.from,
        to: slice.to,
        hz: slice.hz,
        processors: slice.processors,
        counts,
        lost: slice.lost,
    }
}
