//! Two recorders' directories with what tests look for, and the program that serves them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use model::{
    Clock, Incident, OwnText, ProcessList, Reading, Sample, Server, Session, SourceData, Stall,
    Text, TimedText, Timeline, Trigger, Unit, Window,
};
use serde_json::Value;
use store::{History, HistoryLimits, SessionStart};
use tempfile::TempDir;

/// For what must happen at all; the machines of tests are slow and busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What means harm in a page, in a script, in a terminal, and to who reads it.
pub(crate) const NASTY: &str = "</code></style></script><script>alert(1)</script>\"'&amp;\u{1b}[31m\u{9b}2J\u{202e}\u{2066}`$(x)`";

/// The recorders' directories.
const DIRECTORIES: [&str; 2] = ["one", "two"];

/// When the histories begin, milliseconds since 1970: 2026-11-20 02:00:00 UTC.
pub(crate) const BEGIN_MS: i64 = 1_795_140_000_000;

/// How long the first is.
const MINUTES: u64 = 4 * 60;

/// Minutes of the second: the stall with some time around it. Each minute takes its time to write.
const MINUTES_OF_SECOND: Range<u64> = 135..165;

/// When the stall in them begins and ends, seconds from their begin.
pub(crate) const STALL: (u64, u64) = (9_000, 9_040);

pub(crate) fn freezeframe() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_freezeframe"));
    // The user's own ~/.my.cnf has no say in tests, and no program makes a home of a path that others test to be missing.
    command.env("HOME", "/dev/null").stdin(Stdio::null());
    command
}

/// The served view; ended when the test ends.
pub(crate) struct Served {
    pub(crate) dir: TempDir,
    child: Child,
    pub(crate) address: SocketAddr,
    /// `/t/TOKEN`
    pub(crate) root: String,
}

impl Served {
    pub(crate) fn start() -> Self {
        Self::start_with(|_| Vec::new())
    }

    /// With further arguments, which may need files of their own in the directory of the test.
    pub(crate) fn start_with(more: impl FnOnce(&Path) -> Vec<String>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let dirs = DIRECTORIES.map(|name| dir.path().join(name));
        for one in &dirs {
            std::fs::create_dir(one).unwrap();
        }
        for (path, bytes) in recorded() {
            std::fs::write(dir.path().join(path), bytes).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", dirs[0].join("link.frame")).unwrap();
        let arguments = dirs.iter().flat_map(|dir| [Path::new("--dir"), dir]);
        let more = more(dir.path());
        let (child, line) = start(
            freezeframe()
                .args(["web", "--listen", "127.0.0.1:0"])
                .args(arguments)
                .args(more),
        );
        let rest = line.strip_prefix("open http://").unwrap();
        let (address, path) = rest.split_once('/').unwrap();
        let root = format!("/{}", path.trim_end_matches('/'));
        let served = Self {
            dir,
            child,
            address: address.parse().unwrap(),
            root,
        };
        served.wait_until_read();
        served
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{}{path}", self.address, self.root)
    }

    /// All incidents are judged.
    fn wait_until_read(&self) {
        let end = Instant::now() + PATIENCE;
        while self.json("/api/incidents")["not_read_yet"] != 0 {
            assert!(Instant::now() < end, "the incidents are not read");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Head and body of the answer to a request.
    pub(crate) fn ask(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    /// The same, of a path within the view.
    pub(crate) fn get(&self, path: &str) -> (String, String) {
        self.ask(&format!(
            "GET {}{path} HTTP/1.1\r\nHost: localhost\r\n\r\n",
            self.root
        ))
    }

    pub(crate) fn page(&self, path: &str) -> String {
        let (head, body) = self.get(path);
        assert!(
            head.starts_with("HTTP/1.1 200 OK\r\n"),
            "{path}: {head}\n{body}"
        );
        body
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.page(path)).unwrap()
    }

    /// SIGTERM.
    pub(crate) fn stop(mut self) -> ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What every test looks at, by path. Hours of a history take seconds to write, so that they are written once.
fn recorded() -> &'static [(PathBuf, Vec<u8>)] {
    static RECORDED: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
    RECORDED.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let [first, second] = DIRECTORIES.map(|name| dir.path().join(name));
        std::fs::create_dir(&first).unwrap();
        std::fs::create_dir(&second).unwrap();
        for (capture, name) in [
            ("ahi-latch-evict-pmp-55.txt", "latch"),
            ("bufpool-shrink-withdraw-57.log", "pool"),
        ] {
            import(capture, &first.join(format!("{name}.frame")));
        }
        history(&first, "db1", "3306", 0..MINUTES);
        store::write_incident(&incident("db1", "3306", "shop"), &first).unwrap();
        store::write_incident(&incident(NASTY, "3307", NASTY), &second).unwrap();
        history(&second, NASTY, "3307", MINUTES_OF_SECOND);
        std::fs::write(first.join("broken.frame"), "no incident").unwrap();
        let entries = [first, second].map(|dir| std::fs::read_dir(dir).unwrap());
        let paths = entries.into_iter().flatten();
        let paths = paths.map(|entry| entry.unwrap().path());
        paths
            .map(|path| {
                let bytes = std::fs::read(&path).unwrap();
                (path.strip_prefix(dir.path()).unwrap().to_owned(), bytes)
            })
            .collect()
    })
}

/// A program, and the first line that it says.
fn start(command: &mut Command) -> (Child, String) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    (child, line.trim().to_owned())
}

fn import(capture: &str, path: &Path) {
    let capture = format!("{}/../../captures/{capture}", env!("CARGO_MANIFEST_DIR"));
    let made = freezeframe()
        .args(["import", &capture, "-o"])
        .arg(path)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

fn is_stalled(second: u64) -> bool {
    (STALL.0..STALL.1).contains(&second)
}

/// What a recorder reads in a second: hours with a wave in them, and a stall.
fn readings(second: u64) -> Vec<(&'static str, Vec<Reading>)> {
    let wave = ((second as f64) / 700.0).sin();
    let stalled = is_stalled(second);
    let of = |calm: f64, in_stall: f64| if stalled { in_stall } else { calm };
    let count = |name: &'static str, value| Reading::gauge(name, Unit::Count, value);
    let share = |name: &'static str, value| Reading::gauge(name, Unit::Share, value);
    let done = second.saturating_sub(second.saturating_sub(STALL.0).min(STALL.1 - STALL.0));
    vec![
        (
            "status",
            vec![
                Reading::counter("status.Questions", Unit::Count, done as f64 * 900.0),
                count("status.Threads_running", of(4.0 + 3.0 * wave, 60.0).round()),
                count(
                    "status.Threads_connected",
                    of(20.0 + 9.0 * wave, 70.0).round(),
                ),
            ],
        ),
        (
            "processlist",
            vec![
                count("processlist.active", of(4.0 + 3.0 * wave, 60.0).round()),
                count(
                    "processlist.state.sending_data",
                    of(4.0 + 3.0 * wave, 6.0).round(),
                ),
                count("processlist.state.updating", of(0.0, 54.0)),
            ],
        ),
        (
            "probe",
            vec![Reading::gauge(
                "probe.query_us",
                Unit::Microseconds,
                of(400.0, 163_000_000.0),
            )],
        ),
        (
            "cpu",
            vec![
                share("cpu.busy_share", of(0.4 + 0.2 * wave, 0.98)),
                share("cpu.system_share", of(0.05, 0.7)),
                count("cpu.count", 8.0),
            ],
        ),
    ]
}

fn server(label: &str) -> Server {
    Server {
        label: label.to_owned(),
        version: "10.11.6-MariaDB".to_owned(),
        pid: Some(1),
        address: "socket /run/mysqld/mysqld.sock".to_owned(),
    }
}

fn history(dir: &Path, host: &str, label: &str, minutes: Range<u64>) {
    let start = SessionStart {
        clock: Clock {
            wall_at_zero_ms: BEGIN_MS,
            boot_id: String::new(),
        },
        host: host.to_owned(),
        tool_version: "0.1.0".to_owned(),
        server: server(label),
    };
    let limits = HistoryLimits::default();
    let path = dir.join(format!("history-{label}.db"));
    let (mut history, _) = History::open(&path, limits, &start).unwrap();
    for minute in minutes {
        let seconds = minute * 60..(minute + 1) * 60;
        let samples: Vec<Sample> = seconds
            .flat_map(|second| readings(second).into_iter().map(move |of| (second, of)))
            .map(|(second, (source, readings))| Sample {
                source,
                at: second * 1000,
                took_us: 1,
                outcome: Ok(SourceData {
                    readings,
                    ..SourceData::default()
                }),
            })
            .collect();
        history.append(&samples).unwrap();
    }
}

/// The stall as it was captured.
fn incident(host: &str, label: &str, user: &str) -> Incident {
    let (from, to) = (STALL.0 - 120, STALL.1 + 20);
    let mut timeline = Timeline::default();
    for second in from..to {
        for (source, readings) in readings(second) {
            timeline.push_readings(source, (second - from) * 1000, &readings);
        }
    }
    let session = Session {
        id: 7,
        user: user.to_owned(),
        host: "web1".to_owned(),
        db: user.to_owned(),
        command: "Query".to_owned(),
        seconds: 30.0,
        state: "updating".to_owned(),
        statement: format!("UPDATE {user}.orders SET paid = ? WHERE id = ?"),
    };
    let list = ProcessList {
        sessions: 70,
        by_state: [("updating".to_owned(), 54)].into(),
        longest: vec![session],
        ..ProcessList::default()
    };
    let (onset, end) = (120_000, 160_000);
    let body = serde_json::to_string(&list).unwrap();
    Incident {
        id: format!("{label}-20261120T043000.000Z"),
        host: host.to_owned(),
        tool_version: "0.1.0".to_owned(),
        server: server(label),
        clock: Clock {
            wall_at_zero_ms: BEGIN_MS + from as i64 * 1000,
            boot_id: String::new(),
        },
        stall: Stall {
            onset,
            trigger: onset + 3000,
            end: Some(end),
            triggers: vec![Trigger {
                rule: "work-stops".to_owned(),
                says: "0 of 900 statements a second completed".to_owned(),
            }],
            earlier: Vec::new(),
        },
        window: Window {
            from: 0,
            to: (to - from) * 1000,
        },
        timeline,
        texts: vec![TimedText {
            at: onset + 10_000,
            text: Text::own(OwnText::Processlist, body),
        }],
        ..Incident::default()
    }
}
