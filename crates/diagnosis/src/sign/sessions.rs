//! Signs that look at the sessions of the processlist.

use std::collections::BTreeSet;

use model::{Millis, ProcessList, Window};
use regex::Regex;

use super::{Judged, Outcome, Seen, absent, conditional, judge, windows};
use crate::catalogue::{Column, Counting, PROCESSLIST, ProcesslistTest, Sign};
use crate::evaluate::{self, Truth};
use crate::evidence::{Capture, Evidence};
use crate::human::Show;
use crate::listed::{Counts, Listed};
use crate::template::Filling;
use crate::verdict::Witness;

/// How long one session waits that is no coincidence, in seconds; and how long where few others do anything.
const OLD_SECONDS: f64 = 30.0;
const SOME_SECONDS: f64 = 3.0;

/// The class of the statement that asks for the list.
const ASKER: &str = "show processlist";

/// Names of signals that a witness points at, at the most.
const SIGNALS_MAX: usize = 8;

pub(super) fn test(sign: &Sign, test: &ProcesslistTest, evidence: &Evidence) -> Outcome {
    let counts = counts(test, evidence);
    let moments: Vec<Millis> = counts.iter().map(|one| one.at).collect();
    let windows = evidence.judged(windows(test.over, evidence), &moments);
    let truths = evaluate::truths(&test.only_if, evidence.incident, &windows);
    let seen = windows
        .into_iter()
        .zip(truths)
        .map(|(window, truth)| see(test, &counts, window, truth))
        .collect();
    let baseline = evidence.baseline.and_then(|window| {
        let before = inside(&counts, window).iter();
        // Before the onset few sessions are the normal thing, not a set too small to judge.
        let min = match test.counting {
            Counting::Share => test.min_sessions,
            Counting::Sessions => 0,
        };
        median(before.filter_map(|one| one.number(test, min)).collect())
    });
    let (what, show) = what(test);
    // A state that has one explanation only is shown because of it; in a list that somebody took because something
    // hung, it may be one session that hangs.
    let explains = sign.conclusive && test.counting == Counting::Sessions;
    let is_part = explains && evidence.is_part(Capture::Processlist);
    let mut limits = test.limits;
    if is_part || (explains && evidence.is_sparse(&moments) && is_what_hangs(test, evidence)) {
        limits.above = limits.above.map(|above| above.min(1.0));
    }
    let (value, limit) = match judge(&limits, test.over, seen, baseline, &what, show) {
        Judged::Holds { value, limit } => (value, limit),
        Judged::Not(text) => return Outcome::Not(text),
        Judged::Unknown(names) => return Outcome::Unknown(names),
    };
    let filling = Filling {
        text: None,
        value: Some(value),
        baseline,
        limit: Some(limit),
        each: None,
    };
    Outcome::Holds(Witness {
        id: sign.id.clone(),
        source: sign.source(),
        says: sign.says.render(&filling, show),
        value: Some(value),
        baseline,
        limit: Some(limit),
        signals: signals(test, evidence),
        conclusive: sign.conclusive
            && !is_part
            && test.limits.above.is_none_or(|above| value >= above),
    })
}

/// A session of the stall has been in such a state for [`OLD_SECONDS`]; or for a few seconds, and half of those that do
/// something are in it.
fn is_what_hangs(test: &ProcesslistTest, evidence: &Evidence) -> bool {
    let Column::State(regex) = &test.column else {
        return false;
    };
    let hangs = |list: &Listed| {
        let waits = || {
            let states = list.longest_states();
            states.filter(|(state, _)| regex.is_match(state))
        };
        let longest = waits().map(|(_, seconds)| seconds).fold(0.0, f64::max);
        // Whoever asked for the list is in it.
        let others = list.active().saturating_sub(list.by_class.of(ASKER));
        longest >= OLD_SECONDS || (longest >= SOME_SECONDS && waits().count() as u64 * 2 >= others)
    };
    let lists = evidence.processlists.iter();
    lists
        .filter(|(at, _)| evidence.tells_of_stall(*at, *at))
        .any(|(_, list)| hangs(list))
}

/// What one processlist shows.
struct Counted {
    at: Millis,
    matching: u64,
    of: u64,
}

impl Counted {
    /// Absent when fewer than `min` sessions are there to look at.
    fn number(&self, test: &ProcesslistTest, min: u64) -> Option<f64> {
        if self.of < min {
            return None;
        }
        match test.counting {
            Counting::Sessions => Some(self.matching as f64),
            Counting::Share => (self.of > 0).then(|| self.matching as f64 / self.of as f64),
        }
    }
}

/// Each processlist once, by time: windows overlap.
fn counts(test: &ProcesslistTest, evidence: &Evidence) -> Vec<Counted> {
    let numbers: Vec<(u64, u64)> = match &test.column {
        Column::Class(class) => {
            let lists = evidence.processlists.iter();
            lists
                .map(|(_, list)| {
                    let matching = list.by_class.of(class);
                    (matching, list.active())
                })
                .collect()
        }
        Column::State(regex) => of_active(
            evidence,
            evidence.states().counts(|text| regex.is_match(text)),
        ),
        Column::User(regex) => of_active(
            evidence,
            evidence.users().counts(|text| regex.is_match(text)),
        ),
        Column::Command(regex) => {
            let counts = evidence.commands().counts(|text| regex.is_match(text));
            let lists = evidence.processlists.iter();
            lists
                .zip(counts)
                .map(|((_, list), (matching, _))| (matching, list.sessions))
                .collect()
        }
        Column::Statement(regex) => evidence.statements().counts(|text| regex.is_match(text)),
    };
    let lists = evidence.processlists.iter();
    let mut counts: Vec<Counted> = lists
        .zip(numbers)
        .map(|((at, _), (matching, of))| Counted {
            at: *at,
            matching,
            of,
        })
        .collect();
    counts.sort_by_key(|one| one.at);
    counts
}

/// The same of all sessions that do something, whatever the column knows of them.
fn of_active(evidence: &Evidence, counts: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    let lists = evidence.processlists.iter();
    lists
        .zip(counts)
        .map(|((_, list), (matching, _))| (matching, list.active()))
        .collect()
}

fn inside(counts: &[Counted], window: Window) -> &[Counted] {
    let from = counts.partition_point(|one| one.at < window.from);
    let to = counts.partition_point(|one| one.at <= window.to);
    counts.get(from..to).unwrap_or_default()
}

fn see(test: &ProcesslistTest, counts: &[Counted], window: Window, truth: Truth) -> Seen {
    let inside = inside(counts, window);
    if inside.is_empty() {
        return absent(PROCESSLIST);
    }
    let numbers = inside
        .iter()
        .filter_map(|one| one.number(test, test.min_sessions));
    let Some(number) = median(numbers.collect()) else {
        return Seen::Nothing;
    };
    conditional(number, truth)
}

fn snapshots<'e, 'a>(
    evidence: &'e Evidence<'a>,
    window: Window,
) -> impl Iterator<Item = &'e (Millis, Listed<'a>)> {
    evidence
        .processlists
        .iter()
        .filter(move |(at, _)| *at >= window.from && *at <= window.to)
}

/// Every processlist's number with its moment; where nobody works, nobody is in it.
pub(crate) fn numbers(test: &ProcesslistTest, evidence: &Evidence) -> Vec<(Millis, f64)> {
    counts(test, evidence)
        .iter()
        .map(|one| (one.at, one.number(test, 0).unwrap_or(0.0)))
        .collect()
}

/// What is counted, in words.
pub(crate) fn what(test: &ProcesslistTest) -> (String, Show) {
    let show = match test.counting {
        Counting::Share => Show::Percent,
        Counting::Sessions => Show::Count,
    };
    (described(&test.column, test.counting), show)
}

/// The middle value, the lower of two: half of the snapshots show at least as much.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

fn described(column: &Column, counting: Counting) -> String {
    let what = match counting {
        Counting::Share => "the share of sessions",
        Counting::Sessions => "the number of sessions",
    };
    match column {
        Column::Class(class) => format!("{what} of class '{class}'"),
        Column::State(regex) => format!("{what} in state /{regex}/"),
        Column::Command(regex) => format!("{what} with command /{regex}/"),
        Column::User(regex) => format!("{what} of user /{regex}/"),
        Column::Statement(regex) => format!("{what} with statement /{regex}/"),
    }
}

fn signals(test: &ProcesslistTest, evidence: &Evidence) -> Vec<String> {
    let named = ProcessList::signal;
    let matching =
        |kind: &str, regex: &Regex, of: for<'l, 'a> fn(&'l Listed<'a>) -> &'l Counts<'a>| {
            let names: BTreeSet<String> = snapshots(evidence, evidence.stall)
                .flat_map(|(_, list)| of(list).iter())
                .map(|(name, _)| name)
                .filter(|name| regex.is_match(name))
                .map(|name| named(kind, name))
                .collect();
            names.into_iter().take(SIGNALS_MAX).collect()
        };
    match &test.column {
        Column::Class(class) => vec![named("class", class)],
        Column::State(regex) => matching("state", regex, |list| &list.by_state),
        Column::Command(regex) => matching("command", regex, |list| &list.by_command),
        Column::User(_) | Column::Statement(_) => vec!["processlist.active".to_owned()],
    }
}
