//! A server in a container that may use a part of the host's processors: whether they have room is told by its quota.

#![allow(clippy::panic, reason = "a failing step fails the test")]

use crate::common::{gauge, sample};
use detect::{Config, Detector, Event};
use model::{Fact, Millis, ProbeOutcome, Reading, Sample, SourceData, Unit};

/// Processors of the host, of which nearly all idle all the time.
const CPUS: f64 = 8.0;
const BUSY: f64 = 0.1;

/// 400 statements a second of a quarter of a millisecond, for two minutes; then as many that take 40 ms, seventeen
/// of twenty-eight clients in one: under the limit of 50 ms, and over that for statements that wait beside idle processors.
fn waiting_beside(cpu_max: Option<&str>, used_cpus: f64) -> Vec<Event> {
    let mut detector = Detector::new(Config::default());
    let (mut questions, mut ticks, mut told) = (1000.0, 0.0, Vec::new());
    let mut feed = |one: Sample| told.extend(detector.observe(&one));
    for at in (1..140).map(|second| second * 1000) {
        let is_slow = at > 120_000;
        let (in_flight, used) = match is_slow {
            true => (17.0, used_cpus),
            false => (f64::from(u8::from(at % 10_000 == 5_000)), 0.05),
        };
        questions += 7.0 + 400.0;
        ticks += used * 100.0;
        for one in 0..5 {
            feed(probe(at - 900 + 200 * one));
        }
        if let Some(cpu_max) = cpu_max {
            feed(limited(at, cpu_max));
        }
        let host = vec![gauge("cpu.count", CPUS), gauge("cpu.busy_share", BUSY)];
        feed(sample("stat", at, host));
        let own = vec![
            gauge("process.user_ticks", ticks),
            gauge("process.system_ticks", 0.0),
        ];
        feed(sample("process", at, own));
        let status = vec![
            gauge("status.Threads_running", 1.0 + in_flight),
            Reading::counter("status.Questions", Unit::Count, questions),
        ];
        feed(sample("status", at, status));
        let sessions = vec![
            gauge("processlist.clients", 28.0),
            gauge("processlist.hung", 0.0),
            gauge("processlist.in_flight", in_flight),
            gauge("processlist.in_flight_unusual", in_flight),
            gauge("processlist.finished", 20.0),
        ];
        feed(sample("processlist", at + 5, sessions));
    }
    told
}

fn probe(at: Millis) -> Sample {
    let readings = vec![
        gauge("probe.query_us", 3000.0),
        gauge("probe.query_outcome", ProbeOutcome::Ok.code()),
    ];
    sample("query-probe", at, readings)
}

fn limited(at: Millis, cpu_max: &str) -> Sample {
    Sample {
        source: "cgroup",
        at,
        took_us: 1,
        outcome: Ok(SourceData {
            facts: vec![Fact::new("cgroup.cpu_max", cpu_max)],
            ..SourceData::default()
        }),
    }
}

#[test]
fn statements_wait_for_their_turn_where_the_quota_is_used_up() {
    for cpu_max in ["50000 100000", "100000 200000"] {
        assert_eq!(waiting_beside(Some(cpu_max), 0.5), [], "{cpu_max}");
    }
    // They wait for something else: the quota has room, or there is none.
    for (cpu_max, used_cpus) in [
        (Some("50000 100000"), 0.3),
        (Some("400000 100000"), 0.5),
        (Some("max 100000"), 0.5),
        (Some("0 0"), 0.5),
        (Some("odd"), 0.5),
        (None, 0.5),
    ] {
        let told = waiting_beside(cpu_max, used_cpus);
        let [Event::Triggered { trigger, .. }] = &told[..] else {
            panic!("{cpu_max:?} {used_cpus}: {told:?}");
        };
        assert_eq!(trigger.rule, "statements-slow", "{cpu_max:?} {used_cpus}");
    }
}
