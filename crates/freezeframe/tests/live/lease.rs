//! The general log as a lease: whoever is killed, and whenever, the server has its previous values back.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use rustix::process::{Pid, Signal, kill_process};
use testbed::{Options, PrivateServer, ServerKind};

use crate::harness::freezeframe;
use crate::tool::{PATIENCE, error_line, wait_until};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// A private server, the journal of its leases, and somebody who asks it something.
pub(crate) struct Scene {
    pub(crate) server: PrivateServer,
    pub(crate) admin: Conn,
    pub(crate) journal: PathBuf,
    _dir: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    load: Option<JoinHandle<()>>,
}

pub(crate) type Values = (bool, String, String);

impl Scene {
    pub(crate) fn start(kind: ServerKind) -> Option<Self> {
        if let Err(error @ testbed::Error::NotFetched { .. }) = testbed::installed(kind) {
            eprintln!("skipped: {error}");
            return None;
        }
        let server = PrivateServer::start(&Options {
            kind,
            ..Options::default()
        })
        .unwrap();
        let dir = tempfile::tempdir().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let mut client = server.login().connect(false, TIMEOUT).unwrap();
        let stopped = stop.clone();
        let load = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                // The server may be frozen or at its end.
                if client.query_drop("SELECT 'a secret of the load'").is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Some(Self {
            admin: server.login().connect(false, TIMEOUT).unwrap(),
            journal: dir.path().join("state/leases"),
            server,
            _dir: dir,
            stop,
            load: Some(load),
        })
    }

    pub(crate) fn values(&mut self) -> Values {
        let question =
            "SELECT @@GLOBAL.general_log, @@GLOBAL.log_output, @@GLOBAL.general_log_file";
        self.admin.query_first(question).unwrap().unwrap()
    }

    /// Sets values as a user might have them, and says what the server makes of them.
    pub(crate) fn set(&mut self, on: bool, output: &str) -> Values {
        let file = self.server.datadir().join("previous.log");
        for statement in [
            "SET GLOBAL general_log = OFF".to_owned(),
            format!("SET GLOBAL log_output = '{output}'"),
            format!("SET GLOBAL general_log_file = '{}'", file.display()),
            format!("SET GLOBAL general_log = {}", i32::from(on)),
        ] {
            self.admin.query_drop(statement).unwrap();
        }
        self.values()
    }

    /// `queries --live` by the general log.
    pub(crate) fn live(&self, time: &str, more: &[&str]) -> Child {
        let journal = self.journal.to_str().unwrap();
        let usual = [
            ("--log-max", "64"),
            ("--leave-free", "0"),
            ("--user", "root"),
            ("--lease-dir", journal),
        ];
        let usual = usual.iter().filter(|(name, _)| !more.contains(name));
        freezeframe()
            .args([
                "queries",
                "--live",
                time,
                "--way",
                "general-log",
                "--allow-general-log",
            ])
            .args(usual.flat_map(|(name, value)| [name, value]))
            .args(more)
            .args(["--json", "--socket"])
            .arg(self.server.socket())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    pub(crate) fn leases(&self) -> Vec<PathBuf> {
        files(&self.journal, |name| name.ends_with(".lease.json"))
    }

    /// Logs of leases that are still there.
    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        files(&self.server.datadir(), |name| {
            name.starts_with("freezeframe-")
        })
    }

    pub(crate) fn start_revert(&self) -> Child {
        freezeframe()
            .args(["leases", "--revert", "--user", "root", "--dir"])
            .arg(&self.journal)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    pub(crate) fn revert(&self) {
        let output = self.start_revert().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
    }

    pub(crate) fn is_on(&mut self) -> bool {
        let (on, _, file) = self.values();
        on && file.contains("freezeframe-general-")
    }

    pub(crate) fn wait_until_on(&mut self) {
        wait_until("the general log to be on", || self.is_on());
    }

    pub(crate) fn is_as_before(&mut self, before: &Values, what: &str) {
        assert_eq!(&self.values(), before, "{what}");
        assert_eq!(self.leases(), [] as [PathBuf; 0], "{what}");
        assert_eq!(self.logs(), [] as [PathBuf; 0], "{what}");
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.server.kill();
        if let Some(load) = self.load.take() {
            let _ = load.join();
        }
    }
}

fn files(dir: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| wanted(&path.file_name().unwrap().to_string_lossy()))
        .collect()
}

/// Processes whose parent is this one.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let numbers = std::fs::read_dir("/proc").unwrap();
    let pids = numbers.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

/// The fourth field of proc(5)'s stat, after the name in parentheses; none of a process that is gone.
pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    (fields.next()? != "Z").then_some(())?;
    fields.next()?.parse().ok()
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    // It may be gone already.
    let _ = kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal);
}

pub(crate) fn finished(child: Child) -> (Output, String) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    (output, said)
}

/// Values as users have them: `general_log`, `log_output`.
pub(crate) const PREVIOUS: [(bool, &str); 6] = [
    (false, "FILE"),
    (false, "TABLE"),
    (false, "FILE,TABLE"),
    (false, "NONE"),
    (true, "TABLE"),
    (true, "NONE"),
];

pub(crate) fn kinds() -> [ServerKind; 3] {
    [ServerKind::MariaDb, ServerKind::MySql55, ServerKind::MySql9]
}

#[test]
fn the_lease_ends_by_itself_and_on_ctrl_c() {
    for kind in kinds() {
        let Some(mut scene) = Scene::start(kind) else {
            continue;
        };
        for (on, output) in PREVIOUS {
            let before = scene.set(on, output);
            let (output, said) = finished(scene.live("300ms", &[]));
            assert_eq!(output.status.code(), Some(0), "{said}");
            let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let text = document.to_string();
            assert!(text.contains("select ?"), "{text}");
            assert!(!text.contains("secret of the load"), "{text}");
            scene.is_as_before(&before, &said);
        }
        let before = scene.set(false, "TABLE");
        for end in [Signal::INT, Signal::TERM] {
            let live = scene.live("60s", &[]);
            scene.wait_until_on();
            signal(live.id(), end);
            let (output, said) = finished(live);
            assert_eq!(output.status.code(), Some(0), "{said}");
            scene.is_as_before(&before, &said);
        }
    }
}

#[test]
fn a_service_manager_s_sigterm_to_all_is_no_end_of_the_watchdog() {
    let mut scene = Scene::start(ServerKind::MariaDb).unwrap();
    let before = scene.set(false, "FILE");
    let mut live = scene.live("60s", &[]);
    scene.wait_until_on();
    let watchdogs = children(live.id());
    assert_eq!(watchdogs.len(), 1, "one watchdog, no more children");
    for end in [Signal::TERM, Signal::INT, Signal::HUP] {
        signal(watchdogs[0], end);
    }
    live.kill().unwrap();
    live.wait().unwrap();
    wait_until("the watchdog to be done", || {
        parent_of(watchdogs[0]).is_none()
    });
    scene.is_as_before(&before, "after SIGTERM to both and SIGKILL to the owner");
}

#[test]
fn a_killed_watchdog_ends_the_lease_at_once() {
    let mut scene = Scene::start(ServerKind::MariaDb).unwrap();
    let before = scene.set(false, "FILE");
    let live = scene.live("60s", &[]);
    scene.wait_until_on();
    children(live.id())
        .iter()
        .for_each(|pid| signal(*pid, Signal::KILL));
    let (output, said) = finished(live);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("watchdog was killed"),
        "{said}"
    );
    scene.is_as_before(&before, &said);
}

#[test]
fn an_owner_that_is_stopped_loses_its_lease() {
    let mut scene = Scene::start(ServerKind::MariaDb).unwrap();
    let before = scene.set(false, "FILE");
    let live = scene.live("1s", &[]);
    scene.wait_until_on();
    signal(live.id(), Signal::STOP);
    wait_until("the watchdog to give the lease back", || {
        scene.leases().is_empty()
    });
    scene.is_as_before(&before, "the owner is stopped");
    signal(live.id(), Signal::CONT);
    let (output, said) = finished(live);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("already undone the lease"), "{said}");
    scene.is_as_before(&before, &said);
}

#[test]
fn a_frozen_server_is_tried_until_it_answers_and_that_is_said() {
    let mut scene = Scene::start(ServerKind::MariaDb).unwrap();
    let before = scene.set(false, "FILE");
    let mut live = scene.live("4s", &[]);
    scene.wait_until_on();
    scene.server.pause().unwrap();
    let lines = BufReader::new(live.stderr.take().unwrap()).lines();
    let (telling, told) = channel();
    std::thread::spawn(move || {
        lines
            .map_while(Result::ok)
            .try_for_each(|line| telling.send(line + "\n"))
    });
    // Its time ends, and the first line comes ten seconds later.
    let mut said = String::new();
    while !said.contains("STILL ON") {
        let line = told.recv_timeout(PATIENCE);
        let line = line.unwrap_or_else(|_| panic!("nothing is said: {said}"));
        said += &line;
    }
    scene.server.resume().unwrap();
    let (output, _) = finished(live);
    said.extend(told);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let line = said.lines().find(|line| line.contains("STILL ON"));
    let line = line.unwrap_or_else(|| panic!("nothing is said: {said}"));
    assert!(
        line.contains("SET GLOBAL general_log = OFF; SET GLOBAL log_output = 'FILE'"),
        "{line}"
    );
    scene.is_as_before(&before, &said);
}

#[test]
fn a_frozen_server_is_left_to_the_watchdog_by_whoever_is_told_to_end() {
    for end in [Signal::INT, Signal::TERM] {
        let mut scene = Scene::start(ServerKind::MariaDb).unwrap();
        let before = scene.set(false, "FILE");
        let mut live = scene.live("60s", &[]);
        scene.wait_until_on();
        let watchdogs = children(live.id());
        scene.server.pause().unwrap();
        signal(live.id(), end);
        let begin = Instant::now();
        let status = live.wait().unwrap();
        // A second, and what a busy machine and the digest take.
        assert!(begin.elapsed() < Duration::from_secs(30));
        scene.server.resume().unwrap();
        wait_until("the watchdog to be done", || {
            parent_of(watchdogs[0]).is_none()
        });
        // The watchdog has the same standard error: it ends with both.
        let (_, said) = finished(live);
        assert_eq!(status.code(), Some(1), "{said}");
        assert!(said.contains("THE GENERAL LOG IS STILL ON"), "{said}");
        scene.is_as_before(&before, &said);
    }
}

#[test]
fn a_server_that_dies_takes_its_settings_along() {
    let mut scene = Scene::start(ServerKind::MariaDb).unwrap();
    scene.set(false, "FILE");
    let live = scene.live("60s", &[]);
    scene.wait_until_on();
    scene.server.kill().unwrap();
    signal(live.id(), Signal::INT);
    let (_, said) = finished(live);
    assert!(said.contains("the server has ended"), "{said}");
    assert_eq!(scene.leases(), [] as [PathBuf; 0]);
    assert_eq!(scene.logs(), [] as [PathBuf; 0]);
}

#[test]
fn limits_end_a_lease_and_refuse_one() {
    let mut scene = Scene::start(ServerKind::MariaDb).unwrap();
    let before = scene.set(false, "FILE");
    let live = scene.live("60s", &["--log-max", "1"]);
    scene.wait_until_on();
    let text = format!("SELECT '{}'", "x".repeat(100_000));
    for _ in 0..15 {
        scene.admin.query_drop(&text).unwrap();
    }
    let (output, said) = finished(live);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("size limit"),
        "{said}"
    );
    scene.is_as_before(&before, &said);

    let (output, _) = finished(scene.live("1s", &["--leave-free", "1073741824"]));
    let line = error_line(&output);
    assert!(line.contains("MiB are free"), "{line}");
    scene.is_as_before(&before, &line);
}

#[test]
fn two_leases_at_a_time_are_one_too_many() {
    let mut scene = Scene::start(ServerKind::MariaDb).unwrap();
    let before = scene.set(false, "FILE");
    let first = scene.live("60s", &[]);
    scene.wait_until_on();
    let elsewhere = tempfile::tempdir().unwrap();
    let other = elsewhere.path().join("leases");
    for dir in [scene.journal.clone(), other] {
        let (output, _) = finished(scene.live("1s", &["--lease-dir", dir.to_str().unwrap()]));
        let line = error_line(&output);
        assert!(line.contains("another freezeframe"), "{line}");
    }
    assert!(scene.is_on(), "the first one goes on");
    let list = freezeframe()
        .args(["leases", "--json", "--dir"])
        .arg(&scene.journal)
        .output()
        .unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    let one = &list["leases"][0];
    assert_eq!(
        (&one["state"], &one["kind"]),
        (&"in-force".into(), &"general-log".into()),
        "{list}"
    );
    let previous = one["previous"]["general_log_file"].as_str();
    assert_eq!(previous, Some(before.2.as_str()));
    // A lease that is in force is not for others to give back.
    scene.revert();
    assert!(scene.is_on(), "the first one still goes on");
    signal(first.id(), Signal::INT);
    let (_, said) = finished(first);
    scene.is_as_before(&before, &said);
}

#[test]
fn what_is_missing_is_named() {
    for (kind, privilege) in [
        (
            ServerKind::MariaDb,
            "GRANT SUPER ON *.* TO 'poor'@'localhost'",
        ),
        (
            ServerKind::MySql55,
            "GRANT SUPER ON *.* TO 'poor'@'localhost'",
        ),
        (
            ServerKind::MySql9,
            "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO 'poor'@'localhost'",
        ),
    ] {
        let Some(mut scene) = Scene::start(kind) else {
            continue;
        };
        let before = scene.set(false, "FILE");
        scene
            .admin
            .query_drop("CREATE USER poor@localhost")
            .unwrap();
        let (output, _) = finished(scene.live("1s", &["--user", "poor"]));
        let line = error_line(&output);
        assert!(line.contains(privilege), "{line}");
        scene.is_as_before(&before, &line);
        scene.admin.query_drop(privilege).unwrap();
        let (output, said) = finished(scene.live("100ms", &["--user", "poor"]));
        assert_eq!(output.status.code(), Some(0), "{said}");
        scene.is_as_before(&before, &said);
    }
}

#[test]
fn a_log_that_is_on_already_is_read_and_left_alone() {
    for kind in kinds() {
        let Some(mut scene) = Scene::start(kind) else {
            continue;
        };
        let before = scene.set(true, "FILE");
        let (output, said) = finished(scene.live("300ms", &[]));
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("already on"), "{said}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("select ?"),
            "{said}"
        );
        scene.is_as_before(&before, &said);
    }
}

#[test]
fn the_journal_of_others_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let run = |more: &[&str]| {
        let mut command = freezeframe();
        command
            .args(["leases", "--dir"])
            .arg(dir.path())
            .args(more)
            .output()
            .unwrap()
    };
    let line = error_line(&run(&["--revert"]));
    assert!(line.contains("nobody else may write it"), "{line}");
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::write(dir.path().join("x.lease.json"), "{\"version\": 7}").unwrap();
    let output = run(&["--revert"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("not a lease"));
}
