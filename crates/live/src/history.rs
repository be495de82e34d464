//! A history as a model: that of a recorder which runs is read again each second, from its file. The server is asked
//! nothing, so the view works while the server hangs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use diagnosis::{Level, Verdict};
use model::{
    Absent, Incident, Millis, Reason, StackEvidence, Stall, TextKind, TimedAbsent, Trigger, Window,
};

use crate::derived::Derived;
use crate::kept::Kept;
use crate::listing::Listing;
use crate::model::{Model, NotedStall, RecorderState, RecordingKind, StallTimes, is_same_stall};
use crate::recent::{Gathered, RecentStacks};
use crate::source::{Source, write};
use crate::usual::Usual;

/// How much is read before the moment that is looked at, milliseconds: the detector compares with five minutes.
const BEFORE_MS: i64 = 10 * 60_000;

/// How much behind it, where the history goes on.
const BEHIND_MS: i64 = 5 * 60_000;

/// So much before the onset of a stall that lasts is read too, milliseconds.
const CALM_MS: i64 = 5 * 60_000;

/// A history is not read for longer than this at once, milliseconds.
const LONGEST_MS: i64 = 60 * 60_000;

/// How often a running recorder's history is read.
const EVERY: Duration = Duration::from_secs(1);

/// How often it is looked whether a recorder goes on with a history that had ended. Only it is asked then: reading the
/// history again is dear.
const LOOKED_EVERY: Duration = Duration::from_secs(2);

/// How often a stall that lasts is judged again, at the most.
const JUDGED_EVERY: Duration = Duration::from_secs(5);

/// It is left alone for so many times as long as that took: 1 % of a processor at the most.
const TIMES_ALONE: u32 = 100;

/// A stall that is younger than this brings evidence with each reading, and is judged as often until the recorder tells its
/// own verdict, milliseconds.
const YOUNG_MS: Millis = 20_000;

/// How often it is told how far a history reaches that is being written.
const SPAN_EVERY: Duration = Duration::from_secs(30);

/// What texts are read.
const TEXTS: [TextKind; 2] = [TextKind::Processlist, TextKind::Semaphores];

/// Says what a stall's cause is.
pub type Diagnose = Box<dyn Fn(&Incident) -> Verdict + Send>;

/// What a history is read with.
pub struct HistoryOptions {
    /// The history's file.
    pub path: PathBuf,
    /// Its directory, whose incidents are listed.
    pub dir: PathBuf,
    /// What is called a stall.
    pub detect: detect::Config,
    /// Time before an onset that an incident has, milliseconds.
    pub before_ms: Millis,
    /// Judges a stall.
    pub diagnose: Diagnose,
    /// The stalls that recorders of the directory noticed, oldest first; nothing where they wrote none down.
    pub noted: Box<dyn FnMut() -> Option<Vec<NotedStall>> + Send>,
    /// What the recorder says of itself; nothing where none runs.
    pub ask: Box<dyn FnMut() -> Option<RecorderState> + Send>,
    /// What the recorder has in memory of its server's threads, of so many milliseconds; nothing where none runs.
    pub stacks: Box<dyn FnMut(Millis) -> Option<RecentStacks> + Send>,
    /// The time now, milliseconds since 1970 UTC.
    pub now: fn() -> i64,
}

/// What was said of a stall.
struct Judged {
    /// Its onset on the wall's clock.
    onset_wall: i64,
    /// When it is judged again, while it lasts.
    next: Instant,
    /// It lasted then.
    lasted: bool,
    verdict: Verdict,
}

/// A history.
pub struct History {
    options: HistoryOptions,
    judged: Option<Judged>,
    listing: Listing,
    /// The first recorded moment, and when it was read.
    first: Option<(Instant, i64)>,
    /// What the recorder said last of the stall with this onset on the wall's clock.
    said: Option<(i64, Verdict)>,
    /// A recorder runs, or did since it was opened: one that is gone may come back, and its silence is to be seen.
    is_recorded: bool,
    wants_stacks: bool,
    /// What was read up to the newest moment.
    kept: Kept,
    /// The stacks that the recorder has in memory.
    stacks: Gathered,
    /// What signals usually are.
    usual: Arc<Usual>,
}

impl History {
    /// A history; nothing is read yet.
    pub fn new(mut options: HistoryOptions) -> Self {
        let is_recorded = (options.ask)().is_some();
        let stacks = std::mem::replace(&mut options.stacks, Box::new(|_| None));
        Self {
            options,
            judged: None,
            said: None,
            listing: Listing::default(),
            first: None,
            is_recorded,
            wants_stacks: false,
            kept: Kept::default(),
            stacks: Gathered::new(stacks),
            usual: Arc::default(),
        }
    }

    /// The stall that is judged: the last one that began before the moment.
    fn judge(
        &mut self,
        incident: &mut Incident,
        stacks: &StackEvidence,
        stall: &StallTimes,
        is_told: bool,
    ) -> Verdict {
        let onset_wall = incident.clock.wall_ms(stall.onset);
        let lasts = stall.end.is_none();
        let is_young = incident.window.to.saturating_sub(stall.onset) < YOUNG_MS;
        let is_hasty = is_young && !is_told;
        if let Some(judged) = &self.judged
            && is_same_stall(judged.onset_wall, onset_wall)
            && judged.lasted == lasts
            && (!lasts || (!is_hasty && Instant::now() < judged.next))
        {
            return judged.verdict.clone();
        }
        let begin = Instant::now();
        incident.queries = recorder::counted_around(incident);
        let verdict = (self.options.diagnose)(&cut(incident, stacks, self.options.before_ms));
        let alone = begin.elapsed().saturating_mul(TIMES_ALONE);
        self.judged = Some(Judged {
            onset_wall,
            next: Instant::now() + alone.max(JUDGED_EVERY),
            lasted: lasts,
            verdict: verdict.clone(),
        });
        verdict
    }

    /// The surer of two verdicts on a stall: that of the history, and what the recorder says of the stall that lasts. The
    /// recorder sees threads and stacks, which no history has, and knows nothing of older stalls. Where it is certain
    /// nothing can be surer, and the history is not judged.
    fn verdict(
        &mut self,
        incident: &mut Incident,
        stacks: &StackEvidence,
        stall: &StallTimes,
        recorder: Option<&RecorderState>,
    ) -> Verdict {
        let onset_wall = incident.clock.wall_ms(stall.onset);
        let told = recorder.and_then(|recorder| recorder.verdict.as_ref());
        if let Some(told) = told {
            self.said = Some((onset_wall, told.clone()));
        }
        let level = |verdict: &Verdict| verdict.findings.first().map(|first| first.level);
        let said = self.said.as_ref();
        let said = said.filter(|(onset, _)| is_same_stall(*onset, onset_wall));
        let said = said.map(|(_, said)| said.clone());
        if let Some(said) = &said
            && level(said) == Some(Level::Certain)
        {
            return said.clone();
        }
        let own = self.judge(incident, stacks, stall, told.is_some());
        said.filter(|said| level(said) >= level(&own))
            .unwrap_or(own)
    }

    /// The stalls of what was read: those that the recorder noticed, which knows what is usual for this server; where nobody
    /// wrote any down, those that the detector sees in it.
    fn stalls(
        &self,
        incident: &Incident,
        noted: Option<&[NotedStall]>,
        told: Option<&RecorderState>,
    ) -> Vec<StallTimes> {
        let Some(noted) = noted else {
            let seen = recorder::replay(incident, &self.options.detect);
            return seen.into_iter().map(seen_stall).collect();
        };
        let zero = incident.clock.wall_at_zero_ms;
        let own = |wall: i64| u64::try_from(wall.saturating_sub(zero)).unwrap_or(0);
        let last = incident.window.to;
        let lasts =
            told.is_some_and(|told| told.stalled_ms.is_some() || told.beat_age_ms.is_none());
        let last_wall = incident.clock.wall_ms(last);
        let count = noted.len();
        let stalls = noted.iter().enumerate().map(|(index, one)| {
            let is_last =
                index + 1 == count && last_wall.saturating_sub(one.onset_wall_ms) < LONGEST_MS;
            let trigger = own(one.trigger_wall_ms.unwrap_or(one.onset_wall_ms));
            StallTimes {
                onset: own(one.onset_wall_ms),
                trigger,
                end: match one.end_wall_ms {
                    Some(end) => Some(own(end)),
                    None if is_last && lasts => None,
                    // Its recorder ended first: this is its last sign.
                    None => Some(trigger),
                },
                triggers: vec![Trigger {
                    rule: one.rule.clone(),
                    says: one.says.clone(),
                }],
            }
        });
        stalls
            .filter(|stall| stall.onset <= last && stall.end.is_none_or(|end| end > 0))
            .collect()
    }

    /// The first and the last recorded moment. Telling them reads through all minutes of the history, so beside a recorder
    /// that writes it now they are told twice a minute.
    fn span(&mut self, is_written: bool) -> Result<Option<(i64, i64)>> {
        let now = (self.options.now)();
        if let Some((at, first)) = self.first
            && is_written
            && at.elapsed() < SPAN_EVERY
        {
            return Ok(Some((first, now)));
        }
        let all = store::history_coverage(&self.options.path, i64::MIN / 2, i64::MAX / 2)?;
        let Some((first, last)) = all.first_wall_ms.zip(all.last_wall_ms) else {
            return Ok(None);
        };
        self.first = Some((Instant::now(), first));
        // The last minute is told to its end, which may be still to come.
        Ok(Some((first, last.min(now))))
    }
}

impl Source for History {
    fn read(&mut self, around: Option<i64>) -> Result<Option<Model>> {
        let told = (self.options.ask)();
        let answers = told.as_ref().is_some_and(|told| told.beat_age_ms.is_some());
        let Some((first, newest)) = self.span(answers)? else {
            return Ok(None);
        };
        let at = around.unwrap_or(newest);
        if at < first || at > newest {
            return Ok(None);
        }
        let path = &self.options.path;
        let mut noted = (self.options.noted)();
        let label = server_label(path);
        if let (Some(noted), Some(label)) = (&mut noted, label) {
            noted.retain(|one| one.server == label);
        }
        let to = at.saturating_add(BEHIND_MS).min(newest);
        let from = begin(at, noted.as_deref());
        let grows = answers && around.is_none();
        let Some(stretch) = self.kept.read(path, (from, to), &TEXTS, grows)? else {
            return Ok(None);
        };
        let mut incident = stretch.incident;
        incident.queries.clear();
        let recent = match self.wants_stacks && answers {
            true => self.stacks.renew(&incident.clock),
            false => None,
        };
        // A recorder that runs and wrote none down noticed none.
        let noted = noted.or_else(|| answers.then(Vec::new));
        let stalls = self.stalls(&incident, noted.as_deref(), told.as_ref());
        let looked_at =
            u64::try_from(at.saturating_sub(incident.clock.wall_at_zero_ms)).unwrap_or(0);
        let last_stall = stalls
            .iter()
            .rfind(|stall| stall.onset <= looked_at)
            .cloned();
        let verdict = match &last_stall {
            Some(stall) => {
                incident.stall = as_stall(stall, &stalls);
                let recorder = told.as_ref().filter(|_| stall.end.is_none());
                let none = StackEvidence::default();
                let stacks = recent.as_deref().unwrap_or(&none);
                Some(self.verdict(&mut incident, stacks, stall, recorder))
            }
            None => {
                incident.stall = viewed_time(looked_at);
                None
            }
        };
        incident.id = format!(
            "{}-history",
            recorder::incident_id(
                &incident.server.label,
                incident.clock.wall_ms(incident.stall.trigger)
            )
        );
        let incident = Arc::new(incident);
        self.kept.keep(&incident, stretch.goes_on);
        self.is_recorded |= told.is_some();
        let mut notes = Vec::new();
        if stretch.damaged_chunks > 0 {
            notes.push(format!(
                "{} chunks of the history cannot be read",
                stretch.damaged_chunks
            ));
        }
        if stretch.is_cut {
            notes.push("a part was left out, because it needs too much memory".to_owned());
        }
        Ok(Some(Model {
            incident,
            verdict,
            stalls,
            kind: match self.is_recorded {
                true => RecordingKind::Recorder,
                false => RecordingKind::History,
            },
            path: self.options.path.display().to_string(),
            incidents: self
                .listing
                .read(&self.options.dir, noted.as_deref().unwrap_or_default()),
            recorder: told,
            is_newest: to == newest,
            read_wall_ms: Some((self.options.now)()),
            notes,
            recent,
            usual: self.usual.clone(),
            derived: Derived::default(),
        }))
    }

    fn want_stacks(&mut self, wanted: bool) {
        self.wants_stacks = wanted;
    }

    fn every(&self) -> Option<Duration> {
        self.is_recorded.then_some(EVERY)
    }

    fn awaits(&self) -> Option<Duration> {
        (!self.is_recorded).then_some(LOOKED_EVERY)
    }

    fn recorder_state(&mut self) -> Option<RecorderState> {
        (self.options.ask)()
    }

    fn export(&mut self, model: &Model, directory: &Path) -> Result<PathBuf> {
        let mut kept = cut(&model.incident, model.stacks(), self.options.before_ms);
        let which = match kept.stacks.is_empty() {
            true => "stacks, profile, lock table, statements on the wire",
            false => "statements on the wire",
        };
        kept.absent.push(TimedAbsent {
            first: kept.stall.onset,
            last: kept.stall.onset,
            count: 1,
            absent: Absent::new(
                which,
                Reason::NotRecorded,
                "made from the history, which does not keep them; a captured incident has them",
            ),
        });
        write(&kept, directory)
    }
}

/// What is read begins some minutes before, and before the stall of that moment.
fn begin(at: i64, noted: Option<&[NotedStall]>) -> i64 {
    let usual = at.saturating_sub(BEFORE_MS);
    let is_near = |one: &NotedStall| at.saturating_sub(one.onset_wall_ms) < LONGEST_MS;
    let lasts = |one: &&NotedStall| is_near(one) && one.end_wall_ms.is_none_or(|end| end >= at);
    let mut before = noted.unwrap_or_default().iter();
    let last = before.rfind(|one| one.onset_wall_ms <= at);
    let stall = last.filter(lasts);
    stall.map_or(usual, |stall| {
        let calm = stall.onset_wall_ms.saturating_sub(CALM_MS);
        usual.min(calm).max(at.saturating_sub(LONGEST_MS))
    })
}

/// The server's label in the name of its history.
fn server_label(path: &Path) -> Option<&str> {
    path.file_name()?
        .to_str()?
        .strip_prefix("history-")?
        .strip_suffix(".db")
}

fn seen_stall(stall: recorder::Replayed) -> StallTimes {
    StallTimes {
        onset: stall.onset,
        trigger: stall.at,
        end: stall.end,
        triggers: stall.triggers,
    }
}

fn as_stall(stall: &StallTimes, all: &[StallTimes]) -> Stall {
    let earlier = all.iter().filter(|one| one.onset < stall.onset);
    Stall {
        onset: stall.onset,
        trigger: stall.trigger,
        end: stall.end,
        triggers: stall.triggers.clone(),
        earlier: earlier
            .filter_map(|one| {
                Some(Window {
                    from: one.onset,
                    to: one.end?,
                })
            })
            .collect(),
    }
}

/// No stall: the moment itself, as somebody asked for it.
fn viewed_time(at: Millis) -> Stall {
    Stall {
        onset: at,
        trigger: at,
        end: Some(at),
        triggers: vec![Trigger {
            rule: Stall::REQUESTED.to_owned(),
            says: "requested; no stall was noticed in this time".to_owned(),
        }],
        earlier: Vec::new(),
    }
}

/// What an incident of its stall would hold.
fn cut(incident: &Incident, stacks: &StackEvidence, before_ms: Millis) -> Incident {
    let stall = incident.stall_window();
    let window = Window {
        from: stall.from.saturating_sub(before_ms),
        to: stall.to.saturating_add(30_000).min(incident.window.to),
    };
    let is_inside = |at: Millis| (window.from..=window.to).contains(&at);
    let overlaps = |from: Millis, to: Millis| to >= window.from && from <= window.to;
    // Part by part: a copy of the whole would be the dearest part of it.
    Incident {
        mentions: incident.mentions.clone(),
        known_words: incident.known_words.clone(),
        id: incident.id.clone(),
        host: incident.host.clone(),
        tool_version: incident.tool_version.clone(),
        server: incident.server.clone(),
        clock: incident.clock.clone(),
        stall: incident.stall.clone(),
        window,
        timeline: incident.timeline.between(window),
        texts: those(&incident.texts, |timed| is_inside(timed.at)),
        facts: those(&incident.facts, |timed| timed.at <= window.to),
        stacks: StackEvidence {
            snapshots: those(&stacks.snapshots, |one| is_inside(one.at)),
            runs: those(&stacks.runs, |run| overlaps(run.from, run.to)),
            profiles: those(&stacks.profiles, |one| overlaps(one.from, one.to)),
            callers: stacks.callers.clone(),
            locks: those(&stacks.locks, |table| overlaps(table.from, table.to)),
            table: stacks.table.clone(),
        },
        queries: incident.queries.clone(),
        absent: those(&incident.absent, |timed| overlaps(timed.first, timed.last)),
    }
}

fn those<T: Clone>(all: &[T], is_wanted: impl Fn(&T) -> bool) -> Vec<T> {
    all.iter().filter(|one| is_wanted(one)).cloned().collect()
}
