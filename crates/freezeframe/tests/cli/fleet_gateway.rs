//! A gateway that is fed with garbage, held up, and whose store is away.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::fleet::any_store::Access;
use ::fleet::clickhouse::Then;
use ::fleet::from_incident::host_id;
use ::fleet::gateway::Gateway;
use ::fleet::row::{HealthRow, HostRow, Seconds};
use ::fleet::{Batch, Token};
use serde_json::Value;

use crate::fleet::said;
use crate::fleet_feed::get;
use crate::fleet_gateway_killed::{Chance, FakeStore};
use crate::harness::freezeframe;

const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) const SALT: [u8; 32] = [7; 32];

/// A directory with a salt and what a gateway has.
pub(crate) struct Place {
    pub(crate) dir: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("salt"), SALT).unwrap();
        Self { dir }
    }

    pub(crate) fn own(&self) -> PathBuf {
        self.dir.path().join("gateway")
    }

    pub(crate) fn salt(&self) -> PathBuf {
        self.dir.path().join("salt")
    }

    fn command(&self) -> Command {
        let mut command = freezeframe();
        command.args(["fleet", "gateway", "--dir"]).arg(self.own());
        command
    }

    /// The token of a host.
    pub(crate) fn add(&self, host: &str) -> String {
        let output = self.command().args(["add-host", host]).output().unwrap();
        said(&output).trim().to_owned()
    }

    pub(crate) fn start(&self, store: &str, more: &[&str]) -> Running {
        let mut child = self
            .command()
            .args(["--url", store, "--listen", "127.0.0.1:0", "--salt-file"])
            .arg(self.salt())
            .args(more)
            .env("FREEZEFRAME_FLEET_PASSWORD", "s3cret word")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .strip_prefix("listens on ")
            .and_then(|rest| rest.split_once(',')?.0.parse().ok());
        let Some(address) = address else {
            let output = child.wait_with_output().unwrap();
            panic!("{line:?} {output:?}");
        };
        Running { child, address }
    }
}

/// A gateway; killed when the test ends.
pub(crate) struct Running {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Running {
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn gateway(&self, token: &str) -> Gateway {
        gateway(self.address, token)
    }

    fn health(&self) -> Value {
        serde_json::from_str(&get(self.address, "/healthz")).unwrap()
    }

    pub(crate) fn wait_until_stored(&self) {
        let end = Instant::now() + PATIENCE;
        while self.health()["waiting"] != 0 {
            assert!(Instant::now() < end, "{}", self.health());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn metric(&self, name: &str) -> f64 {
        let text = get(self.address, "/metrics");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("freezeframe_{name} ")));
        line.unwrap_or_else(|| panic!("{name} in {text}"))
            .parse()
            .unwrap()
    }

    fn refused(&self, reason: &str) -> f64 {
        self.metric(&format!("gateway_refused_total{{reason=\"{reason}\"}}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn gateway(address: SocketAddr, token: &str) -> Gateway {
    let gateway = Gateway::parse(&format!("gateway+http://{address}")).unwrap();
    gateway.with_access(Access {
        password: Some(token.to_owned()),
        ca_file: None,
    })
}

pub(crate) fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

pub(crate) fn mark(host: &str, seq: u64) -> String {
    format!("mark-{host}-{seq:06};")
}

/// A minute of a host, with a mark of its own.
pub(crate) fn minute(host: &str, seq: u64) -> Batch {
    let mut batch = Batch::new(Token {
        host_id: host_id(&SALT, host, "").0,
        boot: 1,
        seq,
    });
    let id = host_id(&SALT, host, "3306");
    batch.push(&HostRow {
        host_id: id,
        host: host.to_owned(),
        label: "3306".to_owned(),
        ..HostRow::default()
    });
    batch.push(&HealthRow {
        host_id: id,
        ts: Seconds(now() / 86_400 * 86_400 - 86_400 + i64::try_from(seq).unwrap()),
        absent: vec![mark(host, seq)],
        ..HealthRow::default()
    });
    batch
}

fn sent(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    // Who is refused early closes first.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> u16 {
    let code = answer
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3));
    code.and_then(|code| code.parse().ok()).unwrap_or(0)
}

#[test]
fn who_means_harm_is_refused_and_costs_others_nothing() {
    let place = Place::new();
    let url = format!("sqlite://{}", place.dir.path().join("fleet.db").display());
    let (own, other) = (place.add("db1"), place.add("db2"));
    let mut running = place.start(&url, &[]);
    let failure = |token: &str, batch: &Batch| running.gateway(token).insert(batch).unwrap_err();
    // Somebody else's rows, somebody else's token, none of ours.
    let batch = minute("db1", 1);
    let foreign = failure(&other, &batch);
    assert_eq!(foreign.then, Then::Leave);
    assert!(
        foreign.said.contains("'db2'") && foreign.said.contains("'db1'"),
        "{foreign}"
    );
    assert_eq!(failure("ffg_0123", &batch).then, Then::Stop);
    assert_eq!(running.refused("token"), 1.0);
    assert_eq!(running.refused("foreign"), 1.0);
    // No batches, and requests that are none.
    let head = |length: usize| {
        format!(
            "POST /v1/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {own}\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    let bytes = ::fleet::batch_bytes::to_bytes(&batch).unwrap();
    let mut damaged = bytes.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let chunked = head(1).replace("Content-Length: 1", "Transfer-Encoding: chunked");
    let broken = [head(bytes.len() + 1).as_bytes(), &bytes].concat();
    for (request, wanted) in [
        ([head(5).as_bytes(), b"hello"].concat(), 400),
        ([head(damaged.len()).as_bytes(), &damaged].concat(), 400),
        (head(33 << 20).into_bytes(), 413),
        (head(usize::MAX).into_bytes(), 413),
        (chunked.into_bytes(), 411),
        (b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), 404),
        (b"POST /v1/batch HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), 401),
        (b"PUT / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), 405),
        (b"SSH-2.0-x\r\n".to_vec(), 408),
        (vec![b'x'; 20_000], 414),
    ] {
        let answer = sent(running.address, &request);
        assert_eq!(status(&answer), wanted, "{answer}");
    }
    let mut stream = TcpStream::connect(running.address).unwrap();
    stream.write_all(&broken).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(status(&answer), 400, "{answer}");
    assert_eq!(running.metric("gateway_received_total"), 0.0);
    // More connections than there are places, each of which says little or nothing for ever.
    let hanging: Vec<TcpStream> = (0..300)
        .map(|number| {
            let mut stream = TcpStream::connect(running.address).unwrap();
            if number % 2 == 0 {
                let _ = stream.write_all(b"POST /v1/batch HT");
            }
            stream
        })
        .collect();
    // One of the host's two places hangs too.
    let mut half = TcpStream::connect(running.address).unwrap();
    half.write_all(head(1000).as_bytes()).unwrap();
    let begin = Instant::now();
    let mut answer = running.gateway(&own).insert(&batch);
    while answer
        .as_ref()
        .is_err_and(|failure| failure.then != Then::Stop)
        && begin.elapsed() < Duration::from_secs(30)
    {
        answer = running.gateway(&own).insert(&batch);
    }
    answer.unwrap();
    running.gateway(&own).insert(&batch).unwrap();
    assert_eq!(running.metric("gateway_received_total"), 1.0);
    assert_eq!(running.metric("gateway_repeated_total"), 1.0);
    while running.metric("gateway_connections") > 130.0 {
        assert!(begin.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(running.metric("gateway_resident_bytes") < 256e6);
    drop((hanging, half));
    running.wait_until_stored();
    assert_eq!(running.metric("gateway_stored_total"), 1.0);
    // A line for each sender and reason, without tokens.
    running.kill();
    let mut told = String::new();
    let mut stderr = running.child.stderr.take().unwrap();
    stderr.read_to_string(&mut told).unwrap();
    let lines = |part: &str| told.lines().filter(|line| line.contains(part)).count();
    assert_eq!(lines("refused from db2: "), 1, "{told}");
    assert_eq!(lines("refused from 127.0.0.1: "), 1, "{told}");
    assert!(
        !told.contains("ffg_") && told.lines().count() < 12,
        "{told}"
    );
}

#[test]
fn a_full_journal_says_so_and_goes_on_when_the_store_is_back() {
    let place = Place::new();
    let token = place.add("h1");
    // Nobody listens there for now.
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let running = place.start(
        &format!("http://{address}/f"),
        &["--journal-mebibytes", "1"],
    );
    let gateway = running.gateway(&token);
    let large = |seq: u64| {
        let mut batch = minute("h1", seq);
        // Packed as it is: nothing in it repeats.
        let mut chance = Chance(seq);
        let noise = (0..60_000).map(|_| chance.below(1 << 30).to_string());
        batch.push(&HealthRow {
            host_id: host_id(&SALT, "h1", "3306"),
            ts: Seconds(now()),
            absent: noise.collect(),
            ..HealthRow::default()
        });
        batch
    };
    let mut kept = 0;
    let failure = loop {
        match gateway.insert(&large(kept + 1)) {
            Ok(()) => kept += 1,
            Err(failure) => break failure,
        }
    };
    assert_eq!(failure.then, Then::BackOff);
    assert!(
        kept > 0 && failure.said.contains("journal_mebibytes"),
        "{kept} {failure}"
    );
    let health = running.health();
    assert_eq!(
        (health["ok"].as_bool(), health["waiting"].as_u64()),
        (Some(false), Some(kept))
    );
    assert!(get(running.address, "/metrics").contains("freezeframe_gateway_up 0\n"));
    // What is there is still known.
    gateway.insert(&large(1)).unwrap();
    let store = FakeStore::start(TcpListener::bind(address).unwrap(), false);
    running.wait_until_stored();
    gateway.insert(&large(kept + 1)).unwrap();
    running.wait_until_stored();
    assert_eq!(running.health()["ok"], true);
    let wanted = (1..=kept + 1).map(|seq| (mark("h1", seq), 1));
    assert_eq!(store.marks(), wanted.collect());
}

/// `check` of a recorder with this configuration: its exit code, what it says of the fleet, its error lines.
fn checked(config: &str, token: &str, dir: &Path) -> (i32, Value, String) {
    let path = dir.join("freezeframe.toml");
    std::fs::write(&path, config).unwrap();
    let output = freezeframe()
        .args([
            "check",
            "--json",
            "--look",
            "200ms",
            "--socket",
            "/nonexistent/mysqld.sock",
            "--config",
        ])
        .arg(&path)
        .env("FREEZEFRAME_FLEET_PASSWORD", token)
        .output()
        .unwrap();
    let answers: Value = serde_json::from_slice(&output.stdout).unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    (
        output.status.code().unwrap(),
        answers[0]["fleet"].clone(),
        error,
    )
}

#[test]
fn check_says_whether_a_gateway_takes_what_this_host_sends() {
    let place = Place::new();
    let dir = place.dir.path();
    let (own, other) = (place.add(&recorder::host_name()), place.add("elsewhere"));
    let running = place.start(&format!("sqlite://{}", dir.join("fleet.db").display()), &[]);
    let config = |salt: &Path| {
        format!(
            "[fleet]\nurl = 'gateway+http://{}'\nsalt_file = '{}'\n",
            running.address,
            salt.display()
        )
    };
    let (_, fleet, _) = checked(&config(&place.salt()), &own, dir);
    assert_eq!(fleet["ok"], true, "{fleet}");
    let refused = |salt: &Path, token: &str| {
        let (code, fleet, error) = checked(&config(salt), token, dir);
        assert_eq!((code, fleet["ok"].as_bool()), (1, Some(false)), "{fleet}");
        let line = error.lines().find(|line| line.contains("fleet: "));
        line.unwrap().to_owned()
    };
    assert!(refused(&place.salt(), "ffg_12").contains("does not know this token"));
    assert!(refused(&place.salt(), &other).contains("'elsewhere'"));
    let salt = dir.join("other.salt");
    std::fs::write(&salt, [8; 32]).unwrap();
    assert!(refused(&salt, &own).contains("another salt"));
    // It was only asked.
    assert_eq!(running.health()["waiting"], 0);
    assert_eq!(running.metric("gateway_received_total"), 0.0);
    // A gateway answers no questions.
    let url = format!("gateway+http://{}", running.address);
    let output = freezeframe()
        .args(["fleet", "ask", "costs", "--url", &url])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("the store behind it")
    );
}

#[test]
fn hosts_are_added_listed_and_removed() {
    let place = Place::new();
    let run = |arguments: &[&str]| place.command().args(arguments).output().unwrap();
    let token = said(&run(&["add-host", "db1"]));
    assert!(
        token.starts_with("ffg_") && token.lines().count() == 1,
        "{token}"
    );
    let answer: Value =
        serde_json::from_str(&said(&run(&["add-host", "w1", "--also", "db2", "--json"]))).unwrap();
    assert_eq!(answer["host"], "w1");
    assert!(answer["token"].as_str().unwrap().starts_with("ffg_"));
    let listed: Value = serde_json::from_str(&said(&run(&["hosts", "--json"]))).unwrap();
    assert_eq!(
        listed,
        serde_json::json!([
            {"host": "db1", "also": [], "any_host": false},
            {"host": "w1", "also": ["db2"], "any_host": false},
        ])
    );
    assert_eq!(said(&run(&["hosts"])), "db1\nw1, and db2\n");
    said(&run(&["remove-host", "db1"]));
    assert_eq!(run(&["remove-host", "db1"]).status.code(), Some(1));
    assert_eq!(run(&["add-host", "a b"]).status.code(), Some(2));
    // Without a store there is nothing to run.
    assert_eq!(run(&[]).status.code(), Some(2));
    // One gateway for each journal.
    let url = format!("sqlite://{}", place.dir.path().join("fleet.db").display());
    let running = place.start(&url, &[]);
    let salt = place.salt();
    let second = run(&[
        "--url",
        &url,
        "--listen",
        "127.0.0.1:0",
        "--salt-file",
        salt.to_str().unwrap(),
    ]);
    assert_eq!(second.status.code(), Some(1));
    assert!(
        String::from_utf8(second.stderr)
            .unwrap()
            .contains("another gateway")
    );
    drop(running);
}
