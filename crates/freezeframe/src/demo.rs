//! The demonstration: a real server, a real stall, recorded from outside by this same program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lab::{Load, PrivateServer};
use serde_json::Value;

use crate::background::{Background, load, start_recorder, terminate};
use crate::output;

/// Ordinary load before the flood: the detector needs ten seconds of it to know what is usual.
const ORDINARY: Duration = Duration::from_secs(20);

/// The flood of story S2: thirty clients.
const FLOOD: Duration = Duration::from_secs(12);
const FLOOD_CLIENTS: usize = 30;

/// glibc's malloc with its threshold for giving memory back to the kernel where it is at a process's
/// start, and kept there. The buffers of each compressed packet (zlib's, about 256 KiB) then go
/// back after every packet and are faulted in again. Without it two cores hardly show what the
/// published case lost on thirty-two: measured here over the socket, 131,000 statements a second
/// uncompressed, 75,000 compressed with glibc's adaptive threshold, 25,000 with this one.
const MALLOC: &str = "glibc.malloc.trim_threshold=131072";

/// What the recorder keeps after the end here; in production it is 30 s.
const AFTER: &str = "8s";

/// How long the incident may take after the flood: quiet, the time kept after it, writing.
const INCIDENT_DEADLINE: Duration = Duration::from_secs(30);

/// No cool-down to wait out, should the machine itself stall the server before the flood does.
const CONFIG: &str = "[detect]\ncool_down_seconds = 1\n";

/// How often the recorder's output is looked at.
const POLL: Duration = Duration::from_millis(100);

/// The recorder ends by itself after this, whatever becomes of us.
const RECORDER_BOUND: &str = "180s";

pub(crate) fn run(dir: &Path) -> Result<ExitCode> {
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    say(&format!(
        "starting a private MariaDB (performance_schema on; malloc as on an old, large host: {MALLOC})"
    ))?;
    let server = PrivateServer::start(&lab::Options {
        // As MySQL has it by default: it tells which sessions are compressed.
        arguments: vec!["--performance-schema=ON".to_owned()],
        environment: vec![("GLIBC_TUNABLES".to_owned(), MALLOC.to_owned())],
        ..lab::Options::default()
    })?;
    say(&format!(
        "it listens on {} and 127.0.0.1:{}",
        server.socket().display(),
        server.port()
    ))?;
    let ordinary = lab::mix("ordinary").context("the mix 'ordinary' is gone")?;
    ordinary.prepare(&server.login())?;
    let mut recorder = Recorder::start(&server, dir)?;

    say(&format!("ordinary load for {} s", ORDINARY.as_secs()))?;
    let usual = Background::start(load(server.login(), ordinary, 4, Some(400.0), false))?;
    recorder.wait(ORDINARY, |_| false)?;
    // A busy or paused machine can stall a server by itself; that is another incident.
    recorder.wait(INCIDENT_DEADLINE, |recorder| !recorder.in_stall)?;
    let earlier = recorder.incidents.len();
    say(&format!(
        "FLOOD: {FLOOD_CLIENTS} clients send SHOW WARNINGS over the compressed protocol for {} s",
        FLOOD.as_secs()
    ))?;
    let warnings = lab::mix("show-warnings").context("the mix 'show-warnings' is gone")?;
    let flood = Background::start(Load {
        duration: FLOOD,
        ..load(server.tcp_login(), warnings, FLOOD_CLIENTS, None, true)
    })?;
    recorder.wait(FLOOD, |_| false)?;
    let flooded = flood.end()?;
    say(&format!(
        "the flood is over: {:.0} SHOW WARNINGS a second",
        flooded.per_second
    ))?;
    recorder.wait(INCIDENT_DEADLINE, |recorder| {
        recorder.incidents.len() > earlier
    })?;
    usual.end()?;
    let frame = recorder.incidents.get(earlier).cloned();
    recorder.stop()?;
    drop(server);
    let frame = frame.context("no incident was written: the stall was not noticed")?;
    judge(&explain(&frame)?, &frame)
}

/// `freezeframe record` as a user starts it, beside the private server. Its output is passed on
/// line by line, and read as a person reads it: whether a stall is under way, which incidents
/// were written.
struct Recorder {
    child: Child,
    lines: Receiver<String>,
    in_stall: bool,
    incidents: Vec<PathBuf>,
}

impl Recorder {
    fn start(server: &PrivateServer, dir: &Path) -> Result<Self> {
        let config = server.directory().join("freezeframe.toml");
        std::fs::write(&config, CONFIG).with_context(|| config.display().to_string())?;
        let mut more = ["--after", AFTER, "--for", RECORDER_BOUND, "--config"]
            .map(OsStr::new)
            .to_vec();
        more.push(config.as_os_str());
        let (child, lines) = start_recorder(server, dir, &more)?;
        Ok(Self {
            child,
            lines,
            in_stall: false,
            incidents: Vec::new(),
        })
    }

    fn read_lines(&mut self) -> Result<()> {
        while let Ok(line) = self.lines.try_recv() {
            output::print(&line)?;
            // After the time of day.
            let Some((_, told)) = line.split_once("  ") else {
                continue;
            };
            if told.starts_with("STALL ") {
                self.in_stall = true;
            } else if let Some(path) = told.strip_prefix("incident ") {
                self.in_stall = false;
                self.incidents.push(PathBuf::from(path.trim()));
            }
        }
        Ok(())
    }

    /// Waits for a time, or until `enough`; false when the time was over first.
    fn wait(&mut self, time: Duration, enough: impl Fn(&Self) -> bool) -> Result<bool> {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.read_lines()?;
            if enough(self) {
                return Ok(true);
            }
            if self.child.try_wait()?.is_some() {
                bail!("the recorder ended by itself");
            }
            std::thread::sleep(POLL);
        }
        Ok(false)
    }

    fn stop(mut self) -> Result<()> {
        terminate(&self.child);
        self.child.wait()?;
        for line in self.lines.iter() {
            output::print(&line)?;
        }
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

/// What `freezeframe explain --json` says of the file.
fn explain(frame: &Path) -> Result<Value> {
    let answer = Command::new(std::env::current_exe()?)
        .args(["explain", "--json"])
        .arg(frame)
        .output()?;
    serde_json::from_slice(&answer.stdout).with_context(|| {
        format!(
            "explain failed: {}",
            String::from_utf8_lossy(&answer.stderr).trim()
        )
    })
}

/// Passes when the first finding is the flood, at least likely, and the compression aggravates it.
fn judge(verdict: &Value, frame: &Path) -> Result<ExitCode> {
    let first = &verdict["findings"][0];
    let named = first["cause"] == "show-warnings-flood"
        && (first["level"] == "likely" || first["level"] == "certain");
    let aggravated = first["relations"].as_array().is_some_and(|relations| {
        relations.iter().any(|relation| {
            relation["kind"] == "aggravated-by" && relation["cause"] == "compressed-protocol"
        })
    });
    say(&format!("incident {}", frame.display()))?;
    say(&format!(
        "report   {}",
        frame.with_extension("html").display()
    ))?;
    if named && aggravated {
        say("noticed, captured and named: show-warnings-flood, aggravated by compressed-protocol")?;
        return Ok(ExitCode::SUCCESS);
    }
    bail!(
        "the stall was caught and not named as expected: {}",
        verdict["sentence"].as_str().unwrap_or("no verdict")
    )
}

fn say(text: &str) -> Result<()> {
    output::print(&format!("── {text}"))
}
