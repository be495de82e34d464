//! A history that is read on while its recorder writes it.

use std::path::Path;

use model::{Absent, Fact, Reading, Reason, Sample, SourceData, TextKind, Unit};
use store::{History, HistoryFollower, HistoryLimits, HistoryPart, SessionStart};

use crate::support::{clock, sample, server};

fn start() -> SessionStart {
    SessionStart {
        clock: clock(),
        host: "db1".into(),
        tool_version: "0.1.0".into(),
        server: server(),
    }
}

fn open(path: &Path) -> History {
    let (history, _) = History::open(path, HistoryLimits::default(), &start()).unwrap();
    history
}

/// What a second brings that is no number, and a signal that was not there before.
fn other(second: u64) -> Sample {
    let text = |kind| server_text::stored(kind, "{\"sessions\": 3}");
    Sample {
        source: "processlist",
        at: second * 1000,
        took_us: 1,
        outcome: Ok(SourceData {
            readings: vec![Reading::gauge("processlist.hung", Unit::Count, 7.0)],
            texts: vec![text(TextKind::Processlist), text(TextKind::Threads)],
            facts: vec![Fact::new("variables.max_connections", "151")],
            absent: vec![Absent::new("threads", Reason::Permission, "no")],
        }),
    }
}

#[test]
fn only_what_is_new_is_read_on_until_another_session_or_file_begins() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let mut history = open(&path);
    let zero = clock().wall_at_zero_ms;
    for second in 0..100 {
        history.append(&[sample(second)]).unwrap();
    }
    let follow = || {
        let window = (zero, zero + 100_000);
        HistoryFollower::open(&path, window, &[TextKind::Processlist]).unwrap()
    };
    let (mut follower, read) = follow().unwrap();
    let of_first = read.incident.timeline.sources[0].ticks.clone();
    assert_eq!(of_first.len(), 100);
    // The seconds from which differences are told come again, once.
    let ticks = |part: &HistoryPart| {
        let new = part
            .timeline
            .sources
            .iter()
            .find(|one| one.name == "status");
        new.map_or_else(Vec::new, |source| source.ticks.clone())
    };
    let part = follower.read_on().unwrap().unwrap();
    assert_eq!(ticks(&part), of_first[60..]);
    history.append(&[sample(100), other(100)]).unwrap();
    let part = follower.read_on().unwrap().unwrap();
    let at = of_first[99] + 1000;
    assert_eq!(ticks(&part), [at]);
    let value = |name: &str| part.timeline.get(name).map(|one| one.values.clone());
    assert_eq!(value("processlist.hung"), Some(vec![7.0]));
    let again = store::read_history(&path, zero, zero + 101_000, &[]).unwrap();
    let questions = again.unwrap().incident.timeline;
    let questions = questions.get("status.Questions").unwrap();
    assert_eq!(
        value("status.Questions"),
        Some(questions.values[100..].to_vec())
    );
    let texts: Vec<_> = part
        .texts
        .iter()
        .map(|one| (one.at, one.text.kind()))
        .collect();
    assert_eq!(texts, [(at, TextKind::Processlist)]);
    assert_eq!((part.facts.len(), part.absent.len()), (1, 1));
    let absent = &part.absent[0];
    assert_eq!((absent.first, absent.last, absent.count), (at, at, 1));
    // Nothing is told twice.
    let part = follower.read_on().unwrap().unwrap();
    assert!(part.timeline.sources.is_empty() && part.texts.is_empty());
    assert!(part.facts.is_empty() && part.absent.is_empty());
    history.begin_session(&start()).unwrap();
    assert!(follower.read_on().unwrap().is_none());
    // The last session may have nothing yet.
    let (mut follower, _) = follow().unwrap();
    history.append(&[sample(101)]).unwrap();
    let part = follower.read_on().unwrap().unwrap();
    assert_eq!(ticks(&part), [at + 1000]);
    history.put_aside().unwrap();
    let _new = open(&path);
    assert!(follower.read_on().unwrap().is_none());
}
