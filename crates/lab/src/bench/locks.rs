//! What counting waits for locks costs a program that waits at a known rate, beside strace and perf
//! trace.
//!
//! The program is the lab's hammer: two threads on one processor that take turns, so that every
//! turn is one wait and all that is added to a wait slows it down. That is the dearest case: a
//! server with the same rate of waits on many processors loses the same time, spread over them.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cli::output;
use serde_json::Value;
use testbed::Victim;

use super::measure::{
    freezeframe, heading, line, median, percentile, scheduled_seconds, table_line,
};
use super::peers::{end, start, tool};

/// Waits a second that are aimed at; the last is as many as there can be.
const WAITS_PER_SECOND: [Option<u32>; 4] = [Some(5_000), Some(50_000), Some(100_000), None];

/// Rounds, and the length of a window of each.
const ROUNDS: usize = 4;
const WINDOW: Duration = Duration::from_millis(700);

/// Pieces of a window whose processor time is looked at one by one: what disturbs the machine for a
/// moment is then in few of them.
const PIECES: u32 = 10;

/// What a tool may do before it is measured: start, load its programs, attach.
const SETTLE: Duration = Duration::from_millis(600);

/// No limit that a rate reaches.
const NO_LIMIT: &str = "1000000000";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Arm {
    Nothing,
    Sampled,
    Exact,
    ExactWithoutLimit,
    Strace,
    PerfTrace,
}

const ARMS: [Arm; 6] = [
    Arm::Nothing,
    Arm::Sampled,
    Arm::Exact,
    Arm::ExactWithoutLimit,
    Arm::Strace,
    Arm::PerfTrace,
];

impl Arm {
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing (the noise)",
            Self::Sampled => "freezeframe, sampled",
            Self::Exact => "freezeframe --exact",
            Self::ExactWithoutLimit => "  the same without limit",
            Self::Strace => "strace -f -e trace=futex",
            Self::PerfTrace => "perf trace -e futex",
        }
    }

    fn command(self, pid: &str) -> Result<Option<Command>> {
        let locks = ["locks", "--json", "--seconds", "60", "--pid", pid];
        Ok(match self {
            Self::Nothing => None,
            Self::Sampled => Some(freezeframe(locks)?),
            Self::Exact => Some(freezeframe(locks.into_iter().chain(["--exact"]))?),
            Self::ExactWithoutLimit => Some(freezeframe(locks.into_iter().chain([
                "--exact",
                "--max-rate",
                NO_LIMIT,
            ]))?),
            Self::Strace => Some(tool(
                "strace",
                &["-f", "-e", "trace=futex", "-o", "/dev/null", "-p", pid],
            )),
            Self::PerfTrace => Some(tool(
                "perf",
                &["trace", "-e", "futex", "-o", "/dev/null", "-p", pid],
            )),
        })
    }

    fn is_exact(self) -> bool {
        matches!(self, Self::Exact | Self::ExactWithoutLimit)
    }
}

/// What the windows of an arm brought.
#[derive(Default)]
struct Row {
    /// Turns, as shares of those in the windows without anything before and after.
    ratios: Vec<f64>,
    /// Processor time of a turn in each piece of a window, nanoseconds.
    turn_ns: Vec<f64>,
    /// Of the tool, share of one core.
    cpu: Vec<f64>,
    /// Milliseconds after which counting switched itself off.
    off_after: Vec<f64>,
    missing: bool,
}

pub(super) fn run() -> Result<()> {
    let dir = tempfile::tempdir()?;
    rates_of(dir.path())
}

fn rates_of(dir: &Path) -> Result<()> {
    let program = match testbed::build_victim("hammer", dir) {
        Ok(program) => program,
        Err(error) => return line("locks", &format!("skipped: {error}"), ""),
    };
    // What a turn takes without work tells how much work makes the wanted rates.
    let mut victim = Victim::start(&program, &["0"], &[])?;
    let turn_ns = usual(&turns(&mut victim)?.turn_ns);
    drop(victim);
    for wanted in WAITS_PER_SECOND {
        let work = wanted.map_or(0.0, |wanted| (1e9 / f64::from(wanted) - turn_ns).max(0.0));
        let work = format!("{work:.0}");
        let mut victim = Victim::start(&program, &[&work], &[])?;
        one_rate(&mut victim, wanted, dir)?;
        victim.end()?;
    }
    Ok(())
}

fn one_rate(victim: &mut Victim, wanted: Option<u32>, dir: &Path) -> Result<()> {
    let mut rows: Vec<Row> = ARMS.iter().map(|_| Row::default()).collect();
    let (mut alone, mut alone_ns) = (Vec::new(), Vec::new());
    let mut before = turns(victim)?;
    for round in 0..ROUNDS {
        for step in 0..ARMS.len() {
            let index = (step + round) % ARMS.len();
            let (Some(arm), Some(row)) = (ARMS.get(index), rows.get_mut(index)) else {
                continue;
            };
            let with = match with_arm(*arm, victim, dir, row)? {
                Some(with) => with,
                None => continue,
            };
            let after = turns(victim)?;
            let without = (before.per_second + after.per_second) / 2.0;
            row.ratios.push(with.per_second / without);
            row.turn_ns.extend(with.turn_ns);
            alone.push(after.per_second);
            alone_ns.extend(after.turn_ns.iter().copied());
            before = after;
        }
    }
    heading(&format!(
        "locks: {}, {:.0} waits/s had the time, {ROUNDS} windows of {} ms each",
        wanted.map_or("as many waits as possible".to_owned(), |wanted| format!(
            "{wanted} waits/s wanted"
        )),
        median(&alone),
        WINDOW.as_millis()
    ))?;
    table_line(
        "",
        &[
            "throughput",
            "by its CPU time",
            "ns more a wait",
            "own CPU",
            "switched off",
        ],
    )?;
    for (arm, row) in ARMS.iter().zip(&rows) {
        print_row(*arm, row, usual(&alone_ns))?;
    }
    Ok(())
}

/// The lower quartile: a turn of a machine that does little else.
fn usual(turn_ns: &[f64]) -> f64 {
    let mut sorted = turn_ns.to_vec();
    sorted.sort_by(f64::total_cmp);
    percentile(&sorted, 0.25)
}

fn print_row(arm: Arm, row: &Row, alone_ns: f64) -> Result<()> {
    if row.missing {
        return line(arm.name(), "not installed", "");
    }
    let turn_ns = usual(&row.turn_ns);
    let own = match row.cpu.as_slice() {
        [] => "-".to_owned(),
        cpu => format!("{:.1} %", median(cpu) * 100.0),
    };
    let off = match row.off_after.as_slice() {
        _ if !arm.is_exact() => "-".to_owned(),
        [] => "no".to_owned(),
        after => format!("after {:.0} ms", median(after)),
    };
    table_line(
        arm.name(),
        &[
            &format!("{:.3}", median(&row.ratios)),
            &format!("{:.3}", alone_ns / turn_ns),
            &format!("{:.0}", turn_ns - alone_ns),
            &own,
            &off,
        ],
    )
}

/// The victim's rate while a tool runs; `None` when it is not installed.
fn with_arm(arm: Arm, victim: &mut Victim, dir: &Path, row: &mut Row) -> Result<Option<Turns>> {
    let pid = victim.pid().to_string();
    let Some(mut command) = arm.command(&pid)? else {
        return turns(victim).map(Some);
    };
    let answer = dir.join("answer.json");
    let child = if matches!(arm, Arm::Strace | Arm::PerfTrace) {
        start(&mut command)?
    } else {
        command.stdout(File::create(&answer)?).stderr(Stdio::null());
        Some(command.spawn()?)
    };
    let Some(child) = child else {
        row.missing = true;
        return Ok(None);
    };
    std::thread::sleep(SETTLE);
    let with = measured(&child, victim, row)?;
    end(child)?;
    if arm.is_exact() {
        let text = std::fs::read_to_string(&answer).unwrap_or_default();
        let document: Value = serde_json::from_str(&text).unwrap_or_default();
        row.off_after
            .extend(document["switched_off_after_ms"].as_f64());
    }
    Ok(Some(with))
}

fn measured(child: &Child, victim: &mut Victim, row: &mut Row) -> Result<Turns> {
    let (begin, cpu) = (Instant::now(), scheduled_seconds(child.id())?);
    let with = turns(victim)?;
    let used = scheduled_seconds(child.id())? - cpu;
    row.cpu.push(used / begin.elapsed().as_secs_f64());
    Ok(with)
}

/// The victim's turns in a window.
struct Turns {
    per_second: f64,
    /// Processor time of a turn in each piece, nanoseconds.
    turn_ns: Vec<f64>,
}

fn turns(victim: &mut Victim) -> Result<Turns> {
    std::thread::sleep(Duration::from_millis(50));
    let (begin, first) = (Instant::now(), counts(victim)?);
    let (mut last, mut turn_ns) = (first, Vec::new());
    for _ in 0..PIECES {
        std::thread::sleep(WINDOW / PIECES);
        let now = counts(victim)?;
        if now.0 > last.0 {
            turn_ns.push((now.1 - last.1) / (now.0 - last.0));
        }
        last = now;
    }
    Ok(Turns {
        per_second: (last.0 - first.0) / begin.elapsed().as_secs_f64(),
        turn_ns,
    })
}

/// Turns, and processor time in nanoseconds.
fn counts(victim: &mut Victim) -> Result<(f64, f64)> {
    let line = victim.ask()?;
    let answer: Value = serde_json::from_str(&line).with_context(|| output::plain(&line))?;
    let number = |key: &str| answer[key].as_f64().context("the victim counts nothing");
    Ok((number("turns")?, number("cpu_ns")?))
}
