//! Measuring and printing that all benchmarks share.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use lab::PrivateServer;

use crate::output;

/// CPU time of a process and of its children that have ended (proc_pid_stat(5), fields 14 to 17).
pub(super) fn cpu_seconds(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/stat");
    let stat = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Ok(ticks as f64 / kernel::clock::hertz() as f64)
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
    };
    let address = server::Address::Socket(server.socket());
    Ok(server::Session::connect(&address, &login, DEADLINES)?)
}

/// Statements that a server has executed since it started.
pub(super) fn questions(counter: &mut server::Session) -> Result<f64> {
    let (rows, _) = counter.rows("SHOW GLOBAL STATUS LIKE 'Questions'", 1)?;
    let row = rows.first().context("the server counts no statements")?;
    Ok(row.at(1).parse()?)
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
