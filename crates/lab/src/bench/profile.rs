//! A profile of the processors under a server that keeps them all busy: what it costs the server
//! and how complete it is, beside `perf record`.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::{Load, PrivateServer};

use super::measure::{answer, by_both, freezeframe, heading, line, median};
use super::paired::{Row, Started, Windows, tell_throughput, throughput};
use super::peers::{end, start, tool};
use crate::background::{Background, load};

/// Rounds, and the length of a window of each. Between two windows with a profiler there is one
/// without.
const WINDOWS: Windows = Windows {
    rounds: 6,
    length: Duration::from_secs(2),
};

/// Samples a second at which the cost is large enough to be seen, to tell that of fewer.
const FAST_HZ: &str = "999";

/// One arm of the comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arm {
    Nothing,
    Ours(&'static str),
    PerfDwarf,
}

const ARMS: [Arm; 5] = [
    Arm::Nothing,
    Arm::Ours("49"),
    Arm::Ours("99"),
    Arm::Ours(FAST_HZ),
    Arm::PerfDwarf,
];

impl Arm {
    fn name(self) -> String {
        match self {
            Self::Nothing => "nothing (the noise)".to_owned(),
            Self::Ours(hz) => format!("freezeframe, {hz} Hz"),
            Self::PerfDwarf => "perf record, dwarf, 99 Hz".to_owned(),
        }
    }

    fn target(self) -> &'static str {
        match self {
            Self::Nothing => "1",
            Self::Ours("49" | "99") => ">= 0.99",
            _ => "",
        }
    }
}

pub(super) fn run() -> Result<()> {
    let server = PrivateServer::start(&testbed::Options::default())?;
    let mix = testbed::mix("ordinary").context("the mix 'ordinary' is gone")?;
    mix.prepare(&server.login())?;
    let pid = server.pid().context("the server has ended")?.to_string();
    heading(&format!(
        "profile of a server that uses every processor, {} windows of {} s each",
        WINDOWS.rounds,
        WINDOWS.length.as_secs()
    ))?;
    // Scans of some milliseconds: how fast short statements go hangs on who runs where.
    let statement = "SELECT COUNT(*) FROM freezeframe_lab.t WHERE c LIKE '%abcdef%'";
    let busy = Background::start(Load {
        duration: Duration::from_secs(900),
        clients: std::thread::available_parallelism().map_or(2, usize::from),
        statements: vec![(1, statement.to_owned())],
        ..load(server.login(), mix, 1, None, false)
    })?;
    let dir = server.directory().join("profiles");
    std::fs::create_dir_all(&dir)?;
    let rows = throughput(&server, &ARMS, WINDOWS, |arm| start_arm(*arm, &pid, &dir))?;
    for (arm, row) in ARMS.iter().zip(&rows) {
        tell_throughput(&arm.name(), row, arm.target())?;
    }
    extrapolate(&rows)?;
    completeness(&pid)?;
    reports(&pid, &dir)?;
    busy.end()?;
    Ok(())
}

fn start_arm(arm: Arm, pid: &str, dir: &Path) -> Result<Started> {
    let mut command = match arm {
        Arm::Nothing => return Ok(Started::Nothing),
        Arm::Ours(hz) => freezeframe([
            "profile",
            "--pid",
            pid,
            "--seconds",
            "60",
            "--json",
            "--hz",
            hz,
        ])?,
        Arm::PerfDwarf => perf_record(pid, &dir.join("perf.data")),
    };
    let child = start(&mut command)?;
    Ok(child.map_or(Started::Missing, Started::Running))
}

fn perf_record(pid: &str, to: &Path) -> Command {
    let mut command = tool(
        "perf",
        &[
            "record",
            "-q",
            "-e",
            "cpu-clock",
            "-F",
            "99",
            "--call-graph",
            "dwarf",
            "-p",
            pid,
            "-o",
        ],
    );
    command.arg(to);
    command
}

/// What a hundred samples a second cost, from what a thousand do.
fn extrapolate(rows: &[Row]) -> Result<()> {
    let fast = ARMS.iter().zip(rows);
    let fast = fast.filter(|(arm, _)| **arm == Arm::Ours(FAST_HZ));
    for (_, row) in fast {
        let (_, by_cpu) = by_both(&row.ratios);
        let loss = 1.0 - median(&by_cpu);
        let hz: f64 = FAST_HZ.parse()?;
        line(
            &format!("by the CPU time at {FAST_HZ} Hz"),
            &format!(
                "{:.0} us a sample; the ratio at 99 Hz would be {:.4}, at 49 Hz {:.4}",
                loss / hz * 1e6,
                1.0 - loss / hz * 99.0,
                1.0 - loss / hz * 49.0
            ),
            "",
        )?;
    }
    Ok(())
}

/// How many stacks of a profile are complete.
fn completeness(pid: &str) -> Result<()> {
    let asked = freezeframe([
        "profile",
        "--pid",
        pid,
        "--seconds",
        "10",
        "--hz",
        "99",
        "--json",
    ])?;
    let document = match answer(asked)? {
        Ok(document) => document,
        Err(problem) => return line("stacks complete", &problem, ""),
    };
    let number = |key: &str| document[key].as_f64().unwrap_or(f64::NAN);
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
fn reports(pid: &str, dir: &Path) -> Result<()> {
    let file = dir.join("ours.profile.json");
    let begin = Instant::now();
    let mut command = freezeframe([
        "profile",
        "--pid",
        pid,
        "--seconds",
        "10",
        "--hz",
        "99",
        "-o",
    ])?;
    let ours = command.arg(&file).stdout(Stdio::null()).status()?;
    ensure!(ours.success(), "freezeframe profile failed");
    let seconds = begin.elapsed().as_secs_f64() - 10.0;
    let bytes = std::fs::metadata(&file)?.len();
    line(
        "freezeframe: table after 10 s, file",
        &format!(
            "{seconds:.2} s (start and end of the process included), {} KiB",
            bytes / 1024
        ),
        "",
    )?;
    let data = dir.join("perf.data");
    let mut command = perf_record(pid, &data);
    command.args(["--", "sleep", "10"]);
    let Some(mut child) = start(&mut command)? else {
        return Ok(());
    };
    if !child.wait()?.success() {
        return line("perf record", "failed", "");
    }
    let bytes = std::fs::metadata(&data)?.len();
    let begin = Instant::now();
    let mut report = tool("perf", &["report", "--stdio", "--no-children", "-i"]);
    let report = start(report.arg(&data))?.context("perf is gone")?;
    let Some(seconds) = ended_within(report, REPORT_MAX, begin)? else {
        return line(
            "perf: table after 10 s, file",
            &format!(
                "not within {} s, {} KiB",
                REPORT_MAX.as_secs(),
                bytes / 1024
            ),
            "",
        );
    };
    line(
        "perf: table after 10 s, file",
        &format!("{seconds:.2} s, {} KiB", bytes / 1024),
        "",
    )
}

/// Longer is not waited for perf's report.
const REPORT_MAX: Duration = Duration::from_secs(60);

fn ended_within(mut child: Child, most: Duration, begin: Instant) -> Result<Option<f64>> {
    while child.try_wait()?.is_none() {
        if begin.elapsed() > most {
            end(child)?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(Some(begin.elapsed().as_secs_f64()))
}
