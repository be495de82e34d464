//! The status of real replicas, and of servers that are none.

use std::time::{Duration, Instant};

use crate::{DEADLINES, TIMEOUT, start};
use server::{Address, Login, ReplicaReader, Session};
use testbed::{CausalReads, PrivateServer, ServerKind};

fn session(server: &PrivateServer, user: &str) -> Session {
    let login = Login {
        user: user.to_owned(),
        password: None,
        from: "the test".to_owned(),
        tls: server::Tls::default(),
    };
    Session::connect(&Address::Socket(server.socket()), &login, DEADLINES).unwrap()
}

/// The value of a signal in a new reading.
fn read(reader: &mut ReplicaReader, session: &mut Session, name: &str) -> Option<f64> {
    let taken = reader.read(session).unwrap();
    let reading = taken.readings.iter().find(|reading| reading.name == name)?;
    Some(reading.value)
}

#[test]
fn servers_of_all_generations_say_that_they_are_no_replica() {
    for kind in [ServerKind::MariaDb, ServerKind::MySql55, ServerKind::MySql9] {
        let Some(server) = start(kind, &[]) else {
            continue;
        };
        let (mut reader, mut session) = (ReplicaReader::default(), session(&server, "root"));
        for _ in 0..2 {
            let taken = reader.read(&mut session).unwrap();
            let names: Vec<&str> = taken.readings.iter().map(|one| &*one.name).collect();
            assert_eq!(names, ["replica.channels"], "{kind:?}");
            assert_eq!(taken.readings[0].value, 0.0);
        }
    }
}

#[test]
fn a_login_without_the_privilege_is_told_so() {
    let server = start(ServerKind::MariaDb, &[]).unwrap();
    session(&server, "root")
        .execute("CREATE USER poor@localhost")
        .unwrap();
    let error = ReplicaReader::default()
        .read(&mut session(&server, "poor"))
        .unwrap_err();
    let absent = error.absent("replica status");
    assert_eq!(absent.reason, model::Reason::Permission, "{absent:?}");
}

#[test]
fn a_replica_tells_how_far_it_is() {
    let source = start(ServerKind::MariaDb, &testbed::SOURCE_ARGUMENTS).unwrap();
    let replica = start(ServerKind::MariaDb, &testbed::REPLICA_ARGUMENTS).unwrap();
    testbed::follow(&replica, &source).unwrap();
    let (mut reader, mut own) = (ReplicaReader::default(), session(&replica, "root"));
    let mut value = |name| read(&mut reader, &mut own, name);
    assert_eq!(value("replica.channels"), Some(1.0));
    // Nothing was written yet that it could have waited for: it may still be connecting.
    let begin = Instant::now();
    while value("replica.receives") != Some(1.0) {
        assert!(begin.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(value("replica.applies"), Some(1.0));
    assert!(value("replica.relay_log_bytes").unwrap() > 0.0);
    // The first events may still be on their way through the relay log.
    let begin = Instant::now();
    let mut applied = value("replica.applied_position");
    while applied.is_none() || applied != value("replica.received_position") {
        assert!(begin.elapsed() < TIMEOUT, "{applied:?}");
        std::thread::sleep(Duration::from_millis(20));
        applied = value("replica.applied_position");
    }
    while value("replica.seconds_behind") != Some(0.0) {
        assert!(begin.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(20));
    }

    let (mut at_source, mut at_replica) = (session(&source, "root"), session(&replica, "root"));
    for sql in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.a (a INT) ENGINE=InnoDB",
    ] {
        at_source.execute(sql).unwrap();
    }
    let rows = |session: &mut Session| session.rows("SELECT a FROM shop.a", 10);
    let reads = CausalReads::begin(&replica, &source, 2, "SELECT a FROM shop.a").unwrap();
    let begin = Instant::now();
    while rows(&mut at_replica).is_err() {
        assert!(begin.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(20));
    }

    // What is written now is behind the stopped applier, and who waits for it ends when told to.
    at_replica.execute("STOP SLAVE SQL_THREAD").unwrap();
    at_source.execute("INSERT INTO shop.a VALUES (1)").unwrap();
    let begin = Instant::now();
    while value("replica.received_position") <= value("replica.applied_position") {
        assert!(begin.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(value("replica.applies"), Some(0.0));
    assert_eq!(value("replica.receives"), Some(1.0));
    let received = value("replica.received_position");
    assert!(received > value("replica.applied_position"), "{received:?}");
    assert!(value("replica.applied_position") > applied);
    assert_eq!(rows(&mut at_replica).unwrap().0.len(), 0);
    let begin = Instant::now();
    drop(reads);
    assert!(begin.elapsed() < TIMEOUT);
}
