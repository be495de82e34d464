//! A simulated fleet, and recorders that are killed while they send to one. The workspace's tests build `freezeframe`
//! beside this program.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and what is skipped is said"
)]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// What the lab answers, and its exit code.
fn lab(arguments: &[&str]) -> (Value, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_freezeframe-lab"))
        .args(arguments)
        // Where scripts/fleet-server is.
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let answer = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (answer, output.status.code().unwrap())
}

fn fleet_tests() -> bool {
    let is_wanted = std::env::var_os("FREEZEFRAME_FLEET_TESTS").is_some();
    if !is_wanted {
        eprintln!("skipped: make test-fleet starts the development server");
    }
    is_wanted
}

/// A small fleet: what the store was given, and what it answers.
fn simulated(more: &[&str]) -> Value {
    let size = [
        "fleet",
        "--hosts",
        "12",
        "--days",
        "0.01",
        "--incidents",
        "120",
    ];
    let rest = ["--cases", "60", "--seed", "3", "--json"];
    let (answer, code) = lab(&[&size[..], &rest, more].concat());
    assert_eq!(code, 0, "{answer}");
    // 13 minutes of 12 servers; the last hour of one is silent.
    let minutes = &answer["minutes"];
    let [rows, points] = ["rows", "points"].map(|key| minutes[key].as_u64().unwrap());
    assert!(rows >= 11 * 13 * 12 && points > rows, "{minutes}");
    let questions = answer["questions"].as_array().unwrap();
    assert_eq!(questions.len(), 10);
    let rows_of = |name: &str| {
        let found = questions.iter().find(|one| one["question"] == name);
        found.unwrap()["rows"].as_u64().unwrap()
    };
    for name in [
        "like-this",
        "costs",
        "builds",
        "at-once",
        "remedies",
        "silent",
    ] {
        assert!(rows_of(name) > 0, "{name}: {answer}");
    }
    let alike = &answer["alike"];
    let [asked, right] = ["asked", "right"].map(|key| alike[key].as_u64().unwrap());
    assert_eq!(asked, 60);
    assert!(right * 100 >= asked * 95, "{alike}");
    answer
}

#[test]
fn a_simulated_fleet_is_written_and_asked() {
    let file = simulated(&[]);
    if fleet_tests() {
        let server = simulated(&["--server"]);
        let rows = |answer: &Value| {
            ["incidents", "minutes"].map(|part| answer[part]["rows"].as_u64().unwrap())
        };
        assert_eq!(rows(&server), rows(&file));
        let bytes = server["layouts"]["minutes"]["bytes_per_point"].as_f64();
        assert!(bytes.unwrap() > 0.0, "{server}");
    }
}

/// What recorders send of all signals by the second is as many rows with more seconds in them.
#[test]
fn all_signals_by_the_second_are_as_many_rows() {
    let written = |signals: &str| {
        let size = ["--hosts", "3", "--days", "0.003", "--incidents", "12"];
        let rest = [
            "--cases",
            "0",
            "--seed",
            "3",
            "--json",
            "--signals",
            signals,
        ];
        let (answer, code) = lab(&[&["fleet"][..], &size, &rest].concat());
        assert_eq!(code, 0, "{answer}");
        ["rows", "points"].map(|key| answer["minutes"][key].as_u64().unwrap())
    };
    let ([rows, points], [all_rows, all_points]) = (written("all"), written("seconds"));
    assert_eq!(all_rows, rows);
    assert!(all_points > points, "{all_points} {points}");
}

/// Recorders and a gateway that are killed, and in `make test-fleet` a server as well.
fn killed(kills: &str, more: &[&str]) {
    let arguments = [
        "fleet-kills",
        "--kills",
        kills,
        "--seed",
        "20261125",
        "--json",
    ];
    let (answer, code) = lab(&[&arguments[..], more].concat());
    assert_eq!(
        (code, &answer["right"]),
        (0, &Value::Bool(true)),
        "{answer}"
    );
    assert_eq!(answer["kills"].to_string(), kills);
    assert!(answer["busy"].as_u64().unwrap() > 0, "{answer}");
    let incidents = answer["wanted"]["incidents"][0].as_u64();
    assert_eq!(incidents, kills.parse().ok(), "{answer}");
    eprintln!("{answer}");
}

#[test]
fn recorders_that_are_killed_lose_and_double_nothing() {
    killed("3", &["--gateway"]);
    if fleet_tests() {
        killed("20", &[]);
        killed("60", &["--gateway", "--server"]);
    }
}

/// Recorders that send through a gateway, each with a token of its own.
#[test]
fn what_many_recorders_send_is_all_there() {
    let arguments = [
        "fleet-agents",
        "--agents",
        "60",
        "--minutes",
        "2",
        "--every",
        "2s",
    ];
    let store: &[&str] = if fleet_tests() { &["--server"] } else { &[] };
    let (answer, code) = lab(&[&arguments[..], &["--signals", "asked", "--json"], store].concat());
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["batches"], 120);
    assert!(answer["rows"].as_u64().unwrap() > 240, "{answer}");
    assert_eq!(answer["rows"], answer["rows_in_store"]);
}
