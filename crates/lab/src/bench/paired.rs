//! What a program beside a busy server costs it: windows with it between windows without it.

use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use testbed::PrivateServer;

use super::measure::scheduled_seconds;
use super::measure::{Rate, by_both, counter, line, mean_and_error, median, percentile, rates};
use super::peers::end;
use super::probe::Probe;

/// What a program may do before it is measured: it starts, and reads what it needs to know once.
const SETTLE: Duration = Duration::from_millis(800);

/// How an arm of the comparison begins.
pub(super) enum Started {
    /// A program, which is ended after its window.
    Running(Child),
    /// Nothing at all: the noise.
    Nothing,
    /// A program that is not installed.
    Missing,
}

/// What the windows of an arm brought.
#[derive(Default)]
pub(super) struct Row {
    /// The server's speed, as shares of that in the windows without before and after.
    pub(super) ratios: Vec<Rate>,
    /// Processor time of the program, share of one core.
    pub(super) cpu: Vec<f64>,
    /// Answers of the probe in the windows of the arm, microseconds.
    pub(super) with: Vec<f64>,
    /// And in the windows without before each.
    pub(super) without: Vec<f64>,
    pub(super) missing: bool,
}

/// How often and how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    pub(super) rounds: usize,
    pub(super) length: Duration,
}

/// Windows with each arm in turn, each against those without before and after it. The order changes
/// with the rounds, so that a drift of the machine favours none.
pub(super) fn throughput<A>(
    server: &PrivateServer,
    arms: &[A],
    windows: Windows,
    start: impl Fn(&A) -> Result<Started>,
) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = arms.iter().map(|_| Row::default()).collect();
    let pid = server.pid().context("the server has ended")?;
    let mut statements = counter(server)?;
    let mut window = || -> Result<(Rate, Vec<f64>)> {
        let probe = Probe::start(counter(server)?)?;
        let rate = rates(&mut statements, pid, windows.length)?;
        Ok((rate, probe.end()?))
    };
    let mut before = window()?;
    for round in 0..windows.rounds {
        for step in 0..arms.len() {
            let index = (step + round) % arms.len();
            let (Some(arm), Some(row)) = (arms.get(index), rows.get_mut(index)) else {
                continue;
            };
            let child = match start(arm)? {
                Started::Running(child) => Some(child),
                Started::Nothing => None,
                Started::Missing => {
                    row.missing = true;
                    continue;
                }
            };
            std::thread::sleep(SETTLE);
            let cpu = child.as_ref().map(|child| scheduled_seconds(child.id()));
            let begin = Instant::now();
            let (with, latencies) = window()?;
            if let (Some(child), Some(cpu)) = (child, cpu) {
                let used = scheduled_seconds(child.id())? - cpu?;
                row.cpu.push(used / begin.elapsed().as_secs_f64());
                end(child)?;
            }
            let after = window()?;
            row.ratios.push(with.against(before.0, after.0));
            row.with.extend(latencies);
            row.without.extend(before.1);
            before = after;
        }
    }
    Ok(rows)
}

/// The line of an arm's throughput.
pub(super) fn tell_throughput(name: &str, row: &Row, target: &str) -> Result<()> {
    if row.missing {
        return line(name, "not installed", "");
    }
    let (wall, by_cpu) = by_both(&row.ratios);
    let own = match row.cpu.as_slice() {
        [] => String::new(),
        cpu => format!(", own CPU {:.2} % of a core", median(cpu) * 100.0),
    };
    line(
        &format!("throughput with {name}"),
        &format!(
            "{:.3} (mean {}), by its CPU time {:.3} (mean {}){own}",
            median(&wall),
            mean_and_error(&wall),
            median(&by_cpu),
            mean_and_error(&by_cpu),
        ),
        target,
    )
}

/// The line of the probe's answers with an arm, beside those without it.
pub(super) fn tell_probe(name: &str, row: &Row) -> Result<()> {
    let at = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        [0.5, 0.99, 0.999].map(|share| percentile(&sorted, share) / 1000.0)
    };
    let told = |[p50, p99, p999]: [f64; 3]| format!("{p50:.2}, {p99:.1}, {p999:.1}");
    line(
        &format!("probe ms p50, p99, p99.9 with {name}"),
        &format!(
            "{}; without {} ({} answers)",
            told(at(&row.with)),
            told(at(&row.without)),
            row.with.len() + row.without.len()
        ),
        "",
    )
}
