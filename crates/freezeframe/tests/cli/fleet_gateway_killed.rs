//! A gateway that is killed over and over, and a store that loses its answers.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::fleet::clickhouse::Then;
use ::fleet::from_incident::host_id;
use rusqlite::Connection;

use crate::fleet::{clickhouse, said};
use crate::fleet_feed::{self, Room, post};
use crate::fleet_gateway::{Place, Running, SALT, gateway, mark, minute};
use crate::harness::freezeframe;

/// Hosts that send.
const HOSTS: [&str; 3] = ["h1", "h2", "h3"];

/// From one batch of a host to its next: a kill finds some on their way, and the processors have something left for others.
const BETWEEN: Duration = Duration::from_millis(5);

/// How often a gateway is killed: seldom, but for `make test-fleet`.
fn kills() -> usize {
    match std::env::var_os("FREEZEFRAME_FLEET_TESTS") {
        Some(_) => 60,
        None => 6,
    }
}

/// The same numbers in each run.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// What came, by its token and its table.
type Inserts = BTreeMap<(String, String), Vec<u8>>;

/// A server with a store: it remembers what came under which token to which table, and forgets many an answer.
pub(crate) struct FakeStore {
    pub(crate) url: String,
    inserts: Arc<Mutex<Inserts>>,
    wrong: Arc<AtomicU64>,
}

impl FakeStore {
    pub(crate) fn start(listener: TcpListener, loses: bool) -> Self {
        let port = listener.local_addr().unwrap().port();
        let (inserts, wrong) = (Arc::default(), Arc::default());
        let store = Self {
            url: format!("http://127.0.0.1:{port}/f"),
            inserts: Arc::clone(&inserts),
            wrong: Arc::clone(&wrong),
        };
        std::thread::spawn(move || {
            let mut chance = Chance(20_261_125);
            while let Ok((stream, _)) = listener.accept() {
                let loses = loses && chance.below(4) == 0;
                // Who is killed breaks off.
                let _ = answer(stream, loses, &inserts, &wrong);
            }
        });
        store
    }

    /// How often each mark came, under another token each time.
    pub(crate) fn marks(&self) -> BTreeMap<String, usize> {
        let inserts = self.inserts.lock().unwrap();
        let bodies = inserts
            .iter()
            .filter(|((_, table), _)| table == "recorder_health");
        let mut marks = BTreeMap::new();
        for (_, body) in bodies {
            for piece in String::from_utf8_lossy(body).split("mark-").skip(1) {
                let (mark, _) = piece.split_once(';').unwrap();
                *marks.entry(format!("mark-{mark};")).or_default() += 1;
            }
        }
        marks
    }

    /// Tokens that came.
    fn groups(&self) -> usize {
        let inserts = self.inserts.lock().unwrap();
        inserts.keys().filter(|(_, table)| table == "hosts").count()
    }
}

fn answer(
    mut stream: TcpStream,
    loses: bool,
    inserts: &Mutex<Inserts>,
    wrong: &AtomicU64,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    let length = field("Content-Length: ").unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    if field("Content-Encoding: ") == Some("gzip") {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(body.as_slice()).read_to_end(&mut plain)?;
        body = plain;
    }
    let said = if body.starts_with(b"SELECT version()") {
        "26.9.2.1".to_owned()
    } else if body.starts_with(b"SELECT max(version)") {
        format!(r#"{{"data":[[{}]]}}"#, ::fleet::clickhouse::VERSION)
    } else {
        let after = |mark: &str, end: char| {
            let (_, rest) = head.split_once(mark).unwrap();
            rest.split(end).next().unwrap().to_owned()
        };
        let key = (
            after("insert_deduplication_token=", '&'),
            after("INSERT%20INTO%20", '%'),
        );
        let mut inserts = inserts.lock().unwrap();
        let known = inserts.entry(key).or_insert_with(|| body.clone());
        if *known != body {
            wrong.fetch_add(1, Ordering::Relaxed);
        }
        if loses {
            return stream.shutdown(Shutdown::Both);
        }
        String::new()
    };
    let length = said.len();
    write!(
        stream,
        "HTTP/1.1 200 X\r\nContent-Length: {length}\r\n\r\n{said}"
    )
}

/// Some hosts that send, each batch until it is acknowledged and many of them once more, to a gateway that is killed
/// meanwhile; how many batches they have sent.
fn killed_over_and_over(place: &Place, store: &str) -> (u64, Running) {
    let tokens: Vec<String> = HOSTS.iter().map(|host| place.add(host)).collect();
    let mut running = place.start(store, &[]);
    let address = Arc::new(Mutex::new(running.address));
    let stop = Arc::new(AtomicBool::new(false));
    let sending: Vec<_> = HOSTS
        .iter()
        .zip(tokens)
        .map(|(host, token)| {
            let (address, stop) = (address.clone(), stop.clone());
            std::thread::spawn(move || {
                let mut chance = Chance(host_id(&SALT, host, "").0);
                let mut seq = 0;
                while !stop.load(Ordering::Relaxed) || seq < 20 {
                    seq += 1;
                    let batch = minute(host, seq);
                    // It did not hear the answer: once more.
                    for _ in 0..=u64::from(chance.below(3) == 0) {
                        let send = || gateway(*address.lock().unwrap(), &token).insert(&batch);
                        while let Err(failure) = send() {
                            assert!(
                                !matches!(failure.then, Then::Stop | Then::Leave),
                                "{failure}"
                            );
                            std::thread::sleep(Duration::from_millis(20));
                        }
                    }
                    std::thread::sleep(BETWEEN);
                }
                seq
            })
        })
        .collect();
    let mut chance = Chance(7);
    for _ in 0..kills() {
        std::thread::sleep(Duration::from_millis(chance.below(3000)));
        running.kill();
        running = place.start(store, &[]);
        *address.lock().unwrap() = running.address;
    }
    stop.store(true, Ordering::Relaxed);
    let counts: Vec<u64> = sending.into_iter().map(|one| one.join().unwrap()).collect();
    running.wait_until_stored();
    eprintln!("{} kills, batches by host {counts:?}", kills());
    for (host, count) in HOSTS.iter().zip(&counts) {
        assert!(*count >= 20, "{host}");
    }
    (counts.iter().sum(), running)
}

/// By the tokens alone, since this store replaces nothing.
#[test]
fn a_gateway_that_is_killed_loses_and_doubles_nothing() {
    let place = Place::new();
    let store = FakeStore::start(TcpListener::bind("127.0.0.1:0").unwrap(), true);
    let (sent, running) = killed_over_and_over(&place, &store.url);
    assert_eq!(
        store.wrong.load(Ordering::Relaxed),
        0,
        "other bytes under a known token"
    );
    let marks = store.marks();
    for host in HOSTS {
        assert!(marks.contains_key(&mark(host, 20)), "{host}");
    }
    let twice: Vec<_> = marks.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(marks.len() as u64, sent);
    let groups = store.groups();
    eprintln!("{sent} batches in {groups} groups");
    assert!((groups as u64) < sent, "nothing was grouped");
    drop(running);
}

#[test]
fn a_killed_gateway_before_sqlite_loses_nothing() {
    let place = Place::new();
    let db = place.dir.path().join("fleet.db");
    let (sent, running) = killed_over_and_over(&place, &format!("sqlite://{}", db.display()));
    drop(running);
    let connection = Connection::open(db).unwrap();
    let count = |table: &str| -> u64 {
        let sql = format!("SELECT count(*) FROM {table}");
        let count: i64 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
        count.unsigned_abs()
    };
    assert_eq!(count("batch_tokens"), sent);
    assert_eq!(count("recorder_health"), sent);
    assert_eq!(count("hosts"), 3);
}

#[test]
fn a_killed_gateway_before_clickhouse_loses_and_doubles_nothing() {
    let place = Place::new();
    let Some((url, mut server)) = clickhouse(&place.dir.path().join("server")) else {
        return;
    };
    let init = freezeframe()
        .env("FREEZEFRAME_FLEET_PASSWORD", "s3cret word")
        .args(["fleet", "init", &url])
        .output();
    said(&init.unwrap());
    // So that rows that came twice would lie there.
    post(&url, "SYSTEM STOP MERGES");
    let (sent, running) = killed_over_and_over(&place, &url);
    drop(running);
    let count = post(&url, "SELECT count() FROM freezeframe_test.recorder_health");
    assert_eq!(count, sent.to_string());
    drop(server.stdin.take());
    server.wait().unwrap();
}

/// The whole way of what a recorder records, with a recorder that is killed.
#[test]
fn a_recorder_reaches_the_store_through_a_gateway() {
    let place = Place::new();
    let db = |name: &str| place.dir.path().join(name);
    let salt = place.salt();
    let template = db("history-old.db");
    let begin = fleet_feed::begin();
    fleet_feed::history(&template, begin);
    let room = |url: &str| {
        Room::new(&format!(
            "[fleet]\nurl = '{url}'\nsalt_file = '{}'\ncluster = 'shop'\n",
            salt.display()
        ))
    };
    let direct = room(&format!("sqlite://{}", db("direct.db").display()));
    fleet_feed::feed(&direct, &template, begin, 2, false);
    // Its password in these tests is this host's token, and it sends for the hosts of the recorded files too.
    std::fs::create_dir(place.own()).unwrap();
    let hash = ::fleet::from_incident::hash_of_bytes(b"s3cret word");
    std::fs::write(place.own().join("hosts"), format!("here {hash} *\n")).unwrap();
    let running = place.start(&format!("sqlite://{}", db("through.db").display()), &[]);
    let through = room(&format!("gateway+http://{}", running.address));
    fleet_feed::feed(&through, &template, begin, 2, true);
    running.wait_until_stored();
    let (wanted, found) = (
        fleet_feed::rows(&db("direct.db")),
        fleet_feed::rows(&db("through.db")),
    );
    assert!(wanted.len() > 100, "{}", wanted.len());
    assert_eq!(found, wanted);
}
