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

    fn snapshots(&self, evidence: &Evidence) -> Snapshots {
        let runs = evidence.runs();
        let mut changes = Changes::new(runs.snapshots.len());
        // All who work, without those that match.
        let mut others = Changes::new(runs.snapshots.len());
        let (mut threads, mut calls) = (LastAsked::default(), LastAsked::default());
        let mut add = |(stack, all): (StackId, &[RunSeen])| {
            let works = self.alone && !evidence.meanings().is_idle(stack);
            for seen in all {
                let matches = (self.state.is_none() || seen.state == self.state)
                    && self.thread.as_ref().is_none_or(|thread| {
                        let run = runs.run(seen);
                        run.is_some_and(|run| threads.is_match(thread, &run.name))
                    })
                    && self.syscall.as_ref().is_none_or(|wanted| {
                        let call = runs.run(seen).and_then(|run| run.syscall.as_ref());
                        call.is_some_and(|call| calls.is_match(wanted, &call.name))
                    });
                changes.add(seen, i64::from(matches));
                others.add(seen, -i64::from(matches && works));
            }
        };
        let path = evidence.frames.path(&self.stack, self.direct);
        match path.stacks() {
            Some(stacks) => stacks.for_each(|stack| add((stack, runs.of(stack)))),
            None => runs.by_stack().for_each(add),
        }
        let mut matching = changes.sums();
        // Who works is looked for where somebody matches: what each function means is looked up for it.
        if self.alone && matching.iter().any(|count| *count > 0) {
            alone(evidence, others, &mut matching);
        }
        let snapshots = runs.snapshots.iter().zip(matching);
        let snapshots = snapshots.map(|((at, threads), matching)| Snapshot {
            at: *at,
            matching,
            of: u64::from(*threads),
        });
        Snapshots(snapshots.collect())
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

/// The name that a pattern was asked of last: runs with one stack stand side by side, and most of them have one name.
#[derive(Default)]
struct LastAsked<'n>(Option<(&'n str, bool)>);

impl<'n> LastAsked<'n> {
    fn is_match(&mut self, pattern: &NamePattern, name: &'n str) -> bool {
        match self.0 {
            Some((last, is)) if last == name => is,
            _ => self.0.insert((name, pattern.is_match(name))).1,
        }
    }
}

/// Leaves the number of threads only in snapshots in which nobody of the others was at work. Of a listing without a
/// thread that each server has only a part was shown: others may have been at work.
fn alone(evidence: &Evidence, mut others: Changes, matching: &mut [u64]) {
    let meanings = evidence.meanings();
    let mut first = Changes::new(matching.len());
    for (stack, all) in evidence.runs().by_stack() {
        let mut frames = meanings.frames(stack);
        let is_first = frames.any(|(name, _)| ALWAYS_THERE.contains(&name));
        // At the start the first thread itself is at work.
        let works = !meanings.is_idle(stack);
        for seen in all {
            first.add(seen, i64::from(is_first));
            others.add(seen, i64::from(works));
        }
    }
    let counts = others.sums().into_iter().zip(first.sums());
    for (count, (at_work, first)) in matching.iter_mut().zip(counts) {
        if at_work > 0 || first == 0 {
            *count = 0;
        }
    }
}

/// How many more or fewer runs each snapshot saw than the one before: each run is added where it begins and taken off
/// behind its end.
struct Changes(Vec<i64>);

impl Changes {
    fn new(snapshots: usize) -> Self {
        Self(vec![0; snapshots])
    }

    fn add(&mut self, seen: &RunSeen, times: i64) {
        for (place, change) in [(seen.from, times), (seen.behind, -times)] {
            if let Some(sum) = self.0.get_mut(place as usize) {
                *sum += change;
            }
        }
    }

    /// How many runs each snapshot saw.
    fn sums(self) -> Vec<u64> {
        let mut sum: i64 = 0;
        let sums = self.0.into_iter().map(|change| {
            sum += change;
            u64::try_from(sum).unwrap_or(0)
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
