//! Incidents that somebody asks for: now, and of what was recorded before.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;

use crate::harness::{Recorder, freezeframe, incident, run, server};

fn json(arguments: &[&str]) -> Value {
    let answer = run(arguments);
    let said = String::from_utf8_lossy(&answer.stderr);
    assert!(answer.status.success(), "{arguments:?}: {said}");
    serde_json::from_slice(&answer.stdout).unwrap()
}

fn wall(value: &Value) -> Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

#[test]
fn a_running_recorder_takes_an_incident_when_it_is_asked() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_str().unwrap();
    let recorder = Recorder::start(&server, dir.path(), &["--no-html"]);
    recorder.warm_up(12);
    let began = Instant::now();
    let told = json(&["capture", "--for", "4s", "--dir", at, "--json"]);
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "it is not waited for what comes after"
    );
    assert_eq!(told["incident"]["triggers"][0]["rule"], "asked", "{told}");
    let asked = recorder.event("asked");
    let written = recorder.event_where("written", |event| event["id"] == asked["id"]);
    let taken = incident(&written);
    let length = taken.stall.end.unwrap() - taken.stall.onset;
    assert!((3_900..=4_600).contains(&length), "{length}");
    assert!(
        taken.stall.onset - taken.window.from >= 5_000,
        "the time before is in it"
    );
    assert!(!taken.stacks.runs.is_empty() || !taken.absent.is_empty());

    // A server that freezes meanwhile: that is what the incident is about, and what is listed.
    recorder.ask();
    recorder.event("asked");
    std::thread::sleep(Duration::from_secs(2));
    let paused = Instant::now();
    server.pause().unwrap();
    let told = recorder.event_of(&["again", "triggered"], |_| true);
    std::thread::sleep(Duration::from_secs(3));
    server.resume().unwrap();
    let real = paused.elapsed().as_secs_f64();
    let ended = recorder.event("ended");
    let written = recorder.event_where("written", |event| event["id"] == told["id"]);
    let taken = incident(&written);
    assert_ne!(taken.stall.triggers[0].rule, "asked", "{:?}", taken.stall);
    assert!(
        taken
            .stall
            .triggers
            .iter()
            .any(|trigger| trigger.rule == "asked")
    );
    let length = wall(&ended["end"])
        .duration_since(wall(&told["onset"]))
        .as_secs_f64();
    assert!((length - real).abs() < 2.5, "{length}, {real}");

    let missing = run(&["capture", "--label", "nobody", "--dir", at]);
    let said = String::from_utf8_lossy(&missing.stderr);
    assert_eq!(missing.status.code(), Some(1));
    assert!(said.contains("no recorder of 'nobody' runs"), "{said}");
    recorder.stop();
    let left: Vec<String> = crate::harness::files(dir.path());
    assert!(!left.iter().any(|name| name.ends_with(".sock")), "{left:?}");
}

#[test]
fn without_a_recorder_one_is_run_for_this_once() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let answer = freezeframe()
        .args(["capture", "--for", "3s", "--json", "--dir"])
        .arg(dir.path())
        .arg("--socket")
        .arg(server.socket())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&answer.stderr);
    assert!(answer.status.success(), "{said}");
    assert!(
        said.contains("no recorder is asked when a server is named"),
        "{said}"
    );
    let told: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let rules = told["incident"]["triggers"].as_array().unwrap();
    assert!(
        rules.iter().any(|trigger| trigger["rule"] == "asked"),
        "{told}"
    );
    let files = crate::harness::files(dir.path());
    assert!(
        files.iter().any(|name| name.ends_with(".frame")),
        "{files:?}"
    );
    assert!(
        !files.iter().any(|name| name.starts_with("history")),
        "{files:?}"
    );
    for wrong in ["0s", "5h"] {
        let answer = run(&["capture", "--for", wrong]);
        assert_eq!(answer.status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn a_directory_that_takes_no_incident_is_told_before_anybody_waits() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    // The first one is never made, whoever asks; below a file there is no directory.
    for (place, says) in [
        (
            PathBuf::from("/proc/freezeframe"),
            "No such file or directory",
        ),
        (file.clone(), "Not a directory"),
        (file.join("below"), "Not a directory"),
    ] {
        let began = Instant::now();
        let answer = freezeframe()
            .args(["capture", "--for", "3s", "--dir"])
            .arg(&place)
            .arg("--socket")
            .arg(server.socket())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&answer.stderr);
        assert_eq!(answer.status.code(), Some(1), "{said}");
        assert!(began.elapsed() < Duration::from_secs(10), "{said}");
        assert!(said.contains(says), "{said}");
        assert_eq!(said.matches(says).count(), 1, "told once: {said}");
    }
}

#[test]
fn a_directory_that_goes_while_it_is_recorded_ends_the_capture() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let asked = freezeframe()
        .args(["capture", "--for", "1s", "--dir"])
        .arg(&state)
        .arg("--socket")
        .arg(server.socket())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while !state.exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_secs(2));
    // A file in its place: no file can be made below it.
    std::fs::remove_dir_all(&state).unwrap();
    std::fs::write(&state, "").unwrap();
    let began = Instant::now();
    let answer = asked.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&answer.stderr);
    assert_eq!(answer.status.code(), Some(1), "{said}");
    assert!(said.contains("the incident cannot be written"), "{said}");
    assert!(began.elapsed() < Duration::from_secs(60), "{said}");
}

#[test]
fn any_time_of_the_history_can_be_explained() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_str().unwrap();
    let recorder = Recorder::start(&server, dir.path(), &["--no-html"]);
    recorder.warm_up(12);
    let calm = Timestamp::now().to_string();
    std::thread::sleep(Duration::from_secs(4));
    server.pause().unwrap();
    let from = Timestamp::now();
    std::thread::sleep(Duration::from_secs(4));
    server.resume().unwrap();
    let to = Timestamp::now();
    let ended = recorder.event("ended");
    recorder.event("written");

    // Beside the recorder that goes on writing: the history is a second or two behind.
    std::thread::sleep(Duration::from_secs(4));
    let answer = run(&[
        "explain", "--at", &calm, "--for", "1m", "--dir", at, "--json", "--keep",
    ]);
    let said = String::from_utf8_lossy(&answer.stderr);
    assert!(answer.status.success(), "{said}");
    assert!(
        said.contains("was captured, with stacks: freezeframe explain"),
        "{said}"
    );
    let told: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let head = &told["incident"];
    let onset = wall(&head["onset"]).duration_since(from).as_secs_f64();
    assert!(onset.abs() < 2.0, "onset {onset}: {head}");
    let length = head["duration_seconds"].as_f64().unwrap();
    let real = to.duration_since(from).as_secs_f64();
    assert!((length - real).abs() < 2.5, "{length}, {real}");
    // What the detector says of the recording is what it said then.
    let again = wall(&ended["end"])
        .duration_since(wall(&head["onset"]))
        .as_secs_f64();
    assert!(
        (again - length).abs() < 0.5,
        "{again}, {length}: {ended}, {head}"
    );
    let kept = told["sources"][0]["path"].as_str().unwrap();
    assert_eq!(
        json(&["explain", kept, "--json"])["incident"]["onset"],
        head["onset"]
    );

    // A time in which nothing was noticed is one as well.
    let calm = json(&[
        "explain", "--at", &calm, "--for", "2s", "--dir", at, "--json",
    ]);
    assert_eq!(calm["incident"]["triggers"][0]["rule"], "asked", "{calm}");
    for (when, code, text) in [
        ("2001-01-01T00:00:00Z", 1, "nothing was recorded"),
        ("2101-01-01T00:00:00Z", 2, "in the future"),
        ("soon", 2, "not a time"),
    ] {
        let answer = run(&["explain", "--at", when, "--dir", at]);
        let said = String::from_utf8_lossy(&answer.stderr);
        assert_eq!(answer.status.code(), Some(code), "{said}");
        assert!(said.contains(text) && said.lines().count() == 1, "{said}");
    }
    recorder.stop();
}
