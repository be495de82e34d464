//! A panic gives the terminal back before it is told, and a terminal that is closed ends the program.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing step fails the test"
)]

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cli::output::Screen;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

/// Set in the process that has the terminal.
const CHILD: &str = "FREEZEFRAME_TEST_SCREEN";

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal: our side, and how the other one is opened.
struct Terminal {
    master: OwnedFd,
    path: String,
}

impl Terminal {
    fn new() -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap();
        Self {
            master,
            path: path.to_str().unwrap().to_owned(),
        }
    }

    fn open(&self) -> File {
        let mut options = OpenOptions::new();
        let flags = i32::try_from(OpenptFlags::NOCTTY.bits()).unwrap();
        let options = options.read(true).write(true).custom_flags(flags);
        options.open(&self.path).unwrap()
    }

    /// This very test again, in it.
    fn start(&self, test: &str) -> Child {
        let end = || Stdio::from(OwnedFd::from(self.open()));
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(CHILD, "1")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap()
    }
}

#[test]
fn a_panic_gives_the_terminal_back() {
    if std::env::var_os(CHILD).is_some() {
        let _screen = Screen::open().unwrap();
        panic!("of the test");
    }
    let terminal = Terminal::new();
    let ours = terminal.open();
    let status = terminal
        .start("a_panic_gives_the_terminal_back")
        .wait()
        .unwrap();
    assert!(!status.success());
    let modes = tcgetattr(&ours).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    let mut bytes = vec![0; 16_384];
    let count = File::from(terminal.master).read(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
    let at = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("no {what:?} in {text:?}"))
    };
    assert!(at("\u{1b}[?1049h") < at("\u{1b}[?1049l"));
    assert!(at("\u{1b}[?1049l") < at("of the test"));
    assert_eq!(text.matches("\u{1b}[?1049l").count(), 1);
}

#[test]
fn a_closed_terminal_ends_the_program() {
    if std::env::var_os(CHILD).is_some() {
        let _screen = Screen::open().unwrap();
        // It does nothing that would notice.
        std::thread::sleep(PATIENCE);
        return;
    }
    let terminal = Terminal::new();
    let mut child = terminal.start("a_closed_terminal_ends_the_program");
    let mut master = File::from(terminal.master);
    let mut text = String::new();
    let mut bytes = vec![0; 4096];
    while !text.contains("\u{1b}[?1049h") {
        let count = master.read(&mut bytes).unwrap();
        text.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    drop(master);
    let end = Instant::now() + PATIENCE / 2;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if Instant::now() > end => break None,
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    if status.is_none() {
        child.kill().unwrap();
    }
    assert_eq!(status.unwrap().code(), Some(129));
}
