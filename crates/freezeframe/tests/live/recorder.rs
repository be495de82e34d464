//! What the recorder's incidents hold of stacks, profiles and locks.

use std::path::Path;
use std::time::Duration;

use model::{Incident, StackEvidence, ThreadRun};
use mysql::prelude::Queryable;
use testbed::{Load, PrivateServer};

use crate::harness::{Recorder, incident, run, server};
use crate::tool::{bpf_permitted, json, may_sample};

const TIMEOUT: Duration = Duration::from_secs(60);

/// The samples a second of calm and of a burst.
const CALM_HZ: u32 = 49;
const BURST_HZ: u32 = 99;

/// Length of the burst at a trigger, milliseconds.
const BURST_MS: u64 = 10_000;

/// Threads that wait in the made stall.
const WAITERS: usize = 20;

/// Names of a stack's functions, innermost first.
fn names(stacks: &StackEvidence, run: &ThreadRun) -> Vec<String> {
    let frames = stacks.table.frames_of(run.stack);
    frames.map(|frame| frame.name.clone()).collect()
}

/// Numbers that have to agree in every incident.
fn consistent(incident: &Incident) {
    let stacks = &incident.stacks;
    let stacks_known = stacks.table.stacks().len();
    let known = |id: model::StackId| (id.0 as usize) < stacks_known;
    assert!(
        stacks
            .runs
            .iter()
            .all(|run| known(run.stack) && run.from <= run.to)
    );
    let times: Vec<u64> = stacks.snapshots.iter().map(|note| note.at).collect();
    assert!(times.is_sorted(), "{times:?}");
    for note in &stacks.snapshots {
        assert!(note.complete <= note.threads, "{note:?}");
        assert_eq!(note.stopped_us, 0);
    }
    for profile in &stacks.profiles {
        assert!(profile.from <= profile.to, "{profile:?}");
        assert!(
            profile
                .counts
                .iter()
                .all(|row| known(row.stack) && row.count > 0)
        );
    }
}

/// A recorder that other work on this machine does not trigger: probes may take this long, and no
/// share of system CPU time is too much. A second stall need not wait.
fn recorder(server: &PrivateServer, dir: &Path, probe_limit_ms: u32, more: &[&str]) -> Recorder {
    let config = dir.join("freezeframe.toml");
    let text = format!(
        "[detect]\nprobe_limit_ms = {probe_limit_ms}\nsystem_share_min = 2.0\nsame_incident_seconds = 1\n"
    );
    std::fs::write(&config, text).unwrap();
    let mut all = vec!["--config", config.to_str().unwrap()];
    all.extend(more);
    Recorder::start(server, dir, &all)
}

/// Statements at a gentle rate, so that there is something to sample.
fn work(server: &PrivateServer, seconds: u64) -> std::thread::JoinHandle<()> {
    let load = Load {
        login: server.login(),
        clients: 2,
        rate_per_second: Some(300.0),
        compression: false,
        reconnect: false,
        statements: vec![(1, "SELECT BENCHMARK(20000, CRC32('x'))".to_owned())],
        duration: Duration::from_secs(seconds),
        timeout: TIMEOUT,
    };
    std::thread::spawn(move || {
        let never = std::sync::atomic::AtomicBool::new(false);
        testbed::run(&load, &never).unwrap();
    })
}

#[test]
fn an_incident_has_what_threads_did_before_and_in_the_stall() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let trigger = "Threads_running >= 15 for 2s";
    let recorder = recorder(&server, dir.path(), 20_000, &["--trigger", trigger]);
    let working = work(&server, 20);
    recorder.warm_up(8);
    let connect = || server.login().connect(false, TIMEOUT).unwrap();
    let mut blocker = connect();
    blocker.query_drop("CREATE DATABASE shop").unwrap();
    blocker
        .query_drop("CREATE TABLE shop.stock (id INT PRIMARY KEY)")
        .unwrap();
    blocker.query_drop("LOCK TABLES shop.stock WRITE").unwrap();
    let waiters: Vec<_> = (0..WAITERS)
        .map(|_| {
            let mut connection = connect();
            std::thread::spawn(move || connection.query_drop("SELECT id FROM shop.stock"))
        })
        .collect();
    recorder.event("triggered");
    std::thread::sleep(Duration::from_millis(BURST_MS + 1500));
    blocker.query_drop("UNLOCK TABLES").unwrap();
    for waiter in waiters {
        waiter.join().unwrap().unwrap();
    }
    let written = recorder.event("written");
    working.join().unwrap();
    recorder.stop();

    let incident = incident(&written);
    consistent(&incident);
    let (stacks, onset, trigger) = (
        &incident.stacks,
        incident.stall.onset,
        incident.stall.trigger,
    );
    let between = |from: u64, to: u64| -> Vec<u64> {
        let times = stacks.snapshots.iter().map(|note| note.at);
        times.filter(|at| (from..to).contains(at)).collect()
    };
    // One a second in calm, ten in a burst: a loaded machine makes them fewer, never so few.
    let calm = between(0, onset);
    assert!(calm.len() >= 3, "before the stall: {calm:?}");
    let burst = between(trigger, trigger + BURST_MS);
    let burst_rate = burst.len() as f64 / (BURST_MS as f64 / 1000.0);
    let calm_rate = calm.len() as f64 / (onset.saturating_sub(calm[0]).max(1000) as f64 / 1000.0);
    assert!(
        burst_rate > 3.0 * calm_rate,
        "{calm_rate} in calm, {burst_rate} in the burst"
    );

    // The crowd is in it with whole stacks, and it did not wait before.
    let in_crowd = |run: &&ThreadRun| {
        names(stacks, run)
            .iter()
            .any(|name| name.contains("MDL_wait::timed_wait"))
    };
    let crowd: Vec<&ThreadRun> = stacks.runs.iter().filter(in_crowd).collect();
    let mut tids: Vec<u32> = crowd.iter().map(|run| run.tid).collect();
    tids.sort_unstable();
    tids.dedup();
    assert_eq!(tids.len(), WAITERS, "{tids:?}");
    assert!(crowd.iter().all(|run| run.to >= onset), "{crowd:?}");
    let complete: u32 = stacks.snapshots.iter().map(|note| note.complete).sum();
    let threads: u32 = stacks.snapshots.iter().map(|note| note.threads).sum();
    assert!(
        f64::from(complete) >= 0.95 * f64::from(threads),
        "{complete} of {threads}"
    );

    let table = stacks.locks.iter().find(|table| {
        table
            .locks
            .iter()
            .any(|lock| lock.name.contains("metadata"))
    });
    let lock = table
        .and_then(|table| {
            table
                .locks
                .iter()
                .find(|lock| lock.name.contains("metadata"))
        })
        .unwrap_or_else(|| panic!("no metadata lock in {:#?}", stacks.locks));
    assert_eq!(lock.waiters_max as usize, WAITERS, "{lock:?}");

    if may_sample() {
        let samples = |hz: u32, from: u64, to: u64| -> u64 {
            let slices = stacks.profiles.iter();
            let wanted =
                slices.filter(|slice| slice.hz == hz && slice.from >= from && slice.to <= to);
            wanted.map(model::Profile::samples).sum()
        };
        assert!(samples(CALM_HZ, 0, trigger) > 0, "no profile of before");
        assert!(
            samples(BURST_HZ, onset, u64::MAX) > 0,
            "no profile of the burst"
        );
        let of_server = stacks.profiles.iter().flat_map(|slice| &slice.counts);
        assert!(
            of_server.clone().any(|row| row.server),
            "none of the server's"
        );
    }
    let cwd = format!("/proc/{}/cwd", server.pid().unwrap());
    if std::fs::read_link(cwd).is_ok() {
        let name = format!("filesystem.{}.used_share", server.datadir().display());
        let series = incident.timeline.get(&name).expect("how full its disk is");
        let shares = || series.values.iter().filter(|value| !value.is_nan());
        assert!(shares().count() > 0);
        assert!(shares().all(|share| (0.0..=1.0).contains(share)));
    }
    if bpf_permitted() {
        let methods = stacks.snapshots.iter().map(|note| note.method);
        assert!(
            methods
                .clone()
                .all(|method| method == model::SnapshotMethod::Bpf)
        );
    }

    let path = written["path"].as_str().unwrap();
    let page = String::from_utf8(run(&["explain", path, "--html", "-"]).stdout).unwrap();
    for id in ["profile", "stacks", "locks"] {
        let section = format!("<section id=\"{id}\">");
        if id != "profile" || may_sample() {
            assert!(page.contains(&section), "no section {id}");
        }
    }
    assert!(page.contains("MDL_wait::timed_wait") && page.trim_end().ends_with("</html>"));
    let explained = json(&["explain", path, "--json"]);
    assert!(explained["findings"].is_array(), "{explained}");
    let named = explained["sources"][0]["path"].as_str().unwrap();
    assert_eq!(dir.path().join(named).to_str().unwrap(), path);
}

#[test]
fn a_server_killed_in_a_burst_is_followed_to_its_next_life() {
    let mut server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let recorder = recorder(&server, dir.path(), 1500, &[]);
    recorder.warm_up(4);
    let old = server.pid().unwrap();
    server.pause().unwrap();
    recorder.event("triggered");
    std::thread::sleep(Duration::from_millis(1500));
    server.kill().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    server.restart().unwrap();
    let new = server.pid().unwrap();
    let first = incident(&recorder.event("written"));
    // The next burst looks at the second life, at once.
    server.pause().unwrap();
    recorder.event("triggered");
    std::thread::sleep(Duration::from_secs(3));
    server.resume().unwrap();
    let second = incident(&recorder.event("written"));
    recorder.stop();

    assert_eq!(first.stall.previous(), None);
    assert_eq!(second.stall.previous(), Some(first.stall_window()));
    for (incident, pid) in [(&first, old), (&second, new)] {
        consistent(incident);
        let stacks = &incident.stacks;
        // A process's first thread has its id.
        let life: Vec<&ThreadRun> = stacks.runs.iter().filter(|run| run.tid == pid).collect();
        let whole = life.iter().any(|run| {
            let complete = stacks.table.stack(run.stack).end.is_complete();
            complete && names(stacks, run).iter().any(|name| name == "poll")
        });
        assert!(whole, "nothing of process {pid} in {:#?}", stacks.runs);
    }
}
