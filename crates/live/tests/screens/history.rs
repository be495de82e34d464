//! A history that a recorder writes, read as the view does.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use diagnosis::Level;
use live::{
    History, HistoryOptions, Model, NotedStall, RecentStacks, RecorderState, RecordingKind, Source,
    State, page,
};
use model::{Fact, Incident, Reading, Sample, SignalKind as Counts, SourceData, Text};
use store::{HistoryLimits, SessionStart};

use crate::{fixture, keys, made, typed};

/// The wall clock at the incident's zero, and at its end.
const ZERO: i64 = 1_715_483_525_120;
const END: i64 = ZERO + 360_000;

/// What was recorded, as the samples that it came of.
fn samples(incident: &Incident) -> Vec<Sample> {
    let timeline = &incident.timeline;
    let mut all: Vec<Sample> = Vec::new();
    for (index, source) in timeline.sources.iter().enumerate() {
        let name: &'static str = source.name.clone().leak();
        for (tick, at) in source.ticks.iter().enumerate() {
            let own = timeline.series.iter().filter(|one| one.source == index);
            let readings = own.filter(|series| !series.values[tick].is_nan());
            let readings = readings.map(|series| Reading {
                name: series.name.clone().into(),
                unit: series.unit,
                kind: series.kind,
                value: series.values[tick],
            });
            all.push(sample(name, *at, readings.collect(), Vec::new()));
        }
    }
    for timed in &incident.texts {
        all.push(sample(
            "processlist",
            timed.at,
            Vec::new(),
            vec![timed.text.clone()],
        ));
    }
    all.sort_by_key(|sample| sample.at);
    all
}

fn sample(source: &'static str, at: u64, readings: Vec<Reading>, texts: Vec<Text>) -> Sample {
    Sample {
        source,
        at,
        took_us: 1,
        outcome: Ok(SourceData {
            readings,
            texts,
            facts: vec![Fact::new("host.cpus", "32")],
            ..SourceData::default()
        }),
    }
}

fn open(path: &Path, incident: &Incident) -> store::History {
    let start = SessionStart {
        clock: incident.clock.clone(),
        host: incident.host.clone(),
        tool_version: "0.1.0".to_owned(),
        server: incident.server.clone(),
    };
    let (history, _) = store::History::open(path, HistoryLimits::default(), &start).unwrap();
    history
}

fn write(path: &Path) {
    let incident = fixture::incident();
    let mut history = open(path, &incident);
    for second in samples(&incident).chunk_by(|a, b| a.at / 1000 == b.at / 1000) {
        history.append(second).unwrap();
    }
}

fn options(path: &Path) -> HistoryOptions {
    HistoryOptions {
        path: path.to_owned(),
        dir: path.parent().unwrap().to_owned(),
        detect: detect::Config::default(),
        before_ms: 60_000,
        diagnose: Box::new(|_| made::verdict()),
        noted: Box::new(|| None),
        ask: Box::new(|| None),
        stacks: Box::new(|_| None),
        now: || END,
    }
}

fn source(path: &Path, told: Option<RecorderState>) -> History {
    with_noted(path, told, None)
}

fn with_noted(path: &Path, told: Option<RecorderState>, noted: Option<Vec<NotedStall>>) -> History {
    History::new(HistoryOptions {
        noted: Box::new(move || noted.clone()),
        ask: Box::new(move || told.clone()),
        ..options(path)
    })
}

fn text(model: &Model, state: &State) -> String {
    let page = page(model, state, 100, 30);
    page.iter()
        .map(|line| format!("{}\n", line.text()))
        .collect()
}

#[test]
fn a_recorder_is_followed_through_its_history() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history-3306.db");
    write(&path);
    let told = RecorderState {
        beat_age_ms: Some(200),
        ..RecorderState::default()
    };
    let mut recorder = source(&path, Some(told.clone()));
    let model = recorder.read(None).unwrap().unwrap();
    assert_eq!(
        (&model.kind, model.is_newest),
        (&RecordingKind::Recorder, true)
    );
    assert!(recorder.every().is_some());
    let series = model
        .incident
        .timeline
        .get("status.Com_show_warnings")
        .unwrap();
    assert_eq!(series.kind, Counts::Counter);
    let mut state = State::new(&model, false);
    assert_eq!(state.at_wall_ms, None);
    let shown = text(&model, &state);
    assert!(shown.contains("03:18:04 UTC  LIVE"), "{shown}");
    // What the recorder says of itself counts at once.
    let stalls = RecorderState {
        stalled_ms: Some(7_000),
        ..told.clone()
    };
    let model = source(&path, Some(stalls)).read(None).unwrap().unwrap();
    let shown = text(&model, &state);
    assert!(shown.contains("STALLED 7.0 s since 03:17:57"), "{shown}");
    let stands = RecorderState {
        beat_age_ms: Some(60_000),
        ..told
    };
    let model = source(&path, Some(stands)).read(None).unwrap().unwrap();
    assert!(text(&model, &state).contains("NOT KNOWN  the recorder itself has hung for 1 min"));
    // One that is gone is missed: the view goes on to look for it.
    let mut answers = vec![
        None,
        Some(RecorderState::default()),
        Some(RecorderState::default()),
    ];
    let mut gone = History::new(HistoryOptions {
        ask: Box::new(move || answers.pop().flatten()),
        now: || END + 30_000,
        ..options(&path)
    });
    assert!(gone.read(None).unwrap().unwrap().recorder.is_some());
    let model = gone.read(None).unwrap().unwrap();
    assert!(model.recorder.is_none() && gone.every().is_some());
    let shown = text(&model, &state);
    assert!(
        shown.contains("NOT KNOWN  nothing was recorded for 29 s"),
        "{shown}"
    );
    state.at_wall_ms = Some(ZERO + 280_000);
    assert!(text(&model, &state).contains("FROZEN"));
}

/// Who opens the view in the night after the recorder ended must not read that all is well.
#[test]
fn a_history_that_ended_is_not_now() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history-3306.db");
    write(&path);
    let mut kept = History::new(HistoryOptions {
        now: || END + 32_600_000,
        ..options(&path)
    });
    let model = kept.read(None).unwrap().unwrap();
    let mut state = State::new(&model, false);
    assert_eq!(state.at_wall_ms, None);
    let shown = text(&model, &state);
    let told = "NOT KNOWN  no recorder runs; this ends 9 h 3 min ago. Now: live --record";
    assert!(
        shown.contains(told) && !shown.contains("HEALTHY"),
        "{shown}"
    );
    assert!(told.len() < 80);
    // Somebody may start one: only that is looked for.
    assert!(kept.every().is_none() && kept.awaits().is_some());
    // Its past is what it was.
    let past = kept.read(Some(ZERO + 60_000)).unwrap().unwrap();
    state.at_wall_ms = Some(ZERO + 60_000);
    assert!(text(&past, &state).contains("HEALTHY"));
    let mut lines = Vec::new();
    let print = |line: &str| {
        lines.push(line.to_owned());
        Ok(())
    };
    live::plain(&mut kept, print, || true).unwrap();
    assert_eq!(
        lines[1],
        "no recorder runs: this history ended 9 h 3 min ago"
    );
}

/// Who started a recorder beside the open view must not have to open it again.
#[test]
fn a_history_that_ended_is_followed_when_a_recorder_goes_on_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history-3306.db");
    write(&path);
    let runs = Arc::new(AtomicUsize::new(0));
    let seen = runs.clone();
    let mut kept = History::new(HistoryOptions {
        ask: Box::new(move || {
            let told = RecorderState {
                beat_age_ms: Some(100),
                ..RecorderState::default()
            };
            (seen.load(Ordering::Relaxed) > 0).then_some(told)
        }),
        ..options(&path)
    });
    let model = kept.read(None).unwrap().unwrap();
    assert_eq!(model.kind, RecordingKind::History);
    assert!(kept.recorder_state().is_none() && kept.awaits().is_some());
    runs.store(1, Ordering::Relaxed);
    assert!(kept.recorder_state().is_some());
    let model = kept.read(None).unwrap().unwrap();
    assert_eq!(model.kind, RecordingKind::Recorder);
    assert!(kept.every().is_some() && kept.awaits().is_none());
    let shown = text(&model, &State::new(&model, false));
    assert!(shown.contains("LIVE"), "{shown}");
}

#[test]
fn what_is_read_on_is_what_is_read_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history-3306.db");
    let incident = fixture::incident();
    let mut history = open(&path, &incident);
    let all = samples(&incident);
    let seconds: Vec<&[Sample]> = all.chunk_by(|a, b| a.at / 1000 == b.at / 1000).collect();
    let told = RecorderState {
        beat_age_ms: Some(200),
        ..RecorderState::default()
    };
    // What is written is never later than now.
    let source = || {
        let told = told.clone();
        History::new(HistoryOptions {
            ask: Box::new(move || Some(told.clone())),
            now: || END + 1_000,
            ..options(&path)
        })
    };
    let mut recorder = source();
    // On the wall's clock: the two begin at different moments. A value may be NaN, which equals nothing but its text.
    let shown = |incident: &Incident| {
        let wall = |at: u64| incident.clock.wall_ms(at);
        let timeline = &incident.timeline;
        let mut all: Vec<String> = Vec::new();
        for one in &timeline.sources {
            let ticks = one.ticks.iter().map(|at| wall(*at));
            all.push(format!("{} {:?}", one.name, ticks.collect::<Vec<_>>()));
        }
        for one in &timeline.series {
            all.push(format!("{} {:?} {:?}", one.name, one.kind, one.values));
        }
        all.sort();
        let texts = incident.texts.iter();
        let texts: Vec<_> = texts.map(|one| (wall(one.at), one.text.clone())).collect();
        let facts = incident.facts.iter();
        let facts: Vec<_> = facts.map(|one| (wall(one.at), one.fact.clone())).collect();
        (all, texts, facts)
    };
    let mut lengths = Vec::new();
    for part in seconds.chunks(seconds.len().div_ceil(4)) {
        for second in part {
            history.append(second).unwrap();
        }
        let read_on = recorder.read(None).unwrap().unwrap().incident;
        let at_once = source().read(None).unwrap().unwrap().incident;
        assert_eq!(shown(&read_on), shown(&at_once));
        lengths.push(read_on.texts.len());
    }
    assert!(
        lengths.is_sorted() && lengths.first() < lengths.last(),
        "{lengths:?}"
    );
}

#[test]
fn a_kept_history_has_a_past_and_can_be_saved() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history-3306.db");
    write(&path);
    let mut kept = source(&path, None);
    let model = kept.read(None).unwrap().unwrap();
    assert_eq!((&model.kind, kept.every()), (&RecordingKind::History, None));
    let before = kept.read(Some(ZERO + 60_000)).unwrap().unwrap();
    assert!(before.verdict.is_none());
    assert!(kept.read(Some(ZERO - 3_600_000)).unwrap().is_none());
    assert!(kept.read(Some(END + 3_600_000)).unwrap().is_none());
    let saved = kept.export(&model, dir.path()).unwrap();
    let loaded = store::read_incident(&saved).unwrap();
    assert!(loaded.damage.is_empty() && loaded.incident.id.ends_with("-history"));
    let again = kept.export(&model, dir.path()).unwrap_err().to_string();
    assert!(again.ends_with("already exists"), "{again}");
    let mut lines = Vec::new();
    live::plain(
        &mut kept,
        |line| {
            lines.push(line.to_owned());
            Ok(())
        },
        || true,
    )
    .unwrap();
    assert!(
        lines[0].starts_with("db7.example 3306 8.0.36")
            && lines[0].contains(": history, 2024-05-12 03:")
            && lines[0].ends_with(" UTC"),
        "{lines:?}"
    );
    let refused = lines
        .iter()
        .any(|line| line == "03:16:15 connect: too many connections");
    let let_in = lines
        .iter()
        .any(|line| line == "03:17:05 connect: answered");
    assert!(refused && let_in, "{lines:#?}");
}

#[test]
fn the_recorder_knows_best_what_was_a_stall() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history-3306.db");
    write(&path);
    let stall = |server: &str, from_s: i64, end_s: Option<i64>| NotedStall {
        server: server.to_owned(),
        onset_wall_ms: ZERO + from_s * 1000,
        trigger_wall_ms: Some(ZERO + from_s * 1000 + 4_000),
        end_wall_ms: end_s.map(|end| ZERO + end * 1000),
        rule: "work-stops".to_owned(),
        says: "nothing came back".to_owned(),
        cause: None,
        is_captured: false,
    };
    let noted = vec![
        stall("3306", 100, Some(110)),
        stall("3307", 150, Some(160)),
        stall("3306", 240, None),
    ];
    let seconds = |model: &Model| -> Vec<(i64, Option<i64>)> {
        let wall = |at: u64| (model.clock().wall_ms(at) - ZERO) / 1000;
        let stalls = model.stalls.iter();
        stalls
            .map(|stall| (wall(stall.onset), stall.end.map(wall)))
            .collect()
    };
    let lasts = RecorderState {
        beat_age_ms: Some(100),
        stalled_ms: Some(120_000),
        ..RecorderState::default()
    };
    let mut recorder = with_noted(&path, Some(lasts), Some(noted.clone()));
    let model = recorder.read(None).unwrap().unwrap();
    assert_eq!(seconds(&model), [(100, Some(110)), (240, None)]);
    assert_eq!(model.incidents.len(), 2);
    let state = State::new(&model, false);
    let shown = text(&model, &state);
    assert!(shown.contains("STALLED 2 min since 03:16:05"), "{shown}");
    assert!(shown.contains("WHY  SHOW WARNINGS flood"), "{shown}");
    // It sees threads and stacks: what it says with as much certainty is what it knows better, also when the stall is over.
    let said = |level: Level| {
        let mut verdict = model.verdict.clone().unwrap();
        let first = verdict.findings.first_mut().unwrap();
        first.level = level;
        "The server is stopped".clone_into(&mut first.title);
        RecorderState {
            beat_age_ms: Some(100),
            stalled_ms: Some(120_000),
            verdict: Some(verdict),
            ..RecorderState::default()
        }
    };
    let titled = |state: RecorderState| {
        let mut recorder = with_noted(&path, Some(state), Some(noted.clone()));
        let model = recorder.read(None).unwrap().unwrap();
        model.verdict.unwrap().findings[0].title.clone()
    };
    assert_eq!(titled(said(Level::Certain)), "The server is stopped");
    assert!(titled(said(Level::Suspicion)).starts_with("SHOW WARNINGS flood"));
    // Nobody records any more: the last one has no later sign than its trigger.
    let kept = with_noted(&path, None, Some(noted))
        .read(None)
        .unwrap()
        .unwrap();
    assert_eq!(seconds(&kept), [(100, Some(110)), (240, Some(244))]);
}

#[test]
fn a_young_stall_is_judged_at_each_reading_until_the_recorder_tells() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history-3306.db");
    write(&path);
    let begun = NotedStall {
        server: "3306".to_owned(),
        onset_wall_ms: END - 5_000,
        trigger_wall_ms: Some(END - 3_000),
        ..NotedStall::default()
    };
    let said = |level: Level| {
        let mut verdict = made::verdict();
        verdict.findings.first_mut().unwrap().level = level;
        Some(verdict)
    };
    // Nothing is surer than what is certain.
    for (verdict, wanted) in [
        (None, 3),
        (said(Level::Likely), 1),
        (said(Level::Certain), 0),
    ] {
        let told = RecorderState {
            beat_age_ms: Some(100),
            stalled_ms: Some(5_000),
            verdict,
            ..RecorderState::default()
        };
        let (begun, judged) = (begun.clone(), Arc::new(AtomicUsize::new(0)));
        let counted = judged.clone();
        let mut recorder = History::new(HistoryOptions {
            noted: Box::new(move || Some(vec![begun.clone()])),
            ask: Box::new(move || Some(told.clone())),
            diagnose: Box::new(move |_| {
                counted.fetch_add(1, Ordering::Relaxed);
                made::verdict()
            }),
            ..options(&path)
        });
        for _ in 0..3 {
            assert!(recorder.read(None).unwrap().unwrap().verdict.is_some());
        }
        assert_eq!(judged.load(Ordering::Relaxed), wanted);
    }
}

#[test]
fn stacks_come_from_the_memory_of_a_recorder_that_runs() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history-3306.db");
    write(&path);
    // Its clock began 70 s before that of what is read, so its times are later by as much.
    let recorded = fixture::incident();
    let (early, mut stacks) = (70_000, recorded.stacks.clone());
    stacks.snapshots.iter_mut().for_each(|one| one.at += early);
    for run in &mut stacks.runs {
        (run.from, run.to) = (run.from + early, run.to + early);
    }
    for profile in &mut stacks.profiles {
        (profile.from, profile.to) = (profile.from + early, profile.to + early);
    }
    for table in &mut stacks.locks {
        (table.from, table.to) = (table.from + early, table.to + early);
    }
    let in_memory = RecentStacks {
        clock: model::Clock {
            wall_at_zero_ms: ZERO - early as i64,
            ..recorded.clock.clone()
        },
        stacks,
    };
    let asked = Arc::new(AtomicUsize::new(0));
    let recorder = |told: Option<RecorderState>| {
        let (asked, in_memory) = (asked.clone(), in_memory.clone());
        History::new(HistoryOptions {
            ask: Box::new(move || told.clone()),
            stacks: Box::new(move |_| {
                asked.fetch_add(1, Ordering::Relaxed);
                Some(in_memory.clone())
            }),
            ..options(&path)
        })
    };
    let answers = RecorderState {
        beat_age_ms: Some(200),
        ..RecorderState::default()
    };
    let mut source = recorder(Some(answers));
    let model = source.read(None).unwrap().unwrap();
    assert!(model.stacks().is_empty());
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    source.want_stacks(true);
    // An answer that comes late is in a later reading.
    let end = Instant::now() + Duration::from_secs(20);
    while source.read(None).unwrap().unwrap().stacks().is_empty() && Instant::now() < end {}
    let model = source.read(None).unwrap().unwrap();
    // Twice within two seconds is one question.
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let moved = model.stacks();
    let wall = |clock: &model::Clock, table: &model::LockTable| clock.wall_ms(table.from);
    let tables = |clock: &model::Clock, stacks: &model::StackEvidence| -> Vec<i64> {
        stacks.locks.iter().map(|one| wall(clock, one)).collect()
    };
    assert_eq!(
        tables(model.clock(), moved),
        tables(&recorded.clock, &recorded.stacks)
    );
    for (press, wanted) in [("2", "THREADS 401"), ("3", "398"), ("4", "ON CPU")] {
        let mut state = State::new(&model, false);
        state.at_wall_ms = Some(ZERO + 262_000);
        keys(&model, &mut state, &typed(press), (100, 30));
        let shown = text(&model, &state);
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    // Nobody records: nothing is asked, and nothing is made up.
    let mut source = recorder(None);
    source.want_stacks(true);
    assert!(source.read(None).unwrap().unwrap().stacks().is_empty());
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}
