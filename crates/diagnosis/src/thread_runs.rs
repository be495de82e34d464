//! Where the threads of a record stood, sorted by stack: each of dozens of signs looks at a few stacks
//! of thousands of runs.

use model::{Millis, OrderBy, RunState, StackEvidence, StackId, ThreadRun};

use crate::grouped::Grouped;

/// A run that some snapshot saw.
#[derive(Clone, Copy, Default)]
pub(crate) struct RunSeen {
    /// Its place in the record.
    run: u32,
    /// Place of the first snapshot that saw it, and behind the last.
    pub(crate) from: u32,
    pub(crate) behind: u32,
    /// Copied from the run: most signs ask for nothing else of it, and a record has too many runs for the caches.
    pub(crate) state: Option<RunState>,
}

/// The snapshots and runs of a record.
pub(crate) struct Runs<'a> {
    /// When each snapshot was taken and of how many threads, by time.
    pub(crate) snapshots: Vec<(Millis, u32)>,
    runs: &'a [ThreadRun],
    by_stack: Grouped<RunSeen>,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(stacks: &'a StackEvidence) -> Self {
        let notes = stacks.snapshots.iter();
        let mut snapshots: Vec<(Millis, u32)> = notes.map(|note| (note.at, note.threads)).collect();
        snapshots.order_by_key(|(at, _)| *at);
        // The number behind those of the book is an empty stack's.
        let numbers = stacks.table.stacks().len();
        let (mut first_from, mut first_behind) = (places(&snapshots), places(&snapshots));
        // A loop, not an adapter: that hands each on through memory, which took half of the time.
        let mut seen: Vec<(usize, RunSeen)> = Vec::with_capacity(stacks.runs.len());
        for (place, run) in (0..).zip(&stacks.runs) {
            let one = RunSeen {
                run: place,
                from: first_from(run.from) as u32,
                behind: first_behind(run.to.saturating_add(1)) as u32,
                state: Some(run.state),
            };
            if one.from < one.behind {
                seen.push(((run.stack.0 as usize).min(numbers), one));
            }
        }
        drop((first_from, first_behind));
        Self {
            by_stack: Grouped::new(numbers + 1, seen.iter().copied()),
            runs: &stacks.runs,
            snapshots,
        }
    }

    /// The stacks with their runs.
    pub(crate) fn by_stack(&self) -> impl Iterator<Item = (StackId, &[RunSeen])> {
        (0..).map(StackId).zip(self.by_stack.iter())
    }

    /// Those of one stack.
    pub(crate) fn of(&self, stack: StackId) -> &[RunSeen] {
        self.by_stack.of(stack.0 as usize)
    }

    pub(crate) fn run(&self, seen: &RunSeen) -> Option<&'a ThreadRun> {
        self.runs.get(seen.run as usize)
    }
}

/// The place of the first snapshot from a moment on. Runs of one snapshot stand together: the latest place is remembered.
fn places(snapshots: &[(Millis, u32)]) -> impl FnMut(Millis) -> usize {
    let mut latest = (0, 0);
    move |moment| {
        if latest.0 != moment {
            let place = snapshots.partition_point(|(at, _)| *at < moment);
            latest = (moment, place);
        }
        latest.1
    }
}
