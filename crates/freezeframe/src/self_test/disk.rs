//! The recorder's directory: is it ours, is there room, does what is written there come back?

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use recorder::{Disk, RetentionLimits};
use store::{
    History, HistoryLimits, IncidentMargins, OpenIncident, SessionStart, read_incident,
    write_incident,
};

use super::{CheckResult, TestSetup, stall};

/// Below this no incident has room: one of a minute with a thousand sessions and its page is a few MiB.
const FREE_BYTES_MIN: u64 = 64 << 20;

/// Files that a directory must still take.
const FREE_FILES_MIN: u64 = 100;

/// What everybody, or the group, may do with a directory.
const OTHERS_WRITE: u32 = 0o022;
const OTHERS_READ: u32 = 0o055;

/// Directories that were not there before the test.
pub(super) struct CreatedDirs(Vec<PathBuf>);

impl CreatedDirs {
    pub(super) fn missing_below(dir: &Path) -> Self {
        let missing = dir.ancestors().take_while(|path| !path.exists());
        Self(missing.map(Path::to_owned).collect())
    }

    /// Takes away those that were made and are empty.
    pub(super) fn take_away(self) {
        for dir in self.0 {
            let _ = std::fs::remove_dir(dir);
        }
    }
}

pub(super) fn directory(scene: &TestSetup) -> Vec<CheckResult> {
    const CHECK: &str = "directory";
    let dir = scene.dir.display();
    let chown = "make the recorder's user its owner: chown freezeframe: and chmod 700, or use another directory (dir, --dir)";
    if let Err(error) = store::make_private_dir(&scene.dir) {
        return vec![CheckResult::failed(CHECK, error.to_string(), chown)];
    }
    let written = tempfile::Builder::new()
        .prefix(".self-test-")
        .tempfile_in(&scene.dir);
    if let Err(error) = written {
        let says = format!("{dir}: cannot write: {error}");
        return vec![CheckResult::failed(CHECK, says, chown)];
    }
    let Ok(there) = scene.dir.metadata() else {
        return vec![CheckResult::failed(
            CHECK,
            format!("{dir}: the file that was written is gone"),
            chown,
        )];
    };
    let mode = there.permissions().mode() & 0o7777;
    let private = format!("chmod 700 {dir}");
    if mode & OTHERS_WRITE != 0 {
        let says = format!("{dir}: mode {mode:04o}: others can replace the recorder's files");
        return vec![CheckResult::failed(CHECK, says, private)];
    }
    let mut found = vec![match mode & OTHERS_READ {
        0 => CheckResult::works(CHECK, format!("{dir}: writable, mode {mode:04o}")),
        _ => CheckResult::note(
            CHECK,
            format!(
                "{dir}: mode {mode:04o}: others can see the names of incidents (their files are 0600)"
            ),
        )
        .advised(private),
    }];
    let us = rustix::process::geteuid().as_raw();
    if there.uid() != us {
        let says = format!(
            "the directory belongs to user {}, but this test ran as user {us}, who may have more rights",
            there.uid()
        );
        let to_do = "test it as the recorder's user: docs/install.md, Test a deployment";
        found.push(CheckResult::note("user", says).advised(to_do));
    }
    found
}

pub(super) fn space(scene: &TestSetup) -> Vec<CheckResult> {
    const CHECK: &str = "free space";
    let place = scene.dir.ancestors().find(|path| path.exists());
    let there = kernel::places::room(place.unwrap_or(Path::new("/")));
    let Ok(there) = there else {
        let says = format!(
            "{}: its file system does not report free space",
            scene.dir.display()
        );
        return vec![CheckResult::note(CHECK, says)];
    };
    let disk = Disk {
        free: there.free_bytes,
        all: there.bytes,
    };
    let limits = scene.config.recorder(scene.dir.clone()).ok();
    let limits = limits.map_or(RetentionLimits::default(), |limits| limits.retention);
    vec![space_of(
        disk,
        disk.shortfall(limits.free),
        (there.inodes > 0).then_some(there.free_inodes),
        history_limits(scene).bytes,
    )]
}

fn space_of(disk: Disk, short: u64, files: Option<u64>, history: u64) -> CheckResult {
    const CHECK: &str = "free space";
    let Disk { free, all } = disk;
    let mib = |bytes: u64| bytes >> 20;
    let says = format!("{} MiB free of {} MiB", mib(free), mib(all));
    if free < FREE_BYTES_MIN {
        let to_do =
            "free some space, or use another directory (dir, --dir): no incident could be written";
        return CheckResult::failed(CHECK, says, to_do);
    }
    if let Some(files) = files.filter(|files| *files < FREE_FILES_MIN) {
        let says = format!("{says}, but inodes for only {files} more files");
        return CheckResult::failed(CHECK, says, "delete files there: it has no free inodes");
    }
    if short > 0 {
        let says = format!(
            "{says}: {} MiB less than the recorder must leave free, so it shortens the history and may delete old incidents",
            mib(short).max(1)
        );
        return CheckResult::note(CHECK, says)
            .advised("free some space, or set free_mebibytes of [retention]");
    }
    if free < history {
        let says = format!(
            "{says}: less than the history of one server may need ({} MiB)",
            mib(history)
        );
        return CheckResult::note(CHECK, says)
            .advised("free some space, or lower mebibytes of [history]");
    }
    CheckResult::works(CHECK, says)
}

fn history_limits(scene: &TestSetup) -> HistoryLimits {
    let recording = scene.config.recorder(scene.dir.clone()).ok();
    recording
        .and_then(|recording| recording.history)
        .unwrap_or_default()
}

/// A directory beside the incidents, on the same file system; gone when it is dropped.
fn room(scene: &TestSetup) -> Result<tempfile::TempDir, String> {
    let dir = tempfile::Builder::new()
        .prefix(".self-test-")
        .tempdir_in(&scene.dir);
    dir.map_err(|error| format!("{}: {error}", scene.dir.display()))
}

fn milliseconds(since: Instant) -> u128 {
    since.elapsed().as_millis()
}

pub(super) fn incident_file(scene: &TestSetup) -> Vec<CheckResult> {
    const CHECK: &str = "incident file";
    let begin = Instant::now();
    let incident = stall::incident();
    let written = || -> Result<(), String> {
        let dir = room(scene)?;
        let path = write_incident(&incident, dir.path()).map_err(|error| error.to_string())?;
        let mode = path.metadata().map_err(|error| error.to_string())?;
        let mode = mode.permissions().mode() & 0o777;
        if mode != 0o600 {
            return Err(format!("its mode is {mode:04o}, but must be 0600"));
        }
        let loaded = read_incident(&path).map_err(|error| error.to_string())?;
        match loaded.damage.first() {
            Some(damage) => Err(damage.line()),
            None if loaded.incident == incident => Ok(()),
            None => Err("the data read back differs from the data written".to_owned()),
        }
    };
    vec![match written() {
        Ok(()) => {
            let says = format!(
                "written, synced and read back in {} ms",
                milliseconds(begin)
            );
            CheckResult::works(CHECK, says)
        }
        Err(error) => CheckResult::failed(
            CHECK,
            error,
            "see the lines above; the disk may be at fault",
        ),
    }]
}

pub(super) fn history(scene: &TestSetup) -> Vec<CheckResult> {
    const CHECK: &str = "history";
    if scene.config.history.keep == Some(false) {
        let says = "no history is kept (keep = false): if the recorder is killed, the current incident is lost";
        return vec![CheckResult::note(CHECK, says)];
    }
    let begin = Instant::now();
    let written = || -> Result<(), String> {
        let dir = room(scene)?;
        let path = dir.path().join("history-self-test.db");
        let incident = stall::incident();
        let start = SessionStart {
            clock: incident.clock.clone(),
            host: incident.host.clone(),
            tool_version: incident.tool_version.clone(),
            server: incident.server.clone(),
        };
        let text = |error: store::StoreError| error.to_string();
        let open = || History::open(&path, HistoryLimits::default(), &start).map_err(text);
        let (mut history, _) = open()?;
        history.append(&stall::samples()).map_err(text)?;
        let under_way = OpenIncident {
            id: incident.id.clone(),
            stall: incident.stall.clone(),
        };
        history.note_incident(&under_way).map_err(text)?;
        // As if its recorder had been killed.
        drop(history);
        let (history, _) = open()?;
        let around = IncidentMargins {
            before_ms: 60_000,
            after_ms: 30_000,
            longest_ms: 600_000,
        };
        let recovered = history.recover(around).map_err(text)?;
        match recovered.first() {
            Some(one) if one.incident.timeline.series.len() == incident.timeline.series.len() => {
                Ok(())
            }
            _ => Err("could not rebuild an incident from it".to_owned()),
        }
    };
    vec![match written() {
        Ok(()) => {
            let took = milliseconds(begin);
            let says = format!("written, and rebuilt an incident from it, in {took} ms");
            CheckResult::works(CHECK, says)
        }
        Err(error) => CheckResult::failed(
            CHECK,
            error,
            "see the lines above; the disk may be at fault",
        ),
    }]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::self_test::State;

    #[test]
    fn room_is_judged_by_bytes_files_and_the_history() {
        const GIB: u64 = 1 << 30;
        let judged = |free, files| {
            let all = 100 * GIB;
            space_of(Disk { free, all }, 0, files, GIB / 2)
        };
        assert_eq!(judged(2 * GIB, Some(1000)).state, State::Works);
        assert_eq!(judged(2 * GIB, None).says, "2048 MiB free of 102400 MiB");
        assert_eq!(judged(GIB / 4, None).state, State::Note);
        assert_eq!(judged(FREE_BYTES_MIN - 1, None).state, State::Failed);
        let disk = Disk {
            free: 2 * GIB,
            all: 100 * GIB,
        };
        let short = space_of(disk, 3 << 20, None, GIB);
        assert_eq!(short.state, State::Note);
        assert!(short.says.contains(": 3 MiB less than"), "{}", short.says);
        let full = judged(2 * GIB, Some(99));
        assert_eq!(full.state, State::Failed);
        assert!(
            full.says.ends_with("inodes for only 99 more files"),
            "{}",
            full.says
        );
    }

    #[test]
    fn a_directory_that_others_write_to_is_refused_and_one_they_read_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let scene = TestSetup {
            dir: dir.path().to_owned(),
            config: Config::default(),
        };
        for (mode, state) in [
            (0o700, State::Works),
            (0o750, State::Note),
            (0o770, State::Failed),
            (0o1777, State::Failed),
        ] {
            std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            let found = directory(&scene);
            assert_eq!(found[0].state, state, "{mode:o}: {found:?}");
            assert_eq!(found[0].to_do.is_some(), state != State::Works);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_written_comes_back_and_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let scene = TestSetup {
            dir: dir.path().join("a/b"),
            config: Config::default(),
        };
        let made = CreatedDirs::missing_below(&scene.dir);
        for step in [directory, incident_file, history] {
            let found = step(&scene);
            assert_eq!(found[0].state, State::Works, "{found:?}");
        }
        made.take_away();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
