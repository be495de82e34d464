//! Before against after, on made-up seconds: each answer, and what makes it *not proven*.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use diagnosis::Catalogue;
use diagnosis::compare::{Answer, Comparison, Fate, Role, Stretch, Subject, compare};
use model::{Incident, ProbeOutcome, Reading, Server, Stall, Timeline, Unit, Window};

/// A server's seconds.
#[derive(Clone, Copy)]
struct Seconds {
    length: u64,
    /// Ordinary statements a second.
    load: f64,
    /// SHOW WARNINGS a second, and in which seconds.
    flood: f64,
    flooded: fn(u64) -> bool,
    /// Bytes sent for each SHOW WARNINGS.
    answer_bytes: f64,
    seed: u64,
}

const CALM: Seconds = Seconds {
    length: 180,
    load: 300.0,
    flood: 0.0,
    flooded: |_| false,
    answer_bytes: 121.0,
    seed: 1,
};

const FLOODED: Seconds = Seconds {
    flood: 5_000.0,
    flooded: |_| true,
    seed: 2,
    ..CALM
};

/// Noise between -1 and 1 in which neighbours are alike.
struct Noise(u64, f64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let uniform = (self.0 >> 33) as f64 / (1u64 << 31) as f64 * 2.0 - 1.0;
        self.1 = 0.6 * self.1 + 0.4 * uniform;
        self.1
    }
}

fn recorded(seconds: Seconds) -> Incident {
    let mut timeline = Timeline::default();
    let mut noise = Noise(seconds.seed, 0.0);
    let (mut questions, mut warnings, mut sent, mut ticks) = (0.0, 0.0, 0.0, 0.0);
    for second in 0..=seconds.length {
        let at = second * 1_000;
        let flooded = (seconds.flooded)(second);
        let flood = match flooded {
            true => seconds.flood * (1.0 + 0.2 * noise.next()),
            false => 0.0,
        };
        warnings += flood;
        sent += flood * seconds.answer_bytes;
        ticks += if flooded { 90.0 } else { 10.0 } + noise.next();
        questions += flood + seconds.load * (1.0 + 0.1 * noise.next());
        timeline.push_readings(
            "status",
            at,
            &[
                Reading::counter("status.Questions", Unit::Count, questions.round()),
                Reading::counter("status.Com_show_warnings", Unit::Count, warnings.round()),
                Reading::counter("status.Bytes_sent", Unit::Bytes, sent.round()),
                Reading::gauge(
                    "status.Threads_running",
                    Unit::Count,
                    if flooded { 17.0 } else { 3.0 } + noise.next(),
                ),
            ],
        );
        timeline.push_readings(
            "process",
            at,
            &[
                Reading::counter("process.user_ticks", Unit::Count, f64::floor(ticks)),
                Reading::counter("process.system_ticks", Unit::Count, 0.0),
            ],
        );
        let latency = if flooded { 8_000.0 } else { 400.0 };
        timeline.push_readings(
            "probe",
            at,
            &[
                Reading::gauge(
                    "probe.query_us",
                    Unit::Microseconds,
                    latency * (1.0 + 0.3 * noise.next()),
                ),
                Reading::gauge("probe.query_outcome", Unit::Code, ProbeOutcome::Ok.code()),
            ],
        );
    }
    let to = seconds.length * 1_000;
    Incident {
        id: "made up".to_owned(),
        host: "db7".to_owned(),
        tool_version: "0".to_owned(),
        server: Server {
            label: "3306".to_owned(),
            ..Server::default()
        },
        stall: Stall {
            earlier: Vec::new(),
            onset: 0,
            trigger: 0,
            end: Some(to),
            triggers: Vec::new(),
        },
        window: Window { from: 0, to },
        timeline,
        ..Incident::default()
    }
}

fn window(incident: &Incident) -> Subject<'_> {
    Subject {
        incident,
        window: incident.window,
        stretch: Stretch::Window,
        recorded_ms: None,
        stalls: None,
    }
}

fn compared(before: Seconds, after: Seconds) -> Comparison {
    compared_for("show-warnings-flood", before, after)
}

fn compared_for(cause: &str, before: Seconds, after: Seconds) -> Comparison {
    let (before, after) = (recorded(before), recorded(after));
    let cause = Catalogue::builtin().get(cause);
    compare(&window(&before), &window(&after), cause)
}

fn fate(comparison: &Comparison, id: &str) -> Fate {
    let mut signals = comparison.signals.iter();
    signals.find(|signal| signal.id == id).unwrap().fate
}

#[test]
fn a_flood_that_is_gone_worked_and_the_other_way_round_it_is_worse() {
    let worked = compared(FLOODED, CALM);
    assert_eq!(worked.verdict, Answer::Worked, "{worked:#?}");
    assert_eq!(fate(&worked, "rate"), Fate::Gone);
    assert!(
        worked.sentence.starts_with("Worked: "),
        "{}",
        worked.sentence
    );
    let load = worked.load.unwrap();
    assert_eq!(load.without, ["Com_show_warnings"]);
    assert!((load.ratio.unwrap() - 1.0).abs() < 0.05, "{load:?}");
    let worse = compared(CALM, FLOODED);
    assert_eq!(worse.verdict, Answer::Worse, "{worse:#?}");
}

/// The same flood without compression: its sign is gone, and that the server is as busy as before says nothing.
#[test]
fn circumstances_may_stay_when_the_sign_is_gone() {
    const COMPRESSED: Seconds = Seconds {
        answer_bytes: 103.0,
        ..FLOODED
    };
    let worked = compared_for(
        "compressed-protocol",
        COMPRESSED,
        Seconds { seed: 7, ..FLOODED },
    );
    assert_eq!(fate(&worked, "bytes-an-answer"), Fate::Gone);
    assert_eq!(fate(&worked, "busy"), Fate::Same);
    assert_eq!(worked.verdict, Answer::Worked, "{worked:#?}");
    let same = Seconds {
        seed: 7,
        ..COMPRESSED
    };
    let same = compared_for("compressed-protocol", COMPRESSED, same);
    assert_eq!(same.verdict, Answer::NoEffect, "{same:#?}");
}

#[test]
fn the_same_again_is_no_effect() {
    let same = compared(FLOODED, Seconds { seed: 3, ..FLOODED });
    assert_eq!(same.verdict, Answer::NoEffect, "{same:#?}");
    assert!(same.signals.iter().any(|it| it.role == Role::Deciding));
}

#[test]
fn a_load_that_fell_proves_nothing_and_one_that_grew_no_harm() {
    let fell = compared(
        FLOODED,
        Seconds {
            load: 120.0,
            ..CALM
        },
    );
    assert_eq!(fell.verdict, Answer::NotProven);
    assert!(
        fell.sentence.contains("the load fell to 40 %"),
        "{}",
        fell.sentence
    );
    let grew = compared(
        FLOODED,
        Seconds {
            load: 700.0,
            ..CALM
        },
    );
    assert_eq!(grew.verdict, Answer::Worked, "more to do, and still gone");
    let grown = Seconds {
        load: 700.0,
        ..FLOODED
    };
    assert_eq!(compared(CALM, grown).verdict, Answer::NotProven);
}

/// A server that answers nobody counts nothing: what it had to do is told by the time in front of that.
#[test]
fn the_load_of_a_server_that_answered_nobody_is_the_one_before() {
    const ANSWERED: u64 = 60_000;
    let mut stopped = recorded(CALM);
    for series in &mut stopped.timeline.series {
        if series.name.starts_with("status.") {
            series
                .values
                .iter_mut()
                .skip(60)
                .for_each(|value| *value = f64::NAN);
        }
    }
    let compared_with = |load: f64| {
        let after = recorded(Seconds { load, ..CALM });
        let before = Subject {
            window: Window {
                from: ANSWERED,
                to: 180_000,
            },
            ..window(&stopped)
        };
        compare(&before, &window(&after), None)
    };
    let seen = compared_with(300.0);
    let load = seen.load.as_ref().unwrap();
    assert!(load.before_is_ahead);
    assert!((load.ratio.unwrap() - 1.0).abs() < 0.05, "{load:?}");
    assert!(
        seen.reasons
            .iter()
            .any(|reason| reason.contains("until it no longer answered")),
        "{:?}",
        seen.reasons
    );
    let fell = compared_with(100.0);
    assert!((fell.load.unwrap().ratio.unwrap() - 0.33).abs() < 0.02);
}

/// An application that gets a pool asks the same: the end of a connection, which `Questions` counts, is no load.
#[test]
fn connections_that_are_not_made_any_more_are_not_less_load() {
    let with_connections = |seconds: Seconds, each_second: f64| {
        let mut incident = recorded(seconds);
        let counted = |name, each_second: f64| {
            (0..=seconds.length).map(move |second| {
                let total = Reading::counter(name, Unit::Count, each_second * second as f64);
                (second * 1_000, total)
            })
        };
        let refused = 20.0;
        let connections = counted("status.Connections", each_second + refused);
        let aborted = counted("status.Aborted_connects", refused);
        for ((at, connections), (_, aborted)) in connections.zip(aborted) {
            let readings = [connections, aborted];
            incident
                .timeline
                .push_readings("connections", at, &readings);
        }
        incident
    };
    // Each statement in a connection of its own, then all in a few.
    let storm = with_connections(
        Seconds {
            load: 800.0,
            ..CALM
        },
        400.0,
    );
    let pooled = with_connections(
        Seconds {
            load: 400.0,
            ..CALM
        },
        0.0,
    );
    let catalogue = Catalogue::builtin();
    let load_for = |cause: &str| {
        let cause = catalogue.get(cause).unwrap();
        let seen = compare(&window(&storm), &window(&pooled), Some(cause));
        seen.load.unwrap()
    };
    let load = load_for("connection-storm");
    assert!((load.ratio.unwrap() - 1.0).abs() < 0.05, "{load:?}");
    assert_eq!(load.without, ["Connections"]);
    let load = load_for("show-warnings-flood");
    assert!((load.ratio.unwrap() - 0.5).abs() < 0.05, "{load:?}");
}

#[test]
fn what_was_never_there_is_nothing_to_compare() {
    let calm = compared(CALM, Seconds { seed: 9, ..CALM });
    assert_eq!(calm.verdict, Answer::NotProven);
    assert!(
        calm.sentence.contains("neither there before"),
        "{}",
        calm.sentence
    );
}

#[test]
fn less_of_it_is_not_gone() {
    let less = compared(
        FLOODED,
        Seconds {
            flood: 2_000.0,
            ..FLOODED
        },
    );
    assert_eq!(less.verdict, Answer::NotProven);
    assert_eq!(fate(&less, "rate"), Fate::Less);
    assert!(less.sentence.contains("still there"), "{}", less.sentence);
}

/// One episode in ten minutes, and then ten minutes without: that is what chance does. Many are
/// another matter.
#[test]
fn what_comes_and_goes_must_stay_away_for_longer_than_chance_allows() {
    let once = Seconds {
        length: 600,
        flooded: |second| (100..160).contains(&second),
        ..FLOODED
    };
    let after = Seconds {
        length: 600,
        ..CALM
    };
    let seen = compared(once, after);
    assert_eq!(seen.verdict, Answer::NotProven, "{seen:#?}");
    let often = Seconds {
        length: 1_200,
        flooded: |second| second % 120 < 25,
        ..FLOODED
    };
    let seen = compared(often, after);
    let recurrence = seen.recurrence.as_ref().unwrap();
    assert_eq!(
        (recurrence.before, recurrence.after),
        (11, 0),
        "{recurrence:?}"
    );
    assert_eq!(seen.verdict, Answer::Worked, "{seen:#?}");
}

#[test]
fn a_stall_against_calm_needs_to_know_how_often_stalls_came() {
    let (stalled, calm) = (
        recorded(Seconds {
            flooded: |second| second >= 60,
            ..FLOODED
        }),
        recorded(CALM),
    );
    let cause = Catalogue::builtin().get("show-warnings-flood");
    let asked = |counted: Option<(u32, u64, u32, u64)>| {
        let (hour, some) = (3_600_000, counted.unwrap_or_default());
        let before = Subject {
            window: Window {
                from: 60_000,
                to: 180_000,
            },
            stretch: Stretch::Stall,
            stalls: counted.map(|_| some.0),
            recorded_ms: counted.map(|_| some.1 * hour),
            ..window(&stalled)
        };
        let after = Subject {
            window: Window {
                from: 0,
                to: 120_000,
            },
            stretch: Stretch::Calm,
            stalls: counted.map(|_| some.2),
            recorded_ms: counted.map(|_| some.3 * hour),
            ..window(&calm)
        };
        compare(&before, &after, cause)
    };
    let unknown = asked(None);
    assert_eq!(unknown.verdict, Answer::NotProven);
    assert!(
        unknown.sentence.contains("come and go"),
        "{}",
        unknown.sentence
    );
    let short = asked(Some((2, 10, 0, 5)));
    assert_eq!(short.verdict, Answer::NotProven);
    let more = short.recurrence.unwrap().more_hours.unwrap();
    // 10 h (1 / sqrt(0.05) - 1) = 34.7 h, of which 5 are over.
    assert!((more - 29.7).abs() < 0.1, "{more}");
    assert_eq!(asked(Some((8, 10, 0, 5))).verdict, Answer::Worked);
    assert_eq!(asked(Some((8, 10, 4, 5))).verdict, Answer::NotProven);
}

#[test]
fn what_was_made_on_purpose_twice_need_not_come_back_by_itself() {
    let (flooded, calm) = (recorded(FLOODED), recorded(CALM));
    let cause = Catalogue::builtin().get("show-warnings-flood");
    let run = |incident| Subject {
        stretch: Stretch::Run,
        ..window(incident)
    };
    let worked = compare(&run(&flooded), &run(&calm), cause);
    assert_eq!(worked.verdict, Answer::Worked, "{worked:#?}");
    assert_eq!(worked.recurrence, None);
    let again = compare(&run(&flooded), &run(&flooded), cause);
    assert_eq!(again.verdict, Answer::NoEffect, "{again:#?}");
}

#[test]
fn the_same_input_gives_the_same_answer() {
    assert_eq!(compared(FLOODED, CALM), compared(FLOODED, CALM));
}

#[test]
fn without_a_cause_what_clients_feel_decides() {
    let slow = Seconds {
        flood: 0.0,
        ..FLOODED
    };
    let (slow, fast) = (recorded(slow), recorded(CALM));
    let better = compare(&window(&slow), &window(&fast), None);
    assert_eq!(better.verdict, Answer::Worked, "{better:#?}");
    let worse = compare(&window(&fast), &window(&slow), None);
    assert_eq!(worse.verdict, Answer::Worse, "{worse:#?}");
    let again = recorded(Seconds { seed: 5, ..CALM });
    let same = compare(&window(&fast), &window(&again), None);
    assert_eq!(same.verdict, Answer::NoEffect, "{same:#?}");
}

#[test]
fn empty_and_odd_records_do_no_harm() {
    let mut empty = recorded(CALM);
    empty.timeline = Timeline::default();
    let mut odd = recorded(CALM);
    odd.timeline.push_readings(
        "odd",
        500,
        &[
            Reading::gauge("probe.connect_us", Unit::Microseconds, f64::MAX),
            Reading::counter("status.Com_select", Unit::Count, f64::INFINITY),
        ],
    );
    let flooded = recorded(FLOODED);
    let cause = Catalogue::builtin().get("show-warnings-flood");
    for (before, after) in [
        (&empty, &empty),
        (&flooded, &empty),
        (&empty, &odd),
        (&odd, &odd),
    ] {
        for cause in [cause, None] {
            let seen = compare(&window(before), &window(after), cause);
            assert_ne!(seen.verdict, Answer::Worked);
            assert!(!seen.sentence.is_empty());
        }
    }
}

/// The same made-up seconds with a probe that is answered fast or slowly as it happens.
fn restless(seed: u64, length: u64) -> Incident {
    let mut incident = recorded(Seconds {
        length,
        seed,
        ..CALM
    });
    let mut noise = Noise(seed, 0.0);
    for second in 0..=length {
        let slow = noise.next() > 0.2;
        let connect = if slow { 9_000.0 } else { 300.0 };
        let readings = [Reading::gauge(
            "probe.connect_us",
            Unit::Microseconds,
            connect,
        )];
        incident
            .timeline
            .push_readings("probe-connect", second * 1_000, &readings);
    }
    incident
}

/// Compared with itself nothing differs, and yet a halving or doubling is not excluded: that is no proof of no effect.
#[test]
fn a_small_difference_with_a_wide_interval_is_not_proven() {
    let once = restless(3, 60);
    let same = compare(&window(&once), &window(&once), None);
    let connect = same.signals.iter().find(|it| it.id == "connect-latency");
    let connect = connect.unwrap();
    assert_eq!(connect.difference, Some(0.0));
    let (low, high) = connect.difference_interval.unwrap();
    assert!(low < -2.0 && high > 2.0, "{connect:#?}");
    assert_eq!(connect.fate, Fate::Unclear);
    assert_eq!(same.verdict, Answer::NotProven, "{same:#?}");
    assert!(
        same.sentence.contains("unclear whether this changed"),
        "{}",
        same.sentence
    );
}

#[test]
fn a_few_seconds_prove_no_effect_either() {
    let flooded = recorded(FLOODED);
    let cause = Catalogue::builtin().get("show-warnings-flood");
    let short = Subject {
        window: Window {
            from: 0,
            to: 20_000,
        },
        ..window(&flooded)
    };
    let same = compare(&window(&flooded), &short, cause);
    assert_eq!(same.verdict, Answer::NotProven, "{same:#?}");
    assert!(
        same.sentence.contains("too short: 20 s"),
        "{}",
        same.sentence
    );
}

/// The same made-up seconds with so many stalls for compaction, and pages scanned for it, in each of them.
fn compacting(seed: u64, each: fn(u64) -> (f64, f64)) -> Incident {
    let mut incident = recorded(Seconds {
        length: 60,
        seed,
        ..CALM
    });
    let (mut stalls, mut scanned) = (0.0, 0.0);
    for second in 0..=60 {
        let (stalled, went_through) = each(second);
        stalls += stalled;
        scanned += went_through;
        let readings = [
            Reading::counter("vmstat.compact_stall", Unit::Count, stalls),
            Reading::counter("vmstat.compact_migrate_scanned", Unit::Count, scanned),
            Reading::counter("vmstat.compact_free_scanned", Unit::Count, 0.0),
        ];
        let timeline = &mut incident.timeline;
        timeline.push_readings("vmstat", second * 1_000, &readings);
        let busy = Reading::gauge("cpu.system_share", Unit::Share, 0.5);
        timeline.push_readings("cpu", second * 1_000, &[busy]);
    }
    incident
}

/// Of two signs that stand for each other one was there in three seconds only: that these came by chance is no reason
/// to doubt that the other one is gone. If it was there most of the time, it is.
#[test]
fn a_sign_that_was_seldom_there_does_not_hide_that_the_other_is_gone() {
    let calm = compacting(1, |_| (0.0, 0.0));
    let cause = Catalogue::builtin().get("thp-compaction");
    let seldom = compacting(2, |second| match second % 20 {
        7 => (900.0, 6_000_000.0),
        _ => (600.0, 90_000.0),
    });
    let worked = compare(&window(&seldom), &window(&calm), cause);
    assert_eq!(fate(&worked, "direct-compaction"), Fate::Gone);
    assert_eq!(fate(&worked, "pages-scanned"), Fate::Unclear);
    assert_eq!(worked.verdict, Answer::Worked, "{worked:#?}");
    // The other way round: in most seconds, but all of them in one stretch, so that chance may have ended it.
    let once = compacting(2, |second| {
        let stalls = if second % 4 == 0 { 900.0 } else { 1.0 };
        let scanned = if second < 40 { 6_000_000.0 } else { 0.0 };
        (stalls, scanned)
    });
    let not = compare(&window(&once), &window(&calm), cause);
    assert_eq!(fate(&not, "direct-compaction"), Fate::Gone);
    assert_eq!(fate(&not, "pages-scanned"), Fate::Unclear);
    assert_eq!(not.verdict, Answer::NotProven, "{not:#?}");
}

/// The same made-up seconds with a redo log that is so full, as a share.
fn with_redo_log(seed: u64, full: f64) -> Incident {
    let mut incident = recorded(Seconds {
        length: 60,
        seed,
        ..CALM
    });
    let largest = 2_680_000.0;
    for second in 0..=60 {
        let odd = second * 7919 % 101;
        let age = largest * (full + 0.0001 * odd as f64);
        let readings = [
            Reading::gauge("status.Innodb_checkpoint_age", Unit::Count, age),
            Reading::gauge("status.Innodb_checkpoint_max_age", Unit::Count, largest),
        ];
        let timeline = &mut incident.timeline;
        timeline.push_readings("redo", second * 1_000, &readings);
    }
    incident
}

/// A log that is 7/8 full does not hold writers up, and one that is full does: the conclusive sign is gone, and the
/// level of the other one, which is nearly what it was, is below its limit.
#[test]
fn a_level_that_is_nearly_what_it_was_counts_by_its_limit_beside_a_conclusive_sign() {
    let cause = Catalogue::builtin().get("checkpoint-sync-flush");
    let compared = |after: f64| {
        let (before, after) = (with_redo_log(1, 1.0), with_redo_log(2, after));
        compare(&window(&before), &window(&after), cause)
    };
    let worked = compared(0.87);
    assert_eq!(fate(&worked, "age"), Fate::Same);
    assert_eq!(fate(&worked, "beyond"), Fate::Gone);
    assert_eq!(worked.verdict, Answer::Worked, "{worked:#?}");
    let nearly = compared(0.95);
    assert_eq!(fate(&nearly, "beyond"), Fate::Gone);
    assert_eq!(nearly.verdict, Answer::NotProven, "{nearly:#?}");
}
