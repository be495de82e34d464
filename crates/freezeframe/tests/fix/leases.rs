//! Changes for a time: given back when it is over, whichever of the processes is killed.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::freezeframe;
use crate::scene::{ENABLED, Scene, document, error, text, wait_until};

const BEFORE: &str = "always [madvise] never\n";

/// The watchdogs of a journal: processes of ours whose open files have its watch file.
fn watchdogs(scene: &Scene) -> Vec<Pid> {
    watchdogs_of(&scene.journal())
}

fn watchdogs_of(journal: &Path) -> Vec<Pid> {
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
            path.starts_with(journal) && path.extension().is_some_and(|end| end == "watch")
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

/// Both watchdogs, neither of which is starting another one: a child that has not begun its program yet has its
/// parent's open files, and its parent waits for it uninterruptibly (posix_spawn).
fn settled_pair(scene: &Scene) -> Vec<Pid> {
    let sleeps = |pid: &Pid| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| stat.contains(") S "))
    };
    let mut pair = Vec::new();
    wait_until("two watchdogs", || {
        let now = watchdogs(scene);
        let settled = now.len() == 2 && now.iter().all(sleeps) && now == pair;
        pair = now;
        settled
    });
    pair
}

/// `leases` of the directory that the journal is in.
fn leases(scene: &Scene, arguments: &[&str]) -> serde_json::Value {
    let output = freezeframe()
        .args(["leases", "--json", "--dir"])
        .arg(scene.journal().with_file_name("leases"))
        .args(arguments)
        .output()
        .unwrap();
    document(&output)
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
    for round in 0..4 {
        let pair = settled_pair(&scene);
        let killed = pair[round % 2];
        kill_process(killed, Signal::KILL).unwrap();
        wait_until("it to be gone", || !watchdogs(&scene).contains(&killed));
    }
    settled_pair(&scene);
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
    assert_eq!(leases(&scene, &[])["leases"][0]["state"], "left");
    // A cause without a change of its own.
    scene.json(&["mdl-pileup", "--apply", "--yes"]);
    assert_eq!(scene.tree(), before);

    // Leases of both kinds are given back by one command.
    scene.json(&["thp-compaction", "--apply", "--yes", "--for", "1h"]);
    let listed = leases(&scene, &[]);
    assert_eq!(listed["leases"][0]["kind"], "fix");
    assert_eq!(listed["leases"][0]["state"], "in-force");
    leases(&scene, &["--revert"]);
    assert_ne!(scene.tree(), before, "one that is watched is in force");
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in watchdogs(&scene) {
            kill_process(pid, signal).unwrap();
        }
    }
    wait_until("both to be gone", || watchdogs(&scene).is_empty());
    leases(&scene, &["--revert"]);
    assert_eq!(scene.tree(), before);
}

#[test]
fn a_lease_with_a_journal_of_its_own_is_found() {
    let scene = Scene::new();
    let before = scene.tree();
    let elsewhere = scene.path("../elsewhere/fixes");
    std::fs::create_dir(scene.path("../elsewhere")).unwrap();
    let elsewhere = elsewhere
        .parent()
        .unwrap()
        .canonicalize()
        .unwrap()
        .join("fixes");
    let fix = |arguments: &[&str]| {
        let mut command = freezeframe();
        command
            .arg("fix")
            .args(arguments)
            .arg("--root")
            .arg(scene.root());
        command.arg("--config").arg(scene.config());
        text(&command.arg("--fix-dir").arg(&elsewhere).output().unwrap())
    };
    fix(&["thp-compaction", "--apply", "--yes", "--for", "1h"]);
    // By what is remembered, and by what is said; once in either case.
    let said = elsewhere.to_str().unwrap();
    for more in [&[][..], &["--fix-dir", said]] {
        let listed = leases(&scene, more);
        let all = listed["leases"].as_array().unwrap();
        assert_eq!(all.len(), 1, "{listed}");
        assert_eq!(all[0]["state"], "in-force", "{listed}");
    }
    // Where nothing is remembered it has to be said.
    std::fs::remove_file(scene.path("../fix-dirs")).unwrap();
    assert_eq!(leases(&scene, &[])["leases"].as_array().unwrap().len(), 0);
    let listed = leases(&scene, &["--fix-dir", said]);
    assert_eq!(listed["leases"].as_array().unwrap().len(), 1, "{listed}");

    for signal in [Signal::STOP, Signal::KILL] {
        for pid in watchdogs_of(&elsewhere) {
            kill_process(pid, signal).unwrap();
        }
    }
    wait_until("both to be gone", || watchdogs_of(&elsewhere).is_empty());
    leases(&scene, &["--fix-dir", said, "--revert"]);
    assert_eq!(scene.tree(), before);
}

#[test]
fn a_journal_below_a_directory_of_others_is_refused() {
    let scene = Scene::new();
    let open = scene.path("../open");
    std::fs::create_dir(&open).unwrap();
    let mode = |mode: u32| {
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o700);
    let said = |command: &str, more: &[&str]| {
        let mut command_line = freezeframe();
        command_line
            .arg(command)
            .args(more)
            .arg("--config")
            .arg(scene.config());
        command_line.output().unwrap()
    };
    let fixes = open.join("fixes");
    let fix_dir = ["--fix-dir", fixes.to_str().unwrap()];
    // There while nobody else could write, and a directory that others can write above it now.
    std::fs::create_dir(&fixes).unwrap();
    std::fs::set_permissions(&fixes, std::fs::Permissions::from_mode(0o700)).unwrap();
    mode(0o777);
    let before = scene.tree();
    let leases_dir = open.join("leases");
    let root = scene.root();
    let root = ["--root", root.to_str().unwrap()];
    for (command, arguments) in [
        (
            "fix",
            [&["thp-compaction", "--apply", "--yes"][..], &fix_dir, &root].concat(),
        ),
        ("fix", [&["--list"][..], &fix_dir].concat()),
        ("fix", [&["--undo"][..], &fix_dir].concat()),
        ("leases", fix_dir.to_vec()),
        ("leases", [&["--revert"][..], &fix_dir].concat()),
        ("leases", vec!["--dir", leases_dir.to_str().unwrap()]),
    ] {
        let line = error(&said(command, &arguments));
        assert!(
            line.contains("must belong to us, and nobody else may write it")
                && line.contains("chmod go-w"),
            "{command} {arguments:?}: {line}"
        );
    }
    assert_eq!(scene.tree(), before, "nothing is changed by it");
}
