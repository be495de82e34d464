//! One stage: a server, its users, its recorder, and a chain of stalls.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use lab::{IDLE_CONNECTIONS_MAX, Leak, ServerKind, Slow};

use super::cells::{Cell, Plan};
use super::clients::{self, Users};
use super::felt::{self, Felt};
use super::judge::{Judged, is_excused, judge};
use super::lines::{Alarm, From, Line, Stall, Watched};
use super::mechanisms::{Family, Mechanism};
use super::report::Report;
use super::told::{Recorder, Told};
use crate::scenario::stage::Stage;
use crate::scenario::steps::{Taken, take, undo_all};

/// What is usual must be known before the first stall.
pub(super) const WARM_UP: Duration = Duration::from_secs(25);

/// How often is looked what was told.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// So long after its end a stall is judged: what is told later comes too late. Milliseconds.
const JUDGED_AFTER_MS: i64 = 8000;

/// How often it is looked whether something can be judged.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Who still hangs after a stall is waited for so long.
const BACK_MAX: Duration = Duration::from_secs(60);

/// What a step's own clients may last.
const STEP_MAX: Duration = Duration::from_secs(300);

/// Each look-up of a name fails at once.
const NO_NAMES: Slow = Slow {
    sync_ms: 0,
    files: None,
    names_ms: 1,
};

/// When a stage is to end.
#[derive(Clone, Copy)]
pub(super) struct Until<'a> {
    /// No stall begins that would not be over by then.
    pub(super) deadline: Instant,
    /// Ctrl-C.
    pub(super) stop: &'a AtomicBool,
}

impl Until<'_> {
    pub(super) fn is_over(self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn has_room(self, time: Duration) -> bool {
        !self.is_over() && Instant::now() + time < self.deadline
    }
}

/// A stall that was made.
struct Made {
    cell: Cell,
    done_ms: (i64, i64),
    distance_s: Option<f64>,
    felt: Option<Felt>,
    usual_ms: f64,
    machine_load: f64,
    is_told: bool,
}

impl Made {
    /// When it was over, by those who felt it.
    fn end_ms(&self) -> i64 {
        self.felt.as_ref().map_or(self.done_ms.1, |felt| felt.to_ms)
    }
}

/// A stage at work.
struct Run<'a> {
    stage: &'a Stage,
    users: &'a Users,
    recorder: Recorder,
    report: &'a Report,
    from: From,
    made: Vec<Made>,
    /// How many of what was told are judged as of no stall.
    alarms_told: Vec<usize>,
    /// Incidents that are kept, by their ids.
    frames_wanted: Vec<String>,
    has_failed: bool,
    told_at: Instant,
    until: Until<'a>,
}

/// Runs the stalls of a plan on a server of its own, and keeps each as soon as it can be judged.
pub(super) fn run(
    plan: &Plan,
    kind: ServerKind,
    dir: PathBuf,
    report: &Report,
    until: Until,
) -> Result<()> {
    std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    let setting = plan.setting;
    let mut mechanisms: Vec<Mechanism> = plan.cells.iter().map(|cell| cell.mechanism).collect();
    mechanisms.sort_unstable();
    mechanisms.dedup();
    let mut acts: Vec<_> = mechanisms
        .iter()
        .map(|mechanism| mechanism.scenario())
        .collect::<Result<_>>()?;
    if let Some(first) = acts.first_mut() {
        first.arguments = setting.family.arguments(setting.pool);
        first.prepare = setting.family.prepare();
    }
    let mut stage = Stage::set(&acts, kind)?;
    stage.prepare(&acts)?;
    if let (Family::Door, Some(slow)) = (setting.family, &stage.slow) {
        // The machine's own resolver may drop questions when it is asked so often.
        slow.rest(&NO_NAMES)?;
    }
    let users = Users::start(&stage.server, setting)?;
    let name = dir
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut run = Run {
        recorder: Recorder::start(&stage.server, &dir)?,
        stage: &stage,
        users: &users,
        report,
        from: From::here(kind, &name),
        made: Vec::new(),
        alarms_told: Vec::new(),
        frames_wanted: Vec::new(),
        has_failed: false,
        told_at: Instant::now(),
        until,
    };
    let begun = Instant::now();
    let result = run.chain(&plan.cells);
    let calm = Watched {
        from: run.from.clone(),
        seconds: run.calm_s(begun),
    };
    if result.is_err() {
        // Whatever was done to it would keep its clients.
        let _ = stage.server.resume();
        let _ = stage.slow.as_ref().map(|slow| slow.back());
    }
    users.tell_to_end();
    let stopped = run.recorder.stop();
    let told = run.tell_all();
    let kept = report.keep(&[Line::Watched(calm)]);
    for trouble in &run.recorder.trouble {
        report.note(&format!("{name}: {trouble}"));
    }
    report.clean(
        &dir,
        run.has_failed,
        &run.recorder.written,
        &run.frames_wanted,
    );
    drop(run);
    users.end()?;
    stage.end()?;
    result.and(stopped).and(told).and(kept)
}

impl Run<'_> {
    fn chain(&mut self, cells: &[Cell]) -> Result<()> {
        self.wait_until(self.now_ms() + WARM_UP.as_millis() as i64)?;
        for cell in cells {
            let length = Duration::from_secs(cell.length_s.into());
            let begin = match self.made.last().map(Made::end_ms) {
                Some(end) => end + i64::from(cell.distance_s) * 1000,
                None => self.now_ms(),
            };
            let wait = Duration::from_millis((begin - self.now_ms()).max(0) as u64);
            if !self
                .until
                .has_room(wait + length + Duration::from_millis(JUDGED_AFTER_MS as u64))
            {
                continue;
            }
            self.wait_until(begin)?;
            if self.until.is_over() {
                break;
            }
            self.stall(*cell, length)?;
        }
        let last = self.made.last().map(Made::end_ms);
        self.wait_until(last.unwrap_or(0) + JUDGED_AFTER_MS)
    }

    fn now_ms(&self) -> i64 {
        self.users.watch.now_ms()
    }

    fn wait_until(&mut self, ms: i64) -> Result<()> {
        while self.now_ms() < ms && !self.until.is_over() {
            self.recorder.read()?;
            if self.told_at.elapsed() > TELL_EVERY {
                self.tell_all()?;
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Makes one, takes it back, and waits until nobody hangs any more.
    fn stall(&mut self, cell: Cell, length: Duration) -> Result<()> {
        let (stage, watch) = (self.stage, &self.users.watch);
        let hung_before = watch.hung_count();
        let felt_before = self.made.iter().rev().find_map(|made| made.felt.clone());
        let usual_ms = watch.usual_ms();
        let limit = felt::limit_ms(usual_ms);
        let from_ms = watch.now_ms();
        let until = Instant::now() + length;
        let scene = stage.scene();
        let mut taken: Vec<Taken> = Vec::new();
        let mut leak = None;
        for step in cell.mechanism.steps() {
            taken.push(take(&step, scene, length + STEP_MAX)?);
        }
        if cell.mechanism == Mechanism::ConnectionLimit {
            let users = clients::login(&stage.server, true);
            leak = Some(Leak::begin(
                &users,
                &stage.server.login(),
                IDLE_CONNECTIONS_MAX,
            )?);
        }
        while Instant::now() < until && !self.until.is_over() {
            self.recorder.read()?;
            std::thread::sleep(POLL.min(until.saturating_duration_since(Instant::now())));
        }
        let to_ms = watch.now_ms();
        drop(leak);
        undo_all(taken)?;
        let patience = Instant::now() + BACK_MAX;
        let hangs = || {
            watch
                .waiting_since_ms()
                .is_some_and(|since| since < watch.now_ms() - limit)
        };
        while hangs() && Instant::now() < patience {
            self.recorder.read()?;
            std::thread::sleep(POLL);
        }
        // Who was refused knocks again within a second; what flows for a second is the end.
        let settled = watch.now_ms() + felt::FLOW_MS;
        while watch.now_ms() < settled {
            self.recorder.read()?;
            std::thread::sleep(POLL);
        }
        // What is dead after it was no stall.
        lab::say(&stage.server.login(), &["SELECT 1".to_owned()], BACK_MAX)
            .with_context(|| format!("after {}", cell.mechanism.name()))?;
        let new = self.users.watch.hung_from(hung_before);
        let felt = felt::felt(&new, limit, from_ms..to_ms).map(|felt| self.bounded(felt, from_ms));
        let distance = felt_before
            .map(|before| felt.as_ref().map_or(from_ms, |felt| felt.from_ms) - before.to_ms);
        self.made.push(Made {
            cell,
            done_ms: (from_ms, to_ms),
            distance_s: distance.map(|ms| ms as f64 / 1000.0),
            felt,
            usual_ms,
            machine_load: machine_load(),
            is_told: false,
        });
        Ok(())
    }

    /// With the last answer before it, and the first one after it.
    fn bounded(&self, felt: Felt, done_ms: i64) -> Felt {
        let watch = &self.users.watch;
        let last = watch.last_answer_before_ms(felt.from_ms);
        let first = watch.first_answer_from_ms(felt.to_ms);
        Felt {
            earliest_ms: last.unwrap_or(done_ms).max(done_ms).min(felt.from_ms),
            latest_ms: first.unwrap_or(felt.to_ms).max(felt.to_ms),
            ..felt
        }
    }

    /// Judges everything, and tells what was over long enough ago and is not told yet. No stall is under way then.
    fn tell_all(&mut self) -> Result<()> {
        self.told_at = Instant::now();
        let now_ms = self.now_ms();
        let over_by_ms = now_ms - JUDGED_AFTER_MS;
        let felt: Vec<Felt> = self
            .made
            .iter()
            .filter_map(|made| made.felt.clone())
            .collect();
        let (judged, of_none) = judge(&felt, &self.recorder.told, now_ms);
        let mut judged = judged.into_iter();
        let mut lines = Vec::new();
        let mut over = Vec::new();
        for (index, made) in self.made.iter().enumerate() {
            let judged = made.felt.as_ref().and_then(|_| judged.next());
            if !made.is_told && made.end_ms() <= over_by_ms {
                lines.push(Line::Stall(Box::new(
                    self.line(made, &judged.unwrap_or_default()),
                )));
                over.push(index);
            }
        }
        for index in over {
            if let Some(made) = self.made.get_mut(index) {
                made.is_told = true;
            }
        }
        for number in of_none {
            let told = self.recorder.told.get(number);
            let is_old = |told: &&Told| told.trigger_ms <= over_by_ms;
            let Some(told) = told
                .filter(is_old)
                .filter(|_| !self.alarms_told.contains(&number))
            else {
                continue;
            };
            self.alarms_told.push(number);
            let watch = &self.users.watch;
            let mut stretches = felt::stretches(&watch.hung_from(0), watch.usual_ms());
            // Where nobody of the pool asked for anything just then, it was a stall all the same.
            stretches.extend(self.made.iter().map(|made| made.done_ms.0..made.done_ms.1));
            if !is_excused(told, now_ms, &stretches) {
                self.frames_wanted.extend(told.id.clone());
                lines.push(Line::FalseAlarm(Alarm::new(
                    &self.from,
                    self.beside(told.onset_ms),
                    told,
                )));
            }
        }
        self.has_failed |= lines.iter().any(Line::is_failure);
        self.report.keep(&lines)
    }

    /// What was going on at a moment.
    fn beside(&self, ms: i64) -> String {
        let before = self.made.iter().rev().find(|made| made.done_ms.0 <= ms);
        before.map_or_else(
            || "before the first stall".to_owned(),
            |made| {
                let seconds = (ms - made.done_ms.1) as f64 / 1000.0;
                format!(
                    "{seconds:.1} s after the end of {}",
                    made.cell.mechanism.name()
                )
            },
        )
    }

    /// Time in which nothing was done, seconds.
    fn calm_s(&self, begun: Instant) -> f64 {
        let stalled = self
            .made
            .iter()
            .map(|made| made.end_ms() - made.done_ms.0)
            .sum::<i64>();
        begun.elapsed().as_secs_f64() - stalled as f64 / 1000.0
    }

    fn line(&self, made: &Made, judged: &Judged) -> Stall {
        let seconds = |ms: Option<i64>| ms.map(|ms| ms as f64 / 1000.0);
        let told = judged
            .told
            .and_then(|number| self.recorder.told.get(number));
        Stall {
            from: self.from.clone(),
            cell: made.cell,
            done_ms: made.done_ms,
            distance_s: made.distance_s,
            felt: made.felt.clone(),
            usual_ms: made.usual_ms,
            noticed: told.is_some(),
            merged: judged.is_merged,
            pieces: judged.pieces,
            delay_s: seconds(judged.delay_ms),
            onset_error_s: seconds(judged.onset_error_ms),
            end_error_s: seconds(judged.end_error_ms),
            rule: told.map(|told| told.rule.clone()),
            says: told.map(|told| told.says.clone()),
            machine_load: made.machine_load,
        }
    }
}

/// Processes that wanted to run in the last minute, a processor.
fn machine_load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = text.split(' ').next().and_then(|word| word.parse().ok());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    load.unwrap_or(0.0_f64) / processors as f64
}
