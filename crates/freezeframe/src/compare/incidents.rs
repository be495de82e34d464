//! Two incidents compared.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use cli::{output, recorded};
use diagnosis::compare::{Stretch, Subject, calm_stretch, cause_in_question, finds};
use diagnosis::{Cause, Verdict, diagnose};
use model::{Incident, OrderBy, Window};
use store::{IncidentSummary, READ_BYTES_MAX, read_incident_within};

use super::{Compared, answered_ms, wanted};
use crate::args::Compare;
use crate::{captures, causes, memory, shell};

/// Incidents that are diagnosed to count those of a kind, at the most, the newest: each may take a
/// second.
const DIAGNOSED_MAX: usize = 100;

/// Memory that each of two incidents may take, bytes.
const BYTES_MAX: u64 = READ_BYTES_MAX / 2;

/// Memory that one may take which is only counted, beside the two.
const COUNTED_BYTES_MAX: u64 = READ_BYTES_MAX / 4;

pub(super) fn compare(args: &Compare, before: &Path, after: &Path) -> Result<Compared> {
    let catalogue = causes::catalogue();
    refuse_captures(before, "before")?;
    refuse_captures(after, "after")?;
    let (first, second) = (read(before)?, read(after)?);
    let verdicts = [&first, &second].map(|incident| diagnose(incident, catalogue));
    let [of_first, of_second] = &verdicts;
    let cause =
        wanted(args)?.unwrap_or_else(|| cause_in_question(&[of_first, of_second], catalogue));
    // Captures of other tools need not tell a time: then they are in the order given.
    let are_timed = first.clock.is_known() && second.clock.is_known();
    let second_ago = are_timed
        && first.clock.wall_ms(first.stall_window().from)
            > second.clock.wall_ms(second.stall_window().from);
    if second_ago {
        output::note(
            "the second incident is older than the first, but is compared as the time after the change",
        );
    }
    if (&first.host, &first.server.label) != (&second.host, &second.server.label) {
        output::note("the incidents are from different servers");
    } else if first.id == second.id {
        output::note("both files are the same incident: it is compared with itself");
    }
    let stall = first.stall_window();
    let length = stall.to.saturating_sub(stall.from);
    let first_stretch = match args.stalls {
        true => (Stretch::Run, stall),
        false => window_of(&first, of_first, cause, length, 0),
    };
    let other = second.stall_window();
    let length = match first_stretch.0 {
        Stretch::Calm => other.to.saturating_sub(other.from),
        _ => length,
    };
    // What is calm after a change lies after the stall before it.
    let end = first.clock.wall_ms(first_stretch.1.to);
    let earliest = match second_ago || !are_timed {
        true => 0,
        false => u64::try_from(end.saturating_sub(second.clock.wall_at_zero_ms)).unwrap_or(0),
    };
    let second_stretch = match args.stalls {
        true => (Stretch::Run, second.stall_window()),
        false => window_of(&second, of_second, cause, length, earliest),
    };
    let dir = match (&args.dir, before.parent()) {
        (Some(dir), _) => dir.clone(),
        (None, Some(dir)) if !dir.as_os_str().is_empty() => dir.to_owned(),
        (None, _) => PathBuf::from("."),
    };
    let counted = match (cause, second_ago) {
        (Some(cause), false) if !args.stalls => count(&dir, &first, &second, cause),
        _ => None,
    };
    let subject =
        |incident, (stretch, window): (Stretch, Window), counted: Option<Counted>| Subject {
            incident,
            window,
            stretch,
            recorded_ms: counted.map(|counted| counted.recorded_ms),
            stalls: counted.map(|counted| counted.stalls),
        };
    let comparison = diagnosis::compare::compare(
        &subject(&first, first_stretch, counted.map(|(before, _)| before)),
        &subject(&second, second_stretch, counted.map(|(_, after)| after)),
        cause,
    );
    Ok(Compared {
        comparison,
        sides: [(first, first_stretch.1), (second, second_stretch.1)],
    })
}

/// What other tools captured is read by `import` only, and says so of what it did not understand.
fn refuse_captures(path: &Path, side: &str) -> Result<()> {
    let is_there = path == Path::new("-") || path.exists();
    if !is_there || captures::is_incident_file(path) {
        return Ok(());
    }
    let word = shell::word(&path.to_string_lossy());
    if path.is_dir() && is_recorded(path) {
        bail!(
            "{}: this is a directory; compare takes two incident files (.frame). Those in it: freezeframe incidents --dir {word}",
            path.display()
        );
    }
    bail!(
        "{}: not an incident file; compare takes two (.frame). Make one from captures: freezeframe import {word} -o {side}.frame",
        path.display()
    )
}

/// Whether a directory is a recorder's, or has incidents in it.
fn is_recorded(dir: &Path) -> bool {
    !recorded::histories(dir).is_empty() || recorded::frames(dir).is_ok_and(|it| !it.is_empty())
}

pub(super) fn read(path: &Path) -> Result<Incident> {
    memory::now_reading(path);
    let loaded = read_incident_within(path, BYTES_MAX)?;
    for damage in loaded.damage {
        output::note(&format!("{}: {}", path.display(), damage.line()));
    }
    Ok(loaded.incident)
}

/// The stall of an incident when it is of the kind in question, else a calm stretch of it.
fn window_of(
    incident: &Incident,
    verdict: &Verdict,
    cause: Option<&Cause>,
    length: u64,
    earliest: u64,
) -> (Stretch, Window) {
    let named = |cause: &Cause| {
        let mut findings = verdict.findings.iter().chain(&verdict.folded);
        finds(verdict, &cause.id) || findings.any(|finding| finding.cause == cause.id)
    };
    match cause {
        Some(cause) if !named(cause) => (Stretch::Calm, calm_stretch(incident, length, earliest)),
        _ => (Stretch::Stall, incident.stall_window()),
    }
}

/// Stalls of a kind in a time.
#[derive(Clone, Copy)]
struct Counted {
    stalls: u32,
    recorded_ms: u64,
}

/// Stalls of the kind up to the first incident and after it, in the time that the history knows.
/// Nothing where there is no history: without it nobody knows when the recorder ran.
fn count(
    dir: &Path,
    first: &Incident,
    second: &Incident,
    cause: &Cause,
) -> Option<(Counted, Counted)> {
    let label = Some(first.server.label.as_str());
    let history = recorded::history(dir, label).ok()?;
    let change = first.clock.wall_ms(first.stall_window().to);
    let end = second.clock.wall_ms(second.window.to);
    let whole = match store::history_coverage(&history, i64::MIN / 2, i64::MAX / 2) {
        Ok(whole) => whole,
        Err(error) => {
            output::note(&format!("stalls an hour are unknown: {error}"));
            return None;
        }
    };
    let from = whole.first_wall_ms?;
    let to = whole.last_wall_ms?.max(end);
    let answered = |from, to| {
        let stretch = store::read_history(&history, from, to, &[]).ok()?;
        Some(stretch.as_ref().map_or(0, answered_ms))
    };
    let (before_ms, after_ms) = (answered(from, change)?, answered(change, to)?);
    let mut found = of_server(dir, first);
    found.retain(|(_, summary)| {
        let onset = summary.clock.wall_ms(summary.stall.onset);
        onset >= from && onset <= to
    });
    found.order_by_key(|(_, summary)| summary.clock.wall_ms(summary.stall.onset));
    let left_out = found.len().saturating_sub(DIAGNOSED_MAX);
    if left_out > 0 {
        output::note(&format!(
            "stalls an hour were counted in the {DIAGNOSED_MAX} newest incidents only, without {left_out} older ones"
        ));
    }
    let (mut stalls_before, mut stalls_after) = (0, 0);
    for (path, summary) in found.iter().skip(left_out) {
        let Ok(loaded) = read_incident_within(path, COUNTED_BYTES_MAX) else {
            continue;
        };
        if finds(&diagnose(&loaded.incident, causes::catalogue()), &cause.id) {
            match summary.clock.wall_ms(summary.stall.onset) <= change {
                true => stalls_before += 1,
                false => stalls_after += 1,
            }
        }
    }
    Some((
        Counted {
            stalls: stalls_before,
            recorded_ms: before_ms,
        },
        Counted {
            stalls: stalls_after,
            recorded_ms: after_ms,
        },
    ))
}

/// The incidents of a directory that are of the same server.
fn of_server(dir: &Path, like: &Incident) -> Vec<(PathBuf, IncidentSummary)> {
    recorded::summaries(dir)
        .into_iter()
        .filter(|(_, summary)| {
            summary.host == like.host && summary.server.label == like.server.label
        })
        .collect()
}
