//! The lab's scenarios. The long list of them is run by `make lab`.

use std::collections::BTreeSet;

use lab::{WITHHELD_SOME, Withheld};
use serde_json::Value;

use crate::harness::run;

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
    let scenarios = json(&["lab", "list", "--json"]);
    let causes = json(&["causes", "--json"]);
    let causes = texts(&causes["causes"], "id");
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
    let outcome = json(&["lab", "run", scenario, "--brief", "--json", "--dir", at]);
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
