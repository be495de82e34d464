//! The remedy and its proof, by the program's own commands as a user gives them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use serde_json::Value;
use testbed::PrivateServer;

use crate::product::{self, program};

/// Should we be killed, the changes go back by themselves after this.
const LEASE: &str = "15m";

/// The fixes of one run. Those of the host are put back in the end, whatever becomes of us.
pub(crate) struct Fixes {
    dir: PathBuf,
    socket: PathBuf,
    option_file: PathBuf,
}

impl Fixes {
    pub(crate) fn new(scratch: &Path, server: &PrivateServer) -> Result<Self> {
        let option_file = scratch.join("client.cnf");
        std::fs::write(&option_file, "").with_context(|| option_file.display().to_string())?;
        Ok(Self {
            dir: scratch.join("fixes"),
            socket: server.socket(),
            option_file,
        })
    }

    /// Their journal.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    fn run(&self, arguments: &[&OsStr]) -> Result<Output> {
        Ok(Command::new(program()?)
            .args(["fix", "--json", "--user", "root", "--defaults-file"])
            .arg(&self.option_file)
            .arg("--socket")
            .arg(&self.socket)
            .arg("--fix-dir")
            .arg(&self.dir)
            .args(arguments)
            .output()?)
    }

    /// What counts at once against the cause of the incident; in words what was changed.
    pub(crate) fn apply(&self, incident: &Path, cause: &str) -> Result<Vec<String>> {
        let arguments = [
            incident.as_os_str(),
            OsStr::new("--cause"),
            OsStr::new(cause),
            OsStr::new("--apply"),
            OsStr::new("--yes"),
            OsStr::new("--consent"),
            OsStr::new("--now"),
            OsStr::new("--for"),
            OsStr::new(LEASE),
        ];
        let answer = self.run(&arguments)?;
        if !answer.status.success() {
            bail!(
                "fix failed: {}",
                String::from_utf8_lossy(&answer.stderr).trim()
            );
        }
        let told: Value = serde_json::from_slice(&answer.stdout).context("the answer of fix")?;
        Ok(changes(&told))
    }

    /// Everything back.
    pub(crate) fn undo(&self) -> Result<()> {
        if !self.dir.exists() {
            return Ok(());
        }
        let answer = self.run(&["--undo", "all"].map(OsStr::new))?;
        if !answer.status.success() {
            bail!(
                "fix --undo failed: {}",
                String::from_utf8_lossy(&answer.stderr).trim()
            );
        }
        Ok(())
    }
}

impl Drop for Fixes {
    fn drop(&mut self) {
        let _ = self.undo();
    }
}

fn changes(told: &Value) -> Vec<String> {
    told["steps"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|step| step["state"] == "to-do")
        .filter_map(|step| step["says"].as_str().map(str::to_owned))
        .collect()
}

/// From when to when something was so.
pub(super) struct Span {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// What the clients of the break were answered.
    pub(super) statements: u64,
}

/// Compares the break with the time after the remedy, and says what came of it.
pub(super) fn compare(
    before: &Span,
    after: &Span,
    dir: &Path,
    server: &PrivateServer,
    cause: &str,
) -> Result<String> {
    let window = |span: &Span| format!("{}..{}", span.from, span.to);
    let arguments = [
        "--before".to_owned(),
        window(before),
        "--after".to_owned(),
        window(after),
        "--server".to_owned(),
        server.port().to_string(),
    ];
    verdict(cause, dir, &arguments)
}

/// The same where the break was noticed again: incidents have the stacks and locks that the history does not keep.
pub(super) fn compare_incidents(
    before: &Path,
    after: &Path,
    dir: &Path,
    cause: &str,
) -> Result<String> {
    let arguments = [
        "--stalls".to_owned(),
        before.display().to_string(),
        after.display().to_string(),
    ];
    verdict(cause, dir, &arguments)
}

fn verdict(cause: &str, dir: &Path, arguments: &[String]) -> Result<String> {
    let told = product::compare(cause, arguments, dir)?;
    let verdict = told["verdict"]
        .as_str()
        .context("compare gave no verdict")?;
    Ok(verdict.to_owned())
}
