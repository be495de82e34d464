//! What came of a run: whether the stall was noticed, how fast, and whether its cause was named.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::iter;
use std::path::{Path, PathBuf};

use anyhow::Result;
use jiff::{SignedDuration, Timestamp};
use model::{Incident, Millis, ProbeOutcome, Window};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use testbed::{Scenario, ServerKind, Truth};

use super::overhead::Overhead;
use crate::product::explain;

/// What came of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) scenario: String,
    pub(crate) server: String,
    /// The incident, when the stall was noticed.
    pub(crate) incident: Option<PathBuf>,
    /// From the begin of the break to the trigger, in seconds.
    pub(crate) noticed_seconds: Option<f64>,
    /// From the first sign to the trigger, in seconds.
    pub(crate) sign_to_trigger_seconds: Option<f64>,
    /// From the begin of the first probe that failed or was slow to the trigger, in seconds: below zero when the
    /// trigger came first, nothing when no probe failed or was slow.
    pub(crate) probe_to_trigger_seconds: Option<f64>,
    /// From the first snapshot of all threads, or the first profile, to the trigger, in seconds.
    pub(crate) evidence_seconds: Option<f64>,
    /// The rank of the true cause, from 1.
    pub(crate) rank: Option<usize>,
    /// How sure it is.
    pub(crate) level: Option<String>,
    /// Causes that are at least likely and neither true nor said to be there as well. The hypervisor is true where it
    /// withheld much.
    pub(crate) wrong: Vec<String>,
    /// The share of the machine's CPU time that its hypervisor withheld in the break, by the lab's own look.
    #[serde(default)]
    pub(crate) withheld: f64,
    /// Statements a second that the clients of the break were answered.
    pub(crate) break_per_second: f64,
    /// The verdict in a sentence.
    pub(crate) sentence: String,
    /// What `fix` changed.
    pub(crate) remedy: Vec<String>,
    /// What the recorder cost the server, where that was measured.
    pub(crate) harm: Option<Overhead>,
    /// What `compare` says of the break and the time after the remedy: `worked`, `no-effect`, `worse`, `not-proven`.
    pub(crate) proof: Option<String>,
    /// The same of each step on the way to the remedy.
    pub(crate) stages: Vec<StageProof>,
}

/// What came of a step on the way to the remedy.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StageProof {
    /// What was done.
    pub(crate) what: String,
    /// The cause that should be gone by it.
    pub(crate) cause: String,
    /// As [`Outcome::proof`].
    pub(crate) proof: String,
}

impl Outcome {
    /// The true cause stands first, and nothing wrong is told confidently.
    pub(crate) fn passed(&self) -> bool {
        self.rank == Some(1)
            && self.wrong.is_empty()
            && self.proof.as_deref().is_none_or(|proof| proof == "worked")
            && self.stages.iter().all(|stage| stage.proof == "worked")
    }
}

/// Judges a break that began at `begin` by the first incident that was triggered in it.
pub(crate) fn judge(
    scenario: &Scenario,
    kind: ServerKind,
    begin: Timestamp,
    withheld: f64,
    incidents: &[PathBuf],
) -> Result<Outcome> {
    let mut outcome = Outcome {
        scenario: scenario.name.clone(),
        server: kind.name().to_owned(),
        incident: None,
        noticed_seconds: None,
        sign_to_trigger_seconds: None,
        probe_to_trigger_seconds: None,
        evidence_seconds: None,
        rank: None,
        level: None,
        wrong: Vec::new(),
        withheld,
        break_per_second: 0.0,
        sentence: String::new(),
        remedy: Vec::new(),
        harm: None,
        proof: None,
        stages: Vec::new(),
    };
    for path in incidents {
        let verdict = explain(path)?;
        // The machine may stall the server by itself; such an incident may end after the begin of the break.
        if time(&verdict, "trigger").is_some_and(|trigger| trigger >= begin) {
            measure(&mut outcome, path, &verdict, begin)?;
            outcome.incident = Some(path.clone());
            read_verdict(&mut outcome, scenario, &verdict);
            break;
        }
    }
    Ok(outcome)
}

/// Judges a run anew by its incident, which is there: the diagnosis may have learnt since.
pub(super) fn again(outcome: &mut Outcome, scenario: &Scenario) -> Result<()> {
    let Some(path) = outcome.incident.clone() else {
        return Ok(());
    };
    let verdict = explain(&path)?;
    if let (Some(trigger), Some(noticed)) = (time(&verdict, "trigger"), outcome.noticed_seconds) {
        let begin = trigger - SignedDuration::from_secs_f64(noticed);
        measure(outcome, &path, &verdict, begin)?;
    }
    read_verdict(outcome, scenario, &verdict);
    Ok(())
}

fn time(verdict: &Value, name: &str) -> Option<Timestamp> {
    verdict["incident"][name].as_str()?.parse().ok()
}

/// How fast it was noticed, and how far back the evidence goes.
fn measure(outcome: &mut Outcome, path: &Path, verdict: &Value, begin: Timestamp) -> Result<()> {
    let between = |from: Timestamp, to: Timestamp| to.duration_since(from).as_secs_f64();
    let incident = store::read_incident(path)?.incident;
    outcome.evidence_seconds = evidence_before_trigger(&incident);
    if let (Some(onset), Some(trigger)) = (time(verdict, "onset"), time(verdict, "trigger")) {
        let noticed = between(begin, trigger);
        let before = incident
            .stall
            .trigger
            .saturating_sub((noticed * 1000.0) as Millis);
        outcome.noticed_seconds = Some(noticed);
        outcome.sign_to_trigger_seconds = Some(between(onset, trigger));
        outcome.probe_to_trigger_seconds = slow_probe_to_trigger(&incident, before);
    }
    Ok(())
}

/// What is said of the true cause, and which others are named.
fn read_verdict(outcome: &mut Outcome, scenario: &Scenario, verdict: &Value) {
    let cause = &scenario.truth.cause;
    let rank = findings(verdict).position(|finding| finding["cause"] == **cause);
    let level = finding(verdict, cause).map(|finding| text(finding, "level"));
    outcome.rank = rank.map(|index| index + 1);
    outcome.level = level.map(str::to_owned);
    outcome.wrong = named(&scenario.truth, verdict)
        .into_iter()
        .filter(|named| named.role == Role::Wrong)
        .filter(|named| !testbed::machine_did_it_too(&named.cause, outcome.withheld))
        .map(|named| format!("{}: {}", named.level, named.cause))
        .collect();
    outcome.sentence = text(verdict, "sentence").to_owned();
}

/// A cause that a verdict names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Named {
    pub(crate) level: String,
    pub(crate) cause: String,
    pub(crate) role: Role,
}

/// What a named cause is where the true one is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    True,
    /// The verdict calls it an effect of the true cause, or of one of its effects.
    Effect,
    /// The scenario says that it is there as well, or the verdict calls it an effect of such a cause.
    Also,
    /// Neither, and no more than possible.
    Open,
    /// Neither, and at least likely.
    Wrong,
}

impl Display for Named {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            Role::True => ", the true one",
            Role::Effect => ", its effect",
            Role::Wrong => ", which is wrong",
            Role::Also | Role::Open => "",
        };
        write!(f, "{}: {}{role}", self.level, self.cause)
    }
}

/// What the answer of `explain` names, in its order.
pub(crate) fn named(truth: &Truth, verdict: &Value) -> Vec<Named> {
    let all: Vec<&Value> = findings(verdict).collect();
    let effects = effects_of(iter::once(truth.cause.as_str()), &all);
    let of_others = effects_of(truth.also.iter().map(String::as_str), &all);
    let role = |cause: &str, level: &str| {
        if cause == truth.cause {
            Role::True
        } else if effects.contains(cause) {
            Role::Effect
        } else if truth.expects(cause) || of_others.contains(cause) {
            Role::Also
        } else if level == "possible" {
            Role::Open
        } else {
            Role::Wrong
        }
    };
    findings(verdict)
        .map(|finding| (text(finding, "level"), text(finding, "cause")))
        .map(|(level, cause)| Named {
            level: level.to_owned(),
            cause: cause.to_owned(),
            role: role(cause, level),
        })
        .collect()
}

/// What the incidents that were triggered then or later name, and nothing of it twice.
pub(crate) fn named_since(
    truth: &Truth,
    incidents: &[PathBuf],
    from: Timestamp,
) -> Result<Vec<Named>> {
    let mut all = Vec::new();
    for path in incidents {
        let verdict = explain(path)?;
        if time(&verdict, "trigger").is_none_or(|trigger| trigger < from) {
            continue;
        }
        for one in named(truth, &verdict) {
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }
    Ok(all)
}

/// What the answer of `explain` says of this cause.
pub(crate) fn finding<'v>(verdict: &'v Value, cause: &str) -> Option<&'v Value> {
    findings(verdict).find(|finding| finding["cause"] == cause)
}

fn findings(verdict: &Value) -> impl Iterator<Item = &Value> {
    ["findings", "folded"]
        .into_iter()
        .filter_map(|list| verdict[list].as_array())
        .flatten()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// What the verdict itself calls an effect of these causes, or of one of their effects: it is there, and it is not
/// told as a cause of the stall.
fn effects_of<'a>(
    causes: impl Iterator<Item = &'a str>,
    findings: &[&'a Value],
) -> BTreeSet<&'a str> {
    let mut effects = BTreeSet::new();
    let mut causes: Vec<&str> = causes.collect();
    while let Some(cause) = causes.pop() {
        for finding in findings {
            let is_effect = finding["relations"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|relation| relation["kind"] == "effect-of" && relation["cause"] == cause);
            if let Some(effect) = finding["cause"].as_str()
                && is_effect
                && effects.insert(effect)
            {
                causes.push(effect);
            }
        }
    }
    effects
}

/// How long before the trigger the stacks begin, in seconds.
fn evidence_before_trigger(incident: &Incident) -> Option<f64> {
    let snapshots = incident.stacks.snapshots.iter().map(|note| note.at);
    let profiles = incident.stacks.profiles.iter().map(|profile| profile.from);
    let first = snapshots.chain(profiles).min()?;
    Some((incident.stall.trigger as f64 - first as f64) / 1000.0)
}

/// From the begin of the first probe after `from` that failed or was slow to the trigger, in seconds. The limit is
/// that of the recorder.
fn slow_probe_to_trigger(incident: &Incident, from: Millis) -> Option<f64> {
    let limit_us = detect::Config::default().probe_limit_ms as f64 * 1000.0;
    let points = |name: String| {
        let series = incident.timeline.get(&name);
        let window = Window {
            from,
            to: incident.window.to,
        };
        series.map(|series| incident.timeline.points_in(series, window))
    };
    let mut begins = Vec::new();
    for probe in ["query", "connect"] {
        for what in ["us", "waiting_us"] {
            let slow = points(format!("probe.{probe}_{what}"))
                .into_iter()
                .flatten()
                .filter(|(_, us)| *us >= limit_us);
            begins.extend(slow.map(|(at, us)| at as f64 - us / 1000.0));
        }
        let failed = points(format!("probe.{probe}_outcome"))
            .into_iter()
            .flatten()
            .filter(|(_, code)| {
                ProbeOutcome::from_code(*code).is_some_and(ProbeOutcome::is_stall_sign)
            });
        begins.extend(failed.map(|(at, _)| at as f64));
    }
    let first = begins.into_iter().min_by(f64::total_cmp)?;
    Some((incident.stall.trigger as f64 - first) / 1000.0)
}

#[cfg(test)]
mod tests {
    use model::{Reading, SignalKind, Timeline, Unit};
    use testbed::{IncidentSize, made_incident};

    use super::*;

    /// A made incident whose probes are these: milliseconds after the trigger, signal, value.
    fn probed(points: &[(i64, &'static str, f64)]) -> Incident {
        let mut incident = made_incident(&IncidentSize::small());
        incident.timeline = Timeline::default();
        for (after, name, value) in points {
            let reading = Reading {
                name: (*name).into(),
                unit: Unit::Count,
                kind: SignalKind::Gauge,
                value: *value,
            };
            let at = incident.stall.trigger.checked_add_signed(*after).unwrap();
            incident.timeline.push_readings("probe", at, &[reading]);
        }
        incident
    }

    #[test]
    fn the_first_probe_of_the_break_that_failed_or_was_slow_counts_from_its_begin() {
        let from = |incident: &Incident| incident.stall.trigger - 5000;
        let ok = (-4000, "probe.query_us", 300.0);
        let earlier = (-9000, "probe.query_us", 900_000.0);
        let incident = probed(&[earlier, ok]);
        assert_eq!(slow_probe_to_trigger(&incident, from(&incident)), None);

        // Asked 1.6 s before the trigger, and not answered after 0.6 s.
        let waiting = (-1000, "probe.query_waiting_us", 600_000.0);
        let answered = (500, "probe.query_us", 2_100_000.0);
        let incident = probed(&[earlier, ok, waiting, answered]);
        let seconds = slow_probe_to_trigger(&incident, from(&incident));
        assert_eq!(seconds, Some(1.6));

        let refused = ProbeOutcome::Refused.code();
        let incident = probed(&[ok, (250, "probe.connect_outcome", refused)]);
        let seconds = slow_probe_to_trigger(&incident, from(&incident));
        assert_eq!(seconds, Some(-0.25), "the trigger came first");
    }

    #[test]
    fn effects_of_effects_are_effects_and_others_are_not() {
        let finding = |cause: &str, of: &str| serde_json::json!({"cause": cause, "relations": [{"kind": "effect-of", "cause": of}]});
        let findings = [
            finding("page-latch", "index-latch"),
            finding("index-latch", "fsync"),
            finding("fsync", "nothing"),
            finding("threads", "another"),
        ];
        let effects = effects_of(["fsync"].into_iter(), &findings.each_ref());
        assert_eq!(
            effects.into_iter().collect::<Vec<_>>(),
            ["index-latch", "page-latch"]
        );
    }

    #[test]
    fn what_is_likely_and_neither_expected_nor_an_effect_is_wrong() {
        let finding = |cause: &str, level: &str, of: &str| serde_json::json!({"cause": cause, "level": level, "relations": [{"kind": "effect-of", "cause": of}]});
        let verdict = serde_json::json!({
            "findings": [
                finding("fsync", "certain", ""),
                finding("disk-full", "likely", ""),
                finding("swap", "possible", ""),
            ],
            "folded": [
                finding("threads", "likely", ""),
                finding("index-latch", "certain", "fsync"),
                finding("page-latch", "certain", "index-latch"),
                finding("row-locks", "likely", "threads"),
                finding("full-pool", "likely", "disk-full"),
            ],
        });
        let truth = Truth {
            cause: "fsync".to_owned(),
            also: vec!["threads".to_owned()],
            through: Vec::new(),
        };
        let named = named(&truth, &verdict);
        let words: Vec<String> = named.iter().map(Named::to_string).collect();
        assert_eq!(
            words,
            [
                "certain: fsync, the true one",
                "likely: disk-full, which is wrong",
                "possible: swap",
                "likely: threads",
                "certain: index-latch, its effect",
                "certain: page-latch, its effect",
                "likely: row-locks",
                "likely: full-pool, which is wrong",
            ]
        );
    }
}
