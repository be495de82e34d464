//! Snapshots of all threads of a busy server: what they take, and what the server's clients notice
//! of them, beside gdb, eu-stack and pt-pmp.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lab::{IdleConnections, Load, PrivateServer};
use serde_json::Value;

use super::measure::{counter, cpu_seconds, heading, line, percentile, questions};
use crate::background::{Background, load};

/// Threads of the server.
const THREADS: [usize; 3] = [100, 500, 2000];

/// Clients that keep the server busy; the other threads serve connections that wait.
const CLIENTS: usize = 8;

/// Length of a measured window, for whatever is shorter.
const WINDOW: Duration = Duration::from_secs(4);

/// Snapshots of a window, and the time between them.
const SNAPSHOTS: usize = 30;
const INTERVAL: &str = "100ms";

/// Time between the probes, as an impatient client's statements.
const PROBE_EVERY: Duration = Duration::from_millis(10);

/// A tool that is not back by then is ended.
const TOOL_MAX: Duration = Duration::from_secs(120);

pub(super) fn run() -> Result<()> {
    for threads in THREADS {
        heading(&format!(
            "snapshots of {threads} threads, {CLIENTS} of them busy; probe: SELECT 1 each 10 ms"
        ))?;
        one_size(threads)?;
    }
    Ok(())
}

fn one_size(threads: usize) -> Result<()> {
    let server = PrivateServer::start(&lab::Options {
        arguments: vec![
            format!("--max-connections={}", threads + 100),
            "--thread-cache-size=0".to_owned(),
        ],
        ..lab::Options::default()
    })?;
    let pid = server.pid().context("the server has ended")?;
    let mix = lab::mix("ordinary").context("the mix 'ordinary' is gone")?;
    mix.prepare(&server.login())?;
    let busy = Background::start(Load {
        duration: Duration::from_secs(600),
        ..load(server.login(), mix, CLIENTS, None, false)
    })?;
    let present =
        || -> Result<usize> { Ok(std::fs::read_dir(format!("/proc/{pid}/task"))?.count()) };
    let missing = threads.saturating_sub(present()?);
    let idle = IdleConnections::open(&server.login(), missing, Duration::from_secs(10))?;
    let bench = Bench {
        server: &server,
        pid,
    };
    table_line(
        "",
        &[
            "wall ms",
            "own CPU ms",
            "complete",
            "probe p99",
            "probe max",
            "throughput",
        ],
    )?;

    let (base, ()) = bench.window(|| {
        std::thread::sleep(WINDOW);
        Ok(())
    })?;
    bench.row("nothing", &base, &base, None)?;
    let mut gdb_ms = None;
    let mut ours_ms = None;
    for method in ["bpf", "proc"] {
        let (seen, taken) = bench.window(|| bench.freezeframe(method))?;
        match taken {
            Ok(taken) => {
                ours_ms = ours_ms.or(Some(taken.wall_ms));
                bench.row(
                    &format!("freezeframe, {method}"),
                    &seen,
                    &base,
                    Some(&taken),
                )?;
            }
            Err(problem) => line(&format!("freezeframe, {method}"), &problem, "")?,
        }
    }
    let pid = pid.to_string();
    let tools: [(&str, Vec<&str>); 3] = [
        (
            "gdb",
            vec![
                "-batch",
                "-ex",
                "set pagination 0",
                "-ex",
                "thread apply all bt",
                "-p",
                &pid,
            ],
        ),
        ("eu-stack", vec!["-p", &pid]),
        ("pt-pmp", vec!["--pid", &pid]),
    ];
    for (tool, arguments) in tools {
        let (seen, taken) = bench.window(|| run_tool(tool, &arguments))?;
        match taken {
            Some(taken) => {
                if tool == "gdb" {
                    gdb_ms = Some(taken.wall_ms);
                }
                bench.row(tool, &seen, &base, Some(&taken))?;
            }
            None => line(tool, "not installed", "")?,
        }
    }
    let (again, ()) = bench.window(|| {
        std::thread::sleep(WINDOW);
        Ok(())
    })?;
    bench.row("nothing, again", &again, &base, None)?;
    if let (Some(ours), Some(gdb)) = (ours_ms, gdb_ms) {
        line(
            "gdb / freezeframe, wall time of a snapshot",
            &format!("{:.0}", gdb / ours),
            ">= 100",
        )?;
    }
    drop(idle);
    busy.end()?;
    Ok(())
}

struct Bench<'a> {
    server: &'a PrivateServer,
    pid: u32,
}

/// What clients noticed in a window.
struct Seen {
    p99_us: f64,
    max_us: f64,
    per_second: f64,
}

/// What taking snapshots took.
struct Taken {
    wall_ms: f64,
    wall_max_ms: f64,
    cpu_ms: f64,
    /// Threads with a complete stack, of all.
    complete: Option<(u64, u64)>,
}

impl Bench<'_> {
    /// Runs something while a probe asks and the server's statements are counted.
    fn window<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(Seen, T)> {
        let probe = Probe::start(counter(self.server)?)?;
        let mut counter = counter(self.server)?;
        std::thread::sleep(Duration::from_millis(300));
        let (begin, before) = (Instant::now(), questions(&mut counter)?);
        let result = work()?;
        let after = questions(&mut counter)?;
        let seconds = begin.elapsed().as_secs_f64();
        let mut latencies = probe.end()?;
        latencies.sort_by(f64::total_cmp);
        let seen = Seen {
            p99_us: percentile(&latencies, 0.99),
            max_us: latencies.last().copied().unwrap_or(f64::NAN),
            per_second: (after - before) / seconds,
        };
        Ok((seen, result))
    }

    /// A window's worth of snapshots by one process of ours, as a user starts it.
    fn freezeframe(&self, method: &str) -> Result<Result<Taken, String>> {
        let cpu = cpu_seconds(std::process::id())?;
        let output = Command::new(std::env::current_exe()?)
            .args([
                "stacks",
                "--json",
                "--no-login",
                "--pid",
                &self.pid.to_string(),
            ])
            .args([
                "--method",
                method,
                "--samples",
                &SNAPSHOTS.to_string(),
                "--interval",
                INTERVAL,
            ])
            .stdin(Stdio::null())
            .output()?;
        if !output.status.success() {
            return Ok(Err(String::from_utf8_lossy(&output.stderr)
                .trim()
                .to_owned()));
        }
        let cpu = cpu_seconds(std::process::id())? - cpu;
        let answer: Value = serde_json::from_slice(&output.stdout)?;
        let mut walls: Vec<f64> = answer["snapshots"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|snapshot| snapshot["wall_ms"].as_f64())
            .collect();
        if walls.len() < SNAPSHOTS {
            bail!("{} of {SNAPSHOTS} snapshots were taken", walls.len());
        }
        walls.sort_by(f64::total_cmp);
        let sum = |key: &str| -> u64 {
            let snapshots = answer["snapshots"].as_array().into_iter().flatten();
            snapshots
                .filter_map(|snapshot| snapshot[key].as_u64())
                .sum()
        };
        Ok(Ok(Taken {
            wall_ms: percentile(&walls, 0.5),
            wall_max_ms: walls.last().copied().unwrap_or(f64::NAN),
            cpu_ms: cpu * 1000.0 / SNAPSHOTS as f64,
            complete: Some((sum("complete"), sum("threads"))),
        }))
    }

    fn row(&self, what: &str, seen: &Seen, base: &Seen, taken: Option<&Taken>) -> Result<()> {
        let ms = |us: f64| format!("{:.1} ms", us / 1000.0);
        let complete = taken.and_then(|taken| taken.complete).map_or_else(
            || "-".to_owned(),
            |(complete, of)| format!("{:.2} %", complete as f64 * 100.0 / of.max(1) as f64),
        );
        table_line(
            what,
            &[
                &taken.map_or_else(
                    || "-".to_owned(),
                    |taken| format!("{:.1} ({:.1})", taken.wall_ms, taken.wall_max_ms),
                ),
                &taken.map_or_else(|| "-".to_owned(), |taken| format!("{:.1}", taken.cpu_ms)),
                &complete,
                &ms(seen.p99_us),
                &ms(seen.max_us),
                &format!("{:.2}", seen.per_second / base.per_second),
            ],
        )
    }
}

fn table_line(what: &str, cells: &[&str]) -> Result<()> {
    let mut text = format!("  {what:<20}");
    for cell in cells {
        text += &format!(" {cell:>16}");
    }
    crate::output::print(&text)
}

/// A client that asks every ten milliseconds and notes how long each answer took, microseconds.
struct Probe {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<f64>, server::ServerError>>,
}

impl Probe {
    fn start(mut session: server::Session) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("lab-probe".to_owned())
            .spawn(move || {
                let mut latencies = Vec::new();
                while !stopped.load(Ordering::Relaxed) {
                    latencies.push(session.ping()?.as_secs_f64() * 1e6);
                    std::thread::sleep(PROBE_EVERY);
                }
                Ok(latencies)
            })?;
        Ok(Self { stop, thread })
    }

    fn end(self) -> Result<Vec<f64>> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.join() {
            Ok(result) => Ok(result?),
            Err(_) => bail!("the probe failed"),
        }
    }
}

/// One run of a tool that people have; `None` when it is not installed.
fn run_tool(tool: &str, arguments: &[&str]) -> Result<Option<Taken>> {
    let cpu = cpu_seconds(std::process::id())?;
    let begin = Instant::now();
    let child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    while child.try_wait()?.is_none() {
        if begin.elapsed() > TOOL_MAX {
            // Not SIGKILL: gdb must let the server go.
            crate::background::terminate(&child);
            child.wait()?;
            writeln!(
                std::io::stderr(),
                "{tool} was ended after {} s",
                TOOL_MAX.as_secs()
            )?;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let wall_ms = begin.elapsed().as_secs_f64() * 1000.0;
    Ok(Some(Taken {
        wall_ms,
        wall_max_ms: wall_ms,
        cpu_ms: (cpu_seconds(std::process::id())? - cpu) * 1000.0,
        complete: None,
    }))
}
