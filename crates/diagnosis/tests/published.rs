//! Stacks that others published with their case, as `pt-pmp` and `gdb` printed them. There is nothing
//! but stacks in them, so that no cause can be more than possible.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy does not see that helpers of tests are test code"
)]

mod common;

use std::path::PathBuf;

use common::{Story, named};
use diagnosis::{Catalogue, Level, diagnose};
use model::{Frame, Incident, Method, Reason, RunState, Side, SnapshotNote, StackEnd, ThreadRun};

/// Beside the project, or where `FREEZEFRAME_CORPUS` says.
fn corpus() -> Option<PathBuf> {
    let beside = || {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut above = root.ancestors().skip(1);
        above.find_map(|directory| {
            let corpus = directory.join("shared/corpus");
            corpus.is_dir().then_some(corpus)
        })
    };
    std::env::var_os("FREEZEFRAME_CORPUS")
        .map(PathBuf::from)
        .or_else(beside)
}

/// The function of a frame without its place in a file.
fn function(frame: &str) -> String {
    frame.split('(').next().unwrap().trim().to_owned()
}

/// Lines of `pt-pmp`: how many threads, and their functions, innermost first.
fn pmp(text: &str) -> Vec<(u32, Vec<String>)> {
    text.lines()
        .filter_map(|line| {
            let (count, frames) = line.trim().split_once(' ')?;
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
        let frames = names.iter().map(|name| Frame {
            name: name.clone(),
            image: "mysqld".to_owned(),
            side: Side::User,
            nameless: None,
        });
        let stack = stacks.book.intern(frames, StackEnd::Complete);
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
        .map(|second| SnapshotNote {
            at: second * 1000,
            method: Method::Proc,
            wall_us: 1_000,
            stopped_us: 0,
            threads: tid,
            complete: tid,
        })
        .collect();
    incident
}

#[test]
fn published_stacks_get_their_cause() {
    let Some(corpus) = corpus() else {
        eprintln!("skipped: there is no corpus beside the project");
        return;
    };
    let mut wrong = Vec::new();
    for (name, cause) in [
        ("percona-pmp-doublewrite-batch-5710.txt", "doublewrite"),
        (
            "percona-pmp-free-page-shortage-5710.txt",
            "lru-single-page-flush",
        ),
        (
            "percona-pmp-single-page-flush-5711.txt",
            "lru-single-page-flush",
        ),
        (
            "ptk-pmp-open-table-behind-alter-partition.txt",
            "mdl-pileup",
        ),
        // Whether the disk or the file system was slow, stacks alone do not tell.
        ("tachikoma-lab-fsync1s-redo-queue-5732.md", ""),
        ("ptk-gdb-baseline-80.txt", ""),
        ("ptk-gdb-baseline-idle-51.txt", ""),
    ] {
        let text = std::fs::read_to_string(corpus.join(name)).unwrap();
        let threads = if name.contains("pmp") {
            pmp(&text)
        } else {
            gdb(&text)
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
        eprintln!("{name}: {found:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
