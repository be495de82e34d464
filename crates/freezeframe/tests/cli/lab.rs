//! The lab's scenarios. The long list of them is run by `make lab`.

use std::collections::BTreeSet;

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
    let outcome = json(&["lab", "run", scenario, "--brief", "--json", "--dir", at]);
    assert_eq!(outcome["rank"], 1, "{outcome}");
    assert_eq!(outcome["wrong"], serde_json::json!([]), "{outcome}");
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
