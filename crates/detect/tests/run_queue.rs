//! A server whose threads wait for processors, while the recorder has a share of its own: its statement is answered at
//! once, and everybody else's takes many times as long.
//!
//! The numbers are those of thirty clients that flood a MariaDB with SHOW WARNINGS, on two processors.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing step fails the test"
)]

use crate::common::{gauge, sample};
use detect::{Config, Detector, Event};
use model::{Millis, ProbeOutcome, Reading, Sample, Unit};

/// What a second is like.
#[derive(Debug, Clone, Copy)]
struct Second {
    /// Statements.
    rate: f64,
    /// Share of all processors that the server spends in the kernel.
    system: f64,
    busy: f64,
    /// Of that, at a low priority.
    nice: f64,
    /// Of the server's threads.
    on_cpu: f64,
    queued: f64,
    probe_ms: f64,
}

const CALM: Second = Second {
    rate: 400.0,
    system: 0.01,
    busy: 0.1,
    nice: 0.0,
    on_cpu: 0.1,
    queued: 0.02,
    probe_ms: 0.2,
};

const FLOOD: Second = Second {
    rate: 38_000.0,
    system: 0.16,
    busy: 1.0,
    nice: 0.0,
    on_cpu: 0.9,
    queued: 17.0,
    probe_ms: 0.6,
};

impl Second {
    /// So much of it is like another one.
    fn with(self, part: f64, other: Self) -> Self {
        let mixed = |of: fn(&Self) -> f64| of(&self) * (1.0 - part) + of(&other) * part;
        Self {
            rate: mixed(|one| one.rate),
            system: mixed(|one| one.system),
            busy: mixed(|one| one.busy),
            nice: mixed(|one| one.nice),
            on_cpu: mixed(|one| one.on_cpu),
            queued: mixed(|one| one.queued),
            probe_ms: mixed(|one| one.probe_ms),
        }
    }
}

/// A server as the recorder sees it.
struct Server {
    detector: Detector,
    at: Millis,
    questions: f64,
    ticks: f64,
    all_ticks: f64,
    /// Seconds from one reading of all threads to the next; none where the kernel does not count.
    queue_seconds: Option<u64>,
    /// Since the last of them.
    on_cpu: f64,
    queued: f64,
    told: Vec<Event>,
}

impl Server {
    fn new() -> Self {
        Self {
            detector: Detector::new(Config::default()),
            at: 0,
            questions: 1000.0,
            ticks: 0.0,
            all_ticks: 0.0,
            queue_seconds: Some(1),
            on_cpu: 0.0,
            queued: 0.0,
            told: Vec::new(),
        }
    }

    fn observe(&mut self, sample: &Sample) {
        self.told.extend(self.detector.observe(sample));
    }

    fn seconds(&mut self, count: u64, like: Second) {
        for _ in 0..count {
            self.second(like);
        }
    }

    fn second(&mut self, like: Second) {
        for part in 1..=5 {
            let readings = vec![
                gauge("probe.query_us", like.probe_ms * 1000.0),
                gauge("probe.query_outcome", ProbeOutcome::Ok.code()),
            ];
            self.observe(&sample("query-probe", self.at + part * 200 - 100, readings));
        }
        self.at += 1000;
        let at = self.at;
        let host = vec![
            gauge("cpu.count", 2.0),
            gauge("cpu.busy_share", like.busy),
            gauge("cpu.nice_share", like.nice),
        ];
        self.observe(&sample("stat", at, host));
        self.ticks += like.system * 200.0;
        self.all_ticks += like.on_cpu * 100.0;
        let ticks = vec![
            gauge("process.system_ticks", self.ticks.round()),
            gauge("process.user_ticks", (self.all_ticks - self.ticks).round()),
        ];
        self.observe(&sample("process", at + 1, ticks));
        self.on_cpu += like.on_cpu;
        self.queued += like.queued;
        if let Some(every) = self.queue_seconds
            && (at / 1000).is_multiple_of(every)
        {
            let mean = |sum: &mut f64| std::mem::take(sum) / every as f64;
            let readings = vec![
                gauge("threads.on_cpu", mean(&mut self.on_cpu)),
                gauge("threads.queued", mean(&mut self.queued)),
            ];
            self.observe(&sample("threads", at + 2, readings));
        }
        // Of its own: probes, this one, the sessions.
        self.questions += like.rate + 7.0;
        let status = vec![
            gauge("status.Threads_running", 3.0),
            Reading::counter("status.Questions", Unit::Count, self.questions.floor()),
        ];
        self.observe(&sample("status", at + 40, status));
        let sessions = vec![
            gauge("processlist.clients", 34.0),
            gauge("processlist.hung", 0.0),
            gauge("processlist.in_flight", 1.0),
            gauge("processlist.in_flight_unusual", 1.0),
            gauge("processlist.finished", 30.0),
        ];
        self.observe(&sample("processlist", at + 45, sessions));
    }
}

/// What is told of seconds that are like this, after a minute and a half of calm.
fn after_calm(seconds: u64, like: Second) -> Vec<Event> {
    let mut server = Server::new();
    server.seconds(90, CALM);
    server.seconds(seconds, like);
    server.seconds(20, CALM);
    server.told
}

/// In whichever part of a second it begins and ends.
#[test]
fn a_flood_is_noticed_though_the_recorder_is_answered_at_once() {
    for part in 0..10 {
        let first = f64::from(part) / 10.0;
        let mut server = Server::new();
        server.seconds(90, CALM);
        let began = server.at + (1000.0 * (1.0 - first)) as Millis;
        server.second(CALM.with(first, FLOOD));
        server.seconds(9, FLOOD);
        let ended = server.at + (1000.0 * (1.0 - first)) as Millis;
        server.second(FLOOD.with(first, CALM));
        server.seconds(20, CALM);
        let [
            Event::Triggered {
                onset, at, trigger, ..
            },
            Event::Ended { end, .. },
        ] = &server.told[..]
        else {
            panic!("{first}: {:?}", server.told);
        };
        assert_eq!(trigger.rule, "system-cpu");
        assert!(*at <= began + 2500, "{first}: {began} {at}");
        assert!(onset.abs_diff(began) <= 1000, "{first}: {began} {onset}");
        assert!(end.abs_diff(ended) <= 1100, "{first}: {ended} {end}");
    }
}

/// Programs of a low priority in a session of their own get their share all the same, and a server within a limit of its own
/// has no processor left while the host has many.
#[test]
fn no_processor_is_left_where_the_servers_threads_wait_for_one() {
    for (busy, nice) in [(1.0, 0.2), (0.4, 0.0)] {
        let told = after_calm(
            10,
            Second {
                busy,
                nice,
                ..FLOOD
            },
        );
        assert!(
            matches!(&told[..], [Event::Triggered { .. }, Event::Ended { .. }]),
            "{busy} {nice}: {told:?}"
        );
    }
}

#[test]
fn who_does_not_wait_for_processors_does_not_suffer() {
    // A flood that the processors take, and one that keeps few waiting.
    for (on_cpu, queued) in [(0.9, 0.5), (1.6, 7.0), (0.2, 3.0)] {
        let like = Second {
            on_cpu,
            queued,
            ..FLOOD
        };
        assert_eq!(after_calm(20, like), [], "{on_cpu} {queued}");
    }
    // Neighbours: the server does what it always did.
    let like = Second {
        busy: 1.0,
        queued: 6.0,
        probe_ms: 3.0,
        ..CALM
    };
    assert_eq!(after_calm(20, like), []);
}

/// Others have the processors: what the server computes in the kernel is next to nothing, though it was less before.
#[test]
fn who_gets_no_processor_floods_nobody() {
    let starved = Second {
        rate: 900.0,
        system: 0.02,
        busy: 1.0,
        on_cpu: 0.1,
        queued: 14.0,
        probe_ms: 9.0,
        ..CALM
    };
    let before = Second {
        system: 0.002,
        ..CALM
    };
    let mut server = Server::new();
    server.seconds(90, before);
    server.seconds(20, starved);
    assert_eq!(server.told, []);
}

/// A second is a moment, also in a load that has grown and keeps nobody waiting.
#[test]
fn one_second_in_which_threads_wait_is_no_stall() {
    let quick = Second {
        on_cpu: 1.5,
        queued: 1.0,
        ..FLOOD
    };
    let mut server = Server::new();
    server.seconds(90, CALM);
    for _ in 0..5 {
        server.seconds(6, quick);
        server.second(FLOOD);
    }
    server.seconds(20, CALM);
    assert_eq!(server.told, []);
}

#[test]
fn what_always_waits_for_processors_is_usual() {
    let usual = Second {
        on_cpu: 0.9,
        queued: 4.0,
        ..CALM
    };
    // Its work takes five times as long as without waiting. Three times as long as that is not too much, and twenty times as
    // long as without waiting is.
    for (queued, is_told) in [(13.5, false), (19.0, true)] {
        let mut server = Server::new();
        server.seconds(90, usual);
        server.seconds(20, Second { queued, ..FLOOD });
        assert_eq!(!server.told.is_empty(), is_told, "{:?}", server.told);
    }
}

/// Programs in a session of their own keep the server waiting all the time, and leave it a third of the processors.
#[test]
fn neighbours_with_a_share_of_their_own_hide_no_flood() {
    let usual = Second {
        busy: 1.0,
        queued: 0.4,
        ..CALM
    };
    let flood = Second {
        rate: 20_000.0,
        system: 0.08,
        on_cpu: 0.55,
        queued: 16.5,
        probe_ms: 0.3,
        ..FLOOD
    };
    let mut server = Server::new();
    server.seconds(90, usual);
    let began = server.at;
    server.seconds(10, flood);
    server.seconds(20, usual);
    let [Event::Triggered { at, .. }, Event::Ended { .. }] = &server.told[..] else {
        panic!("{:?}", server.told);
    };
    assert!(*at <= began + 2500, "{began} {at}");
}

/// The threads of a large server are all read each few seconds, and a reading is of all of that time.
#[test]
fn one_reading_of_a_long_time_is_enough() {
    for seconds in [2, 5, 7] {
        let mut server = Server::new();
        server.queue_seconds = Some(seconds);
        server.seconds(100, CALM);
        let began = server.at;
        server.seconds(20, FLOOD);
        let [Event::Triggered { onset, at, .. }] = &server.told[..] else {
            panic!("{seconds}: {:?}", server.told);
        };
        assert!(*at <= began + 1000 * seconds + 2500, "{seconds}: {at}");
        assert!(began <= onset + 1000 && *onset <= began + 5000, "{onset}");
    }
}

/// A kernel may not count how long threads wait.
#[test]
fn what_is_not_counted_tells_nothing() {
    let mut server = Server::new();
    server.queue_seconds = None;
    server.seconds(90, CALM);
    server.seconds(20, FLOOD);
    assert_eq!(server.told, []);
    // The recorder's own statement tells then, where it takes long.
    server.seconds(
        10,
        Second {
            probe_ms: 4.0,
            ..FLOOD
        },
    );
    assert!(!server.told.is_empty());
}
