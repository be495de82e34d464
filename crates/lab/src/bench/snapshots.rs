//! Snapshots of all threads of a busy server: what they take, and what the server's clients notice
//! of them, beside gdb, eu-stack and pt-pmp.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use testbed::{IdleConnections, Load, PrivateServer, ServerKind};

use super::measure::{
    answer, children_cpu_seconds, counter, freezeframe, heading, line, median, percentile,
    questions, table_line,
};
use super::paired::{Started, Windows, tell_probe, tell_throughput, throughput};
use super::peers::{run_to_end, start, tool};
use super::probe::Probe;
use crate::background::{Background, load};

/// Threads of the server.
const THREADS: [usize; 3] = [100, 500, 2000];

/// Threads where it is only asked how complete snapshots are.
const COMPLETE_THREADS: usize = 500;

/// Clients that keep the server busy; the other threads serve connections that wait.
const CLIENTS: usize = 8;

/// Windows of each way of ours, with as many of nothing between them.
const ROUNDS: usize = 3;

/// Length of a window in which nothing is done.
const WINDOW: Duration = Duration::from_millis(1500);

/// Snapshots of a window, and the time between them.
const SNAPSHOTS: usize = 20;
const INTERVAL: &str = "100ms";

/// Our ways to the stacks.
const METHODS: [&str; 2] = ["bpf", "proc"];

/// Threads while it is asked what one snapshot a second, as the recorder takes it, costs.
const WATCHED_THREADS: usize = 500;
const WATCHED: Windows = Windows {
    rounds: 20,
    length: Duration::from_secs(2),
};

/// More than a window has seconds: the command is ended with its window.
const WATCHED_SAMPLES: usize = 60;

/// Runs of the whole command.
const COMMANDS: usize = 3;

pub(super) fn run(servers: &[ServerKind]) -> Result<()> {
    let main = servers.first().copied().unwrap_or_default();
    for threads in THREADS {
        heading(&format!(
            "snapshots of {threads} threads of {}, {CLIENTS} of them busy, ten a second; \
             probe: SELECT 1 each 10 ms",
            main.name()
        ))?;
        one_size(main, threads)?;
    }
    watched(main)?;
    heading(&format!(
        "how complete the stacks of {COMPLETE_THREADS} threads are, {CLIENTS} of them busy, \
         {SNAPSHOTS} snapshots; the target is >= 99 %"
    ))?;
    let all = ServerKind::ALL.to_vec();
    for kind in if servers.is_empty() { &all } else { servers } {
        match testbed::installed(*kind) {
            Ok(_) => completeness(*kind)?,
            Err(error) => line(kind.name(), &format!("skipped: {error}"), "")?,
        }
    }
    Ok(())
}

/// A server with so many threads under load.
struct Busy {
    server: PrivateServer,
    pid: u32,
    load: Background,
    idle: IdleConnections,
}

impl Busy {
    fn start(kind: ServerKind, threads: usize) -> Result<Self> {
        let server = PrivateServer::start(&testbed::Options {
            kind,
            arguments: vec![
                format!("--max-connections={}", threads + 100),
                "--thread-cache-size=0".to_owned(),
            ],
            ..testbed::Options::default()
        })?;
        let pid = server.pid().context("the server has ended")?;
        let mix = testbed::mix("ordinary").context("the mix 'ordinary' is gone")?;
        mix.prepare(&server.login())?;
        // Those that wait first: they come faster to an idle server.
        let present = std::fs::read_dir(format!("/proc/{pid}/task"))?.count();
        let missing = threads.saturating_sub(present + CLIENTS);
        let idle = IdleConnections::open(&server.login(), missing, Duration::from_secs(10))?;
        let load = Background::start(Load {
            duration: Duration::from_secs(600),
            ..load(server.login(), mix, CLIENTS, None, false)
        })?;
        std::thread::sleep(Duration::from_millis(500));
        Ok(Self {
            server,
            pid,
            load,
            idle,
        })
    }

    fn end(self) -> Result<()> {
        self.load.end()?;
        drop(self.idle);
        Ok(())
    }
}

/// What is done in a window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arm {
    Nothing,
    Ours(&'static str),
    Tool(&'static str),
}

impl Arm {
    fn name(self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Ours(method) => format!("freezeframe, {method}"),
            Self::Tool(name) => name.to_owned(),
        }
    }
}

/// All windows of one arm put together.
#[derive(Default)]
struct Row {
    /// Each snapshot, milliseconds.
    walls: Vec<f64>,
    /// Processor time of all of them, milliseconds.
    cpu_ms: f64,
    complete: u64,
    threads: u64,
    /// Of the probe, microseconds.
    latencies: Vec<f64>,
    /// Statements a second, as shares of those in the windows of nothing before and after.
    ratios: Vec<f64>,
    trouble: Option<String>,
}

fn one_size(kind: ServerKind, threads: usize) -> Result<()> {
    let busy = Busy::start(kind, threads)?;
    let commands: Vec<Result<Once, String>> = METHODS
        .iter()
        .map(|method| whole_command(busy.pid, method))
        .collect::<Result<_>>()?;
    let mut arms: Vec<Arm> = METHODS.map(Arm::Ours).repeat(ROUNDS);
    arms.extend(["gdb", "eu-stack", "pt-pmp"].map(Arm::Tool));
    // Nothing, something, nothing, ..., nothing.
    let windows: Vec<Arm> = std::iter::once(Arm::Nothing)
        .chain(arms.into_iter().flat_map(|arm| [arm, Arm::Nothing]))
        .collect();
    let mut rows: Vec<(Arm, Row)> = Vec::new();
    let mut rates = Vec::new();
    for arm in &windows {
        let at = match rows.iter().position(|(known, _)| known == arm) {
            Some(at) => at,
            None => {
                rows.push((*arm, Row::default()));
                rows.len() - 1
            }
        };
        if let Some((_, row)) = rows.get_mut(at) {
            rates.push(window(&busy, *arm, row)?);
        }
    }
    ratios(&windows, &rates, &mut rows);

    table_line(
        "",
        &[
            "wall ms p50 (max)",
            "own CPU ms",
            "complete",
            "probe p99 ms",
            "probe max ms",
            "throughput",
        ],
    )?;
    for (arm, row) in &rows {
        let once = METHODS.iter().zip(&commands).find_map(|(method, once)| {
            let same = *arm == Arm::Ours(method);
            once.as_ref().ok().filter(|_| same)
        });
        print_row(*arm, row, once)?;
    }
    for (method, once) in METHODS.iter().zip(&commands) {
        if let Ok(once) = once {
            line(
                &format!("whole command, {method}: wall, CPU"),
                &format!("{:.0} ms, {:.0} ms", once.wall_ms, once.cpu_ms),
                "",
            )?;
        }
    }
    compare(&rows, &commands)?;
    targets(threads, &rows)?;
    busy.end()
}

/// Runs an arm while a probe asks and the server's statements are counted; statements a second.
fn window(busy: &Busy, arm: Arm, row: &mut Row) -> Result<f64> {
    let probe = Probe::start(counter(&busy.server)?)?;
    let mut counter = counter(&busy.server)?;
    std::thread::sleep(Duration::from_millis(200));
    let (begin, before) = (Instant::now(), questions(&mut counter)?);
    match arm {
        Arm::Nothing => std::thread::sleep(WINDOW),
        Arm::Ours(method) => ours(busy.pid, method, row)?,
        Arm::Tool(name) => {
            let pid = busy.pid.to_string();
            match run_to_end(peer(name, &pid))? {
                Some(run) => {
                    row.walls.push(run.wall_ms);
                    row.cpu_ms += run.cpu_ms;
                    row.trouble = run.ended_by_us.then(|| "did not end".to_owned());
                }
                None => row.trouble = Some("not installed".to_owned()),
            }
        }
    }
    let after = questions(&mut counter)?;
    let rate = (after - before) / begin.elapsed().as_secs_f64();
    row.latencies.extend(probe.end()?);
    Ok(rate)
}

fn peer(name: &'static str, pid: &str) -> std::process::Command {
    match name {
        "gdb" => tool(
            name,
            &[
                "-batch",
                "-iex",
                "set debuginfod enabled off",
                "-ex",
                "set pagination 0",
                "-ex",
                "thread apply all bt",
                "-p",
                pid,
            ],
        ),
        "pt-pmp" => tool(name, &["--pid", pid]),
        _ => tool(name, &["-p", pid]),
    }
}

/// Arguments of `freezeframe stacks`.
fn stacks_of(
    pid: u32,
    method: &str,
    samples: usize,
    interval: &str,
) -> Result<std::process::Command> {
    let (pid, samples) = (pid.to_string(), samples.to_string());
    freezeframe([
        "stacks",
        "--json",
        "--no-login",
        "--pid",
        &pid,
        "--method",
        method,
        "--samples",
        &samples,
        "--interval",
        interval,
    ])
}

/// A window's worth of snapshots by one process of ours, as a user starts it.
fn ours(pid: u32, method: &str, row: &mut Row) -> Result<()> {
    let cpu = children_cpu_seconds()?;
    let document = match answer(stacks_of(pid, method, SNAPSHOTS, INTERVAL)?)? {
        Ok(document) => document,
        Err(problem) => {
            row.trouble = Some(problem);
            return Ok(());
        }
    };
    row.cpu_ms += (children_cpu_seconds()? - cpu) * 1000.0;
    let walls = walls(&document);
    if walls.len() < SNAPSHOTS {
        bail!("{} of {SNAPSHOTS} snapshots were taken", walls.len());
    }
    row.walls.extend(walls);
    row.complete += document["complete"].as_u64().unwrap_or(0);
    row.threads += document["threads"].as_u64().unwrap_or(0);
    Ok(())
}

fn walls(document: &Value) -> Vec<f64> {
    let snapshots = document["snapshots"].as_array().into_iter().flatten();
    snapshots
        .filter_map(|snapshot| snapshot["wall_ms"].as_f64())
        .collect()
}

/// One snapshot from the start of the process to its end, names and output included.
struct Once {
    wall_ms: f64,
    cpu_ms: f64,
}

fn whole_command(pid: u32, method: &str) -> Result<Result<Once, String>> {
    let (mut walls, cpu) = (Vec::new(), children_cpu_seconds()?);
    for _ in 0..COMMANDS {
        let begin = Instant::now();
        if let Err(problem) = answer(stacks_of(pid, method, 1, INTERVAL)?)? {
            return Ok(Err(problem));
        }
        walls.push(begin.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(Ok(Once {
        wall_ms: median(&walls),
        cpu_ms: (children_cpu_seconds()? - cpu) * 1000.0 / COMMANDS as f64,
    }))
}

/// Each window's rate against those of the windows of nothing beside it; a window of nothing
/// against its neighbours of the same kind, which shows the noise.
fn ratios(windows: &[Arm], rates: &[f64], rows: &mut [(Arm, Row)]) {
    for (at, arm) in windows.iter().enumerate() {
        let step = if *arm == Arm::Nothing { 2 } else { 1 };
        let neighbours = (
            at.checked_sub(step).and_then(|at| rates.get(at)),
            rates.get(at),
            rates.get(at + step),
        );
        let (Some(before), Some(rate), Some(after)) = neighbours else {
            continue;
        };
        if let Some((_, row)) = rows.iter_mut().find(|(known, _)| known == arm) {
            row.ratios.push(rate * 2.0 / (before + after));
        }
    }
}

fn print_row(arm: Arm, row: &Row, once: Option<&Once>) -> Result<()> {
    if let Some(trouble) = &row.trouble {
        return line(&arm.name(), trouble, "");
    }
    let mut latencies = row.latencies.clone();
    latencies.sort_by(f64::total_cmp);
    let ms = |share: f64| match latencies.len() {
        // The 99th of a hundred is the largest.
        0..100 if share < 1.0 => "-".to_owned(),
        _ => format!("{:.1}", percentile(&latencies, share) / 1000.0),
    };
    let dash = || "-".to_owned();
    let wall = match row.walls.as_slice() {
        [] => dash(),
        [one] => format!("{one:.0}"),
        many => format!("{:.1} ({:.1})", median(many), percentile_of(many, 1.0)),
    };
    let cpu = match once {
        // What is once a process is in the line of the whole command.
        Some(once) => {
            let whole = row.cpu_ms - once.cpu_ms * ROUNDS as f64;
            let further = row.walls.len().saturating_sub(ROUNDS);
            format!("{:.1}", whole / further as f64)
        }
        None if row.cpu_ms > 0.0 => format!("{:.0}", row.cpu_ms),
        None => dash(),
    };
    let complete = match row.threads {
        0 => dash(),
        threads => format!("{:.2} %", row.complete as f64 * 100.0 / threads as f64),
    };
    let cells = [
        wall,
        cpu,
        complete,
        ms(0.99),
        ms(1.0),
        format!("{:.2}", median(&row.ratios)),
    ];
    table_line(&arm.name(), &cells.each_ref().map(String::as_str))
}

fn percentile_of(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    percentile(&sorted, share)
}

fn of(rows: &[(Arm, Row)], wanted: Arm) -> Option<&Row> {
    rows.iter()
        .find(|(arm, row)| *arm == wanted && row.trouble.is_none() && !row.walls.is_empty())
        .map(|(_, row)| row)
}

fn compare(rows: &[(Arm, Row)], commands: &[Result<Once, String>]) -> Result<()> {
    let Some(gdb) = of(rows, Arm::Tool("gdb")) else {
        return Ok(());
    };
    let gdb = median(&gdb.walls);
    for (method, once) in METHODS.iter().zip(commands) {
        let (Some(row), Ok(once)) = (of(rows, Arm::Ours(method)), once) else {
            continue;
        };
        line(
            &format!("gdb / freezeframe, {method}"),
            &format!(
                "a snapshot {:.0}, the whole command {:.0}; stopped for: gdb all of it, freezeframe 0",
                gdb / median(&row.walls),
                gdb / once.wall_ms
            ),
            ">= 100",
        )?;
    }
    Ok(())
}

fn targets(threads: usize, rows: &[(Arm, Row)]) -> Result<()> {
    for (method, target) in [("bpf", 10.0), ("proc", 25.0)] {
        let Some(row) = of(rows, Arm::Ours(method)) else {
            continue;
        };
        if threads == 500 {
            let p50 = median(&row.walls);
            line(
                &format!("500 threads, {method}, median of the capture"),
                &format!("{p50:.1} ms"),
                &format!("<= {target:.0} ms"),
            )?;
        }
    }
    Ok(())
}

/// What one snapshot a second costs, against the noise of the same windows with nothing in them.
fn watched(kind: ServerKind) -> Result<()> {
    heading(&format!(
        "one snapshot a second of {WATCHED_THREADS} threads of {}, {CLIENTS} of them busy: {} windows of {} s each, \
         nothing between them",
        kind.name(),
        WATCHED.rounds,
        WATCHED.length.as_secs()
    ))?;
    let busy = Busy::start(kind, WATCHED_THREADS)?;
    let arms = [Arm::Nothing, Arm::Ours("bpf"), Arm::Ours("proc")];
    let rows = throughput(&busy.server, &arms, WATCHED, |arm| {
        let Arm::Ours(method) = arm else {
            return Ok(Started::Nothing);
        };
        let mut command = stacks_of(busy.pid, method, WATCHED_SAMPLES, "1s")?;
        Ok(start(&mut command)?.map_or(Started::Missing, Started::Running))
    })?;
    for (arm, row) in arms.iter().zip(&rows) {
        tell_throughput(&arm.name(), row, "1, within the noise")?;
    }
    for (arm, row) in arms.iter().zip(&rows) {
        tell_probe(&arm.name(), row)?;
    }
    busy.end()
}

/// The share of complete stacks of one server, and why the others end.
fn completeness(kind: ServerKind) -> Result<()> {
    let busy = Busy::start(kind, COMPLETE_THREADS)?;
    for method in METHODS {
        let what = format!("{}, {method}", kind.name());
        let document = match answer(stacks_of(busy.pid, method, SNAPSHOTS, INTERVAL)?)? {
            Ok(document) => document,
            Err(problem) => {
                line(&what, &problem, "")?;
                continue;
            }
        };
        let number = |key: &str| document[key].as_f64().unwrap_or(f64::NAN);
        let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
        for group in document["groups"].as_array().into_iter().flatten() {
            if let Some(end) = group["end"].as_str() {
                *ends.entry(end).or_default() += group["count"].as_u64().unwrap_or(0);
            }
        }
        let ends: Vec<String> = ends
            .iter()
            .map(|(end, count)| format!("{end} {count}"))
            .collect();
        line(
            &what,
            &format!(
                "{:.2} % of {} in {:.1} ms{}{}",
                number("complete") * 100.0 / number("threads"),
                number("threads"),
                median(&walls(&document)),
                if ends.is_empty() { "" } else { "; not: " },
                ends.join(", ")
            ),
            "",
        )?;
    }
    busy.end()
}
