//! A server whose arguments and environment change from act to act, and the breaks of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use testbed::{Allocator, Scenario, ServerKind};

use crate::allocators::memory;
use crate::product::Recorder;
use crate::scenario::stage::Stage;
use crate::scenario::steps::{take, undo_all};

/// The server of several acts.
pub(super) struct World {
    pub(super) stage: Stage,
    pub(super) kind: ServerKind,
}

/// A break that was made, and what it was like.
#[derive(Debug, Clone)]
pub(super) struct Broken {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// What came of its loads, all of them together.
    pub(super) statements_per_second: Option<f64>,
    /// The slowest load's.
    pub(super) p95_us: Option<f64>,
    /// The server's resident memory at its end.
    pub(super) resident_bytes: u64,
}

impl World {
    /// Starts a server for the first of these acts, with what any of them needs.
    pub(super) fn new(kind: ServerKind, acts: &[Scenario]) -> Result<Self> {
        // A library that is missing is told before minutes have gone into the breaks.
        for name in acts
            .iter()
            .filter_map(|act| act.restart.as_ref()?.allocator.as_ref())
        {
            named(name)?.environment()?;
        }
        let mut stage = Stage::set(acts, kind)?;
        stage.prepare(acts)?;
        Ok(Self { stage, kind })
    }

    /// Starts the server anew when something is to be different: arguments behind those that it has, so
    /// that they win, and variables. Says whether it did.
    pub(super) fn become_like(
        &mut self,
        arguments: &[String],
        environment: &BTreeMap<String, String>,
    ) -> Result<bool> {
        let has = &self.stage;
        let more: Vec<String> = arguments
            .iter()
            .filter(|argument| !has.arguments.contains(argument))
            .cloned()
            .collect();
        let same = environment
            .iter()
            .all(|(name, value)| has.environment.get(name) == Some(value));
        if more.is_empty() && same {
            return Ok(false);
        }
        let arguments = [has.arguments.as_slice(), &more].concat();
        let mut all = has.environment.clone();
        all.extend(environment.clone());
        self.stage.restart(arguments, all)?;
        Ok(true)
    }

    /// The variables that give the server this allocator, beside what is preloaded already.
    pub(super) fn allocator(&self, name: &str) -> Result<BTreeMap<String, String>> {
        let mut environment: BTreeMap<String, String> =
            named(name)?.environment()?.into_iter().collect();
        if let Some(library) = environment.get_mut("LD_PRELOAD")
            && let Some(slow) = &self.stage.slow
        {
            for (name, value) in slow.environment() {
                if name == "LD_PRELOAD" {
                    *library = format!("{library}:{value}");
                }
            }
        }
        Ok(environment)
    }

    /// Makes the break of an act and takes it back.
    pub(super) fn break_it(
        &self,
        act: &Scenario,
        length: Duration,
        bound: Duration,
        recorder: &mut Recorder,
    ) -> Result<Broken> {
        let from = Timestamp::now();
        let scene = self.stage.scene();
        let mut taken = Vec::new();
        for step in &act.steps {
            taken.push(take(step, scene, bound)?);
        }
        let since = Duration::try_from(Timestamp::now().duration_since(from)).unwrap_or_default();
        recorder.wait(length.saturating_sub(since), |_| false)?;
        let to = Timestamp::now();
        let pid = self.stage.server.pid().context("the server has ended")?;
        let resident_bytes = memory(pid, "VmRSS")?;
        let loads = undo_all(taken)?;
        let first = |statements: f64| (!loads.is_empty()).then_some(statements);
        Ok(Broken {
            from,
            to,
            statements_per_second: first(loads.iter().map(|load| load.per_second).sum()),
            p95_us: loads
                .iter()
                .map(|load| load.latency.p95_us)
                .reduce(f64::max),
            resident_bytes,
        })
    }
}

fn named(allocator: &str) -> Result<Allocator> {
    Allocator::named(allocator).with_context(|| format!("there is no allocator '{allocator}'"))
}

/// The incidents that were written since there were so many, when none is under way any more.
pub(super) fn written(
    recorder: &mut Recorder,
    earlier: usize,
    longest: Duration,
) -> Result<Vec<PathBuf>> {
    let written = |recorder: &Recorder| recorder.incidents().len() > earlier;
    if recorder.in_stall() || written(recorder) {
        recorder.wait(longest, |recorder| {
            written(recorder) && !recorder.in_stall()
        })?;
    }
    Ok(recorder
        .incidents()
        .get(earlier..)
        .unwrap_or_default()
        .to_vec())
}

/// A directory that is there.
pub(super) fn directory(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())
}
