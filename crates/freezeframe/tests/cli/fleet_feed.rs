//! A recorder that sends to a fleet, is killed over it, and whose fleet hangs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use model::{Clock, Reading, Sample, Server, SourceData, Unit};
use rusqlite::Connection;
use serde_json::{Value, json};
use store::{History, HistoryLimits, SessionStart};

use crate::fleet::{clickhouse, incident, said};
use crate::harness::{freezeframe, run};
use crate::survival::SmallDisk;

const PATIENCE: Duration = Duration::from_secs(600);

/// Minutes of the history that is there when the recorder starts, and how often it is killed: few, but for
/// `make test-fleet`.
fn scale() -> (i64, i64) {
    match std::env::var_os("FREEZEFRAME_FLEET_TESTS") {
        Some(_) => (900, 100),
        None => (90, 4),
    }
}

/// Host of the history, and the hosts of incidents: what the recorder itself records meanwhile is of none of them.
const HOSTS: [&str; 3] = ["old", "db1", "db2"];

/// What a recorder finds: its directory, and what it is configured with.
pub(crate) struct Room {
    dir: tempfile::TempDir,
    config: PathBuf,
}

/// The begin of the history's first minute, seconds since 1970.
pub(crate) fn begin() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_secs()).unwrap();
    now - now % 60 - (scale().0 + 5) * 60
}

/// A history of another server, in a file of its own.
pub(crate) fn history(path: &Path, begin: i64) {
    let start = SessionStart {
        clock: Clock {
            wall_at_zero_ms: begin * 1000,
            boot_id: String::new(),
        },
        host: "old".to_owned(),
        tool_version: "0.1.0".to_owned(),
        server: Server {
            label: "3307".to_owned(),
            ..Server::default()
        },
    };
    let (mut history, _) = History::open(path, HistoryLimits::default(), &start).unwrap();
    let samples: Vec<Sample> = (0..scale().0.unsigned_abs() * 6)
        .map(|count| Sample {
            source: "vmstat",
            at: count * 10_000,
            took_us: 1,
            outcome: Ok(SourceData {
                readings: vec![
                    Reading::counter("vmstat.pgfault", Unit::Count, (count * count) as f64),
                    Reading::gauge("vmstat.nr_dirty", Unit::Count, (count % 17) as f64),
                    Reading::gauge("vmstat.nr_writeback", Unit::Count, 3.0),
                ],
                ..SourceData::default()
            }),
        })
        .collect();
    for some in samples.chunks(600) {
        history.append(some).unwrap();
    }
    history.checkpoint().unwrap();
}

impl Room {
    /// With this of a configuration.
    pub(crate) fn new(fleet: &str) -> Self {
        Self::on(tempfile::tempdir().unwrap(), fleet)
    }

    fn on(dir: tempfile::TempDir, fleet: &str) -> Self {
        let config = dir.path().join("f.toml");
        std::fs::write(&config, fleet).unwrap();
        Self { dir, config }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn config(&self) -> &Path {
        &self.config
    }

    /// An incident of its own five minutes.
    pub(crate) fn incident(&self, begin: i64, number: i64) {
        let host = HOSTS[1 + usize::try_from(number % 2).unwrap()];
        let function = ["spin", "sort", "wait"][usize::try_from(number % 3).unwrap()];
        let mut one = incident(host, 1, function);
        one.id = format!("3306-stall-{number}");
        one.clock.wall_at_zero_ms = (begin + number * 300) * 1000;
        store::write_incident(&one, &self.state()).unwrap();
    }

    /// A recorder of a server that is not there.
    pub(crate) fn record(&self, more: &[&str]) -> Child {
        let state = self.state();
        let arguments = ["record", "--json", "--no-html", "--no-history", "--dir"];
        freezeframe()
            .args(arguments)
            .arg(state)
            .arg("--config")
            .arg(&self.config)
            .args(["--socket", "/nonexistent/mysqld.sock"])
            .args(more)
            .env("FREEZEFRAME_FLEET_PASSWORD", "s3cret word")
            .env("AWS_ACCESS_KEY_ID", "KEY")
            .env("AWS_SECRET_ACCESS_KEY", "s3cret")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// How far the fleet was fed, and batches that wait.
    pub(crate) fn fed(&self) -> (Value, usize) {
        let dir = self.state().join("fleet");
        let cursor = std::fs::read(dir.join("fed.json")).unwrap();
        let files = std::fs::read_dir(dir).unwrap().flatten();
        let waiting =
            files.filter(|file| file.path().extension().is_some_and(|end| end == "batch"));
        (serde_json::from_slice(&cursor).unwrap(), waiting.count())
    }

    /// Until a batch is in the spool, or has been there too shortly to be seen.
    fn wait_for_a_batch(&self) {
        let end = Instant::now() + Duration::from_secs(5);
        while self.fed().1 == 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn is_fed(&self, until: i64, incidents: usize) -> bool {
        let (cursor, waiting) = self.fed();
        let there = cursor["incidents"].as_array().unwrap().len();
        cursor["minute"].as_i64().unwrap() >= until && there == incidents && waiting == 0
    }
}

/// Feeds a fleet with the history and with as many incidents as a recorder was killed, and one; how often it was killed
/// while something was left to do.
pub(crate) fn feed(room: &Room, history: &Path, begin: i64, incidents: i64, kills: bool) -> usize {
    let own = room.state().join("fleet");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::copy(history, room.state().join("history-old.db")).unwrap();
    let cursor = json!({"life": 7, "minute": begin, "seconds_until": 0, "incidents": []});
    std::fs::write(own.join("fed.json"), cursor.to_string()).unwrap();
    let until = begin + scale().0 * 60;
    let (mut busy, mut chance) = (0, 20_261_125_u64);
    for number in 1..=incidents {
        room.incident(begin, number);
        if !kills {
            continue;
        }
        let mut child = room.record(&[]);
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        match number % 2 {
            // On a fast machine all is sent before most moments that are chosen by chance.
            0 => room.wait_for_a_batch(),
            _ => std::thread::sleep(Duration::from_millis(150 + (chance >> 33) % 2500)),
        }
        child.kill().unwrap();
        child.wait().unwrap();
        busy += usize::from(!room.is_fed(until, usize::try_from(number).unwrap()));
    }
    let mut child = room.record(&[]);
    let end = Instant::now() + PATIENCE;
    while !room.is_fed(until, usize::try_from(incidents).unwrap()) {
        assert!(Instant::now() < end, "{:?}", room.fed());
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    busy
}

/// All rows of these hosts, but for what depends on when and where they were made: minutes keep their seconds when an
/// incident near them is known by then.
pub(crate) fn rows(store: &Path) -> Vec<String> {
    const OTHERWISE: [&str; 5] = ["rev", "seen", "spooled_bytes", "frame_key", "v"];
    let connection = Connection::open(store).unwrap();
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let mut all = Vec::new();
    for table in texts("SELECT name FROM sqlite_schema WHERE type = 'table'") {
        if ["schema_version", "batch_tokens", "places", "stack_sums"].contains(&table.as_str()) {
            continue;
        }
        let columns = texts(&format!("SELECT name FROM pragma_table_info('{table}')"));
        let is_of_host = columns.iter().any(|name| name == "host_id");
        let columns: Vec<String> = columns
            .iter()
            .filter(|name| !OTHERWISE.contains(&name.as_str()))
            .map(|name| format!("quote(\"{name}\")"))
            .collect();
        let of_hosts = match is_of_host {
            true => format!("WHERE host_id IN ({})", hosts("hosts")),
            false => String::new(),
        };
        let line = columns.join(" || ' ' || ");
        all.extend(texts(&format!(
            "SELECT '{table} ' || {line} FROM {table} {of_hosts} ORDER BY 1"
        )));
    }
    all
}

fn hosts(table: &str) -> String {
    format!(
        "SELECT host_id FROM {table} WHERE host IN ('{}')",
        HOSTS.join("', '")
    )
}

fn of_table(rows: &[String], table: &str) -> usize {
    let begin = format!("{table} ");
    rows.iter().filter(|row| row.starts_with(&begin)).count()
}

#[test]
fn a_recorder_that_is_killed_loses_and_doubles_nothing() {
    let outside = tempfile::tempdir().unwrap();
    let template = outside.path().join("history-old.db");
    let begin = begin();
    history(&template, begin);
    let salt = outside.path().join("salt");
    std::fs::write(&salt, [7; 32]).unwrap();
    let sqlite = |name: &str| {
        let db = outside.path().join(name);
        let fleet = format!(
            "[fleet]\nurl = 'sqlite://{}'\nsalt_file = '{}'\ncluster = 'shop'\n",
            db.display(),
            salt.display()
        );
        (Room::new(&fleet), db)
    };
    let (minutes, incidents) = scale();
    let (calm, wanted) = sqlite("calm.db");
    feed(&calm, &template, begin, incidents, false);
    let wanted = rows(&wanted);
    // What was recorded is there, each once.
    let counts = ["incidents", "recorder_health", "signals"].map(|table| of_table(&wanted, table));
    let counts = counts.map(|count| i64::try_from(count).unwrap());
    assert_eq!(
        counts,
        [incidents, minutes + incidents, 3 * minutes + incidents]
    );
    let (killed, found) = sqlite("killed.db");
    let busy = feed(&killed, &template, begin, incidents, true);
    eprintln!("SQLite: {incidents} kills, {busy} of them while something was left to send");
    assert!(busy > 0, "no kill came between");
    let found = rows(&found);
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(&wanted) {
        assert_eq!(found, wanted);
    }
    let Some((url, mut server)) = clickhouse(&outside.path().join("server")) else {
        return;
    };
    let fleet = format!("[fleet]\nurl = '{url}'\nsalt_file = '{}'\n", salt.display());
    let init = freezeframe()
        .env("FREEZEFRAME_FLEET_PASSWORD", "s3cret word")
        .args(["fleet", "init", &url])
        .output();
    said(&init.unwrap());
    // So that rows that came twice would lie there.
    post(&url, "SYSTEM STOP MERGES");
    let room = Room::new(&fleet);
    let busy = feed(&room, &template, begin, incidents, true);
    eprintln!("ClickHouse: {incidents} kills, {busy} of them while something was left to send");
    let hosts = hosts("freezeframe_test.hosts FINAL");
    for table in [
        "signals",
        "incidents",
        "findings",
        "stacks",
        "queries",
        "recorder_health",
    ] {
        let sql =
            format!("SELECT count() FROM freezeframe_test.{table} WHERE host_id IN ({hosts})");
        assert_eq!(
            post(&url, &sql),
            of_table(&wanted, table).to_string(),
            "{table}"
        );
    }
    drop(server.stdin.take());
    server.wait().unwrap();
}

/// Runs a statement with nothing of ours between; what it answers.
pub(crate) fn post(url: &str, statement: &str) -> String {
    let place = url.rsplit('@').next().unwrap();
    let place = place.split('/').next().unwrap();
    let mut stream = TcpStream::connect(place).unwrap();
    let length = statement.len();
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: x\r\nX-ClickHouse-User: default\r\nX-ClickHouse-Key: s3cret word\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{statement}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{statement}: {answer}");
    match head.to_ascii_lowercase().contains("chunked") {
        true => body
            .split("\r\n")
            .nth(1)
            .unwrap_or_default()
            .trim()
            .to_owned(),
        false => body.trim().to_owned(),
    }
}

fn listening(child: &mut Child) -> SocketAddr {
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let event = lines.find_map(|line| {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        (event["event"] == "listening").then_some(event)
    });
    // Whoever prints goes on.
    std::thread::spawn(move || lines.count());
    event.unwrap()["address"].as_str().unwrap().parse().unwrap()
}

pub(crate) fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// It takes the connection and says nothing for ever.
#[test]
fn a_fleet_that_hangs_costs_the_recorder_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let room = Room::new("");
    let salt = room.dir.path().join("salt");
    std::fs::write(&salt, [7; 32]).unwrap();
    let fleet = format!(
        "[fleet]\nurl = 'http://127.0.0.1:{port}/f'\nsalt_file = '{}'\n",
        salt.display()
    );
    std::fs::write(&room.config, fleet).unwrap();
    room.incident(begin(), 1);
    let mut child = room.record(&["--listen", "127.0.0.1:0"]);
    let address = listening(&mut child);
    let end = Instant::now() + Duration::from_secs(60);
    let mut waits = 0;
    while waits < 30 {
        let health: Value = serde_json::from_str(&get(address, "/healthz")).unwrap();
        // It beats four times a second; a test machine may be busy.
        let beat = health["servers"][0]["recorder_beat_age_ms"]
            .as_u64()
            .unwrap_or(0);
        assert!(beat < 4000, "{health}");
        waits += usize::from(health["fleet"]["waiting"].as_u64() == Some(2));
        assert!(Instant::now() < end, "{health}");
        std::thread::sleep(Duration::from_millis(100));
    }
    let metrics = get(address, "/metrics");
    for line in [
        "freezeframe_fleet_waiting_batches 2",
        "freezeframe_fleet_sent_total 0",
        "freezeframe_fleet_lost_total{what=\"incidents\"} 0",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    let pid = rustix::process::Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let begin = Instant::now();
    child.wait().unwrap();
    assert!(
        begin.elapsed() < Duration::from_secs(30),
        "{:?}",
        begin.elapsed()
    );
}

/// A counter of `/metrics`.
fn counted(address: SocketAddr, name: &str) -> i64 {
    let metrics = get(address, "/metrics");
    let value = metrics.lines().find_map(|line| line.strip_prefix(name));
    value.unwrap().trim().parse().unwrap()
}

/// The spool's disk is full while the fleet is away: incidents stay, and each minute comes or is counted as lost.
#[test]
fn a_full_disk_costs_minutes_that_are_counted_and_no_incident() {
    const ROOM_BYTES: u64 = 100 * 1024;
    const INCIDENTS: i64 = 3;
    if std::env::var_os("FREEZEFRAME_FLEET_TESTS").is_none() {
        eprintln!("skipped: make test-fleet waits half a minute for a recorder that tries again");
        return;
    }
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("skipped: a file system cannot be mounted here");
        return;
    };
    let outside = tempfile::tempdir().unwrap();
    let salt = outside.path().join("salt");
    std::fs::write(&salt, [7; 32]).unwrap();
    let away = outside.path().join("away");
    let db = away.join("fleet.db");
    let fleet = format!(
        "[fleet]\nurl = 'sqlite://{}'\nsalt_file = '{}'\n",
        db.display(),
        salt.display()
    );
    let room = Room::on(tempfile::tempdir_in(disk.path()).unwrap(), &fleet);
    let begin = begin();
    let until = begin + scale().0 * 60;
    let own = room.state().join("fleet");
    std::fs::create_dir_all(&own).unwrap();
    history(&room.state().join("history-old.db"), begin);
    let cursor = json!({"life": 7, "minute": begin, "seconds_until": 0, "incidents": []});
    std::fs::write(own.join("fed.json"), cursor.to_string()).unwrap();
    for number in 1..=INCIDENTS {
        room.incident(begin, number);
    }
    let others = disk.path().join("others");
    let mut file = std::fs::File::create(&others).unwrap();
    while file.write_all(&[7; 4096]).is_ok() {}
    file.set_len(file.metadata().unwrap().len() - ROOM_BYTES)
        .unwrap();
    let mut child = room.record(&["--listen", "127.0.0.1:0"]);
    let address = listening(&mut child);
    // What is of less worth gives its place.
    let end = Instant::now() + Duration::from_secs(60);
    while counted(address, "freezeframe_fleet_lost_total{what=\"minutes\"}") == 0 {
        assert!(Instant::now() < end, "{:?}", room.fed());
        std::thread::sleep(Duration::from_millis(100));
    }
    std::fs::remove_file(&others).unwrap();
    std::fs::create_dir(&away).unwrap();
    let end = Instant::now() + PATIENCE;
    while !room.is_fed(until, usize::try_from(INCIDENTS).unwrap()) {
        assert!(Instant::now() < end, "{:?}", room.fed());
        std::thread::sleep(Duration::from_millis(100));
    }
    let lost = counted(address, "freezeframe_fleet_lost_total{what=\"minutes\"}");
    let lost_incidents = counted(address, "freezeframe_fleet_lost_total{what=\"incidents\"}");
    child.kill().unwrap();
    child.wait().unwrap();
    let rows = rows(&db);
    let there = |table| i64::try_from(of_table(&rows, table)).unwrap();
    assert_eq!((lost_incidents, there("incidents")), (0, INCIDENTS));
    // A sign of life is of each minute, and of each incident.
    assert_eq!(there("recorder_health") + lost, scale().0 + INCIDENTS);
}

#[test]
fn a_directory_gets_incidents_without_names() {
    let shared = tempfile::tempdir().unwrap();
    let to = shared.path().join("frames");
    let room = Room::new(&format!("[fleet]\nurl = '{}'\n", to.display()));
    room.incident(begin(), 1);
    room.incident(begin(), 2);
    let mut child = room.record(&[]);
    let files = || -> Vec<PathBuf> {
        HOSTS[1..]
            .iter()
            .filter_map(|host| std::fs::read_dir(to.join(host)).ok())
            .flat_map(|files| files.flatten().map(|file| file.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "frame"))
            .collect()
    };
    let end = Instant::now() + Duration::from_secs(60);
    while files().len() < 2 {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let read = store::read_incident(&files()[0]).unwrap().incident;
    assert!(!HOSTS.contains(&read.host.as_str()), "{}", read.host);
    assert_eq!(read.stall.onset, 40_000);
    let answer = said(&run(&[
        "fleet",
        "ask",
        "costs",
        "--json",
        "--dir",
        to.to_str().unwrap(),
    ]));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["rows"][0]["stalls"], 2);
}
