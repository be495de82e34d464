//! `check` and `grants` as the test of a deployment.

use std::path::Path;
use std::time::Duration;

use mysql::prelude::Queryable;
use serde_json::Value;
use testbed::{Error, Options, PrivateServer, ServerKind};

use crate::harness::{Recorder, incident, run, server};

/// Exit code, standard output, lines on standard error.
fn told(arguments: &[&str]) -> (Option<i32>, String, Vec<String>) {
    let output = run(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let errors = text(&output.stderr);
    let errors = errors.lines().map(str::to_owned).collect();
    (output.status.code(), text(&output.stdout), errors)
}

fn check(way: &[&str]) -> (Option<i32>, String, Vec<String>) {
    told(&[&["check", "--look", "200ms"], way].concat())
}

fn check_json(way: &[&str]) -> (Option<i32>, Value) {
    let (code, text, errors) = check(&[&["--json"], way].concat());
    let list: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text} {errors:?}"));
    (code, list[0].clone())
}

#[test]
fn a_server_that_is_down_fails_the_check() {
    let (code, text, errors) = check(&["--socket", "/nonexistent/s.sock"]);
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].contains("no connection") && errors[0].contains("check that it is up"),
        "{errors:?}"
    );
    assert!(!text.contains("none was found"), "{text}");
    assert!(
        text.contains("not checked: the server could not be reached"),
        "{text}"
    );
    let (code, answer) = check_json(&["--socket", "/nonexistent/s.sock"]);
    assert_eq!(code, Some(1));
    assert_eq!(answer["login"]["ok"], false);
    assert_eq!(answer["login"]["reason"], "no-connection");
}

#[test]
fn a_refused_login_is_one_line_that_says_what_to_do() {
    let server = server(&[]);
    let port = server.port().to_string();
    let (code, text, errors) = check(&["--port", &port, "--user", "nobody_here"]);
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(errors.len(), 1, "{errors:?}");
    for part in [
        "no login as nobody_here",
        "ERROR 1045",
        "freezeframe grants",
    ] {
        assert!(errors[0].contains(part), "{part}: {errors:?}");
    }
    assert!(!text.contains("ERROR 1045"), "told again: {text}");
    assert!(!text.contains("none was found"), "{text}");
    // The recorder goes on without, and tells it once.
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().to_str().unwrap();
    let record = [
        "record",
        "--for",
        "3s",
        "--no-history",
        "--dir",
        dir,
        "--port",
        &port,
        "--user",
        "nobody_here",
    ];
    let (code, text, _) = told(&record);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.matches("ERROR 1045").count(), 1, "{text}");
    assert!(
        text.contains("missing: everything that needs a login: no login as nobody_here"),
        "{text}"
    );
    // One that is let in by the socket alone has a login, whatever a probe is told over TCP.
    let record = [
        "record",
        "--for",
        "3s",
        "--no-history",
        "--dir",
        dir,
        "--port",
        &port,
        "--user",
        "root",
    ];
    let (code, text, _) = told(&record);
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("no login"), "{text}");
}

#[test]
fn a_fleet_that_nothing_would_reach_fails_the_check() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let (store, salt) = (at("fleet.db"), at("other.salt"));
    std::fs::write(&salt, [7; 32]).unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let told = |fleet: &str| {
        std::fs::write(at("freezeframe.toml"), format!("[fleet]\n{fleet}\n")).unwrap();
        let (config, socket) = (at("freezeframe.toml"), server.socket());
        let way = [
            "--user",
            "root",
            "--socket",
            socket.to_str().unwrap(),
            "--config",
            &config,
        ];
        let (code, text, errors) = check(&way);
        assert_eq!(code == Some(0), errors.is_empty(), "{text} {errors:?}");
        (code, errors.join("\n"), way.map(str::to_owned))
    };
    let is_fine = |way: [String; 6]| {
        let (_, answer) = check_json(&way.each_ref().map(String::as_str));
        answer["fleet"]["ok"].clone()
    };
    let url = format!("url = 'sqlite://{store}'");
    let (code, _, way) = told(&url);
    assert_eq!((code, is_fine(way)), (Some(0), Value::Bool(true)));
    assert!(!Path::new(&store).exists(), "a check changes nothing");
    // Names and statements would be hashed in another way than those that are there.
    assert!(
        run(&["fleet", "init", &format!("sqlite://{store}")])
            .status
            .success()
    );
    assert_eq!(told(&url).0, Some(0));
    std::fs::remove_file(format!("{store}.salt")).unwrap();
    for (fleet, why) in [
        (url.as_str(), "salt"),
        (&format!("url = 'sqlite://{}'", at("none/fleet.db")), "none"),
        (&format!("url = '{}'", at("frames")), "frames"),
        (
            &format!("url = 'http://me@127.0.0.1:{port}/f'\nsalt_file = '{salt}'"),
            &port.to_string(),
        ),
    ] {
        let (code, errors, way) = told(fleet);
        assert_eq!((code, errors.lines().count()), (Some(1), 1), "{errors}");
        // Of one the answer in JSON, too.
        if why == "salt" {
            assert_eq!(is_fine(way), Value::Bool(false));
        }
        assert!(
            errors.contains("fleet: ") && errors.contains(why),
            "{why}: {errors}"
        );
    }
}

#[test]
fn a_port_leads_to_the_socket_where_tcp_does_not_let_us_in() {
    // root has a password over TCP, and none over the socket.
    let server = server(&[]);
    let port = server.port().to_string();
    let (code, answer) = check_json(&["--port", &port, "--user", "root"]);
    assert_eq!(code, Some(0), "{answer:#}");
    assert_eq!(answer["login"]["ok"], true);
    let name = format!("{}:{port}", recorder::host_name());
    assert_eq!(answer["name"], name.as_str());
    let sources = answer["sources"].as_array().unwrap();
    for name in [
        "status",
        "processlist",
        "replica",
        "query-probe",
        "connect-probe",
    ] {
        let source = sources
            .iter()
            .find(|source| source["source"] == name)
            .unwrap();
        assert_eq!(source["taken"], true, "{source:#}");
        assert_eq!(source["absent"].as_array().unwrap().len(), 0, "{source:#}");
    }
}

#[test]
fn a_host_in_an_option_file_is_where_the_server_is() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("my.cnf");
    let path = file.to_str().unwrap();
    let write = |host: &str, port: u16| {
        std::fs::write(&file, format!("[client]\nhost={host}\nport={port}\n")).unwrap();
    };
    // An address of documents (RFC 5737): another host, and nobody answers there.
    write("192.0.2.1", 3307);
    let (code, text, errors) = check(&["--defaults-file", path]);
    assert_eq!(code, Some(1), "{text}");
    assert!(errors[0].contains("192.0.2.1:3307: no "), "{errors:?}");
    assert!(text.starts_with("server 192.0.2.1:3307\n"), "{text}");
    let (_, answer) = check_json(&["--defaults-file", path]);
    assert_eq!(answer["server"], "192-0-2-1-3307");
    let sources = answer["sources"].as_array().unwrap();
    let vmstat = sources
        .iter()
        .find(|source| source["source"] == "vmstat")
        .unwrap();
    assert_eq!(vmstat["taken"], false, "what this host does is no evidence");
    assert!(
        vmstat["absent"][0]["detail"]
            .as_str()
            .unwrap()
            .contains("another host")
    );
    // What is changed, and what is read of logs and packets, is this host's.
    for command in [
        &["fix", "slow-fsync"][..],
        &["queries", "--live", "1s", "--way", "packets"],
        &[
            "queries",
            "--live",
            "1s",
            "--way",
            "general-log",
            "--allow-general-log",
        ],
    ] {
        let (code, _, errors) = told(&[command, &["--defaults-file", path]].concat());
        assert_eq!(code, Some(1), "{command:?}: {errors:?}");
        assert!(
            errors.join("\n").contains("the server runs on 192.0.2.1"),
            "{command:?}: {errors:?}"
        );
    }
    // What is said wins over the file.
    let port = server.port().to_string();
    let said = [
        "--defaults-file",
        path,
        "--host",
        "127.0.0.1",
        "--port",
        &port,
        "--user",
        "root",
    ];
    let (code, answer) = check_json(&said);
    assert_eq!(
        (code, &answer["login"]["ok"]),
        (Some(0), &Value::Bool(true)),
        "{answer:#}"
    );
    let socket = server.socket();
    let socket = [
        "--defaults-file",
        path,
        "--socket",
        socket.to_str().unwrap(),
    ];
    assert_eq!(check_json(&socket).1["login"]["ok"], true);
}

#[test]
fn a_trigger_that_nothing_can_fire_is_refused_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let state = state.to_str().unwrap();
    let by_option = |trigger: &str| {
        told(&[
            "record",
            "--socket",
            "/nonexistent/s.sock",
            "--dir",
            state,
            "--trigger",
            trigger,
        ])
    };
    let (code, _, errors) = by_option("rate(vmstat.nr_free_pages) > 50");
    assert_eq!(code, Some(2), "{errors:?}");
    assert_eq!(errors.len(), 1, "{errors:?}");
    let (code, _, errors) = by_option("Thread_running > 50");
    assert_eq!(code, Some(2));
    assert!(
        errors[0].contains("column 1") && errors[0].contains("Threads_running"),
        "{errors:?}"
    );
    let config = dir.path().join("f.toml");
    std::fs::write(&config, "[detect]\n\ntriggers = ['nothing.there > 3']\n").unwrap();
    for command in ["record", "check"] {
        let (code, _, errors) = told(&[command, "--config", config.to_str().unwrap()]);
        assert_eq!(code, Some(1), "{errors:?}");
        assert!(
            errors[0].contains("f.toml:3: triggers: column 1"),
            "{errors:?}"
        );
    }
    assert!(!Path::new(state).exists(), "nothing was begun");
}

#[test]
fn no_time_and_no_input_are_mistakes() {
    for command in [
        &["profile", "--seconds", "0"][..],
        &["locks", "--seconds", "0s"],
        &["check", "--look", "0"],
        &["record", "--for", "0ms"],
        &["queries", "--live", "0"],
    ] {
        let (code, text, errors) = told(command);
        assert_eq!((code, text.as_str()), (Some(2), ""), "{command:?}");
        assert!(errors[0].contains("longer than 0"), "{errors:?}");
    }
    // Standard input is empty in tests.
    for command in [
        &["queries", "-"][..],
        &["explain", "-"],
        &["stacks", "--from", "-"],
        &["meaning", "-"],
        &["import", "-", "-o", "/nonexistent/x.frame"],
    ] {
        let (code, text, errors) = told(command);
        assert_eq!((code, text.as_str()), (Some(1), ""), "{command:?}");
        assert!(
            errors.len() == 1 && errors[0].contains("empty"),
            "{errors:?}"
        );
    }
}

#[test]
fn every_signal_that_a_server_brings_may_be_named_in_a_trigger() {
    let server = server(&["--performance-schema=ON"]);
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&server, dir.path(), &["--trigger", "cpu.count > 0 for 12s"]);
    recorder.event("triggered");
    let events = recorder.stop();
    let written = events
        .iter()
        .find(|event| event["event"] == "written")
        .unwrap();
    let incident = incident(written);
    let names = incident.timeline.series.iter().map(|series| &*series.name);
    let unknown: Vec<&str> = names.filter(|name| !recorder::can_bring(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// The servers that are there.
fn servers(test: impl Fn(ServerKind, &PrivateServer)) {
    for kind in [
        ServerKind::MariaDb,
        ServerKind::MySql55,
        ServerKind::MySql9,
        ServerKind::MariaDb11,
    ] {
        let options = Options {
            kind,
            ..Options::default()
        };
        match PrivateServer::start(&options) {
            Err(error @ Error::NotFetched { .. }) => eprintln!("skipped: {error}"),
            started => test(kind, &started.unwrap()),
        }
    }
}

fn execute(server: &PrivateServer, sql: &str) {
    let mut root = server
        .login()
        .connect(false, Duration::from_secs(20))
        .unwrap();
    root.query_drop(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
}

#[test]
fn the_printed_account_can_do_everything_and_each_missing_grant_is_told() {
    servers(|kind, server| {
        let socket = server.socket();
        let socket = socket.to_str().unwrap();
        let as_root = [
            "grants",
            "--json",
            "--user",
            "root",
            "--socket",
            socket,
            "--account",
            "ff",
            "--password",
        ];
        let (code, text, errors) = told(&as_root);
        assert_eq!(code, Some(0), "{kind:?}: {errors:?}");
        let printed: Value = serde_json::from_str(&text).unwrap();
        let statements = printed[0]["statements"].as_array().unwrap();
        for statement in statements {
            execute(server, statement["sql"].as_str().unwrap());
        }
        let password = {
            let create = statements[0]["sql"].as_str().unwrap();
            create.split('\'').nth(1).unwrap().to_owned()
        };
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("password");
        std::fs::write(&file, password).unwrap();
        let login = [
            "--socket",
            socket,
            "--user",
            "ff",
            "--password-file",
            file.to_str().unwrap(),
        ];
        let (code, answer) = check_json(&login);
        assert_eq!(code, Some(0), "{kind:?}: {answer:#}");
        let account = &answer["account"];
        assert_eq!(account["name"], "ff@localhost", "{kind:?}");
        assert_eq!(
            account["remarks"].as_array().unwrap().len(),
            0,
            "{kind:?}: {account:#}"
        );
        let grants = account["grants"].as_array().unwrap();
        assert!(
            grants.len() == 3 && grants.iter().all(|grant| grant["ok"] == true),
            "{kind:?}: {account:#}"
        );
        // Each is missed when it is taken away, and its cure brings it back.
        for grant in grants {
            let (privilege, on) = (
                grant["privilege"].as_str().unwrap(),
                grant["on"].as_str().unwrap(),
            );
            execute(
                server,
                &format!("REVOKE {privilege} ON {on} FROM ff@localhost"),
            );
            let (code, answer) = check_json(&login);
            assert_eq!(code, Some(0), "{kind:?}: absent evidence is no error");
            let grants = answer["account"]["grants"].as_array().unwrap();
            let missing: Vec<&Value> = grants.iter().filter(|grant| grant["ok"] == false).collect();
            assert_eq!(missing.len(), 1, "{kind:?} {privilege}: {answer:#}");
            assert_eq!(missing[0]["privilege"], privilege);
            assert!(missing[0]["without"].is_string());
            execute(
                server,
                missing[0]["cure"].as_str().unwrap().trim_end_matches(';'),
            );
        }
        let (_, answer) = check_json(&login);
        assert!(
            answer["account"]["grants"]
                .as_array()
                .unwrap()
                .iter()
                .all(|grant| grant["ok"] == true)
        );
        // root may do more than a recorder needs.
        let (_, answer) = check_json(&["--socket", socket, "--user", "root"]);
        assert!(
            answer["account"]["remarks"][0]
                .as_str()
                .unwrap()
                .contains("more than a recorder needs"),
            "{answer:#}"
        );
    });
}

#[test]
fn grants_are_printed_without_a_server() {
    let (code, text, _) = told(&["grants", "--for-version", "mysql-8.4"]);
    assert_eq!(code, Some(0));
    let statements: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("-- "))
        .collect();
    assert_eq!(statements.len(), 4, "{text}");
    assert!(
        statements[0].contains("IDENTIFIED WITH auth_socket")
            && statements.iter().all(|line| line.ends_with(';'))
    );
    let (code, _, errors) = told(&["grants", "--for-version", "newest"]);
    assert_eq!(code, Some(2), "{errors:?}");
    let (code, _, errors) = told(&["grants", "--socket", "/nonexistent/s.sock"]);
    assert_eq!(code, Some(1));
    assert!(errors[0].contains("--for-version"), "{errors:?}");
}
