//! One run of a scenario: break, watch from outside, judge.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use lab::{Help, Scenario, ServerKind, Step};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::harm::Harm;
use super::prove;
use super::stage::Stage;
use super::steps::{Scene, load, take, undo_all};
use crate::background::Background;
use crate::cascade;
use crate::lab_recorder::{Recorder, explain};

/// Ordinary load before the break: what is usual must be known.
const HEALTHY: Duration = Duration::from_secs(22);

/// The same where time matters more: a baseline needs 10 s.
const HEALTHY_BRIEF: Duration = Duration::from_secs(12);

/// The longest break where time matters more.
const BREAK_BRIEF: Duration = Duration::from_secs(8);

/// How long the incident may take after the break: quiet, the time kept after it, writing.
const WRITTEN_MAX: Duration = Duration::from_secs(90);

pub(crate) const CONFIG: &str =
    "[detect]\ncool_down_seconds = 1\nincidents_per_hour = 1000\n[incident]\nmax_seconds = 60\n";
pub(crate) const AFTER: &str = "3s";

/// Between the remedy and the second look: what was queued has left.
const SETTLE: Duration = Duration::from_secs(8);

/// How long the time after the remedy is looked at: a comparison needs so much.
const PROOF: Duration = Duration::from_secs(45);

/// How long a break lasts at least that is compared: few seconds that depend on each other prove nothing.
const COMPARED: Duration = Duration::from_secs(30);

/// How to run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Print nothing but the result.
    pub(super) quiet: bool,
    /// Help, and prove that it helped.
    pub(super) prove: bool,
    /// As short as it can be.
    pub(super) brief: bool,
}

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
    /// From the first snapshot of all threads, or the first profile, to the trigger, in seconds.
    pub(crate) evidence_seconds: Option<f64>,
    /// The rank of the true cause, from 1.
    pub(crate) rank: Option<usize>,
    /// How sure it is.
    pub(crate) level: Option<String>,
    /// Causes that are at least likely and neither true nor said to be there as well.
    pub(crate) wrong: Vec<String>,
    /// Statements a second that the clients of the break were answered.
    pub(crate) break_per_second: f64,
    /// The verdict in a sentence.
    pub(crate) sentence: String,
    /// What `fix` changed.
    pub(crate) remedy: Vec<String>,
    /// What the recorder cost the server, where that was measured.
    pub(crate) harm: Option<Harm>,
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

/// Runs a scenario on a server of its own.
pub(super) fn run(
    scenario: &Scenario,
    kind: ServerKind,
    dir: &Path,
    options: Options,
) -> Result<Outcome> {
    if options.prove && scenario.restart.is_some() {
        return cascade::prove(scenario, kind, dir, options.quiet);
    }
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let stage = Stage::set(std::slice::from_ref(scenario), kind)?;
    let set_up = stage.set_up(scenario)?;
    stage.prepare(std::slice::from_ref(scenario))?;
    let (server, scene) = (&stage.server, stage.scene());
    let mut arguments = vec!["--after", AFTER];
    if let Some(trigger) = &scenario.trigger {
        arguments.extend(["--trigger", trigger]);
    }
    let mut recorder = Recorder::start(server, dir, CONFIG, &arguments)?;
    if options.quiet {
        recorder.quiet();
    }
    let (healthy, break_max) = if options.brief {
        (HEALTHY_BRIEF, BREAK_BRIEF)
    } else {
        (HEALTHY, Duration::MAX)
    };
    let proves = scenario.remedy.filter(|_| options.prove);
    let break_length = Duration::from_secs(scenario.seconds).min(break_max);
    let break_length = match proves {
        Some(_) => break_length.max(COMPARED),
        None => break_length,
    };
    let bound = HEALTHY + break_length + PROOF + 3 * WRITTEN_MAX;
    let usual = Background::start(load(server, &scenario.healthy, bound)?)?;
    recorder.wait(healthy, |_| false)?;
    recorder.wait(WRITTEN_MAX, |recorder| !recorder.in_stall())?;
    let earlier = recorder.incidents().len();

    let span = break_it(&scenario.steps, break_length, scene, &mut recorder)?;
    let written = |recorder: &Recorder| recorder.incidents().len() > earlier;
    if recorder.in_stall() || written(&recorder) {
        recorder.wait(WRITTEN_MAX, |recorder| {
            written(recorder) && !recorder.in_stall()
        })?;
    }
    let incidents = recorder
        .incidents()
        .get(earlier..)
        .unwrap_or_default()
        .to_vec();
    let mut outcome = judge(scenario, kind, span.from, &incidents)?;
    let length = span.to.duration_since(span.from).as_secs_f64();
    outcome.break_per_second = span.statements as f64 / length.max(0.001);
    if outcome.incident.is_none() {
        outcome.sentence = format!(
            "not noticed; the break's clients were answered {:.0} statements a second",
            outcome.break_per_second
        );
    }
    if let (Some(help), Some(incident)) = (proves, outcome.incident.clone()) {
        let fixes = stage.fixes()?;
        if help == Help::Fix {
            outcome.remedy = fixes.apply(&incident, &scenario.truth.cause)?;
        }
        let mut stages = Vec::new();
        for then in &scenario.then {
            recorder.wait(SETTLE, |_| false)?;
            stages.push((then, break_it(&then.steps, PROOF, scene, &mut recorder)?));
            recorder.wait(WRITTEN_MAX, |recorder| !recorder.in_stall())?;
        }
        recorder.wait(SETTLE, |_| false)?;
        let after = match help {
            Help::Fix => break_it(&scenario.steps, PROOF, scene, &mut recorder)?,
            Help::Gone => {
                let from = Timestamp::now();
                recorder.wait(PROOF, |_| false)?;
                Span {
                    from,
                    to: Timestamp::now(),
                    statements: 0,
                }
            }
        };
        recorder.wait(WRITTEN_MAX, |recorder| !recorder.in_stall())?;
        usual.end()?;
        recorder.stop()?;
        outcome.proof = Some(prove::compare(
            &span,
            &after,
            dir,
            server,
            &scenario.truth.cause,
        )?);
        for (then, after) in &stages {
            let verdict = prove::compare(&span, after, dir, server, &then.cause)?;
            outcome.stages.push(StageProof {
                what: then.what.clone(),
                cause: then.cause.clone(),
                proof: verdict,
            });
        }
        fixes.undo()?;
    } else {
        usual.end()?;
        recorder.stop()?;
    }
    stage.tear_down(set_up)?;
    stage.end()?;
    Ok(outcome)
}

/// From when to when something was so.
pub(super) struct Span {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// What the clients of the break were answered.
    pub(super) statements: u64,
}

/// Makes the break and takes it back.
fn break_it(
    steps: &[Step],
    length: Duration,
    scene: Scene,
    recorder: &mut Recorder,
) -> Result<Span> {
    let from = Timestamp::now();
    let mut taken = Vec::new();
    for step in steps {
        taken.push(take(step, scene, length + WRITTEN_MAX)?);
    }
    recorder.wait(length.saturating_sub(since(from)), |_| false)?;
    let to = Timestamp::now();
    let statements: u64 = undo_all(taken)?
        .iter()
        .map(|result| result.statements)
        .sum();
    Ok(Span {
        from,
        to,
        statements,
    })
}

fn since(begin: Timestamp) -> Duration {
    Duration::try_from(Timestamp::now().duration_since(begin)).unwrap_or_default()
}

/// What the verdict itself calls an effect of this cause, or of one of its effects: it is there, and it is not
/// told as a cause of the stall.
fn effects_of<'a>(cause: &'a str, findings: &[&'a Value]) -> BTreeSet<&'a str> {
    let mut effects = BTreeSet::new();
    let mut causes = vec![cause];
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
fn evidence_before_trigger(incident: &Path) -> Result<Option<f64>> {
    let incident = store::read_frame(incident)?.incident;
    let snapshots = incident.stacks.snapshots.iter().map(|note| note.at);
    let profiles = incident.stacks.profiles.iter().map(|profile| profile.from);
    let first = snapshots.chain(profiles).min();
    Ok(first.map(|first| (incident.stall.trigger as f64 - first as f64) / 1000.0))
}

pub(crate) fn judge(
    scenario: &Scenario,
    kind: ServerKind,
    begin: Timestamp,
    incidents: &[PathBuf],
) -> Result<Outcome> {
    let mut outcome = Outcome {
        scenario: scenario.name.clone(),
        server: kind.name().to_owned(),
        incident: None,
        noticed_seconds: None,
        sign_to_trigger_seconds: None,
        evidence_seconds: None,
        rank: None,
        level: None,
        wrong: Vec::new(),
        break_per_second: 0.0,
        sentence: String::new(),
        remedy: Vec::new(),
        harm: None,
        proof: None,
        stages: Vec::new(),
    };
    // The machine may stall the server by itself; such an incident may end after the begin of the break.
    let time = |verdict: &Value, name: &str| {
        verdict["incident"][name]
            .as_str()?
            .parse::<Timestamp>()
            .ok()
    };
    let mut found = None;
    for path in incidents {
        let verdict = explain(path)?;
        if time(&verdict, "trigger").is_some_and(|trigger| trigger >= begin) {
            found = Some((path.clone(), verdict));
            break;
        }
    }
    let Some((path, verdict)) = found else {
        return Ok(outcome);
    };
    outcome.evidence_seconds = evidence_before_trigger(&path)?;
    outcome.incident = Some(path);
    let between = |from: Timestamp, to: Timestamp| to.duration_since(from).as_secs_f64();
    if let (Some(onset), Some(trigger)) = (time(&verdict, "onset"), time(&verdict, "trigger")) {
        outcome.noticed_seconds = Some(between(begin, trigger));
        outcome.sign_to_trigger_seconds = Some(between(onset, trigger));
    }
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let findings: Vec<&Value> = ["findings", "folded"]
        .into_iter()
        .filter_map(|list| verdict[list].as_array())
        .flatten()
        .collect();
    let truth = &scenario.truth;
    let effects = effects_of(&truth.cause, &findings);
    for (index, finding) in findings.iter().enumerate() {
        let cause = text(finding, "cause");
        let level = text(finding, "level");
        if cause == truth.cause {
            outcome.rank = Some(index + 1);
            outcome.level = Some(level);
        } else if level != "possible"
            && !truth.also.contains(&cause)
            && !effects.contains(cause.as_str())
        {
            outcome.wrong.push(format!("{level}: {cause}"));
        }
    }
    outcome.sentence = text(&verdict, "sentence");
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_of_effects_are_effects_and_others_are_not() {
        let finding = |cause: &str, of: &str| serde_json::json!({"cause": cause, "relations": [{"kind": "effect-of", "cause": of}]});
        let findings = [
            finding("page-latch", "index-latch"),
            finding("index-latch", "fsync"),
            finding("fsync", "nothing"),
            finding("threads", "another"),
        ];
        let effects = effects_of("fsync", &findings.each_ref());
        assert_eq!(
            effects.into_iter().collect::<Vec<_>>(),
            ["index-latch", "page-latch"]
        );
    }
}
