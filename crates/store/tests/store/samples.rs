//! Files as each version of the format has them, kept as they were written: they open for as long as we read that version.
//! Whoever raises a version adds a sample (`FREEZEFRAME_BLESS=1` writes it) and changes none.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use model::TextKind;
use rusqlite::Connection;
use store::{
    History, HistoryLimits, INCIDENT_FILE_VERSION, IncidentMargins, OpenIncident, SessionStart,
    StoreError, read_history, read_incident, read_summary, write_incident,
};

use crate::support::{clock, incident, sample, server, stall, timeline};

/// Set in the environment: samples that are missing are written.
const BLESS: &str = "FREEZEFRAME_BLESS";

/// The first version of each of which a file as it was written is kept. Older incidents: see `frame.rs`.
const FIRST_FRAME: i64 = 4;
const FIRST_HISTORY: i64 = 2;

const AROUND: IncidentMargins = IncidentMargins {
    before_ms: 60_000,
    after_ms: 30_000,
    longest_ms: 600_000,
};

fn packed_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/store/samples")
        .join(format!("{name}.gz"))
}

/// The sample, unpacked into a directory.
fn unpacked(name: &str, dir: &Path) -> PathBuf {
    let packed = packed_path(name);
    let file = std::fs::File::open(&packed)
        .unwrap_or_else(|error| panic!("{}: {error}; {BLESS}=1 writes it", packed.display()));
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Writes a sample that is missing, where that is wanted; one that is there stays.
fn bless(name: &str, made: &Path) {
    let path = packed_path(name);
    if std::env::var_os(BLESS).is_none() || path.exists() {
        return;
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut packed = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::best());
    packed.write_all(&std::fs::read(made).unwrap()).unwrap();
    packed.finish().unwrap();
}

fn start() -> SessionStart {
    SessionStart {
        clock: clock(),
        host: "db1".into(),
        tool_version: "0.1.0".into(),
        server: server(),
    }
}

fn version(path: &Path) -> i64 {
    let connection = Connection::open(path).unwrap();
    connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap()
}

/// A history with an incident that its recorder left unfinished.
fn made_history(dir: &Path) -> PathBuf {
    let path = dir.join("history.db");
    let (mut history, _) = History::open(&path, HistoryLimits::default(), &start()).unwrap();
    for second in 0..100 {
        history.append(&[sample(second)]).unwrap();
    }
    let under_way = OpenIncident {
        id: "3306-x".into(),
        stall: stall(),
    };
    history.note_incident(&under_way).unwrap();
    history.checkpoint().unwrap();
    path
}

#[test]
fn an_incident_of_each_version_opens_whole() {
    let dir = tempfile::tempdir().unwrap();
    let made = write_incident(&incident(), dir.path()).unwrap();
    bless(&format!("v{INCIDENT_FILE_VERSION}.frame"), &made);
    for number in FIRST_FRAME..=INCIDENT_FILE_VERSION {
        let path = unpacked(&format!("v{number}.frame"), dir.path());
        assert_eq!(version(&path), number);
        let loaded = read_incident(&path).unwrap();
        assert_eq!(loaded.damage, [], "version {number}");
        assert_eq!(loaded.incident, incident(), "version {number}");
        assert_eq!(read_summary(&path).unwrap().stall, incident().stall);
    }
}

#[test]
fn a_history_of_each_version_is_read_and_written_on() {
    let dir = tempfile::tempdir().unwrap();
    let made = made_history(dir.path());
    let today = version(&made);
    bless(&format!("v{today}.history.db"), &made);
    for number in FIRST_HISTORY..=today {
        let path = unpacked(&format!("v{number}.history.db"), dir.path());
        assert_eq!(version(&path), number);
        // Read beside a recorder: nothing is changed.
        let from = clock().wall_at_zero_ms;
        let read = read_history(&path, from, from + 100_000, &TextKind::ALL).unwrap();
        let ticks = &read.unwrap().incident.timeline.sources[0].ticks;
        assert_eq!(ticks.len(), 100, "version {number}");
        // And by the next recorder, which finishes what the last one could not.
        let (mut history, note) = History::open(&path, HistoryLimits::default(), &start()).unwrap();
        assert_eq!(note, None, "version {number}");
        let recovered = history.recover(AROUND).unwrap();
        let found = &recovered[0].incident;
        assert_eq!(
            (&found.stall, &found.timeline),
            (&stall(), &timeline(1..100))
        );
        history.append(&[sample(7)]).unwrap();
        drop(history);
        assert_eq!(version(&path), today);
    }
}

#[test]
fn what_a_newer_one_wrote_says_so_and_a_newer_history_is_put_aside() {
    let dir = tempfile::tempdir().unwrap();
    let frame = write_incident(&incident(), dir.path()).unwrap();
    let history = made_history(dir.path());
    for path in [&frame, &history] {
        let newer = Connection::open(path).unwrap();
        newer.pragma_update(None, "user_version", 99).unwrap();
    }
    let says = |error: StoreError| error.to_string();
    let expected = "written by a newer freezeframe (format version 99; this one reads up to ";
    for told in [
        says(read_incident(&frame).unwrap_err()),
        says(read_summary(&frame).err().unwrap()),
        says(read_history(&history, 0, i64::MAX, &[]).unwrap_err()),
    ] {
        assert!(
            told.contains(expected) && told.ends_with("): use a newer one"),
            "{told}"
        );
    }
    let (_, note) = History::open(&history, HistoryLimits::default(), &start()).unwrap();
    let note = note.unwrap();
    assert!(note.contains(expected), "{note}");
    assert!(note.contains("renamed to"), "{note}");
    assert_eq!(version(&dir.path().join("history.db.damaged-1")), 99);
}
