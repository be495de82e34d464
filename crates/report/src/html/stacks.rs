//! What the threads did: equal stacks in the stall against the minute before.

use crate::markup::{Markup, markup, row};
use std::collections::{BTreeMap, HashMap};

use model::{
    Incident, Millis, OrderBy, RunState, SnapshotMeta, SnapshotMethod, StackId, ThreadRun, Window,
};

use super::{
    frames,
    table::{CellKind, Table, column},
    waiting,
};
use crate::document::Stack;
use crate::{
    time_format,
    units::{Quantity, digits, grouped},
};

/// The calm that the stall is compared with: so much before the onset.
const CALM_MS: Millis = 60_000;
/// Groups shown.
const GROUPS_MAX: usize = 12;
/// Groups that can be unfolded.
const GROUPS_FOLDED_MAX: usize = 60;
/// Thread names told of a group.
const NAMES_MAX: usize = 4;

pub(super) fn section(incident: &Incident, script: bool) -> Option<Markup> {
    let evidence = &incident.stacks;
    let stall = incident.stall_window();
    let calm = Window {
        from: stall.from.saturating_sub(CALM_MS).max(incident.window.from),
        to: stall.from.saturating_sub(1),
    };
    let moments: Vec<Millis> = evidence.snapshots.iter().map(|note| note.at).collect();
    let seen = [calm, stall].map(|window| between(&moments, window.from, window.to));
    if seen == [0, 0] {
        return None;
    }
    let mut out = markup!("<p>{}</p>", taken(&evidence.snapshots, seen));
    out += waiting::figure(incident, &moments, [calm, stall], script);
    let groups = groups(&evidence.runs, &moments, [calm, stall]);
    let rows: Vec<Vec<Markup>> = groups
        .iter()
        .take(GROUPS_MAX + GROUPS_FOLDED_MAX)
        .map(|group| group.row(incident, seen))
        .collect();
    let table = |caption: &str, rows: &[Vec<Markup>]| {
        let columns = [
            column("Stack, innermost first", CellKind::Code),
            column("Threads before", CellKind::Numbers),
            column("Threads in stall", CellKind::Numbers),
            column("State", CellKind::Text),
            column("In", CellKind::Text),
            column("Thread name", CellKind::Text),
            column("Longest in one wait", CellKind::Numbers),
        ];
        Table::wide(caption, &columns).rows(rows.iter().cloned(), usize::MAX)
    };
    let (open, folded) = rows.split_at(rows.len().min(GROUPS_MAX));
    out += table("Equal stacks, largest growth first", open);
    if !folded.is_empty() {
        let not_shown = groups.len() - rows.len();
        let more = match not_shown {
            0 => String::new(),
            _ => format!(" ({} more not shown)", grouped(not_shown)),
        };
        out += markup!(
            "<details><summary>{} more groups{more}</summary>{}</details>",
            folded.len(),
            table("", folded),
            ..more
        );
    }
    Some(out)
}

/// Snapshots from one moment to another, both included.
fn between(moments: &[Millis], from: Millis, to: Millis) -> usize {
    let begin = moments.partition_point(|at| *at < from);
    let end = moments.partition_point(|at| *at <= to);
    end.saturating_sub(begin)
}

/// How the snapshots were taken.
fn taken(notes: &[SnapshotMeta], seen: [usize; 2]) -> Markup {
    let mut out = markup!(
        "Stacks of all threads: <b>{}</b> snapshots in the minute before the onset, <b>{}</b> in the stall.",
        grouped(seen[0]),
        grouped(seen[1])
    );
    for method in [
        SnapshotMethod::Bpf,
        SnapshotMethod::Proc,
        SnapshotMethod::Ptrace,
    ] {
        let by: Vec<&SnapshotMeta> = notes.iter().filter(|note| note.method == method).collect();
        let mut walls: Vec<u64> = by.iter().map(|note| note.wall_us).collect();
        walls.sort_unstable();
        let Some(median) = walls.get(walls.len() / 2) else {
            continue;
        };
        let sum = |value: fn(&SnapshotMeta) -> u32| {
            by.iter().map(|note| u64::from(value(note))).sum::<u64>()
        };
        let (threads, complete) = (sum(|note| note.threads), sum(|note| note.complete));
        let time = |us: u64| Quantity::Seconds.to_text(us as f64 * 1e-6);
        out += markup!(" {}: {} each (median)", method.to_text(), time(*median));
        if threads > 0 {
            let share = complete as f64 * 100.0 / threads as f64;
            out += markup!(", {share:.1}% of the stacks complete", ..share);
        }
        let stopped = by.iter().map(|note| note.stopped_us).max().unwrap_or(0);
        if stopped > 0 {
            out += markup!(", a thread was stopped for at most {}", time(stopped));
        }
        out += Markup::literal(".");
    }
    out
}

/// Threads that did the same.
struct Group {
    stack: StackId,
    state: RunState,
    call: String,
    /// Threads times snapshots, before and in the stall.
    seen: [u64; 2],
    names: BTreeMap<String, u64>,
    /// The longest that one thread stood there without being switched in, in milliseconds.
    longest_ms: Option<Millis>,
}

/// The groups: those that grew most as far as they are shown, then those that changed most.
fn groups(runs: &[ThreadRun], moments: &[Millis], windows: [Window; 2]) -> Vec<Group> {
    let snapshots = windows.map(|window| between(moments, window.from, window.to).max(1) as f64);
    let mut groups: HashMap<(StackId, RunState, &str), Group> = HashMap::new();
    for run in runs {
        let seen = windows.map(|window| {
            between(moments, run.from.max(window.from), run.to.min(window.to)) as u64
        });
        if seen == [0, 0] {
            continue;
        }
        let call = run.syscall.as_ref().map_or("", |call| call.name.as_str());
        let group = groups
            .entry((run.stack, run.state, call))
            .or_insert_with(|| Group {
                stack: run.stack,
                state: run.state,
                call: call.to_owned(),
                seen: [0; 2],
                names: BTreeMap::new(),
                longest_ms: None,
            });
        for side in [0, 1] {
            group.seen[side] += seen[side];
        }
        *group.names.entry(run.name.clone()).or_default() += seen[0] + seen[1];
        if run.unmoved && run.snapshots > 1 {
            let length = run.to.saturating_sub(run.from);
            group.longest_ms = group.longest_ms.max(Some(length));
        }
    }
    let mean = |group: &Group, side: usize| group.seen[side] as f64 / snapshots[side];
    let mut groups: Vec<Group> = groups.into_values().collect();
    let grown = |group: &Group| mean(group, 1) - mean(group, 0);
    let order = |a: &Group, b: &Group, changed: fn(f64) -> f64| {
        let by = changed(grown(b)).total_cmp(&changed(grown(a)));
        by.then_with(|| mean(b, 1).total_cmp(&mean(a, 1)))
            .then_with(|| (a.stack, a.state, &a.call).cmp(&(b.stack, b.state, &b.call)))
    };
    groups.order_by(|a, b| order(a, b, |grown| grown));
    // Behind those that grew: what changed most either way, before what stayed.
    let shown = groups.len().min(GROUPS_MAX);
    groups[shown..].order_by(|a, b| order(a, b, f64::abs));
    groups
}

/// A mean number of threads.
fn threads(mean: f64) -> String {
    match mean {
        0.0 => "0".to_owned(),
        _ if mean < 0.05 => "<0.1".to_owned(),
        _ => digits((mean * 10.0).round() / 10.0),
    }
}

impl Group {
    fn row(&self, incident: &Incident, snapshots: [usize; 2]) -> Vec<Markup> {
        let mean = |side: usize| match snapshots[side] {
            0 => "–".to_owned(),
            count => threads(self.seen[side] as f64 / count as f64),
        };
        let mut names: Vec<(&String, &u64)> = self.names.iter().collect();
        names.order_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        let mut shown: Vec<String> = names
            .iter()
            .take(NAMES_MAX)
            .map(|(name, _)| (*name).clone())
            .collect();
        if names.len() > NAMES_MAX {
            shown.push(format!("{} more", names.len() - NAMES_MAX));
        }
        row![
            frames::folded(&Stack {
                state: Some(self.state),
                ..Stack::from_book(&incident.stacks.table, self.stack)
            }),
            mean(0),
            markup!("<b>{}</b>", mean(1)),
            markup!("<span class=\"whole\">{}</span>", self.state.to_text()),
            self.call,
            shown.join(", "),
            self.longest_ms
                .map_or_else(String::new, time_format::duration),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stack: u32, from: Millis, to: Millis, unmoved: bool) -> ThreadRun {
        ThreadRun {
            tid: stack,
            name: "mysqld".to_owned(),
            from,
            to,
            snapshots: 2,
            unmoved,
            state: RunState::Sleeping,
            syscall: None,
            stack: StackId(stack),
        }
    }

    #[test]
    fn threads_are_counted_in_the_snapshots_of_each_window() {
        // Four snapshots before, and two a second then.
        let moments = [
            1_000, 2_000, 3_000, 4_000, 5_000, 5_500, 6_000, 6_500, 9_000,
        ];
        let windows = [(0, 4_999), (5_000, 7_000)].map(|(from, to)| Window { from, to });
        let runs = [
            run(0, 1_000, 9_000, true),
            run(1, 3_000, 4_000, false),
            run(1, 1_000, 2_000, false),
            run(2, 6_000, 6_500, false),
            run(2, 5_000, 9_000, true),
            run(3, 9_000, 9_000, true),
        ];
        let groups = groups(&runs, &moments, windows);
        let seen: Vec<(u32, [u64; 2], Option<Millis>)> = groups
            .iter()
            .map(|group| (group.stack.0, group.seen, group.longest_ms))
            .collect();
        assert_eq!(
            seen,
            [
                (2, [0, 6], Some(4_000)),
                (0, [4, 4], Some(8_000)),
                (1, [4, 0], None),
            ]
        );
    }

    #[test]
    fn means_read_well() {
        for (mean, words) in [
            (0.0, "0"),
            (0.04, "<0.1"),
            (0.237, "0.2"),
            (57.0, "57"),
            (311.26, "311"),
        ] {
            assert_eq!(threads(mean), words);
        }
    }
}
