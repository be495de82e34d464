//! What the screens look at: one recording, whatever it was read from, and a moment in it.

use std::path::PathBuf;
use std::sync::Arc;

use diagnosis::Verdict;
use model::{
    Clock, Incident, Measure, Millis, ProbeOutcome, StackEvidence, Stall, TimedAbsent, Trigger,
    Window,
};

use crate::derived::Derived;
use crate::stats;
use crate::usual::Usual;

/// A signal that was not read for so long is not known, milliseconds.
const OLD_MS: Millis = 10_000;

/// The latest of the time before that is compared with where no stall is near, milliseconds.
const NORMAL_MS: Millis = 300_000;

/// This near to the cursor nothing is compared with: what is to be seen may have begun already, milliseconds.
const NEAR_MS: Millis = 30_000;

/// A history has the same absence once a minute, and of what is read each ten seconds ten seconds later, milliseconds.
const ABSENT_MS: Millis = 75_000;

/// A recording is opened so long after its onset at the most, milliseconds: a strip of the first screen shows a minute.
const OPENED_MS: Millis = 40_000;

/// The time before is another one so often, where the moment that is looked at moves, milliseconds.
const USUAL_EVERY_MS: Millis = 10_000;

/// What a recording was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordingKind {
    /// An incident's file.
    File,
    /// What others captured.
    Captures,
    /// A history that nobody writes now.
    History,
    /// The history of a recorder that runs.
    Recorder,
}

impl RecordingKind {
    /// In a word, for the head.
    pub fn label(&self) -> &'static str {
        match self {
            Self::File => "INCIDENT",
            Self::Captures => "CAPTURES",
            Self::History => "HISTORY",
            Self::Recorder => "LIVE",
        }
    }
}

/// A stall in the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StallTimes {
    /// When its first sign began.
    pub onset: Millis,
    /// When the recorder was sure.
    pub trigger: Millis,
    /// When it was over; none while it lasts or where the recording ends.
    pub end: Option<Millis>,
    /// The rules that fired.
    pub triggers: Vec<Trigger>,
}

impl StallTimes {
    /// That of an incident.
    pub fn from_stall(stall: &Stall) -> Self {
        Self {
            onset: stall.onset,
            trigger: stall.trigger,
            end: stall.end,
            triggers: stall.triggers.clone(),
        }
    }
}

/// An incident that is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IncidentEntry {
    /// Its file; none for a stall that was noticed and not captured.
    pub path: Option<PathBuf>,
    /// When it began, milliseconds since 1970 UTC.
    pub onset_wall_ms: i64,
    /// How long it lasted.
    pub length_ms: Option<Millis>,
    /// The server's label.
    pub server: String,
    /// The rule that noticed it.
    pub rule: String,
    /// What the rule saw.
    pub says: String,
    /// The cause that was written down for it; files are judged when the list is looked at.
    pub cause: Option<String>,
}

impl IncidentEntry {
    /// It is of the stall with this onset on the wall's clock: a history and a file tell it each by its own readings.
    pub fn is_of(&self, onset_wall_ms: i64) -> bool {
        is_same_stall(self.onset_wall_ms, onset_wall_ms)
    }
}

/// Whether two onsets, on the wall's clock, are those of one stall: that of a stall that lasts may move by a reading.
pub(crate) fn is_same_stall(one_wall_ms: i64, other_wall_ms: i64) -> bool {
    one_wall_ms.abs_diff(other_wall_ms) < 2_000
}

/// A stall that a recorder noticed and wrote down, captured or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotedStall {
    /// The server's label.
    pub server: String,
    /// When it began, milliseconds since 1970 UTC.
    pub onset_wall_ms: i64,
    /// When it was noticed.
    pub trigger_wall_ms: Option<i64>,
    /// When it was over; none while it lasts, or where the recorder ended first.
    pub end_wall_ms: Option<i64>,
    /// The rule that noticed it.
    pub rule: String,
    /// What the rule saw.
    pub says: String,
    /// The cause that was written down for it.
    pub cause: Option<String>,
    /// There is a file of it.
    pub is_captured: bool,
}

/// How a recorder that runs does, as it says itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecorderState {
    /// How old its last beat is, milliseconds.
    pub beat_age_ms: Option<Millis>,
    /// A stall lasts, for so long.
    pub stalled_ms: Option<Millis>,
    /// What the rule saw that noticed it.
    pub reason: String,
    /// Its verdict so far on that stall: it sees threads and stacks, which no history has.
    pub verdict: Option<Verdict>,
    /// For how long the query probe has no answer.
    pub unanswered_ms: Option<Millis>,
}

/// The model. What screens derive from it is kept: once it was drawn, only a copy of it may be changed.
#[derive(Debug, Clone)]
pub struct Model {
    /// What was recorded.
    pub incident: Arc<Incident>,
    /// What is said of its stall.
    pub verdict: Option<Verdict>,
    /// The stalls in it, oldest first.
    pub stalls: Vec<StallTimes>,
    /// What it was read from.
    pub kind: RecordingKind,
    /// Its path.
    pub path: String,
    /// Incidents of the same directory, the latest first.
    pub incidents: Vec<IncidentEntry>,
    /// What the recorder says that runs.
    pub recorder: Option<RecorderState>,
    /// It reaches to the newest that there is: of a history an older part may be read.
    pub is_newest: bool,
    /// When it was read, milliseconds since 1970 UTC; none of what does not change.
    pub read_wall_ms: Option<i64>,
    /// What the reader of this should know: damage, what was left out.
    pub notes: Vec<String>,
    /// The stacks that a recorder has in memory: a history keeps none.
    pub(crate) recent: Option<Arc<StackEvidence>>,
    /// What signals usually are.
    pub(crate) usual: Arc<Usual>,
    /// What screens derived from it.
    pub(crate) derived: Derived,
}

impl Model {
    /// Of an incident that was read.
    pub fn from_incident(
        incident: Incident,
        verdict: Verdict,
        kind: RecordingKind,
        path: String,
    ) -> Self {
        Self {
            stalls: vec![StallTimes::from_stall(&incident.stall)],
            incident: Arc::new(incident),
            verdict: Some(verdict),
            kind,
            path,
            incidents: Vec::new(),
            recorder: None,
            is_newest: true,
            read_wall_ms: None,
            notes: Vec::new(),
            recent: None,
            usual: Arc::default(),
            derived: Derived::default(),
        }
    }

    /// How often screens derived something from it that they keep.
    pub fn derived(&self) -> usize {
        self.derived.made()
    }

    /// The stacks: those that a recorder has in memory, else those of the incident.
    pub fn stacks(&self) -> &StackEvidence {
        self.recent.as_deref().unwrap_or(&self.incident.stacks)
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.incident.clock
    }

    /// The last moment that was read.
    pub fn last(&self) -> Millis {
        let ticks = self.incident.timeline.sources.iter();
        let last = ticks.filter_map(|source| source.ticks.last().copied());
        last.max().unwrap_or(self.incident.window.to)
    }

    /// The first one.
    pub fn first(&self) -> Millis {
        let ticks = self.incident.timeline.sources.iter();
        let first = ticks.filter_map(|source| source.ticks.first().copied());
        first.min().unwrap_or(self.incident.window.from)
    }

    /// A moment of the wall's clock on that of the recording, within it.
    pub fn own(&self, wall_ms: i64) -> Millis {
        let own = wall_ms.saturating_sub(self.clock().wall_at_zero_ms);
        let own = u64::try_from(own).unwrap_or(0);
        own.clamp(self.first(), self.last().max(self.first()))
    }

    /// Where one begins to look: in a recorder's at the end, else in the stall, so that its onset is to be seen too.
    pub fn opening(&self) -> Millis {
        match self.kind {
            RecordingKind::Recorder | RecordingKind::History => self.last(),
            RecordingKind::File | RecordingKind::Captures => {
                let stall = self.incident.stall_window();
                let length = stall.to.saturating_sub(stall.from);
                // At its end the crowd is gone. Captures have a few moments only, the last where most of them is.
                let within = match self.incident.is_imported() {
                    true => length,
                    false => length / 4 * 3,
                };
                let seen = stall.from.saturating_add(within.min(OPENED_MS));
                seen.clamp(self.first(), self.last())
            }
        }
    }

    /// Whether there are stacks of this time: then what is made of them, and is not there, was not to be seen.
    pub(crate) fn has_recent_stacks(&self, at: Millis) -> bool {
        let first = self.stacks().snapshots.first();
        first.is_some_and(|first| first.at <= at)
    }

    /// The stall at a moment.
    pub fn stall_at(&self, at: Millis) -> Option<&StallTimes> {
        let lasts =
            |stall: &&StallTimes| stall.onset <= at && stall.end.is_none_or(|end| end >= at);
        self.stalls.iter().rev().find(lasts)
    }

    /// The stall whose verdict there is, if the moment is not before it.
    pub fn judged(&self, at: Millis) -> Option<&Verdict> {
        self.verdict
            .as_ref()
            .filter(|_| at >= self.incident.stall.onset)
    }

    /// The time that a moment is compared with: the calm before the last stall, or the minutes before.
    pub fn normal(&self, at: Millis) -> Window {
        let begin = self.first();
        let stalls = || self.stalls.iter().filter(|stall| stall.onset <= at);
        if let Some(last) = stalls().next_back() {
            let stall = Stall {
                onset: last.onset,
                trigger: last.trigger,
                end: last.end,
                triggers: Vec::new(),
                earlier: match self.incident.stall.onset == last.onset {
                    true => self.incident.stall.earlier.clone(),
                    false => stalls()
                        .filter_map(|stall| {
                            Some(Window {
                                from: stall.onset,
                                to: stall.end?,
                            })
                        })
                        .filter(|stall| stall.from < last.onset)
                        .collect(),
                },
            };
            let calm = stall.calm_before(begin);
            return Window {
                from: calm.from.max(calm.to.saturating_sub(NORMAL_MS)),
                to: calm.to,
            };
        }
        let to = at.saturating_sub(NEAR_MS);
        // Beside a recorder the moment moves each second; what is usual is not another thing each second.
        let step = match self.kind {
            RecordingKind::Recorder => USUAL_EVERY_MS,
            _ => 1,
        };
        let to = (to - to % step).max(begin);
        match to.saturating_sub(begin) < NEAR_MS {
            // A short recording is compared with all of it.
            true => Window {
                from: begin,
                to: at,
            },
            false => Window {
                from: begin.max(to.saturating_sub(NORMAL_MS)),
                to,
            },
        }
    }

    /// How old the newest reading was when it was read; none of what does not grow.
    pub fn silent_ms(&self) -> Option<Millis> {
        self.age_ms(RecordingKind::Recorder)
    }

    /// How long ago a history ended that no recorder writes: its last moment is not now.
    pub fn ended_ms(&self) -> Option<Millis> {
        self.age_ms(RecordingKind::History)
    }

    fn age_ms(&self, kind: RecordingKind) -> Option<Millis> {
        let read = self
            .read_wall_ms
            .filter(|_| self.kind == kind && self.is_newest)?;
        let age = read.saturating_sub(self.clock().wall_ms(self.last()));
        u64::try_from(age).ok().filter(|ms| *ms >= OLD_MS)
    }

    /// Whether evidence was absent at a moment.
    pub fn is_absent(&self, timed: &TimedAbsent, at: Millis) -> bool {
        let lasts = match self.kind {
            RecordingKind::History | RecordingKind::Recorder => ABSENT_MS,
            RecordingKind::File | RecordingKind::Captures => 2_000,
        };
        timed.first <= at && timed.last.saturating_add(lasts) >= at
    }

    /// How the last probe before a moment ended: its outcome, as long as it is not old.
    pub fn probe(&self, signal: &str, at: Millis) -> Option<ProbeOutcome> {
        let timeline = &self.incident.timeline;
        let window = Window {
            from: at.saturating_sub(OLD_MS),
            to: at,
        };
        let series = timeline.get(signal)?;
        let code = timeline.measure(series, Measure::Last, window)?;
        ProbeOutcome::from_code(code)
    }

    /// Statements that the server answers a second, without the recorder's own.
    pub fn answered(&self, at: Millis) -> Option<f64> {
        let timeline = &self.incident.timeline;
        let all = stats::now_of(timeline, "status.Questions", at)?;
        let own = stats::now_of(timeline, "recorder.statements", at).unwrap_or(0.0);
        Some((all - own).max(0.0))
    }
}
