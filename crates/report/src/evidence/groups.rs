//! Threads with equal stacks, put together and counted.

use std::collections::{BTreeMap, HashMap};

use model::{
    OrderBy, Profile, RunState, SnapshotThread, Stack, StackEvidence, StackId, StackTable, Syscall,
    ThreadSnapshot, Window,
};

/// A thread in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupThread {
    /// Its id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its state in the last snapshot that shows it in this group.
    pub state: RunState,
    /// The system call it was in then.
    pub syscall: Option<Syscall>,
    /// Snapshots that show it in this group.
    pub snapshots: u32,
    /// It was not switched in from the first to the last of them, and they are several: one single
    /// wait.
    pub unmoved: bool,
    /// In one of them at least its stack is from a perf event, for it was on a processor.
    pub sampled: bool,
}

/// Threads with the same stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackGroup {
    /// The stack.
    pub stack: StackId,
    /// How often it was seen: the sum over all snapshots of the threads that had it.
    pub count: u64,
    /// The threads, each once, by id.
    pub threads: Vec<GroupThread>,
}

/// All threads of one or several snapshots, by stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackGroups {
    /// Snapshots they are from.
    pub snapshots: u32,
    /// Threads, summed over all snapshots.
    pub threads: u64,
    /// Threads whose stack is complete, summed over all snapshots.
    pub complete: u64,
    /// The groups, the largest first; equal ones by the names of their frames.
    pub groups: Vec<StackGroup>,
}

impl StackGroups {
    /// A sum over all snapshots as the average of one of them.
    pub fn average(&self, sum: u64) -> f64 {
        sum as f64 / f64::from(self.snapshots.max(1))
    }

    /// Share of the threads that have this stack, 0 to 1.
    pub fn share(&self, group: &StackGroup) -> f64 {
        share(group.count, self.threads)
    }

    /// Share of the stacks that are complete, 0 to 1; 1 when there are none.
    pub fn complete_share(&self) -> f64 {
        match self.threads {
            0 => 1.0,
            threads => self.complete as f64 / threads as f64,
        }
    }
}

/// The threads of one or several snapshots, by stack.
pub fn group_snapshots(snapshots: &[ThreadSnapshot], book: &StackTable) -> StackGroups {
    let mut gathering = Gathering::new(book);
    for snapshot in snapshots {
        for thread in &snapshot.threads {
            gathering.add(thread, 1, Moved::Switches(thread.switches));
        }
    }
    gathering.finish(u32::try_from(snapshots.len()).unwrap_or(u32::MAX))
}

/// The threads of an incident's snapshots within a window, by stack.
///
/// A run that reaches beyond the window counts with those of its snapshots that are inside.
pub fn group_runs(evidence: &StackEvidence, window: Window) -> StackGroups {
    let mut moments: Vec<_> = evidence.snapshots.iter().map(|note| note.at).collect();
    moments.sort_unstable();
    let between = |from, to| {
        let begin = moments.partition_point(|at| *at < from);
        let end = moments.partition_point(|at| *at <= to);
        u32::try_from(end.saturating_sub(begin)).unwrap_or(u32::MAX)
    };
    let mut gathering = Gathering::new(&evidence.table);
    for run in &evidence.runs {
        let inside = between(run.from.max(window.from), run.to.min(window.to));
        // The notes may be fewer than the runs know when a part of the file was lost.
        let snapshots = inside.min(run.snapshots);
        if snapshots == 0 {
            continue;
        }
        let thread = SnapshotThread {
            tid: run.tid,
            name: run.name.clone(),
            state: run.state,
            syscall: run.syscall.clone(),
            stack: run.stack,
            switches: 0,
            sampled: false,
        };
        gathering.add(&thread, snapshots, Moved::Known(!run.unmoved));
    }
    gathering.finish(between(window.from, window.to))
}

/// Samples of the processors by stack, threads of one name put together: `count` and `snapshots`
/// are samples, and thread ids are 0.
pub fn group_samples(profiles: &[Profile], book: &StackTable) -> StackGroups {
    let mut groups: HashMap<&Stack, (StackId, BTreeMap<&str, u64>)> = HashMap::new();
    for row in profiles.iter().flat_map(|profile| &profile.counts) {
        let (_, names) = groups
            .entry(book.stack(row.stack))
            .or_insert_with(|| (row.stack, BTreeMap::new()));
        let sum = names.entry(row.thread.as_str()).or_default();
        *sum = sum.saturating_add(row.count);
    }
    let mut out = StackGroups {
        snapshots: 1,
        ..StackGroups::default()
    };
    for (stack, (id, names)) in groups {
        let count = names
            .values()
            .fold(0_u64, |sum, count| sum.saturating_add(*count));
        out.threads = out.threads.saturating_add(count);
        if stack.end.is_complete() {
            out.complete = out.complete.saturating_add(count);
        }
        let threads = names
            .into_iter()
            .map(|(name, count)| GroupThread {
                tid: 0,
                name: name.to_owned(),
                state: RunState::Running,
                syscall: None,
                snapshots: u32::try_from(count).unwrap_or(u32::MAX),
                unmoved: false,
                sampled: true,
            })
            .collect();
        out.groups.push(StackGroup {
            stack: id,
            count,
            threads,
        });
    }
    sort(&mut out.groups, book);
    out
}

/// What tells whether a thread was switched in between two sightings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moved {
    /// Its count of context switches.
    Switches(u64),
    /// It is known.
    Known(bool),
}

/// The threads of a group by id, with what their last sighting told.
type Threads = BTreeMap<u32, (GroupThread, Moved)>;

struct Gathering<'a> {
    book: &'a StackTable,
    groups: HashMap<&'a Stack, (StackId, Threads)>,
}

impl<'a> Gathering<'a> {
    fn new(book: &'a StackTable) -> Self {
        Self {
            book,
            groups: HashMap::new(),
        }
    }

    fn add(&mut self, thread: &SnapshotThread, snapshots: u32, moved: Moved) {
        let (_, threads) = self
            .groups
            .entry(self.book.stack(thread.stack))
            .or_insert_with(|| (thread.stack, BTreeMap::new()));
        let Some((known, before)) = threads.get_mut(&thread.tid) else {
            let first = GroupThread {
                tid: thread.tid,
                name: thread.name.clone(),
                state: thread.state,
                syscall: thread.syscall.clone(),
                snapshots,
                unmoved: moved == Moved::Known(false),
                sampled: thread.sampled,
            };
            threads.insert(thread.tid, (first, moved));
            return;
        };
        // Two runs of a thread in one group are two waits; an equal count of switches is one.
        known.unmoved = matches!(moved, Moved::Switches(_))
            && moved == *before
            && (known.unmoved || known.snapshots == 1);
        known.snapshots = known.snapshots.saturating_add(snapshots);
        known.sampled |= thread.sampled;
        known.state = thread.state;
        known.name.clone_from(&thread.name);
        known.syscall.clone_from(&thread.syscall);
        *before = moved;
    }

    fn finish(self, snapshots: u32) -> StackGroups {
        let mut out = StackGroups {
            snapshots,
            ..StackGroups::default()
        };
        for (stack, (id, threads)) in self.groups {
            let mut threads: Vec<GroupThread> =
                threads.into_values().map(|(thread, _)| thread).collect();
            for thread in &mut threads {
                thread.unmoved &= thread.snapshots > 1;
            }
            let count = threads
                .iter()
                .map(|thread| u64::from(thread.snapshots))
                .sum();
            out.threads += count;
            if stack.end.is_complete() {
                out.complete += count;
            }
            out.groups.push(StackGroup {
                stack: id,
                count,
                threads,
            });
        }
        sort(&mut out.groups, self.book);
        out
    }
}

/// The largest first; equal ones by the names of their frames.
fn sort(groups: &mut [StackGroup], book: &StackTable) {
    let names = |id| book.frames_of(id).map(|frame| frame.name.as_str());
    groups.order_by(|a, b| {
        b.count
            .cmp(&a.count)
            .then_with(|| names(a.stack).cmp(names(b.stack)))
            .then(a.stack.cmp(&b.stack))
    });
}

/// A part of a whole, 0 to 1; 0 of nothing.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use model::{SnapshotMeta, SnapshotMethod, StackEnd, ThreadRun};

    use super::*;
    use crate::evidence::testing::{snapshot, thread, user};

    #[test]
    fn equal_stacks_are_one_group_and_the_largest_is_first() {
        let mut book = StackTable::default();
        let wait = book.intern([user("wait"), user("main")], StackEnd::Complete);
        let cut = book.intern([user("wait"), user("main")], StackEnd::TooDeep);
        let work = book.intern([user("work"), user("main")], StackEnd::Complete);
        let mut moving = thread(2, wait);
        moving.switches = 9;
        let groups = group_snapshots(
            &[
                snapshot(vec![thread(1, wait), thread(2, wait), thread(3, cut)]),
                snapshot(vec![thread(1, wait), moving, thread(3, work)]),
            ],
            &book,
        );
        let seen: Vec<_> = groups
            .groups
            .iter()
            .map(|group| (group.stack, group.count, group.threads.len()))
            .collect();
        assert_eq!(seen, [(wait, 4, 2), (cut, 1, 1), (work, 1, 1)]);
        assert_eq!(
            (groups.snapshots, groups.threads, groups.complete),
            (2, 6, 5)
        );
        assert_eq!(groups.average(4), 2.0);
        let unmoved: Vec<bool> = groups.groups[0].threads.iter().map(|t| t.unmoved).collect();
        assert_eq!(unmoved, [true, false], "one was switched in between");
        assert!(!groups.groups[1].threads[0].unmoved, "seen once");
    }

    #[test]
    fn a_thread_that_moved_once_is_not_unmoved_afterwards() {
        let mut book = StackTable::default();
        let wait = book.intern([user("wait")], StackEnd::Complete);
        let at = |switches| {
            let mut thread = thread(1, wait);
            thread.switches = switches;
            snapshot(vec![thread])
        };
        for (counts, unmoved) in [([5, 6, 6], false), ([5, 5, 6], false), ([5, 5, 5], true)] {
            let groups = group_snapshots(&counts.map(at), &book);
            assert_eq!(groups.groups[0].threads[0].unmoved, unmoved, "{counts:?}");
        }
    }

    #[test]
    fn runs_count_what_lies_in_the_window() {
        let mut evidence = StackEvidence::default();
        let wait = evidence.table.intern([user("wait")], StackEnd::Complete);
        evidence.snapshots = (0..10)
            .map(|second| SnapshotMeta {
                at: second * 1000,
                method: SnapshotMethod::Bpf,
                wall_us: 1,
                stopped_us: 0,
                threads: 1,
                complete: 1,
            })
            .collect();
        let run = |tid, from, to, unmoved| ThreadRun {
            tid,
            name: "t".to_owned(),
            from,
            to,
            snapshots: ((to - from) / 1000 + 1) as u32,
            unmoved,
            state: RunState::Sleeping,
            syscall: None,
            stack: wait,
        };
        evidence.runs = vec![
            run(1, 0, 9000, true),
            run(2, 3000, 4000, false),
            run(3, 8000, 9000, true),
        ];
        let groups = group_runs(
            &evidence,
            Window {
                from: 2000,
                to: 5000,
            },
        );
        assert_eq!(groups.snapshots, 4);
        assert_eq!(groups.groups.len(), 1);
        let threads: Vec<_> = groups.groups[0]
            .threads
            .iter()
            .map(|thread| (thread.tid, thread.snapshots, thread.unmoved))
            .collect();
        assert_eq!(threads, [(1, 4, true), (2, 2, false)]);
    }

    #[test]
    fn nothing_is_no_group() {
        let groups = group_snapshots(&[], &StackTable::default());
        assert!(groups.groups.is_empty());
        assert_eq!(groups.average(0), 0.0);
        assert_eq!(groups.complete_share(), 1.0);
        let foreign = group_snapshots(
            &[snapshot(vec![thread(1, StackId(9))])],
            &StackTable::default(),
        );
        assert_eq!((foreign.threads, foreign.complete), (1, 0));
    }
}
