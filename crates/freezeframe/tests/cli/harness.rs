//! `freezeframe record --json` beside a private server.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use model::Incident;
use serde_json::Value;
use testbed::{Options, PrivateServer, Withheld};

/// Generous: the machines of tests are slow and busy. What must be fast is measured by `make bench`.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn freezeframe() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_freezeframe"));
    // The user's own ~/.my.cnf has no say in tests, and no program makes a home of a path that others test to be missing.
    command
        .env("HOME", "/dev/null")
        .env_remove("MYSQL_PWD")
        .stdin(Stdio::null());
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    freezeframe().args(arguments).output().unwrap()
}

pub(crate) fn server(arguments: &[&str]) -> PrivateServer {
    PrivateServer::start(&Options {
        arguments: arguments
            .iter()
            .map(|argument| (*argument).to_owned())
            .collect(),
        ..Options::default()
    })
    .unwrap()
}

/// A running recorder; killed when the test ends.
pub(crate) struct Recorder {
    child: Child,
    events: Receiver<Value>,
    stderr: File,
}

impl Recorder {
    pub(crate) fn start(server: &PrivateServer, dir: &Path, more: &[&str]) -> Self {
        let socket = server.socket();
        Self::start_at(&socket, dir, more)
    }

    pub(crate) fn start_at(socket: &Path, dir: &Path, more: &[&str]) -> Self {
        Self::start_named("--socket", socket, dir, more)
    }

    /// Beside what `named` and `by` say: a socket, a file of targets.
    pub(crate) fn start_named(named: &str, by: &Path, dir: &Path, more: &[&str]) -> Self {
        let stderr = tempfile::tempfile().unwrap();
        let mut child = freezeframe()
            .args(["record", "--json", "--for", "400s"])
            .args(if more.contains(&"--after") {
                &[][..]
            } else {
                &["--after", "2s"]
            })
            .arg(named)
            .arg(by)
            .arg("--dir")
            .arg(dir)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(stderr.try_clone().unwrap())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or_else(|_| Value::from(line));
                if sender.send(event).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            events,
            stderr,
        }
    }

    /// The next event of this name.
    pub(crate) fn event(&self, name: &str) -> Value {
        self.event_where(name, |_| true)
    }

    pub(crate) fn event_where(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.event_of(&[name], wanted)
    }

    /// The next event of one of these names.
    pub(crate) fn event_of(&self, names: &[&str], wanted: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        let mut seen = Vec::new();
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            let Ok(event) = self.events.recv_timeout(left) else {
                break;
            };
            let is_named = event["event"]
                .as_str()
                .is_some_and(|name| names.contains(&name));
            if is_named && wanted(&event) {
                return event;
            }
            seen.push(event.to_string().chars().take(200).collect::<String>());
        }
        panic!("no event of {names:?}; there were: {seen:#?}");
    }

    /// Events that are there now, without waiting.
    pub(crate) fn events_so_far(&self) -> Vec<Value> {
        self.events.try_iter().collect()
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// What it said on standard error so far: nothing, but in trouble.
    pub(crate) fn said(&mut self) -> String {
        let mut said = String::new();
        self.stderr.rewind().unwrap();
        self.stderr.read_to_string(&mut said).unwrap();
        said
    }

    /// SIGUSR1: an incident now.
    pub(crate) fn ask(&self) {
        self.signal(rustix::process::Signal::USR1);
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// SIGTERM, and all events up to the end. None of its threads may have panicked meanwhile.
    pub(crate) fn stop(mut self) -> Vec<Value> {
        let pid = rustix::process::Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
        let said = self.said();
        assert!(!said.contains("internal error"), "{said}");
        self.events.iter().collect()
    }

    /// Waits until the recorder has a login and some seconds of evidence.
    pub(crate) fn warm_up(&self, seconds: u64) {
        self.event("version");
        std::thread::sleep(Duration::from_secs(seconds));
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Ok(Some(status)) = self.child.try_wait()
            && std::thread::panicking()
        {
            eprintln!("the recorder had ended: {status}");
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the recorder said: {}", self.said());
        }
    }
}

pub(crate) fn incident(event: &Value) -> Incident {
    let loaded = store::read_incident(Path::new(event["path"].as_str().unwrap())).unwrap();
    assert_eq!(loaded.damage, []);
    loaded.incident
}

/// The causes that an event's verdict names, but what the machine of the test itself did.
pub(crate) fn causes<'a>(event: &'a Value, withheld: &Withheld) -> Vec<&'a str> {
    let findings = &event["verdict"]["findings"];
    assert!(findings.is_array(), "{event}");
    let findings = withheld.others(findings).into_iter();
    findings
        .filter_map(|finding| finding["cause"].as_str())
        .collect()
}

/// Ticks of a source within a stretch of the recorder's time.
pub(crate) fn ticks(incident: &Incident, source: &str, from: u64, to: u64) -> usize {
    let source = incident
        .timeline
        .sources
        .iter()
        .find(|known| known.name == source);
    source.map_or(0, |source| {
        source
            .ticks
            .iter()
            .filter(|tick| **tick >= from && **tick <= to)
            .count()
    })
}

/// Names of the files in a directory, sorted.
pub(crate) fn files(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Whether processes of this machine wait for a processor for most of the time: what must be fast cannot be measured then.
pub(crate) fn is_too_busy() -> bool {
    const SHARE_MAX: f64 = 30.0;
    let pressure = std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
    let share = pressure
        .split_once("avg10=")
        .and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok());
    share.is_some_and(|share| share > SHARE_MAX)
}
