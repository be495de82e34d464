//! Locks that sessions and InnoDB tell of, at moments without stacks.

use std::sync::Arc;

use live::{Model, State, page};
use model::{ProcessList, Reading, Session, StackEvidence, TextKind, Unit};

use crate::{fixture, keys, typed};

const LOCK: &str = "Waiting for table metadata lock";

/// The screen of locks, of a model without stacks whose sessions are in these states.
fn shown(states: &[(&str, u64)], row_waits: f64, presses: &str) -> String {
    let mut model: Model = fixture::model();
    Arc::make_mut(&mut model.incident).stacks = StackEvidence::default();
    let session = |id: u64, seconds: f64, state: &str| Session {
        id,
        user: "shop_api".to_owned(),
        host: "10.4.7.9".to_owned(),
        db: "shop".to_owned(),
        command: "Query".to_owned(),
        seconds,
        state: state.to_owned(),
        statement: "SELECT c FROM orders".to_owned(),
    };
    let list = ProcessList {
        sessions: 50,
        by_state: states
            .iter()
            .map(|(state, count)| ((*state).to_owned(), *count))
            .collect(),
        longest: vec![session(71, 7.0, LOCK), session(72, 3.0, "executing")],
        idle: vec![session(45, 60.0, "")],
        ..ProcessList::default()
    };
    let body = serde_json::to_string(&list).unwrap();
    Arc::make_mut(&mut model.incident)
        .texts
        .retain(|timed| timed.at < 270_000);
    Arc::make_mut(&mut model.incident)
        .texts
        .push(model::TimedText {
            at: 275_000,
            text: server_text::stored(TextKind::Processlist, &body),
        });
    let waits = |name: &'static str, unit, value| Reading::gauge(name, unit, value);
    let told = [
        waits("innodb.lock_wait_transactions", Unit::Count, row_waits),
        waits("innodb.lock_wait_seconds_max", Unit::Seconds, 4.0),
    ];
    let timeline = &mut Arc::make_mut(&mut model.incident).timeline;
    timeline.push_readings("innodb-locks", 279_000, &told);
    let mut state = State::new(&model, false);
    keys(&model, &mut state, &typed(presses), (100, 30));
    if presses.len() > 1 {
        keys(&model, &mut state, &[live::keys::Press::Enter], (100, 30));
    }
    if let Some(first) = model
        .verdict
        .as_mut()
        .and_then(|one| one.findings.first_mut())
    {
        first.actors = vec![diagnosis::Actor {
            who: "metadata-lock-holder".to_owned(),
            says: "connection 45 holds orders".to_owned(),
            ..diagnosis::Actor::default()
        }];
    }
    let lines = page(&model, &state, 100, 30);
    lines
        .iter()
        .map(|line| format!("{}\n", line.text()))
        .collect()
}

/// The line that begins so, as words.
fn line(shown: &str, begin: &str) -> Option<Vec<String>> {
    let line = shown.lines().find(|line| line.starts_with(begin))?;
    Some(line.split_whitespace().map(str::to_owned).collect())
}

#[test]
fn sessions_and_innodb_tell_of_locks_where_no_stacks_do() {
    let told = shown(&[(LOCK, 39), ("executing", 4), ("User lock", 2)], 12.0, "3");
    for (begin, waiters) in [
        ("Waiting for table", "39"),
        ("row lock", "12"),
        ("User lock", "2"),
    ] {
        let words = line(&told, begin).unwrap_or_else(|| panic!("{begin}: {told}"));
        assert!(words.iter().any(|word| word == waiters), "{words:?}");
    }
    assert_eq!(line(&told, "executing"), None, "{told}");
    // Who has it, as far as the verdict knows.
    assert!(told.contains("HELD BY perhaps connection 45"), "{told}");
    // The one with most waiters is first; it has who waits and who sleeps.
    let row = shown(&[(LOCK, 39)], 0.0, "3j");
    assert!(
        row.contains("71 shop_api@10.4.7.9") && row.contains("45 shop_api"),
        "{row}"
    );
    assert!(!row.contains("72 shop_api"), "{row}");
    // Nobody waits: that is told, because it is known.
    let calm = shown(&[("executing", 4)], 0.0, "3");
    assert!(calm.contains("no session waits for a lock"), "{calm}");
    assert_eq!(line(&calm, "row lock"), None);
}

/// A screen of a model whose only lock has no holder in the stacks, and a verdict that names this session.
fn with_one_lock(screen: &str, sure: bool, name: &str) -> String {
    let mut model: Model = fixture::model();
    for table in &mut Arc::make_mut(&mut model.incident).stacks.locks {
        table.locks.truncate(1);
        for lock in &mut table.locks {
            lock.name = name.to_owned();
            lock.holders.clear();
        }
        table.chains.truncate(1);
        for chain in &mut table.chains {
            chain.links.truncate(1);
            for link in &mut chain.links {
                link.lock = name.to_owned();
                link.holder = None;
            }
        }
    }
    let verdict = model.verdict.as_mut();
    if let Some(first) = verdict.and_then(|one| one.findings.first_mut()) {
        first.actors = vec![diagnosis::Actor {
            who: "metadata-lock-holder".to_owned(),
            says: "connection 45 (root@localhost): ALTER for 14 s".to_owned(),
            sure,
            ..diagnosis::Actor::default()
        }];
    }
    let mut state = State::new(&model, false);
    keys(&model, &mut state, &typed(screen), (120, 40));
    let lines = page(&model, &state, 120, 40);
    lines
        .iter()
        .map(|line| format!("{}\n", line.text()))
        .collect()
}

#[test]
fn a_holder_that_the_verdict_names_is_not_called_unknown() {
    for screen in ["1", "2", "3"] {
        let told = with_one_lock(screen, true, "metadata lock");
        assert!(
            told.contains("connection 45 (root@localhost)"),
            "{screen}: {told}"
        );
        assert!(!told.contains("holder is unknown"), "{screen}: {told}");
        let rows = told
            .lines()
            .filter(|line| line.starts_with("metadata lock "));
        for row in rows {
            assert!(!row.contains("known"), "{screen}: {row}");
        }
    }
    assert!(with_one_lock("2", false, "metadata lock").contains("perhaps connection 45"));
    // Of another lock it says nothing.
    let other = with_one_lock("2", true, "trx_sys mutex");
    assert!(
        other.contains("trx_sys mutex, whose holder is unknown"),
        "{other}"
    );
}
