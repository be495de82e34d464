//! What `export --pt-stalk` wrote as several collections of one recording: the stall itself, and in a
//! folder beside it the calm before, which is what a stall is compared with.

use std::collections::HashMap;

use diagnosis::SourceRead;
use import::Input;
use model::{
    Incident, LockTable, Millis, Reading, StackId, StackTable, TimedFact, Timeline, Window,
};

use super::memory_budget::MemoryBudget;
use super::tree::{Entry, is_stalk_time};
use super::{OpenedCaptures, source, together};

/// What stands in the trigger file of a collection of ours.
const OURS: &str = "freezeframe: onset ";

/// More of a trigger file is not read.
const TRIGGER_BYTES_MAX: u64 = 64 << 10;

/// Seconds that the calm and the stall may be apart: beyond that it is not the calm before this stall.
const APART_MAX_MS: i64 = 3_600_000;

/// Whether the folder is a stretch of an exported recording, by its trigger file.
pub(super) fn is_export_part(folder: &Entry, account: &MemoryBudget) -> bool {
    folder.any(&mut |name, entry| {
        is_stalk_time(name) && name.ends_with("-trigger") && is_ours(entry, account)
    })
}

fn is_ours(trigger: &Entry, account: &MemoryBudget) -> bool {
    String::from_utf8_lossy(&trigger.head(TRIGGER_BYTES_MAX, account)).contains(OURS)
}

/// The incident with the calm that lies in one of the folders in front of it; what followed the stall
/// is not read.
pub(super) fn join(
    stall: Incident,
    folders: &[(String, OpenedCaptures)],
    sources: &mut Vec<SourceRead>,
) -> Incident {
    let mut joined = stall;
    for (folder, found) in folders {
        let inputs: Vec<Input<'_>> = found.inputs().collect();
        let imported = import::import(&inputs);
        let ends = |incident: &Incident| incident.clock.wall_ms(incident.window.to);
        let before = imported.incident.filter(|calm| {
            let apart = joined.clock.wall_at_zero_ms.saturating_sub(ends(calm));
            calm.clock.wall_at_zero_ms > 0
                && calm.clock.wall_at_zero_ms < joined.clock.wall_at_zero_ms
                && apart < APART_MAX_MS
        });
        match before {
            Some(calm) => {
                sources.extend(together(imported.parts.into_iter().map(source).collect()));
                sources.extend(found.left_out.iter().cloned());
                joined = one_after_the_other(calm, joined);
            }
            None => sources.push(SourceRead {
                path: folder.clone(),
                kind: "another stretch of the recording".to_owned(),
                skipped: Some("only the stall and the calm before it are read".to_owned()),
                ..SourceRead::default()
            }),
        }
    }
    joined
}

/// Two stretches on one clock, the calm's.
fn one_after_the_other(calm: Incident, stall: Incident) -> Incident {
    let later = stall
        .clock
        .wall_at_zero_ms
        .saturating_sub(calm.clock.wall_at_zero_ms);
    let later = Millis::try_from(later).unwrap_or(0);
    let at = |at: Millis| at.saturating_add(later);
    // A stretch ends where the other begins, whatever their readings are called by.
    let onset = at(stall.window.from);
    let window = |window: Window| Window {
        from: at(window.from),
        to: at(window.to),
    };
    let mut out = stall.clone();
    out.clock = calm.clock.clone();
    out.window = Window {
        from: calm.window.from,
        to: at(stall.window.to),
    };
    out.stall.onset = onset;
    out.stall.trigger = at(stall.stall.trigger);
    out.stall.end = Some(at(stall.window.to));
    out.timeline = Timeline::default();
    ticks(&calm.timeline, 0, onset, &mut out.timeline);
    ticks(&stall.timeline, later, Millis::MAX, &mut out.timeline);
    for timed in &mut out.texts {
        timed.at = at(timed.at);
    }
    for timed in &mut out.queries {
        timed.window = window(timed.window);
    }
    out.queries.splice(0..0, calm.queries);
    out.texts.splice(0..0, calm.texts);
    let known = |fact: &TimedFact| {
        !stall
            .facts
            .iter()
            .any(|timed| timed.fact.name == fact.fact.name)
    };
    // What is a part of the calm's evidence says nothing of the stall's.
    out.facts.extend(
        calm.facts
            .into_iter()
            .filter(|timed| known(timed) && !timed.fact.name.starts_with("capture.")),
    );
    let mut evidence = calm.stacks;
    let numbers = renumber(&stall.stacks.table, &mut evidence.table);
    let number = |stack: StackId| numbers.get(&stack).copied().unwrap_or(stack);
    for mut note in stall.stacks.snapshots {
        note.at = at(note.at);
        evidence.snapshots.push(note);
    }
    for mut run in stall.stacks.runs {
        (run.from, run.to, run.stack) = (at(run.from), at(run.to), number(run.stack));
        evidence.runs.push(run);
    }
    for profile in &mut evidence.profiles {
        profile.to = profile.to.min(onset.saturating_sub(1));
    }
    let of_calm = evidence.profiles.len();
    for mut callers in stall.stacks.callers {
        callers.profile += of_calm;
        for row in &mut callers.counts {
            row.stack = number(row.stack);
        }
        evidence.callers.push(callers);
    }
    for mut profile in stall.stacks.profiles {
        (profile.from, profile.to) = (at(profile.from), at(profile.to));
        for row in &mut profile.counts {
            row.stack = number(row.stack);
        }
        evidence.profiles.push(profile);
    }
    for table in stall.stacks.locks {
        evidence.locks.push(locks(table, at, number));
    }
    out.stacks = evidence;
    for timed in &mut out.absent {
        timed.last = out.window.to;
    }
    out
}

/// Adds the ticks of a timeline that lie before a moment.
fn ticks(from: &Timeline, later: Millis, until: Millis, to: &mut Timeline) {
    for (index, source) in from.sources.iter().enumerate() {
        let series: Vec<_> = from
            .series
            .iter()
            .filter(|series| series.source == index)
            .collect();
        for (tick, at) in source.ticks.iter().enumerate() {
            let at = at.saturating_add(later);
            if at >= until {
                break;
            }
            let readings: Vec<Reading> = series
                .iter()
                .filter_map(|series| {
                    let value = series.values.get(tick).copied()?;
                    (!value.is_nan()).then(|| Reading {
                        name: series.name.clone().into(),
                        unit: series.unit,
                        kind: series.kind,
                        value,
                    })
                })
                .collect();
            to.push_readings(&source.name, at, &readings);
        }
    }
}

/// The stacks of one book in another one: their new numbers.
fn renumber(from: &StackTable, to: &mut StackTable) -> HashMap<StackId, StackId> {
    (0..)
        .map(StackId)
        .take(from.stacks().len())
        .map(|stack| {
            let end = from.stack(stack).end;
            (stack, to.intern(from.frames_of(stack).cloned(), end))
        })
        .collect()
}

fn locks(
    mut table: LockTable,
    at: impl Fn(Millis) -> Millis,
    number: impl Fn(StackId) -> StackId,
) -> LockTable {
    (table.from, table.to) = (at(table.from), at(table.to));
    for row in table.locks.iter_mut().chain(&mut table.conditions) {
        for caller in &mut row.callers {
            caller.stack = number(caller.stack);
        }
        for holder in &mut row.holders {
            holder.stack = number(holder.stack);
        }
    }
    for link in table.chains.iter_mut().flat_map(|chain| &mut chain.links) {
        if let Some(holder) = &mut link.holder {
            holder.stack = number(holder.stack);
        }
    }
    table
}
