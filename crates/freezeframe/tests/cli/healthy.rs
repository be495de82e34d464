//! Servers to which nothing is wrong.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use mysql::prelude::Queryable;
use testbed::Withheld;

use crate::harness::{Recorder, causes, incident, server};

/// A trigger that is true on every server, to look at a healthy one.
const ALWAYS: &str = "cpu.count > 0 for 12s";

#[test]
fn a_healthy_busy_server_gets_no_finding() {
    let withheld = Withheld::start();
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let mix = testbed::mix("ordinary").unwrap();
    mix.prepare(&server.login()).unwrap();
    let recorder = Recorder::start(&server, dir.path(), &["--trigger", ALWAYS]);
    testbed::run(
        &testbed::Load {
            login: server.login(),
            clients: 4,
            rate_per_second: Some(500.0),
            compression: false,
            reconnect: false,
            statements: mix.statements(),
            duration: Duration::from_secs(20),
            timeout: Duration::from_secs(10),
        },
        &AtomicBool::new(false),
    )
    .unwrap();
    let events = recorder.stop();
    let written = events
        .iter()
        .find(|event| event["event"] == "written")
        .unwrap();
    assert!(
        causes(written, &withheld).is_empty(),
        "{}",
        written["verdict"]["sentence"]
    );
}

#[test]
fn without_a_login_the_host_is_recorded_and_the_rest_is_told_as_absent() {
    let withheld = Withheld::start();
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let password = dir.path().join("password");
    std::fs::write(&password, "wrong\n").unwrap();
    let more = [
        "--user",
        "nobody_here",
        "--trigger",
        ALWAYS,
        "--password-file",
    ];
    let more = [&more[..], &[password.to_str().unwrap()]].concat();
    let recorder = Recorder::start(&server, dir.path(), &more);
    let absent = recorder.event_where("absent", |event| event["absent"]["what"] == "status");
    assert_eq!(absent["absent"]["reason"], "no-login");
    recorder.event("triggered");
    let events = recorder.stop();
    let written = events
        .iter()
        .find(|event| event["event"] == "written")
        .unwrap();
    // Without the server's numbers nothing tells that it copes with what other tests do to the host meanwhile.
    let findings = &written["verdict"]["findings"];
    assert!(findings.is_array(), "{written}");
    let mut findings = withheld.others(findings).into_iter();
    assert!(
        findings.all(|finding| finding["level"] == "possible"),
        "{}",
        written["verdict"]["sentence"]
    );
    let incident = incident(written);
    for signal in [
        "cpu.all.user",
        "vmstat.pgfault",
        "process.threads",
        "accept_queue.unix.length",
    ] {
        assert!(
            incident.timeline.get(signal).is_some(),
            "{signal} is missing"
        );
    }
    assert!(incident.timeline.get("status.Questions").is_none());
    assert!(
        incident.fact("server.allocator").is_some(),
        "{:?}",
        incident.facts
    );
}

#[test]
fn a_thousand_connections_are_recorded_within_the_limits() {
    let server = server(&["--max_connections=1100", "--thread-stack=256K"]);
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&server, dir.path(), &["--trigger", "cpu.count > 0 for 20s"]);
    recorder.warm_up(1);
    let login = server.login();
    let connections: Vec<_> = (0..1000)
        .map(|_| login.connect(false, Duration::from_secs(20)).unwrap())
        .collect();
    recorder.event("triggered");
    std::thread::sleep(Duration::from_secs(4));
    let events = recorder.stop();
    drop(connections);
    let written = events
        .iter()
        .find(|event| event["event"] == "written")
        .unwrap();
    let incident = incident(written);
    let max = |name: &str| {
        let series = incident
            .timeline
            .get(name)
            .unwrap_or_else(|| panic!("{name} is missing"));
        incident
            .timeline
            .points(series)
            .map(|(_, value)| value)
            .fold(0.0, f64::max)
    };
    assert!(max("processlist.sessions") >= 1000.0);
    assert!(max("process.threads") >= 1000.0);
    // Stacks, profiles and the catalogue included, and this is a debug build; `make bench` measures the other.
    assert!(
        max("recorder.resident_bytes") <= 96.0 * 1024.0 * 1024.0,
        "{}",
        max("recorder.resident_bytes")
    );
}

#[test]
fn own_statements_stay_out_of_the_slow_log_and_no_literal_is_stored() {
    let server = server(&[
        "--slow-query-log=1",
        "--slow-query-log-file=slow.log",
        "--long-query-time=0",
        "--log-queries-not-using-indexes=1",
    ]);
    let dir = tempfile::tempdir().unwrap();
    let log = server.datadir().join("slow.log");
    // The lab asked the starting server whether it answers; a statement is logged after its answer.
    std::thread::sleep(Duration::from_secs(1));
    let before = std::fs::read_to_string(&log).unwrap().len();
    let recorder = Recorder::start(&server, dir.path(), &["--trigger", ALWAYS]);
    recorder.warm_up(2);
    let mut connection = server
        .login()
        .connect(false, Duration::from_secs(30))
        .unwrap();
    for _ in 0..4 {
        connection
            .query_drop("SELECT 'hunter2', SLEEP(3.141592)")
            .unwrap();
    }
    let events = recorder.stop();
    let slow = std::fs::read_to_string(&log).unwrap();
    assert!(slow.contains("hunter2"), "the log is on");
    let slow = slow.get(before..).unwrap_or("");
    // `# administrator command: Quit` is the client's above.
    let ours = ["SHOW ", "SELECT 1;", "SELECT @@version", "SET SESSION"];
    let found: Vec<&str> = slow
        .lines()
        .filter(|line| ours.iter().any(|own| line.starts_with(own)))
        .collect();
    assert_eq!(found, [""; 0], "our own statements are in the slow log");

    let written = events
        .iter()
        .find(|event| event["event"] == "written")
        .unwrap();
    let incident = incident(written);
    let sleeping = incident
        .texts
        .iter()
        .any(|text| text.text.body().contains("SLEEP(?)"));
    assert!(sleeping, "the statement was seen, without its literals");
    for file in crate::harness::files(dir.path()) {
        let bytes = std::fs::read(dir.path().join(&file)).unwrap();
        for secret in [&b"hunter2"[..], b"3.141592"] {
            let leaked = bytes.windows(secret.len()).any(|window| window == secret);
            assert!(!leaked, "{file} holds a literal");
        }
    }
}
