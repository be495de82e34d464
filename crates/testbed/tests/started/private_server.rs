//! Private servers, with the MariaDB that is installed (`scripts/need server`).

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use testbed::{Error, Login, Options, PrivateServer};

const TIMEOUT: Duration = Duration::from_secs(5);

/// For what must happen at all.
const PATIENCE: Duration = Duration::from_secs(60);

fn query(login: &Login, sql: &str) -> Result<Option<u64>, String> {
    login
        .connect(false, TIMEOUT)
        .map_err(|error| error.to_string())?
        .query_first(sql)
        .map_err(|error| error.to_string())
}

fn alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

#[test]
fn a_whole_life() {
    let base = tempfile::tempdir().unwrap();
    let mut server = PrivateServer::start(&Options {
        base: Some(base.path().join("not yet there")),
        ..Options::default()
    })
    .unwrap();
    let first_pid = server.pid().unwrap();
    let directory = server.directory().to_path_buf();
    assert!(directory.starts_with(base.path()));
    let mode = directory.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    // What it says of itself.
    let login = server.login();
    assert_eq!(
        query(&login, "SELECT @@port").unwrap(),
        Some(server.port().into())
    );
    let pid_file = std::fs::read_to_string(directory.join("mysqld.pid")).unwrap();
    assert_eq!(pid_file.trim(), first_pid.to_string());
    query(&login, "CREATE DATABASE d").unwrap();
    query(&login, "CREATE TABLE d.t (a INT) ENGINE=InnoDB").unwrap();
    query(&login, "INSERT INTO d.t VALUES (42)").unwrap();

    // Killed: the data survives, the address stays.
    server.kill().unwrap();
    assert!(!alive(first_pid));
    assert_eq!(server.pid(), None);
    assert!(query(&login, "SELECT 1").is_err());
    assert!(matches!(server.kill(), Err(Error::NotRunning)));
    assert!(matches!(server.pause(), Err(Error::NotRunning)));
    server.restart().unwrap();
    let second_pid = server.pid().unwrap();
    assert_ne!(first_pid, second_pid);
    assert_eq!(query(&login, "SELECT a FROM d.t").unwrap(), Some(42));
    assert_eq!(
        query(&server.tcp_login(), "SELECT a FROM d.t").unwrap(),
        Some(42)
    );

    // Stopped in order, and twice.
    server.stop().unwrap();
    server.stop().unwrap();
    assert!(!alive(second_pid));
    server.restart().unwrap();
    assert_eq!(query(&login, "SELECT a FROM d.t").unwrap(), Some(42));

    let third_pid = server.pid().unwrap();
    drop(server);
    assert!(!alive(third_pid));
    assert!(!directory.exists());
}

#[test]
fn other_users_of_the_machine_stay_out() {
    let server = PrivateServer::start(&Options::default()).unwrap();
    let login = server.tcp_login();
    assert_eq!(query(&login, "SELECT 1").unwrap(), Some(1));
    for password in [None, Some(String::new()), Some("guess".to_owned())] {
        let guess = Login {
            password,
            ..login.clone()
        };
        let refusal = query(&guess, "SELECT 1").unwrap_err();
        assert!(refusal.contains("Access denied"), "{refusal}");
    }
    let anonymous = Login {
        user: String::new(),
        password: None,
        ..login
    };
    assert!(query(&anonymous, "SELECT 1").is_err());
}

#[test]
fn a_paused_server_answers_nothing_and_goes_on() {
    let server = PrivateServer::start(&Options::default()).unwrap();
    // The connect has to be done within it too.
    let timeout = Duration::from_secs(1);
    let mut connection = server.login().connect(false, timeout).unwrap();
    server.pause().unwrap();
    let asked = Instant::now();
    connection.query_drop("SELECT 1").unwrap_err();
    assert!(asked.elapsed() >= timeout);
    server.resume().unwrap();
    assert_eq!(query(&server.login(), "SELECT 1").unwrap(), Some(1));

    // One that has ended by itself is not paused.
    query(&server.login(), "SHUTDOWN").unwrap();
    let deadline = Instant::now() + PATIENCE;
    while server.pause().is_ok() && Instant::now() < deadline {
        server.resume().unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(matches!(server.pause(), Err(Error::NotRunning)));
}

#[test]
fn a_paused_server_is_stopped_in_order() {
    let mut server = PrivateServer::start(&Options::default()).unwrap();
    // It is resumed for that, and otherwise would keep the SIGTERM pending.
    server.pause().unwrap();
    server.stop().unwrap();
    assert_eq!(server.pid(), None);
    let log = std::fs::read_to_string(server.error_log()).unwrap();
    assert!(log.contains("Shutdown complete"), "{log}");
}

#[test]
fn a_start_that_fails_shows_the_error_log() {
    let options = Options {
        arguments: vec!["--no-such-option=1".to_owned()],
        ..Options::default()
    };
    let Err(error) = PrivateServer::start(&options) else {
        panic!("a server started with an option that does not exist");
    };
    assert!(matches!(error, Error::Ended { .. }), "{error}");
    assert!(error.to_string().contains("no-such-option"), "{error}");
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let mut said = String::new();
    // A slow machine's server needs longer until it listens.
    for seconds in [4, 15, 60] {
        let base = tempfile::tempdir().unwrap();
        let options = Options {
            base: Some(base.path().to_path_buf()),
            // It listens, but not where it is asked.
            arguments: vec![format!("--socket={}/elsewhere", base.path().display())],
            start_deadline: Duration::from_secs(seconds),
            ..Options::default()
        };
        let Err(error) = PrivateServer::start(&options) else {
            panic!("there is no server at this socket");
        };
        assert!(matches!(error, Error::NoAnswer { .. }), "{error}");
        said = error.to_string();
        if said.contains("ready for connections") {
            break;
        }
    }
    assert!(said.contains("ready for connections"), "{said}");
}

#[test]
fn a_port_that_is_taken_is_tried_again_and_then_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let options = Options {
        arguments: vec![format!("--port={port}")],
        ..Options::default()
    };
    let Err(error) = PrivateServer::start(&options) else {
        panic!("the port is ours");
    };
    assert!(
        error.to_string().contains("Address already in use"),
        "{error}"
    );
}

#[test]
fn a_socket_path_that_does_not_fit_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let options = Options {
        base: Some(base.path().join("x".repeat(100))),
        ..Options::default()
    };
    let Err(error) = PrivateServer::start(&options) else {
        panic!("the socket path has more than 107 bytes");
    };
    assert!(matches!(error, Error::SocketPathTooLong { .. }), "{error}");
}
