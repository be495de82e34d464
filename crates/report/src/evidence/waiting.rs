//! Threads that wait as profiles: each one that does not run in a snapshot is a sample, so that a flame graph can be made
//! of them. A profile of the processors has only those that run.

use std::collections::BTreeMap;

use model::{Millis, Profile, ProfileCount, RunState, StackId, ThreadRun, Window};

/// The threads that waited in a window, as profiles of so many milliseconds of it each. `moments` are those of the
/// snapshots, in ascending order. The profiles have no rate: no processor was busy.
pub fn waiting_threads(
    runs: &[ThreadRun],
    moments: &[Millis],
    window: Window,
    part_ms: Millis,
) -> Vec<Profile> {
    let mut parts: BTreeMap<Millis, BTreeMap<(StackId, &str), u64>> = BTreeMap::new();
    let waits = |run: &&ThreadRun| {
        matches!(
            run.state,
            RunState::Sleeping | RunState::Uninterruptible | RunState::Stopped
        )
    };
    for run in runs.iter().filter(waits) {
        let (from, to) = (run.from.max(window.from), run.to.min(window.to));
        let before = |at: Millis| moments.partition_point(|moment| *moment < at);
        let range = before(from)..before(to.saturating_add(1));
        let mut seen = moments.get(range).unwrap_or_default();
        while let Some(first) = seen.first() {
            let part = first.saturating_sub(window.from) / part_ms.max(1);
            let next = window
                .from
                .saturating_add((part + 1).saturating_mul(part_ms.max(1)));
            let (inside, later) = seen.split_at(seen.partition_point(|at| *at < next).max(1));
            let counts = parts.entry(part).or_default();
            *counts.entry((run.stack, run.name.as_str())).or_default() += inside.len() as u64;
            seen = later;
        }
    }
    let profile = |(part, counts): (Millis, BTreeMap<(StackId, &str), u64>)| {
        let from = window.from.saturating_add(part.saturating_mul(part_ms));
        Profile {
            from,
            to: from.saturating_add(part_ms).min(window.to.max(from)),
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
        let parts = waiting_threads(&runs, &moments, window, 2_000);
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
