//! A panic gives the terminal back before it is told.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing step fails the test"
)]

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};

use cli::output::Screen;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

/// Set in the process that panics.
const CHILD: &str = "FREEZEFRAME_TEST_SCREEN";

#[test]
fn a_panic_gives_the_terminal_back() {
    if std::env::var_os(CHILD).is_some() {
        let _screen = Screen::open().unwrap();
        panic!("of the test");
    }
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let open = || {
        let mut options = OpenOptions::new();
        let path = name.to_str().unwrap();
        let flags = i32::try_from(OpenptFlags::NOCTTY.bits()).unwrap();
        let options = options.read(true).write(true).custom_flags(flags);
        options.open(path).unwrap()
    };
    let end = || Stdio::from(OwnedFd::from(open()));
    let ours = open();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_panic_gives_the_terminal_back", "--nocapture"])
        .env(CHILD, "1")
        .stdin(end())
        .stdout(end())
        .stderr(end())
        .status()
        .unwrap();
    assert!(!status.success());
    let modes = tcgetattr(&ours).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    let mut bytes = vec![0; 16_384];
    let count = File::from(master).read(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
    let at = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("no {what:?} in {text:?}"))
    };
    assert!(at("\u{1b}[?1049h") < at("\u{1b}[?1049l"));
    assert!(at("\u{1b}[?1049l") < at("of the test"));
    assert_eq!(text.matches("\u{1b}[?1049l").count(), 1);
}
