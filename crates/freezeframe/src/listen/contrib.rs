//! What `contrib/` asks of the metrics is what they are: a dashboard for Grafana, alerts for Prometheus.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use recorder::Pulse;
use serde_json::Value;

use super::Board;
use super::exposition::Format;
use super::metrics::text;

const DASHBOARD: &str = "grafana/freezeframe.json";
const RULES: &str = "prometheus/freezeframe.rules.yml";

fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../contrib", name]
        .iter()
        .collect()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

/// The names of all metrics, as they are told.
fn metric_names() -> BTreeSet<String> {
    let board = Board::default();
    board.add("3306", "db1:3306", Arc::new(Pulse::default()));
    board.retention(Arc::default());
    let text = text(&board, Format::Text);
    let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    kinds
        .filter_map(|line| line.split(' ').next().map(str::to_owned))
        .collect()
}

/// The names of ours in a text.
fn queried_metrics(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_name(c));
    words
        .filter(|word| word.starts_with("freezeframe_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_dashboard_shows_metrics_that_there_are() {
    let text = read(DASHBOARD);
    let board: Value = serde_json::from_str(&text).unwrap();
    let (told, asked) = (metric_names(), queried_metrics(&text));
    let unknown: Vec<&String> = asked.difference(&told).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    // What is told is shown somewhere, too.
    let unseen: Vec<&String> = told.difference(&asked).collect();
    assert!(unseen.is_empty(), "{unseen:?}");
    let panels = board["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels
        .iter()
        .map(|panel| panel["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), panels.len(), "ids are not unique");
    let titles: BTreeSet<&str> = panels
        .iter()
        .map(|panel| panel["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles.len(), panels.len(), "titles are not unique");
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        assert!(!title.is_empty());
        let place = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24 && place("h") > 0, "{title}");
        if panel["type"] == "row" {
            continue;
        }
        assert!(panel["description"].is_string(), "{title}");
        assert!(
            panel["fieldConfig"]["defaults"]["unit"].is_string(),
            "{title}"
        );
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{title}");
        let letters: BTreeSet<&str> = targets
            .iter()
            .map(|target| target["refId"].as_str().unwrap())
            .collect();
        assert_eq!(letters.len(), targets.len(), "{title}");
        for target in targets {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
            let expression = target["expr"].as_str().unwrap();
            assert!(expression.contains("freezeframe_"), "{title}");
            assert_eq!(
                expression.matches('(').count(),
                expression.matches(')').count(),
                "{title}"
            );
        }
    }
    let variables = board["templating"]["list"].as_array().unwrap();
    let is_source = |one: &&Value| one["name"] == "datasource" && one["type"] == "datasource";
    assert_eq!(variables.iter().filter(is_source).count(), 1);
}

#[test]
fn alerts_ask_for_metrics_that_there_are() {
    let text = read(RULES);
    let asked = queried_metrics(&text);
    let unknown: Vec<String> = asked.difference(&metric_names()).cloned().collect();
    assert!(unknown.is_empty() && asked.len() > 5, "{unknown:?}");
    match Command::new("promtool")
        .args(["check", "rules"])
        .arg(path(RULES))
        .output()
    {
        Ok(checked) => assert!(checked.status.success(), "{checked:?}"),
        Err(_) => eprintln!("skipped: there is no promtool, which would check the alerts"),
    }
}

#[test]
fn promtool_finds_nothing_in_the_metrics() {
    let board = Board::default();
    board.add("3306", "db1:3306", Arc::new(Pulse::default()));
    board.retention(Arc::default());
    let text = text(&board, Format::Text);
    let checked = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut checked) = checked else {
        eprintln!("skipped: there is no promtool, which would check the metrics");
        return;
    };
    let mut stdin = checked.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    let output = checked.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
