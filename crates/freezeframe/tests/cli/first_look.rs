//! What is told first: of one incident, and of all that were caught.

use std::path::Path;

use serde_json::Value;
use testbed::{IncidentSize, made_incident};

use crate::harness::run;

fn text(arguments: &[&str]) -> String {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// An incident of another server, so much later, and so long.
fn incident(dir: &Path, label: &str, later_ms: i64, length_ms: u64) {
    let mut incident = made_incident(&IncidentSize::small());
    incident.id = format!("{label}-{later_ms}");
    incident.server.label = label.to_owned();
    incident.clock.wall_at_zero_ms += later_ms;
    incident.stall.end = Some(incident.stall.onset + length_ms);
    store::write_incident(&incident, dir).unwrap();
}

#[test]
fn one_incident_is_told_in_a_few_lines_and_the_rest_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let frame = store::write_incident(&made_incident(&IncidentSize::small()), dir.path()).unwrap();
    let frame = frame.to_str().unwrap();
    let brief = text(&["explain", frame]);
    assert!(brief.starts_with("users felt  "), "{brief}");
    assert!(brief.lines().count() <= 30, "{brief}");
    for label in ["\ncause  ", "\ndo now  ", "\nhow sure  ", "\nsince  "] {
        assert!(brief.contains(label), "{label:?}: {brief}");
    }
    assert!(brief.contains("\nEverything: add --full."), "{brief}");
    // Nobody looks on: no codes of colours, and 80 columns.
    assert!(!brief.contains('\u{1b}'));
    assert!(
        brief.lines().all(|line| line.chars().count() <= 80),
        "{brief}"
    );
    let full = text(&["explain", frame, "--full"]);
    assert!(full.starts_with("users felt  "), "{full}");
    for part in ["\nincident  ", "\nINPUT\n"] {
        assert!(full.contains(part) && !brief.contains(part), "{part:?}");
    }
    for other in [&["--json"][..], &["--html", "-"]] {
        let wrong = [&["explain", frame, "--full"], other].concat();
        assert_eq!(run(&wrong).status.code(), Some(2), "{other:?}");
    }
}

#[test]
fn a_capture_without_a_finding_says_what_would_decide() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("post.md");
    let post = "All sessions stood in Waiting for table metadata lock after an ALTER TABLE.\n";
    std::fs::write(&path, post).unwrap();
    let brief = text(&["explain", path.to_str().unwrap()]);
    for part in [
        "\ncause       Unknown. It may be: Metadata lock: sessions queue for a table",
        "\nwas doing   The text speaks of ",
        "\ndo now      While it lasts, record the list of sessions: mysql -e 'SHOW FULL",
    ] {
        assert!(brief.contains(part), "{part:?}: {brief}");
    }
    // Nothing is mended for a guess.
    assert!(!brief.contains("Fix:"), "{brief}");
}

/// Who knows the directory alone means the last stall in it.
#[test]
fn a_recorder_s_directory_stands_for_its_newest_incident() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    incident(dir.path(), "3306", 0, 30_000);
    incident(dir.path(), "3306", 3_600_000, 2_000);
    for beside in ["history-3306.db", "stalls.jsonl"] {
        std::fs::write(dir.path().join(beside), "").unwrap();
    }
    let output = run(&["explain", folder]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let mut frames = crate::harness::files(dir.path());
    frames.retain(|name| name.ends_with(".frame"));
    let newest = frames.iter().max().unwrap();
    let told = format!("the newest incident there: {folder}/{newest}\n");
    assert!(said.ends_with(&told), "{said}");
    let brief = String::from_utf8(output.stdout).unwrap();
    assert!(brief.starts_with("users felt  "), "{brief}");
}

#[test]
fn a_stall_whose_file_is_still_to_come_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    let now = jiff::Timestamp::now().as_millisecond();
    let begun = |id: &str, onset: i64| {
        format!(
            "{{\"server\":\"3306\",\"onset_ms\":{onset},\"trigger_ms\":{onset},\"rule\":\"work-stops\",\
             \"says\":\"8 of 10 sessions hang\",\"incident\":\"{id}\"}}\n"
        )
    };
    let file = dir.path().join("stalls.jsonl");
    let list = || text(&["incidents", "--dir", folder]);
    std::fs::write(&file, begun("3306-x", now - 20_000)).unwrap();
    let lasting = list();
    assert!(
        lasting.contains("a stall, which may last still: 8 of 10 sessions hang"),
        "{lasting}"
    );
    assert!(lasting.contains("freezeframe live --dir "), "{lasting}");
    assert!(!lasting.contains("no incident"), "{lasting}");
    let end = format!(
        "{{\"server\":\"3306\",\"onset_ms\":{},\"end_ms\":{}}}\n",
        now - 20_000,
        now - 7_000
    );
    std::fs::write(&file, begun("3306-x", now - 20_000) + &end).unwrap();
    assert!(list().contains("a stall of 13 s: 8 of 10"), "{}", list());
    // Yesterday's was deleted meanwhile.
    std::fs::write(&file, begun("3306-x", now - 86_400_000)).unwrap();
    assert!(list().starts_with("no incidents in "), "{}", list());
    // What has its file is not told twice.
    incident(dir.path(), "3306", 0, 30_000);
    let there = crate::harness::files(dir.path());
    let frame = there.iter().find_map(|name| name.strip_suffix(".frame"));
    std::fs::write(&file, begun(frame.unwrap(), now - 20_000)).unwrap();
    let told = list();
    assert!(
        told.starts_with("1 incident in ") && !told.contains("no file yet"),
        "{told}"
    );
}

#[test]
fn incidents_are_listed_sorted_and_filtered() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    incident(dir.path(), "3306", 0, 30_000);
    incident(dir.path(), "3306", 3_600_000, 2_000);
    incident(dir.path(), "3307", 7_200_000, 5_000);
    let not_captured = "{\"server\":\"3306\",\"onset_ms\":1795176000000,\"trigger_ms\":1795176001000,\
                        \"end_ms\":1795176009000,\"rule\":\"work-stops\",\"says\":\"40 sessions hang\",\
                        \"cause\":\"disk-full\"}\n";
    std::fs::write(dir.path().join("stalls.jsonl"), not_captured).unwrap();
    let list = |more: &[&str]| text(&[&["incidents", "--dir", folder], more].concat());
    let lengths = |list: &str| -> Vec<String> {
        let rows = list
            .lines()
            .filter(|line| line.starts_with("20") && !line.contains("hang"));
        let of_row = |row: &str| {
            let at = row.find(" s  330").expect("a length");
            row[..at]
                .split(' ')
                .next_back()
                .unwrap_or_default()
                .to_owned()
        };
        rows.map(of_row).collect()
    };
    let all = list(&[]);
    assert!(all.starts_with("3 incidents in "), "{all}");
    assert!(
        all.contains("\nWHEN ") && all.contains("HOW LONG  SERVER  CAUSE\n"),
        "{all}"
    );
    assert_eq!(lengths(&all), ["5.0", "2.0", "30"], "{all}");
    assert_eq!(lengths(&list(&["--sort", "length"])), ["30", "5.0", "2.0"]);
    assert_eq!(lengths(&list(&["--sort", "server"])), ["2.0", "30", "5.0"]);
    assert_eq!(lengths(&list(&["--server", "3306"])), ["2.0", "30"]);
    assert_eq!(lengths(&list(&["--longer", "5s"])), ["5.0", "30"]);
    assert_eq!(lengths(&list(&["--shorter", "5s"])), ["5.0", "2.0"]);
    let latest = list(&["--limit", "1"]);
    assert_eq!(lengths(&latest), ["5.0"]);
    assert!(latest.starts_with("1 of 3 incidents in "), "{latest}");
    assert!(
        latest.contains("\n2 more; to show all: --limit 0\n"),
        "{latest}"
    );
    // What was not captured is listed as ever, where it is asked for.
    let stall = "stalls that were noticed, but not captured\n";
    assert!(
        all.contains(stall) && all.contains("40 sessions hang; cause: Disk full"),
        "{all}"
    );
    assert!(!list(&["--server", "3307"]).contains(stall));
    let full = list(&["--cause", "disk-full"]);
    assert!(full.contains(stall) && lengths(&full).is_empty(), "{full}");
    assert!(list(&["--since", "2100-01-01"]).starts_with("no incident in "));
    for wrong in [
        ["--cause", "nonsense"],
        ["--since", "soon"],
        ["--sort", "x"],
    ] {
        let output = run(&[&["incidents", "--dir", folder][..], &wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }

    let listed: Value = serde_json::from_str(&list(&["--json"])).unwrap();
    let first = &listed[0];
    for (field, value) in [
        ("id", Value::from("3307-7200000")),
        ("duration_seconds", Value::from(5.0)),
    ] {
        assert_eq!(first[field], value, "{first}");
    }
    for field in [
        "path", "host", "server", "onset", "trigger", "end", "triggers", "felt",
    ] {
        assert!(!first[field].is_null(), "{field}: {first}");
    }
    for field in ["cause", "title", "level", "previous"] {
        assert!(first.get(field).is_some(), "{field}: {first}");
    }
    let last = &listed[3];
    assert_eq!(last["cause"], "disk-full");
    assert_eq!(last["felt"], "40 sessions hang");
    assert_eq!(last["duration_seconds"], 9.0);
}

/// A stall that lasts still when its recording ends is told by how long it was seen, and not as one that never ends.
#[test]
fn a_stall_without_a_recorded_end_has_a_length() {
    let dir = tempfile::tempdir().unwrap();
    let mut incident = testbed::made_incident(&testbed::IncidentSize::small());
    incident.stall.end = None;
    let seen = incident.window.to - incident.stall.onset;
    store::write_incident(&incident, dir.path()).unwrap();
    let output = run(&["incidents", "--dir", dir.path().to_str().unwrap()]);
    let list = String::from_utf8(output.stdout).unwrap();
    let length = format!(" > {}  ", report::duration(seen));
    assert!(list.contains(&length), "'{length}' is not in: {list}");
}
