//! Sessions that others wait behind, ended by `fix` when they are still those of the incident.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use serde_json::Value;
use testbed::PrivateServer;

use crate::harness::{Recorder, freezeframe, server};
use crate::scene::document;

const TIMEOUT: Duration = Duration::from_secs(60);
const WAITERS: usize = 6;

/// A server with a pile-up behind an idle transaction, and the incident of it.
struct Pile {
    server: PrivateServer,
    blocker: Conn,
    /// A word of each waiter whose statement is over.
    over: Receiver<bool>,
    incident: PathBuf,
    dir: tempfile::TempDir,
}

fn connect(server: &PrivateServer) -> Conn {
    server.login().connect(false, TIMEOUT).unwrap()
}

/// Takes the row.
fn block(conn: &mut Conn) {
    conn.query_drop("START TRANSACTION").unwrap();
    conn.query_drop("UPDATE shop.stock SET count = count - 1 WHERE id = 1")
        .unwrap();
}

/// Waits for the row, on a thread of its own.
fn wait_for_it(server: &PrivateServer, over: &std::sync::mpsc::Sender<bool>) {
    let mut conn = connect(server);
    let over = over.clone();
    std::thread::spawn(move || {
        let done = conn.query_drop("UPDATE shop.stock SET count = count + 1 WHERE id = 1");
        let _ = over.send(done.is_ok());
    });
}

impl Pile {
    fn new() -> Self {
        let server = server(&["--innodb-lock-wait-timeout=300"]);
        let dir = tempfile::tempdir().unwrap();
        let mut blocker = connect(&server);
        blocker.query_drop("CREATE DATABASE shop").unwrap();
        blocker
            .query_drop("CREATE TABLE shop.stock (id INT PRIMARY KEY, count INT) ENGINE=InnoDB")
            .unwrap();
        blocker
            .query_drop("INSERT INTO shop.stock VALUES (1, 10), (2, 20)")
            .unwrap();
        let recorder = Recorder::start(&server, dir.path(), &["--no-html"]);
        recorder.warm_up(5);
        block(&mut blocker);
        let (sender, over) = channel();
        for _ in 0..WAITERS {
            wait_for_it(&server, &sender);
        }
        std::thread::sleep(Duration::from_secs(2));
        // Whether it is noticed before it is asked for or not: what is written at the end has it all.
        recorder.ask();
        std::thread::sleep(Duration::from_secs(8));
        let mut events = recorder.stop();
        events.retain(|event| event["event"] == "written");
        let written = events.pop().unwrap();
        Self {
            incident: Path::new(written["path"].as_str().unwrap()).to_owned(),
            server,
            blocker,
            over,
            dir,
        }
    }

    fn fix(&self, more: &[&str]) -> Value {
        let config = self.dir.path().join("freezeframe.toml");
        std::fs::write(&config, format!("dir = {:?}\n", self.dir.path())).unwrap();
        let output = freezeframe()
            .arg("fix")
            .arg(&self.incident)
            .args(["--cause", "row-lock-pileup", "--user", "root", "--json"])
            .args(more)
            .arg("--socket")
            .arg(self.server.socket())
            .arg("--fix-dir")
            .arg(self.dir.path().join("fixes"))
            .arg("--config")
            .arg(&config)
            .output()
            .unwrap();
        document(&output)
    }

    /// The step that ends a session.
    fn step(&self) -> Value {
        let plan = self.fix(&[]);
        let steps = plan["steps"].as_array().unwrap();
        let ends = |step: &&Value| step["action"] == "end-session";
        let mut found = steps.iter().filter(ends);
        let step = found.next().unwrap().clone();
        assert!(found.next().is_none(), "{plan}");
        step
    }

    fn is_alive(&self, id: u32) -> bool {
        let rows: Vec<u32> = connect(&self.server)
            .query(format!(
                "SELECT id FROM information_schema.processlist WHERE id = {id}"
            ))
            .unwrap();
        !rows.is_empty()
    }
}

#[test]
fn the_blocker_is_ended_and_those_behind_it_go_on() {
    let pile = Pile::new();
    let id = pile.blocker.connection_id();
    let plan = pile.fix(&[]);
    let kill = format!(": KILL {id}");
    let now = plan["remedy"]["now"].as_array().unwrap();
    assert!(
        now.iter()
            .any(|step| step.as_str().unwrap().ends_with(&kill)),
        "{now:?}"
    );
    let step = pile.step();
    assert_eq!(step["state"], "to-do", "{step}");
    assert_eq!(step["place"], format!("connection {id}"));
    assert!(
        step["risk"].as_str().unwrap().contains("cannot be undone"),
        "{step}"
    );
    assert!(pile.is_alive(id), "looking ends nobody");
    // What cannot be given back is nothing for a lease.
    let leased = pile.fix(&["--apply", "--yes", "--for", "1s"]);
    let made = leased["applied"]["steps"].as_array().unwrap();
    assert!(
        made.iter()
            .all(|step| step["change"]["kind"] != "end-session"),
        "{leased}"
    );
    assert!(pile.is_alive(id));

    let done = pile.fix(&["--apply", "--now", "--yes"]);
    let made = done["applied"]["steps"].as_array().unwrap();
    assert_eq!(made[0]["change"]["kind"], "end-session", "{done}");
    for _ in 0..WAITERS {
        assert!(pile.over.recv_timeout(TIMEOUT).unwrap(), "a waiter failed");
    }
    assert!(!pile.is_alive(id));
    // Its change was rolled back, and those of the waiters are there.
    let count: i64 = connect(&pile.server)
        .query_first("SELECT count FROM shop.stock WHERE id = 1")
        .unwrap()
        .unwrap();
    assert_eq!(count, 10 + WAITERS as i64);
    // It is written down, and an undo of the rest knows that this has none.
    let undone = pile.fix_json(&["--undo", "all"]);
    assert!(
        undone["undone"]
            .as_array()
            .unwrap()
            .iter()
            .all(|fix| fix["over"] == true)
    );
    let listed = pile.fix_json(&["--list"]);
    let text = listed.to_string();
    assert!(text.contains("end-session"), "{text}");
}

#[test]
fn who_has_gone_on_or_is_somebody_else_is_not_ended() {
    let mut pile = Pile::new();
    let id = pile.blocker.connection_id();
    pile.blocker.query_drop("COMMIT").unwrap();
    for _ in 0..WAITERS {
        assert!(pile.over.recv_timeout(TIMEOUT).unwrap());
    }
    let step = pile.step();
    assert_eq!(step["state"], "not-here", "{step}");
    assert!(
        step["why"].as_str().unwrap().contains("has ended"),
        "{step}"
    );

    // The same connection with another transaction, and somebody behind it.
    block(&mut pile.blocker);
    let (sender, over) = channel();
    wait_for_it(&pile.server, &sender);
    std::thread::sleep(Duration::from_secs(1));
    let step = pile.step();
    assert_eq!(step["state"], "not-here", "{step}");
    let why = step["why"].as_str().unwrap();
    assert!(why.contains("another transaction"), "{step}");
    let done = pile.fix(&["--apply", "--now", "--yes"]);
    assert!(
        !done["applied"].to_string().contains("end-session"),
        "{done}"
    );
    assert!(pile.is_alive(id));
    pile.blocker.query_drop("ROLLBACK").unwrap();
    assert!(over.recv_timeout(TIMEOUT).unwrap());

    drop(std::mem::replace(&mut pile.blocker, connect(&pile.server)));
    crate::scene::wait_until("the blocker to be gone", || !pile.is_alive(id));
    let step = pile.step();
    assert!(
        step["why"]
            .as_str()
            .unwrap()
            .contains("has ended meanwhile"),
        "{step}"
    );
}

impl Pile {
    /// What is about the journal only.
    fn fix_json(&self, arguments: &[&str]) -> Value {
        let output = freezeframe()
            .arg("fix")
            .args(arguments)
            .arg("--json")
            .arg("--fix-dir")
            .arg(self.dir.path().join("fixes"))
            .output()
            .unwrap();
        document(&output)
    }
}
