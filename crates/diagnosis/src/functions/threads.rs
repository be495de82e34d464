//! Where the server's threads stood.

use std::sync::Arc;

use model::{Holder, RunState, StackId, Window};

use super::snapshots::{Snapshot, Snapshots};
use super::{Arguments, Read};
use crate::evidence::Evidence;
use crate::human::Show;
use crate::measure::{Function, Kind, Measured, Sign, Taken, known};
use crate::named::Seen;
use crate::names::NamePattern;
use crate::provenance::STACKS;
use crate::thread_runs::RunSeen;

pub(crate) static KIND: Kind = Kind {
    name: "stacks",
    documentation: r"
**Threads** in snapshots; the baseline needs three before the onset.

| | |
|---|---|
| `threads(…)`, `threads_share(…)` | at a time, on average; share of all, idle ones included |
| `stack` (or `state`) | list, innermost first, kernel first: the stack goes through such functions in this order, others between |
| `direct` | none may be between |
| `alone` | only moments in which every other thread idled: nobody was at work |
| `state`, `thread` | `running`, `sleeping`, `uninterruptible`, `stopped`; the thread's name |
| `syscall` | the system call that the thread is in, also where its stack cannot be read |
",
    taken: Taken::Snapshots,
    each: None,
    names: Some(Seen::Threads),
    functions: &[
        known("threads", Show::Count, |from| Threads::read(from, false)),
        known("threads_share", Show::Percent, |from| {
            Threads::read(from, true)
        }),
    ],
};

/// Functions of threads that each server has: the first, which takes connections, and the one that waits for signals.
const ALWAYS_THERE: [&str; 4] = [
    "main",
    "mysqld_main",
    "handle_connections_sockets",
    "signal_hand",
];

/// Snapshots before the onset that are something to compare with, at the least.
const BASELINE_SNAPSHOTS_MIN: usize = 3;

#[derive(Debug)]
struct Threads {
    /// In this order, innermost first; others may be between them. None for any stack.
    stack: Vec<NamePattern>,
    /// None may be between them: each calls the one before.
    direct: bool,
    state: Option<RunState>,
    /// The thread's name.
    thread: Option<NamePattern>,
    /// The name of its system call.
    syscall: Option<NamePattern>,
    /// Of all threads, not their number at a time.
    share: bool,
    /// Only in snapshots in which every other thread idled.
    alone: bool,
}

impl Threads {
    fn read(from: &mut Arguments, share: bool) -> Read<Arc<dyn Function>> {
        let states = [
            RunState::Running,
            RunState::Sleeping,
            RunState::Uninterruptible,
            RunState::Stopped,
        ];
        let read = Self {
            stack: from.patterns("stack")?,
            direct: from.flag("direct")?,
            state: from.word("state", &states.map(|state| (state.to_text(), state)))?,
            thread: from.pattern("thread")?,
            syscall: from.pattern("syscall")?,
            share,
            alone: from.flag("alone")?,
        };
        if read.stack.is_empty() && read.state.is_none() {
            return from.lack("needs stack = ['…'], or a state");
        }
        Ok(Arc::new(read))
    }

    fn snapshots<'e>(&self, evidence: &'e Evidence) -> Snapshots<'e> {
        let runs = evidence.runs();
        let mut changes = Changes::new(runs.snapshots.len());
        let matches = |seen: &RunSeen| {
            let is_in = |wanted: &NamePattern, name: Option<&String>| {
                name.is_some_and(|name| wanted.is_match(name))
            };
            let name = || Some(&runs.run(seen)?.name);
            let call = || Some(&runs.run(seen)?.syscall.as_ref()?.name);
            (self.state.is_none() || seen.state == self.state)
                && (self.thread.as_ref()).is_none_or(|wanted| is_in(wanted, name()))
                && (self.syscall.as_ref()).is_none_or(|wanted| is_in(wanted, call()))
        };
        let mut look = |all: &[RunSeen]| {
            let found = all.iter().filter(|seen| matches(seen));
            found.for_each(|seen| changes.add(seen));
        };
        let path = evidence.frames.path(&self.stack, self.direct);
        match path.stacks() {
            Some(stacks) => stacks.for_each(|stack| look(runs.of(stack))),
            None => runs.by_stack().for_each(|(_, all)| look(all)),
        }
        let mut matching = changes.sums();
        // What each function means is looked up where somebody matches.
        if self.alone && matching.iter().any(|count| *count > 0) {
            let goes_there = |stack| self.stack.is_empty() || path.is_of(stack);
            let is_other = |stack, seen: &RunSeen| !goes_there(stack) || !matches(seen);
            alone(evidence, is_other, &mut matching);
        }
        let snapshots = runs.snapshots.iter().zip(matching);
        let snapshots = snapshots.map(|((_, threads), matching)| Snapshot {
            matching,
            of: u64::from(*threads),
        });
        Snapshots {
            moments: evidence.snapshot_moments(),
            all: snapshots.collect(),
        }
    }

    fn average(&self, of: &[Snapshot]) -> Option<f64> {
        let matching: u64 = of.iter().map(|one| one.matching).sum();
        let of = match self.share {
            false => of.len() as f64,
            true => of.iter().map(|one| one.of).sum::<u64>() as f64,
        };
        (of > 0.0).then(|| matching as f64 / of)
    }
}

/// Leaves the number of threads only in snapshots in which nobody of the others was at work. Of a listing without a
/// thread that each server has only a part was shown: others may have been at work.
fn alone(
    evidence: &Evidence,
    mut is_other: impl FnMut(StackId, &RunSeen) -> bool,
    matching: &mut [u64],
) {
    let runs = evidence.runs();
    let mut first = Changes::new(matching.len());
    let always_there = evidence.frames.having(&ALWAYS_THERE);
    let threads = always_there.flat_map(|stack| runs.of(stack));
    threads.for_each(|seen| first.add(seen));
    let unknown = matching.iter_mut().zip(first.sums());
    let unknown = unknown.filter(|(_, first)| *first == 0);
    unknown.for_each(|(count, _)| *count = 0);
    let mut left = matching.iter().filter(|count| **count > 0).count();
    for (stack, all) in runs.by_stack() {
        // In a crowd at work the first stacks tell, and what the functions of the others mean need not be looked up.
        if left == 0 {
            return;
        }
        // At the start the first thread itself is at work.
        if all.is_empty() || evidence.meanings().is_idle(stack) {
            continue;
        }
        for seen in all.iter().filter(|seen| is_other(stack, seen)) {
            let seen = matching.get_mut(seen.from as usize..seen.behind as usize);
            let seen = seen.unwrap_or_default().iter_mut();
            for count in seen.filter(|count| **count > 0) {
                *count = 0;
                left -= 1;
            }
        }
    }
}

/// How many more or fewer runs each snapshot saw than the one before: a run is added where it begins and taken off behind
/// its end, however long it is.
struct Changes(Vec<i64>);

impl Changes {
    fn new(snapshots: usize) -> Self {
        Self(vec![0; snapshots])
    }

    fn add(&mut self, seen: &RunSeen) {
        for (place, change) in [(seen.from, 1), (seen.behind, -1)] {
            if let Some(sum) = self.0.get_mut(place as usize) {
                *sum += change;
            }
        }
    }

    /// How many runs each snapshot saw.
    fn sums(self) -> Vec<u64> {
        let sums = self.0.into_iter().scan(0, |sum: &mut i64, change| {
            *sum += change;
            Some(u64::try_from(*sum).unwrap_or(0))
        });
        sums.collect()
    }
}

impl Function for Threads {
    fn source(&self) -> &'static str {
        STACKS
    }

    fn words(&self, in_full: bool) -> String {
        let mut what = match self.share {
            true => "the share of threads",
            false => "the number of threads",
        }
        .to_owned();
        if let Some(thread) = self.thread.as_ref().filter(|_| in_full) {
            what += &format!(" named /{}/", thread.text());
        }
        if let Some(state) = self.state
            && (in_full || self.stack.is_empty())
        {
            what += &format!(" that were {}", state.to_text());
        }
        if let Some(syscall) = &self.syscall {
            what += &format!(" in the system call /{}/", syscall.shown(in_full));
        }
        let patterns: Vec<String> = self.stack.iter().map(|one| one.shown(in_full)).collect();
        let between = match in_full && self.direct {
            true => "/ called by /",
            false => "/ under /",
        };
        if !patterns.is_empty() {
            what += &format!(" in /{}/", patterns.join(between));
        }
        if self.alone {
            what += " while all others idled";
        }
        what
    }

    fn measure(&self, sign: &Sign, evidence: &Evidence) -> Measured {
        let snapshots = self.snapshots(evidence);
        let seen = snapshots.seen(sign, evidence, STACKS, |inside| self.average(inside));
        let baseline = evidence.baseline.and_then(|window| {
            let inside = snapshots.inside(window);
            let enough = inside.len() >= BASELINE_SNAPSHOTS_MIN;
            enough.then(|| self.average(inside)).flatten()
        });
        let measured = Measured::new(sign, seen, baseline);
        match (self.share, evidence.is_part("stacks")) {
            (true, _) => measured,
            (false, true) => measured.of_part(sign),
            (false, false) => measured.of_crowd(evidence),
        }
    }

    fn readings(&self, evidence: &Evidence) -> Vec<(Window, f64)> {
        let number = |one: &Snapshot| self.average(std::slice::from_ref(one));
        self.snapshots(evidence).each(number)
    }

    fn asks_for(&self, kind: lexicon::Kind, name: &str) -> bool {
        kind == lexicon::Kind::Function && self.stack.iter().any(|one| one.is_match(name))
    }

    fn is_of_holder(&self, holder: &Holder, evidence: &Evidence) -> bool {
        !self.stack.is_empty() && evidence.frames.path(&self.stack, false).is_of(holder.stack)
    }
}
