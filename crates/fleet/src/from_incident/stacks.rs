//! Stacks by their identity, and how often each was seen in which part of the stall.

use std::collections::{BTreeMap, HashMap};

use model::{FrameId, FrameSide, Incident, Millis, OrderBy, RunState, StackFrame, StackId, Window};

use super::hash::{frame_id, stack_id};
use crate::row::{
    Day, FrameRow, Hash64, IncidentId, Phase, Seconds, StackFramesRow, StackKind, StackRow,
};

/// How long before the onset is the time right before it.
const BEFORE_MS: Millis = 60_000;

/// Rows of one incident: some thousands with a thousand threads. The shortest times go first.
const ROWS_MAX: usize = 20_000;

/// Frames of one stack.
const FRAMES_MAX: usize = 512;

/// The stacks of an incident.
pub(super) struct Stacks {
    pub(super) seen: Vec<StackRow>,
    pub(super) stacks: Vec<StackFramesRow>,
    pub(super) frames: Vec<FrameRow>,
}

/// How often, and for how many nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) samples: u64,
    pub(super) ns: u64,
}

/// What was seen of stacks.
#[derive(Default)]
pub(super) struct Seen {
    /// By part, way and stack of the record.
    pub(super) sums: BTreeMap<(Phase, StackKind, StackId), Sum>,
    /// For how many nanoseconds was looked in this part in this way: threads on average are a sum divided by it.
    pub(super) looked_ns: BTreeMap<(Phase, StackKind), f64>,
}

impl Seen {
    fn add(&mut self, key: (Phase, StackKind, StackId), samples: u64, ns: f64) {
        let sum = self.sums.entry(key).or_default();
        sum.samples = sum.samples.saturating_add(samples);
        sum.ns = sum.ns.saturating_add(ns as u64);
    }

    fn look(&mut self, phase: Phase, kind: StackKind, ns: f64) {
        *self.looked_ns.entry((phase, kind)).or_default() += ns;
    }
}

/// The part of the incident that a moment lies in; none for the time of a stall before it.
pub(super) fn phase(incident: &Incident, at: Millis) -> Option<Phase> {
    let stall = incident.stall_window();
    let is_of_earlier = |earlier: &Window| (earlier.from..earlier.to).contains(&at);
    match at {
        at if at > stall.to => Some(Phase::After),
        at if at >= stall.from => Some(Phase::Stall),
        _ if incident.stall.earlier.iter().any(is_of_earlier) => None,
        at if at.saturating_add(BEFORE_MS) >= stall.from => Some(Phase::Before),
        _ => Some(Phase::Baseline),
    }
}

/// All that was seen of stacks.
pub(super) fn seen(incident: &Incident) -> Seen {
    let mut seen = Seen::default();
    for profile in &incident.stacks.profiles {
        let middle = profile.from + profile.to.saturating_sub(profile.from) / 2;
        let Some(phase) = phase(incident, middle) else {
            continue;
        };
        let length = profile.to.saturating_sub(profile.from);
        seen.look(phase, StackKind::OnCpu, length as f64 * 1e6);
        let sample_ns = 1e9 / f64::from(profile.hz.max(1));
        for row in &profile.counts {
            let ns = row.count as f64 * sample_ns;
            seen.add((phase, StackKind::OnCpu, row.stack), row.count, ns);
        }
    }
    // A snapshot stands for the time up to the next one.
    let moments: Vec<Millis> = incident.stacks.snapshots.iter().map(|one| one.at).collect();
    let nexts = moments.iter().skip(1).chain(moments.last());
    let lengths = moments.iter().zip(nexts);
    let lengths: Vec<(Option<Phase>, f64)> = lengths
        .map(|(at, next)| {
            let ms = next.saturating_sub(*at).min(BEFORE_MS);
            (phase(incident, *at), ms as f64 * 1e6)
        })
        .collect();
    for (phase, ns) in &lengths {
        if let Some(phase) = phase {
            seen.look(*phase, StackKind::Wait, *ns);
        }
    }
    for run in &incident.stacks.runs {
        if run.state == RunState::Running {
            continue;
        }
        let from = moments.partition_point(|at| *at < run.from);
        let to = moments.partition_point(|at| *at <= run.to);
        for (phase, ns) in lengths.get(from..to).unwrap_or_default() {
            if let Some(phase) = phase {
                seen.add((*phase, StackKind::Wait, run.stack), 1, *ns);
            }
        }
    }
    for table in &incident.stacks.locks {
        let middle = table.from + table.to.saturating_sub(table.from) / 2;
        let Some(phase) = phase(incident, middle) else {
            continue;
        };
        for lock in &table.locks {
            for caller in &lock.callers {
                let ns = caller.total_us * 1000.0;
                seen.add((phase, StackKind::LockWait, caller.stack), caller.waits, ns);
            }
            for holder in &lock.holders {
                let snapshots = holder.snapshots.into();
                seen.add((phase, StackKind::LockHold, holder.stack), snapshots, 0.0);
            }
        }
    }
    seen
}

/// The rows of an incident, which is redacted.
pub(super) fn stacks(
    redacted: &Incident,
    host_id: Hash64,
    incident_id: IncidentId,
    onset: Seconds,
    day: Day,
) -> Stacks {
    let mut book = Book {
        incident: redacted,
        day,
        frames: HashMap::new(),
        stacks: HashMap::new(),
    };
    // Stacks that differ only in what their identity leaves out are one.
    let mut sums: BTreeMap<(StackKind, Phase, Hash64), Sum> = BTreeMap::new();
    for ((phase, kind, stack), sum) in seen(redacted).sums {
        let Some(stack) = book.stack(stack) else {
            continue;
        };
        let all = sums.entry((kind, phase, stack)).or_default();
        all.samples = all.samples.saturating_add(sum.samples);
        all.ns = all.ns.saturating_add(sum.ns);
    }
    let mut seen: Vec<StackRow> = sums
        .into_iter()
        .map(|((kind, phase, stack_id), sum)| StackRow {
            host_id,
            incident_id,
            ts: onset,
            phase,
            kind,
            stack_id,
            samples: u32::try_from(sum.samples).unwrap_or(u32::MAX),
            ns: sum.ns,
        })
        .collect();
    if seen.len() > ROWS_MAX {
        seen.order_by_key(|row| std::cmp::Reverse(row.ns));
        seen.truncate(ROWS_MAX);
    }
    let mut stacks: Vec<StackFramesRow> = book.stacks.into_values().flatten().collect();
    stacks.order_by_key(|row| row.stack_id);
    stacks.dedup_by_key(|row| row.stack_id);
    let mut frames: Vec<FrameRow> = book.frames.into_values().collect();
    frames.order_by_key(|row| row.frame_id);
    frames.dedup_by_key(|row| row.frame_id);
    Stacks {
        seen,
        stacks,
        frames,
    }
}

/// The frames and stacks of a record by their identity in the fleet.
struct Book<'a> {
    incident: &'a Incident,
    day: Day,
    frames: HashMap<FrameId, FrameRow>,
    stacks: HashMap<StackId, Option<StackFramesRow>>,
}

impl Book<'_> {
    /// The identity of a stack; none for one without frames.
    fn stack(&mut self, id: StackId) -> Option<Hash64> {
        if let Some(known) = self.stacks.get(&id) {
            return known.as_ref().map(|row| row.stack_id);
        }
        let book = &self.incident.stacks.table;
        let places: Vec<FrameId> = book
            .stack(id)
            .frames
            .iter()
            .copied()
            .take(FRAMES_MAX)
            .collect();
        let frames: Vec<Hash64> = places
            .into_iter()
            .filter_map(|frame| self.frame(frame))
            .collect();
        let row = (!frames.is_empty()).then(|| StackFramesRow {
            stack_id: stack_id(&frames),
            frames,
            seen: self.day,
        });
        let known = self.stacks.entry(id).or_insert(row);
        known.as_ref().map(|row| row.stack_id)
    }

    fn frame(&mut self, id: FrameId) -> Option<Hash64> {
        if let Some(known) = self.frames.get(&id) {
            return Some(known.frame_id);
        }
        let frame = self.incident.stacks.table.frame(id)?;
        let row = frame_row(frame, &self.build(frame), self.day);
        let frame_id = row.frame_id;
        self.frames.insert(id, row);
        Some(frame_id)
    }

    /// What places without a name are told apart by: a record has no build ids, so the version stands for the build.
    fn build(&self, frame: &StackFrame) -> String {
        let build = match frame.side {
            FrameSide::Kernel => self.incident.fact("host.kernel").unwrap_or_default(),
            FrameSide::User => self.incident.server.version.as_str(),
        };
        build.to_owned()
    }
}

/// A name is the same in every build; a place is one of its build.
fn frame_row(frame: &StackFrame, build: &str, day: Day) -> FrameRow {
    let module = frame.image.rsplit('/').next().unwrap_or_default();
    let is_named = frame.nameless.is_none();
    let build = if is_named { "" } else { build };
    let offset = frame.name.rsplit_once("+0x").filter(|_| !is_named);
    let offset = offset.and_then(|(_, digits)| u64::from_str_radix(digits, 16).ok());
    FrameRow {
        frame_id: frame_id(module, &frame.name, build),
        build_id: build.to_owned(),
        offset: offset.unwrap_or(0),
        module: module.to_owned(),
        function: frame.name.clone(),
        seen: day,
    }
}
