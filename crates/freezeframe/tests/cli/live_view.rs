//! `freezeframe live` in a terminal of its own: it takes the terminal, and gives it back.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::harness::{Recorder, freezeframe, run, server};

const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with the view in it.
struct Terminal {
    master: File,
    slave: File,
    child: Child,
    seen: Vec<u8>,
    /// The other screen of the terminal was asked for.
    was_taken: bool,
}

impl Terminal {
    fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        // Closed in the view: it would keep its own terminal open.
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = || {
            let path = Path::new(name.to_str().unwrap());
            let flags = i32::try_from(OpenptFlags::NOCTTY.bits()).unwrap();
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            options.custom_flags(flags).open(path).unwrap()
        };
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let ours = slave();
        let child = freezeframe()
            .args(arguments)
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .env_remove("COLORTERM")
            .envs(environment.iter().copied())
            .stdin(Stdio::from(OwnedFd::from(slave())))
            .stdout(Stdio::from(OwnedFd::from(slave())))
            .stderr(Stdio::from(OwnedFd::from(slave())))
            .spawn()
            .unwrap();
        Self {
            master: File::from(master),
            slave: ours,
            child,
            seen: Vec::new(),
            was_taken: false,
        }
    }

    fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        !modes.contains(LocalModes::ICANON) && !modes.contains(LocalModes::ECHO)
    }

    /// Reads until a text was written.
    fn wait_for(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        let mut bytes = [0; 4096];
        while !String::from_utf8_lossy(&self.seen).contains(text) {
            assert!(
                Instant::now() < until,
                "{}",
                String::from_utf8_lossy(&self.seen)
            );
            let mut ready = [rustix::event::PollFd::new(
                &self.master,
                rustix::event::PollFlags::IN,
            )];
            let patience = rustix::event::Timespec {
                tv_sec: 0,
                tv_nsec: 100_000_000,
            };
            if rustix::event::poll(&mut ready, Some(&patience)).unwrap() > 0 {
                let count = self.master.read(&mut bytes).unwrap();
                self.seen.extend_from_slice(&bytes[..count]);
                self.was_taken |= String::from_utf8_lossy(&self.seen).contains("\u{1b}[?1049h");
            }
        }
    }

    /// Presses a key until what it shows has a word: all of it is drawn again each time (Ctrl-L).
    fn shows(&mut self, key: &str, word: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            self.seen.clear();
            self.press(&format!("{key}\u{c}"));
            // The foot is drawn last.
            self.wait_for("q quit");
            let shown = String::from_utf8_lossy(&self.seen);
            if shown.contains(word) {
                return;
            }
            assert!(Instant::now() < until, "{key}: no {word}: {shown}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// The end: the terminal is as it was.
    fn ends(&mut self) -> ExitStatus {
        self.wait_for("\u{1b}[?25h");
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        let text = String::from_utf8_lossy(&self.seen);
        assert!(self.was_taken && text.contains("\u{1b}[?1049l"));
        assert!(!self.is_raw());
        status
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An incident, made of a capture.
fn incident(dir: &Path) -> PathBuf {
    let capture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../captures/ahi-latch-evict-pmp-55.txt"
    );
    let path = dir.join("made.frame");
    let made = run(&["import", capture, "-o", path.to_str().unwrap()]);
    assert!(made.status.success(), "{made:?}");
    path
}

#[test]
fn a_terminal_is_taken_and_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = incident(dir.path());
    let path = path.to_str().unwrap();
    let mut terminal = Terminal::start(&["live", path], &[]);
    terminal.wait_for("9rec");
    assert!(terminal.is_raw());
    terminal.press("3");
    terminal.wait_for("HOLDER (DOING)");
    terminal.press("q");
    assert!(terminal.ends().success());
    assert!(String::from_utf8_lossy(&terminal.seen).contains("\u{1b}[38;5;"));

    // As root or a session's end does it.
    let mut terminal = Terminal::start(&["live", path, "--ascii"], &[("NO_COLOR", "1")]);
    terminal.wait_for("9rec");
    let pid = Pid::from_child(&terminal.child);
    kill_process(pid, Signal::TERM).unwrap();
    assert!(terminal.ends().success());
    let text = String::from_utf8_lossy(&terminal.seen);
    assert!(!text.contains("\u{1b}[38;"), "{text}");
    assert!(text.is_ascii());
}

/// A session that breaks off leaves nothing behind that keeps a processor busy.
#[test]
fn it_ends_with_its_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let path = incident(dir.path());
    let mut terminal = Terminal::start(&["live", path.to_str().unwrap()], &[]);
    terminal.wait_for("9rec");
    terminal.master = File::open("/dev/null").unwrap();
    let until = Instant::now() + PATIENCE;
    while terminal.child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "it goes on without a terminal");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Where nobody records: a recorder for as long as one looks, of which nothing is left.
#[test]
fn a_view_records_for_itself() {
    let memory = || -> Vec<PathBuf> {
        let entries = std::fs::read_dir("/dev/shm")
            .into_iter()
            .flatten()
            .flatten();
        let paths = entries.map(|entry| entry.path());
        paths
            .filter(|path| path.to_string_lossy().contains("/freezeframe-live-"))
            .collect()
    };
    let server = server(&[]);
    let before = memory();
    let (socket, empty) = (server.socket(), server.directory().join("client.cnf"));
    std::fs::write(&empty, "").unwrap();
    let arguments = [
        "live",
        "--record",
        "--user",
        "root",
        "--socket",
        socket.to_str().unwrap(),
        "--defaults-file",
        empty.to_str().unwrap(),
    ];
    let mut terminal = Terminal::start(&arguments, &[]);
    terminal.shows("1", "HEALTHY");
    let own: Vec<PathBuf> = memory()
        .into_iter()
        .filter(|path| !before.contains(path))
        .collect();
    assert_eq!(own.len(), 1, "{own:?}");
    terminal.press("q");
    assert!(terminal.ends().success());
    assert!(!own[0].exists());
    // However the view ends.
    let mut terminal = Terminal::start(&arguments, &[]);
    terminal.shows("1", "HEALTHY");
    terminal.child.kill().unwrap();
    let until = Instant::now() + PATIENCE;
    while memory().iter().any(|path| !before.contains(path)) {
        assert!(Instant::now() < until, "{:?}", memory());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Nothing on the screen asks the server, and nothing waits for it.
#[test]
fn keys_are_answered_while_the_server_is_stopped() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&server, dir.path(), &[]);
    recorder.warm_up(12);
    let path = dir.path().to_str().unwrap();
    let mut terminal = Terminal::start(&["live", "--dir", path], &[]);
    terminal.shows("1", "HEALTHY");
    server.pause().unwrap();
    terminal.shows("1", "STALLED");
    for (key, word) in [
        ("2", "SESSIONS"),
        ("3", "HOLDER (DOING)"),
        ("5", "STATEMENT"),
        ("6", "AREA"),
        ("7", "SIGNAL"),
        ("8", "ONSET (UTC)"),
        ("9", "SOURCE"),
        ("m", "ANSWERS"),
        ("?", "KEYS"),
        // What the recorder has found out by now, with evidence that no history has.
        ("1", "stopped"),
    ] {
        terminal.shows(key, word);
    }
    server.resume().unwrap();
    terminal.press("q");
    assert!(terminal.ends().success());
}

/// The files of a server with a name are below the directory in which its recorder is asked.
#[test]
fn a_server_with_a_name_is_followed_and_captured() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("targets.toml");
    let target = format!(
        "[[targets]]\nname = 'shop'\nuser = 'root'\nsocket = '{}'\n",
        server.socket().display()
    );
    std::fs::write(&file, target).unwrap();
    let state = dir.path().join("state");
    let recorder = Recorder::start_named("--targets", &file, &state, &["--no-html"]);
    recorder.warm_up(12);
    // A server that is recorded no more is not the one that is meant.
    std::fs::write(state.join("history-3306.db"), "").unwrap();
    let state = state.to_str().unwrap();
    let mut terminal = Terminal::start(&["live", "--dir", state], &[]);
    terminal.shows("1", "LIVE");
    terminal.press("q");
    assert!(terminal.ends().success());
    let mut capture = freezeframe()
        .args(["capture", "--label", "shop", "--for", "1s", "--dir", state])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let end = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = capture.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            capture.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(status.success(), "{status}: its file was not found");
}

#[test]
fn without_a_terminal_there_are_lines() {
    let dir = tempfile::tempdir().unwrap();
    let path = incident(dir.path());
    let path = path.to_str().unwrap();
    let refused = run(&["live", path]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said.contains("not a terminal; use --plain"), "{said}");
    let plain = run(&["live", path, "--plain"]);
    let lines = String::from_utf8(plain.stdout).unwrap();
    assert!(plain.status.success());
    assert!(
        lines.contains("verdict: ") && !lines.contains('\u{1b}'),
        "{lines}"
    );
    for (arguments, code) in [
        (&["live", "/nonexistent"][..], 1),
        (&["live", "--dir", "/nonexistent"], 1),
        (&["live", path, "--palette", "12"], 2),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
    }
    let help = run(&["live", "--help"]);
    assert!(
        String::from_utf8(help.stdout)
            .unwrap()
            .contains("what to do: commands, risk, undo")
    );
}
