//! Loads on a private server, with the MariaDB that is installed (`scripts/need server`).

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use testbed::{Load, LoadResult, Login, Options, PrivateServer, mix, run};

const TIMEOUT: Duration = Duration::from_secs(5);

fn server() -> PrivateServer {
    PrivateServer::start(&Options::default()).unwrap()
}

fn load(login: Login, mix_name: &str) -> Load {
    let mix = mix(mix_name).unwrap();
    mix.prepare(&login).unwrap();
    Load {
        login,
        clients: 4,
        rate_per_second: None,
        compression: false,
        reconnect: false,
        statements: mix.statements(),
        duration: Duration::from_secs(1),
        timeout: TIMEOUT,
    }
}

fn run_to_the_end(load: &Load) -> LoadResult {
    run(load, &AtomicBool::new(false)).unwrap()
}

fn status(connection: &mut Conn, name: &str) -> u64 {
    let row: Option<(String, u64)> = connection
        .query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'"))
        .unwrap();
    row.unwrap().1
}

/// Waits until the server has counted more than so many of the statements of "show-warnings".
fn wait_for_more(watcher: &mut Conn, than: u64) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while status(watcher, "Com_show_warnings") <= than {
        assert!(Instant::now() < deadline, "not more than {than}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_ordinary_mix_runs_without_errors_and_the_server_counts_the_same() {
    let server = server();
    let load = load(server.login(), "ordinary");
    let mut connection = server.login().connect(false, TIMEOUT).unwrap();
    let mut counted = || -> u64 {
        ["Com_select", "Com_update", "Com_insert"]
            .iter()
            .map(|name| status(&mut connection, name))
            .sum()
    };
    let before = counted();
    let result = run_to_the_end(&load);
    assert_eq!(counted() - before, result.statements);
    assert!(result.errors.is_empty(), "{result:?}");
    assert_eq!((result.skipped, result.stuck_clients), (0, 0));
    assert!(result.statements > 100, "{result:?}");
    assert!(result.seconds >= 1.0 && result.seconds < 30.0, "{result:?}");
    let latency = result.latency;
    assert!(latency.p50_us > 1.0, "{result:?}");
    assert!(latency.p50_us <= latency.p95_us && latency.p95_us <= latency.p99_us);
    assert!(latency.p99_us <= latency.max_us && latency.max_us < 30e6);

    // Prepared again, the table is as it was; at most as many rows again came with the load.
    mix("ordinary").unwrap().prepare(&server.login()).unwrap();
    let rows: Option<u32> = connection
        .query_first("SELECT COUNT(*) FROM freezeframe_lab.t")
        .unwrap();
    let rows = rows.unwrap();
    assert!(rows > testbed::ROWS && rows <= 2 * testbed::ROWS, "{rows}");
}

#[test]
fn a_paced_load_keeps_its_rate() {
    let server = server();
    let load = Load {
        rate_per_second: Some(200.0),
        duration: Duration::from_secs(3),
        ..load(server.login(), "ordinary")
    };
    let mut per_second = 0.0;
    // A busy machine holds it up at times.
    for _ in 0..3 {
        let result = run_to_the_end(&load);
        assert!(result.per_second <= 220.0, "{result:?}");
        assert!(result.errors.is_empty(), "{result:?}");
        per_second = result.per_second;
        if per_second >= 180.0 {
            break;
        }
    }
    assert!(per_second >= 180.0, "{per_second}");
}

/// Bytes per statement that the server says it sent and received.
fn bytes_per_statement(server: &PrivateServer, load: &Load) -> (f64, f64) {
    let mut watcher = server.login().connect(false, TIMEOUT).unwrap();
    let sent = status(&mut watcher, "Bytes_sent");
    let received = status(&mut watcher, "Bytes_received");
    let result = run_to_the_end(load);
    let sent = status(&mut watcher, "Bytes_sent") - sent;
    let received = status(&mut watcher, "Bytes_received") - received;
    assert!(result.errors.is_empty(), "{result:?}");
    let statements = result.statements as f64;
    (sent as f64 / statements, received as f64 / statements)
}

#[test]
fn compression_is_on_the_wire_over_the_socket_and_over_tcp() {
    let server = server();
    for login in [server.login(), server.tcp_login()] {
        let mut connection = login.connect(true, TIMEOUT).unwrap();
        let says: Option<(String, String)> = connection
            .query_first("SHOW SESSION STATUS LIKE 'Compression'")
            .unwrap();
        assert_eq!(says.unwrap().1, "ON");

        let mut load = load(login, "show-warnings");
        // So long that the bytes of the logins are few for each statement, on a busy machine as well.
        load.duration = Duration::from_secs(1);
        let (plain_sent, plain_received) = bytes_per_statement(&server, &load);
        load.compression = true;
        let (sent, received) = bytes_per_statement(&server, &load);
        // The answer is three column definitions and no row.
        assert!(sent < 0.9 * plain_sent, "{sent} against {plain_sent}");
        // A statement of 13 bytes is sent as it is, behind the 7 bytes of the compressed header.
        let more = received - plain_received;
        assert!(
            (6.0..8.0).contains(&more),
            "{received} against {plain_received}"
        );

        load.statements = vec![(
            1,
            format!("SELECT REPEAT('a', 9000), '{}'", "b".repeat(9000)),
        )];
        let (sent, received) = bytes_per_statement(&server, &load);
        assert!(sent > 50.0 && sent < 500.0, "{sent}");
        assert!(received > 50.0 && received < 500.0, "{received}");
    }
}

#[test]
fn a_load_outlives_a_pause_and_a_restart() {
    let mut server = server();
    let load = Load {
        rate_per_second: Some(100.0),
        duration: Duration::from_secs(60),
        timeout: Duration::from_millis(300),
        ..load(server.tcp_login(), "show-warnings")
    };
    let clients = load.clients as u64;
    let stop = AtomicBool::new(false);
    let result = thread::scope(|scope| {
        let load = scope.spawn(|| run(&load, &stop).unwrap());
        thread::sleep(Duration::from_millis(500));
        server.pause().unwrap();
        thread::sleep(Duration::from_millis(2500));
        server.resume().unwrap();
        // Each client may have left one statement behind, which is executed now; with more they are back.
        let mut watcher = server.login().connect(false, TIMEOUT).unwrap();
        let before = status(&mut watcher, "Com_show_warnings");
        wait_for_more(&mut watcher, before + clients);
        server.kill().unwrap();
        thread::sleep(Duration::from_millis(500));
        server.restart().unwrap();
        let mut watcher = server.login().connect(false, TIMEOUT).unwrap();
        wait_for_more(&mut watcher, 0);
        stop.store(true, Ordering::Relaxed);
        load.join().unwrap()
    });
    assert!(
        result.errors.get("timeout").is_some_and(|n| *n >= 4),
        "{result:?}"
    );
    assert!(
        result
            .errors
            .get("connection lost")
            .is_some_and(|n| *n >= 1),
        "{result:?}"
    );
    assert!(
        result
            .errors
            .get("connection refused")
            .is_some_and(|n| *n >= 1),
        "{result:?}"
    );
    assert!(result.skipped > 0, "{result:?}");
    assert!(result.seconds < 30.0, "{result:?}");
    assert_eq!(result.stuck_clients, 0);
}

#[test]
fn clients_that_do_not_come_back_are_left_behind() {
    let server = PrivateServer::start(&Options {
        arguments: vec!["--back-log=2".to_owned()],
        ..Options::default()
    })
    .unwrap();
    let load = Load {
        clients: 8,
        timeout: Duration::from_millis(200),
        duration: Duration::from_millis(500),
        ..load(server.login(), "show-warnings")
    };
    server.pause().unwrap();
    let started = Instant::now();
    let result = run_to_the_end(&load);
    // A server that stands still for good holds nobody up for good; a busy machine does for a while.
    assert!(started.elapsed() < Duration::from_secs(30));
    assert_eq!(result.statements, 0);
    assert!(result.stuck_clients > 0, "{result:?}");
    // The rest got into the listen queue and waited for the handshake there.
    assert!(result.errors.contains_key("timeout"), "{result:?}");
    server.resume().unwrap();
    assert_eq!(run_to_the_end(&load).stuck_clients, 0);
}

#[test]
fn refusals_are_counted_by_the_servers_number() {
    let server = server();
    let mut wrong = load(server.login(), "show-warnings");
    wrong.statements = vec![(1, "SELECT nothing FROM nowhere.at_all".to_owned())];
    wrong.rate_per_second = Some(50.0);
    wrong.duration = Duration::from_secs(2);
    let result = run_to_the_end(&wrong);
    assert_eq!(result.statements, 0);
    let kinds: Vec<&str> = result.errors.keys().map(String::as_str).collect();
    assert_eq!(kinds, ["server error 1146"]);
    assert!(result.errors["server error 1146"] >= 40, "{result:?}");
}

#[test]
fn loads_that_cannot_be_run_are_refused() {
    let login = Login {
        address: testbed::Address::Tcp("127.0.0.1".to_owned(), 1),
        user: "root".to_owned(),
        password: None,
    };
    let good = load(login, "show-warnings");
    let wrong = [
        Load {
            clients: 0,
            ..good.clone()
        },
        Load {
            rate_per_second: Some(f64::NAN),
            ..good.clone()
        },
        Load {
            rate_per_second: Some(0.0),
            ..good.clone()
        },
        Load {
            statements: vec![(0, "SELECT 1".to_owned())],
            ..good.clone()
        },
        Load {
            duration: Duration::from_secs(testbed::LOAD_SECONDS_MAX + 1),
            ..good.clone()
        },
        Load {
            timeout: Duration::ZERO,
            ..good.clone()
        },
    ];
    for load in &wrong {
        assert!(run(load, &AtomicBool::new(false)).is_err(), "{load:?}");
    }
    // Nobody listens at this port: the load runs, and says so.
    let result = run_to_the_end(&good);
    assert_eq!(result.statements, 0);
    assert!(result.errors["connection refused"] > 4, "{result:?}");
}
