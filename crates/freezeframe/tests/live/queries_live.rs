//! `queries --live`: what is asked while it listens is what it tells, by each way.

use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testbed::{Options, PrivateServer, ServerKind};

use crate::harness::freezeframe;
use crate::tool::{error_line, wait_until};

const TIMEOUT: Duration = Duration::from_secs(20);

fn start(kind: ServerKind, arguments: &[&str]) -> Option<PrivateServer> {
    if let Err(error @ testbed::Error::NotFetched { .. }) = testbed::installed(kind) {
        eprintln!("skipped: {error}");
        return None;
    }
    let arguments = arguments
        .iter()
        .map(|argument| (*argument).to_owned())
        .collect();
    let options = Options {
        kind,
        arguments,
        ..Options::default()
    };
    Some(PrivateServer::start(&options).unwrap())
}

/// `queries --live` of a server by its socket.
fn command(server: &PrivateServer, time: &str, more: &[&str]) -> Command {
    let mut command = freezeframe();
    command
        .args([
            "queries",
            "--live",
            time,
            "--user",
            "root",
            "--leave-free",
            "0",
            "--socket",
        ])
        .arg(server.socket())
        .arg("--lease-dir")
        .arg(server.directory().join("leases"))
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn document(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", said(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// How often a statement was asked, by the document.
fn count(document: &Value, statement: &str) -> u64 {
    let fingerprint = sql::fingerprint(statement);
    let classes = document["classes"].as_array().unwrap();
    let class = classes
        .iter()
        .find(|class| class["fingerprint"] == fingerprint.as_str());
    class.map_or(0, |class| class["count"].as_u64().unwrap())
}

/// Listens, asks so many statements once it does, and ends it.
fn ask_while_it_listens(
    server: &PrivateServer,
    more: &[&str],
    client: &mut Conn,
    is_listening: impl Fn(&mut Conn, &Child) -> bool,
) -> Output {
    let child = command(server, "60s", more).spawn().unwrap();
    wait_until("it to listen", || is_listening(client, &child));
    for number in 0..40 {
        client.query_drop("SHOW WARNINGS").unwrap();
        if number % 4 == 0 {
            client
                .query_drop(format!("SELECT 'a secret' FROM DUAL WHERE {number} = 1"))
                .unwrap();
        }
    }
    client.query_drop("COMMIT").unwrap();
    // What was asked is there; Ctrl-C ends it early.
    std::thread::sleep(Duration::from_millis(300));
    kill_process(
        Pid::from_raw(child.id().try_into().unwrap()).unwrap(),
        Signal::INT,
    )
    .unwrap();
    child.wait_with_output().unwrap()
}

fn tells_what_was_asked(output: &Output, way: &str) -> Value {
    let document = document(output);
    assert_eq!(document["way"], way, "{document}");
    let counts = (
        count(&document, "SHOW WARNINGS"),
        count(&document, "SELECT 'x' FROM DUAL WHERE 2 = 1"),
    );
    assert_eq!(counts, (40, 10), "{document} {}", said(output));
    assert!(!document.to_string().contains("a secret"));
    assert!(
        !document["blind"].as_array().unwrap().is_empty(),
        "{document}"
    );
    document
}

/// How often digests were read: a reading is over when its question is counted.
fn readings(client: &mut Conn) -> u64 {
    let question = "SELECT CAST(COALESCE(SUM(COUNT_STAR), 0) AS UNSIGNED) \
        FROM performance_schema.events_statements_summary_by_digest \
        WHERE DIGEST_TEXT LIKE '%SUM_NO_INDEX_USED%FIRST_SEEN%' AND DIGEST_TEXT LIKE 'SELECT%SCHEMA_NAME%'";
    client.query_first(question).unwrap().unwrap()
}

/// Waits for one reading more than there are now.
fn has_read_once(client: &mut Conn) -> impl Fn(&mut Conn, &Child) -> bool + use<> {
    let before = readings(client);
    move |client, _| readings(client) > before
}

#[test]
fn performance_schema_is_the_first_choice() {
    for (kind, arguments) in [
        (ServerKind::MySql9, &[][..]),
        (ServerKind::MariaDb, &["--performance-schema=ON"][..]),
    ] {
        let Some(server) = start(kind, arguments) else {
            continue;
        };
        let mut client = server.login().connect(false, TIMEOUT).unwrap();
        let is_listening = has_read_once(&mut client);
        let output = ask_while_it_listens(&server, &["--json"], &mut client, is_listening);
        tells_what_was_asked(&output, "performance-schema");
        let said = said(&output);
        assert!(said.contains("nothing was changed"), "{said}");
        assert!(!said.contains("not by"), "{said}");
    }
}

/// Executes a prepared statement until the listening ends; how often it did.
fn execute_meanwhile(client: &mut Conn, mut child: Child) -> (u64, Output) {
    let statement = client
        .prep("SELECT 'a secret' FROM DUAL WHERE ? = 1")
        .unwrap();
    let mut asked = 0;
    while child.try_wait().unwrap().is_none() {
        client.exec_drop(&statement, (asked,)).unwrap();
        asked += 1;
    }
    (asked, child.wait_with_output().unwrap())
}

#[test]
fn digests_that_miss_what_is_asked_are_left() {
    for (kind, misses) in [(ServerKind::MariaDb, true), (ServerKind::MySql9, false)] {
        let Some(server) = start(kind, &["--performance-schema=ON"]) else {
            continue;
        };
        let mut client = server.tcp_login().connect(false, TIMEOUT).unwrap();
        let child = command(&server, "6s", &["--json"]).spawn().unwrap();
        let (asked, output) = execute_meanwhile(&mut client, child);
        let document = document(&output);
        let (way, said) = (document["way"].as_str().unwrap(), said(&output));
        if !misses {
            assert_eq!(way, "performance-schema", "{document}");
            assert!(document["tried"].is_null(), "{document}");
            continue;
        }
        let tried = document["tried"][0].clone();
        if said.contains("CAP_NET_RAW") {
            eprintln!("skipped: {said}");
            assert_eq!(
                (way, &tried["what"]),
                ("performance-schema", &"packets".into())
            );
            continue;
        }
        assert_eq!(way, "packets", "{document} {said}");
        assert_eq!(tried["what"], "performance_schema", "{document}");
        assert!(
            tried["detail"]
                .as_str()
                .unwrap()
                .contains("digests counted"),
            "{tried}"
        );
        let total = document["total"].as_u64().unwrap();
        assert!(total > asked / 3, "{total} of {asked}");
    }
}

#[test]
fn what_was_prepared_before_has_its_text_from_the_server() {
    for kind in [ServerKind::MariaDb, ServerKind::MySql9] {
        let Some(server) = start(kind, &["--performance-schema=ON"]) else {
            continue;
        };
        let mut client = server.tcp_login().connect(false, TIMEOUT).unwrap();
        client.query_drop("CREATE DATABASE shop").unwrap();
        client.query_drop("USE shop").unwrap();
        let options = ["--way", "packets", "--json"];
        let child = command(&server, "3s", &options).spawn().unwrap();
        let (asked, output) = execute_meanwhile(&mut client, child);
        if !output.status.success() && said(&output).contains("CAP_NET_RAW") {
            eprintln!("skipped: {}", said(&output));
            return;
        }
        let document = document(&output);
        let fingerprint = sql::fingerprint("SELECT 'x' FROM DUAL WHERE 1 = 1");
        let classes = document["classes"].as_array().unwrap();
        let class = classes
            .iter()
            .find(|class| class["fingerprint"] == fingerprint.as_str())
            .unwrap_or_else(|| panic!("{kind:?}: {document}"));
        let executed = class["count"].as_u64().unwrap();
        assert!(executed > asked / 3, "{executed} of {asked}");
        assert_eq!(class["users"][0]["name"], "root", "{class}");
        assert_eq!(class["databases"][0]["name"], "shop", "{class}");
        let mix = &document["connections"];
        assert_eq!(
            (&mix["named"], &mix["prepared"]),
            (&1.into(), &1.into()),
            "{mix}"
        );
        assert!(!document.to_string().contains("a secret"), "{document}");
    }
}

#[test]
fn clients_that_packets_do_not_see_are_told_by_the_digests() {
    let server = start(ServerKind::MariaDb, &["--performance-schema=ON"]).unwrap();
    let mut client = server.login().connect(false, TIMEOUT).unwrap();
    let child = command(&server, "3s", &["--json"]).spawn().unwrap();
    client
        .query_drop("SELECT 'a secret' FROM DUAL WHERE 2 = 1")
        .unwrap();
    let (_, output) = execute_meanwhile(&mut client, child);
    let document = document(&output);
    assert_eq!(document["way"], "performance-schema", "{document}");
    assert_eq!(document["tried"][0]["what"], "packets", "{document}");
    let blind = document["blind"].as_array().unwrap();
    assert!(
        blind
            .iter()
            .any(|one| one["what"] == "statements without a digest"),
        "{document}"
    );
}

#[test]
fn packets_are_next() {
    let server = start(ServerKind::MariaDb, &[]).unwrap();
    let mut client = server.tcp_login().connect(false, TIMEOUT).unwrap();
    // Asked more than once: nothing outside tells when the capture has begun.
    let child = command(&server, "4s", &["--json"]).spawn().unwrap();
    let mut child = Some(child);
    let mut asked = 0;
    while child.as_mut().unwrap().try_wait().unwrap().is_none() {
        client.query_drop("SHOW WARNINGS").unwrap();
        client.query_drop("SELECT 'a secret'").unwrap();
        asked += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.take().unwrap().wait_with_output().unwrap();
    if !output.status.success() && said(&output).contains("CAP_NET_RAW") {
        eprintln!("skipped: {}", said(&output));
        return;
    }
    let document = document(&output);
    assert_eq!(document["way"], "packets", "{document}");
    let seen = count(&document, "SHOW WARNINGS");
    assert!(seen > asked / 3 && seen <= asked, "{seen} of {asked}");
    assert!(!document.to_string().contains("a secret"));
    let said = said(&output);
    assert!(said.contains("not by performance_schema"), "{said}");
    assert!(said.contains("asked once who is connected"), "{said}");
}

#[test]
fn the_general_log_tells_every_statement_and_only_when_it_may() {
    for kind in [ServerKind::MariaDb, ServerKind::MySql55, ServerKind::MySql9] {
        let Some(server) = start(kind, &[]) else {
            continue;
        };
        let mut client = server.login().connect(false, TIMEOUT).unwrap();
        let is_on = |client: &mut Conn, _: &Child| {
            let file: String = client
                .query_first("SELECT @@GLOBAL.general_log_file")
                .unwrap()
                .unwrap();
            let on: bool = client
                .query_first("SELECT @@GLOBAL.general_log")
                .unwrap()
                .unwrap();
            on && file.contains("freezeframe-general-")
        };
        let way = ["--way", "general-log", "--json"];
        let allowed = [&way[..], &["--allow-general-log"]].concat();
        let output = ask_while_it_listens(&server, &allowed, &mut client, is_on);
        let document = tells_what_was_asked(&output, "general-log");
        assert!(
            !document.to_string().contains("sql_log_off"),
            "our own statements: {document}"
        );
        assert!(
            said(&output).contains("its settings are restored"),
            "{}",
            said(&output)
        );

        let output = command(&server, "1s", &way).output().unwrap();
        let line = error_line(&output);
        assert!(line.contains("--allow-general-log"), "{line}");
    }
}

#[test]
fn single_statements_are_asked_for_where_they_are_seen() {
    let Some(server) = start(ServerKind::MySql9, &[]) else {
        return;
    };
    let mut client = server.tcp_login().connect(false, TIMEOUT).unwrap();
    let options = ["--way", "performance-schema", "--filter", "kind=SELECT"];
    let line = error_line(&command(&server, "1s", &options).output().unwrap());
    assert!(line.contains("need single statements"), "{line}");
    let output = command(&server, "1s", &["--since", "1h"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let line = said(&output);
    assert!(
        line.contains("--since and --until work only with logs"),
        "{line}"
    );

    let way = ["--way", "general-log", "--allow-general-log"];
    let options = [&way[..], &["--group-by", "kind", "--json"]].concat();
    let is_on = |client: &mut Conn, _: &Child| {
        let on: bool = client
            .query_first("SELECT @@GLOBAL.general_log")
            .unwrap()
            .unwrap();
        on
    };
    let by_log = document(&ask_while_it_listens(&server, &options, &mut client, is_on));
    assert_eq!(by_log["way"], "general-log");

    // Off the wire they are seen as well.
    let options = [
        "--group-by",
        "kind",
        "--filter",
        "kind=SELECT",
        "--filter",
        "user=root",
        "--json",
    ];
    let child = command(&server, "4s", &options).spawn().unwrap();
    client.query_drop("SHOW WARNINGS").unwrap();
    let (asked, output) = execute_meanwhile(&mut client, child);
    if !output.status.success() && said(&output).contains("CAP_NET_RAW") {
        eprintln!("skipped: {}", said(&output));
        return;
    }
    let by_packets = document(&output);
    assert_eq!(by_packets["way"], "packets", "{by_packets}");
    assert_eq!(by_packets["tried"][0]["what"], "performance_schema");
    let classes = by_packets["classes"].as_array().unwrap();
    let kinds: Vec<&str> = classes
        .iter()
        .map(|class| class["fingerprint"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["SELECT"], "{by_packets}");
    let seen = by_packets["total"].as_u64().unwrap();
    assert!(seen > asked / 3 && seen <= asked, "{seen} of {asked}");
    assert!(!by_packets.to_string().contains("a secret"));
}

#[test]
fn text_and_page_are_made_of_the_same() {
    let Some(server) = start(ServerKind::MySql9, &[]) else {
        return;
    };
    let mut client = server.login().connect(false, TIMEOUT).unwrap();
    let page = server.directory().join("page.html");
    let options = ["--limit", "1", "--order-by", "count"];
    let is_listening = has_read_once(&mut client);
    let output = ask_while_it_listens(&server, &options, &mut client, is_listening);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(text.to_lowercase().contains("show warnings"), "{text}");
    assert!(
        !text.contains("select ? from dual"),
        "one class was asked for: {text}"
    );
    let is_listening = has_read_once(&mut client);
    let output = ask_while_it_listens(
        &server,
        &["--html", page.to_str().unwrap()],
        &mut client,
        is_listening,
    );
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(
        std::fs::read_to_string(&page)
            .unwrap()
            .contains("show warnings")
    );
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("nobody.sock");
    let run = |way: &str| {
        let mut command = freezeframe();
        command.args([
            "queries",
            "--live",
            "1s",
            "--way",
            way,
            "--allow-general-log",
            "--lease-dir",
        ]);
        command
            .arg(dir.path().join("leases"))
            .arg("--socket")
            .arg(&socket)
            .output()
            .unwrap()
    };
    for way in ["performance-schema", "packets", "general-log"] {
        let line = error_line(&run(way));
        assert!(line.contains("not by"), "{way}: {line}");
    }
}

#[test]
fn that_nothing_was_asked_is_an_answer() {
    for kind in [ServerKind::MariaDb, ServerKind::MySql9, ServerKind::MySql55] {
        let Some(server) = start(kind, &[]) else {
            continue;
        };
        let more = ["--way", "general-log", "--allow-general-log"];
        let output = command(&server, "1s", &more).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("no statements in this time"), "{said}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.starts_with("0 statements"), "{text}");
        let json = [&more[..], &["--json"]].concat();
        let output = command(&server, "1s", &json).output().unwrap();
        let document = document(&output);
        assert_eq!(document["classes"].as_array().unwrap().len(), 0);
    }
}

/// Whether a process has a packet socket that is bound: it is running, says packet(7)'s table.
fn hears_packets(pid: u32) -> bool {
    let table = std::fs::read_to_string("/proc/net/packet").unwrap_or_default();
    let running: Vec<String> = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.get(5) == Some(&"1"))
        .filter_map(|fields| Some(format!("socket:[{}]", fields.last()?)))
        .collect();
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    descriptors
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .any(|link| {
            running
                .iter()
                .any(|socket| link.as_os_str() == socket.as_str())
        })
}

#[test]
fn a_server_that_answers_nobody_is_listened_to() {
    let Some(server) = start(ServerKind::MySql9, &[]) else {
        return;
    };
    let mut client = server
        .tcp_login()
        .connect(false, Duration::from_secs(3))
        .unwrap();
    client.query_drop("SELECT 1").unwrap();
    server.pause().unwrap();
    let mut child = command(&server, "8s", &["--json"]).spawn().unwrap();
    // Before, the server is tried.
    wait_until("it to listen", || {
        hears_packets(child.id()) || child.try_wait().unwrap().is_some()
    });
    client
        .query_drop("SELECT 'a secret' FROM nowhere_1")
        .unwrap_err();
    let output = child.wait_with_output().unwrap();
    server.resume().unwrap();
    if !output.status.success() && said(&output).contains("CAP_NET_RAW") {
        eprintln!("skipped: {}", said(&output));
        return;
    }
    let document = document(&output);
    assert_eq!(document["way"], "packets", "{document}");
    assert_eq!(
        count(&document, "SELECT 'x' FROM nowhere_1"),
        1,
        "{document}"
    );
    assert!(
        said(&output).contains("no answer in time"),
        "{}",
        said(&output)
    );
}
