//! The general log as a lease: whoever is killed, and whenever, the server has its previous values back.

use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lab::{Options, PrivateServer, ServerKind};
use mysql::Conn;
use mysql::prelude::Queryable;
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::freezeframe;
use crate::tool::{error_line, wait_until};

const TIMEOUT: Duration = Duration::from_secs(20);

/// A private server, the journal of its leases, and somebody who asks it something.
struct Scene {
    server: PrivateServer,
    admin: Conn,
    journal: PathBuf,
    _dir: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    load: Option<JoinHandle<()>>,
}

type Values = (bool, String, String);

impl Scene {
    fn start(kind: ServerKind) -> Option<Self> {
        if let Err(error @ lab::Error::NotFetched { .. }) = lab::installed(kind) {
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

    fn values(&mut self) -> Values {
        let question =
            "SELECT @@GLOBAL.general_log, @@GLOBAL.log_output, @@GLOBAL.general_log_file";
        self.admin.query_first(question).unwrap().unwrap()
    }

    /// Sets values as a user might have them, and says what the server makes of them.
    fn set(&mut self, on: bool, output: &str) -> Values {
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
    fn live(&self, time: &str, more: &[&str]) -> Child {
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

    fn leases(&self) -> Vec<PathBuf> {
        files(&self.journal, |name| name.ends_with(".lease.json"))
    }

    /// Logs of leases that are still there.
    fn logs(&self) -> Vec<PathBuf> {
        files(&self.server.datadir(), |name| {
            name.starts_with("freezeframe-")
        })
    }

    fn start_revert(&self) -> Child {
        freezeframe()
            .args(["leases", "--revert", "--user", "root", "--dir"])
            .arg(&self.journal)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn revert(&self) {
        let output = self.start_revert().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
    }

    fn is_on(&mut self) -> bool {
        let (on, _, file) = self.values();
        on && file.contains("freezeframe-general-")
    }

    fn wait_until_on(&mut self) {
        wait_until("the general log to be on", || self.is_on());
    }

    fn is_as_before(&mut self, before: &Values, what: &str) {
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
fn children(parent: u32) -> Vec<u32> {
    let numbers = std::fs::read_dir("/proc").unwrap();
    let pids = numbers.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

/// The fourth field of proc(5)'s stat, after the name in parentheses; none of a process that is gone.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    (fields.next()? != "Z").then_some(())?;
    fields.next()?.parse().ok()
}

fn signal(pid: u32, signal: Signal) {
    // It may be gone already.
    let _ = kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal);
}

fn finished(child: Child) -> (Output, String) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    (output, said)
}

/// xorshift64*: rounds that failed can be run again.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = u128::from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D));
        ((high * u128::from(end)) >> 64) as u64
    }
}

/// What happened in many rounds.
#[derive(Debug, Default)]
struct Tally {
    /// Killed while the lease was in the journal.
    in_force: usize,
    /// The watchdog was killed as well.
    both: usize,
    /// Both were killed, and the lease was left for the next start.
    left: usize,
    /// The log was still on when the owner was dead.
    on: usize,
    /// The server was frozen while the owner was killed.
    frozen: usize,
}

const PREVIOUS: [(bool, &str); 6] = [
    (false, "FILE"),
    (false, "TABLE"),
    (false, "FILE,TABLE"),
    (false, "NONE"),
    (true, "TABLE"),
    (true, "NONE"),
];

/// A short lease: much of a round is what is done before and after it.
const TIME: &str = "60ms";

/// Rounds of a short lease, each ended by SIGKILL at a random moment.
fn killed_at_random(kind: ServerKind, rounds: usize, seed: u64) -> Option<Tally> {
    let mut scene = Scene::start(kind)?;
    let mut random = Random(seed);
    let mut tally = Tally::default();
    let before = scene.set(false, "FILE");
    // The fastest of some whole ones: a moment beyond the end kills nothing.
    let mut whole = Duration::MAX;
    for _ in 0..5 {
        let begin = Instant::now();
        let (_, said) = finished(scene.live(TIME, &[]));
        whole = whole.min(begin.elapsed());
        scene.is_as_before(&before, &said);
    }
    for round in 0..rounds {
        let (on, output) = PREVIOUS[random.below(PREVIOUS.len() as u64) as usize];
        let before = scene.set(on, output);
        let mut owner = scene.live(TIME, &[]);
        // Half of them in the lease, however slow the machine is; the others whenever.
        let waits = random.below(2) == 0;
        let moment = if waits {
            wait_until("the lease to be taken", || {
                !scene.leases().is_empty() || owner.try_wait().unwrap().is_some()
            });
            Duration::from_micros(random.below(80_000))
        } else {
            Duration::from_micros(random.below(whole.as_micros() as u64))
        };
        std::thread::sleep(moment);
        let kills_both = random.below(3) == 0;
        // What the owner sends to a frozen server is executed when nobody of us lives any more.
        let freezes = random.below(4) == 0;
        if freezes {
            scene.server.pause().unwrap();
            std::thread::sleep(Duration::from_micros(random.below(20_000)));
        }
        let watchdogs = children(owner.id());
        owner.kill().unwrap();
        owner.wait().unwrap();
        let in_force = !scene.leases().is_empty();
        if kills_both {
            std::thread::sleep(Duration::from_micros(random.below(15_000)));
            watchdogs.iter().for_each(|pid| signal(*pid, Signal::KILL));
        }
        if freezes {
            scene.server.resume().unwrap();
        }
        if !kills_both {
            tally.on += usize::from(in_force && scene.is_on());
        }
        wait_until("the watchdog to be done", || {
            watchdogs.iter().all(|pid| parent_of(*pid).is_none())
        });
        let what = format!(
            "round {round} of {kind:?}: {on} {output}, killed after {moment:?} ({waits}), both: {kills_both}, frozen: {freezes}"
        );
        let is_left = !scene.leases().is_empty();
        // A watchdog that was started between the look at the children and the kill is on its own; it is awaited.
        if kills_both || is_left && watchdogs.is_empty() {
            if random.below(2) == 0 {
                // The next start is killed as well; the one after that finds the same.
                let mut next = scene.start_revert();
                std::thread::sleep(Duration::from_micros(random.below(30_000)));
                next.kill().unwrap();
                next.wait().unwrap();
            }
            scene.revert();
        }
        tally.in_force += usize::from(in_force);
        tally.both += usize::from(in_force && kills_both);
        tally.left += usize::from(is_left);
        tally.frozen += usize::from(in_force && freezes);
        scene.is_as_before(&before, &what);
        if freezes {
            std::thread::sleep(Duration::from_millis(20));
            scene.is_as_before(&before, &format!("later in {what}"));
        }
    }
    eprintln!("{kind:?}, {rounds} rounds, a whole one takes {whole:?}: {tally:?}");
    Some(tally)
}

/// What a killed owner had sent is executed after its death: it must be over before anybody says that all is back.
#[test]
fn a_statement_that_outlives_its_client_is_ended_first() {
    use remedy::general_log::{GeneralLogChange, Values};
    use remedy::{Change, Journal, Lease, LoginWay, ProcessId, ServerWay, Way};
    for kind in kinds() {
        let Some(mut scene) = Scene::start(kind) else {
            continue;
        };
        let before = scene.set(false, "FILE");
        let id = "00000000000000ab";
        let file_here = scene
            .server
            .datadir()
            .join(format!("freezeframe-general-{id}.log"));
        let previous = Values {
            general_log: before.0,
            log_output: before.1.clone(),
            general_log_file: before.2.clone(),
        };
        let ours = Values {
            general_log: true,
            log_output: "FILE".to_owned(),
            general_log_file: file_here.to_string_lossy().into_owned(),
        };
        scene.admin.query_drop("CREATE DATABASE late").unwrap();
        let body = format!(
            "CREATE PROCEDURE late.taking() BEGIN DO SLEEP(4); SET GLOBAL general_log_file = '{}'; \
             SET GLOBAL general_log = ON; END",
            file_here.display()
        );
        scene.admin.query_drop(body).unwrap();
        let mut dead = scene.server.login().connect(false, TIMEOUT).unwrap();
        let connection = u64::from(dead.connection_id());
        dead.query_drop("DO GET_LOCK('freezeframe.general_log', 0)")
            .unwrap();
        let late = std::thread::spawn(move || dead.query_drop("CALL late.taking()").is_err());
        let change = GeneralLogChange {
            previous,
            ours,
            file_here,
            bytes_max: 1 << 20,
            free_bytes_min: 0,
            connection,
        };
        let lease = Lease {
            version: 1,
            id: id.to_owned(),
            server: ServerWay {
                address: Way::Socket(scene.server.socket()),
                process: None,
                login: LoginWay::default(),
            },
            change: Change::GeneralLog(change),
            taken_us: 0,
            deadline_us: 0,
            // Nobody has ever had this number at that time.
            owner: ProcessId {
                pid: std::process::id(),
                start_time_ticks: 1,
            },
        };
        Journal::open(&scene.journal)
            .unwrap()
            .write(&lease)
            .unwrap();
        wait_until("the statement to be under way", || {
            let question = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO SLEEP%' \
                OR INFO LIKE 'CALL late%'";
            scene.admin.query_first::<u64, _>(question).unwrap() > Some(0)
        });
        scene.revert();
        assert!(late.join().unwrap(), "{kind:?}: it was not ended");
        scene.is_as_before(&before, "after a statement that outlived its client");
    }
}

fn kinds() -> [ServerKind; 3] {
    [ServerKind::MariaDb, ServerKind::MySql55, ServerKind::MySql9]
}

#[test]
fn killed_at_a_random_moment_the_lease_is_given_back() {
    let mut tally = Tally::default();
    for (kind, rounds) in kinds().into_iter().zip([15, 5, 5]) {
        let seed = u64::from(std::process::id()) + 1;
        let Some(more) = killed_at_random(kind, rounds, seed) else {
            continue;
        };
        tally.in_force += more.in_force;
    }
    assert!(
        tally.in_force > 0,
        "no round killed a lease that was in force: {tally:?}"
    );
}

#[test]
#[ignore = "a thousand rounds take minutes; cargo test -p freezeframe --test live -- --ignored thousand"]
fn a_thousand_kills_at_random_moments() {
    for (kind, rounds) in kinds().into_iter().zip([600, 200, 200]) {
        if let Some(tally) = killed_at_random(kind, rounds, 20_261_121) {
            assert!(
                tally.in_force > rounds / 10 && tally.left > 0 && tally.on > 0,
                "{tally:?}"
            );
        }
    }
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
    assert!(said.contains("given the lease back already"), "{said}");
    scene.is_as_before(&before, &said);
}

#[test]
fn a_frozen_server_is_tried_until_it_answers_and_that_is_said() {
    let mut scene = Scene::start(ServerKind::MariaDb).unwrap();
    let before = scene.set(false, "FILE");
    let live = scene.live("60s", &[]);
    scene.wait_until_on();
    scene.server.pause().unwrap();
    signal(live.id(), Signal::INT);
    // The first line comes after ten seconds.
    std::thread::sleep(Duration::from_secs(11));
    scene.server.resume().unwrap();
    let (output, said) = finished(live);
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
        assert!(said.contains("on already"), "{said}");
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
    assert!(line.contains("writable by nobody else"), "{line}");
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::write(dir.path().join("x.lease.json"), "{\"version\": 7}").unwrap();
    let output = run(&["--revert"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("not a lease"));
}
