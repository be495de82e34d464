//! A stall that is made up: a server whose connections run out. Through the detector, and to the verdict.

use model::{
    Clock, Fact, Incident, Millis, ProbeOutcome, Reading, Sample, Server, SourceData,
    StackEvidence, Stall, TimedFact, Timeline, Trigger, Unit, Window,
};

use super::{CheckResult, TestSetup};
use crate::causes;

/// Of the made-up server.
const CONNECTIONS_MAX: f64 = 151.0;

/// When its connections run out, when there is room again, when the record ends: seconds.
const ONSET_S: u64 = 60;
const END_S: u64 = 75;
const TO_S: u64 = 90;

/// How long the detector may take to notice it, milliseconds.
const NOTICED_MS_MAX: Millis = 5000;

const CAUSE: &str = "max-connections";

/// What the sources would have brought.
pub(super) fn samples() -> Vec<Sample> {
    let mut refused = 0.0;
    let mut samples = Vec::new();
    for second in 0..TO_S {
        let at = second * 1000;
        let is_full = (ONSET_S..END_S).contains(&second);
        refused += if is_full { 40.0 } else { 0.0 };
        let count = |name: &'static str, value| Reading::counter(name, Unit::Count, value);
        let level = |name: &'static str, value| Reading::gauge(name, Unit::Count, value);
        let took = |name: &'static str, us| Reading::gauge(name, Unit::Microseconds, us);
        let connected = if is_full { CONNECTIONS_MAX } else { 60.0 };
        samples.push(sample(
            "status",
            at,
            vec![
                count("status.Questions", second as f64 * 500.0),
                count("status.Connection_errors_max_connections", refused),
                level("status.Threads_connected", connected),
                level("status.Threads_running", 4.0),
                count("status.Uptime", 90_000.0 + second as f64),
            ],
        ));
        samples.push(sample(
            "query-probe",
            at + 200,
            vec![
                took("probe.query_us", 300.0),
                level("probe.query_outcome", ProbeOutcome::Ok.code()),
            ],
        ));
        let outcome = match is_full {
            true => ProbeOutcome::TooManyConnections,
            false => ProbeOutcome::Ok,
        };
        samples.push(sample(
            "connect-probe",
            at + 400,
            vec![
                took("probe.connect_us", 900.0),
                level("probe.connect_outcome", outcome.code()),
            ],
        ));
    }
    samples
}

fn sample(source: &'static str, at: Millis, readings: Vec<Reading>) -> Sample {
    Sample {
        source,
        at,
        took_us: 100,
        outcome: Ok(SourceData {
            readings,
            ..SourceData::default()
        }),
    }
}

/// The same as an incident.
pub(super) fn incident() -> Incident {
    let mut timeline = Timeline::default();
    for sample in samples() {
        timeline.push(&sample);
    }
    Incident {
        mentions: Vec::new(),
        known_words: Vec::new(),
        id: "self-test".to_owned(),
        host: "self-test".to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        server: Server {
            label: "self-test".to_owned(),
            ..Server::default()
        },
        clock: Clock {
            wall_at_zero_ms: 1_790_000_000_000,
            boot_id: String::new(),
        },
        stall: Stall {
            earlier: Vec::new(),
            onset: ONSET_S * 1000,
            trigger: ONSET_S * 1000 + 1000,
            end: Some(END_S * 1000),
            triggers: vec![Trigger {
                rule: "not-let-in".to_owned(),
                says: "made up".to_owned(),
            }],
        },
        window: Window {
            from: 0,
            to: TO_S * 1000,
        },
        timeline,
        texts: Vec::new(),
        stacks: StackEvidence::default(),
        queries: Vec::new(),
        facts: vec![TimedFact {
            at: 0,
            fact: Fact::new("variables.max_connections", format!("{CONNECTIONS_MAX:.0}")),
        }],
        absent: Vec::new(),
    }
}

pub(super) fn noticed_and_explained(scene: &TestSetup) -> Vec<CheckResult> {
    causes::use_directory(None, &scene.config);
    let incident = incident();
    let report = "please report it: this program is broken";
    // With the built-in limits: those of a configuration may be for another server.
    let stalls = recorder::replay(&incident, &detect::Config::default());
    let noticed = match stalls.as_slice() {
        [stall] if stall.at <= incident.stall.onset + NOTICED_MS_MAX && stall.end.is_some() => {
            let after = stall.at.saturating_sub(incident.stall.onset);
            let rule = stall.triggers.first().map_or("", |first| &first.rule);
            let says =
                format!("a synthetic stall was noticed after {after} ms [{rule}], and its end");
            CheckResult::works("detector", says)
        }
        other => CheckResult::failed(
            "detector",
            format!("a synthetic stall was seen as {} stalls", other.len()),
            report,
        ),
    };
    let verdict = diagnosis::diagnose(&incident, causes::catalogue());
    let first = verdict.findings.first();
    let explained = match first {
        Some(first) if first.cause == CAUSE => CheckResult::works(
            "diagnosis",
            format!(
                "its cause was named: {} ({})",
                first.title,
                first.level.word()
            ),
        ),
        _ => CheckResult::failed(
            "diagnosis",
            format!(
                "expected {CAUSE}, but {} was named",
                first.map_or("nothing", |first| first.cause.as_str())
            ),
            "check your own causes first: freezeframe causes lint",
        ),
    };
    vec![noticed, explained]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::self_test::State;

    #[test]
    fn the_made_up_stall_is_noticed_and_named() {
        let found = noticed_and_explained(&TestSetup {
            dir: "/dev/null".into(),
            config: Config::default(),
        });
        let states: Vec<State> = found.iter().map(|one| one.state).collect();
        assert_eq!(states, [State::Works, State::Works], "{found:?}");
    }
}
