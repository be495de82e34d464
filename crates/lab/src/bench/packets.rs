//! What reading statements from packets costs a server under full load over TCP, and whether packets are lost, beside
//! tcpdump writing the same packets to a file.
//!
//! The load is sysbench's point selects where it is installed, by prepared statements as it does on its own, else the
//! lab's. Server, load and capture share the processors, so that whatever capturing takes is missing there.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use model::QueryDigest;
use recorder::packets::{CaptureError, Captured, Collector, PacketCapture, PacketOptions};
use testbed::{Address, PrivateServer};

use super::measure::{
    Rate, by_both, counter, heading, line, mean_and_error, median, questions, scheduled_seconds,
    table_line,
};
use crate::background::{Background, load, terminate};

/// Rounds: in each one window without anything between two with each tool.
const ROUNDS: usize = 12;
const WINDOW: Duration = Duration::from_millis(1500);

/// What a tool may do before it is measured.
const SETTLE: Duration = Duration::from_millis(400);

const CLIENTS: usize = 8;

/// Rows of sysbench's table.
const ROWS: &str = "10000";

/// Nothing that we start outlives this.
const LOAD_SECONDS_MAX: &str = "600";

/// A load that is measured.
#[derive(Debug, Clone, Copy)]
struct Kind {
    /// Of sysbench.
    script: &'static str,
    /// Of the lab, where sysbench is missing.
    mix: &'static str,
    compressed: bool,
}

/// The shortest statements there are, so the most packets for the server's work, and sysbench's
/// ordinary transactions.
const LOADS: [Kind; 3] = [
    Kind {
        script: "oltp_point_select",
        mix: "point-selects",
        compressed: false,
    },
    Kind {
        script: "oltp_read_only",
        mix: "ordinary",
        compressed: false,
    },
    Kind {
        script: "oltp_point_select",
        mix: "point-selects",
        compressed: true,
    },
];

pub(super) fn run() -> Result<()> {
    let server = PrivateServer::start(&testbed::Options::default())?;
    let options = PacketOptions {
        loopback_only: true,
        ..PacketOptions::of_ports(&[server.port()])
    };
    match PacketCapture::open(&options) {
        Err(error @ CaptureError::Refused(_)) => {
            return line("packets", &format!("skipped: {error}"), "");
        }
        other => drop(other?),
    }
    for kind in LOADS {
        one_load(&server, &options, kind)?;
    }
    Ok(())
}

/// What the windows with a tool brought.
#[derive(Default)]
struct Row {
    /// Statements, as shares of those without it.
    ratios: Vec<Rate>,
    /// Of a core.
    cpu: Vec<f64>,
    /// Packets, and those that were lost.
    packets: u64,
    lost: u64,
    /// Statements that were read, as shares of those that the server counted meanwhile.
    found: Vec<f64>,
}

fn one_load(server: &PrivateServer, options: &PacketOptions, kind: Kind) -> Result<()> {
    let busy = Busy::start(server, kind)?;
    heading(&format!(
        "packet capture during {} with {CLIENTS} clients over TCP, {} protocol: {ROUNDS} rounds of {} s each",
        busy.name(kind),
        if kind.compressed { "zlib" } else { "plain" },
        WINDOW.as_secs_f64()
    ))?;
    std::thread::sleep(Duration::from_secs(2));
    let mut pids = vec![server.pid().context("the server has ended")?];
    pids.extend(busy.pid());
    let mut counter = counter(server)?;
    let dir = tempfile::tempdir()?;
    let (mut alone, mut ours, mut theirs, mut noise) =
        (Vec::new(), Row::default(), Row::default(), Row::default());
    let mut tcpdump_there = true;
    let mut before = rate(&mut counter, &pids)?;
    for _ in 0..ROUNDS {
        let with = with_capture(options, &mut counter, &pids, &mut ours)?;
        let after = rate(&mut counter, &pids)?;
        ours.ratios.push(with.against(before, after));
        before = after;
        if tcpdump_there {
            match with_tcpdump(options, dir.path(), &mut counter, &pids, &mut theirs)? {
                Some(with) => {
                    let after = rate(&mut counter, &pids)?;
                    theirs.ratios.push(with.against(before, after));
                    before = after;
                }
                None => tcpdump_there = false,
            }
        }
        let with = rate(&mut counter, &pids)?;
        let after = rate(&mut counter, &pids)?;
        noise.ratios.push(with.against(before, after));
        alone.extend([before, with, after].map(|rate| rate.per_second));
        before = after;
    }
    busy.end()?;
    line(
        "statements a second, alone",
        &format!("{:.0}", median(&alone)),
        "",
    )?;
    let columns = [
        "by time",
        "by processors",
        "CPU, of a core",
        "packets",
        "lost",
    ];
    table_line("", &columns)?;
    let (time, processors) = by_both(&noise.ratios);
    table_line(
        "nothing (the noise)",
        &[&mean_and_error(&time), &mean_and_error(&processors)],
    )?;
    tell("freezeframe (>= 0.97)", &ours)?;
    if tcpdump_there {
        tell("tcpdump -w", &theirs)?;
    } else {
        table_line("tcpdump -w", &["not installed"])?;
    }
    line(
        "statements read, of those the server counted",
        &mean_and_error(&ours.found),
        ">= 1",
    )
}

fn tell(name: &str, row: &Row) -> Result<()> {
    let (time, processors) = by_both(&row.ratios);
    table_line(
        name,
        &[
            &mean_and_error(&time),
            &mean_and_error(&processors),
            &format!("{:.1} %", median(&row.cpu) * 100.0),
            &row.packets.to_string(),
            &row.lost.to_string(),
        ],
    )
}

/// Statements over a window: a second, and a second of the processors' time that server and load took together, in which
/// the kernel's work for a capture is contained. What else runs on the machine changes the first only.
fn rate(counter: &mut server::Session, pids: &[u32]) -> Result<Rate> {
    std::thread::sleep(Duration::from_millis(200));
    let (begin, before, cpu) = (Instant::now(), questions(counter)?, cpu_of(pids)?);
    std::thread::sleep(WINDOW);
    let counted = questions(counter)? - before;
    Ok(Rate::of(counted, begin.elapsed(), cpu_of(pids)? - cpu))
}

fn cpu_of(pids: &[u32]) -> Result<f64> {
    pids.iter().map(|pid| scheduled_seconds(*pid)).sum()
}

/// The same statements by the processors' time when a tool takes this share of a core besides.
fn with_tool(rate: Rate, share: f64) -> Rate {
    let statements_cpu = rate.per_second / rate.per_cpu_second;
    Rate {
        per_cpu_second: rate.per_second / (statements_cpu + share),
        ..rate
    }
}

type Running = JoinHandle<Result<(Captured, QueryDigest), CaptureError>>;

/// A capture on its own thread, as the recorder runs it; it has begun when this returns.
fn start_capture(options: &PacketOptions, stop: &Arc<AtomicBool>) -> Result<Running> {
    let stop = stop.clone();
    let mut capture = PacketCapture::open(options)?;
    let thread = std::thread::Builder::new().name("packets".to_owned());
    Ok(thread.spawn(move || {
        let mut collector = Collector::default();
        capture.run(Duration::from_secs(60), &stop, &mut |one| {
            collector.take(one);
        })?;
        let captured = capture.finish(&mut |one| collector.take(one))?;
        Ok((captured, collector.finish(&captured, Vec::new())))
    })?)
}

fn with_capture(
    options: &PacketOptions,
    counter: &mut server::Session,
    pids: &[u32],
    row: &mut Row,
) -> Result<Rate> {
    let stop = Arc::new(AtomicBool::new(false));
    let thread = start_capture(options, &stop)?;
    let before = questions(counter)?;
    std::thread::sleep(SETTLE);
    let rate = rate(counter, pids);
    // Counted while it runs: it must have at least as many.
    let counted = questions(counter)? - before;
    stop.store(true, Ordering::Relaxed);
    let Ok(ended) = thread.join() else {
        bail!("the capture failed");
    };
    let (captured, digest) = ended?;
    let seconds = (captured.to_us - captured.from_us) as f64 / 1e6;
    let share = captured.cpu.as_secs_f64() / seconds;
    row.cpu.push(share);
    row.packets += captured.packets;
    row.lost += captured.lost;
    row.found.push(digest.count as f64 / counted);
    Ok(with_tool(rate?, share))
}

/// `None` when it is not installed.
fn with_tcpdump(
    options: &PacketOptions,
    dir: &Path,
    counter: &mut server::Session,
    pids: &[u32],
    row: &mut Row,
) -> Result<Option<Rate>> {
    let file = dir.join("packets.pcap");
    let port = options.ports.first().context("no port")?.to_string();
    let child = Command::new("tcpdump")
        .args(["-i", "lo", "-Z", "root", "-w"])
        .arg(&file)
        .args(["tcp", "port", &port])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    std::thread::sleep(SETTLE);
    let (begin, cpu) = (Instant::now(), scheduled_seconds(child.id())?);
    let rate = rate(counter, pids);
    let cpu = scheduled_seconds(child.id())? - cpu;
    let share = cpu / begin.elapsed().as_secs_f64();
    row.cpu.push(share);
    terminate(&child);
    let said = said_at_end(&mut child)?;
    row.packets += number_before(&said, " packets captured");
    row.lost += number_before(&said, " packets dropped by kernel");
    // A stretch of minutes is gigabytes.
    let _ = std::fs::remove_file(&file);
    Ok(Some(with_tool(rate?, share)))
}

fn said_at_end(child: &mut Child) -> Result<String> {
    let mut said = String::new();
    if let Some(stderr) = &mut child.stderr {
        stderr.read_to_string(&mut said)?;
    }
    child.wait()?;
    Ok(said)
}

/// tcpdump's counts: a number, then words.
fn number_before(text: &str, words: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_suffix(words));
    line.and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

/// A load that runs until it is ended.
enum Busy {
    Sysbench(Child),
    Lab(Background),
}

impl Busy {
    fn start(server: &PrivateServer, kind: Kind) -> Result<Self> {
        if let Some(child) = sysbench(server, kind)? {
            return Ok(Self::Sysbench(child));
        }
        let mix =
            testbed::mix(kind.mix).with_context(|| format!("the mix '{}' is gone", kind.mix))?;
        mix.prepare(&server.login())?;
        let load = load(server.tcp_login(), mix, CLIENTS, None, kind.compressed);
        Background::start(load).map(Self::Lab)
    }

    fn name(&self, kind: Kind) -> String {
        match self {
            Self::Sysbench(_) => format!("sysbench {}", kind.script),
            Self::Lab(_) => format!("the lab's {}", kind.mix),
        }
    }

    /// Of a program of its own.
    fn pid(&self) -> Option<u32> {
        match self {
            Self::Sysbench(child) => Some(child.id()),
            Self::Lab(_) => None,
        }
    }

    fn end(self) -> Result<()> {
        match self {
            Self::Sysbench(mut child) => {
                terminate(&child);
                child.wait()?;
                Ok(())
            }
            Self::Lab(load) => load.end().map(|_| ()),
        }
    }
}

/// `None` when it is not installed.
fn sysbench(server: &PrivateServer, kind: Kind) -> Result<Option<Child>> {
    let login = server.tcp_login();
    let Address::Tcp(host, port) = &login.address else {
        bail!("no port");
    };
    let mut control = super::measure::counter(server)?;
    control.rows("CREATE DATABASE IF NOT EXISTS sbtest", 1)?;
    let command = |what: &str| {
        let mut command = Command::new("sysbench");
        command
            .arg(kind.script)
            .arg(format!("--mysql-host={host}"))
            .arg(format!("--mysql-port={port}"))
            .arg(format!("--mysql-user={}", login.user))
            .arg(format!(
                "--mysql-password={}",
                login.password.as_deref().unwrap_or_default()
            ))
            .arg(format!("--table-size={ROWS}"))
            .arg(format!("--threads={CLIENTS}"))
            .arg(format!("--time={LOAD_SECONDS_MAX}"))
            .arg(format!(
                "--mysql-compression={}",
                if kind.compressed { "on" } else { "off" }
            ))
            .arg(what)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    let _ = command("cleanup").status();
    match command("prepare").status() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
        Ok(status) if !status.success() => bail!("sysbench prepare: {status}"),
        Ok(_) => {}
    }
    Ok(Some(command("run").spawn()?))
}
