//! One run of a scenario: break, watch from outside.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use testbed::{Help, Scenario, ServerKind, Step, Withheld};

use super::judge::{Outcome, StageProof, judge};
use super::stage::{Stage, start_recorder};
use super::steps::{Scene, take, undo_all};
use super::traffic::load;
use super::verification::{self, Span};
use crate::background::Background;
use crate::cascade;
use crate::product::{Recorder, longest_since};

/// Ordinary load before the break: what is usual must be known.
const HEALTHY: Duration = Duration::from_secs(22);

/// The same where time matters more: a baseline needs 10 s.
const HEALTHY_BRIEF: Duration = Duration::from_secs(12);

/// The longest break where time matters more.
const BREAK_BRIEF: Duration = Duration::from_secs(8);

/// How long the incident may take after the break: quiet, the time kept after it, writing.
const WRITTEN_MAX: Duration = Duration::from_secs(90);

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
    let mut stage = Stage::set(std::slice::from_ref(scenario), kind)?;
    let set_up = stage.set_up(scenario)?;
    stage.prepare(std::slice::from_ref(scenario))?;
    let (server, scene) = (&stage.server, stage.scene());
    let trigger = scenario.trigger.as_deref();
    let mut recorder = start_recorder(server, dir, trigger)?;
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

    let withheld = Withheld::start();
    let span = break_it(&scenario.steps, break_length, scene, &mut recorder)?;
    let withheld = withheld.share();
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
    let mut outcome = judge(scenario, kind, span.from, withheld, &incidents)?;
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
        let again = match (help, scenario.instead.is_empty()) {
            (_, false) => Some(&scenario.instead),
            (Help::Fix, true) => Some(&scenario.steps),
            (Help::Gone, true) => None,
        };
        let after = match again {
            Some(steps) => break_it(steps, PROOF, scene, &mut recorder)?,
            None => {
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
        let noticed = longest_since(recorder.incidents(), after.from)?;
        recorder.stop()?;
        let cause = &scenario.truth.cause;
        outcome.proof = Some(match noticed.filter(|_| again.is_some()) {
            Some(again) => verification::compare_incidents(&incident, &again, dir, cause)?,
            None => verification::compare(&span, &after, dir, server, cause)?,
        });
        for (then, after) in &stages {
            let verdict = verification::compare(&span, after, dir, server, &then.cause)?;
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
