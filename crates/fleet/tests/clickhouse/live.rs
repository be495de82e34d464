//! A server for the tests that need one.
//!
//! `make test-fleet` sets what they need: `FREEZEFRAME_FLEET_TESTS=1` for the development server, or
//! `FREEZEFRAME_CLICKHOUSE_URL` for a real one, in which databases of the tests' own are made and dropped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use fleet::clickhouse::{Address, Store};

/// The development server, for as long as the tests run: it ends when its input does.
struct Server {
    url: String,
    _child: Child,
    _dir: tempfile::TempDir,
}

static SERVER: OnceLock<Option<Server>> = OnceLock::new();

pub fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/fleet-server")
}

pub fn is_wanted() -> bool {
    std::env::var_os("FREEZEFRAME_FLEET_TESTS").is_some()
}

fn start() -> Option<Server> {
    if !is_wanted() {
        eprintln!("skipped: make test-fleet starts the development server");
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(script())
        .arg("run")
        .arg(dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let output = child.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    if line.is_empty() {
        child.wait().unwrap();
        eprintln!("skipped: the development server is not there: scripts/fleet-server fetch");
        return None;
    }
    Some(Server {
        url: line.trim().to_owned(),
        _child: child,
        _dir: dir,
    })
}

/// The URL of a server, without database; none when there is none, and that is said.
pub fn url() -> Option<String> {
    if let Ok(url) = std::env::var("FREEZEFRAME_CLICKHOUSE_URL") {
        return Some(url.trim_end_matches('/').to_owned());
    }
    Some(SERVER.get_or_init(start).as_ref()?.url.clone())
}

/// A store of the test's own, without tables.
pub fn store(name: &str) -> Option<Store> {
    let url = url()?;
    run(&format!("DROP DATABASE IF EXISTS freezeframe_test_{name}"));
    Some(Store::at(address(&url, name)))
}

pub fn address(url: &str, name: &str) -> Address {
    Address::parse(&format!("{url}/freezeframe_test_{name}")).unwrap()
}

/// Runs a statement with nothing of ours between; what it answers.
pub fn run(statement: &str) -> String {
    let url = url().unwrap();
    let place = url.split_once("://").unwrap().1;
    let place = place.rsplit('@').next().unwrap();
    let mut stream = TcpStream::connect(place).unwrap();
    let length = statement.len();
    let login = login(&url);
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: x\r\n{login}Content-Length: {length}\r\nConnection: close\r\n\r\n{statement}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{statement}: {answer}");
    match head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked")
    {
        // Short answers are one piece.
        true => body
            .split("\r\n")
            .nth(1)
            .unwrap_or_default()
            .trim()
            .to_owned(),
        false => body.trim().to_owned(),
    }
}

fn login(url: &str) -> String {
    let place = url.split_once("://").unwrap().1;
    match place.rsplit_once('@') {
        Some((login, _)) => {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            format!("X-ClickHouse-User: {user}\r\nX-ClickHouse-Key: {password}\r\n")
        }
        None => String::new(),
    }
}

pub fn count(name: &str, what: &str) -> u64 {
    run(&format!(
        "SELECT count() FROM freezeframe_test_{name}.{what}"
    ))
    .parse()
    .unwrap()
}
