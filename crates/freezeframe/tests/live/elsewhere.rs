//! What other tools take of a stalled server, each alone, is explained: pt-stalk, gdb, eu-stack, pt-pmp, perf and
//! mysqladmin beside real servers whose sessions queue behind an ALTER TABLE.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use testbed::{HeldSession, Load, Options, ServerKind, Withheld, mix, say};

use crate::tool::{json, output_of, started};

const TIMEOUT: Duration = Duration::from_secs(300);

/// Sessions that want the table.
const WAITERS: usize = 12;

/// Clients that work on another one, so that the server uses processor time.
const CLIENTS: usize = 2;

/// Their statements a second: enough for samples, and the processors are left to the tools.
const RATE: f64 = 1000.0;

/// Rounds of mysqladmin, a second apart.
const ROUNDS: &str = "4";

/// Seconds that pt-stalk collects; it waits as long again for what it started.
const COLLECTED: &str = "4";

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|one| (*one).to_owned()).collect()
}

/// What is said of a capture.
fn explained(path: &Path) -> Value {
    json(&["explain", path.to_str().unwrap(), "--json"])
}

/// The capture names the cause first; how sure that is.
fn level(path: &Path, withheld: &Withheld) -> String {
    let verdict = explained(path);
    let findings = withheld.others(&verdict["findings"]);
    let first = findings.first().unwrap_or_else(|| panic!("{verdict:#}"));
    assert_eq!(first["cause"], "mdl-pileup", "{path:?}: {verdict:#}");
    first["level"].as_str().unwrap().to_owned()
}

/// The capture is read, and what it cannot tell is not guessed.
fn is_read(path: &Path, kind: &str, withheld: &Withheld) {
    let verdict = explained(path);
    let sources = verdict["sources"].as_array().unwrap();
    let read = sources.iter().any(|source| source["kind"] == kind);
    assert!(read, "{path:?}: {sources:#?}");
    for finding in withheld.others(&verdict["findings"]) {
        let level = finding["level"].as_str().unwrap();
        let is_weak = ["possible", "suspicion"].contains(&level);
        assert!(is_weak, "{path:?}: {finding:#}");
    }
}

fn of_server(kind: ServerKind) {
    let withheld = Withheld::start();
    let Some(server) = started(&Options {
        kind,
        ..Options::default()
    }) else {
        return;
    };
    let login = server.login();
    let password = login.password.as_deref();
    let ordinary = mix("ordinary").unwrap();
    ordinary.prepare(&login).unwrap();
    let load = Load {
        login: login.clone(),
        clients: CLIENTS,
        rate_per_second: Some(RATE),
        compression: false,
        reconnect: false,
        statements: ordinary.statements(),
        duration: Duration::from_secs(300),
        timeout: TIMEOUT,
    };
    let stop = Arc::new(AtomicBool::new(false));
    let until = stop.clone();
    let running = std::thread::spawn(move || testbed::run(&load, &until));

    let make = [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, n INT) ENGINE=InnoDB",
        "INSERT INTO shop.orders VALUES (1, 0)",
    ];
    say(&login, &texts(&make), TIMEOUT).unwrap();
    let begin = |statements: &[&str]| {
        let session = HeldSession::begin(&login, &texts(statements), TIMEOUT).unwrap();
        // Each has asked for the table before the next one does.
        std::thread::sleep(Duration::from_millis(200));
        session
    };
    let mut sessions = vec![
        begin(&["BEGIN", "SELECT * FROM shop.orders"]),
        begin(&["ALTER TABLE shop.orders ADD COLUMN b INT"]),
    ];
    sessions.extend((0..WAITERS).map(|_| begin(&["UPDATE shop.orders SET n = n + 1"])));
    // Longer than a moment.
    std::thread::sleep(Duration::from_secs(3));

    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let written = |name: &str, text: Option<String>| {
        let path = at(name);
        std::fs::write(&path, text?).unwrap();
        Some(path)
    };
    let pid = server.pid().unwrap().to_string();
    let user = format!("-u{}", login.user);
    let socket = format!("-S{}", server.socket().display());

    let stalk = at("stalk");
    std::fs::create_dir(&stalk).unwrap();
    let stalk_text = stalk.to_str().unwrap();
    let beside = |name: &str| stalk.with_extension(name).to_str().unwrap().to_owned();
    let (log, pid_file) = (beside("log"), beside("pid"));
    let collecting = [
        "--no-stalk",
        "--iterations",
        "1",
        "--sleep",
        "1",
        "--run-time",
        COLLECTED,
        "--disk-bytes-free",
        "1M",
        "--disk-pct-free",
        "1",
        "--dest",
        stalk_text,
        "--log",
        &log,
        "--pid",
        &pid_file,
        "--",
        &socket,
        &user,
    ];
    let admin = [
        "--no-defaults",
        &user,
        &socket,
        "-i1",
        "-c",
        ROUNDS,
        "extended-status",
    ];
    let data = at("perf.data");
    let data = data.to_str().unwrap();
    let record = [
        "record",
        "-q",
        "-e",
        "cpu-clock",
        "-F",
        "199",
        "-g",
        "-p",
        &pid,
        "-o",
        data,
        "--",
        "sleep",
        "2",
    ];
    // Those that do not stop the server look at it while pt-stalk waits for what it has started.
    let (collected, status, perf) = std::thread::scope(|scope| {
        let status = scope.spawn(|| output_of("mysqladmin", &admin, password));
        let perf = scope.spawn(|| {
            output_of("perf", &record, None)
                .and_then(|_| output_of("perf", &["script", "-i", data], None))
        });
        let collected = output_of("pt-stalk", &collecting, password);
        (collected, status.join().unwrap(), perf.join().unwrap())
    });
    let (status, perf) = (written("status.txt", status), written("perf.txt", perf));
    let all = [
        "-nx",
        "-batch",
        "-p",
        &pid,
        "-ex",
        "set pagination off",
        "-ex",
        "thread apply all bt",
    ];
    // The lab starts MySQL 9 by a dynamic loader of its own, which gdb takes for the program: every frame is "??".
    let by_gdb = kind != ServerKind::MySql9;
    let gdb = by_gdb.then(|| output_of("gdb", &all, None)).flatten();
    let gdb = written("gdb.txt", gdb);
    let eu_stack = written("eu-stack.txt", output_of("eu-stack", &["-p", &pid], None));

    drop(sessions);
    stop.store(true, Ordering::Relaxed);
    let _ = running.join().unwrap();

    // What follows needs no server.
    if collected.is_some() {
        assert_ne!(level(&stalk, &withheld), "possible");
    }
    let may_trace = |path: &Path, word: &str| {
        let text = std::fs::read_to_string(path).unwrap();
        if !text.contains(word) {
            eprintln!("skipped: the server may not be looked at here: {text}");
        }
        text.contains(word)
    };
    if let Some(path) = gdb.filter(|path| may_trace(path, "\nThread ")) {
        // Stacks alone are one witness.
        assert_eq!(level(&path, &withheld), "possible");
        let folded = output_of("pt-pmp", &[path.to_str().unwrap()], None);
        if let Some(path) = written("pt-pmp.txt", folded) {
            assert_eq!(level(&path, &withheld), "possible");
        }
    }
    if let Some(path) = eu_stack.filter(|path| may_trace(path, "TID ")) {
        assert_eq!(level(&path, &withheld), "possible");
    }
    if let Some(path) = perf.filter(|path| may_trace(path, "cpu-clock")) {
        is_read(&path, "perf script output", &withheld);
    }
    if let Some(path) = status {
        is_read(&path, "server status, repeated", &withheld);
    }
}

#[test]
fn of_mariadb() {
    of_server(ServerKind::MariaDb);
}

#[test]
fn of_mysql_5_5() {
    of_server(ServerKind::MySql55);
}

#[test]
fn of_mysql_9() {
    of_server(ServerKind::MySql9);
}
