//! The embedded store: made once, migrated, filled exactly once, refused where it is something else.

use fleet::any_store::{Access, AnyStore};
use fleet::batch_bytes::{from_bytes, to_bytes};
use fleet::error::StoreError;
use fleet::questions::views;
use fleet::row::{Hash64, HostRow, Phase, Seconds, SignalRow, StackKind};
use fleet::sqlite::{Given, Initialised, Inserted, Store};
use fleet::url::StoreUrl;
use fleet::{Batch, Token};

use crate::common::{self, DAY, NOW};

fn token(seq: u64) -> Token {
    Token {
        host_id: 1,
        boot: 2,
        seq,
    }
}

fn signals(seq: u64, from: i64, minutes: i64) -> Batch {
    let mut batch = Batch::new(token(seq));
    for minute in 0..minutes {
        batch.push(&SignalRow {
            host_id: Hash64(1),
            signal: "a.b".to_owned(),
            ts: Seconds(from + minute * 60),
            n: 60,
            min: minute as f64,
            max: minute as f64 + 1.0,
            mean: 2.0,
            seconds: vec![1.5, f64::NAN],
        });
    }
    batch
}

fn one(path: &std::path::Path, sql: &str) -> String {
    let connection = rusqlite::Connection::open(path).unwrap();
    let value: rusqlite::types::Value = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    match value {
        rusqlite::types::Value::Integer(value) => value.to_string(),
        rusqlite::types::Value::Real(value) => value.to_string(),
        rusqlite::types::Value::Text(text) => text,
        other => format!("{other:?}"),
    }
}

#[test]
fn a_store_is_made_once_and_private() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fleet.db");
    assert!(matches!(
        Store::open(&path),
        Err(StoreError::NotThere { .. })
    ));
    assert_eq!(
        Store::init(&path, NOW, "0.1.0").unwrap().1,
        Initialised::Made
    );
    assert_eq!(
        Store::init(&path, NOW, "0.1.0").unwrap().1,
        Initialised::Unchanged
    );
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(one(&path, "SELECT count(*) FROM schema_version"), "1");
    Store::open_to_read(&path).unwrap();
}

#[test]
fn what_is_no_store_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("other.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)")
        .unwrap();
    drop(other);
    let told = |result: Result<Store, StoreError>| result.err().unwrap().to_string();
    assert!(told(Store::open(&path)).contains("not the store of a fleet"));
    assert!(told(Store::init(&path, NOW, "").map(|made| made.0)).contains("nothing was changed"));
    assert_eq!(one(&path, "SELECT count(*) FROM sqlite_schema"), "1");
    let text = dir.path().join("text");
    std::fs::write(
        &text,
        "hello, this is no database at all, but a text of some length",
    )
    .unwrap();
    assert!(told(Store::init(&text, NOW, "").map(|made| made.0)).contains("not the store"));
    assert!(told(Store::open(dir.path())).contains("not the store"));
}

/// Whoever makes a store may be killed over it, and is not the last who tries.
#[test]
fn what_a_killed_init_leaves_is_made_into_a_store() {
    let dir = tempfile::tempdir().unwrap();
    let (bare, empty) = (dir.path().join("bare.db"), dir.path().join("empty.db"));
    std::fs::write(&bare, "").unwrap();
    let connection = rusqlite::Connection::open(&empty).unwrap();
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .unwrap();
    drop(connection);
    for path in [bare, empty] {
        assert!(matches!(
            Store::open(&path),
            Err(StoreError::NotThere { .. })
        ));
        let url = StoreUrl::Sqlite(path);
        let mut store = AnyStore::open_or_init(&url, Access::default(), NOW, "0.1.0").unwrap();
        let inserted = store.insert(&signals(1, DAY, 1), NOW).unwrap();
        assert_eq!(inserted, Some(Inserted::New));
    }
}

/// A thousand signals are a thousand pages, more than it keeps in memory within one batch.
#[test]
fn what_keeps_little_in_memory_stores_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let minute = |seq: u64| {
        let mut batch = Batch::new(token(seq));
        for signal in 0..1_000 {
            batch.push(&SignalRow {
                host_id: Hash64(1),
                signal: format!("area.signal_{signal:04}"),
                ts: Seconds(DAY + seq as i64 * 60),
                n: 60,
                min: 0.0,
                max: seq as f64,
                mean: 2.0,
                seconds: (0..60).map(|second| f64::from(second) * 1.25).collect(),
            });
        }
        batch
    };
    let filled = |name: &str, is_little: bool| {
        let path = dir.path().join(name);
        let url = StoreUrl::Sqlite(path.clone());
        let mut store = AnyStore::open_or_init(&url, Access::default(), NOW, "0.1.0").unwrap();
        if is_little {
            store = store.with_little().unwrap();
        }
        for seq in [1, 2, 3, 2] {
            store.insert(&minute(seq), NOW).unwrap();
            store.rest();
        }
        drop(store);
        ["signals", "signals_1h"].map(|table| {
            let all =
                format!("SELECT count(*) || ' ' || sum(mx) || ' ' || min(signal) FROM {table}");
            (one(&path, &all), one(&path, "PRAGMA integrity_check"))
        })
    };
    let wanted = filled("much.db", false);
    assert!(wanted[0].0.starts_with("3000 6000"), "{wanted:?}");
    assert_eq!(filled("little.db", true), wanted);
}

#[test]
fn a_newer_and_an_older_store_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fleet.db");
    Store::init(&path, NOW, "0.1.0").unwrap();
    let set = |version: u32| {
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection
            .pragma_update(None, "user_version", version)
            .unwrap();
    };
    set(99);
    let told = Store::open(&path).err().unwrap().to_string();
    assert!(told.contains("use a newer one"), "{told}");
    set(0);
    let told = Store::open(&path).err().unwrap().to_string();
    assert!(told.contains("fleet init sqlite://"), "{told}");
    assert_eq!(
        Store::init(&path, NOW, "0.1.0").unwrap().1,
        Initialised::Migrated(0)
    );
    Store::open(&path).unwrap();
}

/// Version 1 had no sums of stacks: they are made of the stacks that are there.
#[test]
fn a_store_of_version_1_answers_as_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fleet.db");
    let mut fleet = common::Fleet::new();
    fleet.host(1, "never", &[]);
    let id = fleet.incident(1, DAY, 10, "");
    for (phase, ms) in [(Phase::Stall, 30), (Phase::Before, 10)] {
        let functions = ["spin", "lock"];
        fleet.stack((1, id), phase, StackKind::OnCpu, &functions, ms);
    }
    fleet.stack((1, id), Phase::Before, StackKind::OnCpu, &["idle"], 10);
    let (mut store, _) = Store::init(&path, NOW, "0.1.0").unwrap();
    store.insert(fleet.batch(), NOW).unwrap();
    let of = |store: &Store| common::ask(store, "new-in-stalls");
    let wanted = of(&store);
    assert_eq!(wanted.rows.len(), 1);
    drop(store);
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch("DROP TABLE stack_sums; DROP TABLE places; PRAGMA user_version = 1")
        .unwrap();
    drop(old);
    let (store, done) = Store::init(&path, NOW, "0.1.0").unwrap();
    assert_eq!((done, of(&store)), (Initialised::Migrated(1), wanted));
}

/// Of an incident 128 places are told apart. Whoever was one of them and is none beside what comes later is counted once.
#[test]
fn places_that_are_small_beside_later_ones_are_counted_with_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fleet.db");
    let (mut store, _) = Store::init(&path, NOW, "0.1.0").unwrap();
    let mut fleet = common::Fleet::new();
    fleet.host(1, "never", &[]);
    let id = fleet.incident(1, DAY, 10, "");
    let add = |fleet: &mut common::Fleet, name: &str, ms: u64| {
        fleet.stack((1, id), Phase::Stall, StackKind::OnCpu, &[name], ms);
    };
    let told = || {
        let of = "SELECT count(*) || ' of ' || (sum(stall_ns) / 1000000) FROM stack_sums JOIN places USING (place)";
        let small = format!("{of} WHERE functions GLOB 'small_*'");
        (one(&path, of), one(&path, &small))
    };
    for number in 0..128 {
        add(&mut fleet, &format!("small_{number:03}"), 1);
    }
    store.insert(fleet.batch(), NOW).unwrap();
    assert_eq!(told(), ("128 of 128".to_owned(), "128 of 128".to_owned()));
    for number in 0..30 {
        add(&mut fleet, &format!("large_{number}"), 100);
    }
    let mut later = fleet.batch().clone();
    later.token = token(2);
    store.insert(&later, NOW).unwrap();
    assert_eq!(told(), ("129 of 3128".to_owned(), "98 of 98".to_owned()));
    // The same once more, under another token.
    later.token = token(3);
    store.insert(&later, NOW).unwrap();
    assert_eq!(told(), ("129 of 3128".to_owned(), "98 of 98".to_owned()));
}

#[test]
fn a_token_is_taken_once_and_its_rows_are_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fleet.db");
    let (mut store, _) = Store::init(&path, NOW, "0.1.0").unwrap();
    // As it goes over the wire.
    let sent = |batch: &Batch| from_bytes(&to_bytes(batch).unwrap()).unwrap();
    let hour = NOW - NOW.rem_euclid(3600);
    let batch = signals(1, hour, 60);
    assert_eq!(store.insert(&sent(&batch), NOW).unwrap(), Inserted::New);
    assert_eq!(
        store.insert(&sent(&batch), NOW).unwrap(),
        Inserted::Repeated
    );
    assert_eq!(one(&path, "SELECT count(*) FROM signals"), "60");
    assert_eq!(one(&path, "SELECT v FROM signals LIMIT 1"), "[1.5,null]");
    // By another way: the same rows under another token.
    assert_eq!(
        store.insert(&signals(2, hour, 60), NOW).unwrap(),
        Inserted::New
    );
    assert_eq!(one(&path, "SELECT count(*) FROM signals"), "60");
    assert_eq!(one(&path, "SELECT cnt FROM signals_1h"), "3600");
    assert_eq!(
        one(&path, "SELECT mn || ' ' || mx || ' ' || sm FROM signals_1h"),
        "0.0 60.0 7200.0"
    );
}

#[test]
fn the_later_row_of_a_server_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fleet.db");
    let (mut store, _) = Store::init(&path, NOW, "0.1.0").unwrap();
    for (seq, seen, kernel) in [(1, 100, "6.1"), (2, 300, "6.18"), (3, 200, "6.6")] {
        let mut batch = Batch::new(token(seq));
        batch.push(&HostRow {
            host_id: Hash64(u64::MAX),
            kernel: kernel.to_owned(),
            seen: Seconds(seen),
            ..HostRow::default()
        });
        store.insert(&batch, NOW).unwrap();
    }
    assert_eq!(one(&path, "SELECT kernel FROM hosts"), "6.18");
    assert_eq!(one(&path, "SELECT host_id FROM hosts"), "-1");
}

#[test]
fn rows_go_when_their_time_is_over_and_seconds_before_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fleet.db");
    let (mut store, _) = Store::init(&path, NOW, "0.1.0").unwrap();
    store.insert(&signals(1, NOW - 40 * DAY, 2), NOW).unwrap();
    store.insert(&signals(2, NOW - 5 * DAY, 3), NOW).unwrap();
    store.insert(&signals(3, NOW - DAY, 4), NOW).unwrap();
    assert_eq!(store.expire(NOW).unwrap(), 2);
    assert_eq!(one(&path, "SELECT count(*) FROM signals"), "7");
    assert_eq!(
        one(&path, "SELECT count(*) FROM signals WHERE v = '[]'"),
        "3"
    );
    assert_eq!(
        one(
            &path,
            "SELECT count(*) FROM signals_1h WHERE ts < 1795900000 - 30 * 86400"
        ),
        "1"
    );
    assert_eq!(store.extent().unwrap().incidents, 0);
}

#[test]
fn a_question_ends_when_nobody_waits_any_more() {
    let begin = std::time::Instant::now();
    let limit = std::time::Duration::from_millis(200);
    let store = Store::temporary().unwrap().until(begin + limit).unwrap();
    // What is quick has its answer.
    let hosts = store.ask(&views::HOSTS, &Given::default()).unwrap();
    assert!(hosts.rows.is_empty());
    let endless = fleet::questions::Question {
        sqlite: "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        parameters: &[],
        columns: &[],
        ..views::HOSTS
    };
    let ended = store.ask(&endless, &Given::default()).unwrap_err();
    assert!(matches!(ended, StoreError::Sqlite { .. }), "{ended}");
    assert!(begin.elapsed() >= limit);
}
