//! Every kind of server that the lab can start. Those that `scripts/need` has not fetched are
//! skipped, and that is said.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use mysql::prelude::{FromValue, Queryable};
use testbed::{
    Error, IdleConnections, Load, LoadResult, Login, Options, PrivateServer, ServerKind, installed,
    mix, run,
};

const TIMEOUT: Duration = Duration::from_secs(10);
const TUNABLES: (&str, &str) = (
    "GLIBC_TUNABLES",
    "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0",
);

/// A server with room for hundreds of connections, or `None` when it was not fetched.
fn start(kind: ServerKind) -> Option<PrivateServer> {
    match installed(kind) {
        Ok(found) => assert!(found.program.is_file(), "{found:?}"),
        Err(error @ Error::NotFetched { .. }) => {
            assert!(error.to_string().contains("scripts/need "), "{error}");
            eprintln!("skipped: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    }
    let server = PrivateServer::start(&Options {
        kind,
        arguments: vec!["--max-connections=700".to_owned()],
        environment: vec![(TUNABLES.0.to_owned(), TUNABLES.1.to_owned())],
        ..Options::default()
    });
    Some(server.unwrap())
}

fn ask<T: FromValue>(login: &Login, sql: &str) -> T {
    let mut connection = login.connect(false, TIMEOUT).unwrap();
    connection.query_first(sql).unwrap().unwrap()
}

fn load(login: Login, name: &str) -> LoadResult {
    let mix = mix(name).unwrap();
    mix.prepare(&login).unwrap();
    let load = Load {
        login,
        clients: 16,
        rate_per_second: None,
        compression: false,
        reconnect: false,
        statements: mix.statements(),
        duration: Duration::from_secs(1),
        timeout: TIMEOUT,
    };
    let result = run(&load, &AtomicBool::new(false)).unwrap();
    assert!(result.errors.is_empty(), "{result:?}");
    assert_eq!(result.stuck_clients, 0);
    result
}

fn status(login: &Login, name: &str) -> u64 {
    let mut connection = login.connect(false, TIMEOUT).unwrap();
    let row: Option<(String, u64)> = connection
        .query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'"))
        .unwrap();
    row.unwrap().1
}

/// A whole life with logins, loads and idle connections; then nothing of it is left.
fn serves(kind: ServerKind, version: &str) {
    let Some(mut server) = start(kind) else {
        return;
    };
    let pid = server.pid().unwrap();
    let process = Path::new("/proc").join(pid.to_string());
    let environment = std::fs::read(process.join("environ")).unwrap();
    // Older versions of glibc write zeros over the colons when they read it (elf/dl-tunables.c).
    let environment = String::from_utf8_lossy(&environment).replace('\0', ":");
    let set = format!("{}={}", TUNABLES.0, TUNABLES.1);
    assert!(environment.contains(&set), "{environment}");
    let executable = std::fs::read_link(process.join("exe")).unwrap();
    let is_program = executable == server.installed().program;
    assert_eq!(is_program, kind != ServerKind::MySql9, "{executable:?}");

    let says: String = ask(&server.login(), "SELECT VERSION()");
    assert!(says.starts_with(version), "{says}");
    assert_eq!(
        ask::<u64>(&server.tcp_login(), "SELECT @@port"),
        u64::from(server.port())
    );
    for user in ["root", ""] {
        let guess = Login {
            user: user.to_owned(),
            password: None,
            ..server.tcp_login()
        };
        assert!(guess.connect(false, TIMEOUT).is_err(), "'{user}' got in");
    }

    let idle = IdleConnections::open(&server.login(), 500, TIMEOUT).unwrap();
    let ids: std::collections::BTreeSet<u32> = idle.ids().collect();
    assert_eq!(ids.len(), 500);
    // Ours, the asking one, and perhaps one that the server has not closed yet.
    let connected = status(&server.login(), "Threads_connected");
    assert!((501..510).contains(&connected), "{connected}");

    let selects = load(server.login(), "point-selects");
    assert_eq!(selects.transactions, 0);
    assert!(selects.statements > 100, "{selects:?}");
    let before = status(&server.login(), "Com_commit");
    let small = load(server.tcp_login(), "transactions");
    assert_eq!(
        status(&server.login(), "Com_commit") - before,
        small.transactions
    );
    assert!(
        small.transactions > 20 && small.statements >= 5 * small.transactions,
        "{small:?}"
    );
    let journal: u64 = ask(
        &server.login(),
        "SELECT COUNT(*) FROM freezeframe_lab.journal",
    );
    assert!((1..=64 * u64::from(testbed::ROWS)).contains(&journal));
    drop(idle);

    // The data survives, and so do the logins.
    server.restart().unwrap();
    assert_eq!(
        ask::<u64>(
            &server.tcp_login(),
            "SELECT COUNT(*) FROM freezeframe_lab.journal"
        ),
        journal
    );
    let pid = server.pid().unwrap();
    let directory = server.directory().to_owned();
    drop(server);
    assert!(!Path::new("/proc").join(pid.to_string()).exists());
    assert!(!directory.exists());
}

#[test]
fn the_installed_mariadb() {
    serves(ServerKind::MariaDb, "1");
}

#[test]
fn mysql_5_5() {
    serves(ServerKind::MySql55, "5.5.9");
}

#[test]
fn mysql_9() {
    serves(ServerKind::MySql9, "9.");
}

#[test]
fn mariadb_11() {
    serves(ServerKind::MariaDb11, "11.4.5");
}

#[test]
fn a_transaction_that_fails_is_rolled_back() {
    let server = PrivateServer::start(&Options::default()).unwrap();
    let login = server.login();
    mix("transactions").unwrap().prepare(&login).unwrap();
    let failing = Load {
        login: login.clone(),
        clients: 1,
        rate_per_second: Some(20.0),
        compression: false,
        reconnect: false,
        statements: vec![(
            1,
            "BEGIN;\nUPDATE freezeframe_lab.t SET k = 4000000000;\nSELECT nothing;\nCOMMIT".into(),
        )],
        duration: Duration::from_secs(1),
        timeout: TIMEOUT,
    };
    let result = run(&failing, &AtomicBool::new(false)).unwrap();
    assert_eq!(result.transactions, 0);
    let failures = result.errors["server error 1054"];
    // The end may come within one.
    let begun = result.statements / 2;
    assert!((failures..=failures + 1).contains(&begun), "{result:?}");
    assert_eq!(status(&login, "Com_rollback"), failures);
    assert_eq!(status(&login, "Com_commit"), 0);
    let changed = "SELECT COUNT(*) FROM freezeframe_lab.t WHERE k = 4000000000";
    assert_eq!(ask::<u64>(&login, changed), 0);
}
