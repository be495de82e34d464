//! Incidents and samples for the tests of the store.

use model::{
    Absent, Clock, Fact, Incident, Millis, Reading, Reason, Sample, Server, Stall, Taken, Text,
    TextKind, TimedAbsent, TimedFact, TimedText, Timeline, Trigger, Unit, Window,
};

pub fn clock() -> Clock {
    Clock {
        wall_at_zero_ms: 1_790_000_000_000,
        boot_id: "b00t".into(),
    }
}

pub fn server() -> Server {
    Server {
        label: "3306".into(),
        version: "10.11.19-MariaDB".into(),
        pid: Some(42),
        address: "socket /tmp/s".into(),
    }
}

pub fn stall() -> Stall {
    Stall {
        onset: 60_500,
        trigger: 62_000,
        end: Some(80_000),
        triggers: vec![Trigger {
            rule: "system-cpu".into(),
            says: "80 %".into(),
        }],
    }
}

/// A second of a server: a counter, a share, a signal that is there only at times.
pub fn sample(second: u64) -> Sample {
    let mut readings = vec![
        Reading::counter(
            "status.Questions",
            Unit::Count,
            1e9 + second as f64 * 1234.0,
        ),
        Reading::gauge("cpu.system_share", Unit::Share, (second % 7) as f64 / 10.0),
        Reading::gauge("status.Threads_running", Unit::Count, 4.0),
    ];
    if second.is_multiple_of(5) {
        readings.push(Reading::gauge("thread.odd", Unit::Count, second as f64));
    }
    Sample {
        source: "status",
        at: second * 1000,
        took_us: 250,
        outcome: Ok(Taken {
            readings,
            ..Taken::default()
        }),
    }
}

pub fn timeline(seconds: std::ops::Range<u64>) -> Timeline {
    let mut timeline = Timeline::default();
    for second in seconds {
        timeline.push(&sample(second));
    }
    timeline
}

pub fn incident() -> Incident {
    let at: Millis = 61_000;
    Incident {
        id: "3306-20260921T000000Z".into(),
        host: "db1".into(),
        tool_version: "0.1.0".into(),
        server: server(),
        clock: clock(),
        stall: stall(),
        window: Window {
            from: 500,
            to: 110_000,
        },
        timeline: timeline(1..110),
        texts: vec![TimedText {
            at,
            text: Text {
                kind: TextKind::InnodbStatus,
                body: "=====\nINNODB MONITOR OUTPUT".into(),
            },
        }],
        stacks: model::StackEvidence::default(),
        facts: vec![TimedFact {
            at,
            fact: Fact::new("variables.max_connections", "151"),
        }],
        absent: vec![TimedAbsent {
            first: at,
            last: at + 3000,
            count: 3,
            absent: Absent::new("processlist", Reason::Deadline, "no answer for 3 s"),
        }],
    }
}
