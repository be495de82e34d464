//! Every command that connects, beside servers of every kind of hostility.

use std::os::unix::process::ExitStatusExt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::play::{Scene, alone, finish, start};

/// Runs at a time: most of a run is waiting for a server that does not answer.
const THREADS: usize = 30;

/// Each is far above what a command needs on a quiet machine: two cores and thirty runs at a time.
const SLACK: Duration = Duration::from_secs(18);

/// What a command may occupy.
const HIGH_WATER_KIB_MAX: u64 = 256 << 10;

/// One of each kind of hostility, at each step.
const CHOSEN: [&str; 17] = [
    "honest",
    "is silent before the greeting",
    "drips before the greeting",
    "drips instead of a login",
    "is silent at byte 5 of an answer",
    "is silent at the second question",
    "drips rows",
    "answer cut at 30",
    "a count of columns like no other, 0",
    "a count of columns like no other, 1, later",
    "9 parts of 16 MiB",
    "endless small rows",
    "endless large rows, later",
    "asks for another plugin without end",
    "error 1040, many escapes, first",
    "an error of 16 MB for an answer",
    "an answer of a file",
];

/// Those that show over TCP only.
const OVER_TCP: [&str; 3] = [
    "a key of garbage",
    "a key with a modulus of 12,000 bits",
    "drips instead of a key",
];

/// Those that every command is tried beside; one that only looks at the server's process, and says no word to it, beside
/// no others.
const FOR_ALL: [&str; 3] = [
    "honest",
    "is silent before the greeting",
    "drips instead of a key",
];

/// Ways of `queries --live`. They differ in what they ask a server and share how they ask it.
const WAYS: usize = 3;

/// The servers that a command is tried beside.
#[derive(Clone, Copy)]
enum Beside {
    All,
    /// Those for all, and of the rest each that is the turn of this one of the ways.
    Turn(usize),
    /// Those for all.
    ForAll,
}

/// A command, and how long it may take beside a server that does not answer, by its own documentation.
struct Tried {
    arguments: &'static [&'static str],
    most: Duration,
    beside: Beside,
}

const fn tried(arguments: &'static [&'static str], seconds: u64) -> Tried {
    Tried {
        arguments,
        most: Duration::from_secs(seconds),
        beside: Beside::All,
    }
}

/// One that does not log in (`live::sessions` is of `stacks` alone).
const fn tried_from_outside(arguments: &'static [&'static str], seconds: u64) -> Tried {
    Tried {
        beside: Beside::ForAll,
        ..tried(arguments, seconds)
    }
}

const fn tried_in_turn(way: usize, arguments: &'static [&'static str], seconds: u64) -> Tried {
    Tried {
        beside: Beside::Turn(way),
        ..tried(arguments, seconds)
    }
}

/// Whether a command is tried beside this server, the so-many-th.
fn is_meant(beside: Beside, place: usize, name: &str) -> bool {
    match beside {
        Beside::All => true,
        Beside::Turn(way) => place % WAYS == way || FOR_ALL.contains(&name),
        Beside::ForAll => FOR_ALL.contains(&name),
    }
}

/// The directory of what a command writes stands for `DIR`.
const COMMANDS: [Tried; 9] = [
    tried(&["record", "--for", "2s", "--dir", "DIR"], 4),
    tried(&["check", "--look", "1s"], 5),
    tried(&["stacks"], 3),
    tried_from_outside(&["locks", "--seconds", "1"], 4),
    tried_from_outside(&["profile", "--seconds", "1"], 3),
    tried_in_turn(0, &["queries", "--live", "1s"], 16),
    tried_in_turn(
        1,
        &["queries", "--live", "1s", "--way", "performance-schema"],
        27,
    ),
    tried_in_turn(
        2,
        &[
            "queries",
            "--live",
            "1s",
            "--way",
            "general-log",
            "--allow-general-log",
            "--lease-dir",
            "DIR",
        ],
        34,
    ),
    tried(&["fix", "slow-fsync", "--fix-dir", "DIR"], 10),
];

#[test]
fn every_command_comes_to_its_end() {
    let _alone = alone();
    let scene = Scene::start(&[&CHOSEN[..], &OVER_TCP].concat());
    let mut runs = Vec::new();
    for command in &COMMANDS {
        for (place, name) in CHOSEN.into_iter().chain(OVER_TCP).enumerate() {
            if !is_meant(command.beside, place, name) {
                continue;
            }
            let way = match OVER_TCP.contains(&name) {
                true => ["--port".to_owned(), scene.port(name).to_string()],
                false => [
                    "--socket".to_owned(),
                    scene.socket(name).display().to_string(),
                ],
            };
            runs.push((command, name, way));
        }
    }
    // The long ones first.
    runs.sort_by_key(|(command, ..)| std::cmp::Reverse(command.most));
    let count = runs.len();
    let queue = Mutex::new(runs.into_iter());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some((command, name, way)) = next else {
                        return;
                    };
                    let found = run(&scene, command, name, &way);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {count}: {wrong:#?}", wrong.len());
}

fn run(scene: &Scene, command: &Tried, name: &str, way: &[String]) -> Vec<String> {
    let scratch = scene.scratch();
    let dir = scratch.path().display().to_string();
    let mut arguments: Vec<String> = command
        .arguments
        .iter()
        .map(|argument| argument.replace("DIR", &dir))
        .collect();
    arguments.extend_from_slice(way);
    arguments.extend(["--user".to_owned(), "root".to_owned()]);
    let begin = Instant::now();
    let (child, output) = start(&arguments);
    let ran = finish(child, output, begin, command.most + SLACK);
    let mut wrong = Vec::new();
    let mut is_wrong = |what: String| {
        let command = command.arguments.join(" ");
        wrong.push(format!("{command} beside '{name}': {what}: {}", ran.said));
    };
    if ran.took > command.most + SLACK {
        is_wrong(format!("took {:?}", ran.took));
    }
    if let Some(signal) = ran.status.signal() {
        is_wrong(format!("ended by signal {signal}"));
    }
    if ran.status.code() == Some(101) || ran.said.contains("internal error") {
        is_wrong("panicked".to_owned());
    }
    if ran.said.chars().any(|c| c.is_control() && c != '\n') {
        is_wrong("would drive a terminal".to_owned());
    }
    let is_fix = command.arguments[0] == "fix";
    if is_fix && (ran.status.code() != Some(0) || !ran.said.contains("innodb_")) {
        is_wrong("did not go on without the server".to_owned());
    }
    // Beside a server that answers or ends it, only the machine is slow.
    let is_kept_waiting = name.starts_with("is silent ") || name.starts_with("drips ");
    let is_long = ran.took > Duration::from_secs(4);
    if is_fix && is_kept_waiting && is_long && !ran.said.contains("no answer for 2 s") {
        is_wrong("did not say what it waits for".to_owned());
    }
    if ran.high_water_kib > HIGH_WATER_KIB_MAX {
        is_wrong(format!("took {} KiB", ran.high_water_kib));
    }
    // What a server says again and again is said once.
    let mut lines: Vec<&str> = ran.said.lines().filter_map(without_time).collect();
    lines.sort_unstable();
    if command.arguments[0] == "record"
        && let Some(twice) = lines.windows(2).find(|two| two[0] == two[1])
    {
        is_wrong(format!("said twice: {}", twice[0]));
    }
    wrong
}

/// What stands behind the time of a recorder's line.
fn without_time(line: &str) -> Option<&str> {
    Some(line.split_once("  ")?.1.trim()).filter(|rest| rest.starts_with("without "))
}
