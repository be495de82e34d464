//! `freezeframe compare` on a history that was made up: ten minutes of a flood, ten without.

use std::path::Path;
use std::process::Output;

use model::{Clock, ProbeOutcome, Reading, Sample, Server, SourceData, Unit};
use serde_json::Value;
use store::{History, HistoryLimits, SessionStart};

use crate::causes::OWN;
use crate::harness::run;

/// 2026-11-20 12:00 UTC.
const ZERO_MS: i64 = 1_795_176_000_000;
const FLOOD_SECONDS: u64 = 600;
const SECONDS: u64 = 1_200;

fn recorded(dir: &Path) {
    let start = SessionStart {
        clock: Clock {
            wall_at_zero_ms: ZERO_MS,
            boot_id: String::new(),
        },
        host: "db7".to_owned(),
        tool_version: "0".to_owned(),
        server: Server {
            label: "3306".to_owned(),
            ..Server::default()
        },
    };
    let path = dir.join("history-3306.db");
    let (mut history, note) = History::open(&path, HistoryLimits::default(), &start).unwrap();
    assert_eq!(note, None);
    let (mut questions, mut warnings) = (0.0, 0.0);
    let mut samples = Vec::new();
    for second in 0..SECONDS {
        let flooded = second < FLOOD_SECONDS;
        let wave = 1.0 + 0.1 * (second as f64 / 7.0).sin();
        let flood = if flooded { 4_000.0 * wave } else { 0.0 };
        warnings += flood;
        questions += flood + 300.0 * wave;
        let status = vec![
            Reading::counter("status.Questions", Unit::Count, questions),
            Reading::counter("status.Com_show_warnings", Unit::Count, warnings),
        ];
        let latency = if flooded { 9_000.0 } else { 300.0 };
        let probe = vec![
            Reading::gauge("probe.query_us", Unit::Microseconds, latency * wave),
            Reading::gauge("probe.query_outcome", Unit::Code, ProbeOutcome::Ok.code()),
        ];
        for (source, readings) in [("status", status), ("probe", probe)] {
            samples.push(Sample {
                source,
                at: second * 1_000,
                took_us: 1,
                outcome: Ok(SourceData {
                    readings,
                    ..SourceData::default()
                }),
            });
        }
    }
    history.append(&samples).unwrap();
}

fn compare(dir: &Path, before: &str, after: &str, more: &[&str]) -> Output {
    let range = |times: &str| {
        let (from, to) = times.split_once('-').unwrap();
        format!("2026-11-20T{from}:00Z..2026-11-20T{to}:00Z")
    };
    let (before, after) = (range(before), range(after));
    let mut arguments = vec!["compare", "--exit-code", "--dir", dir.to_str().unwrap()];
    arguments.extend(["--before", &before, "--after", &after]);
    arguments.extend(more);
    run(&arguments)
}

#[test]
fn a_history_is_compared_with_itself() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    recorded(dir);
    let answer = |before, after, more: &[&str]| {
        let output = compare(dir, before, after, &[&["--json"], more].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        let document: Value = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        (output.status.code().unwrap(), document, text)
    };
    let (code, worked, text) = answer("12:01-12:09", "12:11-12:19", &[]);
    assert_eq!((code, &worked["verdict"]), (0, &Value::from("worked")));
    assert_eq!(worked["format"], "freezeframe-comparison/1");
    assert_eq!(worked["cause"]["id"], "show-warnings-flood");
    assert_eq!(worked["before"]["from"], "2026-11-20T12:01:00.000Z");
    assert_eq!(worked["before"]["seconds"], 480.0);
    let signal = &worked["signals"][0];
    assert_eq!(
        (&signal["id"], &signal["role"]),
        (&"rate".into(), &"deciding".into())
    );
    assert_eq!(signal["fate"], "gone");
    assert_eq!(answer("12:01-12:09", "12:11-12:19", &[]).2, text);
    let (code, worse, _) = answer("12:11-12:19", "12:01-12:09", &[]);
    assert_eq!((code, &worse["verdict"]), (5, &Value::from("worse")));
    let (code, same, _) = answer("12:01-12:05", "12:05-12:09", &[]);
    assert_eq!((code, &same["verdict"]), (4, &Value::from("no-effect")));
    let (code, calm, _) = answer(
        "12:11-12:15",
        "12:15-12:19",
        &["--cause", "show-warnings-flood"],
    );
    assert_eq!((code, &calm["verdict"]), (6, &Value::from("not-proven")));
}

#[test]
fn text_and_page_say_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    recorded(dir);
    let output = compare(dir, "12:01-12:09", "12:11-12:19", &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("Worked: SHOW WARNINGS flood is gone"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let page = dir.join("page.html");
    let path = page.to_str().unwrap();
    let output = compare(dir, "12:01-12:09", "12:11-12:19", &["--html", path]);
    assert!(output.status.success());
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<h1>Worked: ") && page.contains("class=\"line c0\""));
    // Statements and answers, each of both sides; in print once more.
    let (screen, print) = page.split_once("<article class=\"paper").unwrap();
    for form in [screen, print] {
        assert_eq!(form.matches("<svg class=\"strip\"").count(), 4);
        assert!(form.contains("<h1>Worked: "));
    }
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "self-contained"
    );
    assert!(!page.contains("NaN") && !page.contains("<script"));
}

#[test]
fn mistakes_are_told_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let path = dir.to_str().unwrap();
    let told_with = |code: i32, arguments: &[&str], part: &str| {
        let output = run(&[&["compare", "--dir", path], arguments].concat());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
        assert!(stderr.contains(part), "{arguments:?}: {stderr}");
    };
    let told = |arguments: &[&str], part: &str| told_with(1, arguments, part);
    // What no history could make right.
    let wrong = |arguments: &[&str], part: &str| told_with(2, arguments, part);
    told(&["--before", "1h", "--after", "1m"], "no history here");
    told(&["--since-fix"], "no fix was applied here");
    recorded(dir);
    wrong(&[], "name what to compare");
    wrong(&["--before", "1h", "--after", "soon"], "'soon' is neither");
    wrong(&["--before", "x", "--after", "1m"], "'x' is neither");
    wrong(&["--at", "noon"], "'noon' is not a time");
    wrong(&["--at", "25:99"], "'25:99' is not a time");
    wrong(&["/nonexistent.frame"], "name two incidents to compare");
    told(
        &["/nonexistent.frame", "/other.frame"],
        "/nonexistent.frame",
    );
    let old = "2020-01-01T00:00:00Z..2020-01-01T01:00:00Z";
    told(
        &["--before", old, "--after", "1m"],
        "nothing was recorded before",
    );
    let good = ["--before", "2026-11-20T12:01:00Z..2026-11-20T12:05:00Z"];
    let after = ["--after", "2026-11-20T12:11:00Z..2026-11-20T12:15:00Z"];
    wrong(
        &[&good[..], &after, &["--cause", "bad-luck"]].concat(),
        "bad-luck",
    );
    std::fs::write(dir.join("history-3307.db"), "no history".repeat(1000)).unwrap();
    told(&[&good[..], &after].concat(), "--server");
    told(
        &[&good[..], &after, &["--server", "3307"]].concat(),
        "not a database",
    );
}

/// A journal with a fix of the moment in which the flood ended.
fn write_fix(journal: &Path, cause: &str) {
    std::fs::create_dir(journal).unwrap();
    let at_us = (ZERO_MS + 1_000 * FLOOD_SECONDS as i64) * 1_000;
    let until_us = (ZERO_MS + 1_000 * SECONDS as i64) * 1_000;
    let entry = format!(
        r#"{{"version": 1, "id": "aa11", "cause": "{cause}", "state": "undone", "steps": [],
            "taken_us": {at_us}, "ended_us": {until_us}}}"#
    );
    std::fs::write(journal.join("aa11.fix.json"), entry).unwrap();
}

/// A fix of another directory, for a cause that the user's own file tells.
#[test]
fn a_fix_of_elsewhere_and_a_cause_of_one_s_own_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let own = tempfile::tempdir().unwrap();
    let (dir, own) = (dir.path(), own.path());
    recorded(dir);
    let cause = OWN
        .replace("\"own\"", "\"my-flood\"")
        .replace("Com_flush", "Com_show_warnings");
    std::fs::write(own.join("my-flood.toml"), cause).unwrap();
    let fixes = own.join("fixes");
    write_fix(&fixes, "my-flood");
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (dir, own, fixes) = (path(dir), path(own), path(&fixes));
    let since = ["compare", "--json", "--dir", &dir, "--since-fix", "aa11"];
    let nothing = run(&since);
    let stderr = String::from_utf8(nothing.stderr).unwrap();
    assert!(stderr.contains("--fix-dir"), "{stderr}");
    let output = run(&[&since[..], &["--fix-dir", &fixes, "--causes", &own]].concat());
    let compared: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(compared["cause"]["id"], "my-flood");
    assert_eq!(compared["after"]["from"], "2026-11-20T12:10:00.000Z");
    assert_eq!(compared["verdict"], "worked");
}

/// Root's journal is not beside the incidents of a service, which belong to another user.
#[test]
fn beside_a_service_the_journal_of_root_is_looked_for() {
    let of_root = Path::new(remedy::helper::STATE);
    if !rustix::process::geteuid().is_root() || of_root.exists() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    recorded(dir);
    std::os::unix::fs::chown(dir, Some(65_534), None).unwrap();
    let since = |id: &str| {
        let path = dir.to_str().unwrap();
        run(&["compare", "--json", "--dir", path, "--since-fix", id])
    };
    let stderr = String::from_utf8(since("aa11").stderr).unwrap();
    for part in [
        "no fix was applied here",
        "/var/lib/freezeframe-lease/fixes",
        "--fix-dir",
    ] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    // One that the service's own user made.
    write_fix(&dir.join("fixes"), "show-warnings-flood");
    let output = since("aa11");
    let compared: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(compared["verdict"], "worked");
}

#[test]
fn an_incident_beside_itself_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let incident = testbed::made_incident(&testbed::IncidentSize::small());
    let path = store::write_incident(&incident, dir.path()).unwrap();
    let path = path.to_str().unwrap();
    let output = run(&["compare", path, path]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("both files are the same incident"), "{said}");
}
