//! The stacks of the project's captures (`captures/`), as `pt-pmp` and `gdb` print them, and nothing else of them: no
//! cause can be more than possible then.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy does not see that helpers of tests are test code"
)]

use crate::common;
use std::path::Path;

use common::{Story, named};
use diagnosis::{Catalogue, Level, diagnose};
use model::{
    FrameSide, Incident, Reason, RunState, SnapshotMeta, SnapshotMethod, StackEnd, StackFrame,
    ThreadRun,
};

/// The function of a frame without its place in a file.
fn function(frame: &str) -> String {
    frame.split('(').next().unwrap().trim().to_owned()
}

/// Lines of `pt-pmp`: how many threads, and their functions, innermost first. Lines of prose have blanks.
fn pmp(text: &str) -> Vec<(u32, Vec<String>)> {
    text.lines()
        .filter_map(|line| {
            let (count, frames) = line.trim().split_once(' ')?;
            if frames.contains(' ') {
                return None;
            }
            let frames = frames.split(',').map(function).collect();
            Some((count.parse().ok()?, frames))
        })
        .collect()
}

/// Backtraces of `gdb`: a thread begins with its frame `#0`.
fn gdb(text: &str) -> Vec<(u32, Vec<String>)> {
    let mut threads: Vec<(u32, Vec<String>)> = Vec::new();
    for line in text.lines() {
        let Some((number, rest)) = line
            .trim()
            .strip_prefix('#')
            .and_then(|rest| rest.split_once(' '))
        else {
            continue;
        };
        let rest = rest.trim();
        let name = match rest.split_once(" in ") {
            Some((address, rest)) if address.starts_with("0x") => rest,
            _ => rest,
        };
        if number == "0" {
            threads.push((1, Vec::new()));
        }
        if let Some((_, frames)) = threads.last_mut() {
            frames.push(function(name));
        }
    }
    threads
}

/// A stall of which nothing is known but these stacks.
fn incident(threads: &[(u32, Vec<String>)]) -> Incident {
    let mut story = Story::healthy().without_stacks();
    for prefix in [
        "status.",
        "processlist",
        "innodb.",
        "sessions.",
        "variables.",
        "probe.",
        "cpu.",
        "psi.",
        "vmstat.",
        "meminfo.",
        "buddyinfo.",
        "disk.",
        "net.",
        "accept_queue.",
        "threads.",
        "process.",
        "packets.",
        "thp.",
        "host.",
        "server.",
        "sysctl.",
        "recorder.",
        "error_log.",
        "kernel_log.",
    ] {
        story = story.without(prefix, Reason::NotRecorded);
    }
    let mut incident = story.build();
    let stacks = &mut incident.stacks;
    let mut tid = 0;
    for (count, names) in threads {
        let frames = names.iter().map(|name| StackFrame {
            name: name.clone(),
            image: "mysqld".to_owned(),
            side: FrameSide::User,
            nameless: None,
        });
        let stack = stacks.table.intern(frames, StackEnd::Complete);
        for _ in 0..*count {
            tid += 1;
            stacks.runs.push(ThreadRun {
                tid,
                name: "mysqld".to_owned(),
                from: 61_000,
                to: 75_000,
                snapshots: 15,
                unmoved: true,
                state: RunState::Sleeping,
                syscall: None,
                stack,
            });
        }
    }
    stacks.snapshots = (61..=75)
        .map(|second| SnapshotMeta {
            at: second * 1000,
            method: SnapshotMethod::Proc,
            wall_us: 1_000,
            stopped_us: 0,
            threads: tid,
            complete: tid,
        })
        .collect();
    incident
}

#[test]
fn stacks_alone_make_a_cause_possible() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let mut wrong = Vec::new();
    for (name, cause) in [
        ("ahi-latch-evict-pmp-55.txt", "ahi-latch"),
        ("dblwr-single-slots-57-pmp.txt", "doublewrite"),
        ("lock-sys-mutex-pmp-hot-queue-57.txt", "lock-sys-mutex"),
        // Which way of looking for a free page the server was set to, stacks alone do not tell.
        (
            "percona-empty-free-list-backoff-pmp-56.txt",
            "lru-single-page-flush",
        ),
        // Nor how many wait behind three threads that were picked out.
        ("drop-table-bufpool-two-truncates-gdb-56.txt", ""),
        ("none-idle-mariadb-pmp-processlist.txt", ""),
    ] {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let threads = match text.contains("\n#0 ") {
            true => gdb(&text),
            false => pmp(&text),
        };
        let verdict = diagnose(&incident(&threads), Catalogue::builtin());
        let found = named(&verdict);
        let right = if cause.is_empty() {
            found.is_empty()
        } else {
            found.iter().any(|(named, _)| *named == cause)
        };
        let sure = found.iter().any(|(_, level)| *level > Level::Possible);
        if !right || sure {
            wrong.push(format!("{name}: {found:?} of {} stacks", threads.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
