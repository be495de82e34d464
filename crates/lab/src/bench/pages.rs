//! The pages of the largest things: an incident of ten minutes with a thousand threads, and a history of a day in
//! `freezeframe web`: how long they take, and how many bytes they are. What a browser needs on top of it is measured by
//! hand (docs/web.md), and these are the files for it: they stay where the environment says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use model::{Clock, Reading, Sample, Server, SourceData, Unit};
use store::{History, HistoryLimits, SessionStart};
use testbed::{IncidentSize, made_incident};

use super::measure::{freezeframe, heading, line, median};
use crate::background::terminate;

/// Times that each is asked for.
const RUNS: usize = 5;

/// A day.
const SECONDS: u64 = 24 * 3600;

/// Signals of the history that no chart has; a recorder has some hundreds.
const OTHERS: usize = 400;

/// One in so many of them changes from second to second, as measured on real servers.
const CHANGES_EVERY: u64 = 8;

/// Where the files are kept, to look at them in a browser.
const KEEP: &str = "FREEZEFRAME_PAGES";

/// An answer must be there by then.
const PATIENCE: Duration = Duration::from_secs(60);

const PAGE_MAX: &str = "<= 1 s, <= 3 MB";

pub(super) fn run() -> Result<()> {
    heading("pages: ten minutes with 1,000 threads, and a history of 24 hours")?;
    let scratch = tempfile::tempdir()?;
    let dir = match std::env::var_os(KEEP).map(PathBuf::from) {
        Some(dir) => {
            std::fs::create_dir_all(&dir)?;
            dir
        }
        None => scratch.path().to_owned(),
    };
    let frame = store::write_incident(&made_incident(&IncidentSize::full()), &dir)?;
    let begin = Instant::now();
    let history = dir.join("history-3306.db");
    if !history.is_file() {
        write_day(&history)?;
    }
    let megabytes = |path: &Path| Ok::<f64, anyhow::Error>(path.metadata()?.len() as f64 / 1e6);
    line(
        "the files",
        &format!(
            "incident {:.1} MB; history {:.1} MB, written in {:.0} s",
            megabytes(&frame)?,
            megabytes(&history)?,
            begin.elapsed().as_secs_f64()
        ),
        "",
    )?;
    report(&frame, &dir)?;
    let served = Served::start(&dir)?;
    let name = frame.file_stem().context("the incident's name")?;
    let name = name.to_string_lossy().into_owned();
    let (server, from, to) = served.recorded()?;
    let day = format!("server={server}&from={from}&to={to}");
    for (what, path, target) in [
        ("the list", "/".to_owned(), ""),
        ("the incident", format!("/incident/{name}"), PAGE_MAX),
        ("24 hours, without a script", format!("/history?{day}"), ""),
        (
            "24 hours, what the script reads",
            format!("/api/history?{day}"),
            "<= 1 s",
        ),
        (
            "the last 6 hours of them",
            format!("/api/history?server={server}"),
            "",
        ),
    ] {
        let mut seconds = Vec::new();
        let mut bytes = 0;
        for _ in 0..RUNS {
            let begin = Instant::now();
            bytes = served.get(&path)?.len();
            seconds.push(begin.elapsed().as_secs_f64());
        }
        line(
            what,
            &format!(
                "{:.2} s (median of {RUNS}), {:.2} MB",
                median(&seconds),
                bytes as f64 / 1e6
            ),
            target,
        )?;
    }
    Ok(())
}

/// The page as a file.
fn report(frame: &Path, dir: &Path) -> Result<()> {
    let page = dir.join("page.html");
    let mut seconds = Vec::new();
    for _ in 0..RUNS {
        let begin = Instant::now();
        let mut command = freezeframe(["explain", "--html"])?;
        let done = command
            .arg(&page)
            .arg(frame)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        ensure!(done.success(), "explain --html: {done}");
        seconds.push(begin.elapsed().as_secs_f64());
    }
    line(
        "explain --html",
        &format!(
            "{:.2} s (median of {RUNS}), {:.2} MB",
            median(&seconds),
            page.metadata()?.len() as f64 / 1e6
        ),
        "<= 3 MB",
    )
}

/// A history of a day that ends now.
fn write_day(path: &Path) -> Result<()> {
    let now = jiff::Timestamp::now().as_millisecond();
    let start = SessionStart {
        clock: Clock {
            wall_at_zero_ms: now - i64::try_from(SECONDS * 1000)?,
            boot_id: String::new(),
        },
        host: "db1".to_owned(),
        tool_version: "lab".to_owned(),
        server: Server {
            label: "3306".to_owned(),
            version: "8.0.36".to_owned(),
            pid: None,
            address: String::new(),
        },
    };
    let (mut history, _) = History::open(path, HistoryLimits::default(), &start)?;
    let others: Vec<String> = (0..OTHERS).map(|n| format!("status.Other_{n}")).collect();
    for minute in 0..SECONDS / 60 {
        let seconds = minute * 60..(minute + 1) * 60;
        let samples: Vec<Sample> = seconds
            .flat_map(|second| {
                let at = second * 1000;
                readings(second, &others)
                    .into_iter()
                    .map(move |(source, readings)| Sample {
                        source,
                        at,
                        took_us: 1,
                        outcome: Ok(SourceData {
                            readings,
                            ..SourceData::default()
                        }),
                    })
            })
            .collect();
        history.append(&samples)?;
    }
    Ok(())
}

/// What a recorder reads in a second: a day with a wave in it, and noise.
fn readings(second: u64, others: &[String]) -> Vec<(&'static str, Vec<Reading>)> {
    // The same everywhere, and no pattern to the eye.
    let noise = |salt: u64| {
        let mixed = (second ^ salt.rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 40) as f64 / f64::from(1u32 << 24)
    };
    let wave = (second as f64 / 13_000.0).sin();
    let count = |name: &'static str, value: f64| Reading::gauge(name, Unit::Count, value.round());
    let share = |name: &'static str, value| Reading::gauge(name, Unit::Share, value);
    let us = |name: &'static str, value| Reading::gauge(name, Unit::Microseconds, value);
    let mut status = vec![
        Reading::counter(
            "status.Questions",
            Unit::Count,
            second as f64 * 900.0 + noise(1) * 300.0,
        ),
        count("status.Threads_running", 6.0 + 3.0 * wave + noise(2) * 4.0),
        count(
            "status.Threads_connected",
            60.0 + 20.0 * wave + noise(3) * 9.0,
        ),
    ];
    status.extend((0u64..).zip(others).map(|(number, name)| {
        let value = match number % CHANGES_EVERY {
            0 => second as f64 * 3.0 + (noise(number) * 9.0).floor(),
            _ => number as f64,
        };
        Reading::counter(name.clone(), Unit::Count, value)
    }));
    vec![
        ("status", status),
        (
            "query-probe",
            vec![
                us("probe.query_us", 300.0 + noise(4) * 900.0),
                Reading::gauge("probe.query_outcome", Unit::Code, 0.0),
            ],
        ),
        (
            "cpu",
            vec![
                share("cpu.busy_share", 0.4 + 0.2 * wave + noise(5) * 0.2),
                share("cpu.system_share", 0.05 + noise(6) * 0.05),
                count("cpu.count", 32.0),
            ],
        ),
        (
            "psi",
            vec![
                Reading::counter(
                    "psi.io.some_us",
                    Unit::Microseconds,
                    second as f64 * 9_000.0 + noise(7) * 9_000.0,
                ),
                Reading::counter(
                    "psi.cpu.some_us",
                    Unit::Microseconds,
                    second as f64 * 40_000.0,
                ),
                Reading::gauge("meminfo.MemAvailable", Unit::Bytes, 6e10 + noise(8) * 1e9),
            ],
        ),
        (
            "disk",
            vec![Reading::counter(
                "disk.nvme0n1.busy_ms",
                Unit::Milliseconds,
                second as f64 * 200.0 + noise(9) * 150.0,
            )],
        ),
        (
            "innodb",
            vec![
                count("innodb.lock_wait_transactions", noise(10) * 3.0),
                count("innodb.semaphore_waits", noise(11) * 2.0),
            ],
        ),
    ]
}

/// `freezeframe web`, ended with this.
struct Served {
    child: Child,
    host: String,
    root: String,
}

impl Served {
    fn start(dir: &Path) -> Result<Self> {
        let mut child = freezeframe(["web", "--listen", "127.0.0.1:0", "--dir"])?
            .arg(dir)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut first = String::new();
        let stdout = child.stdout.take().context("it has no output")?;
        BufReader::new(stdout).read_line(&mut first)?;
        let address = first.trim().strip_prefix("open http://");
        let (host, root) = address
            .and_then(|address| address.split_once('/'))
            .context("the address that it prints")?;
        let served = Self {
            child,
            host: host.to_owned(),
            root: format!("/{}", root.trim_end_matches('/')),
        };
        let until = Instant::now() + PATIENCE;
        while !served.get("/api/incidents")?.contains("\"not_read_yet\":0") {
            ensure!(Instant::now() < until, "the incidents are not read");
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(served)
    }

    /// The name of the server whose history it is, and all of its time.
    fn recorded(&self) -> Result<(String, i64, i64)> {
        let told: serde_json::Value = serde_json::from_str(&self.get("/api/history")?)?;
        let moment = |place: usize| told["recorded_ms"][place].as_i64();
        let times = moment(0).zip(moment(1));
        let (from, to) = times.context("nothing was recorded")?;
        let server = told["server"].as_str().unwrap_or_default().to_owned();
        Ok((server, from, to))
    }

    /// The body of an answer.
    fn get(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(&self.host)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "GET {}{path} HTTP/1.1\r\nHost: localhost\r\n\r\n",
            self.root
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        ensure!(head.contains(" 200 "), "{path}: {head}");
        Ok(body.to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        terminate(&self.child);
        let _ = self.child.wait();
    }
}
