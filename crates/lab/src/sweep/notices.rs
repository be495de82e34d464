//! What the recorder told: `record --json`, read as a program of an operator reads it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::Receiver;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use serde_json::Value;
use testbed::PrivateServer;

use crate::background::terminate;
use crate::product::start_recorder;

/// All that was told, in the directory of the stage.
const EVENTS: &str = "events.jsonl";

/// Nothing is held back, and what is written is small.
const CONFIG: &str = "[detect]\nincidents_per_hour = 100000\n[incident]\nbefore_seconds = 10\nafter_seconds = 2\nmax_seconds = 60\n";

/// A stall as it was told. Times are of the wall clock, milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Notice {
    /// `triggered`, `again` or `suppressed`.
    pub(super) event: String,
    /// Of its incident; none for one that was suppressed.
    pub(super) id: Option<String>,
    pub(super) onset_ms: i64,
    pub(super) trigger_ms: i64,
    pub(super) end_ms: Option<i64>,
    pub(super) rule: String,
    pub(super) says: String,
}

/// A recorder beside a server.
pub(super) struct Recorder {
    child: Child,
    lines: Receiver<String>,
    events: File,
    /// Every stall so far.
    pub(super) told: Vec<Notice>,
    /// Incidents that were written, by their id.
    pub(super) written: BTreeMap<String, PathBuf>,
    /// What else was told that nobody hopes for.
    pub(super) trouble: Vec<String>,
}

impl Recorder {
    pub(super) fn start(server: &PrivateServer, dir: &Path) -> Result<Self> {
        let events = dir.join(EVENTS);
        let path = server.directory().join("freezeframe.toml");
        std::fs::write(&path, CONFIG).with_context(|| path.display().to_string())?;
        let path = path.display().to_string();
        let more = ["--json", "--no-html", "--config", &path].map(std::ffi::OsStr::new);
        let (child, lines) = start_recorder(server, dir, &more)?;
        Ok(Self {
            child,
            lines,
            events: File::create(&events).with_context(|| events.display().to_string())?,
            told: Vec::new(),
            written: BTreeMap::new(),
            trouble: Vec::new(),
        })
    }

    /// Reads what has been told since the last time.
    pub(super) fn read(&mut self) -> Result<()> {
        while let Ok(line) = self.lines.try_recv() {
            self.note(&line);
        }
        match self.child.try_wait()? {
            Some(status) => bail!("the recorder ended by itself: {status}"),
            None => Ok(()),
        }
    }

    /// Ends it in order, and reads what it told last.
    pub(super) fn stop(&mut self) -> Result<()> {
        terminate(&self.child);
        self.child.wait()?;
        while let Ok(line) = self.lines.recv() {
            self.note(&line);
        }
        Ok(())
    }

    fn note(&mut self, line: &str) {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            return;
        };
        // A verdict is long, and not what is asked for here. Events are for people who look at a miss afterwards.
        if event["verdict"].is_null() {
            let _ = writeln!(self.events, "{line}");
        }
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        let name = text("event");
        match name.as_str() {
            "triggered" | "again" | "suppressed" => {
                let times = time(&event["onset"]).zip(time(&event["trigger"]));
                let Some((onset_ms, trigger_ms)) = times else {
                    return;
                };
                self.told.push(Notice {
                    event: name,
                    id: event["id"].as_str().map(str::to_owned),
                    onset_ms,
                    trigger_ms,
                    end_ms: None,
                    rule: text("rule"),
                    says: text("says"),
                });
            }
            "ended" => {
                let onset = time(&event["onset"]);
                let end = time(&event["end"]);
                let open = |told: &Notice| told.end_ms.is_none();
                let of_it = self
                    .told
                    .iter()
                    .position(|told| open(told) && Some(told.onset_ms) == onset);
                let index = of_it.or_else(|| self.told.iter().rposition(open));
                let last = index.and_then(|index| self.told.get_mut(index));
                if let Some(told) = last {
                    told.end_ms = end;
                }
            }
            "written" => {
                self.written.insert(text("id"), PathBuf::from(text("path")));
            }
            "lost" | "not-written" | "incident-lost" | "history-trouble" => {
                self.trouble.push(line.to_owned());
            }
            _ => {}
        }
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

fn time(value: &Value) -> Option<i64> {
    let moment: Timestamp = value.as_str()?.parse().ok()?;
    Some(moment.as_millisecond())
}
