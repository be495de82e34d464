//! The sessions of the processlist.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{ListView, ProcessList, Window};

use super::snapshots::{Snapshot, Snapshots};
use super::{Arguments, Read};
use crate::evidence::{Column, Evidence};
use crate::human::Show;
use crate::measure::{Function, Kind, Measured, Sign, Taken, known};
use crate::named::Seen;
use crate::names::NamePattern;
use crate::provenance::PROCESSLIST;

pub(crate) static KIND: Kind = Kind {
    name: "processlist",
    documentation: r"
**Sessions** in processlists of the stall; the median of those in the window.

| | |
|---|---|
| `sessions(…)`, `sessions_share(…)`, `session_seconds(…)` | how many; their share; how long the oldest of a `state` has been in it |
| one of | `class = 'show warnings'` (exactly); `state`, `user`: of sessions that do something; `command`: of all; `statement`: without literals, of those longest in their state |
| `ahead` | of `session_seconds`: how much longer than the next one, where three or more are in that state |
| `min_sessions` | default 1; smaller processlists are not looked at |
",
    taken: Taken::Snapshots,
    each: None,
    names: Some(Seen::Sessions),
    functions: &[
        known("sessions", Show::Count, |from| {
            Sessions::read(from, What::Number)
        }),
        known("sessions_share", Show::Percent, |from| {
            Sessions::read(from, What::Share)
        }),
        known("session_seconds", Show::Seconds, |from| {
            Sessions::read(from, What::Longest)
        }),
    ],
};

/// How long one session waits that is no coincidence, in seconds; and how long where few others do anything.
const OLD_SECONDS: f64 = 30.0;
const SOME_SECONDS: f64 = 3.0;

/// The class of the statement that asks for the list.
const ASKER: &str = "show processlist";

/// Names of signals that a witness points at, at the most.
const SIGNALS_MAX: usize = 8;

#[derive(Debug)]
struct Sessions {
    which: Which,
    what: What,
    /// Of the longest time, only what it is longer than the next one.
    ahead: bool,
    /// A list of fewer has no number.
    min_sessions: u64,
}

/// What is measured of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Number,
    /// Of all that are looked at.
    Share,
    /// How long the one that has been at it for longest has, in seconds. It needs a state.
    Longest,
}

/// Which sessions are meant.
#[derive(Debug)]
enum Which {
    /// The class of the statement is exactly this.
    Class(String),
    /// This column matches.
    Like(Column, NamePattern),
}

/// The columns by their names as arguments, with the words for a session that matches.
const COLUMNS: [(&str, Column, &str); 4] = [
    ("state", Column::State, "in state"),
    ("command", Column::Command, "with command"),
    ("user", Column::User, "of user"),
    ("statement", Column::Statement, "with statement"),
];

impl Sessions {
    fn read(from: &mut Arguments, what: What) -> Read<Arc<dyn Function>> {
        let mut given: Vec<Which> = from.text("class")?.map(Which::Class).into_iter().collect();
        for (name, column, _) in COLUMNS {
            let like = |pattern| Which::Like(column, pattern);
            given.extend(from.pattern(name)?.map(like));
        }
        let (Some(which), true) = (given.pop(), given.is_empty()) else {
            let problem = "needs exactly one of class, state, command, user and statement";
            return from.lack(problem);
        };
        if what == What::Longest && !matches!(which, Which::Like(Column::State, _)) {
            return from.lack("needs a state");
        }
        Ok(Arc::new(Self {
            which,
            what,
            ahead: what == What::Longest && from.flag("ahead")?,
            min_sessions: from.count("min_sessions", 1)?,
        }))
    }

    /// Absent when fewer than `min` sessions are there to look at.
    fn number(&self, one: &Snapshot, min: u64) -> Option<f64> {
        if one.of < min {
            return None;
        }
        match self.what {
            What::Number | What::Longest => Some(one.matching as f64),
            What::Share => (one.of > 0).then(|| one.matching as f64 / one.of as f64),
        }
    }

    /// The middle value, the lower of two: half of the snapshots show at least as much.
    fn median(&self, of: &[Snapshot], min: u64) -> Option<f64> {
        // As most are: each is zero, or has no number.
        if of.iter().all(|one| one.matching == 0) {
            return of.iter().find_map(|one| self.number(one, min));
        }
        let mut values: Vec<f64> = of.iter().filter_map(|one| self.number(one, min)).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len().saturating_sub(1) / 2).copied()
    }

    /// Each processlist once, by time: windows overlap.
    fn snapshots<'e>(&self, evidence: &'e Evidence) -> Snapshots<'e> {
        let counts = match &self.which {
            Which::Class(_) => Vec::new(),
            Which::Like(_, pattern) if self.what == What::Longest => {
                let states = evidence.column(Column::LongestState);
                states.each(
                    |state| pattern.is_match(state),
                    |seconds| (longest(seconds, self.ahead), 0),
                )
            }
            Which::Like(column, pattern) => {
                let texts = evidence.column(*column);
                texts.counts(|text| pattern.is_match(text))
            }
        };
        let mut counts = counts.into_iter();
        let lists = evidence.processlists.iter();
        let snapshots = lists.map(|(_, list)| {
            let (counted, known) = counts.next().unwrap_or_default();
            let (matching, of) = match &self.which {
                Which::Class(class) => (list.by_class.count(class), list.active()),
                Which::Like(Column::Command, _) => (counted, list.sessions),
                Which::Like(Column::Statement, _) => (counted, known),
                // Of all sessions that do something, whatever the column knows of them.
                Which::Like(..) => (counted, list.active()),
            };
            Snapshot { matching, of }
        });
        Snapshots {
            moments: evidence.list_moments(),
            all: snapshots.collect(),
        }
    }

    /// A session of the stall has been in such a state for [`OLD_SECONDS`]; or for a few seconds, and half of those that do
    /// something are in it.
    fn is_what_hangs(&self, evidence: &Evidence) -> bool {
        let Which::Like(Column::State, pattern) = &self.which else {
            return false;
        };
        let hangs = |list: &ListView| {
            let waits = || {
                let states = list.longest_states();
                states.filter(|(state, _)| pattern.is_match(state))
            };
            let longest = waits().map(|(_, seconds)| seconds).fold(0.0, f64::max);
            // Whoever asked for the list is in it.
            let others = list.active().saturating_sub(list.by_class.count(ASKER));
            longest >= OLD_SECONDS
                || (longest >= SOME_SECONDS && waits().count() as u64 * 2 >= others)
        };
        evidence.lists_of_stall().any(hangs)
    }
}

/// The seconds of the session that has been in such a state for longest; or by how many it is ahead of the next one.
fn longest(seconds: &mut dyn Iterator<Item = u64>, ahead: bool) -> u64 {
    let mut seconds: Vec<u64> = seconds.collect();
    seconds.sort_unstable_by(|a, b| b.cmp(a));
    match (ahead, seconds.as_slice()) {
        (true, [first, second, _, ..]) => first - second,
        (true, _) => 0,
        (false, all) => all.first().copied().unwrap_or(0),
    }
}

impl Function for Sessions {
    fn source(&self) -> &'static str {
        PROCESSLIST
    }

    fn words(&self, in_full: bool) -> String {
        let what = match self.what {
            What::Share => "the share of sessions",
            What::Number => "the number of sessions",
            What::Longest if self.ahead => "the lead of the longest time of a session",
            What::Longest => "the longest time of a session",
        };
        let of = match &self.which {
            Which::Class(class) => format!("of class '{class}'"),
            Which::Like(column, pattern) => {
                let mut columns = COLUMNS.into_iter();
                let known = columns.find(|(_, known, _)| known == column);
                let words = known.map_or("", |(_, _, words)| words);
                format!("{words} /{}/", pattern.text())
            }
        };
        match self.min_sessions {
            min if in_full && min > 1 => format!("{what} {of}, of {min} or more,"),
            _ => format!("{what} {of}"),
        }
    }

    fn measure(&self, sign: &Sign, evidence: &Evidence) -> Measured {
        let snapshots = self.snapshots(evidence);
        let seen = snapshots.seen(sign, evidence, PROCESSLIST, |inside| {
            self.median(inside, self.min_sessions)
        });
        // Before the onset few sessions are the normal thing, not a set too small to judge.
        let min = match self.what {
            What::Share => self.min_sessions,
            What::Number | What::Longest => 0,
        };
        let baseline = evidence
            .baseline
            .and_then(|window| self.median(snapshots.inside(window), min));
        // A state that has one explanation only is shown because of it; in a list that somebody took because something
        // hung, it may be one session that hangs.
        let explains = sign.conclusive && self.what == What::Number;
        let is_part = explains && evidence.is_part("processlist");
        let is_sparse = || evidence.is_sparse(&snapshots.moments.at);
        let measured = Measured::new(sign, seen, baseline);
        let mut measured = match self.what {
            What::Share | What::Longest => measured,
            What::Number => measured.of_crowd(evidence),
        };
        measured.is_part = is_part;
        if is_part || (explains && is_sparse() && self.is_what_hangs(evidence)) {
            measured.limits = sign.limits.in_part();
        }
        measured
    }

    /// Where nobody works, nobody is in it.
    fn readings(&self, evidence: &Evidence) -> Vec<(Window, f64)> {
        let number = |one: &Snapshot| Some(self.number(one, 0).unwrap_or(0.0));
        self.snapshots(evidence).each(number)
    }

    fn signals(&self, evidence: &Evidence) -> Vec<String> {
        let named = ProcessList::signal;
        let (kind, pattern) = match &self.which {
            Which::Class(class) => return vec![named("class", class)],
            Which::Like(Column::State, pattern) => ("state", pattern),
            Which::Like(Column::Command, pattern) => ("command", pattern),
            Which::Like(..) => return vec!["processlist.active".to_owned()],
        };
        let lists = evidence.processlists.iter();
        let names: BTreeSet<String> = lists
            .filter(|(at, _)| evidence.stall.contains(*at))
            .flat_map(|(_, list)| match kind {
                "state" => list.by_state.iter(),
                _ => list.by_command.iter(),
            })
            .filter(|(name, _)| pattern.is_match(name))
            .map(|(name, _)| named(kind, name))
            .collect();
        names.into_iter().take(SIGNALS_MAX).collect()
    }

    fn is_said(&self, _: &Evidence) -> bool {
        true
    }

    fn asks_for(&self, kind: lexicon::Kind, name: &str) -> bool {
        let is_match =
            |pattern: &NamePattern| kind == lexicon::Kind::State && pattern.is_match(name);
        matches!(&self.which, Which::Like(Column::State, pattern) if is_match(pattern))
    }
}
