//! The lab as its user meets it. Scenarios need the program `freezeframe` beside this one: the workspace's tests build
//! it. The long list of scenarios is run by `make lab`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};

use diagnosis::Catalogue;
use serde_json::Value;
use testbed::{WITHHELD_SOME, Withheld};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_freezeframe-lab"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = run(arguments);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The text of a field in each of a list.
fn texts<'a>(list: &'a Value, field: &str) -> BTreeSet<&'a str> {
    let list = list.as_array().unwrap().iter();
    list.map(|one| one[field].as_str().unwrap()).collect()
}

#[test]
fn the_truth_of_every_scenario_is_a_cause_of_the_catalogue() {
    let scenarios = json(&["list", "--json"]);
    let catalogue = Catalogue::builtin();
    let causes: BTreeSet<&str> = catalogue
        .causes()
        .iter()
        .map(|cause| cause.id.as_str())
        .collect();
    let truths = texts(&scenarios, "cause");
    assert!(truths.len() >= 12, "{truths:?}");
    let unknown: Vec<_> = truths.difference(&causes).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// What the lab finds of a break that is unmistakable on any machine.
fn named(scenario: &str) {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_str().unwrap();
    let withheld = Withheld::start();
    let outcome = json(&["run", scenario, "--brief", "--json", "--dir", at]);
    // What the hypervisor takes from the machine of the test is true as well, and may stand first.
    let is_of_machine = |wrong: &&Value| {
        withheld.share() >= WITHHELD_SOME && wrong.as_str().unwrap().ends_with(": steal-time")
    };
    let wrong = outcome["wrong"].as_array().unwrap();
    let of_machine = wrong.iter().filter(is_of_machine).count();
    assert_eq!(wrong.len(), of_machine, "{outcome}");
    let rank = outcome["rank"].as_u64().unwrap();
    assert!((1..=1 + of_machine as u64).contains(&rank), "{outcome}");
    assert!(
        outcome["evidence_seconds"].as_f64().unwrap() > 0.0,
        "{outcome}"
    );
}

#[test]
fn a_server_that_stands_still_is_named() {
    named("server-stopped");
}

#[test]
fn sessions_behind_an_alter_table_are_named() {
    named("mdl-pileup");
}

#[test]
fn every_command_shows_how_it_is_used() {
    for command in [
        "", "demo", "bench", "list", "run", "score", "sweep", "healthy",
    ] {
        let mut arguments: Vec<&str> = command.split_whitespace().collect();
        arguments.push("--help");
        let help = String::from_utf8(run(&arguments).stdout).unwrap();
        let example = format!("\n  freezeframe-lab {command}");
        assert!(
            help.contains("Examples:") && help.matches(&example).count() >= 2,
            "{help}"
        );
    }
}

#[test]
fn an_unknown_scenario_is_one_line_that_drives_no_terminal() {
    let output = run(&["run", "x\u{1b}[2J"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.starts_with("freezeframe-lab: ")
            && said.lines().count() == 1
            && !said.contains('\u{1b}'),
        "{said:?}"
    );
}

#[test]
fn without_the_program_the_error_says_where_it_should_be() {
    let dir = tempfile::tempdir().unwrap();
    let alone = dir.path().join("freezeframe-lab");
    std::fs::copy(env!("CARGO_BIN_EXE_freezeframe-lab"), &alone).unwrap();
    let output = Command::new(&alone)
        .args(["run", "mdl-pileup", "--brief"])
        .current_dir(dir.path())
        .env_remove("FREEZEFRAME")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("FREEZEFRAME") && said.contains("cargo build"),
        "{said}"
    );
}
