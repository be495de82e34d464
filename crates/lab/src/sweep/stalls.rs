//! One stage: a server, its users, its recorder, and a chain of stalls.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::{IDLE_CONNECTIONS_MAX, Leak, ServerKind, Slow, Step};

use super::cells::{Cell, Plan};
use super::client_latency::{self, ClientStall};
use super::clients::{self, Users};
use super::lines::{From, Line, Watched};
use super::mechanisms::{Family, Mechanism};
use super::notices::Recorder;
use super::recording::Truth;
use super::report::Report;
use crate::scenario::stage::Stage;
use crate::scenario::steps::{Taken, take, undo_all};

/// What is usual must be known before the first stall.
pub(super) const WARM_UP: Duration = Duration::from_secs(25);

/// How often is looked what was told.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// So long after its end a stall is judged: what is told later comes too late. Milliseconds.
pub(super) const JUDGED_AFTER_MS: i64 = 8000;

/// How often it is looked whether something can be judged.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// The time before a stall that says how much is usual, milliseconds. The stall before it may end in it.
const USUAL_MS: i64 = 2000;

/// From this share of the usual on work flows again.
const FLOWS_SHARE: f64 = 0.5;

/// Who still hangs after a stall is waited for so long.
const BACK_MAX: Duration = Duration::from_secs(60);

/// Processors of a server that would take all of them.
const HEAVY_CPUS: f64 = 0.5;

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
pub(super) struct Made {
    pub(super) cell: Cell,
    pub(super) done_ms: (i64, i64),
    pub(super) distance_s: Option<f64>,
    pub(super) felt: Option<ClientStall>,
    pub(super) usual_ms: f64,
    pub(super) machine_load: f64,
    pub(super) is_told: bool,
}

impl Made {
    /// When it was over, also for the last one who felt it.
    pub(super) fn end_ms(&self) -> i64 {
        let felt = self.felt.as_ref().map_or(0, |felt| felt.to_ms);
        felt.max(self.done_ms.1)
    }
}

/// A stage at work.
pub(super) struct Run<'a> {
    pub(super) stage: &'a Stage,
    pub(super) users: &'a Users,
    pub(super) recorder: Recorder,
    pub(super) report: &'a Report,
    pub(super) from: From,
    pub(super) made: Vec<Made>,
    /// How many of what was told are judged as of no stall.
    pub(super) alarms_told: Vec<usize>,
    /// Incidents that are kept, by their ids.
    pub(super) frames_wanted: Vec<String>,
    pub(super) has_failed: bool,
    pub(super) told_at: Instant,
    pub(super) until: Until<'a>,
}

/// Runs the stalls of a plan on a server of its own, and keeps each as soon as it can be judged.
pub(super) fn run(
    plan: &Plan,
    kind: ServerKind,
    dir: PathBuf,
    report: &Report,
    until: Until,
    swap_disk: Option<&Path>,
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
        if setting.family == Family::Swapped {
            first.swap_disk = swap_disk.map(Path::to_owned);
        }
        if setting.is_heavy() {
            // The other servers of the sweep want to work meanwhile.
            first.setup = vec![Step::CpuQuota { cpus: HEAVY_CPUS }];
        }
    }
    let mut stage = Stage::set(&acts, kind)?;
    stage.prepare(&acts)?;
    let set_up = acts.first().map(|act| stage.set_up(act)).transpose()?;
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
    report.record(&dir, || run.truth(plan));
    report.clean(
        &dir,
        run.has_failed,
        &run.recorder.written,
        &run.frames_wanted,
    );
    drop(run);
    users.end()?;
    stage.tear_down(set_up.unwrap_or_default())?;
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

    pub(super) fn now_ms(&self) -> i64 {
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

    fn truth(&self, plan: &Plan) -> Truth<'_> {
        let setting = plan.setting;
        Truth {
            what: format!(
                "{}, a pool of {}, {}",
                self.from.server,
                setting.pool,
                setting.load.name()
            ),
            stalls: self
                .made
                .iter()
                .map(|made| {
                    let cell = made.cell;
                    let what = format!("{}, {} s", cell.mechanism.name(), cell.length_s);
                    let (from, to) = made.done_ms;
                    (what, made.felt.as_ref(), from..to)
                })
                .collect(),
            slow: client_latency::excused(&self.users.watch),
        }
    }

    /// Makes one, takes it back, and waits until nobody hangs any more.
    fn stall(&mut self, cell: Cell, length: Duration) -> Result<()> {
        let (stage, watch) = (self.stage, &self.users.watch);
        let hung_before = watch.hung_count();
        let before_ms = self.made.last().map(Made::end_ms);
        let usual_ms = watch.usual_ms();
        let from_ms = watch.now_ms();
        let calm_from = from_ms - client_latency::CALM_MS;
        let calm = before_ms.map_or(calm_from, |end| {
            calm_from.max(end + client_latency::FLOW_MS)
        });
        let limit = client_latency::limit_ms(usual_ms)
            .max(client_latency::longest_ms(&watch.hung_from(0), calm..from_ms) * 2);
        let until = Instant::now() + length;
        let scene = stage.scene();
        let mut taken: Vec<Taken> = Vec::new();
        let mut leak = None;
        for step in cell.mechanism.steps() {
            match take(&step, scene, length + STEP_MAX) {
                Ok(step) => taken.push(step),
                Err(why) => {
                    self.report.note(&format!(
                        "{}, {}: {why:#}",
                        self.from.stage,
                        cell.mechanism.name()
                    ));
                    return undo_all(taken).map(drop);
                }
            }
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
        while hangs() {
            ensure!(
                Instant::now() < patience,
                "the users still hang {} s after {}",
                BACK_MAX.as_secs(),
                cell.mechanism.name()
            );
            self.recorder.read()?;
            std::thread::sleep(POLL);
        }
        // Who was refused knocks again within a second; what flows for a second is the end.
        let settled = watch.now_ms() + client_latency::FLOW_MS;
        while watch.now_ms() < settled {
            self.recorder.read()?;
            std::thread::sleep(POLL);
        }
        // What is dead after it was no stall.
        testbed::say(&stage.server.login(), &["SELECT 1".to_owned()], BACK_MAX)
            .with_context(|| format!("after {}", cell.mechanism.name()))?;
        let new = self.users.watch.hung_from(hung_before);
        let felt = client_latency::client_stall(&new, limit, from_ms..to_ms, |time| {
            self.flows(time, from_ms)
        })
        .map(|felt| self.bounded(felt, cell, from_ms));
        let begun_ms = felt.as_ref().map_or(from_ms, |felt| felt.from_ms);
        let distance = before_ms.map(|end_ms| begun_ms - end_ms);
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

    /// Whether half of what is usual was answered in a time. What is usual is that of the seconds before it was done.
    fn flows(&self, time: Range<i64>, done_ms: i64) -> bool {
        let watch = &self.users.watch;
        let length_ms = (time.end - time.start).max(testbed::SLOT_MS);
        let usual = watch.answers_between(done_ms - USUAL_MS, done_ms) as f64 / USUAL_MS as f64;
        let answers = watch.answers_between(time.start, time.start + length_ms) as f64;
        answers >= 1.0 && answers >= usual * length_ms as f64 * FLOWS_SHARE
    }

    /// With the last answer before it, and the first one after it. Clients that belong to what was done may have hung
    /// before any other did.
    fn bounded(&self, felt: ClientStall, cell: Cell, done_ms: i64) -> ClientStall {
        let watch = &self.users.watch;
        let last = watch.last_answer_before_ms(felt.from_ms);
        let last = last.filter(|_| !cell.mechanism.has_clients());
        let first = watch.first_answer_from_ms(felt.to_ms);
        ClientStall {
            earliest_ms: last.unwrap_or(done_ms).max(done_ms).min(felt.from_ms),
            latest_ms: first.unwrap_or(felt.to_ms).max(felt.to_ms),
            ..felt
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
