//! Backtraces by a real gdb of real servers: pt-pmp's own aggregation and ours are the same.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use testbed::{IdleConnections, Load, Options, ServerKind, mix};

use crate::tool::{json, output_of, started, text};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Clients that work, and connections that do nothing.
const CLIENTS: usize = 6;
const IDLE: usize = 60;

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Both aggregations of a backtrace, and ours as JSON; `None` where pt-pmp is not installed.
fn compared(path: &Path) -> Option<Value> {
    let path = path.to_str().unwrap();
    let theirs = output_of("pt-pmp", &[path], None)?;
    let ours = text(&["stacks", "--from", path, "--pt-pmp"]);
    assert_eq!(sorted(&ours), sorted(&theirs), "{path}");
    Some(json(&["stacks", "--from", path, "--json"]))
}

fn of_server(kind: ServerKind) {
    let Some(server) = started(&Options {
        kind,
        ..Options::default()
    }) else {
        return;
    };
    let mix = mix("transactions").unwrap();
    mix.prepare(&server.login()).unwrap();
    let load = Load {
        login: server.login(),
        clients: CLIENTS,
        rate_per_second: None,
        compression: false,
        reconnect: false,
        statements: mix.statements(),
        duration: Duration::from_secs(120),
        timeout: TIMEOUT,
    };
    let stop = Arc::new(AtomicBool::new(false));
    let until = stop.clone();
    let idle = IdleConnections::open(&server.login(), IDLE, TIMEOUT).unwrap();
    let running = std::thread::spawn(move || testbed::run(&load, &until));
    let dir = tempfile::tempdir().unwrap();
    let pid = server.pid().unwrap().to_string();
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
    let backtrace = output_of("gdb", &all, None);
    // The comparison needs no server.
    stop.store(true, Ordering::Relaxed);
    let _ = running.join().unwrap();
    drop(idle);
    drop(server);
    let Some(backtrace) = backtrace else {
        return;
    };
    if !backtrace.contains("\nThread ") {
        eprintln!("skipped: gdb may not look at the server here: {backtrace}");
        return;
    }
    let path = dir.path().join("gdb.txt");
    std::fs::write(&path, backtrace).unwrap();
    let Some(document) = compared(&path) else {
        return;
    };
    let threads = document["threads"].as_u64().unwrap();
    assert!(threads > CLIENTS as u64, "{threads} threads");
    eprintln!(
        "{kind:?}: {threads} threads in {} groups",
        document["groups"].as_array().unwrap().len()
    );
}

#[test]
fn mariadb_by_gdb() {
    of_server(ServerKind::MariaDb);
}

#[test]
fn mysql_5_5_by_gdb() {
    of_server(ServerKind::MySql55);
}

#[test]
fn mysql_9_by_gdb() {
    of_server(ServerKind::MySql9);
}
