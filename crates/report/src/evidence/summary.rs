//! An incident's stacks, profiles and locks in a few lines: what a reader is told before opening
//! the page.

use model::{Incident, Millis, Profile, Side, StackId, Window};
use serde::Serialize;

use super::chain::chain_sentence;
use super::groups::{StackGroups, group_runs, share};
use crate::flame_tree::{FlameTree, Kind};

/// Chains told.
const CHAINS_MAX: usize = 3;
/// Groups of threads told.
const GROUPS_MAX: usize = 5;
/// Functions told.
const FUNCTIONS_MAX: usize = 8;
/// A group that grew by fewer threads than this says nothing.
const GROWN_MIN: f64 = 0.5;
/// A function whose share rose by less than this, from 0 to 1, says nothing.
const RISEN_MIN: f64 = 0.01;
/// Functions of a stack that tell it from others.
const FRAMES_MAX: usize = 12;

/// What the threads and the processors did in the stall, against the time before it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct StacksSummary {
    /// Snapshots before the onset and in the stall.
    pub snapshots: [u32; 2],
    /// Share of complete stacks in all of them, 0 to 1; absent without a snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<f64>,
    /// Who waits for whom, the largest crowd first.
    pub chains: Vec<String>,
    /// Equal stacks that more threads had in the stall, those that grew most first.
    pub grown: Vec<GrownGroup>,
    /// Samples of the profile before the onset and in the stall.
    pub samples: [u64; 2],
    /// Functions whose own share of the processors rose most.
    pub risen: Vec<RisenFunction>,
}

/// Threads with an equal stack, on average of the snapshots.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GrownGroup {
    /// Threads before the onset.
    pub before: f64,
    /// Threads in the stall.
    pub in_stall: f64,
    /// The user's side of the stack, innermost first; the kernel's where there is no other.
    pub frames: Vec<String>,
    /// Name of the system call that most of them are in; empty without one.
    pub syscall: String,
}

/// A function in the profiles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RisenFunction {
    /// Its name.
    pub name: String,
    /// Its image.
    pub image: String,
    /// Share of the samples that it was in itself, before the onset, 0 to 1.
    pub before: f64,
    /// The same in the stall.
    pub in_stall: f64,
}

/// The summary; nothing when the incident has no such evidence.
pub fn stacks_summary(incident: &Incident) -> Option<StacksSummary> {
    let evidence = &incident.stacks;
    if evidence.is_empty() {
        return None;
    }
    let stall = incident.stall_window();
    let before = Window {
        from: incident.window.from,
        to: stall.from.saturating_sub(1),
    };
    let [calm, stalled] = [before, stall].map(|window| group_runs(evidence, window));
    let threads: u64 = evidence
        .snapshots
        .iter()
        .map(|note| u64::from(note.threads))
        .sum();
    let complete: u64 = evidence
        .snapshots
        .iter()
        .map(|note| u64::from(note.complete))
        .sum();
    // Chains are of one table each: that of the first burst shows the stall as it began.
    let chains = evidence.locks.iter().find(|table| !table.chains.is_empty());
    let (samples, risen) = risen(incident, before, stall);
    Some(StacksSummary {
        snapshots: [calm.snapshots, stalled.snapshots],
        complete: (threads > 0).then(|| share(complete, threads)),
        chains: chains
            .iter()
            .flat_map(|table| &table.chains)
            .take(CHAINS_MAX)
            .map(chain_sentence)
            .collect(),
        grown: grown(incident, &calm, &stalled),
        samples,
        risen,
    })
}

fn grown(incident: &Incident, calm: &StackGroups, stalled: &StackGroups) -> Vec<GrownGroup> {
    if calm.snapshots == 0 || stalled.snapshots == 0 {
        return Vec::new();
    }
    let mean = |groups: &StackGroups, stack: StackId| {
        let of_stack = groups.groups.iter().filter(|group| group.stack == stack);
        of_stack.map(|group| group.count).sum::<u64>() as f64 / f64::from(groups.snapshots)
    };
    let mut grown: Vec<GrownGroup> = stalled
        .groups
        .iter()
        .map(|group| GrownGroup {
            before: mean(calm, group.stack),
            in_stall: group.count as f64 / f64::from(stalled.snapshots),
            frames: frames(incident, group.stack),
            syscall: group
                .threads
                .iter()
                .filter_map(|thread| thread.syscall.as_ref())
                .map(|call| call.name.clone())
                .next()
                .unwrap_or_default(),
        })
        .filter(|group| group.in_stall - group.before >= GROWN_MIN && !group.frames.is_empty())
        .collect();
    grown.sort_by(|a, b| (b.in_stall - b.before).total_cmp(&(a.in_stall - a.before)));
    grown.truncate(GROUPS_MAX);
    grown
}

fn frames(incident: &Incident, stack: StackId) -> Vec<String> {
    let book = &incident.stacks.book;
    let of = |side: Side| {
        let frames = book
            .frames_of(stack)
            .filter(move |frame| frame.side == side);
        frames.take(FRAMES_MAX).map(|frame| frame.name.clone())
    };
    let user: Vec<String> = of(Side::User).collect();
    if user.is_empty() {
        of(Side::Kernel).collect()
    } else {
        user
    }
}

fn risen(incident: &Incident, before: Window, stall: Window) -> ([u64; 2], Vec<RisenFunction>) {
    let evidence = &incident.stacks;
    // A profile belongs to where most of it lies.
    let middle = |profile: &Profile| profile.from / 2 + profile.to / 2;
    let between = |from: Millis, to: Millis| -> Vec<&Profile> {
        let inside = |profile: &&Profile| (from..=to).contains(&middle(profile));
        evidence.profiles.iter().filter(inside).collect()
    };
    let halves = [
        between(before.from, before.to),
        between(stall.from, stall.to),
    ];
    let taken = |profiles: &[&Profile]| profiles.iter().map(|profile| profile.samples()).sum();
    let samples: [u64; 2] = [taken(&halves[0]), taken(&halves[1])];
    if samples.contains(&0) {
        return (samples, Vec::new());
    }
    let tree = FlameTree::of((&halves[0], &evidence.book), (&halves[1], &evidence.book));
    let all = [tree.halves[0].samples, tree.halves[1].samples];
    let mut risen: Vec<RisenFunction> = tree
        .sums()
        .iter()
        .filter_map(|sums| {
            let frame = tree.frames.get(sums.frame)?;
            matches!(frame.kind, Kind::Kernel | Kind::User).then(|| RisenFunction {
                name: frame.name.clone(),
                image: frame.image.clone(),
                before: share(sums.own[0], all[0]),
                in_stall: share(sums.own[1], all[1]),
            })
        })
        .filter(|function| function.in_stall - function.before >= RISEN_MIN)
        .collect();
    let rise = |function: &RisenFunction| function.in_stall - function.before;
    risen.sort_by(|a, b| rise(b).total_cmp(&rise(a)));
    risen.truncate(FUNCTIONS_MAX);
    (samples, risen)
}
