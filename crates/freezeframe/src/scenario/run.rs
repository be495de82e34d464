//! One run of a scenario: break, watch from outside, judge.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use lab::{PrivateServer, Scenario, ServerKind, SlowSync};
use serde::Serialize;
use serde_json::Value;

use super::steps::{load, take, undo};
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
}

impl Outcome {
    /// The true cause stands first, and nothing wrong is told confidently.
    pub(crate) fn passed(&self) -> bool {
        self.rank == Some(1) && self.wrong.is_empty()
    }
}

/// Runs a scenario on a server of its own.
pub(super) fn run(
    scenario: &Scenario,
    kind: ServerKind,
    dir: &Path,
    quiet: bool,
) -> Result<Outcome> {
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let scratch = tempfile::tempdir()?;
    let slow = scenario
        .slow_sync
        .then(|| SlowSync::build(scratch.path()))
        .transpose()?;
    let mut environment: Vec<(String, String)> = scenario.environment.clone().into_iter().collect();
    environment.extend(slow.iter().flat_map(SlowSync::environment));
    let server = PrivateServer::start(&lab::Options {
        kind,
        arguments: scenario.arguments.clone(),
        environment,
        ..lab::Options::default()
    })?;
    for mix in lab::MIXES {
        mix.prepare(&server.login())?;
    }
    lab::say(&server.login(), &scenario.prepare, PREPARE_TIMEOUT)?;
    let mut options = vec!["--after", AFTER];
    if let Some(trigger) = &scenario.trigger {
        options.extend(["--trigger", trigger]);
    }
    let mut recorder = Recorder::start(&server, dir, CONFIG, &options)?;
    if quiet {
        recorder.quiet();
    }
    let break_length = Duration::from_secs(scenario.seconds);
    let bound = HEALTHY + break_length + WRITTEN_MAX;
    let usual = Background::start(load(&server, &scenario.healthy, bound)?)?;
    recorder.wait(HEALTHY, |_| false)?;
    recorder.wait(WRITTEN_MAX, |recorder| !recorder.in_stall())?;
    let earlier = recorder.incidents().len();

    let begin = Timestamp::now();
    let mut taken = Vec::new();
    for step in &scenario.steps {
        taken.push(take(step, &server, slow.as_ref(), bound)?);
    }
    let rest = break_length.saturating_sub(since(begin));
    recorder.wait(rest, |_| false)?;
    for step in taken.into_iter().rev() {
        undo(step)?;
    }
    let written = |recorder: &Recorder| recorder.incidents().len() > earlier;
    if recorder.in_stall() || written(&recorder) {
        recorder.wait(WRITTEN_MAX, |recorder| {
            written(recorder) && !recorder.in_stall()
        })?;
    }
    usual.end()?;
    let incidents = recorder
        .incidents()
        .get(earlier..)
        .unwrap_or_default()
        .to_vec();
    recorder.stop()?;
    judge(scenario, kind, begin, &incidents)
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
