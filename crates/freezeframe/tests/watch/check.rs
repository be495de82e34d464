//! The audit of real servers: a healthy one gets few lines, one that is set up badly gets its own.

use std::time::Duration;

use mysql::prelude::Queryable;
use serde_json::Value;
use testbed::{Error, Options, PrivateServer, ServerKind};

use crate::harness::{run, server};

/// Notes that a healthy default server may get at the most.
const NOTES_MAX: usize = 2;

fn audit(server: &PrivateServer, more: &[&str]) -> (Value, i32) {
    let socket = server.socket();
    let mut arguments = vec!["check", "--json", "--exit-code", "--socket"];
    arguments.push(socket.to_str().unwrap());
    arguments.extend(more);
    let output = run(&arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let answers: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    (answers[0]["audit"].clone(), output.status.code().unwrap())
}

fn rules<'a>(audit: &'a Value, severity: &str) -> Vec<&'a str> {
    let lines = audit["lines"].as_array().unwrap();
    lines
        .iter()
        .filter(|line| line["severity"] == severity)
        .map(|line| line["rule"].as_str().unwrap())
        .collect()
}

/// What other work on this machine may bring about is no matter of the server.
const OF_THE_HOST: [&str; 8] = [
    "huge-pages",
    "direct-reclaim",
    "steal",
    "dirty-pages",
    "slow-flush",
    "accept-queue",
    "cgroup-cpu",
    "mount",
];

fn gets_few_lines(kind: ServerKind) {
    let started = PrivateServer::start(&Options {
        kind,
        ..Options::default()
    });
    let server = match started {
        Err(error @ Error::NotFetched { .. }) => {
            eprintln!("skipped: {error}");
            return;
        }
        other => other.unwrap(),
    };
    let (audit, _) = audit(&server, &[]);
    eprintln!("{kind:?}: {audit:#}");
    let own = |rule: &&str| !OF_THE_HOST.contains(rule);
    let serious: Vec<&str> = rules(&audit, "serious").into_iter().filter(own).collect();
    let notes: Vec<&str> = rules(&audit, "note").into_iter().filter(own).collect();
    assert!(serious.is_empty(), "{kind:?}: {serious:?}");
    assert!(notes.len() <= NOTES_MAX, "{kind:?}: {notes:?}");
    // Evidence was there: most rules were judged.
    let fine = audit["fine"].as_array().unwrap().len();
    let not_judged = audit["not_judged"].as_array().unwrap().len();
    assert!(fine > 3 * not_judged, "{kind:?}: {audit:#}");
}

#[test]
fn a_healthy_default_mariadb_gets_few_lines() {
    gets_few_lines(ServerKind::MariaDb);
}

#[test]
fn a_healthy_default_mariadb_11_gets_few_lines() {
    gets_few_lines(ServerKind::MariaDb11);
}

#[test]
fn a_healthy_default_mysql_5_5_gets_few_lines() {
    gets_few_lines(ServerKind::MySql55);
}

#[test]
fn a_healthy_default_mysql_9_gets_few_lines() {
    gets_few_lines(ServerKind::MySql9);
}

#[test]
fn a_server_that_will_stall_gets_its_lines_and_an_exit_code() {
    let server = server(&[
        "--general-log=ON",
        "--log-output=FILE",
        "--query-cache-type=1",
        "--query-cache-size=512M",
        "--max-connections=12",
    ]);
    let connect = || {
        server
            .login()
            .connect(false, Duration::from_secs(30))
            .unwrap()
    };
    let mut owner = connect();
    owner.query_drop("CREATE DATABASE shop").unwrap();
    owner
        .query_drop("CREATE TABLE shop.stock (id INT PRIMARY KEY) ENGINE=InnoDB")
        .unwrap();
    owner
        .query_drop("CREATE TABLE shop.other (id INT PRIMARY KEY) ENGINE=InnoDB")
        .unwrap();
    owner.query_drop("BEGIN").unwrap();
    owner.query_drop("SELECT COUNT(*) FROM shop.stock").unwrap();
    let changers: Vec<_> = (0..5)
        .map(|_| {
            let mut connection = connect();
            std::thread::spawn(move || {
                connection.query_drop("ALTER TABLE shop.stock ADD COLUMN IF NOT EXISTS n INT")
            })
        })
        .collect();
    // Statements, so that the cache is used.
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let until = stop.clone();
    let mut busy = connect();
    let load = std::thread::spawn(move || {
        while !until.load(std::sync::atomic::Ordering::Relaxed) {
            busy.query_drop("SELECT COUNT(*) FROM shop.other").unwrap();
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let (audit, code) = audit(&server, &["--look", "4s"]);
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    load.join().unwrap();
    owner.query_drop("COMMIT").unwrap();
    for changer in changers {
        changer.join().unwrap().unwrap();
    }
    assert_eq!(code, 4, "{audit:#}");
    let serious = rules(&audit, "serious");
    for rule in ["metadata-locks", "query-cache"] {
        assert!(serious.contains(&rule), "{rule}: {audit:#}");
    }
    let notes = rules(&audit, "note");
    assert!(notes.contains(&"general-log"), "{audit:#}");
    let line = audit["lines"]
        .as_array()
        .unwrap()
        .iter()
        .find(|line| line["rule"] == "metadata-locks")
        .unwrap();
    assert_eq!(line["cause"], "mdl-pileup");
    assert_eq!(line["remedy"], "freezeframe fix mdl-pileup");
    let saw = line["saw"].as_str().unwrap();
    assert!(saw.starts_with("5 sessions wait"), "{saw}");
}
