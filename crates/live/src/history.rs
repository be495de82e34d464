//! A history as a model: that of a recorder which runs is read again each second, from its file. The server is asked
//! nothing, so the view works while the server hangs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use diagnosis::Verdict;
use model::{Absent, Incident, Millis, Reason, Stall, TextKind, TimedAbsent, Trigger, Window};

use crate::kept::Kept;
use crate::listing::Listing;
use crate::model::{Model, NotedStall, RecorderState, RecordingKind, StallTimes, is_same_stall};
use crate::recent::{Gathered, RecentStacks};
use crate::source::{Source, write};

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

/// How often a stall that lasts is judged again.
const JUDGED_EVERY: Duration = Duration::from_secs(5);

/// A stall that is younger than this brings evidence with each reading, and is judged as often, milliseconds.
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
    pub noted: Box<dyn Fn() -> Option<Vec<NotedStall>> + Send>,
    /// What the recorder says of itself; nothing where none runs.
    pub ask: Box<dyn FnMut() -> Option<RecorderState> + Send>,
    /// What the recorder has in memory of its server's threads, of so many milliseconds; nothing where none runs.
    pub stacks: Box<dyn FnMut(Millis) -> Option<RecentStacks> + Send>,
    /// The time now, milliseconds since 1970 UTC.
    pub now: fn() -> i64,
}

/// A history.
pub struct History {
    options: HistoryOptions,
    /// The verdict on the stall with this onset on the wall's clock, and when it was made; whether it lasted then.
    judged: Option<(i64, Instant, bool, Verdict)>,
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
}

impl History {
    /// A history; nothing is read yet.
    pub fn new(mut options: HistoryOptions) -> Self {
        let is_recorded = (options.ask)().is_some();
        Self {
            options,
            judged: None,
            said: None,
            listing: Listing::default(),
            first: None,
            is_recorded,
            wants_stacks: false,
            kept: Kept::default(),
            stacks: Gathered::default(),
        }
    }

    /// The stall that is judged: the last one that began before the moment.
    fn judge(&mut self, incident: &mut Incident, stall: &StallTimes) -> Verdict {
        let wall = incident.clock.wall_ms(stall.onset);
        let lasts = stall.end.is_none();
        let is_young = incident.window.to.saturating_sub(stall.onset) < YOUNG_MS;
        if let Some((onset, at, lasted, verdict)) = &self.judged
            && is_same_stall(*onset, wall)
            && *lasted == lasts
            && (!lasts || (!is_young && at.elapsed() < JUDGED_EVERY))
        {
            return verdict.clone();
        }
        incident.queries = recorder::counted_around(incident);
        let cut = cut(incident, self.options.before_ms);
        let verdict = (self.options.diagnose)(&cut);
        self.judged = Some((wall, Instant::now(), lasts, verdict.clone()));
        verdict
    }

    /// The surer of two verdicts on a stall: that of the history, and what the recorder says of the stall that lasts. The
    /// recorder sees threads and stacks, which no history has, and knows nothing of older stalls.
    fn surer(
        &mut self,
        own: Verdict,
        onset_wall: i64,
        recorder: Option<&RecorderState>,
    ) -> Verdict {
        if let Some(said) = recorder.and_then(|recorder| recorder.verdict.as_ref()) {
            self.said = Some((onset_wall, said.clone()));
        }
        let level = |verdict: &Verdict| verdict.findings.first().map(|first| first.level);
        match &self.said {
            Some((onset, said))
                if is_same_stall(*onset, onset_wall) && level(said) >= level(&own) =>
            {
                said.clone()
            }
            _ => own,
        }
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

    /// The stacks that the recorder has in memory, in place of those that no history keeps.
    fn take_stacks(&mut self, incident: &mut Incident) {
        self.stacks.renew(&mut self.options.stacks);
        if let Some(known) = self.stacks.known() {
            incident.stacks = known.on(&incident.clock);
        }
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
        if self.wants_stacks && answers {
            self.take_stacks(&mut incident);
        }
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
                let own = self.judge(&mut incident, stall);
                let onset = incident.clock.wall_ms(stall.onset);
                let recorder = told.as_ref().filter(|_| stall.end.is_none());
                Some(self.surer(own, onset, recorder))
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
        }))
    }

    fn want_stacks(&mut self, wanted: bool) {
        self.wants_stacks = wanted;
    }

    fn every(&self) -> Option<Duration> {
        self.is_recorded.then_some(EVERY)
    }

    fn recorder_state(&mut self) -> Option<RecorderState> {
        (self.options.ask)()
    }

    fn export(&mut self, model: &Model, directory: &Path) -> Result<PathBuf> {
        let mut kept = model.clone();
        kept.incident = cut(&model.incident, self.options.before_ms);
        let which = match kept.incident.stacks.is_empty() {
            true => "stacks, profile, lock table, statements on the wire",
            false => "statements on the wire",
        };
        kept.incident.absent.push(TimedAbsent {
            first: kept.incident.stall.onset,
            last: kept.incident.stall.onset,
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
fn cut(incident: &Incident, before_ms: Millis) -> Incident {
    let stall = incident.stall_window();
    let window = Window {
        from: stall.from.saturating_sub(before_ms),
        to: stall.to.saturating_add(30_000).min(incident.window.to),
    };
    let is_inside = |at: Millis| (window.from..=window.to).contains(&at);
    let mut cut = Incident {
        timeline: incident.timeline.between(window),
        window,
        ..incident.clone()
    };
    cut.texts.retain(|timed| is_inside(timed.at));
    let stacks = &mut cut.stacks;
    stacks.snapshots.retain(|one| is_inside(one.at));
    let overlaps = |from: Millis, to: Millis| to >= window.from && from <= window.to;
    stacks.runs.retain(|run| overlaps(run.from, run.to));
    stacks.profiles.retain(|one| overlaps(one.from, one.to));
    stacks.locks.retain(|table| overlaps(table.from, table.to));
    cut.facts.retain(|timed| timed.at <= window.to);
    cut.absent
        .retain(|timed| timed.last >= window.from && timed.first <= window.to);
    cut
}
