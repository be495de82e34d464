//! Changes for a time: given back when it is over, whichever of the processes is killed.

use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};

use crate::scene::{ENABLED, Scene, text, wait_until};

const BEFORE: &str = "always [madvise] never\n";

/// The watchdogs of a journal: processes of ours whose open files have its watch file.
fn watchdogs(scene: &Scene) -> Vec<Pid> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        let files = std::fs::read_dir(entry.path().join("fd"))
            .into_iter()
            .flatten()
            .flatten();
        let watches = |path: PathBuf| {
            path.starts_with(scene.journal()) && path.extension().is_some_and(|end| end == "watch")
        };
        if files
            .filter_map(|file| std::fs::read_link(file.path()).ok())
            .any(watches)
        {
            found.extend(Pid::from_raw(pid));
        }
    }
    found
}

#[test]
fn a_lease_is_given_back_when_its_time_is_over() {
    let scene = Scene::new();
    let before = scene.tree();
    let done = scene.json(&["thp-compaction", "--apply", "--yes", "--for", "1s"]);
    // For a time only what counts at once is changed.
    assert_eq!(done["applied"]["steps"].as_array().unwrap().len(), 2);
    wait_until("the lease to be given back", || scene.tree() == before);
    wait_until("the watchdogs to end", || watchdogs(&scene).is_empty());
    assert_eq!(scene.json(&["--list"])["fixes"][0]["state"], "undone");
}

#[test]
fn any_one_of_the_watchdogs_may_be_killed() {
    let scene = Scene::new();
    scene.json(&["thp-compaction", "--apply", "--yes", "--for", "1h"]);
    assert_eq!(scene.read(ENABLED), "always madvise [never]\n");
    for _ in 0..3 {
        wait_until("two watchdogs", || watchdogs(&scene).len() == 2);
        kill_process(watchdogs(&scene)[0], Signal::KILL).unwrap();
        wait_until("one to be gone", || {
            watchdogs(&scene).len() != 2 || scene.journal().exists()
        });
    }
    wait_until("two watchdogs", || watchdogs(&scene).len() == 2);
    assert_eq!(scene.json(&["--list"])["fixes"][0]["watched"], true);
    assert_eq!(scene.read(ENABLED), "always madvise [never]\n");
    // Early.
    text(&scene.run(&["--undo"]));
    assert_eq!(scene.read(ENABLED), BEFORE);
    wait_until("the watchdogs to end", || watchdogs(&scene).is_empty());
}

#[test]
fn when_both_are_killed_the_next_start_gives_it_back() {
    let scene = Scene::new();
    let before = scene.tree();
    scene.json(&["thp-compaction", "--apply", "--yes", "--for", "1h"]);
    // Stopped first: neither sees the other one die.
    let both = watchdogs(&scene);
    assert_eq!(both.len(), 2);
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in &both {
            kill_process(*pid, signal).unwrap();
        }
    }
    wait_until("both to be gone", || watchdogs(&scene).is_empty());
    assert_eq!(scene.read(ENABLED), "always madvise [never]\n");
    let list = text(&scene.run(&["--list"]));
    assert!(list.contains("LEFT BEHIND"), "{list}");
    // A cause without a change of its own.
    scene.json(&["mdl-pileup", "--apply", "--yes"]);
    assert_eq!(scene.tree(), before);
}
