//! One run of a scenario: break, watch from outside, judge.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use lab::{Help, PrivateServer, Scenario, ServerKind, SlowSync, Step};
use serde::Serialize;
use serde_json::Value;

use super::host::Host;
use super::prove::{self, Fixes};
use super::steps::{Scene, Taken, load, take, undo};
use crate::background::Background;
use crate::lab_recorder::{Recorder, explain};

/// Ordinary load before the break: what is usual must be known.
const HEALTHY: Duration = Duration::from_secs(22);

/// How long the incident may take after the break: quiet, the time kept after it, writing.
const WRITTEN_MAX: Duration = Duration::from_secs(90);

const PREPARE_TIMEOUT: Duration = Duration::from_secs(120);

const CONFIG: &str =
    "[detect]\ncool_down_seconds = 1\nincidents_per_hour = 1000\n[incident]\nmax_seconds = 60\n";
const AFTER: &str = "3s";

/// Between the remedy and the second look: what was queued has left.
const SETTLE: Duration = Duration::from_secs(8);

/// How long the time after the remedy is looked at: a comparison needs so much.
const PROOF: Duration = Duration::from_secs(45);

/// How long a break lasts at least that is compared: few seconds that depend on each other prove nothing.
const COMPARED: Duration = Duration::from_secs(30);

/// What the run changes on the host goes back after this at the latest.
const LONGEST: Duration = Duration::from_secs(20 * 60);

/// How to run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Print nothing but the result.
    pub(super) quiet: bool,
    /// Help, and prove that it helped.
    pub(super) prove: bool,
}

/// What came of it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Outcome {
    pub(crate) scenario: String,
    pub(crate) server: &'static str,
    /// The incident, when the stall was noticed.
    pub(crate) incident: Option<PathBuf>,
    /// From the begin of the break to the trigger, in seconds.
    pub(crate) noticed_seconds: Option<f64>,
    /// From the first sign to the trigger, in seconds.
    pub(crate) sign_to_trigger_seconds: Option<f64>,
    /// The rank of the true cause, from 1.
    pub(crate) rank: Option<usize>,
    /// How sure it is.
    pub(crate) level: Option<String>,
    /// Causes that are at least likely and neither true nor said to be there as well.
    pub(crate) wrong: Vec<String>,
    /// The verdict in a sentence.
    pub(crate) sentence: String,
    /// What `fix` changed.
    pub(crate) remedy: Vec<String>,
    /// What `compare` says of the break and the time after the remedy: `worked`, `no-effect`, `worse`, `not-proven`.
    pub(crate) proof: Option<String>,
    /// The same of each step on the way to the remedy.
    pub(crate) stages: Vec<StageProof>,
}

/// What came of a step on the way to the remedy.
#[derive(Debug, Clone, Serialize)]
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
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let scratch = tempfile::tempdir()?;
    let slow = scenario
        .slow_sync
        .then(|| SlowSync::build(scratch.path()))
        .transpose()?;
    let touches_host = scenario.own_disk_mib.is_some() || scenario.host_steps().next().is_some();
    // Before the server, so that it goes after it.
    let host = touches_host
        .then(|| Host::begin(scenario, scratch.path(), LONGEST))
        .transpose()?;
    let mut environment: Vec<(String, String)> = scenario.environment.clone().into_iter().collect();
    environment.extend(slow.iter().flat_map(SlowSync::environment));
    let server = PrivateServer::start(&lab::Options {
        kind,
        arguments: scenario.arguments.clone(),
        environment,
        base: host.as_ref().and_then(Host::disk),
        ..lab::Options::default()
    })?;
    if let Some(host) = &host {
        host.group(scenario, &server)?;
    }
    let scene = Scene {
        server: &server,
        slow: slow.as_ref(),
        host: host.as_ref(),
        scratch: scratch.path(),
    };
    let mut set_up: Vec<Taken> = Vec::new();
    for step in &scenario.setup {
        set_up.push(take(step, scene, LONGEST)?);
    }
    for mix in lab::MIXES {
        mix.prepare(&server.login())?;
    }
    lab::say(&server.login(), &scenario.prepare, PREPARE_TIMEOUT)?;
    let mut arguments = vec!["--after", AFTER];
    if let Some(trigger) = &scenario.trigger {
        arguments.extend(["--trigger", trigger]);
    }
    let mut recorder = Recorder::start(&server, dir, CONFIG, &arguments)?;
    if options.quiet {
        recorder.quiet();
    }
    let proves = scenario.remedy.filter(|_| options.prove);
    let break_length = Duration::from_secs(scenario.seconds);
    let break_length = match proves {
        Some(_) => break_length.max(COMPARED),
        None => break_length,
    };
    let bound = HEALTHY + break_length + PROOF + 3 * WRITTEN_MAX;
    let usual = Background::start(load(&server, &scenario.healthy, bound)?)?;
    recorder.wait(HEALTHY, |_| false)?;
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
    if let (Some(help), Some(incident)) = (proves, outcome.incident.clone()) {
        let fixes = Fixes::new(scratch.path(), &server)?;
        if let Some(host) = &host {
            host.add_fixes(fixes.dir())?;
        }
        if help == Help::Fix {
            outcome.remedy = fixes.apply(&incident, &scenario.truth.cause)?;
        }
        let mut stages = Vec::new();
        for stage in &scenario.then {
            recorder.wait(SETTLE, |_| false)?;
            stages.push((stage, break_it(&stage.steps, PROOF, scene, &mut recorder)?));
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
            &server,
            &scenario.truth.cause,
        )?);
        for (stage, after) in &stages {
            let verdict = prove::compare(&span, after, dir, &server, &stage.cause)?;
            outcome.stages.push(StageProof {
                what: stage.what.clone(),
                cause: stage.cause.clone(),
                proof: verdict,
            });
        }
        fixes.undo()?;
    } else {
        usual.end()?;
        recorder.stop()?;
    }
    for step in set_up.into_iter().rev() {
        undo(step)?;
    }
    drop(server);
    if let Some(host) = host {
        host.end()?;
    }
    Ok(outcome)
}

/// From when to when something was so.
pub(super) struct Span {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
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
    for step in taken.into_iter().rev() {
        undo(step)?;
    }
    Ok(Span { from, to })
}

fn since(begin: Timestamp) -> Duration {
    Duration::try_from(Timestamp::now().duration_since(begin)).unwrap_or_default()
}

fn judge(
    scenario: &Scenario,
    kind: ServerKind,
    begin: Timestamp,
    incidents: &[PathBuf],
) -> Result<Outcome> {
    let mut outcome = Outcome {
        scenario: scenario.name.clone(),
        server: kind.name(),
        incident: None,
        noticed_seconds: None,
        sign_to_trigger_seconds: None,
        rank: None,
        level: None,
        wrong: Vec::new(),
        sentence: "not noticed".to_owned(),
        remedy: Vec::new(),
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
    for (index, finding) in findings.iter().enumerate() {
        let cause = text(finding, "cause");
        let level = text(finding, "level");
        if cause == truth.cause {
            outcome.rank = Some(index + 1);
            outcome.level = Some(level);
        } else if level != "possible" && !truth.also.contains(&cause) {
            outcome.wrong.push(format!("{level}: {cause}"));
        }
    }
    outcome.sentence = text(&verdict, "sentence");
    Ok(outcome)
}
