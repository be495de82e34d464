//! Stretches of a history, read beside the recorder that writes it.

use model::{Clock, Measure, Reading, Sample, SourceData, Timeline, Unit, Window};
use store::{History, HistoryLimits, SessionStart, history_coverage, read_history, read_minutes};

use crate::support::{clock, sample, server};

fn start(later_ms: i64) -> SessionStart {
    SessionStart {
        clock: Clock {
            wall_at_zero_ms: clock().wall_at_zero_ms + later_ms,
            ..clock()
        },
        host: "db1".into(),
        tool_version: "0.1.0".into(),
        server: server(),
    }
}

#[test]
fn a_stretch_is_read_while_the_recorder_writes_and_across_its_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let zero = clock().wall_at_zero_ms;
    let open = |later| {
        let limits = HistoryLimits::default();
        History::open(&path, limits, &start(later)).unwrap().0
    };
    let mut first = open(0);
    for second in 0..240 {
        first.append(&[sample(second)]).unwrap();
    }
    let asked = || {
        read_history(
            &path,
            zero + 60_000,
            zero + 180_000,
            &[model::TextKind::Processlist],
        )
        .unwrap()
    };
    let stretch = asked().unwrap();
    assert_eq!(stretch.recorded_ms, 120_000);
    assert_eq!(stretch.damaged_chunks, 0);
    let incident = &stretch.incident;
    assert_eq!(incident.clock.wall_ms(stretch.window.from), zero + 60_000);
    assert_eq!(incident.stall_window(), stretch.window);
    let rate = |window: Window| {
        let series = incident.timeline.get("status.Questions")?;
        incident.timeline.measure(series, Measure::Rate, window)
    };
    assert_eq!(rate(stretch.window), Some(1234.0));
    // The first second has one too: what came before is read for it.
    let second = Window {
        from: stretch.window.from - 999,
        to: stretch.window.from,
    };
    assert_eq!(rate(second), Some(1234.0));
    drop(first);
    let mut again = open(300_000);
    for second in 0..120 {
        again.append(&[sample(second + 300)]).unwrap();
    }
    let both = read_history(
        &path,
        zero + 180_000,
        zero + 720_000,
        &[model::TextKind::Processlist],
    )
    .unwrap()
    .unwrap();
    let ticks = &both.incident.timeline.sources[0].ticks;
    assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]));
    // Seconds 180 to 239, and those from 600 on of the second session, and what led there.
    assert_eq!(ticks.len(), 120 + 60 + 120);
    assert_eq!(both.recorded_ms, 60_000 + 120_000);
    drop(again);
    let all = history_coverage(&path, i64::MIN / 2, i64::MAX / 2).unwrap();
    assert_eq!(all.ms, 240_000 + 120_000);
    assert_eq!(all.first_wall_ms, Some(zero));
    assert_eq!(all.last_wall_ms, Some(zero + 720_000));
    assert!(asked().is_some());
}

#[test]
fn a_long_stretch_keeps_an_even_selection() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let zero = clock().wall_at_zero_ms;
    let (mut history, _) = History::open(&path, HistoryLimits::default(), &start(0)).unwrap();
    let samples: Vec<_> = (0..9_000).map(sample).collect();
    history.append(&samples).unwrap();
    let stretch = read_history(
        &path,
        zero,
        zero + 9_000_000,
        &[model::TextKind::Processlist],
    )
    .unwrap()
    .unwrap();
    let ticks = &stretch.incident.timeline.sources[0].ticks;
    assert_eq!(ticks.len(), 3_000);
    let series = stretch.incident.timeline.get("status.Questions").unwrap();
    let timeline = &stretch.incident.timeline;
    assert_eq!(
        timeline.measure(series, Measure::Rate, stretch.window),
        Some(1234.0)
    );
}

#[test]
fn what_is_not_there_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let missing = read_history(&path, 0, 1, &[model::TextKind::Processlist])
        .unwrap_err()
        .to_string();
    assert!(
        missing.contains("history.db") && missing.contains("No such file"),
        "{missing}"
    );
    assert!(!path.exists(), "reading makes no file");
    std::fs::write(
        &path,
        "no database, but long enough to look like one".repeat(100),
    )
    .unwrap();
    let odd = read_history(&path, 0, 1, &[model::TextKind::Processlist])
        .unwrap_err()
        .to_string();
    assert!(odd.contains("not a database"), "{odd}");
    std::fs::remove_file(&path).unwrap();
    let (history, _) = History::open(&path, HistoryLimits::default(), &start(0)).unwrap();
    assert!(
        read_history(&path, 0, i64::MAX, &[model::TextKind::Processlist])
            .unwrap()
            .is_none()
    );
    drop(history);
}

/// A day ahead, and an hour back: as a host does whose clock is wrong until somebody sets it.
#[test]
fn what_comes_after_the_time_of_day_was_set_is_found_under_the_new_one() {
    for step in [86_400_000, -3_600_000] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history.db");
        let zero = clock().wall_at_zero_ms;
        let limits = HistoryLimits {
            age: std::time::Duration::from_secs(7200),
            ..HistoryLimits::default()
        };
        let (mut history, _) = History::open(&path, limits, &start(0)).unwrap();
        for second in 0..120 {
            history.append(&[sample(second)]).unwrap();
        }
        history.begin_session(&start(step)).unwrap();
        for second in 120..300 {
            history.append(&[sample(second)]).unwrap();
        }
        // Nothing has become older by it.
        history.retain(300_000).unwrap();
        let ticks = |from: i64, to: i64| {
            let found = read_history(&path, zero + from, zero + to, &[]).unwrap();
            found.map(|found| {
                let ticks = &found.incident.timeline.sources[0].ticks;
                let inside = ticks.iter().filter(|tick| **tick >= found.window.from);
                (inside.count(), found.recorded_ms)
            })
        };
        assert_eq!(ticks(0, 120_000), Some((120, 120_000)), "{step}");
        assert_eq!(ticks(120_000, 300_000), None, "{step}");
        assert_eq!(ticks(step, step + 120_000), None, "{step}");
        let (from, to) = (step + 120_000, step + 300_000);
        assert_eq!(ticks(from, to), Some((180, 180_000)), "{step}");
        // And is kept for as long as it may be.
        history.retain(7_200_000 + 180_000).unwrap();
        assert_eq!(ticks(0, 120_000), None, "{step}");
        assert_eq!(ticks(from, to).map(|(_, ms)| ms), Some(120_000), "{step}");
    }
}

/// The clock goes back by a minute and a half after four minutes: of what both recorded the later one is told.
#[test]
fn time_that_comes_again_is_told_as_it_was_the_second_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let zero = clock().wall_at_zero_ms;
    let (mut history, _) = History::open(&path, HistoryLimits::default(), &start(0)).unwrap();
    // A day in 1970, as a host without a clock begins with; what is older hides nothing.
    history.begin_session(&start(-zero)).unwrap();
    history.append(&[sample(0)]).unwrap();
    history.begin_session(&start(0)).unwrap();
    for second in 0..240 {
        history.append(&[sample(second)]).unwrap();
    }
    history.begin_session(&start(-120_000)).unwrap();
    for second in 240..300 {
        history.append(&[sample(second)]).unwrap();
    }
    let found = read_history(&path, zero, zero + 600_000, &[])
        .unwrap()
        .unwrap();
    assert_eq!(found.recorded_ms, 240_000);
    let timeline = &found.incident.timeline;
    let series = timeline.get("status.Questions").unwrap();
    let second = |at: u64| {
        let at = found.window.from + at * 1000;
        let mut points = timeline.points(series);
        let value = points.find(|(tick, _)| *tick == at).map(|(_, value)| value);
        value.map(|value| ((value - 1e9) / 1234.0) as u64)
    };
    assert_eq!((second(0), second(119)), (Some(0), Some(119)));
    // Two minutes, the second time.
    assert_eq!((second(121), second(179)), (Some(241), Some(299)));
    assert_eq!((second(181), second(239)), (Some(181), Some(239)));
    assert_eq!(second(240), None);
}

/// A counter that is read each second, and one that is read each ten.
fn fast_and_slow(second: u64) -> Vec<Sample> {
    let slow = second.is_multiple_of(10).then(|| Sample {
        source: "slow",
        at: second * 1000 + 3,
        took_us: 1,
        outcome: Ok(SourceData {
            readings: vec![Reading::counter(
                "slow.count",
                Unit::Count,
                (second * second) as f64,
            )],
            ..SourceData::default()
        }),
    });
    std::iter::once(sample(second)).chain(slow).collect()
}

#[test]
fn of_the_time_before_minutes_the_last_readings_are_enough() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history.db");
    let zero = clock().wall_at_zero_ms;
    let (mut history, _) = History::open(&path, HistoryLimits::default(), &start(0)).unwrap();
    for second in 0..400 {
        history.append(&fast_and_slow(second)).unwrap();
    }
    // Beginning with a minute of the recorder, and between two.
    for from in [180_000, 200_500, 239_900] {
        let (begin, end) = (zero + from, zero + from + 75_000);
        let few = read_minutes(&path, begin, end).unwrap().unwrap();
        let all = read_history(&path, begin, end, &[]).unwrap().unwrap();
        assert_eq!(
            (few.window, few.damaged_chunks, few.recorded_ms),
            (all.window, 0, all.recorded_ms)
        );
        let of = |timeline: &Timeline, name: &str, from: u64, to: u64| -> Vec<(u64, f64)> {
            let series = timeline.get(name).unwrap();
            let points = timeline.points(series);
            points.filter(|(at, _)| (from..to).contains(at)).collect()
        };
        let (window, few, all) = (all.window, few.incident.timeline, all.incident.timeline);
        for name in ["status.Questions", "slow.count", "thread.odd"] {
            let wanted = of(&all, name, window.from, u64::MAX);
            assert!(!wanted.is_empty());
            assert_eq!(of(&few, name, window.from, u64::MAX), wanted, "{name}");
        }
        // What the first second's rate is made of, and little else: a minute begins anew with all values.
        for name in ["status.Questions", "slow.count"] {
            let (few, all) = (
                of(&few, name, 0, window.from),
                of(&all, name, 0, window.from),
            );
            assert_eq!(few.last(), all.last(), "{name}");
            assert!(few.len() <= 4 && few.iter().all(|one| all.contains(one)));
        }
    }
}
