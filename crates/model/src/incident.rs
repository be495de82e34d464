//! An incident: a stall with everything that was recorded around it.

use serde::{Deserialize, Serialize};

use crate::{
    Absent, Callers, Fact, LockTable, Measure, Millis, Profile, QueryDigest, SnapshotMeta,
    StackTable, Text, ThreadRun, Timeline, Window,
};

/// How the recorder's clock relates to the wall.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Clock {
    /// Wall-clock time, milliseconds since 1970 UTC, at the recorder's moment 0.
    pub wall_at_zero_ms: i64,
    /// `/proc/sys/kernel/random/boot_id`, empty when unknown.
    pub boot_id: String,
}

impl Clock {
    /// Whether the time of day is known. Captures of other tools need not tell one: their zero is 0.
    pub fn is_known(&self) -> bool {
        self.wall_at_zero_ms != 0
    }

    /// Wall-clock time of a moment, milliseconds since 1970 UTC.
    pub fn wall_ms(&self, at: Millis) -> i64 {
        self.wall_at_zero_ms.saturating_add_unsigned(at)
    }
}

/// The server an incident is about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Server {
    /// Short name, unique on the host: its port or socket.
    pub label: String,
    /// `@@version` with `@@version_comment`, empty without a login.
    pub version: String,
    /// Process id, when it was found.
    pub pid: Option<u32>,
    /// How it was reached ("socket /run/mysqld/mysqld.sock").
    pub address: String,
}

/// What made the recorder call it a stall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// The rule's id (`system-cpu`, `query-probe`, `user`).
    pub rule: String,
    /// What the rule saw, with the number and the limit.
    pub says: String,
}

/// An episode: three different times.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// When the first sign began.
    pub onset: Millis,
    /// When the recorder was sure.
    pub trigger: Millis,
    /// When the last sign was gone; absent while it lasts or when the recording ended first.
    pub end: Option<Millis>,
    /// Every rule that fired, the first one first.
    pub triggers: Vec<Trigger>,
    /// The stalls before it to whose end the record reaches back, oldest first: their time is none to compare with.
    pub earlier: Vec<Window>,
}

impl Stall {
    /// The rule of what somebody asked for.
    pub const REQUESTED: &str = "asked";

    /// The rule of a stall that no recorder noticed: somebody captured what there was.
    pub const IMPORTED: &str = "imported";

    /// Nobody saw a stall in it: somebody asked for this time.
    pub fn is_request_only(&self) -> bool {
        let mut triggers = self.triggers.iter();
        !self.triggers.is_empty() && triggers.all(|trigger| trigger.rule == Self::REQUESTED)
    }

    /// The stall before it.
    pub fn previous(&self) -> Option<Window> {
        self.earlier.last().copied()
    }

    /// The time before its onset in a record that begins at `begin`: the latest between two stalls that is long enough to
    /// compare with. Where none is, all of it: a limit that holds without any comparison is no proof, and on a server that
    /// is always throttled it would be called one.
    pub fn calm_before(&self, begin: Millis) -> Window {
        let starts = std::iter::once(begin).chain(self.earlier.iter().map(|stall| stall.to));
        let ends = self.earlier.iter().map(|stall| stall.from);
        let ends = ends.chain(std::iter::once(self.onset));
        let between = starts.zip(ends).map(|(from, to)| {
            let from = from.max(begin).min(self.onset);
            let to = to.clamp(from, self.onset);
            Window { from, to }
        });
        let is_long = |calm: &Window| calm.to - calm.from >= BASELINE_MIN_MS;
        between.filter(is_long).last().unwrap_or(Window {
            from: begin,
            to: self.onset,
        })
    }
}

/// Stalls before it that an incident knows, at the most: a server that stalls each few seconds does so for long.
pub const EARLIER_MAX: usize = 64;

/// Shortest time before an onset that is something to compare with, in milliseconds.
pub const BASELINE_MIN_MS: Millis = 10_000;

/// How long after the end of a stall work that had queued up is still done, in milliseconds.
const RECOVERY_MS: Millis = 2_000;

/// Statements that the server was given, by its own counts.
const STATEMENTS: [&str; 2] = ["status.Questions", "status.Queries"];

/// A text with its moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedText {
    /// When it was taken.
    pub at: Millis,
    /// The text.
    pub text: Text,
}

/// A fact with the moment from which it held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedFact {
    /// When it was read as such first.
    pub at: Millis,
    /// The fact.
    pub fact: Fact,
}

/// What the server was asked between two moments.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedDigest {
    /// The time that was looked at; longer than from the first statement seen to the last.
    pub window: Window,
    /// The statements by class.
    pub digest: QueryDigest,
}

/// An absence, with when and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedAbsent {
    /// When it was absent first, on the recorder's clock.
    pub first: Millis,
    /// When it was absent last, on the recorder's clock.
    pub last: Millis,
    /// How many readings were missing.
    pub count: u64,
    /// What was absent, and why.
    pub absent: Absent,
}

/// What the threads of the server did: from before the trigger to the end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StackEvidence {
    /// The stacks that the rest refers to.
    #[serde(rename = "book")]
    pub table: StackTable,
    /// Every snapshot of all threads, oldest first.
    pub snapshots: Vec<SnapshotMeta>,
    /// What the threads did in them, by begin.
    pub runs: Vec<ThreadRun>,
    /// Profiles of the processors, oldest first; they do not overlap.
    pub profiles: Vec<Profile>,
    /// What others' listings tell of callers in them; the recorder has whole stacks instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<Callers>,
    /// Lock tables, oldest first.
    pub locks: Vec<LockTable>,
}

impl StackEvidence {
    /// There is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.snapshots.is_empty() && self.profiles.is_empty() && self.locks.is_empty()
    }
}

/// A word that means something by itself, in a sentence that somebody wrote: less than a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// What it is.
    pub kind: lexicon::Kind,
    /// The name, the state, or the lexicon's pattern of a message: nothing of what else the sentence says.
    pub word: String,
    /// The capture that the word stands in.
    pub path: String,
    /// Its line, from 1.
    pub line: usize,
    /// It stands in something that was read as what it is, too: it is no evidence beside that.
    pub is_read: bool,
}

/// A stall with everything that was recorded around it. One file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Incident {
    /// Name, unique on the host: server label and wall-clock time of the trigger.
    pub id: String,
    /// Host name.
    pub host: String,
    /// The recorder's version.
    pub tool_version: String,
    /// The server that stalled.
    pub server: Server,
    /// How the times of this record relate to the time of day.
    pub clock: Clock,
    /// When it began and ended, and what gave it away.
    pub stall: Stall,
    /// What the file covers.
    pub window: Window,
    /// All signals, from before the onset to the end of the record.
    pub timeline: Timeline,
    /// Texts, oldest first.
    pub texts: Vec<TimedText>,
    /// Facts, oldest first; a fact that changed stands several times.
    pub facts: Vec<TimedFact>,
    /// Stacks, profiles and locks.
    pub stacks: StackEvidence,
    /// What the server was asked, by begin. Several ways may have looked at the same time.
    pub queries: Vec<TimedDigest>,
    /// What people wrote of it in sentences around captures; the recorder has none.
    pub mentions: Vec<Mention>,
    /// What in short captures `likeness` knows, each once: words of our own vocabulary alone. The recorder has none.
    pub known_words: Vec<&'static str>,
    /// What could not be taken.
    pub absent: Vec<TimedAbsent>,
}

impl Incident {
    /// The stall itself: onset to end, or to the end of the recording.
    pub fn stall_window(&self) -> Window {
        Window {
            from: self.stall.onset,
            to: self
                .stall
                .end
                .unwrap_or(self.window.to)
                .max(self.stall.onset),
        }
    }

    /// The time before the onset, to compare with.
    pub fn baseline_window(&self) -> Window {
        self.stall.calm_before(self.window.from)
    }

    /// The time after the end, to compare with where too little was recorded before the onset: other tools begin to collect
    /// in the stall. Nothing where it is short, or where less was done in it than in the stall: a server without work is
    /// no calm one.
    pub fn calm_after(&self) -> Option<Window> {
        if self.baseline_window().length() >= BASELINE_MIN_MS {
            return None;
        }
        let after = Window::new(self.stall.end?.saturating_add(RECOVERY_MS), self.window.to);
        let statements = STATEMENTS.iter().find_map(|name| self.timeline.get(name))?;
        let rate = |window| self.timeline.measure(statements, Measure::Rate, window);
        let is_long = after.to >= after.from.saturating_add(BASELINE_MIN_MS);
        let works = is_long && rate(after)? > 0.0;
        // A stall of which only the last reading was caught has no rate.
        let works_less = rate(self.stall_window())
            .is_some_and(|in_stall| rate(after).is_some_and(|after| after < in_stall));
        (works && !works_less).then_some(after)
    }

    /// It was made of captures that somebody took, not by a recorder: what is not in it may have been there.
    pub fn is_imported(&self) -> bool {
        let mut triggers = self.stall.triggers.iter();
        triggers.any(|trigger| trigger.rule == Stall::IMPORTED)
    }

    /// Somebody's tool began to capture when the stall was over, as its trigger shows.
    pub fn began_after_it(&self) -> bool {
        let is_over = |end| end <= self.stall.trigger;
        self.is_imported() && self.stall.end.is_some_and(is_over)
    }

    /// The value of a fact at the onset, or the first one known after it.
    pub fn fact(&self, name: &str) -> Option<&str> {
        let named = || self.facts.iter().filter(|timed| timed.fact.name == name);
        named()
            .rfind(|timed| timed.at <= self.stall.onset)
            .or_else(|| named().next())
            .map(|timed| timed.fact.value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(from: Millis, to: Millis) -> Window {
        Window { from, to }
    }

    #[test]
    fn the_time_of_earlier_stalls_is_none_to_compare_with() {
        let before = |earlier: &[(Millis, Millis)]| {
            let stall = Stall {
                onset: 100_000,
                trigger: 101_000,
                end: None,
                triggers: Vec::new(),
                earlier: earlier
                    .iter()
                    .map(|(from, to)| window(*from, *to))
                    .collect(),
            };
            stall.calm_before(40_000)
        };
        for (earlier, calm) in [
            (&[][..], (40_000, 100_000)),
            (&[(60_000, 88_000)], (88_000, 100_000)),
            (&[(20_000, 50_000)], (50_000, 100_000)),
            // Too near, and long enough before it.
            (&[(70_000, 95_000)], (40_000, 70_000)),
            (&[(55_000, 65_000), (76_000, 95_000)], (65_000, 76_000)),
            // Nowhere long enough.
            (&[(46_000, 95_000)], (40_000, 100_000)),
            (&[(10_000, 95_000)], (40_000, 100_000)),
            (
                &[(41_000, 60_000), (63_000, 80_000), (88_000, 99_000)],
                (40_000, 100_000),
            ),
        ] {
            assert_eq!(before(earlier), window(calm.0, calm.1), "{earlier:?}");
        }
    }
}
