//! Rules and episodes under a simulated clock.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing step fails the test"
)]

use crate::common::{gauge, sample};
use detect::{Announce, Config, Detector, Event, UserTrigger};
use model::{Absent, Fact, Millis, ProbeOutcome, Reading, Reason, Sample, Unit};

fn probe(at: Millis, outcome: ProbeOutcome, latency_ms: f64) -> Sample {
    sample(
        "query-probe",
        at,
        vec![
            gauge("probe.query_us", latency_ms * 1000.0),
            gauge("probe.query_outcome", outcome.code()),
        ],
    )
}

fn waiting(at: Millis, ms: f64) -> Sample {
    sample(
        "recorder",
        at,
        vec![gauge("probe.query_waiting_us", ms * 1000.0)],
    )
}

/// The server's own share of two processors in the kernel, in a second before `at`.
fn system(at: Millis, share: f64, ticks: &mut f64) -> [Sample; 2] {
    *ticks += share * 200.0;
    [
        sample(
            "stat",
            at,
            vec![gauge("cpu.count", 2.0), gauge("cpu.busy_share", 0.5)],
        ),
        sample("process", at, vec![gauge("process.system_ticks", *ticks)]),
    ]
}

fn status(at: Millis, running: f64, questions: f64) -> Sample {
    sample(
        "status",
        at,
        vec![
            gauge("status.Threads_running", running),
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

/// What the status and the sessions tell of a second: statements so far, sessions in statements, those of them
/// that usually are in none, sessions that finished something.
fn second(at: Millis, questions: f64, in_flight: f64, unusual: f64, finished: f64) -> [Sample; 2] {
    [
        status(at, 1.0 + in_flight, questions),
        sample(
            "processlist",
            at + 5,
            vec![
                gauge("processlist.clients", 4.0),
                gauge("processlist.hung", 0.0),
                gauge("processlist.in_flight", in_flight),
                gauge("processlist.in_flight_unusual", unusual),
                gauge("processlist.finished", finished),
            ],
        ),
    ]
}

fn with_trigger(text: &str) -> Detector {
    Detector::new(Config {
        user: vec![UserTrigger::parse(text).unwrap()],
        ..Config::default()
    })
}

#[test]
fn a_hosts_work_is_a_sign_only_where_the_server_feels_it() {
    let events = |of_server: f64, answer_ms: f64| {
        let mut detector = Detector::new(Config::default());
        let mut ticks = 0.0;
        let mut told = Vec::new();
        for at in seconds(0, 90) {
            let stalled = at >= 60_000;
            let (share, ms) = if stalled {
                (of_server, answer_ms)
            } else {
                (0.05, 0.2)
            };
            told.extend(feed(&mut detector, system(at, share, &mut ticks)));
            let probes = (0..5).map(|i| probe(at + 200 * i, ProbeOutcome::Ok, ms));
            told.extend(feed(&mut detector, probes));
        }
        told
    };
    assert_eq!(events(0.05, 10.0), [], "neighbours");
    assert_eq!(events(0.8, 0.2), [], "nobody feels it");
    let told = events(0.8, 10.0);
    let [
        Event::Triggered {
            onset, at, trigger, ..
        },
    ] = &told[..]
    else {
        panic!("{told:?}");
    };
    assert_eq!(trigger.rule, "system-cpu");
    assert!(
        trigger
            .says
            .starts_with("SELECT 1 takes 10.0 ms, 0.2 ms usually; the server spends 80 %"),
        "{}",
        trigger.says
    );
    assert!(
        (59_000..=61_000).contains(onset) && *at <= 63_000,
        "{onset} {at}"
    );
}

#[test]
fn refused_probes_are_a_restart_at_first_and_only_once_the_server_was_seen() {
    let bad = |from: u64, count: u64| {
        (0..count).map(move |i| probe(from + i * 200, ProbeOutcome::Refused, 0.1))
    };
    let mut detector = Detector::new(Config::default());
    assert_eq!(feed(&mut detector, bad(0, 100)), [], "never saw it alive");

    let mut detector = Detector::new(Config::default());
    feed(&mut detector, [probe(0, ProbeOutcome::Ok, 0.3)]);
    assert_eq!(feed(&mut detector, bad(200, 45)), [], "a restart");
    feed(&mut detector, [probe(9400, ProbeOutcome::Ok, 0.3)]);
    let events = feed(&mut detector, bad(10_000, 60));
    let [Event::Triggered { onset, at, .. }] = events[..] else {
        panic!("{events:?}");
    };
    assert_eq!((onset, at), (10_000, 20_000));
}

#[test]
fn a_server_that_the_kernel_killed_is_no_restart() {
    let mut detector = Detector::new(Config::default());
    let kills = |at, count| sample("cgroup", at, vec![gauge("cgroup.memory.oom_kill", count)]);
    feed(
        &mut detector,
        [
            kills(0, 0.0),
            probe(100, ProbeOutcome::Ok, 0.3),
            kills(1000, 1.0),
        ],
    );
    let gone = (0..10).map(|i| probe(1100 + i * 200, ProbeOutcome::Refused, 0.1));
    let events = feed(&mut detector, gone);
    assert!(
        matches!(events[..], [Event::Triggered { at: 2100, .. }]),
        "{events:?}"
    );
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
    // The answer that comes at last is the end.
    let events = feed(
        &mut detector,
        [
            probe(10_300, ProbeOutcome::Ok, 8000.0),
            probe(10_500, ProbeOutcome::Ok, 0.3),
            probe(11_500, ProbeOutcome::Ok, 0.3),
        ],
    );
    assert_eq!(
        events,
        [Event::Ended {
            end: 10_300,
            at: 11_500
        }]
    );
}

#[test]
fn a_refused_login_is_a_sign_of_life() {
    let mut detector = Detector::new(Config::default());
    feed(&mut detector, [probe(0, ProbeOutcome::Ok, 0.3)]);
    let denied = (1..50).map(|i| probe(i * 200, ProbeOutcome::AccessDenied, 0.4));
    assert_eq!(feed(&mut detector, denied), []);
}

/// Connections in use of 80, and those refused so far.
fn connect(at: Millis, latency_ms: f64) -> Sample {
    sample(
        "connect-probe",
        at,
        vec![
            gauge("probe.connect_us", latency_ms * 1000.0),
            gauge("probe.connect_outcome", ProbeOutcome::Ok.code()),
        ],
    )
}

fn connecting(at: Millis, ms: f64) -> Sample {
    let waited = gauge("probe.connect_waiting_us", ms * 1000.0);
    sample("recorder", at, vec![waited])
}

/// The kernel sends a lost packet again after a second: of a server on a network that loses one now and then nothing is
/// told, of one that answers no connect it is told as soon as that can be known.
#[test]
fn a_connect_whose_packet_was_lost_is_no_stall() {
    let calm = (1..30).map(|second| connect(second * 1000, 1.0));
    let lost = [connecting(31_000, 900.0), connect(31_116, 1016.0)];
    let again = (32..60).map(|second| connect(second * 1000, 1.0));
    let events = feed(
        &mut Detector::new(Config::default()),
        calm.clone().chain(lost).chain(again),
    );
    assert_eq!(events, []);

    let hangs = [connecting(31_000, 900.0), connecting(32_000, 1900.0)];
    let events = feed(
        &mut Detector::new(Config::default()),
        calm.clone().chain(hangs),
    );
    assert!(
        matches!(
            events[..],
            [Event::Triggered {
                onset: 30_100,
                at: 32_000,
                ..
            }]
        ),
        "{events:?}"
    );
    let twice = [connect(31_016, 1016.0), connecting(32_100, 1080.0)];
    let events = feed(&mut Detector::new(Config::default()), calm.chain(twice));
    assert!(
        matches!(events[..], [Event::Triggered { at: 32_100, .. }]),
        "{events:?}"
    );
}

/// Memory that comes back from a swap: a trivial statement needs a page of it, a client's needs dozens.
#[test]
fn a_stall_lasts_while_clients_hang_though_a_trivial_statement_is_answered() {
    let clients = |at, hung: f64, oldest_ms: f64| {
        let readings = vec![
            gauge("connections.established", 8.0),
            gauge("connections.waiting", hung),
            gauge("connections.hung", hung),
            gauge("connections.hung_oldest_ms", oldest_ms),
            gauge("connections.hung_workers", hung),
        ];
        sample("connections", at, readings)
    };
    let end = |hang_until: Millis| {
        let calm =
            seconds(1, 30).flat_map(|at| [probe(at, ProbeOutcome::Ok, 0.2), clients(at, 0.0, 0.0)]);
        let stall = seconds(31, 36).map(|at| waiting(at, (at - 30_000) as f64));
        let after = seconds(36, 90).flat_map(|at| {
            let hung = if at <= hang_until { 1.0 } else { 0.0 };
            let oldest_ms = if at <= hang_until { at - 30_000 } else { 0 };
            [
                probe(at + 300, ProbeOutcome::Ok, 0.2),
                clients(at + 400, hung, oldest_ms as f64),
            ]
        });
        let events = feed(
            &mut Detector::new(Config::default()),
            calm.chain(stall).chain(after),
        );
        match events[..] {
            [Event::Triggered { .. }, Event::Ended { end, .. }] => end,
            _ => panic!("{events:?}"),
        }
    };
    assert_eq!(end(0), 36_300);
    assert_eq!(end(39_000), 39_900);
    // One that never comes back is no reason for ever.
    assert_eq!(end(90_000), 65_400);
}

fn doors(at: Millis, connected: f64, refused: f64) -> Sample {
    let mut sample = status(at, 1.0, at as f64 / 10.0);
    if let Ok(taken) = &mut sample.outcome {
        taken
            .readings
            .push(gauge("status.Threads_connected", connected));
        taken
            .readings
            .push(gauge("status.Connection_errors_max_connections", refused));
        taken
            .facts
            .push(Fact::new("variables.max_connections", "80"));
    }
    sample
}

#[test]
fn many_that_were_refused_count_though_connections_are_free_again() {
    for (refused, told) in [(2.0, 0), (40.0, 1)] {
        let mut detector = Detector::new(Config::default());
        let events = feed(
            &mut detector,
            seconds(0, 40).map(|at| doors(at, 50.0, if at < 30_000 { 3.0 } else { 3.0 + refused })),
        );
        let triggered = events
            .iter()
            .filter(|event| matches!(event, Event::Triggered { .. }));
        assert_eq!(triggered.count(), told, "{events:?}");
    }
}

#[test]
fn nobody_is_let_in_whoever_the_recorder_is() {
    let mut detector = Detector::new(Config::default());
    // A monitor that uses all of them for a moment, and nobody is refused.
    let mut events = feed(
        &mut detector,
        seconds(0, 30).map(|at| doors(at, 20.0 + (at / 1000) as f64 * 2.0, 3.0)),
    );
    events.extend(feed(
        &mut detector,
        seconds(30, 33).map(|at| doors(at, 80.0, 3.0)),
    ));
    assert_eq!(events, []);
    let refused = |at: Millis| 3.0 + (at - 32_000) as f64 / 250.0;
    let events = feed(
        &mut detector,
        seconds(33, 40).map(|at| doors(at, 81.0, refused(at))),
    );
    let [
        Event::Triggered {
            onset, at, trigger, ..
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(
        (*onset, *at, trigger.rule.as_str()),
        (32_000, 33_000, "not-let-in")
    );
    assert_eq!(
        trigger.says,
        "4 connections were refused in a second: 81 of 80 are in use"
    );
    // Full, and nobody asks at this moment: it lasts.
    assert_eq!(
        feed(
            &mut detector,
            seconds(40, 60).map(|at| doors(at, 80.0, 31.0))
        ),
        []
    );
    let events = feed(
        &mut detector,
        seconds(60, 70).map(|at| doors(at, 12.0, 31.0)),
    );
    assert_eq!(
        events,
        [Event::Ended {
            end: 59_500,
            at: 61_000
        }]
    );
}

#[test]
fn an_accept_queue_without_room_is_told() {
    let queue = |at, length| {
        sample(
            "accept-queue",
            at,
            vec![
                gauge("accept_queue.tcp.length", length),
                gauge("accept_queue.tcp.limit", 80.0),
            ],
        )
    };
    let mut detector = Detector::new(Config::default());
    assert_eq!(
        feed(&mut detector, seconds(0, 20).map(|at| queue(at, 30.0))),
        []
    );
    let events = feed(&mut detector, seconds(20, 24).map(|at| queue(at, 81.0)));
    let [Event::Triggered { onset, trigger, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!((*onset, trigger.rule.as_str()), (19_000, "not-let-in"));
}

#[test]
fn a_failed_reading_resets_nothing() {
    let mut detector = with_trigger("threads_running > 200 for 3s");
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
    let [
        Event::Triggered {
            onset, at, trigger, ..
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!((*onset, *at, trigger.rule.as_str()), (1000, 5000, "user"));
}

fn vmstat(at: Millis, compact_stalls: f64) -> Sample {
    let reading = Reading::counter("vmstat.compact_stall", Unit::Count, compact_stalls);
    sample("vmstat", at, vec![reading])
}

#[test]
fn a_trigger_computes_with_the_latest_readings_of_several_sources() {
    let mut detector = with_trigger("rate(vmstat.compact_stall) > 0.5 * Threads_running - 5");
    assert_eq!(
        feed(
            &mut detector,
            [
                vmstat(1000, 0.0),
                // Samples of two sources come in any order.
                status(2010, 900.0, 1.0),
                vmstat(2000, 445.0),
                // Threads_running is 31 s old: too old to be compared with.
                vmstat(32_600, 1e6),
            ]
        ),
        []
    );
    let events = feed(&mut detector, [status(33_000, 900.0, 1.0)]);
    let [Event::Triggered { trigger, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert!(trigger.says.ends_with(", above 445"), "{}", trigger.says);
}

#[test]
fn a_rate_trigger_needs_growth() {
    let mut detector = with_trigger("rate(vmstat.compact_stall) > 50");
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
    let mut detector = with_trigger("Threads_running > 200");
    feed(&mut detector, [probe(19_900, ProbeOutcome::Ok, 1.0)]);
    let events = feed(
        &mut detector,
        seconds(20, 25).map(|at| status(at, 900.0, 1.0)),
    );
    assert!(matches!(events[..], [Event::Triggered { .. }]));
    let events = feed(
        &mut detector,
        (0..10).map(|i| probe(25_000 + i * 200, ProbeOutcome::TimedOut, 3000.0)),
    );
    assert!(matches!(events[..], [Event::Joined { .. }]), "{events:?}");
    let events = feed(
        &mut detector,
        seconds(27, 40).map(|at| status(at, 1.0, 1.0)),
    );
    assert_eq!(events, [], "no good probe yet");
    let events = feed(
        &mut detector,
        [
            probe(41_000, ProbeOutcome::Ok, 1.0),
            probe(42_000, ProbeOutcome::Ok, 1.0),
        ],
    );
    assert_eq!(
        events,
        [Event::Ended {
            end: 41_000,
            at: 42_000
        }]
    );
}

#[test]
fn a_rule_whose_source_died_does_not_keep_a_stall_open_for_ever() {
    let mut detector = with_trigger("Threads_running > 200");
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
fn no_stall_is_swallowed_and_the_limit_an_hour_bounds_incidents_only() {
    let mut detector = with_trigger("Threads_running > 200");
    let (mut told, mut ended) = (Vec::new(), 0);
    // A stall of 3 s each 20 s.
    for second in 0..3600 {
        let running = if second % 20 < 3 { 900.0 } else { 1.0 };
        for event in detector.observe(&status(second * 1000, running, second as f64)) {
            match event {
                Event::Triggered { announce, .. } => told.push(announce),
                Event::Ended { .. } => ended += 1,
                Event::Joined { .. } => {}
            }
        }
    }
    assert_eq!((told.len(), ended), (180, 180));
    let count = |wanted| told.iter().filter(|announce| **announce == wanted).count();
    assert_eq!(count(Announce::New), 6);
    assert_eq!(count(Announce::OverLimit), 174);
}

#[test]
fn a_stall_three_seconds_after_another_is_one_more_episode_of_its_incident() {
    let mut detector = with_trigger("Threads_running > 200");
    let mut told = Vec::new();
    for second in 0..40 {
        let running = if (10..14).contains(&second) || (17..22).contains(&second) {
            900.0
        } else {
            1.0
        };
        told.extend(detector.observe(&status(second * 1000, running, second as f64)));
    }
    let [
        Event::Triggered {
            onset: 10_000,
            announce: Announce::New,
            ..
        },
        Event::Ended { end: 14_000, .. },
        Event::Triggered {
            onset: 17_000,
            announce: Announce::SameIncident,
            ..
        },
        Event::Ended { end: 22_000, .. },
    ] = told[..]
    else {
        panic!("{told:?}");
    };
}

#[test]
fn a_stall_that_never_ends_stays_one() {
    let mut detector = Detector::new(Config::default());
    feed(&mut detector, [probe(0, ProbeOutcome::Ok, 1.0)]);
    let silent = (1..20_000).map(|i| waiting(i * 250, i as f64 * 250.0));
    let events = feed(&mut detector, silent);
    assert!(
        matches!(events[..], [Event::Triggered { onset: 0, .. }]),
        "{events:?}"
    );
    assert!(detector.in_stall());
}

#[test]
fn a_probe_that_is_back_does_not_wait_any_more() {
    let mut detector = Detector::new(Config::default());
    feed(
        &mut detector,
        seconds(0, 20).map(|at| probe(at, ProbeOutcome::Ok, 1.0)),
    );
    let silent = (0..16).map(|i| waiting(21_000 + i * 250, i as f64 * 250.0));
    let events = feed(&mut detector, silent);
    assert!(
        matches!(events[..], [Event::Triggered { .. }]),
        "{events:?}"
    );
    // It comes back at 25.0 s; who looks for what is missing saw it just before, and tells after.
    feed(
        &mut detector,
        [
            probe(25_000, ProbeOutcome::Ok, 4000.0),
            waiting(25_006, 4006.0),
        ],
    );
    let events = feed(
        &mut detector,
        (0..20).map(|i| probe(25_200 + i * 200, ProbeOutcome::Ok, 1.0)),
    );
    assert!(
        matches!(events[..], [Event::Ended { end: 25_000, .. }]),
        "{events:?}"
    );
}

/// 20 statements a second of some milliseconds, of which every tenth look finds one under way. Then each of
/// so many looks finds this: in statements, those that usually are in none, statements a second.
fn after_looks(looks: u64, in_flight: f64, unusual: f64, rate: f64) -> Vec<Event> {
    let mut detector = Detector::new(Config::default());
    let (mut questions, mut told) = (1000.0, Vec::new());
    for at in seconds(1, 121 + looks) {
        let changed = at > 120_000;
        let chance = f64::from(u8::from(at % 10_000 == 5_000));
        let (in_flight, unusual) = match changed {
            true => (in_flight, unusual),
            false => (chance, chance),
        };
        // The status and the processlist of the recorder itself.
        questions += 2.0 + if changed { rate } else { 20.0 };
        told.extend(feed(
            &mut detector,
            second(at, questions, in_flight, unusual, 4.0),
        ));
    }
    told
}

#[test]
fn few_looks_that_find_a_statement_are_chance_and_many_are_not() {
    assert_eq!(after_looks(7, 1.0, 1.0, 20.0), []);
    let told = after_looks(14, 1.0, 1.0, 20.0);
    let [Event::Triggered { trigger, onset, .. }] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(trigger.rule, "statements-slow");
    assert!((118_000..=122_000).contains(onset), "{onset}");
    // The more are in one, the fewer looks it takes.
    assert_eq!(after_looks(6, 4.0, 4.0, 20.0).len(), 1);
}

#[test]
fn a_session_that_is_always_in_a_statement_makes_the_others_none_the_slower() {
    assert_eq!(after_looks(60, 1.0, 0.0, 20.0), []);
}

/// 400 statements a second of a quarter of a millisecond; then as many, while so many of so many clients are in one,
/// and so much of the processors is in use.
fn as_many_and_longer(clients: f64, in_flight: f64, busy: f64, answer_ms: f64) -> Vec<Event> {
    as_many_beside(clients, in_flight, (busy, 0.0), answer_ms)
}

/// The same, where a part of what is in use is of a low priority.
fn as_many_beside(
    clients: f64,
    in_flight: f64,
    (busy, nice): (f64, f64),
    answer_ms: f64,
) -> Vec<Event> {
    let mut detector = Detector::new(Config::default());
    let (mut questions, mut told) = (1000.0, Vec::new());
    for at in seconds(1, 140) {
        let (in_flight, busy, answer_ms) = match at > 120_000 {
            true => (in_flight, busy, answer_ms),
            false => (f64::from(u8::from(at % 10_000 == 5_000)), 0.1, 0.2),
        };
        let probes = (0..5).map(|i| probe(at - 900 + 200 * i, ProbeOutcome::Ok, answer_ms));
        told.extend(feed(&mut detector, probes));
        questions += 7.0 + 400.0;
        let host = vec![
            gauge("cpu.count", 2.0),
            gauge("cpu.busy_share", busy),
            gauge("cpu.nice_share", nice),
        ];
        let [work, mut crowd] = second(at, questions, in_flight, in_flight, in_flight);
        if let Ok(taken) = &mut crowd.outcome {
            taken.readings.remove(0);
            taken.readings.push(gauge("processlist.clients", clients));
        }
        told.extend(feed(&mut detector, [sample("stat", at, host), work, crowd]));
    }
    told
}

#[test]
fn statements_that_wait_while_processors_have_room_are_slow_earlier() {
    for (clients, in_flight) in [(10.0, 9.0), (28.0, 17.0), (200.0, 18.0 + 100.0)] {
        let told = as_many_and_longer(clients, in_flight, 0.6, 0.2);
        let [Event::Triggered { trigger, .. }] = &told[..] else {
            panic!("{clients}: {told:?}");
        };
        assert_eq!(trigger.rule, "statements-slow");
    }
    // They share the processors with others.
    assert_eq!(as_many_and_longer(28.0, 17.0, 0.97, 3.0), []);
    // These others run at a low priority.
    assert_eq!(as_many_beside(28.0, 17.0, (1.0, 0.4), 3.0).len(), 1);
    // Some reports are not most of the clients.
    assert_eq!(as_many_and_longer(28.0, 9.0, 0.6, 0.2), []);
    // A trivial statement takes long as well.
    assert_eq!(as_many_and_longer(28.0, 9.0, 0.6, 12.0).len(), 1);
    assert_eq!(as_many_and_longer(28.0, 9.0, 0.97, 3.0), []);
}

/// A lock is held every other moment, for twenty seconds: of three looks one finds hardly anybody, and a trivial statement
/// takes a fifth of a millisecond or thirty.
#[test]
fn a_lock_that_is_free_now_and_then_makes_one_stall() {
    let mut detector = Detector::new(Config::default());
    let (mut questions, mut told) = (1000.0, Vec::new());
    for at in (2..320).map(|half| half * 500) {
        let is_bad = (120_000..140_000).contains(&at);
        if !is_bad && at % 1000 != 0 {
            continue;
        }
        let held = [true, false, true][(at as usize / 500) % 3];
        let in_flight = match (is_bad, held) {
            (true, true) => 18.0,
            (true, false) => 5.0,
            (false, _) => f64::from(u8::from(at % 10_000 == 5_000)),
        };
        let probes = (0..3).map(|i| {
            let is_late = is_bad && i > 0;
            probe(
                at - 450 + 200 * i,
                ProbeOutcome::Ok,
                if is_late { 30.0 } else { 0.2 },
            )
        });
        told.extend(feed(&mut detector, probes));
        questions += 4.0 + 400.0;
        let host = vec![
            gauge("cpu.count", 2.0),
            gauge("cpu.busy_share", if is_bad { 0.65 } else { 0.1 }),
        ];
        let [work, crowd] = second(at, questions, in_flight, in_flight, in_flight);
        told.extend(feed(&mut detector, [sample("stat", at, host), work, crowd]));
    }
    let [Event::Triggered { onset, .. }, Event::Ended { end, .. }] = &told[..] else {
        panic!("{told:?}");
    };
    assert!((119_000..=121_000).contains(onset), "{onset}");
    assert!((138_500..=141_000).contains(end), "{end}");
}

/// Forty clients more begin to read from a slow disk, and the server has been watched for half a minute.
#[test]
fn a_crowd_does_not_become_usual_by_its_first_look() {
    let mut detector = Detector::new(Config::default());
    let (mut questions, mut told) = (1000.0, Vec::new());
    for at in seconds(1, 60) {
        let (rate, in_flight) = match at / 1000 {
            0..4 => (30.0, 1.6),
            4..26 => (40.0, 0.0),
            26 => (100.0, 40.0),
            _ => (300.0, 40.0),
        };
        questions += 7.0 + rate;
        let probes = (0..5).map(|i| probe(at - 900 + 200 * i, ProbeOutcome::Ok, 0.3));
        told.extend(feed(&mut detector, probes));
        told.extend(feed(
            &mut detector,
            second(at, questions, in_flight, in_flight, in_flight),
        ));
    }
    let [Event::Triggered { at, .. }] = &told[..] else {
        panic!("{told:?}");
    };
    assert!((26_000..=30_000).contains(at), "{at}");
}

#[test]
fn a_load_that_fell_is_no_work_that_fell() {
    // Two a second are left, and chance finds one of them three times in a row.
    assert_eq!(after_looks(5, 1.0, 1.0, 2.0), []);
    // All four that work are in a statement, and a fifth completes.
    assert_eq!(after_looks(5, 4.0, 4.0, 4.0).len(), 1);
}

#[test]
fn clients_that_go_away_together_are_no_stall() {
    let mut detector = Detector::new(Config::default());
    let (mut questions, mut told) = (1000.0, Vec::new());
    for at in seconds(1, 140) {
        // In the second in which they go, three of four are in their last statement; the host is busy, too.
        let (rate, in_flight, answer_ms) = match at / 1000 {
            0..120 => (400.0, f64::from(u8::from(at % 5000 == 0)), 0.2),
            120 => (58.0, 3.0, 9.0),
            _ => (0.0, 0.0, 9.0),
        };
        // Of its own: the two looks and five probes.
        questions += 7.0 + rate;
        told.extend(feed(
            &mut detector,
            (0..5).map(|i| probe(at - 900 + 200 * i, ProbeOutcome::Ok, answer_ms)),
        ));
        told.extend(feed(
            &mut detector,
            second(at, questions, in_flight, in_flight, 4.0),
        ));
    }
    assert_eq!(told, []);
}

/// One statement a second that changes data, for so long; then one after another hangs. The recorder's own look at
/// the status reads rows, and between two regular looks there is one more.
fn quiet_writes(seconds: u64) -> Option<Millis> {
    let mut detector = Detector::new(Config::default());
    let (mut questions, mut rows, mut writes) = (1000.0, 0.0, 500.0);
    let begin = seconds * 1000;
    let looks = (1..seconds + 12).flat_map(|second| {
        [
            Some(second * 1000),
            (second > seconds).then_some(second * 1000 + 450),
        ]
    });
    for at in looks.flatten() {
        let hung_ms = at.saturating_sub(begin + 100) as f64;
        let hung = (hung_ms / 1000.0).floor();
        // With two looks a second half of a statement came before each.
        let came = if at > begin { 0.5 } else { 1.0 };
        writes += came;
        questions += came + 2.0;
        rows += 600.0;
        let mut status = status(at, 1.0 + hung, questions);
        if let Ok(taken) = &mut status.outcome {
            taken.readings.push(gauge("status.Com_update", writes));
            taken
                .readings
                .push(gauge("status.Handler_read_rnd_next", rows));
        }
        let sessions = vec![
            gauge("processlist.clients", 32.0),
            gauge("processlist.in_flight", f64::from(u8::from(hung_ms > 0.0))),
            gauge("processlist.hung", hung),
            gauge("processlist.hung_writes", hung),
            gauge(
                "processlist.hung_oldest_ms",
                if hung > 0.0 { hung_ms } else { 0.0 },
            ),
        ];
        let told = feed(
            &mut detector,
            [status, sample("processlist", at + 5, sessions)],
        );
        if let Some(Event::Triggered { at, .. }) = told.first() {
            return Some(at - begin);
        }
    }
    None
}

#[test]
fn on_a_quiet_server_the_recorders_own_rows_hide_no_write_that_hangs() {
    // Forty are known to be short: the first one that is not tells.
    assert!(
        quiet_writes(60).is_some_and(|ms| ms <= 1600),
        "{:?}",
        quiet_writes(60)
    );
    // Twelve are known: two that hang tell.
    assert!(
        quiet_writes(13).is_some_and(|ms| ms <= 3000),
        "{:?}",
        quiet_writes(13)
    );
    // Nothing is known.
    assert_eq!(quiet_writes(3), None);
}

/// No processor is left, this share of them is the server's own kernel time, and answers take so long; so many
/// statements a second complete, a hundred usually.
fn used_up(rate: f64, share: f64, ms: f64) -> Vec<Event> {
    let mut detector = Detector::new(Config::default());
    let (mut ticks, mut questions, mut told) = (0.0, 1000.0, Vec::new());
    for at in seconds(1, 90) {
        let is_busy = at >= 60_000;
        let (share, busy, ms, rate) = match is_busy {
            true => (share, 1.0, ms, rate),
            false => (0.01, 0.3, 0.3, 100.0),
        };
        ticks += share * 200.0;
        questions += 7.0 + rate;
        let host = vec![gauge("cpu.count", 2.0), gauge("cpu.busy_share", busy)];
        let samples = [
            status(at, 1.0, questions),
            sample("processlist", at + 5, Vec::new()),
            sample("stat", at + 6, host),
            sample(
                "process",
                at + 7,
                vec![gauge("process.system_ticks", ticks)],
            ),
        ];
        let probes = (0..5).map(|i| probe(at - 900 + 200 * i, ProbeOutcome::Ok, ms));
        told.extend(feed(&mut detector, probes.chain(samples)));
    }
    told
}

#[test]
fn where_no_processor_is_left_a_flood_is_told_and_neighbours_are_not() {
    for (rate, share, ms) in [(100.0, 0.14, 10.0), (100.0, 0.25, 2.5)] {
        assert_eq!(used_up(rate, share, ms), [], "{rate} {share} {ms}");
    }
    // A flood of small statements, and one server's kernel time by itself.
    for (rate, share, ms) in [(4000.0, 0.14, 2.5), (4000.0, 0.5, 2.5), (100.0, 0.5, 2.5)] {
        let told = used_up(rate, share, ms);
        assert!(
            matches!(&told[..], [Event::Triggered { trigger, .. }] if trigger.rule == "system-cpu"),
            "{rate} {share} {ms}: {told:?}"
        );
    }
}

/// 400 statements a second from second 1 on; from `from` to `half` they take half a second, and until `until` some tens of
/// milliseconds.
fn slow_and_less_slow(from: u64, half: u64, until: u64) -> Vec<Event> {
    let mut detector = Detector::new(Config::default());
    let (mut questions, mut told) = (1000.0, Vec::new());
    for at in seconds(1, until + 40) {
        let (in_flight, rate, busy) = match at / 1000 {
            second if (from..half).contains(&second) => (16.0, 35.0, 1.0),
            // 40 ms each: under the limit of 50, and far from usual.
            second if (half..until).contains(&second) => (12.0, 300.0, 1.0),
            _ => (f64::from(u8::from(at % 10_000 == 5_000)), 400.0, 0.1),
        };
        questions += 2.0 + rate;
        let host = vec![gauge("cpu.count", 2.0), gauge("cpu.busy_share", busy)];
        let [work, crowd] = second(at, questions, in_flight, in_flight, in_flight);
        told.extend(feed(&mut detector, [sample("stat", at, host), work, crowd]));
    }
    told
}

/// An index is gone: each statement is slow at first, while caches are cold, and then less slow.
#[test]
fn what_is_less_slow_than_at_first_is_not_over() {
    let told = slow_and_less_slow(121, 127, 191);
    let [Event::Triggered { onset, .. }, Event::Ended { end, .. }] = &told[..] else {
        panic!("{told:?}");
    };
    assert!((118_000..=122_000).contains(onset), "{onset}");
    assert!((188_000..=192_000).contains(end), "{end}");
}

/// The recorder knows the server for eleven seconds: what came since the onset is forgotten, and ten are needed.
#[test]
fn a_stall_soon_after_the_begin_lasts_to_its_end() {
    let told = slow_and_less_slow(13, 60, 60);
    let [Event::Triggered { onset, .. }, Event::Ended { end, .. }] = &told[..] else {
        panic!("{told:?}");
    };
    assert!((11_000..=14_000).contains(onset), "{onset}");
    assert!((58_000..=62_000).contains(end), "{end}");
}
