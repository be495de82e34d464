//! This machine's own switch for transparent huge pages, changed for a moment.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::harness::freezeframe;
use crate::scene::{document, text};

const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const DEFRAG: &str = "/sys/kernel/mm/transparent_hugepage/defrag";

/// Sets both back when the test ends, also by SIGKILL: a shell waits for the end of its input.
struct Guard(Option<Child>);

fn active(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap();
    let word = text.split_once('[').unwrap().1;
    word.split_once(']').unwrap().0.to_owned()
}

impl Guard {
    fn new() -> Self {
        let script = "cat >/dev/null; printf %s \"$1\" > \"$2\"; printf %s \"$3\" > \"$4\"";
        let child = Command::new("setsid")
            .args(["sh", "-c", script, "guard"])
            .args([&active(ENABLED), ENABLED, &active(DEFRAG), DEFRAG])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        Self(Some(child))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}

#[test]
fn the_real_switch_is_set_and_put_back() {
    let writable = fs::OpenOptions::new().write(true).open(ENABLED).is_ok();
    if !writable || !Path::new(DEFRAG).exists() {
        eprintln!("skipped: the switch for transparent huge pages cannot be written here");
        return;
    }
    let mut before = (String::new(), String::new());
    for (path, text) in [(ENABLED, &mut before.0), (DEFRAG, &mut before.1)] {
        fs::File::open(path).unwrap().read_to_string(text).unwrap();
    }
    if before.0.contains("[never]") {
        eprintln!("skipped: transparent huge pages are off here already");
        return;
    }
    let _guard = Guard::new();
    let dir = tempfile::tempdir().unwrap();
    let fix = |arguments: &[&str]| {
        freezeframe()
            .arg("fix")
            .args(arguments)
            .arg("--fix-dir")
            .arg(dir.path().join("fixes"))
            // Not those of other tests.
            .args(["--socket", "/nonexistent/x.sock"])
            .output()
            .unwrap()
    };
    let done = document(&fix(&[
        "thp-compaction",
        "--apply",
        "--now",
        "--yes",
        "--json",
    ]));
    assert_eq!(done["applied"]["state"], "applied");
    assert_eq!(active(ENABLED), "never");
    assert_eq!(active(DEFRAG), "never");
    text(&fix(&["--undo"]));
    assert_eq!(fs::read_to_string(ENABLED).unwrap(), before.0);
    assert_eq!(fs::read_to_string(DEFRAG).unwrap(), before.1);
}
