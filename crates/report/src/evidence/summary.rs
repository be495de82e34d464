//! An incident's stacks, profiles and locks in a few lines: what a reader is told before opening
//! the page.

use std::collections::HashMap;

use model::{FrameSide, Incident, Millis, OrderBy, Profile, StackId, StackTable, Window};
use serde::Serialize;

use super::chain::chain_sentence;
use super::groups::{StackGroups, group_runs, share};
use crate::flame_tree::scaled;

/// Chains told.
const CHAINS_MAX: usize = 3;
/// Groups of threads told.
const GROUPS_MAX: usize = 5;
/// Functions told.
const FUNCTIONS_MAX: usize = 8;
/// A group that grew by fewer threads than this says nothing.
const GROWN_MIN: f64 = 0.5;
/// Nor does a group of fewer threads than this, where there is nothing of before.
const CROWD_MIN: f64 = 3.0;
/// A function whose share rose by less than this, from 0 to 1, says nothing.
const RISEN_MIN: f64 = 0.01;
/// A thread of another program with a smaller share, from 0 to 1, is not told.
const OTHERS_MIN: f64 = 0.02;
/// Threads of others told.
const OTHERS_MAX: usize = 5;
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
    /// Equal stacks that more threads had in the stall, those that grew most first; where there is nothing of before, the
    /// largest ones.
    pub grown: Vec<GrownGroup>,
    /// Samples of the profile before the onset and in the stall.
    pub samples: [u64; 2],
    /// Functions of the server whose own share of the processors rose most; of everything, where the server's samples
    /// are not told apart.
    pub risen: Vec<RisenFunction>,
    /// The server's share of the samples before the onset and in the stall, 0 to 1; absent where it is not told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<[f64; 2]>,
    /// Threads of other programs and of the kernel that had much of the processors in the stall, most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherThread>,
}

/// What ran beside the server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtherThread {
    /// The name of the thread, or of several with the same.
    pub name: String,
    /// Share of the samples before the onset, 0 to 1.
    pub before: f64,
    /// The same in the stall.
    pub in_stall: f64,
}

/// Threads with an equal stack, on average of the snapshots.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GrownGroup {
    /// Threads before the onset; absent where nothing was taken then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<f64>,
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
    // Of the calm only how many threads stood where: the names of a thousand threads are not kept.
    let calm = Calm::of(group_runs(evidence, before));
    let stalled = group_runs(evidence, stall);
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
    // Chains are of one table each: that of the first burst shows the stall as it began. Another stall may have been
    // in the time before the onset.
    let mut tables = evidence.locks.iter();
    let chains = tables
        .find(|table| !table.chains.is_empty() && table.to >= stall.from && table.from <= stall.to);
    let processors = Processors::of(incident, before, stall);
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
        samples: processors.samples,
        risen: processors.risen,
        server: processors.server,
        others: processors.others,
    })
}

/// How often each stack was seen before the onset.
struct Calm {
    snapshots: u32,
    counts: HashMap<StackId, u64>,
}

impl Calm {
    fn of(groups: StackGroups) -> Self {
        let counts = groups.groups.iter().map(|group| (group.stack, group.count));
        Self {
            snapshots: groups.snapshots,
            counts: counts.collect(),
        }
    }

    /// Threads with this stack, on average; nothing without a snapshot.
    fn mean(&self, stack: StackId) -> Option<f64> {
        let count = self.counts.get(&stack).copied().unwrap_or(0);
        (self.snapshots > 0).then(|| count as f64 / f64::from(self.snapshots))
    }
}

fn grown(incident: &Incident, calm: &Calm, stalled: &StackGroups) -> Vec<GrownGroup> {
    if stalled.snapshots == 0 {
        return Vec::new();
    }
    let mut grown: Vec<GrownGroup> = stalled
        .groups
        .iter()
        .map(|group| {
            let in_stall = group.count as f64 / f64::from(stalled.snapshots);
            (group, calm.mean(group.stack), in_stall)
        })
        .filter(|(_, before, in_stall)| match before {
            Some(before) => in_stall - before >= GROWN_MIN,
            None => *in_stall >= CROWD_MIN,
        })
        .map(|(group, before, in_stall)| GrownGroup {
            before,
            in_stall,
            frames: frames(incident, group.stack),
            syscall: group
                .threads
                .iter()
                .filter_map(|thread| thread.syscall.as_ref())
                .map(|call| call.name.clone())
                .next()
                .unwrap_or_default(),
        })
        .filter(|group| !group.frames.is_empty())
        .collect();
    let more = |group: &GrownGroup| group.in_stall - group.before.unwrap_or(0.0);
    grown.order_by(|a, b| more(b).total_cmp(&more(a)));
    grown.truncate(GROUPS_MAX);
    grown
}

fn frames(incident: &Incident, stack: StackId) -> Vec<String> {
    let book = &incident.stacks.table;
    let of = |side: FrameSide| {
        let frames = book
            .frames_of(stack)
            .filter(move |frame| frame.side == side);
        frames.take(FRAMES_MAX).map(|frame| frame.name.clone())
    };
    let user: Vec<String> = of(FrameSide::User).collect();
    if user.is_empty() {
        of(FrameSide::Kernel).collect()
    } else {
        user
    }
}

/// What the processors did before the onset and in the stall.
#[derive(Default)]
struct Processors {
    samples: [u64; 2],
    risen: Vec<RisenFunction>,
    server: Option<[f64; 2]>,
    others: Vec<OtherThread>,
}

impl Processors {
    fn of(incident: &Incident, before: Window, stall: Window) -> Self {
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
            return Self {
                samples,
                ..Self::default()
            };
        }
        let rows = || halves.iter().flatten().flat_map(|profile| &profile.counts);
        let is_told_apart = rows().any(|row| row.server) && rows().any(|row| !row.server);
        let [before, in_stall] = halves.map(|half| Half::of(&half, &evidence.table, is_told_apart));
        let shares = |of: [u64; 2]| [share(of[0], before.all), share(of[1], in_stall.all)];
        Self {
            samples,
            risen: risen(&evidence.table, &before, &in_stall),
            server: is_told_apart.then(|| shares([before.server, in_stall.server])),
            others: others(&before, &in_stall),
        }
    }
}

fn risen(book: &StackTable, before: &Half<'_>, in_stall: &Half<'_>) -> Vec<RisenFunction> {
    let counts = before.by_frame.iter().zip(&in_stall.by_frame);
    let mut risen: Vec<RisenFunction> = book
        .frames()
        .iter()
        .zip(counts)
        .map(|(frame, (own_before, own_in_stall))| RisenFunction {
            name: frame.name.clone(),
            image: frame.image.clone(),
            before: share(*own_before, before.all),
            in_stall: share(*own_in_stall, in_stall.all),
        })
        .filter(|function| function.in_stall - function.before >= RISEN_MIN)
        .collect();
    let rise = |function: &RisenFunction| function.in_stall - function.before;
    risen.order_by(|a, b| {
        rise(b)
            .total_cmp(&rise(a))
            .then_with(|| a.name.cmp(&b.name))
    });
    risen.truncate(FUNCTIONS_MAX);
    risen
}

fn others(before: &Half<'_>, in_stall: &Half<'_>) -> Vec<OtherThread> {
    let threads = in_stall.others.iter();
    let mut others: Vec<OtherThread> = threads
        .map(|(name, count)| OtherThread {
            name: (*name).to_owned(),
            before: share(before.others.get(name).copied().unwrap_or(0), before.all),
            in_stall: share(*count, in_stall.all),
        })
        .filter(|thread| thread.in_stall >= OTHERS_MIN)
        .collect();
    others.order_by(|a, b| {
        b.in_stall
            .total_cmp(&a.in_stall)
            .then_with(|| a.name.cmp(&b.name))
    });
    others.truncate(OTHERS_MAX);
    others
}

/// Samples of some profiles at the rate of the densest.
struct Half<'p> {
    all: u64,
    server: u64,
    /// The server's with this function innermost, by number of the frame.
    by_frame: Vec<u64>,
    /// Of all that is not the server's, by the thread's name.
    others: HashMap<&'p str, u64>,
}

impl<'p> Half<'p> {
    /// Where the server is not told apart, everything counts as its own.
    fn of(profiles: &[&'p Profile], book: &StackTable, is_told_apart: bool) -> Self {
        let hz = profiles.iter().map(|profile| profile.hz).max().unwrap_or(0);
        let mut half = Self {
            all: 0,
            server: 0,
            by_frame: vec![0; book.frames().len()],
            others: HashMap::new(),
        };
        for profile in profiles {
            for row in &profile.counts {
                let samples = scaled(row.count, hz, profile.hz);
                half.all = half.all.saturating_add(samples);
                if is_told_apart && !row.server {
                    let of_thread = half.others.entry(&row.thread).or_default();
                    *of_thread = of_thread.saturating_add(samples);
                    continue;
                }
                half.server = half.server.saturating_add(samples);
                let mut frames = book.stack(row.stack).frames.iter();
                // A frame that is not of the book is passed over, as everywhere.
                let innermost = frames.find(|frame| book.frame(**frame).is_some());
                if let Some(sum) =
                    innermost.and_then(|frame| half.by_frame.get_mut(frame.0 as usize))
                {
                    *sum = sum.saturating_add(samples);
                }
            }
        }
        half
    }
}
