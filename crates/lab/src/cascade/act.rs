//! One act: break, name, try in vain what is said to help, do what helps, prove it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use testbed::{Help, Scenario, Truth};

use super::world::{Broken, World, directory, written};
use crate::background::Background;
use crate::product::{Recorder, compare, explain, longest_since};
use crate::scenario::judge::{self, Named, Outcome, Role, judge};
use crate::scenario::stage::start_recorder;
use crate::scenario::traffic::load;

/// Ordinary load before the break: what is usual must be known.
const HEALTHY: Duration = Duration::from_secs(15);

/// After a change: what was queued has left, a server that was started anew is warm.
const SETTLE: Duration = Duration::from_secs(6);

/// How long the incident may take after the break: quiet, the time kept after it, writing.
const WRITTEN_MAX: Duration = Duration::from_secs(60);

const SAY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a restarted server may take to become warm.
const WARM_TIMEOUT: Duration = Duration::from_secs(180);

/// What an act came to.
#[derive(Debug, Serialize)]
pub(super) struct ActResult {
    pub(super) what: String,
    pub(super) cause: String,
    pub(super) outcome: Outcome,
    /// What `explain` says of the true cause, where it named it.
    pub(super) finding: Option<Value>,
    /// The same of the causes that lead to it.
    pub(super) through: Vec<Through>,
    pub(super) named: Vec<Named>,
    pub(super) before: Measured,
    pub(super) in_vain: Vec<Trial>,
    pub(super) remedy: Option<Trial>,
}

/// A cause that must be named as an effect of the true one.
#[derive(Debug, Serialize)]
pub(super) struct Through {
    pub(super) cause: String,
    /// What `explain` says of it, where it is named as such an effect, and at least likely.
    pub(super) finding: Option<Value>,
}

/// How the server did in a break.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Measured {
    pub(super) statements_per_second: Option<f64>,
    pub(super) p95_us: Option<f64>,
    pub(super) resident_bytes: u64,
}

/// A change, and the same break after it.
#[derive(Debug, Serialize)]
pub(super) struct Trial {
    pub(super) what: String,
    /// What was changed, in words.
    pub(super) changes: Vec<String>,
    pub(super) after: Option<Measured>,
    /// The incident of the break after it, where one was written.
    pub(super) incident: Option<PathBuf>,
    /// What that incident names.
    pub(super) named: Vec<Named>,
    /// What `compare` says.
    pub(super) comparison: Value,
    /// The same of the causes that lead to it, in their order.
    pub(super) through: Vec<Value>,
}

impl ActResult {
    /// What was changed, one after the other.
    pub(super) fn trials(&self) -> impl Iterator<Item = &Trial> {
        self.in_vain.iter().chain(&self.remedy)
    }
}

impl Trial {
    pub(super) fn verdict(&self) -> &str {
        verdict(&self.comparison)
    }
}

/// The verdict of a comparison.
pub(super) fn verdict(comparison: &Value) -> &str {
    comparison["verdict"].as_str().unwrap_or("not-proven")
}

impl From<&Broken> for Measured {
    fn from(broken: &Broken) -> Self {
        Self {
            statements_per_second: broken.statements_per_second,
            p95_us: broken.p95_us,
            resident_bytes: broken.resident_bytes,
        }
    }
}

/// What is broken: the break, its incidents.
struct Break {
    broken: Broken,
    incidents: Vec<PathBuf>,
}

/// What is changed between two breaks.
struct Change<'a> {
    what: &'a str,
    changes: Vec<String>,
    /// Causes that it makes.
    also: &'a [String],
}

impl<'a> Change<'a> {
    fn new(what: &'a str, changes: Vec<String>) -> Self {
        Self {
            what,
            changes,
            also: &[],
        }
    }
}

/// The stage of one act.
struct Stage<'a> {
    act: &'a Scenario,
    dir: &'a Path,
    recorder: Recorder,
    quiet: bool,
}

pub(super) fn run(world: &mut World, act: &Scenario, dir: &Path, quiet: bool) -> Result<ActResult> {
    directory(dir)?;
    world.become_like(&act.arguments, &act.environment)?;
    let set_up = world.stage.set_up(act)?;
    let mut recorder = start_recorder(&world.stage.server, dir, act.trigger.as_deref())?;
    if quiet {
        recorder.quiet();
    }
    let mut stage = Stage {
        act,
        dir,
        recorder,
        quiet,
    };
    // Long enough for all breaks of this act.
    let breaks = 2 + u32::try_from(act.in_vain.len()).unwrap_or(0);
    let usual = Background::start(load(
        &world.stage.server,
        &act.healthy,
        HEALTHY + breaks * (Duration::from_secs(act.seconds) + SETTLE + WRITTEN_MAX),
    )?)?;
    stage.recorder.wait(HEALTHY, |_| false)?;
    stage
        .recorder
        .wait(WRITTEN_MAX, |recorder| !recorder.in_stall())?;

    let withheld = testbed::Withheld::start();
    let first = stage.break_it(world)?;
    let mut outcome = judge(
        act,
        world.kind,
        first.broken.from,
        withheld.share(),
        &first.incidents,
    )?;
    let verdict = match &outcome.incident {
        Some(path) => explain(path)?,
        None => Value::Null,
    };
    let mut told = ActResult {
        what: act.what.clone(),
        cause: act.truth.cause.clone(),
        through: through(&act.truth, &verdict),
        finding: judge::finding(&verdict, &act.truth.cause).cloned(),
        named: judge::named_since(&act.truth, &first.incidents, first.broken.from)?,
        before: Measured::from(&first.broken),
        in_vain: Vec::new(),
        remedy: None,
        outcome: outcome.clone(),
    };
    if let Some(incident) = outcome.incident.clone() {
        for vain in &act.in_vain {
            let login = world.stage.server.login();
            testbed::say(&login, &vain.statements, SAY_TIMEOUT)?;
            stage.recorder.wait(SETTLE, |_| false)?;
            let again = stage.break_it(world)?;
            testbed::say(&login, &vain.undo, SAY_TIMEOUT)?;
            told.in_vain.push(stage.trial(
                world,
                Change {
                    what: &vain.what,
                    changes: vain.statements.clone(),
                    also: &vain.also,
                },
                &first,
                &again,
                &incident,
            )?);
        }
        told.remedy = stage.help(world, &first, &incident)?;
    }
    usual.end()?;
    stage.recorder.stop()?;
    world.stage.tear_down(set_up)?;
    if let Some(remedy) = &told.remedy {
        outcome.remedy = remedy.changes.clone();
        outcome.proof = Some(remedy.verdict().to_owned());
    }
    told.outcome = outcome;
    Ok(told)
}

impl Stage<'_> {
    fn break_it(&mut self, world: &World) -> Result<Break> {
        let length = Duration::from_secs(self.act.seconds);
        let earlier = self.recorder.incidents().len();
        let broken = world.break_it(self.act, length, length + WRITTEN_MAX, &mut self.recorder)?;
        let incidents = written(&mut self.recorder, earlier, WRITTEN_MAX)?;
        Ok(Break { broken, incidents })
    }

    /// What helps, and its proof.
    fn help(&mut self, world: &mut World, first: &Break, incident: &Path) -> Result<Option<Trial>> {
        if let Some(restart) = &self.act.restart {
            let environment = match &restart.allocator {
                Some(name) => world.allocator(name)?,
                None => BTreeMap::new(),
            };
            world.become_like(&restart.arguments, &environment)?;
            testbed::say(&world.stage.server.login(), &restart.warm, WARM_TIMEOUT)?;
            let mut changes = restart.arguments.clone();
            changes.extend(
                environment
                    .iter()
                    .map(|(name, value)| format!("{name}={value}")),
            );
            changes.push("restart".to_owned());
            self.recorder.wait(SETTLE, |_| false)?;
            let again = self.break_it(world)?;
            let change = Change::new(&restart.what, changes);
            return Ok(Some(self.trial(world, change, first, &again, incident)?));
        }
        match self.act.remedy {
            None => Ok(None),
            Some(Help::Gone) => {
                let from = Timestamp::now();
                self.recorder.wait(
                    SETTLE + Duration::from_secs(self.act.seconds.max(40)),
                    |_| false,
                )?;
                let after = Break {
                    broken: Broken {
                        from,
                        to: Timestamp::now(),
                        statements_per_second: None,
                        p95_us: None,
                        resident_bytes: 0,
                    },
                    incidents: Vec::new(),
                };
                let change = Change::new("those who do it stop", Vec::new());
                let mut trial = self.trial(world, change, first, &after, incident)?;
                trial.after = None;
                Ok(Some(trial))
            }
            Some(Help::Fix) => {
                let fixes = world.stage.fixes()?;
                let changes = fixes.apply(incident, &self.act.truth.cause)?;
                self.recorder.wait(SETTLE, |_| false)?;
                let again = self.break_it(world)?;
                let change = Change::new("freezeframe fix --apply", changes);
                let trial = self.trial(world, change, first, &again, incident)?;
                fixes.undo()?;
                Ok(Some(trial))
            }
        }
    }

    fn trial(
        &self,
        world: &World,
        change: Change<'_>,
        first: &Break,
        after: &Break,
        incident: &Path,
    ) -> Result<Trial> {
        let Change {
            what,
            changes,
            also,
        } = change;
        let second = longest_since(&after.incidents, after.broken.from)?;
        let window = |broken: &Broken| format!("{}..{}", broken.from, broken.to);
        let sides = match &second {
            // The same load once more: what is in its stacks is compared, whatever they are called now.
            Some(second) => vec![
                "--stalls".to_owned(),
                incident.display().to_string(),
                second.display().to_string(),
            ],
            None => vec![
                "--before".to_owned(),
                window(&first.broken),
                "--after".to_owned(),
                window(&after.broken),
                "--server".to_owned(),
                world.stage.server.port().to_string(),
            ],
        };
        let truth = &self.act.truth;
        let compared = |cause: &String| compare(cause, &sides, self.dir);
        let mut there = truth.clone();
        there.also.extend_from_slice(also);
        let trial = Trial {
            what: what.to_owned(),
            changes,
            after: Some(Measured::from(&after.broken)),
            incident: second,
            named: judge::named_since(&there, &after.incidents, after.broken.from)?,
            comparison: compared(&truth.cause)?,
            through: truth.through.iter().map(compared).collect::<Result<_>>()?,
        };
        if !self.quiet {
            cli::output::print(&format!("{what}: {}", trial.verdict()))?;
        }
        Ok(trial)
    }
}

fn through(truth: &Truth, verdict: &Value) -> Vec<Through> {
    let named = judge::named(truth, verdict);
    let is_effect = |cause: &str| {
        named
            .iter()
            .any(|it| it.cause == cause && it.role == Role::Effect && it.level != "possible")
    };
    truth
        .through
        .iter()
        .map(|cause| Through {
            cause: cause.clone(),
            finding: judge::finding(verdict, cause)
                .filter(|_| is_effect(cause))
                .cloned(),
        })
        .collect()
}
