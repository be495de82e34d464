//! Where threads of the server waited: the flame graph of snapshots of all threads, in the stall against the calm before.
//! A profile has only those that ran.

use std::collections::BTreeMap;

use model::{Incident, Millis, Profile, ProfileCount, RunState, StackId, ThreadRun, Window};

use super::flame::{Graph, Limits};
use crate::flame_tree::{FlameTree, Whose};
use crate::markup::{Markup, markup};

/// Seconds of a graph that can be chosen are of so many milliseconds.
const PART_MS: Millis = 2_000;

/// The graph; nothing where no thread was seen to wait. `windows` are the calm and the stall, `moments` when snapshots
/// were taken.
pub(super) fn figure(
    incident: &Incident,
    moments: &[Millis],
    windows: [Window; 2],
    script: bool,
) -> Markup {
    let [before, stall] = windows.map(|window| parts(&incident.stacks.runs, moments, window));
    let [before, stall]: [Vec<&Profile>; 2] = [before.iter().collect(), stall.iter().collect()];
    if stall.is_empty() {
        return Markup::new();
    }
    let names: &[&str] = match before.is_empty() {
        true => &["in the stall"],
        false => &["before", "in the stall"],
    };
    let book = &incident.stacks.book;
    let tree = FlameTree::of_whose(Whose::Server, (&before, book), (&stall, book));
    let graph = Graph {
        tree: &tree,
        names,
        label: "Flame graph of where threads waited",
        limits: Limits::SECOND_SECTION,
        script,
    };
    markup!(
        "<h3>Where threads waited</h3><p>Each thread that did not run in a snapshot is a sample; \
         those that are always idle do not change.</p>{}",
        graph.figure()
    )
}

/// The threads that waited in a window, as profiles of a part of it each. They have no rate: no processor was busy.
fn parts(runs: &[ThreadRun], moments: &[Millis], window: Window) -> Vec<Profile> {
    let mut parts: BTreeMap<Millis, BTreeMap<(StackId, &str), u64>> = BTreeMap::new();
    let waits = |run: &&ThreadRun| {
        matches!(
            run.state,
            RunState::Sleeping | RunState::Uninterruptible | RunState::Stopped
        )
    };
    for run in runs.iter().filter(waits) {
        let (from, to) = (run.from.max(window.from), run.to.min(window.to));
        let begin = moments.partition_point(|at| *at < from);
        let seen = moments.iter().skip(begin).take_while(|at| **at <= to);
        for at in seen {
            let part = at.saturating_sub(window.from) / PART_MS;
            let counts = parts.entry(part).or_default();
            *counts.entry((run.stack, run.name.as_str())).or_default() += 1;
        }
    }
    let profile = |(part, counts): (Millis, BTreeMap<(StackId, &str), u64>)| {
        let from = window.from.saturating_add(part * PART_MS);
        Profile {
            from,
            to: from.saturating_add(PART_MS).min(window.to.max(from)),
            hz: 0,
            processors: 0,
            counts: counts
                .into_iter()
                .map(|((stack, thread), count)| ProfileCount {
                    stack,
                    thread: thread.to_owned(),
                    server: true,
                    count,
                })
                .collect(),
            lost: 0,
        }
    };
    parts.into_iter().map(profile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stack: u32, state: RunState, from: Millis, to: Millis) -> ThreadRun {
        ThreadRun {
            tid: stack,
            name: "mysqld".to_owned(),
            from,
            to,
            snapshots: 1,
            unmoved: false,
            state,
            syscall: None,
            stack: StackId(stack),
        }
    }

    #[test]
    fn who_waits_is_counted_in_each_snapshot_and_who_runs_is_not() {
        let runs = [
            run(1, RunState::Sleeping, 500, 3_500),
            run(2, RunState::Running, 1_000, 3_000),
            run(3, RunState::Uninterruptible, 3_000, 9_000),
        ];
        let moments = [0, 1_000, 2_000, 3_000, 4_000, 9_000];
        let window = Window {
            from: 1_000,
            to: 4_000,
        };
        let parts = parts(&runs, &moments, window);
        let spans: Vec<(Millis, Millis)> = parts.iter().map(|part| (part.from, part.to)).collect();
        assert_eq!(spans, [(1_000, 3_000), (3_000, 4_000)]);
        let counts = |part: usize| -> Vec<(u32, u64)> {
            let rows = parts[part].counts.iter();
            rows.map(|row| (row.stack.0, row.count)).collect()
        };
        assert_eq!(counts(0), [(1, 2)]);
        assert_eq!(counts(1), [(1, 1), (3, 2)]);
    }
}
