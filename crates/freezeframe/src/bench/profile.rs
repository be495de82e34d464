//! A profile of the processors under a server that keeps them all busy: what it costs the server
//! and how complete it is, beside `perf record`.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use lab::{Load, PrivateServer};
use serde_json::Value;

use super::measure::{cpu_seconds, heading, line, mean_and_error};
use crate::background::{Background, load, terminate};

/// Rounds, and the length of a window of each.
const ROUNDS: usize = 8;
const WINDOW: Duration = Duration::from_secs(4);

/// What a profiler may do before it is measured.
const SETTLE: Duration = Duration::from_millis(1200);

/// One arm of the comparison.
struct Arm {
    name: &'static str,
    target: &'static str,
    tool: Option<Tool>,
}

#[derive(Clone, Copy)]
enum Tool {
    Freezeframe(&'static str),
    PerfDwarf,
}

const ARMS: [Arm; 5] = [
    Arm {
        name: "nothing (the noise)",
        target: "1",
        tool: None,
    },
    Arm {
        name: "freezeframe, 49 Hz",
        target: ">= 0.99",
        tool: Some(Tool::Freezeframe("49")),
    },
    Arm {
        name: "freezeframe, 99 Hz",
        target: ">= 0.99",
        tool: Some(Tool::Freezeframe("99")),
    },
    Arm {
        name: "freezeframe, 999 Hz",
        target: "",
        tool: Some(Tool::Freezeframe("999")),
    },
    Arm {
        name: "perf record, dwarf, 99 Hz",
        target: "",
        tool: Some(Tool::PerfDwarf),
    },
];

pub(super) fn run() -> Result<()> {
    heading(&format!(
        "profile under a server that uses every processor, {ROUNDS} rounds of {} s",
        WINDOW.as_secs()
    ))?;
    let server = PrivateServer::start(&lab::Options::default())?;
    let mix = lab::mix("ordinary").context("the mix 'ordinary' is gone")?;
    mix.prepare(&server.login())?;
    let statement = "SELECT COUNT(*) FROM freezeframe_lab.t WHERE c LIKE '%abcdef%'";
    let busy = Background::start(Load {
        duration: Duration::from_secs(900),
        clients: std::thread::available_parallelism().map_or(2, usize::from),
        statements: vec![(1, statement.to_owned())],
        ..load(server.login(), mix, 1, None, false)
    })?;
    let mut ratios: Vec<Vec<f64>> = ARMS.iter().map(|_| Vec::new()).collect();
    let mut cpu: Vec<f64> = vec![0.0; ARMS.len()];
    let mut counter = super::measure::counter(&server)?;
    let dir = server.directory().join("profiles");
    std::fs::create_dir_all(&dir)?;
    for round in 0..ROUNDS {
        for step in 0..ARMS.len() {
            // The order changes, so that a drift of the machine favours none.
            let index = (step + round) % ARMS.len();
            let arm = &ARMS[index];
            let without = super::measure::rate(&mut counter, WINDOW)?;
            let Some(child) = start(arm, &server, &dir)? else {
                if arm.tool.is_none() {
                    ratios[index].push(super::measure::rate(&mut counter, WINDOW)? / without);
                }
                continue;
            };
            std::thread::sleep(SETTLE);
            let before = cpu_seconds(child.id())?;
            let begin = Instant::now();
            let with = super::measure::rate(&mut counter, WINDOW)?;
            cpu[index] +=
                (cpu_seconds(child.id())? - before) / begin.elapsed().as_secs_f64() / ROUNDS as f64;
            end(child)?;
            ratios[index].push(with / without);
        }
    }
    for (index, arm) in ARMS.iter().enumerate() {
        if ratios[index].is_empty() {
            line(arm.name, "not installed", "")?;
            continue;
        }
        let own = match arm.tool {
            Some(_) => format!(", own CPU {:.2} % of a core", cpu[index] * 100.0),
            None => String::new(),
        };
        line(
            &format!("throughput ratio with {}", arm.name),
            &format!("{}{own}", mean_and_error(&ratios[index])),
            arm.target,
        )?;
    }
    completeness(&server)?;
    reports(&server, &dir)?;
    busy.end()?;
    Ok(())
}

fn start(arm: &Arm, server: &PrivateServer, dir: &Path) -> Result<Option<Child>> {
    let pid = server.pid().context("the server has ended")?.to_string();
    let mut command = match arm.tool {
        None => return Ok(None),
        Some(Tool::Freezeframe(hz)) => {
            let mut command = Command::new(std::env::current_exe()?);
            command.args([
                "profile",
                "--pid",
                &pid,
                "--seconds",
                "60",
                "--json",
                "--hz",
                hz,
            ]);
            command
        }
        Some(Tool::PerfDwarf) => {
            let mut command = Command::new("perf");
            command
                .args([
                    "record",
                    "-q",
                    "-e",
                    "cpu-clock",
                    "-F",
                    "99",
                    "--call-graph",
                    "dwarf",
                    "-p",
                    &pid,
                    "-o",
                ])
                .arg(dir.join("perf.data"));
            command
        }
    };
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match child {
        Ok(child) => Ok(Some(child)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn end(mut child: Child) -> Result<()> {
    terminate(&child);
    child.wait()?;
    Ok(())
}

/// How many stacks of a profile are complete.
fn completeness(server: &PrivateServer) -> Result<()> {
    let pid = server.pid().context("the server has ended")?.to_string();
    let output = Command::new(std::env::current_exe()?)
        .args([
            "profile",
            "--pid",
            &pid,
            "--seconds",
            "10",
            "--hz",
            "99",
            "--json",
        ])
        .stdin(Stdio::null())
        .output()?;
    let answer: Value = serde_json::from_slice(&output.stdout).context("the profile")?;
    let number = |key: &str| answer[key].as_f64().unwrap_or(f64::NAN);
    line(
        "stacks complete",
        &format!(
            "{:.2} % of {} samples, {} lost",
            (1.0 - number("cut") / number("samples")) * 100.0,
            number("samples"),
            number("lost")
        ),
        ">= 99 %",
    )
}

/// From the end of ten seconds at 99 Hz to the table: time, and the file it takes.
fn reports(server: &PrivateServer, dir: &Path) -> Result<()> {
    let pid = server.pid().context("the server has ended")?.to_string();
    let file = dir.join("ours.profile.json");
    let begin = Instant::now();
    let ours = Command::new(std::env::current_exe()?)
        .args([
            "profile",
            "--pid",
            &pid,
            "--seconds",
            "10",
            "--hz",
            "99",
            "-o",
        ])
        .arg(&file)
        .stdout(Stdio::null())
        .status()?;
    if ours.success() {
        let seconds = begin.elapsed().as_secs_f64() - 10.0;
        let bytes = std::fs::metadata(&file)?.len();
        line(
            "freezeframe: 10 s, table after",
            &format!("{seconds:.2} s, file {} KiB", bytes / 1024),
            "",
        )?;
    }
    let data = dir.join("perf.data");
    let recorded = Command::new("perf")
        .args([
            "record",
            "-q",
            "-e",
            "cpu-clock",
            "-F",
            "99",
            "--call-graph",
            "dwarf",
            "-p",
            &pid,
            "-o",
        ])
        .arg(&data)
        .args(["--", "sleep", "10"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if recorded.is_ok_and(|status| status.success()) {
        let bytes = std::fs::metadata(&data)?.len();
        let begin = Instant::now();
        let report = Command::new("perf")
            .args(["report", "--stdio", "--no-children", "-i"])
            .arg(&data)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        if report.success() {
            let seconds = begin.elapsed().as_secs_f64();
            line(
                "perf: 10 s, table after",
                &format!("{seconds:.2} s, file {} KiB", bytes / 1024),
                "",
            )?;
        }
    }
    Ok(())
}
