//! What the recorder costs a server that is well and one that stalls.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use testbed::{PrivateServer, Scenario, ServerKind};

use super::client_latency::{Measured, Nobody, Watcher, measure};
use super::stage::start_recorder;
use crate::product::Recorder;

/// How long the incident may take after the break.
const WRITTEN_MAX: Duration = Duration::from_secs(60);

/// The same break without the recorder and with it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Overhead {
    pub(crate) without: Measured,
    pub(crate) with: Measured,
}

/// Makes the break twice.
pub(super) fn measure_overhead(
    scenario: &Scenario,
    kind: ServerKind,
    dir: &Path,
) -> Result<Overhead> {
    let mut recorder = Freezeframe::new(scenario, dir.join("harm"));
    Ok(Overhead {
        without: measure(scenario, kind, &mut Nobody)?,
        with: measure(scenario, kind, &mut recorder)?,
    })
}

/// The recorder as a watcher.
pub(super) struct Freezeframe {
    dir: PathBuf,
    trigger: Option<String>,
    recorder: Option<Recorder>,
    earlier: usize,
    /// The first incident of the break.
    pub(super) incident: Option<PathBuf>,
}

impl Freezeframe {
    pub(super) fn new(scenario: &Scenario, dir: PathBuf) -> Self {
        Self {
            dir,
            trigger: scenario.trigger.clone(),
            recorder: None,
            earlier: 0,
            incident: None,
        }
    }
}

impl Watcher for Freezeframe {
    fn start(&mut self, server: &PrivateServer) -> Result<()> {
        std::fs::create_dir_all(&self.dir).with_context(|| self.dir.display().to_string())?;
        let mut recorder = start_recorder(server, &self.dir, self.trigger.as_deref())?;
        recorder.quiet();
        self.recorder = Some(recorder);
        Ok(())
    }

    fn broken(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            // What it has said meanwhile is read only by waiting; should it have ended, `end` says so.
            let _ = recorder.wait(Duration::from_millis(1), |_| false);
            self.earlier = recorder.incidents().len();
        }
    }

    fn end(&mut self) -> Result<()> {
        let Some(mut recorder) = self.recorder.take() else {
            return Ok(());
        };
        recorder.wait(Duration::from_millis(200), |_| false)?;
        recorder.wait(WRITTEN_MAX, |recorder| !recorder.in_stall())?;
        self.incident = recorder.incidents().get(self.earlier).cloned();
        recorder.stop()
    }
}
