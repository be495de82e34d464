//! SIGTERM and Ctrl-C end every command within a second, whatever the server does.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::play::{Scene, alone, finish, start};

/// How long a command may take to end, and what a program that was not optimised adds on a busy machine: it names and
/// prints what it has taken. Waits for the server would be longer.
const MOST: Duration = Duration::from_secs(1);
const SLACK: Duration = Duration::from_secs(6);

/// How long it runs before: it waits for the server then.
const MEANWHILE: Duration = Duration::from_millis(1300);

const BESIDE: [&str; 6] = [
    "is silent before the greeting",
    "drips before the greeting",
    "is silent at byte 5 of an answer",
    "drips at byte 20 of an answer",
    "is silent at the second question",
    "drips rows",
];

/// What runs at a time: commands that wait for a server in the same way, each beside its part of the servers.
const COMMANDS: [&[&[&str]]; 6] = [
    &[&["record", "--dir", "DIR"]],
    &[&["check", "--look", "60s"]],
    &[&["stacks", "--samples", "10000"]],
    &[
        &["locks", "--seconds", "60"],
        &["profile", "--seconds", "60"],
    ],
    &[
        &["queries", "--live", "60s"],
        &["queries", "--live", "60s", "--way", "performance-schema"],
        &[
            "queries",
            "--live",
            "60s",
            "--way",
            "general-log",
            "--allow-general-log",
            "--lease-dir",
            "DIR",
        ],
    ],
    &[
        &["fix", "slow-fsync", "--fix-dir", "DIR"],
        &["fix", "slow-fsync", "--fix-dir", "DIR", "--apply", "--yes"],
    ],
];

#[test]
fn a_signal_ends_every_command() {
    let _alone = alone();
    let scene = Scene::start(&BESIDE);
    // No more at a time than there are servers: more of them would be slow by each other.
    for commands in COMMANDS {
        ends(&scene, commands);
    }
}

/// Whether this process, and what it starts, ignores a signal: proc(5), `SigIgn` of /proc/PID/status.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
    mask >> (signal.as_raw() - 1) & 1 == 1
}

/// Whether a command only looks at the server's process: what that answers is nothing to it.
fn is_from_outside(command: &[&str]) -> bool {
    ["locks", "profile"].contains(&command[0])
}

/// Which of the commands runs beside which servers: each server has one, but for those that say no word to it, which have
/// two servers each.
fn beside(commands: &[&'static [&'static str]]) -> Vec<(&'static [&'static str], &'static str)> {
    let mut runs = Vec::new();
    for (place, name) in BESIDE.into_iter().enumerate() {
        match is_from_outside(commands[0]) {
            true if place < 2 => runs.extend(commands.iter().map(|command| (*command, name))),
            true => (),
            false => runs.push((commands[place * commands.len() / BESIDE.len()], name)),
        }
    }
    runs
}

/// Every other run is ended by the other signal: silence and dripping by both.
fn ends(scene: &Scene, commands: &[&'static [&'static str]]) {
    let scratch = scene.scratch();
    let dir = scratch.path().display().to_string();
    // A shell starts what runs in its background with INT ignored, and that is inherited.
    let interrupt = match is_ignored(Signal::INT) {
        true => Signal::TERM,
        false => Signal::INT,
    };
    let signals = [Signal::TERM, interrupt, interrupt, Signal::TERM];
    let runs: Vec<_> = beside(commands)
        .into_iter()
        .zip(signals.into_iter().cycle())
        .map(|((command, name), signal)| {
            let mut arguments: Vec<String> = command
                .iter()
                .map(|argument| {
                    argument.replace("DIR", &format!("{dir}/{}", name.replace(' ', "-")))
                })
                .collect();
            let socket = scene.socket(name).display().to_string();
            arguments.extend(["--socket", &socket, "--user", "root"].map(str::to_owned));
            (command, name, signal, start(&arguments))
        })
        .collect();
    std::thread::sleep(MEANWHILE);
    let begin = Instant::now();
    for (_, _, signal, (child, _)) in &runs {
        let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        // One that is done already is no mistake.
        let _ = kill_process(pid, *signal);
    }
    for (command, name, signal, (child, output)) in runs {
        let ran = finish(child, output, begin, MOST + SLACK);
        let what = format!("{command:?} beside '{name}', {signal:?}");
        let in_time = ran.took <= MOST + SLACK;
        assert!(in_time, "{what}: {:?}, {}", ran.took, ran.said);
        assert!(!ran.said.contains("internal error"), "{what}: {}", ran.said);
    }
}
