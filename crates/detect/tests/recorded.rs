//! Signals that the recorder took beside real servers, under a simulated clock: what their clients felt is noticed,
//! with its begin and its end, and nothing else.
//!
//! The files in `recorded/` are made by `freezeframe-lab sweep --recordings DIR`; each begins with what was felt.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing step fails the test"
)]

use crate::recordings;
use crate::recordings::{Felt, Recording};
use crate::sim::judge::{Episode, episodes};
use detect::{Config, Detector, Hysteresis};
use model::Millis;

/// Onset and end are told to this, milliseconds.
const NEAR_MS: Millis = 1000;

/// The latest that a stall may be noticed after its first statement that hung, milliseconds.
const DELAY_MS: Millis = 4000;

/// From this length on a felt stall must be noticed, milliseconds.
const FELT_MS: Millis = 1500;

/// In so much of its time somebody must hang.
const SHARE_MIN: f64 = 0.5;

fn told(recording: &Recording) -> Vec<Episode> {
    let mut detector = Detector::new(Config {
        hysteresis: Hysteresis {
            per_hour: 100_000,
            ..Hysteresis::default()
        },
        ..Config::default()
    });
    let events: Vec<_> = recording
        .samples
        .iter()
        .flat_map(|sample| detector.observe(sample))
        .collect();
    episodes(&events)
}

fn outside(ms: Millis, from: Millis, to: Millis) -> Millis {
    from.saturating_sub(ms).max(ms.saturating_sub(to))
}

/// What is wrong with what was told of one stall.
fn wrong(felt: &Felt, told: &[Episode]) -> Option<String> {
    let of_it = |episode: &&Episode| {
        episode.trigger + NEAR_MS >= felt.from
            && episode.onset <= felt.to
            && episode.onset + NEAR_MS >= felt.earliest
    };
    let Some(first) = told.iter().find(of_it) else {
        return Some("missed".to_owned());
    };
    if first.trigger > felt.from + DELAY_MS {
        return Some(format!("noticed after {} ms", first.trigger - felt.from));
    }
    let onset = outside(first.onset, felt.earliest, felt.from);
    if onset > NEAR_MS {
        return Some(format!("onset {onset} ms off"));
    }
    let end = told.iter().rfind(of_it).and_then(|last| last.end);
    match end {
        Some(end) if outside(end, felt.to, felt.latest) <= NEAR_MS => None,
        Some(end) => Some(format!("end {} ms off", outside(end, felt.to, felt.latest))),
        None => Some("no end".to_owned()),
    }
}

/// What was felt and what was told, in the order of their begins: for whoever looks at recordings of their own.
#[allow(clippy::print_stderr, reason = "it is for reading")]
fn print(recording: &Recording, told: &[Episode]) {
    eprintln!("{}", recording.name);
    let felt = recording.stalls.iter().filter_map(|(what, felt)| {
        let felt = felt.as_ref()?;
        Some((
            felt.from,
            format!("felt {} to {}: {what}", felt.from, felt.to),
        ))
    });
    let told = told.iter().map(|one| {
        let (at, from, end) = (one.trigger, one.onset, one.end);
        let line = format!(
            "  told at {at}, {from} to {end:?}: {} [{}]",
            one.says, one.rule
        );
        (from, line)
    });
    let mut lines: Vec<(Millis, String)> = felt.chain(told).collect();
    lines.sort();
    for (_, line) in lines {
        eprintln!("{line}");
    }
}

#[test]
fn what_was_felt_is_told_and_nothing_else() {
    let (mut bad, mut alarms) = (Vec::new(), Vec::new());
    let (mut felt, mut length_ms) = (0, 0);
    for recording in recordings::all() {
        let told = told(&recording);
        if std::env::var_os(recordings::OF_DIRECTORY).is_some() {
            print(&recording, &told);
        }
        for (what, stall) in &recording.stalls {
            let long = |felt: &&Felt| felt.to - felt.from >= FELT_MS && felt.share >= SHARE_MIN;
            if let Some(stall) = stall.as_ref().filter(long) {
                felt += 1;
                if let Some(why) = wrong(stall, &told) {
                    bad.push(format!("{}: {what}: {why}", recording.name));
                }
            }
        }
        for episode in &told {
            if !recording.excuses(episode.onset, episode.trigger) {
                alarms.push(format!(
                    "{}: false alarm at {} ms: {} [{}]",
                    recording.name, episode.trigger, episode.says, episode.rule
                ));
            }
        }
        length_ms += recording.length();
    }
    assert!(alarms.is_empty(), "{alarms:#?}");
    assert!(felt >= 50, "{felt} stalls are too few");
    assert!(length_ms >= 1_800_000, "{length_ms} ms are too little");
    // On real servers under real load; what is wrong with the others is a second or a stall of two.
    assert!(bad.len() * 20 <= felt, "{} of {felt}: {bad:#?}", bad.len());
}

#[test]
fn a_detector_that_begins_in_the_middle_tells_nothing_of_healthy_servers() {
    for recording in recordings::all()
        .into_iter()
        .filter(|one| one.stalls.is_empty())
    {
        for part in 1..8 {
            let mut detector = Detector::new(Config::default());
            let from = recording.samples.len() * part / 8;
            let events: Vec<_> = recording.samples[from..]
                .iter()
                .flat_map(|sample| detector.observe(sample))
                .collect();
            for episode in episodes(&events) {
                assert!(
                    recording.excuses(episode.onset, episode.trigger),
                    "{} from {part}/8 on: {}",
                    recording.name,
                    episode.says
                );
            }
        }
    }
}

/// Who was connected when the names stopped completes once more before it comes back and waits: that is no sign that
/// the others do not wait.
#[test]
fn clients_that_are_not_greeted_are_noticed_though_others_completed_once_more() {
    for recording in recordings::slow_names() {
        let told = told(&recording);
        let long = recording
            .stalls
            .iter()
            .filter_map(|(_, felt)| felt.as_ref());
        let long: Vec<_> = long.filter(|felt| felt.to - felt.from >= 15_000).collect();
        assert!(long.len() >= 3, "{}", recording.name);
        for felt in long {
            let onset = told
                .iter()
                .find(|one| (felt.from..felt.from + 5000).contains(&one.trigger));
            let late = onset.map(|one| one.onset.abs_diff(felt.from));
            assert!(
                late.is_some_and(|late| late <= 1000),
                "{}: at {}: {late:?}",
                recording.name,
                felt.from
            );
        }
    }
}
