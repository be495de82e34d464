//! A recorder that sends to a fleet what it finds: the history of another server, and incidents.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use model::{Clock, Reading, Sample, Server, SourceData, Unit};
use serde_json::{Value, json};
use store::{History, HistoryLimits, SessionStart};
use testbed::{IncidentSize, made_incident};

use crate::product::program;

/// Seconds between two samples of the history.
const EVERY_SECONDS: u64 = 10;

/// Seconds between the begins of two incidents; each is of another of three hosts, so that none share a minute.
const APART: i64 = 60;

/// The times of what is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    /// Seconds since 1970.
    pub(super) begin: i64,
    pub(super) minutes: i64,
    pub(super) seed: u64,
}

impl Task {
    fn until(&self) -> i64 {
        self.begin + self.minutes * 60
    }
}

/// A recorder with a directory of its own.
pub(super) struct Agent {
    dir: PathBuf,
    config: PathBuf,
    number: usize,
    /// Its token, where it sends to a gateway.
    token: String,
    child: Option<Child>,
}

/// Where recorders send to.
#[derive(Debug, Clone)]
pub(super) struct To {
    pub(super) url: String,
    /// The token, where it is a gateway.
    pub(super) token: String,
}

impl Agent {
    /// One with a history to send. It is not started.
    pub(super) fn new(
        below: &Path,
        name: &str,
        number: usize,
        to: &To,
        task: &Task,
    ) -> Result<Self> {
        let dir = below.join(format!("{name}-{number}"));
        let own = dir.join("fleet");
        std::fs::create_dir_all(&own)?;
        let config = below.join(format!("{name}-{number}.toml"));
        let salt = below.join("salt");
        let text = format!(
            "[fleet]\nurl = '{}'\nsalt_file = '{}'\ncluster = 'simulated'\n",
            to.url,
            salt.display()
        );
        std::fs::write(&config, text)?;
        history(&dir.join("history-old.db"), number, task)?;
        // From the history's begin on.
        let cursor = json!({
            "life": number as u64 + 1, "minute": task.begin, "seconds_until": 0, "incidents": [],
        });
        std::fs::write(own.join("fed.json"), cursor.to_string())?;
        Ok(Self {
            dir,
            config,
            number,
            token: to.token.clone(),
            child: None,
        })
    }

    /// An incident is there, as if it had just been written: of this number, from 1.
    pub(super) fn incident(&self, incident: i64, task: &Task) -> Result<()> {
        let mut made = made_incident(&IncidentSize::small());
        made.host = format!("sim{}-{}", self.number, incident % 3);
        made.id = format!("3306-stall-{}-{incident}", self.number);
        made.clock.wall_at_zero_ms = (task.begin + incident * APART) * 1000;
        store::write_incident(&made, &self.dir)?;
        Ok(())
    }

    /// Starts it.
    pub(super) fn start(&mut self) -> Result<()> {
        // It ends with us, however we end (prctl(2), PR_SET_PDEATHSIG).
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(program()?)
            .args(["record", "--json", "--no-html", "--no-history", "--dir"])
            .arg(&self.dir)
            .arg("--config")
            .arg(&self.config)
            .args(["--socket", "/nonexistent/mysqld.sock"])
            .env("HOME", &self.dir)
            .env("FREEZEFRAME_FLEET_PASSWORD", &self.token)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("the recorder cannot be started")?;
        self.child = Some(child);
        Ok(())
    }

    /// Kills it.
    pub(super) fn kill(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// How far it is, and batches that wait.
    fn fed(&self) -> (Value, usize) {
        let own = self.dir.join("fleet");
        let cursor = std::fs::read(own.join("fed.json")).unwrap_or_default();
        let files = std::fs::read_dir(own).into_iter().flatten().flatten();
        let waiting =
            files.filter(|file| file.path().extension().is_some_and(|end| end == "batch"));
        (
            serde_json::from_slice(&cursor).unwrap_or_default(),
            waiting.count(),
        )
    }

    /// All is sent, with so many incidents.
    pub(super) fn is_fed(&self, incidents: i64, task: &Task) -> bool {
        let (cursor, waiting) = self.fed();
        let there = cursor["incidents"].as_array().map_or(0, Vec::len);
        let minute = cursor["minute"].as_i64().unwrap_or(0);
        minute >= task.until()
            && waiting == 0
            && i64::try_from(there).is_ok_and(|there| there == incidents)
    }

    /// Until a batch waits, but not longer.
    pub(super) fn wait_for_a_batch(&self, longest: Duration) {
        let end = Instant::now() + longest;
        while self.fed().1 == 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Until all is sent.
    pub(super) fn wait_until_fed(
        &self,
        incidents: i64,
        task: &Task,
        longest: Duration,
    ) -> Result<()> {
        let end = Instant::now() + longest;
        while !self.is_fed(incidents, task) {
            if Instant::now() > end {
                let (cursor, waiting) = self.fed();
                bail!("after {longest:?} {waiting} batches wait, and it is at {cursor}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// A history of another server.
fn history(path: &Path, number: usize, task: &Task) -> Result<()> {
    let start = SessionStart {
        clock: Clock {
            wall_at_zero_ms: task.begin * 1000,
            boot_id: String::new(),
        },
        host: format!("sim{number}"),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        server: Server {
            label: "3307".to_owned(),
            ..Server::default()
        },
    };
    let limits = HistoryLimits {
        age: Duration::from_secs(365 * 86_400),
        ..HistoryLimits::default()
    };
    let (mut history, _) = History::open(path, limits, &start)?;
    let seconds = task.minutes.unsigned_abs() * 60;
    let samples: Vec<Sample> = (0..seconds / EVERY_SECONDS)
        .map(|count| Sample {
            source: "vmstat",
            at: count * EVERY_SECONDS * 1000,
            took_us: 1,
            outcome: Ok(SourceData {
                readings: vec![
                    Reading::counter(
                        "vmstat.pgfault",
                        Unit::Count,
                        (count * (count + task.seed % 100)) as f64,
                    ),
                    Reading::gauge("vmstat.nr_dirty", Unit::Count, (count % 17) as f64),
                    Reading::gauge("vmstat.nr_writeback", Unit::Count, 3.0),
                ],
                ..SourceData::default()
            }),
        })
        .collect();
    for some in samples.chunks(600) {
        history.append(some)?;
    }
    history.checkpoint()?;
    Ok(())
}
