//! Before against after: did a change help? Pure, like the diagnosis.

mod bootstrap;
mod case;
mod diffs;
mod formulas;
mod judge;
mod load;
mod permutation;
mod series;
mod server_wide;
mod signals;
mod stalls;
mod words;

use model::{Incident, Millis, Window};
use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::cause::Cause;
use crate::human::{self, Show};
use crate::verdict::{Level, Verdict};

/// The method in one sentence, for readers of a result.
pub const METHOD: &str = "Means are compared by the circular block bootstrap (2,000 draws, 95 % intervals): blocks \
of neighbouring readings, as long as the autocorrelation asks for, are drawn whole, because a busy second has busy \
neighbours; intervals are widened by Student's t for few blocks. The shares of the readings in which a sign of the \
cause held are compared by a permutation of blocks. Only the signs that the cause cannot do without decide; their \
p-values are adjusted by Holm's method.";

/// One of the two sides.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// What was recorded.
    pub incident: &'a Incident,
    /// The time span that is compared.
    pub window: Window,
    /// Why this span was chosen.
    pub stretch: Stretch,
    /// How long stalls were counted, in milliseconds; absent when that is not known.
    pub recorded_ms: Option<Millis>,
    /// Stalls of the kind in that time; absent when they were not counted. The stretch itself counts.
    pub stalls: Option<u32>,
}

/// Why a span of time was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stretch {
    /// It is a stall: chosen because it was bad.
    Stall,
    /// It is a stretch of an incident outside of its stall.
    Calm,
    /// It was chosen by its time.
    Window,
    /// It is a stall that was made on purpose, by the same test as that of the other side.
    Run,
}

impl Stretch {
    /// The name that a report prints.
    pub fn words(self) -> &'static str {
        match self {
            Self::Stall => "the stall",
            Self::Calm => "a calm stretch",
            Self::Window => "window",
            Self::Run => "the test",
        }
    }
}

/// What a comparison concludes about the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The cause is gone, and it is not chance.
    Worked,
    /// The cause is there as before.
    NoEffect,
    /// The cause is there more than before.
    Worse,
    /// The data prove none of these.
    NotProven,
}

impl Answer {
    /// The name that a report prints.
    pub fn words(self) -> &'static str {
        match self {
            Self::Worked => "worked",
            Self::NoEffect => "no effect",
            Self::Worse => "worse",
            Self::NotProven => "not proven",
        }
    }
}

/// Before against after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What the comparison concludes.
    pub verdict: Answer,
    /// The conclusion in one sentence.
    pub sentence: String,
    /// The reasons for the conclusion, each a sentence.
    pub reasons: Vec<String>,
    /// What is missing for a proof, or for a better one, each a sentence.
    pub missing: Vec<String>,
    /// The cause that is compared; absent when only what every client feels is.
    pub cause: Option<ComparedCause>,
    /// The first side.
    pub before: SideHead,
    /// The second side.
    pub after: SideHead,
    /// Statements a second that are not the cause's own: the demand on the server.
    pub load: Option<Load>,
    /// How often stalls occurred before and after.
    pub recurrence: Option<Recurrence>,
    /// Signals, those that decide first.
    pub signals: Vec<SignalChange>,
    /// Settings and facts that differ.
    pub settings: Vec<SettingChange>,
    /// The mix of statements, the largest change first.
    pub statements: Vec<Change>,
    /// Functions by their own share of the server's samples, the largest change first.
    pub functions: Vec<Change>,
    /// Locks by the threads that waited for them on average, the largest change first.
    pub locks: Vec<Change>,
    /// How it was computed.
    pub method: String,
}

/// The cause in question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComparedCause {
    /// The id in the catalogue.
    pub id: String,
    /// The title in the catalogue.
    pub title: String,
}

/// One side, for its heading.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideHead {
    /// Host.
    pub host: String,
    /// Short name of the server.
    pub server: String,
    /// The server's version.
    pub version: String,
    /// Name of the incident or the history.
    pub id: String,
    /// Why the span was chosen.
    pub stretch: Stretch,
    /// Begin, milliseconds since 1970 UTC.
    pub from_ms: i64,
    /// End, milliseconds since 1970 UTC.
    pub to_ms: i64,
}

impl SideHead {
    /// Whether the time of day is known: moments of captures that tell none count from their begin,
    /// and no capture is a year long.
    pub fn time_is_known(&self) -> bool {
        const YEAR_MS: i64 = 366 * 86_400_000;
        self.from_ms >= YEAR_MS
    }

    /// Length in milliseconds.
    pub fn length_ms(&self) -> u64 {
        u64::try_from(self.to_ms.saturating_sub(self.from_ms)).unwrap_or(0)
    }
}

/// What the server was asked to do on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Load {
    /// Statements a second before.
    pub before: f64,
    /// The same after.
    pub after: f64,
    /// After over before; absent when there was none before.
    pub ratio: Option<f64>,
    /// Statements that are the cause's own, and not counted.
    pub without: Vec<String>,
    /// `before` is of the minutes in front of the stretch, because the server counted nothing in it.
    pub before_is_ahead: bool,
}

/// Stalls before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recurrence {
    /// What was counted: `incidents`, or `episodes` of the cause's signs within the windows.
    pub counted: &'static str,
    /// How many before.
    pub before: u32,
    /// Hours in which they were counted.
    pub before_hours: f64,
    /// How many after.
    pub after: u32,
    /// Hours in which they were counted.
    pub after_hours: f64,
    /// Probability of so few after, if they came as often as before (binomial, given all of them).
    pub p: f64,
    /// Hours without a stall from which on it would be no chance any more; absent when it is enough.
    pub more_hours: Option<f64>,
    /// Whether the cause comes in episodes, so that this counts for the verdict.
    pub counts: bool,
}

/// What a signal does in the comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The verdict rests on it.
    Deciding,
    /// It belongs to the cause.
    #[default]
    Supporting,
    /// Every server has it.
    ServerWide,
}

/// What became of a signal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It was a sign of the cause and is none any more.
    Gone,
    /// It became clearly less.
    Less,
    /// Nothing that matters changed.
    Same,
    /// It became clearly more.
    More,
    /// Either is possible.
    Unclear,
    /// It was no sign of the cause, neither before nor after.
    NotThere,
    /// A side has too few independent readings.
    TooShort,
    /// A side has no such reading.
    #[default]
    NotMeasured,
}

impl Fate {
    /// The name that a report prints.
    pub fn words(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Less => "less",
            Self::Same => "same",
            Self::More => "more",
            Self::Unclear => "unclear",
            Self::NotThere => "not there",
            Self::TooShort => "too short",
            Self::NotMeasured => "not measured",
        }
    }
}

/// One side's numbers of a signal.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SideNumbers {
    /// How many readings there are.
    pub readings: usize,
    /// Mean of the readings.
    pub mean: Option<f64>,
    /// Median of the readings.
    pub median: Option<f64>,
    /// 95th percentile of the readings.
    pub p95: Option<f64>,
    /// Largest reading.
    pub max: Option<f64>,
    /// Share of the readings in which it was a sign of the cause; absent where it cannot be one.
    pub held: Option<f64>,
    /// Readings in a block of the bootstrap.
    pub block: Option<usize>,
    /// How many independent blocks the readings make.
    pub blocks: Option<f64>,
    /// The readings with their time since the side's begin in milliseconds, for charts.
    #[serde(skip)]
    pub points: Vec<(Millis, f64)>,
}

/// A signal before and after.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SignalChange {
    /// Id of the cause's witness, or a name of ours.
    pub id: String,
    /// What is measured.
    pub title: String,
    /// What the signal proves in this comparison.
    pub role: Role,
    /// `percent`, `per-second`, `milliseconds`, `seconds`, `bytes` or `count`: shares are between
    /// 0 and 1.
    pub unit: Show,
    /// Whether small values are the bad ones.
    pub low_is_bad: bool,
    /// The limit from which it is a sign, where there is one.
    pub limit: Option<f64>,
    /// Numbers of the side before the change.
    pub before: SideNumbers,
    /// Numbers of the side after the change.
    pub after: SideNumbers,
    /// Mean after less mean before.
    pub difference: Option<f64>,
    /// 95 % confidence interval of the difference.
    pub difference_interval: Option<(f64, f64)>,
    /// Mean after over mean before.
    pub ratio: Option<f64>,
    /// Its 95 % interval; an end that is not finite is null.
    pub ratio_interval: Option<(f64, f64)>,
    /// Effect size: Cliff's delta, -1 (every value after is below every one before) to 1.
    pub cliff: Option<f64>,
    /// Probability of such a difference of the means by chance.
    pub p: Option<f64>,
    /// Probability of such a difference of the shares in which it held by chance; absent where that cannot be told.
    pub p_held: Option<f64>,
    /// The probability of the clearer one of both differences, adjusted for two chances to be wrong and for all deciding
    /// signals that are there; only of those.
    pub p_adjusted: Option<f64>,
    /// What became of it.
    pub fate: Fate,
    #[serde(skip)]
    pub(crate) floor: f64,
    /// Deciding signs of the same name stand for each other: the cause needs one of each name.
    #[serde(skip)]
    pub(crate) group: String,
    /// The cause needs it, and it is no evidence of it (`counts = false`): a server that is busy.
    #[serde(skip)]
    pub(crate) circumstance: bool,
    /// On which side of the limit it is decides by itself (`conclusive`), however far it is from it.
    #[serde(skip)]
    pub(crate) conclusive: bool,
}

impl SignalChange {
    /// A number of this signal as people read it.
    pub fn say(&self, value: f64) -> String {
        human::show(value, self.unit)
    }
}

/// A fact that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingChange {
    /// Name of the setting or fact.
    pub name: String,
    /// Value before; absent when it was not read.
    pub before: Option<String>,
    /// Value after.
    pub after: Option<String>,
    /// Whether the cause's file names it.
    pub of_cause: bool,
}

/// A statement, function or lock on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// Before: statements a second, a share from 0 to 1, or threads.
    pub before: f64,
    /// The same number after the change.
    pub after: f64,
}

/// Compares two stretches of time. The same input gives the same answer.
pub fn compare(before: &Subject, after: &Subject, cause: Option<&Cause>) -> Comparison {
    let signals = signals::signals(before, after, cause);
    let load = load::load(before, after, cause);
    let recurrence = stalls::recurrence(before, after, &signals);
    let judged = judge::judge(&case::Case {
        before,
        after,
        cause,
        signals: &signals,
        load: load.as_ref(),
        recurrence: recurrence.as_ref(),
    });
    Comparison {
        verdict: judged.answer,
        sentence: judged.sentence,
        reasons: judged.reasons,
        missing: judged.missing,
        cause: cause.map(|cause| ComparedCause {
            id: cause.id.clone(),
            title: cause.title.clone(),
        }),
        before: head(before),
        after: head(after),
        load,
        recurrence,
        signals,
        settings: diffs::settings(
            [before, after].map(|side| (side.incident, side.window.to)),
            cause,
        ),
        statements: diffs::statements(before, after),
        functions: diffs::functions(before, after),
        locks: diffs::locks(before, after),
        method: METHOD.to_owned(),
    }
}

/// The settings and facts that differ, those that the cause names first: all that two incidents need that are only
/// shown beside each other.
pub fn settings(first: &Incident, second: &Incident, cause: Option<&Cause>) -> Vec<SettingChange> {
    let sides = [first, second].map(|incident| (incident, incident.stall_window().to));
    diffs::settings(sides, cause)
}

fn head(subject: &Subject) -> SideHead {
    let (incident, window) = (subject.incident, subject.window);
    SideHead {
        host: incident.host.clone(),
        server: incident.server.label.clone(),
        version: incident.server.version.clone(),
        id: incident.id.clone(),
        stretch: subject.stretch,
        from_ms: incident.clock.wall_ms(window.from),
        to_ms: incident.clock.wall_ms(window.to),
    }
}

/// The cause that a comparison is about when nobody says: the first finding of the first verdict
/// that has one that is at least likely, else of the first that has any.
pub fn cause_in_question<'c>(verdicts: &[&Verdict], catalogue: &'c Catalogue) -> Option<&'c Cause> {
    let all = || verdicts.iter().flat_map(|verdict| &verdict.findings);
    let likely = all().find(|finding| finding.level >= Level::Likely);
    catalogue.get(&likely.or_else(|| all().next())?.cause)
}

/// Whether a verdict finds this cause, at least likely.
pub fn finds(verdict: &Verdict, cause: &str) -> bool {
    verdict
        .findings
        .iter()
        .chain(&verdict.folded)
        .any(|finding| finding.cause == cause && finding.level >= Level::Likely)
}

/// A stretch outside of an incident's stall, of this length where there is so much: before the
/// onset, or after the end, whichever has more. Nothing of it is before `earliest`.
pub fn calm_stretch(incident: &Incident, length: Millis, earliest: Millis) -> Window {
    let end = incident.stall.end.unwrap_or(incident.window.to);
    let from = |from: Millis, to: Millis| Window::new(from.max(earliest).min(to), to);
    let before = from(incident.window.from, incident.stall.onset);
    let after = from(end.saturating_add(AFTER_STALL_MS), incident.window.to);
    let Window { from, to } = match before.length() >= after.length() {
        true => before,
        false => after,
    };
    Window::new(from.max(to.saturating_sub(length)), to)
}

/// So long after its end a reading may still tell of a stall, milliseconds.
const AFTER_STALL_MS: Millis = 2_000;
