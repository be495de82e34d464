//! The account that `grants` prints by default: the system user logs in by the unix socket, and no password is anywhere.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use mysql::prelude::Queryable;
use rustix::process::geteuid;
use serde_json::Value;
use testbed::{Error, Options, PrivateServer, ServerKind};

use crate::harness::run;

/// Two system users that each Linux has, with their numbers.
const USER: (&str, u32) = ("nobody", 65_534);
const OTHER: (&str, u32) = ("daemon", 1);

/// Runs the program as another user, without a right.
fn run_as((_, uid): (&str, u32), program: &Path, arguments: &[&str]) -> Output {
    Command::new("setpriv")
        .args([format!("--reuid={uid}"), format!("--regid={uid}")])
        .args(["--clear-groups", "--inh-caps=-all", "--bounding-set=-all"])
        .arg(program)
        .args(arguments)
        .env("HOME", "/dev/null")
        .env_remove("MYSQL_PWD")
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// What `grants` prints for the server is run as it is, and what it says is to be done once on a server before.
fn make_account(server: &PrivateServer, socket: &str) {
    let asked = ["grants", "--json", "--user", "root", "--socket", socket];
    let output = run(&[&asked[..], &["--account", USER.0]].concat());
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (notes, statements) = (&printed[0]["notes"], &printed[0]["statements"]);
    let notes = notes.as_array().unwrap().iter().filter_map(Value::as_str);
    let installs = notes.filter_map(|note| {
        let (_, statement) = note.split_once(": INSTALL ")?;
        Some(format!("INSTALL {}", statement.trim_end_matches(';')))
    });
    let statements = statements.as_array().unwrap().iter();
    let statements = statements.map(|statement| statement["sql"].as_str().unwrap().to_owned());
    let mut root = server
        .login()
        .connect(false, Duration::from_secs(20))
        .unwrap();
    for sql in installs.chain(statements) {
        root.query_drop(&sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

#[test]
fn the_account_that_grants_prints_is_logged_in_to_by_the_system_user_alone() {
    if !geteuid().is_root() {
        eprintln!("skipped: only root can be several users");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // Where the tests are built is often nobody else's.
    let program = dir.path().join("freezeframe");
    fs::copy(env!("CARGO_BIN_EXE_freezeframe"), &program).unwrap();
    for kind in [
        ServerKind::MariaDb,
        ServerKind::MariaDb11,
        ServerKind::MySql9,
    ] {
        let options = Options {
            kind,
            ..Options::default()
        };
        let server = match PrivateServer::start(&options) {
            Err(error @ Error::NotFetched { .. }) => {
                eprintln!("skipped: {error}");
                continue;
            }
            started => started.unwrap(),
        };
        fs::set_permissions(server.directory(), fs::Permissions::from_mode(0o755)).unwrap();
        let socket = server.socket();
        let socket = socket.to_str().unwrap();
        make_account(&server, socket);

        let check = ["check", "--json", "--look", "1s", "--socket", socket];
        let output = run_as(USER, &program, &check);
        let said = String::from_utf8_lossy(&output.stderr);
        let answers: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{kind:?}: {said}"));
        assert!(output.status.success(), "{kind:?}: {said}");
        let account = &answers[0]["account"];
        let grants = account["grants"].as_array().unwrap();
        assert_eq!(grants.len(), 3, "{account:#}");
        assert!(
            grants.iter().all(|grant| grant["ok"] == true),
            "{account:#}"
        );

        let state = dir.path().join(format!("state-{kind:?}"));
        fs::create_dir(&state).unwrap();
        chown(&state, Some(USER.1), Some(USER.1)).unwrap();
        let state = state.to_str().unwrap();
        let record = [
            "record", "--json", "--for", "4s", "--dir", state, "--socket", socket,
        ];
        let output = run_as(USER, &program, &record);
        assert!(output.status.success(), "{kind:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        let events = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let events: Vec<Value> = events.collect();
        let has = |name: &str| events.iter().any(|event| event["event"] == name);
        assert!(has("version"), "{kind:?}: no login: {text}");
        let refused = events.iter().filter(|event| event["event"] == "absent");
        let refused: Vec<&Value> = refused
            .filter(|event| event["absent"]["detail"].to_string().contains("login"))
            .collect();
        assert!(refused.is_empty(), "{kind:?}: {refused:#?}");

        // Its name alone is no key.
        let output = run_as(OTHER, &program, &[&check[..], &["--user", USER.0]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{kind:?}");
        assert!(said.contains("no login as nobody"), "{kind:?}: {said}");
    }
}
