//! Stalls of a server with a small pool, as its users would feel them: is each noticed, when, and is
//! nothing else?

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failing step fails the test"
)]
#![allow(dead_code, reason = "the harness is shared with other tests")]

#[path = "../cli/harness.rs"]
mod harness;

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use harness::{Recorder, run, server};
use jiff::Timestamp;
use mysql::Conn;
use mysql::prelude::Queryable;
use serde_json::Value;
use testbed::{Load, PrivateServer};

const TIMEOUT: Duration = Duration::from_secs(60);

/// How far onset and end may be from the truth, seconds: a second, and what a busy machine adds.
const ERROR_MAX: f64 = 3.0;

/// Seconds of calm before a stall: a rule needs ten of them to know what is usual (`detect::Config::baseline_min_ms`).
const WARM_UP: u64 = 15;

/// Transactions a second, of twenty statements each.
const TRANSACTIONS: f64 = 40.0;

fn seconds(count: u64) {
    std::thread::sleep(Duration::from_secs(count));
}

/// What the four connections of a pool do until they are stopped.
struct Pool {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Pool {
    fn start(server: &PrivateServer, clients: usize) -> Self {
        testbed::mix("ordinary")
            .unwrap()
            .prepare(&server.login())
            .unwrap();
        let reads = "SELECT c FROM freezeframe_lab.t WHERE id = {row}";
        let write = "UPDATE freezeframe_lab.t SET k = k + 1 WHERE id = {row}";
        let mut text = vec!["BEGIN"];
        text.extend([reads; 14]);
        text.extend([write; 4]);
        text.push("COMMIT");
        let load = Load {
            login: server.tcp_login(),
            clients,
            rate_per_second: Some(TRANSACTIONS),
            compression: false,
            reconnect: false,
            statements: vec![(1, text.join(testbed::STATEMENT_SEPARATOR))],
            duration: Duration::from_secs(600),
            timeout: TIMEOUT,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || testbed::run(&load, &stopped).unwrap().statements);
        Self { stop, thread }
    }

    fn end(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Work of somebody else, at the lowest priority.
struct Neighbours(Vec<Child>);

impl Neighbours {
    fn start() -> Self {
        let burn = || {
            Command::new("nice")
                .args(["-n", "19", "sh", "-c", "while :; do :; done"])
                .stdin(Stdio::null())
                .spawn()
                .unwrap()
        };
        Self((0..4).map(|_| burn()).collect())
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn time(event: &Value, key: &str) -> f64 {
    let text = event[key]
        .as_str()
        .unwrap_or_else(|| panic!("no {key} in {event}"));
    text.parse::<Timestamp>().unwrap().as_millisecond() as f64 / 1000.0
}

fn now() -> f64 {
    Timestamp::now().as_millisecond() as f64 / 1000.0
}

fn connected(server: &PrivateServer) -> Conn {
    server.login().connect(false, TIMEOUT).unwrap()
}

/// A stall as it was, and what was told of it.
struct Told {
    what: &'static str,
    from: f64,
    to: f64,
    begin: Value,
    end: Value,
}

impl Told {
    fn line(&self) -> String {
        format!(
            "{:<40} {:>5.1} s  noticed after {:>4.1} s, onset {:+.1} s, end {:+.1} s  {} [{}]",
            self.what,
            self.to - self.from,
            time(&self.begin, "trigger") - self.from,
            time(&self.begin, "onset") - self.from,
            time(&self.end, "end") - self.to,
            self.begin["says"].as_str().unwrap(),
            self.begin["rule"].as_str().unwrap(),
        )
    }

    fn check(&self) {
        let line = self.line();
        let onset = time(&self.begin, "onset") - self.from;
        let end = time(&self.end, "end") - self.to;
        assert!(onset.abs() <= ERROR_MAX, "onset: {line}");
        assert!(end.abs() <= ERROR_MAX, "end: {line}");
        let delay = time(&self.begin, "trigger") - self.from;
        assert!((0.0..=6.0).contains(&delay), "delay: {line}");
    }
}

/// Stalls the server with `begin`, for so long, and waits for what is told of it.
fn stall<T>(
    recorder: &Recorder,
    what: &'static str,
    length: u64,
    begin: impl FnOnce() -> T,
    end: impl FnOnce(T),
) -> Told {
    let state = begin();
    let from = now();
    seconds(length);
    end(state);
    let to = now();
    let is_of_it = |event: &Value| time(event, "trigger") >= from - 1.0;
    let begin = recorder.event_of(&["triggered", "again", "suppressed"], is_of_it);
    let end = recorder.event_of(&["ended"], |event| time(event, "end") >= from);
    let told = Told {
        what,
        from,
        to,
        begin,
        end,
    };
    eprintln!("{}", told.line());
    told
}

/// What is told of a pool's server by one recorder: of the stalls, and how many incidents are listed.
fn beside_a_pool(stalls: impl FnOnce(&PrivateServer, &Recorder) -> Vec<Told>) -> usize {
    let server = server(&["--max-connections=60"]);
    let pool = Pool::start(&server, 4);
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(
        &server,
        dir.path(),
        &["--listen", "127.0.0.1:0", "--no-html"],
    );
    recorder.warm_up(WARM_UP);
    let told = stalls(&server, &recorder);
    seconds(5);
    let events = recorder.stop();
    pool.end();
    for told in &told {
        told.check();
    }
    let more = events
        .iter()
        .filter(|event| event["event"] == "triggered")
        .count();
    assert_eq!(more, 0, "{events:#?}");
    let listed = run(&["incidents", "--json", "--dir", dir.path().to_str().unwrap()]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    listed.as_array().unwrap().len()
}

fn rows_and_a_stop(server: &PrivateServer, recorder: &Recorder) -> Vec<Told> {
    let rows = || {
        let mut blocker = connected(server);
        blocker.query_drop("BEGIN").unwrap();
        blocker
            .query_drop("SELECT COUNT(*) FROM freezeframe_lab.t FOR UPDATE")
            .unwrap();
        blocker
    };
    let what = "an idle transaction holds all rows";
    let mut told = vec![stall(recorder, what, 12, rows, drop)];
    // Six seconds after the end of the one before.
    seconds(4);
    told.push(stall(
        recorder,
        "SIGSTOP soon after another stall",
        8,
        || server.pause().unwrap(),
        |()| server.resume().unwrap(),
    ));
    told
}

fn an_alter(server: &PrivateServer, recorder: &Recorder) -> Vec<Told> {
    let alter = || {
        let mut reader = connected(server);
        reader.query_drop("BEGIN").unwrap();
        reader
            .query_drop("SELECT c FROM freezeframe_lab.t WHERE id = 1")
            .unwrap();
        let mut alters = connected(server);
        let altering = std::thread::spawn(move || {
            let _ = alters
                .query_drop("ALTER TABLE freezeframe_lab.t ADD COLUMN x INT, ALGORITHM=INSTANT");
            let _ = alters.query_drop("ALTER TABLE freezeframe_lab.t DROP COLUMN x");
        });
        (reader, altering)
    };
    vec![stall(
        recorder,
        "an open transaction, and ALTER",
        12,
        alter,
        |(reader, altering)| {
            drop(reader);
            altering.join().unwrap();
        },
    )]
}

fn a_lock(server: &PrivateServer, recorder: &Recorder) -> Vec<Told> {
    let lock = || {
        let mut backup = connected(server);
        backup.query_drop("FLUSH TABLES WITH READ LOCK").unwrap();
        backup
    };
    vec![stall(
        recorder,
        "FLUSH TABLES WITH READ LOCK",
        10,
        lock,
        drop,
    )]
}

fn a_leak(server: &PrivateServer, recorder: &Recorder) -> Vec<Told> {
    let leak = || {
        let mut connections = Vec::new();
        while let Ok(connection) = server.login().connect(false, Duration::from_secs(5)) {
            connections.push(connection);
            assert!(connections.len() < 100);
        }
        let login = server.tcp_login();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        // A client that tries to get in, and is told that there are too many.
        let knocking = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                drop(login.connect(false, Duration::from_secs(5)));
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        (connections, stop, knocking)
    };
    vec![stall(
        recorder,
        "connections leak to the maximum",
        10,
        leak,
        |(connections, stop, knocking)| {
            drop(connections);
            stop.store(true, Ordering::Relaxed);
            knocking.join().unwrap();
        },
    )]
}

/// Four servers at a time: nearly all of it is waiting.
#[test]
fn a_pool_of_four_is_noticed_whatever_stalls_it() {
    let listed: usize = std::thread::scope(|scope| {
        let scenes = [
            scope.spawn(|| beside_a_pool(rows_and_a_stop)),
            scope.spawn(|| beside_a_pool(an_alter)),
            scope.spawn(|| beside_a_pool(a_lock)),
            scope.spawn(|| beside_a_pool(a_leak)),
        ];
        scenes.map(|scene| scene.join().unwrap()).iter().sum()
    });
    assert!(listed >= 4, "{listed}");
}

#[test]
fn a_stall_is_noticed_without_a_login_by_requests_that_have_no_answer() {
    let server = server(&[]);
    let pool = Pool::start(&server, 4);
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(
        &server,
        dir.path(),
        &["--no-html", "--user", "nobody-of-that-name"],
    );
    // It has no version to tell that it has begun.
    seconds(WARM_UP + 6);
    let told = [
        stall(
            &recorder,
            "no login: an idle transaction holds all rows",
            10,
            || {
                let mut blocker = connected(&server);
                blocker.query_drop("BEGIN").unwrap();
                blocker
                    .query_drop("SELECT COUNT(*) FROM freezeframe_lab.t FOR UPDATE")
                    .unwrap();
                blocker
            },
            drop,
        ),
        stall(
            &recorder,
            "no login: SIGSTOP",
            6,
            || server.pause().unwrap(),
            |()| server.resume().unwrap(),
        ),
    ];
    assert_eq!(told[0].begin["rule"], "work-stops", "{}", told[0].line());
    recorder.stop();
    pool.end();
    for told in &told {
        told.check();
    }
}

#[test]
fn neighbours_that_the_server_does_not_feel_are_no_stall() {
    let server = server(&[]);
    let pool = Pool::start(&server, 4);
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&server, dir.path(), &["--no-html"]);
    recorder.warm_up(WARM_UP);
    let calm = recorder.events_so_far();
    let neighbours = Neighbours::start();
    seconds(20);
    drop(neighbours);
    let events = recorder.stop();
    let answered = pool.end();
    eprintln!("{answered} statements");
    let stalls: Vec<&Value> = calm
        .iter()
        .chain(&events)
        .filter(|event| event["event"] == "triggered")
        // A busy machine of tests may hold up anything.
        .filter(|event| event["rule"] != "query-probe" && event["rule"] != "connect-probe")
        .collect();
    assert!(stalls.is_empty(), "{stalls:#?}");
}
