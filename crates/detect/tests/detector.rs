//! The detector under a simulated clock.

use detect::{Config, Detector, Event, UserTrigger};
use model::{Absent, Millis, ProbeOutcome, Reading, Reason, Sample, Taken, Unit};

fn sample(source: &'static str, at: Millis, readings: Vec<Reading>) -> Sample {
    Sample {
        source,
        at,
        took_us: 100,
        outcome: Ok(Taken {
            readings,
            ..Taken::default()
        }),
    }
}

fn probe(at: Millis, outcome: ProbeOutcome, latency_ms: f64) -> Sample {
    sample(
        "query-probe",
        at,
        vec![
            Reading::gauge("probe.query_us", Unit::Microseconds, latency_ms * 1000.0),
            Reading::gauge("probe.query_outcome", Unit::Code, outcome.code()),
        ],
    )
}

fn waiting(at: Millis, ms: f64) -> Sample {
    sample(
        "probe-watch",
        at,
        vec![Reading::gauge(
            "probe.query_waiting_us",
            Unit::Microseconds,
            ms * 1000.0,
        )],
    )
}

fn cpu(at: Millis, share: f64) -> Sample {
    sample(
        "stat",
        at,
        vec![Reading::gauge("cpu.system_share", Unit::Share, share)],
    )
}

fn status(at: Millis, running: f64, questions: f64) -> Sample {
    sample(
        "status",
        at,
        vec![
            Reading::gauge("status.Threads_running", Unit::Count, running),
            Reading::counter("status.Questions", Unit::Count, questions),
        ],
    )
}

fn status_absent(at: Millis) -> Sample {
    Sample {
        source: "status",
        at,
        took_us: 1,
        outcome: Err(Absent::new("status", Reason::Deadline, "no answer")),
    }
}

/// Feeds samples and returns every event.
fn feed(detector: &mut Detector, samples: impl IntoIterator<Item = Sample>) -> Vec<Event> {
    samples
        .into_iter()
        .flat_map(|sample| detector.observe(&sample))
        .collect()
}

fn seconds(from: u64, to: u64) -> impl Iterator<Item = Millis> {
    (from..to).map(|second| second * 1000)
}

#[test]
fn system_cpu_triggers_within_two_samples_and_names_its_onset() {
    let mut detector = Detector::new(Config::default());
    assert_eq!(
        feed(&mut detector, seconds(0, 60).map(|at| cpu(at, 0.10))),
        []
    );
    assert_eq!(feed(&mut detector, [cpu(60_000, 0.8)]), []);
    let events = feed(&mut detector, [cpu(61_000, 0.8)]);
    let [Event::Triggered { onset, at, trigger }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        (*onset, *at, trigger.rule.as_str()),
        (59_000, 61_000, "system-cpu")
    );
    assert_eq!(
        trigger.says,
        "system CPU at 80 % of all CPUs, 10 % before (limit 35 %)"
    );
    let events = feed(&mut detector, seconds(62, 90).map(|at| cpu(at, 0.1)));
    assert_eq!(
        events,
        [Event::Ended {
            end: 61_000,
            at: 66_000
        }]
    );
}

#[test]
fn a_usually_high_system_share_is_no_stall() {
    let mut detector = Detector::new(Config::default());
    let events = feed(
        &mut detector,
        seconds(0, 300).map(|at| cpu(at, if at % 7000 == 0 { 0.6 } else { 0.45 })),
    );
    assert_eq!(events, []);
}

#[test]
fn with_no_processor_left_a_smaller_system_share_is_a_sign() {
    let used = |at, system, busy| {
        let shares = [("cpu.system_share", system), ("cpu.busy_share", busy)];
        let readings = shares.map(|(name, share)| Reading::gauge(name, Unit::Share, share));
        sample("stat", at, readings.into())
    };
    let triggers = |system, busy, before| {
        let mut detector = Detector::new(Config::default());
        let calm = seconds(0, 60).map(|at| used(at, before, before * 3.0));
        assert_eq!(feed(&mut detector, calm), []);
        let events = feed(
            &mut detector,
            seconds(60, 70).map(|at| used(at, system, busy)),
        );
        !events.is_empty()
    };
    // A flood of SHOW WARNINGS on two fast processors: 33 % in the kernel, 4 % before.
    assert!(triggers(0.33, 1.0, 0.04));
    assert!(!triggers(0.33, 0.9, 0.04), "there is room");
    assert!(!triggers(0.33, 1.0, 0.07), "not five times as much");
    assert!(!triggers(0.20, 1.0, 0.01), "too little");
}

#[test]
fn the_cpu_rule_waits_for_a_baseline() {
    let mut detector = Detector::new(Config::default());
    assert_eq!(
        feed(&mut detector, seconds(0, 9).map(|at| cpu(at, 0.9))),
        []
    );
}

#[test]
fn a_share_on_the_limit_is_one_stall() {
    let mut detector = Detector::new(Config::default());
    feed(&mut detector, seconds(0, 30).map(|at| cpu(at, 0.05)));
    let dance = seconds(30, 60).map(|at| cpu(at, if at % 3000 == 0 { 0.28 } else { 0.4 }));
    let events = feed(&mut detector, dance);
    assert!(
        matches!(events[..], [Event::Triggered { .. }]),
        "{events:?}"
    );
}

#[test]
fn refused_probes_trigger_after_a_second_and_only_once_the_server_was_seen() {
    let bad = |from: u64| (0..20).map(move |i| probe(from + i * 200, ProbeOutcome::Refused, 0.1));
    let mut detector = Detector::new(Config::default());
    assert_eq!(feed(&mut detector, bad(0)), [], "never saw it alive");

    let mut detector = Detector::new(Config::default());
    feed(&mut detector, [probe(0, ProbeOutcome::Ok, 0.3)]);
    let events = feed(&mut detector, bad(200));
    let [Event::Triggered { onset, at, .. }] = events[..] else {
        panic!("{events:?}");
    };
    assert_eq!((onset, at), (200, 1200));
}

#[test]
fn one_slow_answer_under_a_second_is_no_stall_and_a_hanging_probe_is() {
    let mut detector = Detector::new(Config::default());
    let events = feed(
        &mut detector,
        [
            probe(1000, ProbeOutcome::Ok, 0.3),
            probe(2000, ProbeOutcome::Ok, 800.0),
            probe(2200, ProbeOutcome::Ok, 0.3),
            waiting(2900, 600.0),
        ],
    );
    assert_eq!(events, []);
    let events = feed(&mut detector, [waiting(3400, 1100.0)]);
    let [Event::Triggered { onset, at, .. }] = events[..] else {
        panic!("{events:?}");
    };
    assert_eq!((onset, at), (2300, 3400));
}

#[test]
fn a_refused_login_is_a_sign_of_life() {
    let mut detector = Detector::new(Config::default());
    feed(&mut detector, [probe(0, ProbeOutcome::Ok, 0.3)]);
    let denied = (1..50).map(|i| probe(i * 200, ProbeOutcome::AccessDenied, 0.4));
    assert_eq!(feed(&mut detector, denied), []);
}

#[test]
fn crowd_without_completions_triggers_and_crowd_with_completions_does_not() {
    let calm = |detector: &mut Detector| {
        feed(
            detector,
            seconds(0, 30).map(|at| status(at, 3.0, at as f64 / 10.0)),
        )
    };
    let mut detector = Detector::new(Config::default());
    assert_eq!(calm(&mut detector), []);
    // Ten times the load, served.
    let busy = seconds(30, 60).map(|at| status(at, 40.0, 3000.0 + (at as f64 - 30_000.0)));
    assert_eq!(feed(&mut detector, busy), []);

    let mut detector = Detector::new(Config::default());
    calm(&mut detector);
    let stuck = seconds(30, 40).map(|at| status(at, 40.0, 2900.0 + (at as f64 - 29_000.0) / 100.0));
    let events = feed(&mut detector, stuck);
    let [Event::Triggered { onset, at, trigger }, joined @ ..] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        (*onset, *at, trigger.rule.as_str()),
        (29_000, 31_000, "work-not-completing")
    );
    // Each takes 3.9 s by then, which is another sign of the same.
    assert!(
        matches!(joined, [Event::Joined { trigger, .. }] if trigger.rule == "statements-slow"),
        "{joined:?}"
    );
}

#[test]
fn sessions_that_hang_trigger_though_the_others_go_on() {
    let stuck = |at, value: f64| {
        let name = "processlist.active_2s";
        sample(
            "processlist",
            at,
            vec![Reading::gauge(name, Unit::Count, value)],
        )
    };
    let mut detector = Detector::new(Config::default());
    // A few reports always run that long.
    let usual = seconds(0, 30).map(|at| stuck(at, 4.0));
    assert_eq!(feed(&mut detector, usual), []);
    let more_reports = seconds(30, 40).map(|at| stuck(at, 20.0));
    assert_eq!(feed(&mut detector, more_reports), []);
    let events = feed(&mut detector, [stuck(40_000, 30.0)]);
    let [Event::Triggered { onset, at, trigger }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        (*onset, *at, trigger.rule.as_str()),
        (38_000, 40_000, "sessions-stuck")
    );
}

#[test]
fn a_crowd_whose_statements_take_long_triggers_though_as_many_complete() {
    let load = |running: f64, from: u64, a_second: f64| {
        let mut detector = Detector::new(Config::default());
        let calm = seconds(0, 30).map(|at| status(at, 2.0, at as f64 * 0.4));
        assert_eq!(feed(&mut detector, calm), []);
        let crowd = seconds(from, from + 5).map(move |at| {
            status(
                at,
                running,
                11_600.0 + (at as f64 - 29_000.0) * a_second / 1000.0,
            )
        });
        feed(&mut detector, crowd)
    };
    // 300 that run by 500 a second: 0.6 s each.
    let events = load(301.0, 30, 500.0);
    let [Event::Triggered { onset, at, trigger }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        (*onset, *at, trigger.rule.as_str()),
        (29_000, 31_000, "statements-slow")
    );
    assert_eq!(
        trigger.says,
        "301 statements ran at once and each took 600 ms (2 and 2 ms before, limits 22 and 100 ms)"
    );
    // As many, served in 75 ms; and few, each of which takes long.
    assert_eq!(load(301.0, 30, 4000.0), []);
    assert_eq!(load(15.0, 30, 300.0), []);
    assert_eq!(load(21.0, 30, 210.0), []);
}

#[test]
fn statements_that_always_take_long_are_no_stall() {
    let mut detector = Detector::new(Config::default());
    let reports = seconds(0, 30).map(|at| status(at, 40.0, at as f64 * 0.02));
    assert_eq!(feed(&mut detector, reports), []);
    let more = seconds(30, 40).map(|at| status(at, 90.0, at as f64 * 0.02));
    assert_eq!(feed(&mut detector, more), []);
}

#[test]
fn a_failed_reading_resets_nothing() {
    let trigger = UserTrigger::parse("threads_running > 200 for 3s").unwrap();
    let mut detector = Detector::new(Config {
        user: vec![trigger],
        ..Config::default()
    });
    let events = feed(
        &mut detector,
        [
            status(1000, 900.0, 1.0),
            status_absent(2000),
            status(3000, 900.0, 1.0),
            status_absent(4000),
            status(5000, 900.0, 1.0),
        ],
    );
    let [Event::Triggered { onset, at, trigger }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!((*onset, *at, trigger.rule.as_str()), (1000, 5000, "user"));
}

#[test]
fn a_rate_trigger_needs_growth() {
    let vmstat = |at, value| {
        let name = "vmstat.compact_stall";
        sample(
            "vmstat",
            at,
            vec![Reading::counter(name, Unit::Count, value)],
        )
    };
    let mut detector = Detector::new(Config {
        user: vec![UserTrigger::parse("rate(vmstat.compact_stall) > 50").unwrap()],
        ..Config::default()
    });
    assert_eq!(
        feed(&mut detector, [vmstat(1000, 1e6), vmstat(2000, 1e6 + 50.0)]),
        []
    );
    let events = feed(&mut detector, [vmstat(3000, 1e6 + 150.0)]);
    assert!(
        matches!(
            events[..],
            [Event::Triggered {
                onset: 2000,
                at: 3000,
                ..
            }]
        ),
        "{events:?}"
    );
}

#[test]
fn rules_that_join_are_told_once_and_the_stall_ends_with_the_last() {
    let mut detector = Detector::new(Config::default());
    feed(&mut detector, seconds(0, 20).map(|at| cpu(at, 0.1)));
    feed(&mut detector, [probe(19_900, ProbeOutcome::Ok, 1.0)]);
    let events = feed(&mut detector, seconds(20, 25).map(|at| cpu(at, 0.9)));
    assert!(matches!(events[..], [Event::Triggered { .. }]));
    let events = feed(
        &mut detector,
        (0..10).map(|i| probe(25_000 + i * 200, ProbeOutcome::TimedOut, 3000.0)),
    );
    assert!(matches!(events[..], [Event::Joined { .. }]), "{events:?}");
    let events = feed(&mut detector, seconds(27, 40).map(|at| cpu(at, 0.1)));
    assert_eq!(events, [], "no good probe yet");
    let events = feed(&mut detector, [probe(41_000, ProbeOutcome::Ok, 1.0)]);
    assert_eq!(
        events,
        [Event::Ended {
            end: 26_800,
            at: 41_000
        }]
    );
}

#[test]
fn a_rule_whose_source_died_does_not_keep_a_stall_open_for_ever() {
    let mut detector = Detector::new(Config {
        user: vec![UserTrigger::parse("Threads_running > 200").unwrap()],
        ..Config::default()
    });
    let events = feed(&mut detector, [status(1000, 900.0, 1.0)]);
    assert!(matches!(events[..], [Event::Triggered { .. }]));
    let events = feed(&mut detector, seconds(2, 60).map(status_absent));
    assert_eq!(
        events,
        [Event::Ended {
            end: 1000,
            at: 31_000
        }]
    );
}

#[test]
fn cool_down_and_the_limit_an_hour_hold() {
    let mut detector = Detector::new(Config {
        user: vec![UserTrigger::parse("Threads_running > 200").unwrap()],
        ..Config::default()
    });
    let mut triggered = Vec::new();
    let mut suppressed = 0;
    // A stall of 3 s each 20 s: closer than the cool-down, so every second one is announced.
    for second in 0..3600 {
        let running = if second % 20 < 3 { 900.0 } else { 1.0 };
        for event in detector.observe(&status(second * 1000, running, second as f64)) {
            match event {
                Event::Triggered { at, .. } => triggered.push(at),
                Event::Suppressed { .. } => suppressed += 1,
                Event::Joined { .. } | Event::Ended { .. } => {}
            }
        }
    }
    assert_eq!(triggered.len(), 6);
    assert!(
        triggered.windows(2).all(|pair| pair[1] - pair[0] >= 30_000),
        "{triggered:?}"
    );
    assert!(suppressed > 50, "{suppressed}");
}

#[test]
fn a_stall_that_outlasts_the_cool_down_is_announced_with_its_true_onset() {
    let mut detector = Detector::new(Config {
        user: vec![UserTrigger::parse("Threads_running > 200").unwrap()],
        ..Config::default()
    });
    feed(&mut detector, [status(0, 900.0, 1.0)]);
    let events = feed(&mut detector, seconds(1, 12).map(|at| status(at, 1.0, 1.0)));
    assert!(
        matches!(events[..], [Event::Ended { at: 5000, .. }]),
        "{events:?}"
    );
    let events = feed(
        &mut detector,
        seconds(20, 60).map(|at| status(at, 900.0, 1.0)),
    );
    let [Event::Triggered { onset, at, .. }] = events[..] else {
        panic!("{events:?}");
    };
    assert_eq!((onset, at), (20_000, 35_000));
}

#[test]
fn a_change_that_stays_ends_as_a_stall_and_does_not_blind_the_other_rules() {
    let mut detector = Detector::new(Config::default());
    feed(&mut detector, [probe(0, ProbeOutcome::Ok, 1.0)]);
    feed(&mut detector, seconds(0, 60).map(|at| cpu(at, 0.1)));
    let events = feed(&mut detector, seconds(60, 1000).map(|at| cpu(at, 0.6)));
    let [Event::Triggered { .. }, Event::Ended { at, .. }] = events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(at, 661_000);
    let frozen = (0..20).map(|i| probe(1_000_000 + i * 200, ProbeOutcome::TimedOut, 3000.0));
    let events = feed(&mut detector, frozen);
    assert!(
        matches!(events[..], [Event::Triggered { onset: 997_000, .. }]),
        "{events:?}"
    );
    // And the new level has become usual: calm for long, then a rise from there.
    let mut detector = Detector::new(Config::default());
    feed(&mut detector, seconds(0, 60).map(|at| cpu(at, 0.1)));
    feed(&mut detector, seconds(60, 1200).map(|at| cpu(at, 0.3)));
    assert_eq!(
        feed(&mut detector, seconds(1200, 1300).map(|at| cpu(at, 0.5))),
        []
    );
}

#[test]
fn what_outlasted_a_stall_is_not_news_after_the_next_one() {
    let mut config = Config::default();
    config.hysteresis.longest_ms = 30_000;
    config.hysteresis.cool_down_ms = 1000;
    let mut detector = Detector::new(config);
    feed(&mut detector, [probe(0, ProbeOutcome::Ok, 1.0)]);
    feed(&mut detector, seconds(0, 200).map(|at| cpu(at, 0.02)));
    let events = feed(&mut detector, seconds(200, 240).map(|at| cpu(at, 0.4)));
    assert!(
        matches!(
            events[..],
            [Event::Triggered { .. }, Event::Ended { at: 231_000, .. }]
        ),
        "{events:?}"
    );
    // Another stall, of another rule, in the load that goes on.
    let events = feed(
        &mut detector,
        [
            probe(240_000, ProbeOutcome::TimedOut, 3000.0),
            probe(241_500, ProbeOutcome::Ok, 1.0),
        ],
    );
    assert!(
        matches!(events[..], [Event::Triggered { .. }]),
        "{events:?}"
    );
    let events = feed(&mut detector, seconds(242, 300).map(|at| cpu(at, 0.4)));
    assert!(matches!(events[..], [Event::Ended { .. }]), "{events:?}");
    // It is news again once it was gone.
    feed(&mut detector, [cpu(300_000, 0.02)]);
    let events = feed(&mut detector, seconds(301, 304).map(|at| cpu(at, 0.4)));
    assert!(
        matches!(events[..], [Event::Triggered { .. }]),
        "{events:?}"
    );
}

#[test]
fn signs_far_apart_are_not_one_episode() {
    let mut detector = Detector::new(Config::default());
    feed(&mut detector, seconds(0, 60).map(|at| cpu(at, 0.1)));
    feed(&mut detector, [cpu(60_000, 0.5)]);
    // Between the limits for an hour: neither good nor bad.
    feed(&mut detector, seconds(61, 3660).map(|at| cpu(at, 0.3)));
    let events = feed(&mut detector, [cpu(3_660_000, 0.9)]);
    assert_eq!(events, [], "one sample is not two");
}
