//! The program `freezeframe`, started and read as a user does it: where it is, the recorder beside a private server.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cli::output;
use jiff::Timestamp;
use serde_json::Value;
use testbed::PrivateServer;

use crate::background::terminate;

/// How often the recorder's output is looked at.
const POLL: Duration = Duration::from_millis(100);

/// Names the variable that gives the recorder a share of the processors of its own, as a service has it: else it is in the
/// session of the load, and queues for a processor with each of its clients (sched(7), the autogroup feature).
const OWN_SHARE: &str = "FREEZEFRAME_OWN_SHARE";

/// A session has 87 times the weight of another at the most; the recorder's unit has CPUWeight=10000, which is 100 times.
/// Who has no right to it keeps the ordinary one.
const WEIGHT_OF_UNIT: &str = "echo -20 2>/dev/null >/proc/self/autogroup; exec \"$@\"";

/// Whose share of the processors a recorder has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    /// That of the load.
    OfLoad,
    /// One of its own, as its unit has it.
    Own,
}

impl Share {
    fn asked_for() -> Self {
        match std::env::var_os(OWN_SHARE) {
            Some(_) => Self::Own,
            None => Self::OfLoad,
        }
    }

    /// The words before the program.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::OfLoad => &[],
            Self::Own => &["setsid", "sh", "-c", WEIGHT_OF_UNIT, "sh"],
        }
    }
}

/// The program: `$FREEZEFRAME`, or `freezeframe` beside this program.
pub(crate) fn program() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("FREEZEFRAME") {
        return Ok(PathBuf::from(path));
    }
    let own = std::env::current_exe()?;
    let beside = own.with_file_name("freezeframe");
    if !beside.is_file() {
        bail!(
            "{} does not exist; build it (cargo build --release -p freezeframe), or set FREEZEFRAME to its path",
            beside.display()
        );
    }
    Ok(beside)
}

/// `freezeframe record` beside a private server, and the lines that it prints.
pub(crate) fn start_recorder(
    server: &PrivateServer,
    dir: &Path,
    more: &[&OsStr],
) -> Result<(Child, Receiver<String>)> {
    start_with(server, dir, more, Share::asked_for())
}

fn start_with(
    server: &PrivateServer,
    dir: &Path,
    more: &[&OsStr],
    share: Share,
) -> Result<(Child, Receiver<String>)> {
    // The user's own ~/.my.cnf has no say in what the lab does.
    let option_file = server.directory().join("client.cnf");
    std::fs::write(&option_file, "").with_context(|| option_file.display().to_string())?;
    // It ends with us, however we end (prctl(2), PR_SET_PDEATHSIG).
    let mut child = Command::new("setpriv")
        .args(["--pdeathsig", "TERM", "--"])
        .args(share.words())
        .arg(program()?)
        .args(["record", "--user", "root", "--defaults-file"])
        .arg(&option_file)
        .arg("--socket")
        .arg(server.socket())
        .arg("--dir")
        .arg(dir)
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("the recorder cannot be started")?;
    let stdout = child.stdout.take().context("the recorder has no output")?;
    let (sender, lines) = channel();
    std::thread::Builder::new()
        .name("lab-recorder".to_owned())
        .spawn(move || {
            let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
            // Ends with the recorder, or when nobody listens any more.
            lines.all(|line| sender.send(line).is_ok())
        })?;
    Ok((child, lines))
}

/// `freezeframe record` as a user starts it, beside a private server. Its output is passed on
/// line by line, and read as a person reads it: whether a stall is under way, which incidents
/// were written.
pub(crate) struct Recorder {
    child: Child,
    lines: Receiver<String>,
    in_stall: bool,
    incidents: Vec<PathBuf>,
    quiet: bool,
}

impl Recorder {
    /// Starts it with a configuration and options of its own.
    pub(crate) fn start(
        server: &PrivateServer,
        dir: &Path,
        config: &str,
        options: &[&str],
    ) -> Result<Self> {
        Self::start_with(server, dir, (config, options), Share::asked_for())
    }

    /// The same with a share of the processors.
    pub(crate) fn start_with(
        server: &PrivateServer,
        dir: &Path,
        (config, options): (&str, &[&str]),
        share: Share,
    ) -> Result<Self> {
        let path = server.directory().join("freezeframe.toml");
        std::fs::write(&path, config).with_context(|| path.display().to_string())?;
        let mut more: Vec<&OsStr> = options.iter().map(OsStr::new).collect();
        more.extend([OsStr::new("--config"), path.as_os_str()]);
        let (child, lines) = start_with(server, dir, &more, share)?;
        Ok(Self {
            child,
            lines,
            in_stall: false,
            incidents: Vec::new(),
            quiet: false,
        })
    }

    /// A stall is under way, or its incident is not written yet.
    pub(crate) fn in_stall(&self) -> bool {
        self.in_stall
    }

    /// The incidents that were written, oldest first.
    pub(crate) fn incidents(&self) -> &[PathBuf] {
        &self.incidents
    }

    /// Its output is read only, not passed on.
    pub(crate) fn quiet(&mut self) {
        self.quiet = true;
    }

    fn read_lines(&mut self) -> Result<()> {
        while let Ok(line) = self.lines.try_recv() {
            if !self.quiet {
                output::print(&line)?;
            }
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
    pub(crate) fn wait(&mut self, time: Duration, enough: impl Fn(&Self) -> bool) -> Result<bool> {
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

    /// Ends it in order.
    pub(crate) fn stop(mut self) -> Result<()> {
        terminate(&self.child);
        self.child.wait()?;
        for line in self.lines.iter().filter(|_| !self.quiet) {
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

/// Of the incidents that were triggered then or later the one with the longest stall: the first may be no more than the
/// moment in which the clients came.
pub(crate) fn longest_since(incidents: &[PathBuf], from: Timestamp) -> Result<Option<PathBuf>> {
    let mut longest: Option<(f64, &PathBuf)> = None;
    for path in incidents {
        let head = &explain(path)?["incident"];
        let at = |value: &Value| value.as_str()?.parse::<Timestamp>().ok();
        if at(&head["trigger"]).is_none_or(|trigger| trigger < from) {
            continue;
        }
        // Without an end it lasted longer than the recording.
        let recorded = || {
            let (onset, to) = at(&head["onset"]).zip(at(&head["window"]["to"]))?;
            Some(to.duration_since(onset).as_secs_f64())
        };
        let seconds = head["duration_seconds"].as_f64().or_else(recorded);
        let seconds = seconds.unwrap_or_default();
        if longest.is_none_or(|(most, _)| seconds > most) {
            longest = Some((seconds, path));
        }
    }
    Ok(longest.map(|(_, path)| path.clone()))
}

/// What `freezeframe explain --json` says of the file.
pub(crate) fn explain(frame: &Path) -> Result<Value> {
    let answer = Command::new(program()?)
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

/// What `freezeframe compare --json` says of one cause; `sides` are its arguments that name what is compared.
pub(crate) fn compare(cause: &str, sides: &[String], dir: &Path) -> Result<Value> {
    let answer = Command::new(program()?)
        .args(["compare", "--json", "--cause", cause])
        .args(sides)
        .arg("--dir")
        .arg(dir)
        .output()?;
    if !answer.status.success() {
        bail!(
            "compare failed: {}",
            String::from_utf8_lossy(&answer.stderr).trim()
        );
    }
    serde_json::from_slice(&answer.stdout).context("the answer of compare")
}
