//! Memory of the recorder beside servers with large binaries, from calm through a stall to the
//! written incident, and the time that names take there.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use kernel::snapshot::SnapshotOptions;
use serde_json::Value;
use stacks::observer::Observer;
use testbed::{IdleConnections, Load, PrivateServer, ServerKind};

use super::measure::{Resident, answer, freezeframe, heading, line, median, percentile, resident};
use crate::background::{Background, load, terminate};
use crate::product::start_recorder;

/// With debug information both: 50 MB and 314 MB.
const SERVERS: [ServerKind; 2] = [ServerKind::MySql55, ServerKind::MariaDb11];

/// Clients that keep the server busy, and connections that wait.
const CLIENTS: usize = 16;
const IDLE: usize = 100;

/// Calm before the stall, its length, and how long the incident may take after it.
const CALM: Duration = Duration::from_secs(20);
const STALL: Duration = Duration::from_secs(14);
const WRITTEN_MAX: Duration = Duration::from_secs(60);

/// The stall: so many clients that all sleep inside the server, and the trigger that sees them.
const STALLED_CLIENTS: usize = 40;
const STALL_STATEMENT: &str = "SELECT SLEEP(0.4)";
const TRIGGER: &str = "Threads_running > 35 for 1s";
const TRIGGER_RULE: &str = "user";

/// The recorder ends by itself after this, whatever becomes of us.
const RECORDER_BOUND: &str = "180s";

/// No cool-down to wait out, should the start of the load look like a stall.
const CONFIG: &str = "[detect]\nsame_incident_seconds = 1\n";

/// First snapshots, each by a new process, and later ones of one process.
const FIRST: usize = 3;
const LATER: usize = 20;

pub(super) fn run() -> Result<()> {
    for kind in SERVERS {
        match testbed::installed(kind) {
            Ok(_) => beside(kind)?,
            Err(error) => line(kind.name(), &format!("skipped: {error}"), "")?,
        }
    }
    Ok(())
}

fn beside(kind: ServerKind) -> Result<()> {
    let server = PrivateServer::start(&testbed::Options {
        kind,
        arguments: vec!["--max-connections=400".to_owned()],
        ..testbed::Options::default()
    })?;
    let program = std::fs::metadata(&server.installed().program)?.len() / 1_000_000;
    heading(&format!(
        "memory and names with {}, a binary of {program} MB, {CLIENTS} busy clients",
        kind.name()
    ))?;
    let mix = testbed::mix("ordinary").context("the mix 'ordinary' is gone")?;
    mix.prepare(&server.login())?;
    let idle = IdleConnections::open(&server.login(), IDLE, Duration::from_secs(10))?;
    let busy = Background::start(Load {
        duration: Duration::from_secs(600),
        ..load(server.login(), mix, CLIENTS, None, false)
    })?;
    recorder(&server)?;
    names(server.pid().context("the server has ended")?)?;
    busy.end()?;
    drop(idle);
    Ok(())
}

fn recorder(server: &PrivateServer) -> Result<()> {
    let config = server.directory().join("freezeframe.toml");
    std::fs::write(&config, CONFIG).with_context(|| config.display().to_string())?;
    let dir = server.directory().join("recorder");
    std::fs::create_dir_all(&dir)?;
    let mut more = [
        "--json",
        "--after",
        "5s",
        "--for",
        RECORDER_BOUND,
        "--trigger",
        TRIGGER,
        "--config",
    ]
    .map(OsStr::new)
    .to_vec();
    more.push(config.as_os_str());
    let (child, lines) = start_recorder(server, &dir, &more)?;
    let mut recorder = Recorder { child, lines };
    std::thread::sleep(CALM);
    let calm = resident(recorder.child.id())?;
    let stall = Background::start(Load {
        duration: STALL,
        statements: vec![(1, STALL_STATEMENT.to_owned())],
        ..load(
            server.login(),
            &testbed::MIXES[0],
            STALLED_CLIENTS,
            None,
            false,
        )
    })?;
    let frame = recorder.incident(STALL + WRITTEN_MAX);
    stall.end()?;
    let frame = frame?;
    let after = resident(recorder.child.id())?;
    tell("recorder in calm, maximum so far", calm)?;
    line(
        "  through a stall with its written incident",
        &format!(
            "{:.1} MiB; now {:.1} of its own, {:.1} of files",
            after.most, after.own, after.of_files
        ),
        "<= 96 MiB",
    )?;
    let page = std::fs::metadata(frame.with_extension("html")).map(|page| page.len());
    line(
        "  the incident, its page",
        &format!(
            "{} KiB, {} KiB",
            std::fs::metadata(&frame)?.len() / 1024,
            page.unwrap_or(0) / 1024
        ),
        "",
    )?;
    recorder.stop()
}

fn tell(what: &str, resident: Resident) -> Result<()> {
    line(
        what,
        &format!(
            "{:.1} MiB; now {:.1} of its own, {:.1} of files",
            resident.most, resident.own, resident.of_files
        ),
        "",
    )
}

/// `freezeframe record`; ended when it is dropped.
struct Recorder {
    child: Child,
    lines: Receiver<String>,
}

impl Recorder {
    /// The file of the incident that our trigger caused.
    fn incident(&mut self, most: Duration) -> Result<PathBuf> {
        let end = Instant::now() + most;
        let mut ours = None;
        while Instant::now() < end {
            let text = match self.lines.recv_timeout(Duration::from_millis(200)) {
                Ok(text) => text,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => bail!("the recorder ended by itself"),
            };
            let event: Value = serde_json::from_str(&text).unwrap_or_default();
            let rule = event["rule"].as_str().unwrap_or_default();
            match event["event"].as_str() {
                Some("triggered") => ours = Some((event["id"].clone(), rule == TRIGGER_RULE)),
                // It came to a stall that something else had begun.
                Some("joined") if rule == TRIGGER_RULE => {
                    ours = ours.map(|(id, _)| (id, true));
                }
                Some("not-written") => bail!("the incident was not written"),
                Some("written") if ours == Some((event["id"].clone(), true)) => {
                    let path = event["path"].as_str().context("no path was printed")?;
                    return Ok(PathBuf::from(path));
                }
                _ => {}
            }
        }
        bail!("no incident of '{TRIGGER}' was written")
    }

    fn stop(mut self) -> Result<()> {
        terminate(&self.child);
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            terminate(&self.child);
            let _ = self.child.wait();
        }
    }
}

/// How long unwinding and naming take: of first snapshots, each by a process of its own that has
/// read nothing yet, and of later ones of one process.
fn names(pid: u32) -> Result<()> {
    let (mut unwinding, mut naming) = (Vec::new(), Vec::new());
    let number = pid.to_string();
    for _ in 0..FIRST {
        let asked = freezeframe(["stacks", "--json", "--no-login", "--pid", &number])?;
        let document = match answer(asked)? {
            Ok(document) => document,
            Err(problem) => return line("names", &problem, ""),
        };
        unwinding.extend(document["unwind_ms"].as_f64());
        naming.extend(document["naming_ms"].as_f64());
    }
    line(
        "names of a first snapshot",
        &format!(
            "{:.0} ms, after {:.0} ms of unwinding",
            median(&naming),
            median(&unwinding)
        ),
        "<= 1000 ms",
    )?;
    let mut observer = Observer::open(pid, &SnapshotOptions::default())?;
    let first = observer.snapshot()?;
    observer.name(&[first], &[]);
    let mut later = Vec::new();
    for _ in 0..LATER {
        std::thread::sleep(Duration::from_millis(100));
        let seen = observer.snapshot()?;
        let begin = Instant::now();
        observer.name(&[seen], &[]);
        later.push(begin.elapsed().as_secs_f64() * 1000.0);
    }
    later.sort_by(f64::total_cmp);
    let unwound: Vec<f64> = observer
        .unwinding()
        .iter()
        .skip(1)
        .map(|time| time.as_secs_f64() * 1000.0)
        .collect();
    line(
        "  of a later one, median (largest)",
        &format!(
            "{:.1} ms ({:.1}), after {:.1} ms of unwinding",
            percentile(&later, 0.5),
            percentile(&later, 1.0),
            median(&unwound)
        ),
        "<= 50 ms",
    )
}
