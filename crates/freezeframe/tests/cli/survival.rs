//! Killed recorders, dying servers, full disks.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::harness::{Recorder, files, freezeframe, incident, server, ticks};

/// Its lines go to a file on the disk that is full: then above all it must go on.
#[test]
fn a_recorder_whose_output_cannot_be_written_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let output = freezeframe()
        .args([
            "record",
            "--socket",
            "/nonexistent.sock",
            "--for",
            "2s",
            "--dir",
        ])
        .arg(dir.path())
        .stdout(full.unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("recording continues").count(), 1, "{said}");
}

#[test]
fn an_incident_survives_the_death_of_its_recorder() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    // Killed at different points of the capture; the first one leaves a moment for the note of the
    // incident to reach the disk.
    for milliseconds in [200u64, 900, 2900] {
        let recorder = Recorder::start(&server, dir.path(), &[]);
        recorder.warm_up(4);
        server.pause().unwrap();
        recorder.event("triggered");
        std::thread::sleep(Duration::from_millis(milliseconds));
        let before = files(dir.path());
        recorder.kill();
        server.resume().unwrap();
        assert!(
            !before.iter().any(|name| name.ends_with(".frame")),
            "{before:?}"
        );

        let recorder = Recorder::start(&server, dir.path(), &[]);
        let written = recorder.event("written");
        assert_eq!(written["recovered"], true);
        let incident = incident(&written);
        let onset = incident.stall.onset;
        assert!(
            ticks(&incident, "stat", 0, onset) >= 3,
            "the time before is in it"
        );
        assert!(incident.timeline.get("status.Questions").is_some());
        assert!(
            incident
                .absent
                .iter()
                .any(|timed| timed.absent.what == "the rest of the stall")
        );
        std::thread::sleep(Duration::from_secs(1));
        recorder.kill();
        std::fs::remove_file(written["path"].as_str().unwrap()).unwrap();

        let again = Recorder::start(&server, dir.path(), &[]);
        again.event("version");
        std::thread::sleep(Duration::from_secs(1));
        let twice = again
            .events_so_far()
            .iter()
            .any(|event| event["event"] == "written");
        assert!(!twice, "recovered twice");
    }
}

#[test]
fn a_server_that_dies_and_comes_back_is_recorded_on() {
    let mut server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    // The status connection comes back some seconds after the server does.
    let recorder = Recorder::start(&server, dir.path(), &["--after", "10s"]);
    recorder.warm_up(4);
    let old = server.pid().unwrap();
    server.kill().unwrap();
    let triggered = recorder.event("triggered");
    assert!(
        triggered["rule"].as_str().unwrap().ends_with("-probe"),
        "{triggered}"
    );
    std::thread::sleep(Duration::from_secs(3));
    server.restart().unwrap();
    let written = recorder.event("written");
    let incident = incident(&written);
    let end = incident.stall.end.unwrap();
    let questions = incident.timeline.get("status.Questions").unwrap();
    let after = model::Window {
        from: end,
        to: u64::MAX,
    };
    assert!(
        incident.timeline.points_in(questions, after).count() > 0,
        "status goes on"
    );
    assert!(
        ticks(&incident, "query-probe", end, u64::MAX) > 3,
        "probes go on"
    );
    let pids: Vec<&str> = incident
        .facts
        .iter()
        .filter(|timed| timed.fact.name == "server.pid")
        .map(|timed| timed.fact.value.as_str())
        .collect();
    let new = server.pid().unwrap();
    for pid in [old, new] {
        assert!(
            pids.contains(&pid.to_string().as_str()),
            "{pids:?} has no {pid}"
        );
    }
}

#[test]
fn a_full_disk_is_told_once_and_recording_goes_on() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("skipped: a small file system can only be mounted by root");
        return;
    };
    let server = server(&[]);
    let recorder = Recorder::start(
        &server,
        disk.path(),
        &["--trigger", "cpu.count > 0 for 15s"],
    );
    recorder.warm_up(1);
    // Whatever is left of the disk is taken by somebody else, again and again: a reserve that the
    // recorder gives back to make room is taken too.
    let filler = fill(disk.path());
    let trouble = recorder.event("history-trouble");
    filler.store(false, Ordering::Relaxed);
    assert!(
        trouble["error"]
            .as_str()
            .unwrap()
            .contains("continues in memory"),
        "{trouble}"
    );
    recorder.event("triggered");
    std::thread::sleep(Duration::from_secs(3));
    std::fs::remove_file(disk.path().join("others")).unwrap();
    let events = recorder.stop();
    let again = events
        .iter()
        .filter(|event| event["event"] == "history-trouble")
        .count();
    assert_eq!(again, 0, "told more than once");
    let written = events
        .iter()
        .find(|event| event["event"] == "written")
        .unwrap();
    let incident = incident(written);
    assert!(
        ticks(&incident, "stat", 0, incident.stall.trigger) >= 11,
        "all of it from memory"
    );
}

#[test]
fn an_incident_that_no_disk_took_is_said_to_be_lost() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("skipped: a small file system can only be mounted by root");
        return;
    };
    let server = server(&[]);
    let filler = fill(disk.path());
    let output = freezeframe()
        .args(["record", "--json", "--no-history", "--for", "12s"])
        .args(["--trigger", "cpu.count > 0 for 3s", "--socket"])
        .arg(server.socket())
        .arg("--dir")
        .arg(disk.path())
        .output()
        .unwrap();
    filler.store(false, Ordering::Relaxed);
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    let lost: Vec<&str> = told
        .lines()
        .filter(|line| line.contains("\"incident-lost\""))
        .collect();
    assert_eq!(lost.len(), 1, "{told}");
    let left = files(disk.path());
    assert_eq!(left, ["others"], "nothing that was begun is left");
}

#[test]
fn a_page_that_no_disk_took_leaves_nothing_behind() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("skipped: a small file system can only be mounted by root");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let ticket = dir.path().join("ticket.txt");
    let line = "| 7 | a | h:1 | d | Query | 9 | Waiting for global read lock | SELECT 1 |\n";
    std::fs::write(&ticket, line).unwrap();
    let samples = dir.path().join("samples.folded");
    std::fs::write(&samples, "main;work 7\n").unwrap();
    let (new, old) = (disk.path().join("x.html"), disk.path().join("old.html"));
    std::fs::write(&old, "an older page").unwrap();
    let filler = fill(disk.path());
    std::thread::sleep(Duration::from_secs(1));
    let [ticket, samples] = [&ticket, &samples].map(|path| path.to_str().unwrap());
    for arguments in [
        &["explain", ticket][..],
        &["profile", "--diff", samples, samples],
    ] {
        for page in [&new, &old] {
            let mut command = freezeframe();
            let output = command.args(arguments).arg("--html").arg(page).output();
            assert_eq!(output.unwrap().status.code(), Some(1), "{arguments:?}");
        }
    }
    filler.store(false, Ordering::Relaxed);
    assert_eq!(files(disk.path()), ["old.html", "others"]);
    assert_eq!(std::fs::read(&old).unwrap(), b"an older page");
}

/// Fills a disk until it is told to stop.
fn fill(dir: &Path) -> Arc<AtomicBool> {
    let go_on = Arc::new(AtomicBool::new(true));
    let (path, running) = (dir.join("others"), go_on.clone());
    std::thread::spawn(move || {
        let mut file = std::fs::File::create(path).unwrap();
        while running.load(Ordering::Relaxed) {
            if file.write_all(&[7; 4096]).is_err() {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    });
    go_on
}

/// A file system of a few megabytes, unmounted at the end.
pub(crate) struct SmallDisk {
    dir: tempfile::TempDir,
}

impl SmallDisk {
    pub(crate) fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().ok()?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=3m,mode=0700", "freezeframe-test"])
            .arg(dir.path())
            .status()
            .is_ok_and(|status| status.success());
        mounted.then_some(Self { dir })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(self.dir.path())
            .status();
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_told_and_recording_goes_on() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    // A directory below a file cannot be made, whoever we are.
    let recorder = Recorder::start(
        &server,
        &file.join("dir"),
        &["--trigger", "cpu.count > 0 for 3s"],
    );
    recorder.event("history-trouble");
    recorder.event("version");
    recorder.event("triggered");
    std::thread::sleep(Duration::from_secs(1));
    std::fs::remove_file(&file).unwrap();
    let events = recorder.stop();
    let written = events
        .iter()
        .find(|event| event["event"] == "written")
        .unwrap();
    assert!(ticks(&incident(written), "stat", 0, u64::MAX) >= 3);
}

#[test]
fn a_finished_incident_is_not_made_anew_from_the_history() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&server, dir.path(), &[]);
    recorder.warm_up(4);
    server.pause().unwrap();
    let id = recorder.event("triggered")["id"]
        .as_str()
        .unwrap()
        .to_owned();
    std::thread::sleep(Duration::from_secs(2));
    recorder.kill();
    server.resume().unwrap();
    let finished = dir.path().join(format!("{id}.frame"));
    let first = Recorder::start(&server, dir.path(), &[]);
    first.event("written");
    first.kill();
    // As if the recorder had died between writing the file and noting that in the history.
    let database = files(dir.path())
        .into_iter()
        .find(|name| name.ends_with(".db"))
        .unwrap();
    let history = rusqlite::Connection::open(dir.path().join(database)).unwrap();
    history
        .execute(
            "INSERT INTO open_incident VALUES (1, ?1, 5000, 6000, NULL, '[]')",
            [&id],
        )
        .unwrap();
    drop(history);
    let before = std::fs::read(&finished).unwrap();
    let second = Recorder::start(&server, dir.path(), &[]);
    second.event("version");
    std::thread::sleep(Duration::from_secs(1));
    assert!(
        !second
            .events_so_far()
            .iter()
            .any(|event| event["event"] == "written")
    );
    assert_eq!(
        std::fs::read(&finished).unwrap(),
        before,
        "the file was replaced"
    );
}

#[test]
fn a_frozen_server_is_not_flooded_with_connections() {
    use mysql::prelude::Queryable;
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(&server, dir.path(), &[]);
    recorder.warm_up(3);
    let connections = || -> f64 {
        let mut connection = server
            .login()
            .connect(false, Duration::from_secs(30))
            .unwrap();
        let row: Option<(String, f64)> = connection
            .query_first("SHOW GLOBAL STATUS LIKE 'Connections'")
            .unwrap();
        row.unwrap().1
    };
    let before = connections();
    server.pause().unwrap();
    recorder.event("triggered");
    std::thread::sleep(Duration::from_secs(25));
    server.resume().unwrap();
    let made = connections() - before;
    // The connect probe's before the freeze and with growing pauses in it, and our own.
    assert!(
        made <= 15.0,
        "{made} connections were made to a frozen server"
    );
}
