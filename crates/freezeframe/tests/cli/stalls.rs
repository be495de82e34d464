//! Servers that stall in a known way.

use std::time::Duration;

use model::{ProbeOutcome, Reason};
use testbed::Withheld;

use crate::harness::{Recorder, causes, incident, run, server, ticks};

#[test]
fn a_frozen_server_is_noticed_and_the_host_is_recorded_all_the_while() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&server, dir.path(), &[]);
    recorder.warm_up(5);
    server.pause().unwrap();
    let triggered = recorder.event("triggered");
    assert!(
        ["query-probe", "connect-probe"].contains(&triggered["rule"].as_str().unwrap()),
        "{triggered}"
    );
    std::thread::sleep(Duration::from_secs(5));
    server.resume().unwrap();
    recorder.event("ended");
    let written = recorder.event("written");
    let incident = incident(&written);

    let stall = incident.stall_window();
    let seconds = ((stall.to - stall.from) / 1000) as usize;
    assert!(seconds >= 4, "{stall:?}");
    assert!(
        ticks(&incident, "stat", 0, stall.from) >= 4,
        "the time before is in it"
    );
    assert!(
        // A machine that is busy with something else comes late for some of them.
        ticks(&incident, "stat", stall.from, stall.to) * 4 + 8 >= seconds * 3,
        "a frozen server must not hold up the host's sources"
    );
    // Whichever of both was asked for when it froze: they share a connection.
    let missing = incident.absent.iter().any(|timed| {
        ["status", "processlist"].contains(&timed.absent.what.as_str())
            && timed.absent.reason == Reason::Deadline
    });
    assert!(missing, "{:?}", incident.absent);
    let outcome = incident.timeline.get("probe.query_outcome").unwrap();
    let outcomes: Vec<f64> = incident
        .timeline
        .points(outcome)
        .map(|(_, code)| code)
        .collect();
    assert!(
        outcomes.contains(&ProbeOutcome::TimedOut.code()),
        "{outcomes:?}"
    );
    assert_eq!(
        outcomes.last(),
        Some(&ProbeOutcome::Ok.code()),
        "it lives again"
    );
}

#[test]
fn a_full_server_is_told_from_a_frozen_one() {
    let withheld = Withheld::start();
    let server = server(&["--max_connections=8", "--extra-max-connections=1"]);
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&server, dir.path(), &["--user", "root"]);
    recorder.warm_up(12);
    // The root account may use one connection more than there are.
    let mut crowd = Vec::new();
    while crowd.len() < 20 {
        match server.login().connect(false, Duration::from_secs(5)) {
            Ok(connection) => crowd.push(connection),
            Err(_) => break,
        }
    }
    let triggered = recorder.event("triggered");
    // On a machine that is busy with something else another rule may be first.
    let told = if triggered["rule"] == "connect-probe" {
        triggered
    } else {
        recorder.event_where("joined", |event| event["rule"] == "connect-probe")
    };
    assert_eq!(
        told["says"], "a new connection: too many connections",
        "{told}"
    );
    std::thread::sleep(Duration::from_secs(4));
    drop(crowd);
    let written = recorder.event("written");
    assert_eq!(
        causes(&written, &withheld),
        ["max-connections"],
        "{}",
        written["verdict"]["sentence"]
    );
    let level = &withheld.others(&written["verdict"]["findings"])[0]["level"];
    assert!(level == "likely" || level == "certain", "{level}");
}

#[test]
fn row_locks_that_pile_up_are_named_with_a_trigger_of_the_user() {
    use mysql::prelude::Queryable;
    let withheld = Withheld::start();
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(
        &server,
        dir.path(),
        &["--trigger", "innodb_row_lock_current_waits >= 10 for 2s"],
    );
    recorder.warm_up(12);
    let login = server.login();
    let connect = || login.connect(false, Duration::from_secs(60)).unwrap();
    let mut blocker = connect();
    blocker.query_drop("CREATE DATABASE shop").unwrap();
    blocker
        .query_drop("CREATE TABLE shop.stock (id INT PRIMARY KEY, n INT)")
        .unwrap();
    blocker
        .query_drop("INSERT INTO shop.stock VALUES (1, 1)")
        .unwrap();
    blocker.query_drop("BEGIN").unwrap();
    blocker
        .query_drop("UPDATE shop.stock SET n = 2 WHERE id = 1")
        .unwrap();
    let waiters: Vec<_> = (0..20)
        .map(|_| {
            let mut connection = connect();
            std::thread::spawn(move || {
                connection.query_drop("UPDATE shop.stock SET n = n + 1 WHERE id = 1 /* s3cret */")
            })
        })
        .collect();
    recorder.event("triggered");
    std::thread::sleep(Duration::from_secs(6));
    blocker.query_drop("COMMIT").unwrap();
    for waiter in waiters {
        waiter.join().unwrap().unwrap();
    }
    let written = recorder.event("written");
    assert_eq!(
        causes(&written, &withheld),
        ["row-lock-pileup"],
        "{}",
        written["verdict"]["sentence"]
    );
    let path = written["path"].as_str().unwrap();
    let listed = run(&["incidents", "--json", "--dir", dir.path().to_str().unwrap()]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed[0]["path"], path);
    let explained = run(&["explain", path, "--json", "--exit-code"]);
    assert_eq!(explained.status.code(), Some(0));
    let explained: serde_json::Value = serde_json::from_slice(&explained.stdout).unwrap();
    let first = withheld.others(&explained["findings"])[0];
    assert_eq!(first["cause"], "row-lock-pileup");
    let named = explained["sources"][0]["path"].as_str().unwrap();
    assert_eq!(dir.path().join(named).to_str().unwrap(), path);
    let page = String::from_utf8(run(&["explain", path, "--html", "-"]).stdout).unwrap();
    assert!(page.contains("row-lock-pileup") && page.trim_end().ends_with("</html>"));
    let bytes = std::fs::read(written["path"].as_str().unwrap()).unwrap();
    assert!(
        !bytes.windows(6).any(|window| window == b"s3cret"),
        "a comment was stored"
    );
    crate::export::comes_back(path);
    crate::export::says_the_same_without(path, &["shop", "stock"]);
}
