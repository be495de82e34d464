//! Taking that is cut short: by Ctrl-C, or by the end of what was looked at. What was taken until
//! then is told.

use std::process::{Child, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::freezeframe;
use crate::profile::baker;
use crate::tool::{Known, bpf_permitted, frames_in, may_sample, user_frames, wait_until};

/// Time for something to be taken once Ctrl-C is caught.
const MEANWHILE: Duration = Duration::from_millis(700);

/// The same where nothing was taken in that time: the machine may be slow.
const LONGER: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(15)];

/// A run of the program that would take a minute; killed when the test ends before it.
struct Long {
    child: Option<Child>,
}

impl Long {
    fn start(arguments: &[&str], meanwhile: Duration) -> Self {
        let child = freezeframe()
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let long = Self { child: Some(child) };
        wait_until("the program to take Ctrl-C", || long.catches_interrupts());
        std::thread::sleep(meanwhile);
        long
    }

    fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// SIGINT is signal 2, so bit 1 (proc(5), SigCgt).
    fn catches_interrupts(&self) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.expect("it ended at once");
        u64::from_str_radix(caught.trim(), 16).unwrap() & 2 != 0
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    fn output(mut self) -> Output {
        self.child.take().unwrap().wait_with_output().unwrap()
    }

    fn document(self) -> Value {
        let output = self.output();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Long {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

const LOCKS: [&str; 4] = ["locks", "--seconds", "60", "--json"];
const STACKS: [&str; 4] = ["stacks", "--samples", "10000", "--json"];
const PROFILE: [&str; 4] = ["profile", "--seconds", "60", "--json"];

fn of(command: &[&'static str], pid: &str, meanwhile: Duration) -> Long {
    let mut arguments: Vec<&str> = command.to_vec();
    arguments.extend(["--pid", pid]);
    Long::start(&arguments, meanwhile)
}

#[test]
fn ctrl_c_ends_the_taking_and_not_the_program() {
    let known = Known::start("convoy", &["5"]);
    let pid = known.pid();
    let stacks = of(&STACKS, &pid, MEANWHILE);
    stacks.signal(Signal::INT);
    let document = stacks.document();
    let samples = document["samples"].as_u64().unwrap();
    assert!((2..10_000).contains(&samples), "{samples}");
    let frames = frames_in(&document["groups"][0]["frames"], "convoy");
    assert_eq!(frames, known.names("waiter_frames"));

    let mut ways: Vec<Vec<&str>> = vec![LOCKS.to_vec()];
    if bpf_permitted() {
        ways.push([&LOCKS[..], &["--exact"]].concat());
    }
    for way in ways {
        let locks = of(&way, &pid, MEANWHILE);
        locks.signal(Signal::TERM);
        let document = locks.document();
        assert!(document["seconds"].as_f64() < Some(60.0));
        assert_eq!(document["locks"][0]["name"], "convoy_mutex", "{document}");
    }
}

#[test]
fn ctrl_c_ends_a_profile_with_its_samples() {
    if !may_sample() {
        return;
    }
    let known = baker("0");
    let profile = of(&PROFILE, &known.pid(), MEANWHILE);
    profile.signal(Signal::INT);
    let document = profile.document();
    assert!(document["seconds"].as_f64() < Some(60.0));
    assert_eq!(document["symbols"][0]["name"], "burn_flour", "{document}");
}

#[test]
fn what_was_seen_of_a_process_that_died_is_told() {
    let mut commands: Vec<Vec<&str>> = vec![STACKS.to_vec(), LOCKS.to_vec()];
    if bpf_permitted() {
        commands.push([&LOCKS[..], &["--exact"]].concat());
    }
    for command in commands {
        let (document, expected) = of_the_dying(&command);
        let frames = if command[0] == "stacks" {
            user_frames(&document["groups"][0]["frames"])
        } else {
            assert_eq!(document["locks"][0]["name"], "convoy_mutex", "{document}");
            user_frames(&document["locks"][0]["callers"][0]["frames"])
        };
        for name in &expected {
            assert!(frames.contains(&name.as_str()), "{command:?}: {frames:?}");
        }
    }
}

/// What a command tells of a convoy that is killed while it looks, and the convoy's waiters' frames.
fn of_the_dying(command: &[&'static str]) -> (Value, Vec<String>) {
    for meanwhile in [MEANWHILE].into_iter().chain(LONGER) {
        let known = Known::start("convoy", &["5"]);
        let long = of(command, &known.pid(), meanwhile);
        let expected = known.names("waiter_frames");
        drop(known);
        let output = long.output();
        if output.status.success() {
            return (serde_json::from_slice(&output.stdout).unwrap(), expected);
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        // While it was looked at, or before the program had begun to look.
        let is_too_early = stderr.contains("is gone") || stderr.contains("has ended");
        assert!(is_too_early, "{stderr}");
    }
    panic!("{command:?} told nothing of what it had seen");
}
