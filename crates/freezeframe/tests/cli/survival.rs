//! Killed recorders, dying servers, full disks.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::harness::{Recorder, files, incident, server, ticks};

#[test]
fn an_incident_survives_the_death_of_its_recorder() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    // Killed at different points of the capture.
    for milliseconds in [0u64, 700, 2900] {
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
        recorder.event("version");
        recorder.kill();
        std::fs::remove_file(written["path"].as_str().unwrap()).unwrap();

        let again = Recorder::start(&server, dir.path(), &[]);
        again.event("version");
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
    let recorder = Recorder::start(&server, dir.path(), &[]);
    recorder.warm_up(4);
    let old = server.pid().unwrap();
    server.kill().unwrap();
    let triggered = recorder.event("triggered");
    assert!(
        triggered["says"].as_str().unwrap().starts_with("probe: "),
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
    // Whatever is left of the disk is taken by somebody else.
    let status = Command::new("dd")
        .args(["if=/dev/zero", "bs=4096", "count=10000", "status=none"])
        .arg(format!("of={}/others", disk.path().display()))
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success(), "the disk is not full");
    let trouble = recorder.event("history-trouble");
    assert!(
        trouble["error"]
            .as_str()
            .unwrap()
            .contains("goes on in memory"),
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
        ticks(&incident, "stat", 0, incident.stall.trigger) >= 14,
        "all of it from memory"
    );
}

/// A file system of a few megabytes, unmounted at the end.
struct SmallDisk {
    dir: tempfile::TempDir,
}

impl SmallDisk {
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().ok()?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=3m,mode=0700", "freezeframe-test"])
            .arg(dir.path())
            .status()
            .is_ok_and(|status| status.success());
        mounted.then_some(Self { dir })
    }

    fn path(&self) -> &Path {
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
