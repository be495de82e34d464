//! Measuring and printing that all benchmarks share.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cli::output;
use serde_json::Value;
use testbed::PrivateServer;

use crate::product::program;

/// CPU time of a process and of its children that have ended (proc_pid_stat(5), fields 14 to 17).
pub(super) fn cpu_seconds(pid: u32) -> Result<f64> {
    Ok(stat_ticks(pid, 11..15)? as f64 / kernel::clock::hertz() as f64)
}

/// CPU time of our own children that have ended (fields 16 and 17). Our own is a load's and a
/// probe's.
pub(super) fn children_cpu_seconds() -> Result<f64> {
    Ok(stat_ticks(std::process::id(), 13..15)? as f64 / kernel::clock::hertz() as f64)
}

/// `fields` count from the third field of the line.
fn stat_ticks(pid: u32, fields: std::ops::Range<usize>) -> Result<u64> {
    let path = format!("/proc/{pid}/stat");
    let stat = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    Ok(rest
        .split_whitespace()
        .skip(fields.start)
        .take(fields.len())
        .filter_map(|field| field.parse::<u64>().ok())
        .sum())
}

/// CPU time of all threads of a process as the scheduler counts it, seconds: to the nanosecond,
/// where proc_pid_stat(5) counts ticks (`/proc/PID/task/TID/schedstat`, the first number).
pub(super) fn scheduled_seconds(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/task");
    let mut sum = 0.0;
    for task in std::fs::read_dir(&path).with_context(|| path.clone())? {
        // One that ended meanwhile.
        let text = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        let first = text.split_whitespace().next();
        sum += first.and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0);
    }
    Ok(sum / 1e9)
}

/// What a thread had of the processors, as the scheduler counts it (`/proc/PID/task/TID/schedstat`).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scheduled {
    /// Milliseconds that it ran.
    pub(super) ran_ms: f64,
    /// Milliseconds that it could have run, and stood in the queue of a processor.
    pub(super) queued_ms: f64,
}

impl Scheduled {
    /// Of the main thread of a process.
    pub(super) fn of_main(pid: u32) -> Self {
        Self::read(&format!("/proc/{pid}/task/{pid}/schedstat"))
    }

    /// Of the calling thread.
    pub(super) fn of_this() -> Self {
        Self::read("/proc/thread-self/schedstat")
    }

    fn read(path: &str) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let mut numbers = text.split_whitespace().map(str::parse::<f64>);
        let mut next_ms = || numbers.next().and_then(Result::ok).unwrap_or(0.0) / 1e6;
        Self {
            ran_ms: next_ms(),
            queued_ms: next_ms(),
        }
    }

    /// What came since.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            ran_ms: self.ran_ms - before.ran_ms,
            queued_ms: self.queued_ms - before.queued_ms,
        }
    }
}

/// The middle value; NaN of none.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    percentile(&sorted, 0.5)
}

/// The program itself, as a user starts it.
pub(super) fn freezeframe<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Command> {
    let mut command = Command::new(program()?);
    command.args(arguments).stdin(Stdio::null());
    Ok(command)
}

/// Its JSON; the error is what it said instead.
pub(super) fn answer(mut command: Command) -> Result<Result<Value, String>> {
    let output = command.output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Ok(Err(said.trim().to_owned()));
    }
    Ok(Ok(serde_json::from_slice(&output.stdout)?))
}

/// One line of a table: what it is of, and its cells.
pub(super) fn table_line(what: &str, cells: &[&str]) -> Result<()> {
    let mut text = format!("  {what:<28}");
    for cell in cells {
        text += &format!(" {cell:>17}");
    }
    output::print(text.trim_end())
}

/// Mean and standard error.
pub(super) fn mean_and_error(values: &[f64]) -> String {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (count - 1.0);
    format!("{mean:.3} ± {:.3}", (variance / count).sqrt())
}

pub(super) fn heading(text: &str) -> Result<()> {
    output::print(&format!("\n{text}"))
}

pub(super) fn line(what: &str, value: &str, target: &str) -> Result<()> {
    let target = if target.is_empty() {
        String::new()
    } else {
        format!("  (target {target})")
    };
    output::print(&format!("  {what:<46} {value}{target}"))
}

/// The value below which this share of sorted values lies.
pub(super) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let index = ((sorted.len() as f64 * share).ceil() as usize).saturating_sub(1);
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

const DEADLINES: server::Deadlines = server::Deadlines {
    connect: Duration::from_secs(20),
    answer: Duration::from_secs(60),
};

/// A connection of our own to a private server.
pub(super) fn counter(server: &PrivateServer) -> Result<server::Session> {
    let login = server::Login {
        user: "root".to_owned(),
        password: None,
        from: "the lab".to_owned(),
        tls: server::Tls::default(),
    };
    let address = server::Address::Socket(server.socket());
    Ok(server::Session::connect(&address, &login, DEADLINES)?)
}

/// Statements that a server has executed since it started.
pub(super) fn questions(counter: &mut server::Session) -> Result<f64> {
    let (rows, _) = counter.rows("SHOW GLOBAL STATUS LIKE 'Questions'", 1)?;
    let row = rows.first().context("the server counts no statements")?;
    Ok(row.column(1).parse()?)
}

/// Statements a second over one window.
pub(super) fn rate(counter: &mut server::Session, window: Duration) -> Result<f64> {
    // A watcher that just woke up or went to sleep is left to settle.
    std::thread::sleep(Duration::from_millis(200));
    let (begin, before) = (Instant::now(), questions(counter)?);
    std::thread::sleep(window);
    let after = questions(counter)?;
    Ok((after - before) / begin.elapsed().as_secs_f64())
}

/// How fast something went, by both clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    /// By wall time: what other programs of the machine take counts as well.
    pub(super) per_second: f64,
    /// By the processor time of the process that did it: what others take does not count. Nor do
    /// interrupts, on kernels that account them apart (CONFIG_IRQ_TIME_ACCOUNTING).
    pub(super) per_cpu_second: f64,
}

impl Rate {
    /// Of so many turns in a window.
    pub(super) fn of(turns: f64, wall: Duration, cpu_seconds: f64) -> Self {
        Self {
            per_second: turns / wall.as_secs_f64(),
            per_cpu_second: turns / cpu_seconds,
        }
    }

    /// This one as shares of the mean of two others.
    pub(super) fn against(self, before: Self, after: Self) -> Self {
        let share = |of: fn(Self) -> f64| of(self) * 2.0 / (of(before) + of(after));
        Self {
            per_second: share(|rate| rate.per_second),
            per_cpu_second: share(|rate| rate.per_cpu_second),
        }
    }
}

/// Shares of several windows, by wall time and by processor time.
pub(super) fn by_both(ratios: &[Rate]) -> (Vec<f64>, Vec<f64>) {
    ratios
        .iter()
        .map(|ratio| (ratio.per_second, ratio.per_cpu_second))
        .unzip()
}

/// [`rate`] by both clocks.
pub(super) fn rates(counter: &mut server::Session, pid: u32, window: Duration) -> Result<Rate> {
    std::thread::sleep(Duration::from_millis(200));
    let (begin, before, cpu) = (Instant::now(), questions(counter)?, scheduled_seconds(pid)?);
    std::thread::sleep(window);
    let after = questions(counter)?;
    let cpu = scheduled_seconds(pid)? - cpu;
    Ok(Rate::of(after - before, begin.elapsed(), cpu))
}

/// Memory of a process, MiB: the most that was resident, and what is resident now of its own and of
/// files (proc_pid_status(5)).
#[derive(Debug, Clone, Copy)]
pub(super) struct Resident {
    pub(super) most: f64,
    pub(super) own: f64,
    pub(super) of_files: f64,
}

/// Reads [`Resident`].
pub(super) fn resident(pid: u32) -> Result<Resident> {
    let path = format!("/proc/{pid}/status");
    let status = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    let mebibytes = |key: &str| -> Result<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let kibibytes = line.and_then(|rest| rest.split_whitespace().next());
        let kibibytes: f64 = kibibytes
            .with_context(|| format!("{path} has no {key}"))?
            .parse()?;
        Ok(kibibytes / 1024.0)
    };
    Ok(Resident {
        most: mebibytes("VmHWM:")?,
        own: mebibytes("RssAnon:")?,
        of_files: mebibytes("RssFile:")?,
    })
}
