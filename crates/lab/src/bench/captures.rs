//! Captures of other tools: from the files to the verdict, wall time and memory.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use testbed::{Bulk, made_gdb, made_stalk};

use super::measure::{heading, line, median};
use crate::product::program;

/// Runs of each.
const RUNS: usize = 5;

/// Bytes of a collection.
const STALK_BYTES: u64 = 200_000_000;

/// Threads of a large server.
const THREADS: usize = 2_400;

pub(super) fn run() -> Result<()> {
    heading("captures of other tools, explained")?;
    for (bulk, of) in [
        (Bulk::Sessions, "thousands of sessions"),
        (Bulk::Transactions, "one list of transactions"),
    ] {
        let dir = tempfile::tempdir()?;
        let bytes = made_stalk(dir.path(), STALK_BYTES, bulk)?;
        let megabytes = bytes as f64 / 1e6;
        measured(
            &format!("a folder of pt-stalk, {megabytes:.0} MB, {of}"),
            "<= 3 s",
            &["explain", "--json"],
            dir.path(),
        )?;
    }
    let dir = tempfile::tempdir()?;
    let gdb = dir.path().join("gdb.txt");
    std::fs::write(&gdb, made_gdb(THREADS))?;
    let what = format!("gdb's backtrace of {THREADS} threads");
    measured(&what, "<= 0.2 s", &["explain", "--json"], &gdb)?;
    measured(
        &format!("{what}: stacks"),
        "<= 0.2 s",
        &["stacks", "--json", "--from"],
        &gdb,
    )?;
    pt_pmp(&gdb)
}

fn measured(what: &str, target: &str, command: &[&str], path: &Path) -> Result<()> {
    let mut seconds = Vec::new();
    let mut peak = 0;
    // The first run reads what was written a moment ago; the files are in memory for all.
    for _ in 0..RUNS {
        let begin = Instant::now();
        peak = peak.max(peak_kib(command, path)?);
        seconds.push(begin.elapsed().as_secs_f64());
    }
    line(
        what,
        &format!("{:.3} s (median of {RUNS})", median(&seconds)),
        target,
    )?;
    line(
        "  its resident memory",
        &format!("{:.0} MiB at most", peak as f64 / 1024.0),
        "<= 512 MiB",
    )
}

/// Runs it and gives its peak resident memory, KiB, which the kernel keeps.
pub(super) fn peak_kib(command: &[&str], path: &Path) -> Result<u64> {
    let mut child = Command::new(program()?)
        .args(command)
        .arg(path)
        .stdout(Stdio::null())
        .spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        let now = told
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        peak = peak.max(now.unwrap_or(0));
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    ensure!(ended.success(), "{}: {ended}", command.join(" "));
    (peak > 0).then_some(peak).context("/proc has no VmHWM")
}

/// pt-pmp on the same backtrace, where it is installed.
fn pt_pmp(gdb: &Path) -> Result<()> {
    let begin = Instant::now();
    let ended = Command::new("pt-pmp")
        .arg(gdb)
        .stdout(Stdio::null())
        .status();
    match ended {
        Ok(ended) if ended.success() => line(
            "pt-pmp on the same",
            &format!("{:.3} s", begin.elapsed().as_secs_f64()),
            "",
        ),
        _ => line("pt-pmp on the same", "not installed", ""),
    }
}
