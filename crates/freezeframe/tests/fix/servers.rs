//! Variables of real servers: set, kept, put back, also after a SIGKILL in between.

use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use serde_json::{Value, json};
use testbed::{Options, PrivateServer, ServerKind};

use crate::harness::freezeframe;
use crate::own_causes;
use crate::scene::{Random, document, text};

const TIMEOUT: Duration = Duration::from_secs(20);
const KILLS: usize = 25;

/// A server with a variable that `spin-tuning` changes: it exists everywhere and does no harm.
struct Server {
    server: PrivateServer,
    admin: Conn,
    dir: tempfile::TempDir,
    variable: &'static str,
    wanted: &'static str,
}

impl Server {
    fn start(kind: ServerKind) -> Option<Self> {
        Self::start_with(kind, &[])
    }

    fn start_with(kind: ServerKind, arguments: &[&str]) -> Option<Self> {
        if let Err(error @ testbed::Error::NotFetched { .. }) = testbed::installed(kind) {
            eprintln!("skipped: {error}");
            return None;
        }
        let server = PrivateServer::start(&Options {
            kind,
            arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
            ..Options::default()
        })
        .unwrap();
        let (variable, wanted) = match kind {
            ServerKind::MySql9 => ("innodb_spin_wait_pause_multiplier", "10"),
            _ => ("innodb_spin_wait_delay", "2"),
        };
        Some(Self {
            admin: server.login().connect(false, TIMEOUT).unwrap(),
            server,
            dir: tempfile::tempdir().unwrap(),
            variable,
            wanted,
        })
    }

    fn value(&mut self) -> String {
        let question = format!("SHOW GLOBAL VARIABLES LIKE '{}'", self.variable);
        let row: (String, String) = self.admin.query_first(question).unwrap().unwrap();
        row.1
    }

    fn fix(&self, arguments: &[&str]) -> std::process::Command {
        // What is remembered of leases is so there, and not on this machine.
        let config = self.dir.path().join("freezeframe.toml");
        std::fs::write(&config, format!("dir = {:?}\n", self.dir.path())).unwrap();
        let mut command = freezeframe();
        command
            .arg("fix")
            .args(arguments)
            .args(["--user", "root", "--socket"])
            .arg(self.server.socket())
            .arg("--fix-dir")
            .arg(self.dir.path().join("fixes"))
            .arg("--config")
            .arg(&config);
        command
    }

    fn json(&self, arguments: &[&str]) -> Value {
        document(&self.fix(arguments).arg("--json").output().unwrap())
    }

    fn undo(&self) {
        text(&self.fix(&["--undo", "all"]).output().unwrap());
    }
}

fn set_and_put_back(kind: ServerKind) {
    let Some(mut server) = Server::start(kind) else {
        return;
    };
    let before = server.value();
    assert_ne!(before, server.wanted);
    let plan = server.json(&["spin-tuning"]);
    let steps = plan["steps"].as_array().unwrap();
    let here: Vec<&Value> = steps
        .iter()
        .filter(|step| step["state"] == "to-do")
        .collect();
    assert_eq!(here[0]["place"], format!("@@GLOBAL.{}", server.variable));
    assert_eq!(here[0]["before"], json!(before));
    assert_eq!(server.value(), before, "looking changes nothing");

    server.json(&["spin-tuning", "--apply", "--now", "--yes"]);
    assert_eq!(server.value(), server.wanted);
    let again = server.json(&["spin-tuning", "--apply", "--now", "--yes"]);
    assert_eq!(again["applied"], Value::Null);
    server.undo();
    assert_eq!(server.value(), before);

    // Somebody else sets another value.
    server.json(&["spin-tuning", "--apply", "--now", "--yes"]);
    let statement = format!("SET GLOBAL {} = 3", server.variable);
    server.admin.query_drop(statement).unwrap();
    let output = server.fix(&["--undo"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(server.value(), "3");
    text(&server.fix(&["--undo", "--force"]).output().unwrap());
    assert_eq!(server.value(), before);

    // For a time.
    server.json(&["spin-tuning", "--apply", "--yes", "--for", "1s"]);
    crate::scene::wait_until("the value to be given back", || server.value() == before);

    let mut random = Random(7);
    let mut set = 0;
    for round in 0..KILLS {
        let mut child = server
            .fix(&["spin-tuning", "--apply", "--now", "--yes"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        if random.below(2) == 0 {
            while server.value() == before && child.try_wait().unwrap().is_none() {}
        }
        std::thread::sleep(Duration::from_micros(random.below(30_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        set += usize::from(server.value() != before);
        server.undo();
        assert_eq!(server.value(), before, "round {round}");
    }
    eprintln!("{kind:?}: {KILLS} kills, {set} with the value set");
}

#[test]
fn a_server_that_has_ended_has_lost_what_was_set() {
    let Some(mut server) = Server::start(ServerKind::MariaDb) else {
        return;
    };
    let before = server.value();
    server.json(&["spin-tuning", "--apply", "--now", "--yes"]);
    server.server.restart().unwrap();
    server.admin = server.server.login().connect(false, TIMEOUT).unwrap();
    // Somebody else sets what is nobody's now.
    let statement = format!("SET GLOBAL {} = 3", server.variable);
    server.admin.query_drop(statement).unwrap();
    let undone = server.json(&["--undo"]);
    assert_eq!(undone["undone"][0]["over"], true);
    assert_eq!(server.value(), "3");
    assert_ne!(before, "3");

    server.json(&["spin-tuning", "--apply", "--now", "--yes"]);
    server.server.stop().unwrap();
    let undone = server.json(&["--undo"]);
    let says = undone["undone"][0]["steps"][0]["says"].as_str().unwrap();
    assert!(says.contains("its server has ended"), "{says}");
}

/// Of a server that is named by the configuration alone: its incident may be read where another one runs.
#[test]
fn what_an_incident_advises_is_for_its_own_server() {
    let Some(mut server) = Server::start(ServerKind::MariaDb) else {
        return;
    };
    let before = server.value();
    let dir = server.dir.path().to_owned();
    let socket = server.server.socket();
    let config = dir.join("one.toml");
    let text = format!("dir = {dir:?}\n[server]\nsocket = {socket:?}\nuser = 'root'\n");
    std::fs::write(&config, text).unwrap();
    let of = |host: &str, address: &str| {
        let mut incident = testbed::made_incident(&testbed::IncidentSize::small());
        host.clone_into(&mut incident.host);
        "another".clone_into(&mut incident.server.label);
        address.clone_into(&mut incident.server.address);
        let folder = tempfile::tempdir_in(&dir).unwrap().keep();
        store::write_incident(&incident, &folder).unwrap()
    };
    let fix = |incident: &std::path::Path, more: &[&str]| {
        let output = freezeframe()
            .arg("fix")
            .arg(incident)
            .args(["--cause", "spin-tuning"])
            .args(more)
            .arg("--fix-dir")
            .arg(dir.join("fixes"))
            .arg("--config")
            .arg(&config)
            .output()
            .unwrap();
        let told = [output.stderr, output.stdout].concat();
        (
            output.status.code(),
            String::from_utf8_lossy(&told).into_owned(),
        )
    };
    let apply = ["--apply", "--now", "--yes"];
    let here = recorder::host_name();
    let other = of(&here, "socket /run/another.sock");
    let (code, told) = fix(&other, &[]);
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("the incident is of server another, which is none of those that run here")
            && told.contains("  server    none was looked at\n"),
        "{told}"
    );
    let (code, told) = fix(&other, &apply);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("name one with --port"), "{told}");
    let (code, told) = fix(&of("db1", ""), &apply);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("the incident is of host db1"), "{told}");
    assert_eq!(server.value(), before);

    let own = of(&here, &format!("socket {}", socket.display()));
    let (code, told) = fix(&own, &apply);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(server.value(), server.wanted);
    server.undo();
    assert_eq!(server.value(), before);
}

/// MariaDB starts without a key cache, takes one, and refuses to be without it again.
const KEY_CACHE: &str = "action = 'set-global'
variable = 'key_buffer_size'
at_least = 8388608";

#[test]
fn what_the_server_would_not_take_back_is_not_set() {
    let Some(mut server) = Server::start_with(ServerKind::MariaDb, &["--key-buffer-size=0"]) else {
        return;
    };
    server.variable = "key_buffer_size";
    let causes = server.dir.path().join("causes");
    std::fs::create_dir(&causes).unwrap();
    let cause = own_causes::cause("no-key-cache", KEY_CACHE);
    std::fs::write(causes.join("no-key-cache.toml"), cause).unwrap();
    let causes = causes.to_str().unwrap();
    let arguments = ["no-key-cache", "--causes", causes, "--apply"];
    let output = server
        .fix(&arguments)
        .args(["--now", "--yes"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("the change could not be undone"), "{told}");
    assert_eq!(server.value(), "0");
}

#[test]
fn mariadb() {
    set_and_put_back(ServerKind::MariaDb);
}

#[test]
fn mysql_5_5() {
    set_and_put_back(ServerKind::MySql55);
}

#[test]
fn mysql_9() {
    set_and_put_back(ServerKind::MySql9);
}

#[test]
fn mysql_9_keeps_a_value_for_its_next_start_and_forgets_it() {
    let Some(mut server) = Server::start(ServerKind::MySql9) else {
        return;
    };
    let kept = "SELECT variable_value FROM performance_schema.persisted_variables \
                WHERE variable_name = 'innodb_spin_wait_pause_multiplier'";
    let before = server.value();
    server.json(&["spin-tuning", "--apply", "--yes"]);
    assert_eq!(server.value(), "10");
    let row: Option<String> = server.admin.query_first(kept).unwrap();
    assert_eq!(row.as_deref(), Some("10"));
    server.undo();
    assert_eq!(server.value(), before);
    let row: Option<String> = server.admin.query_first(kept).unwrap();
    assert_eq!(row, None);
    // One that was kept before comes back.
    server
        .admin
        .query_drop("SET PERSIST_ONLY innodb_spin_wait_pause_multiplier = 42")
        .unwrap();
    server.json(&["spin-tuning", "--apply", "--yes", "--durable"]);
    let row: Option<String> = server.admin.query_first(kept).unwrap();
    assert_eq!(row.as_deref(), Some("10"));
    server.undo();
    let row: Option<String> = server.admin.query_first(kept).unwrap();
    assert_eq!(row.as_deref(), Some("42"));
}

/// Variables that move by themselves.
const MOVING: [&str; 6] = [
    "timestamp",
    "gtid_",
    "rand_seed",
    "insert_id",
    "innodb_thread_sleep_delay",
    "pseudo_",
];

fn variables(admin: &mut Conn) -> std::collections::BTreeMap<String, String> {
    let rows: Vec<(String, String)> = admin.query("SHOW GLOBAL VARIABLES").unwrap();
    let still = |name: &String| !MOVING.iter().any(|moving| name.starts_with(moving));
    rows.into_iter().filter(|(name, _)| still(name)).collect()
}

/// Every cause's changes are taken by the server, and all of them are back after an undo.
fn every_cause(kind: ServerKind) {
    let Some(server) = Server::start(kind) else {
        return;
    };
    let mut admin = server.server.login().connect(false, TIMEOUT).unwrap();
    // What is of the host is changed in a directory.
    let root = crate::scene::Scene::new();
    let with_root = |arguments: &[&str]| {
        let output = server
            .fix(arguments)
            .arg("--root")
            .arg(root.root())
            .arg("--json")
            .output()
            .unwrap();
        document(&output)
    };
    let before = variables(&mut admin);
    let (mut causes, mut changes) = (0, 0);
    // That a cause without a change of its own changes nothing is the same on every server.
    let is_tried =
        |cause: &&diagnosis::Cause| kind == ServerKind::MariaDb || !cause.fixes.is_empty();
    let all = diagnosis::Catalogue::builtin().causes();
    for cause in all.iter().filter(is_tried) {
        let done = with_root(&[cause.id.as_str(), "--apply", "--consent", "--yes"]);
        let steps = done["steps"].as_array().unwrap();
        assert!(cause.fixes.is_empty() || !steps.is_empty(), "{}", cause.id);
        let made = done["applied"]["steps"].as_array().map_or(0, Vec::len);
        causes += usize::from(made > 0);
        changes += made;
        // Of a cause that changed nothing there is nothing to put back.
        if made > 0 {
            let undone = with_root(&["--undo", "all"]);
            for fix in undone["undone"].as_array().unwrap() {
                assert_eq!(fix["over"], true, "{}: {fix}", cause.id);
            }
        }
        let now = variables(&mut admin);
        for (name, value) in &before {
            assert_eq!(now.get(name), Some(value), "{}: {name}", cause.id);
        }
    }
    eprintln!("{kind:?}: {changes} changes of {causes} causes made and put back");
    assert!(causes > 10);
}

#[test]
fn every_cause_on_mariadb() {
    every_cause(ServerKind::MariaDb);
}

#[test]
fn every_cause_on_mysql_5_5() {
    every_cause(ServerKind::MySql55);
}

#[test]
fn every_cause_on_mysql_9() {
    every_cause(ServerKind::MySql9);
}
