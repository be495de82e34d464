//! What must hold whatever happens.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failing step fails the test"
)]

use crate::sim::judge::episodes;
use crate::sim::mechanism::{ALL, Mechanism};
use crate::sim::{Load, Server};
use detect::{Config, Detector, Learnt, LearntClasses, Sessions};
use model::{Absent, Fact, Reading, Reason, Sample, SourceData, Unit};
use proptest::prelude::*;

/// Names of the signals that rules look at.
const NAMES: [&str; 24] = [
    "status.Questions",
    "status.Uptime",
    "status.Threads_connected",
    "status.Connection_errors_max_connections",
    "status.Innodb_row_lock_current_waits",
    "status.Innodb_row_lock_waits",
    "status.Handler_read_key",
    "status.Com_update",
    "processlist.hung",
    "processlist.hung_oldest_ms",
    "processlist.hung_workers",
    "processlist.going",
    "processlist.finished",
    "processlist.in_flight",
    "processlist.waiting_2s",
    "processlist.waiting_oldest_ms",
    "processlist.active_2s",
    "probe.query_us",
    "probe.query_outcome",
    "probe.query_waiting_us",
    "cpu.count",
    "cpu.busy_share",
    "process.system_ticks",
    "cgroup.memory.oom_kill",
];

const SOURCES: [&str; 7] = [
    "status",
    "processlist",
    "query-probe",
    "connect-probe",
    "stat",
    "process",
    "recorder",
];

fn odd_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::MAX),
        Just(-1.0),
        Just(0.0),
        0.0..10.0,
        -1e12..1e12,
    ]
}

/// A sample as no source would make it, and how far the clock goes with it, milliseconds.
fn odd_sample() -> impl Strategy<Value = (i64, Sample)> {
    let readings = proptest::collection::vec((0..NAMES.len(), odd_number()), 0..8);
    let step = prop_oneof![
        8 => 0_i64..1500,
        1 => Just(-5000_i64),
        1 => Just(-1_000_000_i64),
        1 => Just(10_000_000_i64),
        1 => Just(i64::MAX),
    ];
    (
        0..SOURCES.len(),
        readings,
        step,
        any::<bool>(),
        odd_number(),
    )
        .prop_map(|(source, readings, step, fails, max)| {
            let source = SOURCES[source];
            let outcome = if fails {
                Err(Absent::new(source, Reason::Failed, "odd"))
            } else {
                Ok(SourceData {
                    readings: readings
                        .into_iter()
                        .map(|(name, value)| Reading::gauge(NAMES[name], Unit::Count, value))
                        .collect(),
                    facts: vec![Fact::new("variables.max_connections", max.to_string())],
                    ..SourceData::default()
                })
            };
            (
                step,
                Sample {
                    source,
                    at: 0,
                    took_us: 0,
                    outcome,
                },
            )
        })
}

fn mechanism() -> impl Strategy<Value = Mechanism> {
    (0..ALL.len()).prop_map(|index| ALL[index])
}

fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("FUZZ_CASES")
        .ok()
        .and_then(|text| text.parse().ok());
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(asked.unwrap_or(usual))
    }
}

proptest! {
    #![proptest_config(cases(24))]

    /// After any samples whatever a calm minute and a stall are seen as what they are.
    #[test]
    fn no_sample_however_odd_makes_it_deaf(odd in proptest::collection::vec(odd_sample(), 1..60)) {
        let mut server = Server::new(4, Load::Rate(100.0), 3);
        server.run(30_000);
        let mut at = server.now;
        for (step, mut sample) in odd {
            at = at.saturating_add_signed(step);
            sample.at = at;
            let _ = server.detector.observe(&sample);
        }
        // A stall that was made of such samples has ended by then, and what was learnt of them is
        // the past.
        server.run(420_000);
        prop_assert!(!server.detector.in_stall());
        server.events.clear();
        let truth = server.stall(Mechanism::MetadataLock, 6000).unwrap();
        server.run(5000);
        let told = episodes(&server.events);
        prop_assert!(told.iter().any(|told| told.trigger <= truth.end.1), "{told:?}");
    }

    /// A stall's end is never told before the last statement that hangs is released.
    #[test]
    fn an_end_is_never_before_work_flows(
        seed in 0_u64..1000,
        // A lock holds until it is released: what is held is held to the end.
        mechanism in prop_oneof![
            Just(Mechanism::RowLock), Just(Mechanism::MetadataLock), Just(Mechanism::GlobalReadLock),
            Just(Mechanism::LogFull), Just(Mechanism::Stopped),
        ],
        pool in prop_oneof![Just(1_usize), Just(4), Just(32)],
        rate in prop_oneof![Just(1.0), Just(20.0), Just(800.0)],
        seconds in 3_u64..90,
    ) {
        let mut server = Server::new(pool, Load::Rate(rate), seed);
        server.run(70_000);
        if let Some(truth) = server.stall(mechanism, seconds * 1000) {
            let held_to = truth.end.1;
            // Nothing was told to be over while it lasted.
            let told = episodes(&server.events);
            prop_assert!(told.iter().all(|told| told.end.is_none()), "{told:?}");
            server.run(20_000);
            let told = episodes(&server.events);
            for end in told.iter().filter_map(|told| told.end) {
                prop_assert!(end + 1000 >= held_to && end <= held_to + 1500, "{end} {held_to}");
            }
        }
    }

    /// Twice, eight, fifty times as many clients with as much more load: the same verdict.
    #[test]
    fn the_number_of_clients_does_not_change_the_verdict(
        seed in 0_u64..1000,
        mechanism in mechanism(),
        pool in 1_usize..5,
        rate in prop_oneof![Just(2.0), Just(20.0), Just(100.0)],
    ) {
        // One or two clients that wait to be let in, where a second without a statement is usual: a client
        // that never says a word looks the same.
        prop_assume!(mechanism != Mechanism::Names || pool >= 3 || rate >= 20.0);
        for times in [1, 8, 50] {
            let load = Load::Rate(rate * f64::from(times).min(1500.0 / rate));
            let mut server = Server::new(pool * times as usize, load, seed);
            server.run(70_000);
            prop_assert_eq!(&server.events[..], &[], "calm, {} times", times);
            let truth = server.stall(mechanism, 6000).unwrap();
            server.run(5000);
            let told = episodes(&server.events);
            prop_assert!(
                told.iter().any(|told| told.trigger <= truth.end.1),
                "{mechanism:?}, {times} times {pool} clients: {told:?}"
            );
        }
    }
}

#[test]
fn what_was_learnt_survives_a_restart_of_the_recorder() {
    let mut server = Server::new(4, Load::Rate(800.0), 9);
    server.run(120_000);
    let learnt = serde_json::to_string(&server.detector.learnt()).unwrap();
    let classes = serde_json::to_string(&server.sessions.learnt()).unwrap();
    let learnt: Learnt = serde_json::from_str(&learnt).unwrap();
    let classes: LearntClasses = serde_json::from_str(&classes).unwrap();
    // A stall in the first seconds of the new recorder.
    server.detector = Detector::with_learnt(Config::default(), &learnt);
    server.sessions = Sessions::with_learnt(&classes);
    server.run(2500);
    let truth = server.stall(Mechanism::LogFull, 5000).unwrap();
    let told = episodes(&server.events);
    assert!(
        told.iter().any(|told| told.trigger <= truth.end.1),
        "{told:?}"
    );
}
