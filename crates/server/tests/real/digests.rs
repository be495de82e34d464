//! Digests and counters of real servers: what was asked is counted, by the classes that logs have too.

use std::collections::HashMap;

use crate::{DEADLINES, start};
use model::{QueryDigest, Reason};
use server::digests::DigestReader;
use server::{Address, Login, Session};
use testbed::{PrivateServer, ServerKind};

fn session_as(server: &PrivateServer, user: &str) -> Session {
    let login = Login {
        user: user.to_owned(),
        password: None,
        from: "the test".to_owned(),
        tls: server::Tls::default(),
    };
    Session::connect(&Address::Socket(server.socket()), &login, DEADLINES).unwrap()
}

fn session(server: &PrivateServer) -> Session {
    session_as(server, "root")
}

fn count(digest: &QueryDigest, statement: &str) -> u64 {
    let fingerprint = sql::fingerprint(statement);
    let class = digest
        .classes
        .iter()
        .find(|class| class.fingerprint == fingerprint);
    class.map_or(0, |class| class.count)
}

/// Statements as people write them, each with how often it is asked.
const ASKED: [(&str, u64); 12] = [
    ("SELECT 1", 7),
    ("SHOW WARNINGS", 40),
    (
        "select a, count(*) from shop.Orders where id in (1, 2, 3) group by a",
        3,
    ),
    (
        "SELECT o.a FROM shop.Orders o WHERE o.id = 5 AND o.a = 'secret' ORDER BY o.a DESC LIMIT 5, 10",
        4,
    ),
    ("INSERT INTO shop.Orders (a) VALUES ('x'), ('y')", 5),
    ("insert into shop.Orders (a) values ('z')", 2),
    (
        "UPDATE shop.Orders SET a = CONCAT(a, 'q'), id = id + 0 WHERE id = -1",
        6,
    ),
    ("DELETE FROM shop.Orders WHERE id BETWEEN 1000 AND 2000", 1),
    ("SELECT SLEEP(0.001)", 2),
    ("SET SESSION sort_buffer_size = 262144", 3),
    ("SHOW GLOBAL STATUS LIKE 'Uptime'", 2),
    (
        "SELECT a IS NULL, NULL, COALESCE(a, 'b') FROM shop.Orders WHERE id = 1 OR (a = 'c' AND id > 2)",
        2,
    ),
];

/// A statement is counted after its answer is sent: the one before this has been.
fn end(client: &mut Session) {
    client.execute("COMMIT").unwrap();
}

fn counts_what_is_asked(kind: ServerKind, arguments: &[&str]) {
    let Some(server) = start(kind, arguments) else {
        return;
    };
    let mut client = session(&server);
    client.execute("CREATE DATABASE shop").unwrap();
    client
        .execute("CREATE TABLE shop.Orders (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(50))")
        .unwrap();
    end(&mut client);
    let mut reader = DigestReader::new();
    let mut own = session(&server);
    DigestReader::prepare(&mut own).unwrap();
    assert_eq!(
        reader.next(&mut own).unwrap(),
        None,
        "the first reading is the start"
    );
    for (statement, times) in ASKED {
        for _ in 0..times {
            client.rows(statement, 100).unwrap();
        }
    }
    client
        .execute("SELECT nothing FROM shop.nowhere")
        .unwrap_err();
    end(&mut client);
    let digest = reader.next(&mut own).unwrap().unwrap();
    let mut expected: HashMap<String, u64> = HashMap::new();
    for (statement, times) in ASKED {
        *expected.entry(sql::fingerprint(statement)).or_default() += times;
    }
    expected.insert("select nothing from shop.nowhere".to_owned(), 1);
    // Neither less nor more: our own questions are left out.
    let told: HashMap<String, u64> = digest
        .classes
        .iter()
        .filter(|class| class.kind != "COMMIT")
        .map(|class| (class.fingerprint.clone(), class.count))
        .collect();
    assert_eq!(told, expected);
    assert!(!format!("{digest:?}").contains("secret"));
    assert_eq!(digest.errors, Some(1), "{digest:?}");
    let sleeps = digest
        .classes
        .iter()
        .find(|class| class.fingerprint == "select sleep(?)")
        .unwrap();
    let seconds = sleeps.sum("Query_time").unwrap();
    assert!(
        (0.002..10.0).contains(&seconds),
        "picoseconds are not understood: {seconds}"
    );
    let inserts = digest
        .classes
        .iter()
        .find(|class| class.kind == "INSERT")
        .unwrap();
    assert!(inserts.sum("Rows_affected").unwrap() > 0.0);
    assert!(digest.from_us < digest.to_us);

    // Nothing but ourselves.
    let quiet = reader.next(&mut own).unwrap().unwrap();
    let names: Vec<&str> = quiet
        .classes
        .iter()
        .map(|class| class.fingerprint.as_str())
        .collect();
    assert!(names.is_empty() || names == ["commit"], "{names:?}");

    // Emptied between two readings.
    client.execute("SELECT 1").unwrap();
    client
        .execute("TRUNCATE TABLE performance_schema.events_statements_summary_by_digest")
        .unwrap();
    client.execute("SHOW WARNINGS").unwrap();
    end(&mut client);
    let digest = reader.next(&mut own).unwrap().unwrap();
    assert_eq!(
        (count(&digest, "SHOW WARNINGS"), count(&digest, "SELECT 1")),
        (1, 0)
    );
    assert!(
        digest
            .blind
            .iter()
            .any(|absent| absent.reason == Reason::Gone),
        "{:?}",
        digest.blind
    );
}

#[test]
fn the_installed_mariadb_counts() {
    counts_what_is_asked(ServerKind::MariaDb, &["--performance-schema=ON"]);
}

#[test]
fn mariadb_11_counts() {
    counts_what_is_asked(ServerKind::MariaDb11, &["--performance-schema=ON"]);
}

#[test]
fn mysql_9_counts() {
    counts_what_is_asked(ServerKind::MySql9, &[]);
}

fn a_full_table(kind: ServerKind, arguments: &[&str]) {
    let arguments = [arguments, &["--performance-schema-digests-size=30"]].concat();
    let Some(server) = start(kind, &arguments) else {
        return;
    };
    let mut client = session(&server);
    let mut own = session(&server);
    DigestReader::prepare(&mut own).unwrap();
    let mut reader = DigestReader::new();
    reader.next(&mut own).unwrap();
    for number in 0..60 {
        client
            .execute(&format!("SELECT 1 AS column_{number}"))
            .unwrap();
    }
    end(&mut client);
    let digest = reader.next(&mut own).unwrap().unwrap();
    let folded = digest.folded.unwrap();
    assert!((30..=65).contains(&folded.count), "{folded:?}");
    // A few statements of our own find no room either.
    assert!((60..=66).contains(&(digest.count)), "{digest:?}");
    assert!(
        digest
            .blind
            .iter()
            .any(|absent| absent.reason == Reason::Limit),
        "{:?}",
        digest.blind
    );
    assert!(
        digest.lost <= 5,
        "what is told together is not lost: {}",
        digest.lost
    );
}

#[test]
fn full_tables() {
    a_full_table(ServerKind::MariaDb, &["--performance-schema=ON"]);
    a_full_table(ServerKind::MySql9, &[]);
}

#[test]
fn what_is_off_or_not_there_is_named() {
    for (kind, arguments, expected) in [
        (ServerKind::MariaDb, &[][..], "performance_schema=ON"),
        (
            ServerKind::MySql55,
            &["--performance-schema"][..],
            "from MySQL 5.6",
        ),
        (
            ServerKind::MySql9,
            &["--performance-schema=OFF"][..],
            "performance_schema=ON",
        ),
        (
            ServerKind::MySql9,
            &["--performance-schema-consumer-statements-digest=OFF"][..],
            "setup_consumers SET ENABLED",
        ),
    ] {
        let Some(server) = start(kind, arguments) else {
            continue;
        };
        let absent = DigestReader::prepare(&mut session(&server)).unwrap_err();
        assert_eq!(absent.reason, Reason::Unsupported, "{absent:?}");
        assert!(absent.detail.contains(expected), "{absent:?}");
    }
    let server = start(ServerKind::MariaDb, &["--performance-schema=ON"]).unwrap();
    session(&server)
        .execute("CREATE USER poor@localhost")
        .unwrap();
    let absent = DigestReader::prepare(&mut session_as(&server, "poor")).unwrap_err();
    assert_eq!(absent.reason, Reason::Permission, "{absent:?}");
    assert!(
        absent.detail.contains("GRANT SELECT ON performance_schema"),
        "{absent:?}"
    );
}

#[test]
fn counters_tell_the_mix_of_every_server() {
    for kind in [ServerKind::MariaDb, ServerKind::MySql55, ServerKind::MySql9] {
        let Some(server) = start(kind, &[]) else {
            continue;
        };
        let mut client = session(&server);
        let mut own = session(&server);
        let mut status = || -> HashMap<String, f64> {
            let (rows, _) = own.rows("SHOW GLOBAL STATUS", 5000).unwrap();
            rows.iter()
                .filter_map(|row| Some((row.column(0).to_owned(), row.column(1).parse().ok()?)))
                .collect()
        };
        let before = status();
        for _ in 0..25 {
            client.rows("SHOW WARNINGS", 10).unwrap();
        }
        for _ in 0..10 {
            client.rows("SELECT 1", 10).unwrap();
        }
        client.execute("SET @a = 1").unwrap();
        client.execute("PREPARE p FROM 'SELECT 2'").unwrap();
        for _ in 0..4 {
            client.rows("EXECUTE p", 10).unwrap();
        }
        let mix = server::statement_mix(&before, &status(), None, None);
        let count = |kind: &str| {
            let class = mix.classes.iter().find(|class| class.kind == kind);
            class.map_or(0, |class| class.count)
        };
        assert_eq!(mix.classes[0].kind, "SHOW WARNINGS", "{mix:?}");
        assert_eq!(count("SHOW WARNINGS"), 25);
        // An executed one is counted under its own kind by MySQL and MariaDB alike.
        assert_eq!(count("SELECT"), 14, "{kind:?} {mix:?}");
        assert_eq!(
            (count("EXECUTE"), count("PREPARE"), count("SET")),
            (4, 1, 1),
            "{kind:?} {mix:?}"
        );
        assert!(count("STMT EXECUTE") <= 4);
    }
}

#[test]
#[ignore = "a measurement: what a reading of a full table takes"]
fn what_a_reading_costs() {
    for (kind, arguments) in [
        (ServerKind::MySql9, &[][..]),
        (ServerKind::MariaDb, &["--performance-schema=ON"][..]),
    ] {
        let Some(server) = start(kind, arguments) else {
            continue;
        };
        let mut client = session(&server);
        for number in 0..12_000 {
            client
                .execute(&format!("SELECT 1 AS column_{number}, 2 AS b, 3 AS c"))
                .unwrap();
        }
        let mut own = session(&server);
        DigestReader::prepare(&mut own).unwrap();
        let mut reader = DigestReader::new();
        for round in 0..4 {
            if round == 2 {
                for number in 0..12_000 {
                    client
                        .execute(&format!("SELECT 1 AS column_{number}, 2 AS b, 3 AS c"))
                        .unwrap();
                }
            }
            let begin = std::time::Instant::now();
            let digest = reader.next(&mut own).unwrap();
            let classes = digest.map(|digest| digest.classes.len());
            eprintln!(
                "{kind:?}: reading {round} took {:?}, classes {classes:?}",
                begin.elapsed()
            );
        }
    }
}
