//! The history: what was recorded comes back, limits hold, damage and a full disk are survived.

use std::path::Path;
use std::time::Duration;

use crate::support::{clock, sample, server, stall, timeline};
use model::{Absent, Fact, Reason, Sample, SourceData, TextKind, Window};
use store::{History, HistoryLimits, IncidentMargins, OpenIncident, SessionStart, StoreError};

fn start() -> SessionStart {
    SessionStart {
        clock: clock(),
        host: "db1".into(),
        tool_version: "0.1.0".into(),
        server: server(),
    }
}

fn open(path: &Path, limits: HistoryLimits) -> History {
    History::open(path, limits, &start()).unwrap().0
}

/// A minute before, half a minute after, ten minutes at the most.
const AROUND: IncidentMargins = IncidentMargins {
    before_ms: 60_000,
    after_ms: 30_000,
    longest_ms: 600_000,
};

/// Everything.
const ALL: IncidentMargins = IncidentMargins {
    before_ms: 600_000,
    after_ms: 600_000,
    longest_ms: 3_600_000,
};

fn open_incident() -> OpenIncident {
    OpenIncident {
        id: "3306-x".into(),
        stall: stall(),
    }
}

#[test]
fn an_incident_is_rebuilt_after_the_recorder_died() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let mut history = open(&path, HistoryLimits::default());
    let text = server_text::stored(TextKind::Processlist, "{\"sessions\": 3}");
    let other = Sample {
        source: "processlist",
        at: 61_500,
        took_us: 1,
        outcome: Ok(SourceData {
            texts: vec![text.clone()],
            facts: vec![Fact::new("variables.max_connections", "151")],
            absent: vec![Absent::new("threads", Reason::Permission, "no")],
            ..SourceData::default()
        }),
    };
    // Two seconds a transaction, across minute borders, as the recorder does.
    for second in (0..100).step_by(2) {
        history
            .append(&[sample(second), sample(second + 1)])
            .unwrap();
    }
    history.append(&[other]).unwrap();
    history.note_incident(&open_incident()).unwrap();
    assert!(
        history.recover(AROUND).unwrap().is_empty(),
        "its own is not dead"
    );
    drop(history);

    let mut history = open(&path, HistoryLimits::default());
    let recovered = history.recover(AROUND).unwrap();
    let [recovered] = &recovered[..] else {
        panic!("{recovered:?}");
    };
    let incident = &recovered.incident;
    assert_eq!(recovered.damaged_chunks, 0);
    let window = Window {
        from: 500,
        to: 99_000,
    };
    assert_eq!((incident.window, &incident.stall), (window, &stall()));
    assert_eq!(incident.timeline, timeline(1..100));
    assert_eq!(incident.texts[0].text, text);
    assert_eq!(incident.fact("variables.max_connections"), Some("151"));
    assert_eq!(incident.absent[0].absent.what, "threads");
    history.forget_incident("3306-x").unwrap();
    assert!(history.recover(AROUND).unwrap().is_empty());
}

#[test]
fn old_minutes_go_first_by_age() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let limits = HistoryLimits {
        age: Duration::from_secs(120),
        ..HistoryLimits::default()
    };
    let mut history = open(&path, limits);
    for second in 0..600 {
        history.append(&[sample(second)]).unwrap();
    }
    history.retain(600_000).unwrap();
    history.note_incident(&open_incident()).unwrap();
    drop(history);
    let history = open(&path, HistoryLimits::default());
    let recovered = history.recover(ALL).unwrap();
    let ticks = &recovered[0].incident.timeline.sources[0].ticks;
    assert_eq!(
        (ticks.first(), ticks.last()),
        (Some(&480_000), Some(&599_000))
    );
}

#[test]
fn the_file_stays_within_its_size() {
    let dir = tempfile::tempdir().unwrap();
    let limits = HistoryLimits {
        bytes: 256 * 1024,
        ..HistoryLimits::default()
    };
    let mut history = open(&dir.path().join("history.db"), limits);
    for minute in 0..400u64 {
        let samples: Vec<Sample> = (0..60).map(|second| sample(minute * 60 + second)).collect();
        history.append(&samples).unwrap();
        history.retain(minute * 60_000).unwrap();
        let used = history.used_bytes().unwrap();
        assert!(used <= 256 * 1024, "minute {minute}: {used} bytes");
    }
}

#[test]
fn a_full_file_is_told_and_room_is_made_by_the_oldest_tenth() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let limits = HistoryLimits {
        bytes: 128 * 1024,
        ..HistoryLimits::default()
    };
    let mut history = open(&path, limits);
    let mut full = 0;
    for minute in 0..300u64 {
        let samples: Vec<Sample> = (0..60).map(|second| sample(minute * 60 + second)).collect();
        if let Err(error) = history.append(&samples) {
            assert!(error.is_disk_full(), "{error}");
            full += 1;
            let before = minutes(&path);
            assert!(history.make_room().unwrap());
            let kept = minutes(&path);
            let gone = before.len() - kept.len();
            assert!(
                gone >= 1 && gone <= before.len() / 10 + 1,
                "{gone} of {}",
                before.len()
            );
            assert_eq!(kept.last(), before.last(), "the newest stay");
            history.append(&samples).unwrap();
        }
    }
    assert!(full > 3, "the file was full only {full} times");
    history.note_incident(&open_incident()).unwrap();
}

/// The minutes that a history holds, oldest first.
fn minutes(path: &Path) -> Vec<i64> {
    rusqlite::Connection::open(path)
        .unwrap()
        .prepare("SELECT DISTINCT minute FROM chunk ORDER BY minute")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

#[test]
fn one_recorder_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let first = open(&path, HistoryLimits::default());
    let second = History::open(&path, HistoryLimits::default(), &start()).unwrap_err();
    assert!(matches!(second, StoreError::InUse { .. }), "{second}");
    drop(first);
    open(&path, HistoryLimits::default());
}

#[test]
fn damage_behind_the_first_page_is_put_aside_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let mut history = open(&path, HistoryLimits::default());
    for second in 0..200 {
        history.append(&[sample(second)]).unwrap();
    }
    drop(history);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096..].fill(0xee);
    std::fs::write(&path, bytes).unwrap();
    let (mut history, note) = History::open(&path, HistoryLimits::default(), &start()).unwrap();
    assert!(note.unwrap().contains("damaged-1"));
    history.append(&[sample(1)]).unwrap();
}

#[test]
fn values_stay_right_after_a_failed_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let mut history = open(&path, HistoryLimits::default());
    history.append(&[sample(1), sample(2)]).unwrap();
    let blocker = rusqlite::Connection::open(&path).unwrap();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(history.append(&[sample(3)]).is_err());
    blocker.execute_batch("ROLLBACK").unwrap();
    history.append(&[sample(4), sample(5)]).unwrap();
    history.note_incident(&open_incident()).unwrap();
    drop(history);
    let history = open(&path, HistoryLimits::default());
    let recovered = &history.recover(ALL).unwrap()[0].incident.timeline;
    let mut expected = timeline(1..3);
    expected.push(&sample(4));
    expected.push(&sample(5));
    assert_eq!(recovered, &expected);
}

#[test]
fn a_damaged_history_is_put_aside_not_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    std::fs::write(&path, "no database ".repeat(1000)).unwrap();
    let (mut history, note) = History::open(&path, HistoryLimits::default(), &start()).unwrap();
    let note = note.unwrap();
    assert!(note.contains("history.db.damaged-1"), "{note}");
    assert!(dir.path().join("history.db.damaged-1").exists());
    history.append(&[sample(1)]).unwrap();
}

#[test]
fn room_is_given_back_to_the_disk_down_to_the_last_hour() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let mut history = open(&path, HistoryLimits::default());
    for minute in 0..200u64 {
        let samples: Vec<Sample> = (0..60).map(|second| sample(minute * 60 + second)).collect();
        history.append(&samples).unwrap();
    }
    history.checkpoint().unwrap();
    let size = || path.metadata().unwrap().len();
    let before = size();
    let given = history.give_room(20_000).unwrap();
    assert_eq!((given % 4096, size()), (0, before - given));
    assert!((20_000..40_000).contains(&given), "{given}");
    let kept = minutes(&path);
    assert!(kept.len() > 100 && kept.last() == Some(&199), "{kept:?}");
    // However much is wanted.
    let given = history.give_room(u64::MAX / 2).unwrap();
    assert!(given > 0 && size() < before / 2, "{given} of {before}");
    assert_eq!(minutes(&path), (140..200).collect::<Vec<i64>>());
    assert_eq!(history.give_room(1 << 30).unwrap(), 0);
    history.append(&[sample(12_001)]).unwrap();
}

#[test]
fn a_history_that_was_begun_without_it_stays_as_large_and_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    // As earlier versions began theirs.
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch("PRAGMA auto_vacuum = NONE; PRAGMA journal_mode = WAL;")
        .unwrap();
    drop(old);
    let mut history = open(&path, HistoryLimits::default());
    for minute in 0..100u64 {
        let samples: Vec<Sample> = (0..60).map(|second| sample(minute * 60 + second)).collect();
        history.append(&samples).unwrap();
    }
    assert_eq!(history.give_room(1 << 20).unwrap(), 0);
    assert_eq!(minutes(&path).len(), 60);
}
