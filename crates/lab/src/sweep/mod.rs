//! `freezeframe-lab sweep`: does the recorder notice every stall of a real server, and nothing else?
//!
//! Servers are stalled in every way, with every pool, load and length, one stall after another; what their clients felt by
//! their own clock is the truth that the recorder's words are held against.

mod cells;
mod client_latency;
mod clients;
mod healthy;
mod healthy_work;
mod judge;
mod lines;
mod lists;
mod mechanisms;
mod notices;
mod numbers;
mod page;
mod progress;
mod recording;
mod report;
mod stalls;
mod table;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use cli::output;
use signal_hook::consts::{SIGINT, SIGTERM};
use testbed::ServerKind;

use crate::args::Sweep;
use crate::scenario::{host, result_lines};
use cells::{Chooser, Plan, Setting};
use lines::Line;
pub(crate) use mechanisms::Mechanism;
use report::Report;
use stalls::Until;

/// A stage's chain is no longer: what it changes on the host is lent for a while only.
const CHAIN_MAX: Duration = Duration::from_secs(600);

/// A chain that is shorter is not worth a server.
const CHAIN_MIN: Duration = Duration::from_secs(15);

/// What a stage needs besides its chain: its server begins, and its last stall is judged.
const AROUND: Duration = Duration::from_secs(50);

/// Stages that keep the processors busy, at the same time: with two of them all users would wait for processors.
const HEAVY_MAX: usize = 1;

/// The same where every other cell has been run as often: nothing else runs beside them, and each server may use half a
/// processor only.
const HEAVY_ALONE_MAX: usize = 3;

/// Stages with the largest pool, at the same time.
const LARGE_MAX: usize = 4;

/// Of so many stages one is of healthy work.
const HEALTHY_EVERY: usize = 5;

/// How much longer than the sweep the disk for swapped memory is lent at the most: the last stages end.
const SWAP_OVER: Duration = Duration::from_secs(1800);

/// So many failed stages, one after another, are the machine's fault.
const FAILED_MAX: usize = 6;

/// The targets are not met.
const NOT_MET: u8 = 3;

/// What a thread does.
enum Work {
    Stalls(Plan),
    Healthy { may_set_clock: bool },
}

pub(crate) fn run(args: &Sweep) -> Result<ExitCode> {
    let kind = ServerKind::from(args.server);
    let mut lines: Vec<Line> = match &args.keep {
        Some(path) => result_lines::read(path)?,
        None => Vec::new(),
    };
    if !args.again {
        testbed::installed(kind)?;
        lines = run_all(args, kind, lines)?;
    }
    if lines.is_empty() {
        bail!("there is no result");
    }
    let table = table::Table::from_lines(&lines);
    if let Some(path) = &args.markdown {
        std::fs::write(path, table.markdown()).with_context(|| path.display().to_string())?;
    }
    match args.json {
        true => output::print_json(&table.json())?,
        false => output::print(&table.text())?,
    }
    Ok(ExitCode::from(if table.is_met() { 0 } else { NOT_MET }))
}

/// Runs stages beside each other until the time is over, and hands back all lines.
fn run_all(args: &Sweep, kind: ServerKind, lines: Vec<Line>) -> Result<Vec<Line>> {
    let begun = Instant::now();
    let stop = stop_flag()?;
    let until = Until {
        deadline: begun + args.for_time,
        stop: &stop,
    };
    let before = lines.iter().filter_map(|line| match line {
        Line::Stall(stall) if stall.from.server == kind.need() => Some(stall.cell),
        _ => None,
    });
    let possible = possible(args)?;
    let mut chooser = Chooser::new(&possible, before, args.seed);
    let report = Report::new(args, lines);
    let at_once = args.at_once as usize;
    let scratch = tempfile::tempdir()?;
    let swap_disk = match possible.contains(&Mechanism::Memory) {
        true => {
            let mib = mechanisms::SWAP_MIB * at_once as u64;
            let longest = args.for_time + SWAP_OVER;
            Some(host::SwapDisk::make(scratch.path(), mib, longest)?)
        }
        false => None,
    };
    let failed = std::thread::scope(|scope| -> Result<usize> {
        let (ended, ends) = channel();
        let mut running: Vec<(usize, Option<Setting>)> = Vec::new();
        let (mut number, mut failed) = (0, 0);
        loop {
            while running.len() < at_once && failed < FAILED_MAX {
                let is_healthy = running.iter().any(|(_, setting)| setting.is_none());
                let Some(work) = next(args, &mut chooser, &running, until, number, is_healthy)
                else {
                    break;
                };
                number += 1;
                let setting = match &work {
                    Work::Stalls(plan) => Some(plan.setting),
                    Work::Healthy { .. } => None,
                };
                running.push((number, setting));
                let stage = Stage {
                    work,
                    number,
                    kind,
                    dir: &args.dir,
                    report: &report,
                    until,
                    swap_disk: swap_disk.as_ref().map(|disk| disk.path.as_path()),
                    ended: ended.clone(),
                };
                std::thread::Builder::new()
                    .name(format!("sweep-{number}"))
                    .spawn_scoped(scope, move || stage.run(begun))?;
            }
            if running.is_empty() {
                return Ok(failed);
            }
            let Ok((number, result)) = ends.recv() else {
                return Ok(failed);
            };
            running.retain(|(of, _)| *of != number);
            failed = match result {
                Ok(()) => 0,
                Err(why) => {
                    report.note(&format!("stage {number}: {why:#}"));
                    failed + 1
                }
            };
        }
    })?;
    swap_disk.map_or(Ok(()), host::SwapDisk::end)?;
    if failed >= FAILED_MAX {
        bail!("{failed} stages failed, one after another");
    }
    Ok(report.into_lines())
}

/// What is run next, where there is time for anything.
fn next(
    args: &Sweep,
    chooser: &mut Chooser,
    running: &[(usize, Option<Setting>)],
    until: Until,
    number: usize,
    is_healthy: bool,
) -> Option<Work> {
    let left = until.deadline.saturating_duration_since(Instant::now());
    let chain = left.saturating_sub(AROUND).min(CHAIN_MAX);
    if until.is_over() || chain < CHAIN_MIN {
        return None;
    }
    if args.healthy_only
        || (!args.stalls_only
            && args.only.is_empty()
            && !is_healthy
            && number.is_multiple_of(HEALTHY_EVERY))
    {
        let may_set_clock = args.set_clock;
        return Some(Work::Healthy { may_set_clock });
    }
    let count = |is: fn(Setting) -> bool| {
        let settings = running.iter().filter_map(|(_, setting)| *setting);
        settings.filter(|setting| is(*setting)).count()
    };
    let (heavy, large) = (count(Setting::is_heavy), count(Setting::is_large));
    let is_alone = chooser.least_are(Setting::is_heavy);
    let plan = chooser.next(chain, |setting| {
        let has_room = match (is_alone, setting.is_heavy()) {
            (true, true) => heavy < HEAVY_ALONE_MAX,
            (true, false) => false,
            (false, true) => heavy < HEAVY_MAX,
            (false, false) => true,
        };
        has_room && (!setting.is_large() || large < LARGE_MAX)
    })?;
    Some(Work::Stalls(plan))
}

/// One stage on its thread.
struct Stage<'a> {
    work: Work,
    number: usize,
    kind: ServerKind,
    dir: &'a Path,
    report: &'a Report,
    until: Until<'a>,
    /// What memory is swapped to.
    swap_disk: Option<&'a Path>,
    ended: Sender<(usize, Result<()>)>,
}

impl Stage<'_> {
    fn run(self, begun: Instant) {
        // Servers that are made at the same moment keep each other waiting.
        let is_first = begun.elapsed() < Duration::from_secs(1);
        if is_first {
            std::thread::sleep(Duration::from_millis(700) * self.number as u32);
        }
        let name = format!(
            "{}-{}",
            jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"),
            self.number
        );
        let dir = self.dir.join(name);
        let work = || match &self.work {
            Work::Stalls(plan) => stalls::run(
                plan,
                self.kind,
                dir,
                self.report,
                self.until,
                self.swap_disk,
            ),
            Work::Healthy { may_set_clock } => healthy::run(
                self.number,
                self.kind,
                dir,
                self.report,
                self.until,
                *may_set_clock,
            ),
        };
        // Whoever waits for this stage must hear of its end.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let result = result.unwrap_or_else(|_| Err(anyhow!("internal error")));
        // Nobody listens any more when the sweep has failed.
        let _ = self.ended.send((self.number, result));
    }
}

/// The mechanisms that are wanted and that this machine can make.
fn possible(args: &Sweep) -> Result<Vec<Mechanism>> {
    let mut possible = Vec::new();
    for mechanism in Mechanism::ALL {
        if args.healthy_only || !(args.only.is_empty() || args.only.contains(&mechanism)) {
            continue;
        }
        match host::can_run(&mechanism.scenario()?) {
            Ok(()) => possible.push(mechanism),
            Err(why) => output::note(&format!("skipped: {}: {why:#}", mechanism.name())),
        }
    }
    if possible.is_empty() && !args.healthy_only {
        bail!("none of these cells can run on this machine");
    }
    Ok(possible)
}

/// Set by the first SIGINT or SIGTERM; the second one ends the process at once.
fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 1, stop.clone())
            .and_then(|_| signal_hook::flag::register(signal, stop.clone()))
            .context("signals cannot be handled")?;
    }
    Ok(stop)
}
