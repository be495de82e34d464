//! `freezeframe fleet`: a store, a directory of incidents, and questions to both.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
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
pub(crate) fn incident(host: &str, minute: i64, function: &str) -> Incident {
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
            // No two last equally long: which of them is shown as the longest is up to the store.
            end: Some(51_000 - 1000 * u64::try_from(minute).unwrap()),
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
        facts: vec![TimedFact {
            at: 0,
            fact: Fact {
                name: "host.kernel".to_owned(),
                value: "6.1.0".to_owned(),
            },
        }],
        stacks: StackEvidence {
            table: book,
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
        ..Incident::default()
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

pub(crate) fn said(output: &Output) -> String {
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

/// Rows without the identity of an incident, which is another in each store: it is made with its salt.
fn without_identities(mut rows: Value) -> Value {
    for row in rows.as_array_mut().unwrap() {
        if let Some(id) = row.as_object_mut().unwrap().remove("incident") {
            assert_eq!(id.as_str().unwrap().len(), 36);
        }
    }
    rows
}

#[test]
fn a_store_answers_as_a_directory_does() {
    let room = tempfile::tempdir().unwrap();
    let dir = room.path().join("frames");
    let files = frames(&dir);
    let url = format!("sqlite://{}", room.path().join("fleet.db").display());
    let init = said(&run(&["fleet", "init", &url]));
    assert!(init.contains("created a store"), "{init}");
    let again = said(&run(&["fleet", "init", &url]));
    assert!(again.contains("nothing was changed"), "{again}");
    let dir = dir.to_str().unwrap();
    let added = said(&run(&["fleet", "add", &url, dir, "--cluster", "shop"]));
    assert!(added.starts_with("3 incidents added. Ask: "), "{added}");
    let added = said(&run(&["fleet", "add", &url, dir]));
    assert!(
        added.starts_with("0 incidents added, 3 were already there"),
        "{added}"
    );

    let first = files[0].to_str().unwrap();
    let like = |from: [&str; 2]| {
        let told = ask(&["like-this", from[0], from[1], "--incident", first]);
        assert_eq!(told["incident"]["name"], "3306-stall-1");
        without_identities(told["rows"].clone())
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
        27.0
    );
}

/// A remedy whose name means harm to a terminal.
const NASTY_REMEDY: &str = "smaller\u{1b}[2J\u{202e}";

/// Remedies against a cause, as recorders send them: on two servers, whose stalls are an hour old, and on which one came
/// each day before. On the second they went on.
fn tried(url: &str, cause: &str) {
    use ::fleet::row::{Action, Hash64, Proof, RemedyRow, Seconds};
    let path = url.strip_prefix("sqlite://").unwrap();
    let connection = rusqlite::Connection::open(path).unwrap();
    let id = |host: &str| -> i64 {
        let sql = "SELECT host_id FROM hosts WHERE host = ?1";
        connection.query_row(sql, [host], |row| row.get(0)).unwrap()
    };
    let mut batch = ::fleet::Batch::new(::fleet::Token {
        host_id: 9,
        boot: 9,
        seq: 9,
    });
    const DAY: i64 = 86_400;
    for (host, days) in [("db1", 15..25), ("db2", 5..25)] {
        for ago in days {
            let onset = zero_ms() - ago * DAY * 1000;
            let of_that_day = format!(
                "CREATE TEMP TABLE one AS SELECT * FROM incidents WHERE host_id = {} LIMIT 1;
                 UPDATE one SET onset = {onset}, incident_id = '{host}-{ago}';
                 INSERT INTO incidents SELECT * FROM one; DROP TABLE one;",
                id(host)
            );
            connection.execute_batch(&of_that_day).unwrap();
        }
    }
    for (host, ago, remedy) in [
        ("db1", 14 * DAY, NASTY_REMEDY),
        ("db2", 14 * DAY, NASTY_REMEDY),
        ("db1", 1200, "other"),
    ] {
        batch.push(&RemedyRow {
            host_id: Hash64(id(host).cast_unsigned()),
            at: Seconds(zero_ms() / 1000 + 3600 - ago),
            remedy: remedy.to_owned(),
            cause: cause.to_owned(),
            action: Action::Apply,
            proof: Proof::Pending,
            rev: 1,
        });
    }
    let mut store = ::fleet::sqlite::Store::open(Path::new(path)).unwrap();
    store.insert(&batch, zero_ms() / 1000).unwrap();
}

/// Two hosts whose kernel killed the server, twice one of them, and one whose kernel did not.
#[test]
fn an_incident_is_explained_with_what_the_fleet_knows_of_its_cause() {
    let room = tempfile::tempdir().unwrap();
    let killed = "mysqld invoked oom-killer: gfp_mask=0x140dca, order=0, oom_score_adj=0\n\
                  Out of memory: Killed process 4711 (mysqld) total-vm:9034512kB, anon-rss:7801232kB";
    let written = [
        ("db1", 1, killed),
        ("db2", 2, killed),
        ("db2", 4, killed),
        ("db3", 3, ""),
    ];
    let files = written.map(|(host, minute, line)| {
        let mut incident = incident(host, minute, "sort");
        incident.texts = vec![model::TimedText {
            at: 41_000,
            text: server_text::stored(model::TextKind::KernelLog, line),
        }];
        store::write_incident(&incident, &room.path().join(host)).unwrap()
    });
    let (url, room) = (
        format!("sqlite://{}", room.path().join("fleet.db").display()),
        room.path(),
    );
    said(&run(&["fleet", "init", &url]));
    said(&run(&["fleet", "add", &url, room.to_str().unwrap()]));
    let first = files[0].to_str().unwrap();
    let fleet = format!("--fleet={url}");
    let told: Value =
        serde_json::from_str(&said(&run(&["explain", first, "--json", &fleet]))).unwrap();
    let alone: Value = serde_json::from_str(&said(&run(&["explain", first, "--json"]))).unwrap();
    assert_eq!(told["findings"], alone["findings"]);
    let known = &told["fleet"];
    assert_eq!(known["cause"], told["findings"][0]["cause"]);
    assert_eq!(known["days"], 90);
    assert_eq!(known["remedies"], Value::Array(Vec::new()));
    let numbers =
        ["servers", "of_servers", "stalls", "stall_seconds"].map(|key| known[key].as_f64());
    assert_eq!(numbers, [Some(2.0), Some(3.0), Some(3.0), Some(26.0)]);
    // As the configuration says; and a fleet that is gone takes nothing from the verdict.
    let config = room.join("freezeframe.toml");
    std::fs::write(&config, format!("[fleet]\nurl = '{url}'\n")).unwrap();
    let config = config.to_str().unwrap();
    let in_a_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = said(&run(&["explain", first, "--fleet", "--config", config]));
    let text = in_a_line(text);
    let had = "2 of 3 servers had this cause in the last 90 days, 3 times, 26 s in total";
    assert!(text.contains(had), "{text}");
    // With what was tried against it: on the second server stalls came after it as before, on the first one did.
    tried(&url, known["cause"].as_str().unwrap());
    let told: Value =
        serde_json::from_str(&said(&run(&["explain", first, "--json", &fleet]))).unwrap();
    assert_eq!(
        told["fleet"]["remedies"],
        serde_json::json!([
            {"remedy": NASTY_REMEDY, "servers": 2, "helped": 1, "undecided": 0},
            {"remedy": "other", "servers": 1, "helped": 0, "undecided": 1},
        ])
    );
    assert_eq!(told["findings"], alone["findings"]);
    let text = said(&run(&["explain", first, &fleet]));
    assert!(
        !text.contains('\u{1b}') && !text.contains('\u{202e}'),
        "{text}"
    );
    let text = in_a_line(text);
    assert!(text.contains("on 1 of 2 servers smaller\\x1b"), "{text}");
    // Of what may be it, what the fleet had comes first; by itself another one does.
    let ticket = room.join("ticket.txt");
    let story = "The server hangs each night at 3. Waiting for table flush is what half of the sessions show, and it was \
                 close to out of memory.\n";
    std::fs::write(&ticket, story).unwrap();
    let ticket = ticket.to_str().unwrap();
    let causes = |args: &[&str]| -> Vec<String> {
        let all: Value = serde_json::from_str(&said(&run(args))).unwrap();
        let findings = all["findings"].as_array().unwrap().iter();
        assert!(findings.clone().all(|one| one["level"] == "suspicion"));
        findings
            .map(|one| one["cause"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut by_itself = causes(&["explain", ticket, "--json"]);
    let at = by_itself.iter().position(|cause| cause == "oom").unwrap();
    assert!(at > 0, "{by_itself:?}");
    by_itself[..=at].rotate_right(1);
    assert_eq!(causes(&["explain", ticket, "--json", &fleet]), by_itself);
    let gone = run(&["explain", first, "--fleet=sqlite:///nonexistent/fleet.db"]);
    assert_eq!(said(&gone), said(&run(&["explain", first])));
    let error = String::from_utf8(gone.stderr).unwrap();
    assert!(
        error.contains("the fleet: ") && error.contains("/nonexistent"),
        "{error}"
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
    assert!(told.contains("no incidents there") && code == 1, "{told}");
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
    let (told, code) = refused(&["fleet", "ask", "costs", "--incident", "x"]);
    assert!(told.contains("like-this") && code == 2, "{told}");
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
        told.contains("not an incident") && told.contains("/nowhere.frame"),
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

/// What a server is asked that is not there, or cannot be asked so.
#[test]
fn what_clickhouse_cannot_be_asked_is_told_in_one_line() {
    let room = tempfile::tempdir().unwrap();
    let frame = frames(room.path())[0].display().to_string();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://me@127.0.0.1:{port}/fleet");
    let shown = format!("http://127.0.0.1:{port}/fleet: ");
    let salt = room.path().join("fleet.salt").display().to_string();
    for arguments in [
        vec!["fleet", "init", &url, "--salt-file", &salt],
        vec!["fleet", "add", &url, &frame, "--salt-file", &salt],
        vec!["fleet", "ask", "costs", "--url", &url],
    ] {
        let (told, code) = refused(&arguments);
        assert!(told.contains(&shown) && code == 1, "{told}");
    }
    assert!(!Path::new(&salt).exists(), "a salt without a store");
    let (told, code) = refused(&["fleet", "add", &url, &frame]);
    assert!(told.contains("--salt-file") && code == 2, "{told}");
    let open = url.replace("me@", "me:secret@");
    let (told, code) = refused(&["fleet", "init", &open]);
    assert!(
        told.contains("FREEZEFRAME_FLEET_PASSWORD") && !told.contains("secret") && code == 2,
        "{told}"
    );
    let (told, code) = refused(&["fleet", "init", &url, "--ca-file", "/ca.pem"]);
    assert!(told.contains("only for https://") && code == 2, "{told}");
    let (told, code) = refused(&["fleet", "init", "http://db1/a-b"]);
    assert!(
        told.contains("letters, digits and _") && code == 2,
        "{told}"
    );
    let (told, code) = refused(&["fleet", "init", &url, "--on-cluster", "a'b"]);
    assert!(told.contains("the cluster's name") && code == 2, "{told}");
    let (told, code) = refused(&["fleet", "init", "sqlite:/x/f.db", "--on-cluster", "a"]);
    assert!(told.contains("--on-cluster") && code == 2, "{told}");
    // No server is needed to see it.
    let sql = said(&run(&["fleet", "ask", "costs", "--sql", "--url", &url]));
    assert!(
        sql.contains("-- param_since is") && sql.contains("{since:Int64}"),
        "{sql}"
    );
}

/// The development server, which ends when its input does; none when there is none, and that is said.
pub(crate) fn clickhouse(dir: &Path) -> Option<(String, Child)> {
    if std::env::var_os("FREEZEFRAME_FLEET_TESTS").is_none() {
        eprintln!("skipped: make test-fleet starts the development server");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/fleet-server");
    let mut child = Command::new(script)
        .arg("run")
        .arg(dir)
        .env("FLEET_FRONT_PASSWORD", "s3cret word")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let output = child.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    if line.is_empty() {
        child.wait().unwrap();
        eprintln!("skipped: the development server is not there: scripts/fleet-server fetch");
        return None;
    }
    let url = line.trim().replace("http://", "http://default@");
    Some((url + "/freezeframe_test", child))
}

#[test]
fn clickhouse_answers_as_a_directory_does() {
    let room = tempfile::tempdir().unwrap();
    let Some((url, mut server)) = clickhouse(&room.path().join("server")) else {
        return;
    };
    let dir = room.path().join("frames");
    let files = frames(&dir);
    std::fs::remove_dir_all(dir.join("db3")).unwrap();
    let dir = dir.to_str().unwrap();
    let salt = room.path().join("fleet.salt");
    let salt = salt.to_str().unwrap();
    let (told, code) = refused(&["fleet", "init", &url]);
    assert!(
        told.contains("AUTHENTICATION_FAILED") && code == 1,
        "{told}"
    );
    let with_password = |arguments: &[&str]| {
        freezeframe()
            .env("FREEZEFRAME_FLEET_PASSWORD", "s3cret word")
            .args(arguments)
            .output()
            .unwrap()
    };
    let empty = with_password(&["fleet", "ask", "costs", "--url", &url]);
    let told = String::from_utf8(empty.stderr).unwrap();
    assert!(
        told.contains("`freezeframe fleet init` makes one"),
        "{told}"
    );
    let init = || {
        said(&with_password(&[
            "fleet",
            "init",
            &url,
            "--salt-file",
            salt,
        ]))
    };
    let made = init();
    assert!(made.contains("created a store"), "{made}");
    let again = init();
    assert!(again.contains("nothing was changed"), "{again}");
    let empty = with_password(&["fleet", "ask", "costs", "--url", &url]);
    let told = String::from_utf8(empty.stderr).unwrap();
    assert!(
        told.contains("the store is empty") && told.contains("--salt-file"),
        "{told}"
    );
    for _ in 0..2 {
        let added = said(&with_password(&[
            "fleet",
            "add",
            &url,
            dir,
            "--salt-file",
            salt,
            "--cluster",
            "shop",
        ]));
        assert!(
            added.starts_with("2 incidents stored, those already there were judged again. Ask: "),
            "{added}"
        );
    }
    let first = files[0].to_str().unwrap();
    let questions: [(&str, &[&str]); 4] = [
        ("like-this", &["--incident", first]),
        ("costs", &["--since", "2d"]),
        ("unnamed", &["--since", "2d"]),
        ("new-in-stalls", &["--since", "2d"]),
    ];
    for (question, more) in questions {
        let of = |from: [&str; 2]| {
            let asked = ["fleet", "ask", "--json", question, from[0], from[1]];
            let salt: &[&str] = match from[0] {
                "--url" => &["--salt-file", salt],
                _ => &[],
            };
            let answer = said(&with_password(&[&asked, more, salt].concat()));
            let answer: Value = serde_json::from_str(&answer).unwrap();
            without_identities(answer["rows"].clone())
        };
        let of_store = of(["--url", &url]);
        assert_eq!(of_store, of(["--dir", dir]), "{question}");
        if question == "like-this" {
            assert_eq!(of_store[0]["host"], "db2:3306");
        }
    }
    let text = said(&with_password(&["fleet", "ask", "costs", "--url", &url]));
    assert!(text.contains("2 incidents of 2 servers"), "{text}");
    drop(server.stdin.take());
    server.wait().unwrap();
}
