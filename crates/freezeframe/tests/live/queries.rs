//! `queries` of logs that real servers wrote just now.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use serde_json::Value;
use testbed::{Options, PrivateServer, ServerKind};

use crate::harness::run;
use crate::tool::{json, started};

const TIMEOUT: Duration = Duration::from_secs(30);

/// A server that logs everything once it is told to, and what it is asked; `None` when it is not on this machine, which
/// is said.
fn start(kind: ServerKind, more: &[&str]) -> Option<PrivateServer> {
    let mut arguments = vec!["--long-query-time=0".to_owned()];
    arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
    started(&Options {
        kind,
        arguments,
        ..Options::default()
    })
}

/// How often each statement is asked, and what of it is in the log.
const SELECTS: u64 = 40;
const INSERTS: u64 = 7;

/// Switches a log on, asks what is known, and switches it off. Gives its file.
fn log(server: &PrivateServer, log: &str) -> PathBuf {
    let mut admin = server.login().connect(false, TIMEOUT).unwrap();
    admin.query_drop("CREATE DATABASE known").unwrap();
    admin
        .query_drop("CREATE TABLE known.t (a INT, b VARCHAR(80)) ENGINE=InnoDB")
        .unwrap();
    let path = server.directory().join(format!("{log}.log"));
    admin
        .query_drop(format!("SET GLOBAL {log}_file = '{}'", path.display()))
        .unwrap();
    admin.query_drop(format!("SET GLOBAL {log} = 1")).unwrap();
    let mut asked = server.login().connect(false, TIMEOUT).unwrap();
    ask(&mut asked);
    drop(asked);
    admin.query_drop(format!("SET GLOBAL {log} = 0")).unwrap();
    path
}

fn ask(session: &mut Conn) {
    session.query_drop("USE known").unwrap();
    for n in 0..INSERTS {
        session
            .query_drop(format!(
                "INSERT INTO t VALUES ({n}, 'it''s; number\n# {n}'), ({n}, NULL)"
            ))
            .unwrap();
    }
    for n in 0..SELECTS {
        session
            .query_drop(format!(
                "SELECT a, b\nFROM t\n-- of one\nWHERE a = {n} OR b = 'secret {n}'"
            ))
            .unwrap();
    }
    for _ in 0..3 {
        session
            .query_drop("SELECT nothing FROM known.nowhere")
            .unwrap_err();
    }
    // A server logs a statement after its answer; when it answers the next one, that is done.
    session.query_drop("DO 0").unwrap();
}

fn class<'a>(found: &'a Value, start: &str) -> &'a Value {
    let classes = found["classes"].as_array().unwrap();
    let mut those = classes
        .iter()
        .filter(|class| class["fingerprint"].as_str().unwrap().starts_with(start));
    let one = those
        .next()
        .unwrap_or_else(|| panic!("no {start} in {found:#}"));
    assert_eq!(those.next(), None, "{start} is in two classes");
    one
}

fn measure<'a>(class: &'a Value, name: &str) -> &'a Value {
    let measures = class["measures"].as_array().unwrap();
    let found = measures.iter().find(|measure| measure["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {class:#}"))
}

/// What is in every slow log of what was asked.
fn known_is_there(path: &Path) -> Value {
    let text = path.to_str().unwrap();
    let found = json(&["queries", text, "--json"]);
    assert_eq!(found["way"], "slow-log");
    let select = class(&found, "select a, b from t where a");
    assert_eq!(select["count"], SELECTS);
    assert_eq!(select["kind"], "SELECT");
    assert_eq!(select["databases"][0]["name"], "known");
    assert_eq!(select["databases"][0]["count"], SELECTS);
    assert_eq!(select["users"][0]["name"], "root");
    // n from 0 to 6 is in two rows each.
    assert_eq!(measure(select, "Rows_sent")["sum"], 2.0 * INSERTS as f64);
    let examined = (2 * INSERTS * SELECTS) as f64;
    assert_eq!(measure(select, "Rows_examined")["sum"], examined);
    assert_eq!(measure(select, "Query_time")["count"], SELECTS);
    let insert = class(&found, "insert into t values (?+)");
    assert_eq!(insert["count"], INSERTS);
    assert!(!found.to_string().contains("secret"));
    assert!(!found.to_string().contains("number"));
    // Every statement is in one class, and every byte in one statement.
    let total: u64 = found["classes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|class| class["count"].as_u64().unwrap())
        .sum();
    assert_eq!(found["total"], total);
    let output = run(&["queries", text]);
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    agrees_with_peer(path, &found);
    found
}

/// pt-query-digest counts the same statements.
fn agrees_with_peer(path: &Path, found: &Value) {
    let output = std::process::Command::new("pt-query-digest")
        .args([
            "--no-version-check",
            "--limit",
            "100%",
            "--group-by",
            "distill",
        ])
        .args(["--filter", "($event->{cmd} || '') eq 'Query'"])
        .args(["--output", "json"])
        .arg(path)
        .output();
    let output = match output {
        Ok(output) if output.status.success() => output,
        Ok(output) => panic!(
            "pt-query-digest: {}",
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => {
            eprintln!("skipped: pt-query-digest: {error}");
            return;
        }
    };
    let theirs: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ours: u64 = found["classes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|class| class["kind"] != "COMMAND")
        .map(|class| class["count"].as_u64().unwrap())
        .sum();
    assert_eq!(
        theirs["global"]["query_count"], ours,
        "pt-query-digest counts {theirs:#}"
    );
}

#[test]
fn slow_log_of_mariadb() {
    let Some(server) = start(
        ServerKind::MariaDb,
        &["--log-slow-verbosity=query_plan,innodb,explain"],
    ) else {
        return;
    };
    let path = log(&server, "slow_query_log");
    let found = known_is_there(&path);
    let select = class(&found, "select a, b from t where a");
    assert_eq!(measure(select, "Full_scan")["sum"], SELECTS as f64);
    assert_eq!(measure(select, "Bytes_sent")["count"], SELECTS);
    assert!(measure(select, "Bytes_sent")["min"].as_f64().unwrap() > 50.0);
    let insert = class(&found, "insert into t values (?+)");
    assert_eq!(
        measure(insert, "Rows_affected")["sum"],
        2.0 * INSERTS as f64
    );
    let notes = select["notes"].as_array().unwrap();
    assert!(
        notes
            .iter()
            .any(|note| note.as_str().unwrap().contains("SIMPLE")),
        "{notes:?}"
    );
}

#[test]
fn slow_log_of_mysql_9() {
    let Some(server) = start(ServerKind::MySql9, &["--log-slow-extra=ON"]) else {
        return;
    };
    let path = log(&server, "slow_query_log");
    let found = known_is_there(&path);
    // 1146: the table is not there.
    let failed = class(&found, "select nothing");
    assert_eq!(
        (&failed["count"], &failed["errors"]),
        (&3.into(), &3.into())
    );
    let select = class(&found, "select a, b from t where a");
    assert_eq!(select["errors"], 0);
    for name in [
        "Bytes_sent",
        "Read_rnd_next",
        "Created_tmp_tables",
        "Sort_rows",
    ] {
        assert_eq!(measure(select, name)["count"], SELECTS, "{name}");
    }
    assert!(measure(select, "Bytes_sent")["sum"].as_f64().unwrap() > 0.0);
    // Each moment has its microseconds.
    assert_ne!(select["first_us"].as_i64().unwrap() % 1_000_000, 0);
}

#[test]
fn slow_log_of_mysql_5_5() {
    let Some(server) = start(ServerKind::MySql55, &[]) else {
        return;
    };
    let path = log(&server, "slow_query_log");
    known_is_there(&path);
}

#[test]
fn general_logs() {
    for kind in [ServerKind::MariaDb, ServerKind::MySql9, ServerKind::MySql55] {
        let Some(server) = start(kind, &[]) else {
            continue;
        };
        let path = log(&server, "general_log");
        let found = json(&["queries", path.to_str().unwrap(), "--json"]);
        assert_eq!(found["way"], "general-log", "{}", kind.name());
        let select = class(&found, "select a, b from t where a");
        assert_eq!(select["count"], SELECTS, "{}", kind.name());
        assert_eq!(select["users"][0]["name"], "root");
        assert_eq!(select["users"][0]["count"], SELECTS);
        assert_eq!(select["databases"][0]["name"], "known");
        assert_eq!(class(&found, "insert into t values (?+)")["count"], INSERTS);
        assert_eq!(class(&found, "select nothing")["count"], 3);
        assert!(!found.to_string().contains("secret"));
    }
}
