//! Where a model is read from.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use model::Incident;

use crate::model::Model;

/// Something that was recorded, or is being.
pub trait Source {
    /// Reads it: the newest, or the time around a moment, milliseconds since 1970 UTC. `None` where nothing was recorded
    /// then.
    fn read(&mut self, around: Option<i64>) -> Result<Option<Model>>;

    /// Whether what is read next has the stacks that a recorder has in memory: they cost it more than the rest, and only some
    /// screens show them.
    fn want_stacks(&mut self, _wanted: bool) {}

    /// How long to wait before it is read again; never where it does not change.
    fn every(&self) -> Option<Duration> {
        None
    }

    /// How often it is looked whether a recorder goes on with what has ended; never where none can.
    fn awaits(&self) -> Option<Duration> {
        None
    }

    /// Reads how the recorder does, at once; nothing where none runs.
    fn recorder_state(&mut self) -> Option<crate::model::RecorderState> {
        None
    }

    /// Writes what is shown into this directory as an incident, for sources that are none; answers with its file.
    fn export(&mut self, model: &Model, directory: &Path) -> Result<PathBuf>;
}

/// What does not change: an incident's file, or captures of others.
pub struct Recording {
    model: Option<Model>,
    is_file: bool,
}

impl Recording {
    /// A recording that was read.
    pub fn new(model: Model) -> Self {
        Self {
            is_file: model.kind == crate::model::RecordingKind::File,
            model: Some(model),
        }
    }
}

impl Source for Recording {
    fn read(&mut self, _around: Option<i64>) -> Result<Option<Model>> {
        Ok(self.model.take())
    }

    fn export(&mut self, model: &Model, directory: &Path) -> Result<PathBuf> {
        if self.is_file {
            anyhow::bail!("this is already an incident: {}", model.path);
        }
        write(&model.incident, directory)
    }
}

/// Writes an incident where there is no file of its name.
pub(crate) fn write(incident: &Incident, directory: &Path) -> Result<PathBuf> {
    let path = directory.join(format!("{}.frame", incident.id));
    if path.symlink_metadata().is_ok() {
        anyhow::bail!("{}: already exists", path.display());
    }
    store::write_incident_file(incident, &path)?;
    Ok(path)
}
