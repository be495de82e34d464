//! Who has the read-write locks of MySQL's InnoDB, which its waiters do not lead to: real servers whose
//! tables are made and dropped while others use them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use mysql::prelude::Queryable;
use serde_json::Value;
use testbed::{Login, Options, ServerKind};

use crate::tool::{json, started};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Looks of a second each until somebody is named. On two cores one in two or three is enough.
const LOOKS_MAX: usize = 40;

/// Sessions that make and drop tables, and such that look for foreign keys before each change.
const MAKERS: usize = 3;
const USERS: usize = 8;

/// Functions of which one stands on the stack of whoever has `dict_operation_lock` to write: statements
/// that change tables, and InnoDB's thread that drops those which were in use (row0mysql.c).
const CHANGES_TABLES: [&str; 5] = [
    "mysql_create_table",
    "mysql_rm_table",
    "mysql_alter_table",
    "row_drop_tables_for_mysql_in_background",
    "row_drop_table_for_mysql",
];

/// Sessions that repeat statements until it is dropped. What a statement says is not looked at: tables
/// come and go.
struct Sessions {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Sessions {
    fn start(login: &Login) -> Self {
        let mut sessions = Self {
            stop: Arc::default(),
            threads: Vec::new(),
        };
        for number in 0..MAKERS {
            sessions.repeat(
                login,
                vec![
                    format!(
                        "CREATE TABLE w.t{number} (a INT PRIMARY KEY, b INT, KEY (b)) ENGINE=InnoDB"
                    ),
                    format!("ALTER TABLE w.t{number} ADD KEY k2 (a, b)"),
                    format!("DROP TABLE w.t{number}"),
                ],
            );
        }
        for number in 0..USERS {
            sessions.repeat(
                login,
                vec![
                    format!(
                        "INSERT INTO w.child (p, t) VALUES ({}, 'x')",
                        number % 4 + 1
                    ),
                    "DELETE FROM w.child LIMIT 1".to_owned(),
                    format!(
                        "UPDATE w.parent SET v = v + 1 WHERE id = {}",
                        number % 4 + 1
                    ),
                ],
            );
        }
        sessions
    }

    fn repeat(&mut self, login: &Login, statements: Vec<String>) {
        let mut connection = login.connect(false, TIMEOUT).unwrap();
        let stop = self.stop.clone();
        self.threads.push(std::thread::spawn(move || {
            for statement in statements.iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let _ = connection.query_drop(statement);
            }
        }));
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The holders that are known by the lock's owner field, with their functions.
fn owners(lock: &Value) -> Vec<(u64, Vec<String>)> {
    lock["holders"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|holder| holder["by"] == "owner-field")
        .map(|holder| {
            let frames = holder["frames"].as_array().unwrap();
            let names = frames
                .iter()
                .map(|frame| frame["name"].as_str().unwrap_or_default().to_owned());
            (holder["tid"].as_u64().unwrap(), names.collect())
        })
        .collect()
}

fn the_writer_is_named(kind: ServerKind) {
    let Some(server) = started(&Options {
        kind,
        ..Options::default()
    }) else {
        return;
    };
    let login = server.login();
    let mut connection = login.connect(false, TIMEOUT).unwrap();
    for statement in [
        "CREATE DATABASE w",
        "CREATE TABLE w.parent (id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
        "INSERT INTO w.parent VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
        "CREATE TABLE w.child (id INT PRIMARY KEY AUTO_INCREMENT, p INT, t VARCHAR(100), KEY (p), \
         FOREIGN KEY (p) REFERENCES w.parent (id) ON UPDATE CASCADE) ENGINE=InnoDB",
    ] {
        connection.query_drop(statement).unwrap();
    }
    let pid = server.pid().unwrap().to_string();
    let sessions = Sessions::start(&login);
    let (mut named, mut waited) = (0, 0);
    for _ in 0..LOOKS_MAX {
        let arguments = [
            "locks",
            "--pid",
            &pid,
            "--seconds",
            "1s",
            "--interval",
            "20ms",
            "--json",
        ];
        let table = json(&arguments);
        let locks = table["locks"].as_array().unwrap();
        let Some(lock) = locks
            .iter()
            .find(|lock| lock["name"] == "dict_operation_lock")
        else {
            continue;
        };
        waited += 1;
        assert_eq!(lock["named_by"], "symbol", "{lock}");
        for (tid, frames) in owners(lock) {
            named += 1;
            // A thread that is on a processor may have no stack.
            let changes = frames.is_empty()
                || frames
                    .iter()
                    .any(|name| CHANGES_TABLES.iter().any(|one| name.starts_with(one)));
            assert!(changes, "thread {tid} changes no table: {frames:#?}");
        }
        if named > 0 {
            break;
        }
    }
    drop(sessions);
    assert!(
        named > 0,
        "dict_operation_lock was waited for in {waited} of {LOOKS_MAX} looks, and nobody was named"
    );
}

#[test]
fn the_writer_of_dict_operation_lock_is_named_in_mysql_5_5() {
    the_writer_is_named(ServerKind::MySql55);
}

#[test]
fn the_writer_of_dict_operation_lock_is_named_in_mysql_9() {
    the_writer_is_named(ServerKind::MySql9);
}
