//! What real tools print of a real server, read back: the client's tables while transactions wait for
//! each other, and the same statements by tcpdump, slow log and general log.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use import::{Input, import};
use model::{Incident, QueryMethod};
use testbed::{HeldSession, Options, PrivateServer, ServerKind, say};

const PATIENCE: Duration = Duration::from_secs(60);

/// Transactions that wait for the first.
const WAITERS: usize = 6;

/// Statements of the class that is counted.
const STATEMENTS: usize = 40;

fn server(kind: ServerKind, arguments: &[&str]) -> Option<PrivateServer> {
    let options = Options {
        kind,
        arguments: arguments.iter().map(|one| (*one).to_owned()).collect(),
        ..Options::default()
    };
    match PrivateServer::start(&options) {
        Ok(server) => Some(server),
        Err(error) => {
            eprintln!("skipped: no {kind:?}: {error}");
            None
        }
    }
}

/// What the client prints; `None` where there is no client.
fn client(server: &PrivateServer, form: &str, sql: &str) -> Option<String> {
    let login = server.login();
    let output = Command::new("mysql")
        .args(["--no-defaults", form, "-u", &login.user, "-S"])
        .arg(server.socket())
        .args(["-e", sql])
        .env("MYSQL_PWD", login.password.unwrap_or_default())
        .output();
    match output {
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{sql}: {error}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(error) => {
            eprintln!("skipped: no client: {error}");
            None
        }
    }
}

fn explained(bytes: &[u8]) -> Incident {
    let imported = import(&[Input { path: "x", bytes }]);
    let parts = format!("{:?}", imported.parts);
    imported.incident.unwrap_or_else(|| panic!("{parts}"))
}

fn last(incident: &Incident, name: &str) -> Option<f64> {
    let series = incident.timeline.matching(name).next()?;
    series
        .values
        .iter()
        .copied()
        .rfind(|value| value.is_finite())
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|one| (*one).to_owned()).collect()
}

/// The tables that tell of transactions and locks.
const OF_INNODB: &str = "SELECT * FROM information_schema.INNODB_TRX; \
    SELECT * FROM information_schema.INNODB_LOCKS; SELECT * FROM information_schema.INNODB_LOCK_WAITS";
const OF_MYSQL_8: &str = "SELECT * FROM information_schema.INNODB_TRX; \
    SELECT * FROM performance_schema.data_lock_waits; SELECT * FROM performance_schema.data_locks; \
    SELECT * FROM performance_schema.threads";

#[test]
fn tables_of_mariadb_name_who_blocks() {
    tables_name_who_blocks(ServerKind::MariaDb, OF_INNODB);
}

#[test]
fn tables_of_mysql_5_5_name_who_blocks() {
    tables_name_who_blocks(ServerKind::MySql55, OF_INNODB);
}

#[test]
fn tables_of_mysql_9_name_who_blocks() {
    tables_name_who_blocks(ServerKind::MySql9, OF_MYSQL_8);
}

fn tables_name_who_blocks(kind: ServerKind, tables: &str) {
    let Some(server) = server(kind, &["--innodb-lock-wait-timeout=120"]) else {
        return;
    };
    let login = server.login();
    let make = texts(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, n INT) ENGINE=InnoDB",
        "INSERT INTO shop.orders VALUES (1, 0), (2, 0)",
    ]);
    say(&login, &make, PATIENCE).unwrap();
    let update = "UPDATE shop.orders SET n = n + LENGTH('geheim') WHERE id = 1";
    let _blocker = HeldSession::begin(&login, &texts(&["BEGIN", update]), PATIENCE).unwrap();
    let one = "SELECT COUNT(*) FROM information_schema.INNODB_TRX";
    let wait = |count: usize| -> bool {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            match client(&server, "-BN", one) {
                Some(text) if text.trim() == count.to_string() => return true,
                // Who asks again within 100 ms gets the same answer (trx0i_s, CACHE_MIN_IDLE_TIME_US).
                Some(_) => std::thread::sleep(Duration::from_millis(400)),
                None => return false,
            }
        }
        panic!("{count} transactions did not begin");
    };
    if !wait(1) {
        return;
    }
    let blocker = "SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX";
    let blocker: u32 = client(&server, "-BN", blocker)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let _waiters: Vec<HeldSession> = (0..WAITERS)
        .map(|_| HeldSession::begin(&login, &texts(&[update]), PATIENCE).unwrap())
        .collect();
    assert!(wait(1 + WAITERS));
    for form in ["-t", "-B", "-E", "-H", "-X"] {
        let text = client(&server, form, tables).unwrap();
        let incident = explained(text.as_bytes());
        let waiting = last(&incident, "innodb.lock_wait_transactions");
        assert_eq!(waiting, Some(WAITERS as f64), "{form}");
        let row = &incident.stacks.locks[0].locks[0];
        assert_eq!(row.name, "row lock on shop.orders (PRIMARY)", "{form}");
        assert_eq!(row.waiters_max as usize, WAITERS, "{form}");
        assert_eq!(row.holders[0].tid, blocker, "{form}");
        // Waiters stand in front of each other too; none of them has the row.
        assert_eq!(row.holders.len(), 1, "{form}");
        assert!(!format!("{:?}", incident.stacks).contains("geheim"));
    }
}

/// tcpdump on the server's port; ended when it is dropped.
struct Dump(Child);

impl Dump {
    fn start(port: u16, path: &std::path::Path) -> Option<Self> {
        let child = Command::new("tcpdump")
            .args(["-i", "lo", "-U", "-s", "0", "-Z", "root", "-w"])
            .arg(path)
            .args(["port", &port.to_string()])
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => {
                eprintln!("skipped: no tcpdump: {error}");
                return None;
            }
        };
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let listens = lines
            .by_ref()
            .map_while(Result::ok)
            .any(|line| line.contains("listening on"));
        // It goes on to tell what it counted at its end.
        std::thread::spawn(move || lines.for_each(drop));
        if !listens {
            eprintln!("skipped: tcpdump may not capture here");
            let _ = child.wait();
            return None;
        }
        Some(Self(child))
    }

    fn stop(mut self) {
        let pid = self.0.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Dump {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The file as it is when `text` is in it. A server answers its client before it writes the slow log, and a
/// capture is behind what was sent.
fn wait_for(path: &std::path::Path, text: &str) -> Vec<u8> {
    let begin = Instant::now();
    loop {
        let bytes = std::fs::read(path).unwrap_or_default();
        let is_there = bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes());
        if is_there || begin.elapsed() > PATIENCE {
            return bytes;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn packets_and_logs_tell_the_same_statements() {
    let arguments = [
        "--general-log=1",
        "--general-log-file=general.log",
        "--slow-query-log=1",
        "--slow-query-log-file=slow.log",
        "--long-query-time=0",
    ];
    let Some(server) = server(ServerKind::MariaDb, &arguments) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("packets");
    let dump = Dump::start(server.port(), &path);
    let statements: Vec<String> = (0..STATEMENTS)
        .map(|number| format!("SELECT CONCAT('geheim', {number}) AS the_text"))
        .collect();
    say(&server.tcp_login(), &statements, PATIENCE).unwrap();
    let mut captures = vec![
        (
            QueryMethod::GeneralLog,
            server.datadir().join("general.log"),
        ),
        (QueryMethod::SlowLog, server.datadir().join("slow.log")),
    ];
    if let Some(dump) = dump {
        wait_for(&path, &statements[STATEMENTS - 1]);
        dump.stop();
        captures.push((QueryMethod::Packets, path));
    }
    for (way, path) in captures {
        let bytes = wait_for(&path, &statements[STATEMENTS - 1]);
        let incident = explained(&bytes);
        let digest = &incident.queries[0].digest;
        assert_eq!(digest.method, way);
        let class = digest
            .classes
            .iter()
            .find(|class| class.fingerprint.ends_with("as the_text"))
            .unwrap_or_else(|| panic!("{way:?}: {:?}", digest.classes));
        assert_eq!(class.count as usize, STATEMENTS, "{way:?}");
        assert!(!format!("{incident:?}").contains("geheim"), "{way:?}");
    }
}

/// Seconds that pt-stalk collects; it waits as long again for what it started.
const COLLECTED: &str = "3";

/// What it leaves in a directory; `None` where it is not installed.
fn collected_by_pt_stalk(server: &PrivateServer, directory: &std::path::Path) -> Option<()> {
    let login = server.tcp_login();
    let beside = |name: &str| directory.with_extension(name);
    let output = Command::new("pt-stalk")
        .args(["--no-stalk", "--iterations", "1", "--sleep", "1"])
        .args(["--run-time", COLLECTED])
        .args(["--disk-bytes-free", "1M", "--disk-pct-free", "1"])
        .arg("--dest")
        .arg(directory)
        .arg("--log")
        .arg(beside("log"))
        .arg("--pid")
        .arg(beside("pid"))
        .args(["--", "-h127.0.0.1"])
        .arg(format!("-P{}", server.port()))
        .arg(format!("-u{}", login.user))
        .env("MYSQL_PWD", login.password.unwrap_or_default())
        .env("HOME", "/dev/null")
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
            Some(())
        }
        Err(error) => {
            eprintln!("skipped: pt-stalk: {error}");
            None
        }
    }
}

#[test]
fn pt_stalk_writes_nothing_that_is_not_known() {
    let Some(server) = server(ServerKind::MariaDb, &[]) else {
        return;
    };
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("stalk");
    std::fs::create_dir(&directory).unwrap();
    if collected_by_pt_stalk(&server, &directory).is_none() {
        return;
    }
    let files: Vec<(String, Vec<u8>)> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            let (_, suffix) = name.split_once('-').unwrap();
            (suffix.to_owned(), std::fs::read(&path).unwrap())
        })
        .collect();
    let inputs: Vec<Input<'_>> = files
        .iter()
        .map(|(path, bytes)| Input { path, bytes })
        .collect();
    let imported = import(&inputs);
    let unknown: Vec<&str> = imported
        .parts
        .iter()
        .filter(|part| part.kind == "unknown")
        .map(|part| part.path.as_str())
        // One word, which may be anything.
        .filter(|path| *path != "hostname")
        .collect();
    assert_eq!(unknown, [""; 0], "{:?}", imported.parts);
    let kind_of = |path: &str| {
        let part = imported.parts.iter().find(|part| part.path == path);
        part.map(|part| part.kind.as_str())
    };
    for (path, kind) in [
        ("slave-status", "replication status"),
        ("opentables1", "open tables"),
        ("mysqladmin", "server status, repeated"),
        ("procvmstat", "/proc/vmstat"),
    ] {
        assert_eq!(kind_of(path), Some(kind), "{:?}", imported.parts);
    }
    // What only root may read, or other programs bring, need not be there.
    for (path, kind) in [
        ("slabinfo", "/proc/slabinfo"),
        ("interrupts", "/proc/interrupts"),
        ("lsof", "open files of a process"),
        ("pmap", "pmap output"),
    ] {
        let found = kind_of(path);
        assert!(found.is_none_or(|found| found == kind), "{path}: {found:?}");
    }
}
