//! `freezeframe fleet`: a store, a directory of incidents, and questions to both.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{SystemTime, UNIX_EPOCH};

use model::{
    Clock, Fact, FrameSide, Incident, Profile, ProfileCount, Reading, Server, StackEnd,
    StackEvidence, StackFrame, StackTable, Stall, TimedFact, Timeline, Trigger, Unit, Window,
};
use serde_json::Value;

use crate::harness::{freezeframe, run};

/// An hour ago: what is too old goes from a store.
fn zero_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap() - 3_600_000
}

/// A stall of a host, so many minutes later, in this function.
fn incident(host: &str, minute: i64, function: &str) -> Incident {
    let mut timeline = Timeline::default();
    for second in 0..60_u64 {
        let rate = if second < 40 {
            second
        } else {
            400 + second * 1000
        };
        let reading = Reading::counter("vmstat.compact_stall", Unit::Count, rate as f64);
        timeline.push_readings("vmstat", second * 1000, &[reading]);
    }
    let mut book = StackTable::default();
    let frame = StackFrame {
        name: function.to_owned(),
        image: "mariadbd".to_owned(),
        side: FrameSide::User,
        nameless: None,
    };
    let stack = book.intern([frame], StackEnd::Complete);
    let clock = Clock {
        wall_at_zero_ms: zero_ms() + minute * 60_000,
        boot_id: String::new(),
    };
    Incident {
        id: format!("3306-stall-{minute}"),
        host: host.to_owned(),
        tool_version: "0.1.0".to_owned(),
        server: Server {
            label: "3306".to_owned(),
            version: "10.11.6-MariaDB".to_owned(),
            pid: None,
            address: String::new(),
        },
        clock,
        stall: Stall {
            onset: 40_000,
            trigger: 41_000,
            end: Some(50_000),
            triggers: vec![Trigger {
                rule: "query-probe".to_owned(),
                says: "SELECT 1 takes 2 s".to_owned(),
            }],
            earlier: Vec::new(),
        },
        window: Window {
            from: 0,
            to: 59_000,
        },
        timeline,
        texts: Vec::new(),
        facts: vec![TimedFact {
            at: 0,
            fact: Fact {
                name: "host.kernel".to_owned(),
                value: "6.1.0".to_owned(),
            },
        }],
        stacks: StackEvidence {
            book,
            profiles: vec![Profile {
                from: 40_000,
                to: 50_000,
                hz: 50,
                processors: 2,
                counts: vec![ProfileCount {
                    stack,
                    thread: "connection".to_owned(),
                    server: true,
                    count: 500,
                }],
                lost: 0,
            }],
            ..StackEvidence::default()
        },
        queries: Vec::new(),
        mentions: Vec::new(),
        known_words: Vec::new(),
        absent: Vec::new(),
    }
}

/// Three hosts; two stalled in the same function.
fn frames(dir: &Path) -> Vec<PathBuf> {
    [("db1", 1, "spin"), ("db2", 2, "spin"), ("db3", 3, "sort")]
        .map(|(host, minute, function)| {
            let below = dir.join(host);
            store::write_incident(&incident(host, minute, function), &below).unwrap()
        })
        .into()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The one line of an error, and its exit code.
fn refused(arguments: &[&str]) -> (String, i32) {
    let output = run(arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told.trim_end().lines().count(), 1, "{told}");
    (told, output.status.code().unwrap())
}

fn ask(arguments: &[&str]) -> Value {
    let output = freezeframe()
        .args(["fleet", "ask", "--json"])
        .args(arguments)
        .output()
        .unwrap();
    serde_json::from_str(&said(&output)).unwrap()
}

#[test]
fn a_store_answers_as_a_directory_does() {
    let room = tempfile::tempdir().unwrap();
    let dir = room.path().join("frames");
    let files = frames(&dir);
    let url = format!("sqlite://{}", room.path().join("fleet.db").display());
    let init = said(&run(&["fleet", "init", &url]));
    assert!(init.contains("a store is made"), "{init}");
    let again = said(&run(&["fleet", "init", &url]));
    assert!(again.contains("nothing was changed"), "{again}");
    let dir = dir.to_str().unwrap();
    let added = said(&run(&["fleet", "add", &url, dir, "--cluster", "shop"]));
    assert!(added.starts_with("3 incidents added. Ask: "), "{added}");
    let added = said(&run(&["fleet", "add", &url, dir]));
    assert!(
        added.starts_with("0 incidents added, 3 were there"),
        "{added}"
    );

    let first = files[0].to_str().unwrap();
    let like = |from: [&str; 2]| {
        let told = ask(&["like-this", from[0], from[1], "--incident", first]);
        assert_eq!(told["incident"]["name"], "3306-stall-1");
        told["rows"].clone()
    };
    let (of_store, of_dir) = (like(["--url", &url]), like(["--dir", dir]));
    assert_eq!(of_store, of_dir);
    assert_eq!(of_store[0]["host"], "db2:3306");
    assert_eq!(of_store[0]["alike"], "shape, 100 % of stacks");
    assert_eq!(of_store.as_array().unwrap().len(), 1);
    for question in ["unnamed", "costs", "at-once", "new-in-stalls"] {
        let since = ["--since", "2d"];
        let of = |from: [&str; 2]| ask(&[question, from[0], from[1], since[0], since[1]]);
        let (of_store, of_dir) = (of(["--url", &url]), of(["--dir", dir]));
        assert_eq!(of_store["rows"], of_dir["rows"], "{question}");
    }
    // Each minute one: within no 30 s of each other.
    assert_eq!(
        ask(&["at-once", "--dir", dir])["rows"],
        Value::Array(Vec::new())
    );
    assert_eq!(
        ask(&["costs", "--dir", dir])["rows"][0]["stall_seconds"],
        30.0
    );
}

#[test]
fn people_see_a_table_the_statement_and_the_questions() {
    let room = tempfile::tempdir().unwrap();
    frames(room.path());
    let dir = room.path().to_str().unwrap();
    let text = said(&run(&["fleet", "ask", "unnamed", "--dir", dir]));
    for part in [
        "look alike?",
        "3 incidents of 3 servers",
        "SHAPE",
        "heaviest functions: spin",
        ".frame",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let questions = said(&run(&["fleet", "ask"]));
    assert!(
        questions.lines().filter(|line| line.ends_with('?')).count() == 10,
        "{questions}"
    );
    let sql = said(&run(&["fleet", "ask", "costs", "--sql"]));
    assert!(
        sql.contains("-- :since is") && sql.contains("GROUP BY cause"),
        "{sql}"
    );
    let empty = said(&run(&["fleet", "ask", "remedies", "--dir", dir]));
    assert!(empty.contains("No remedy is in the store"), "{empty}");
}

#[test]
fn what_cannot_be_asked_is_told_in_one_line() {
    let room = tempfile::tempdir().unwrap();
    let dir = room.path().to_str().unwrap();
    let url = format!("sqlite://{dir}/fleet.db");
    let (told, code) = refused(&["fleet", "ask", "costs", "--dir", dir]);
    assert!(told.contains("no incident is there") && code == 1, "{told}");
    let (told, code) = refused(&["fleet", "ask", "costs", "--url", &url]);
    assert!(
        told.contains("freezeframe fleet init sqlite://") && code == 1,
        "{told}"
    );
    said(&run(&["fleet", "init", &url]));
    let (told, code) = refused(&["fleet", "ask", "costs", "--url", &url]);
    assert!(
        told.contains("freezeframe fleet add sqlite://") && code == 1,
        "{told}"
    );
    let (told, code) = refused(&["fleet", "ask", "costs", "--url", "mysql://db1"]);
    assert!(told.contains("sqlite:///DIR/FILE") && code == 2, "{told}");
    let (told, code) = refused(&["fleet", "ask", "costs", "--url", "http://db1:8123/fleet"]);
    assert!(told.contains("ClickHouse") && code == 1, "{told}");
    let (told, code) = refused(&["fleet", "ask", "costs", "--incident", "x"]);
    assert!(told.contains("only like-this") && code == 2, "{told}");
    let text = room.path().join("note.txt");
    std::fs::write(&text, "Threads_running 900\n").unwrap();
    let output = run(&[
        "fleet",
        "add",
        &url,
        text.to_str().unwrap(),
        "/nowhere.frame",
    ]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), told.lines().count()),
        (Some(1), 2),
        "{told}"
    );
    assert!(
        told.contains("no incident of freezeframe") && told.contains("/nowhere.frame"),
        "{told}"
    );
    std::fs::remove_file(room.path().join("fleet.db.salt")).unwrap();
    let (told, code) = refused(&["fleet", "add", &url, text.to_str().unwrap()]);
    assert!(
        told.contains("the salt of the store is missing") && code == 1,
        "{told}"
    );
    let output = run(&["fleet", "ask", "weather"]);
    assert_eq!(output.status.code(), Some(2));
}
