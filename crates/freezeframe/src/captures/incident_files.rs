//! Incidents of ours among what is given: read as they are when they are alone, whether they are a
//! file, come out of a pipe, or are packed.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use diagnosis::SourceRead;
use store::{Damage, LoadedIncident, StoreError, read_incident, read_summary};
use tempfile::NamedTempFile;

use super::{OpenedCaptures, open, opened};
use crate::memory;

/// What is said of an incident that does not stand alone.
const NOT_ALONE: &str = "name an incident alone, without other files";

/// What was given.
pub(crate) enum OpenedInput {
    /// An incident of ours, and its file; none where it came out of a pipe or an archive.
    Incident(Box<LoadedIncident>, Option<PathBuf>),
    /// What others captured.
    Captures(Box<OpenedCaptures>),
}

/// A file where SQLite can read it.
pub(super) enum SqliteFile {
    /// Where it was given.
    There(PathBuf),
    /// A copy of what came out of a pipe or an archive.
    Copied(NamedTempFile),
}

impl SqliteFile {
    /// Writes bytes down.
    pub(super) fn copied(bytes: &[u8]) -> Result<Self> {
        let mut file = NamedTempFile::new().context("a temporary file for SQLite")?;
        file.write_all(bytes)
            .context("a temporary file for SQLite")?;
        Ok(Self::Copied(file))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::There(path) => path,
            Self::Copied(file) => file.path(),
        }
    }
}

/// Incidents that were found where captures were looked for.
#[derive(Default)]
pub(super) struct IncidentFiles {
    /// The first, where SQLite can read it.
    first: Option<(String, SqliteFile)>,
    /// Those behind the first.
    more: Vec<String>,
}

/// Opens what was given.
pub(crate) fn open_input(paths: &[PathBuf]) -> Result<OpenedInput> {
    if let [file] = paths
        && is_incident_file(file)
    {
        memory::now_reading(file);
        let loaded = read_incident(file)?;
        return Ok(OpenedInput::Incident(Box::new(loaded), Some(file.clone())));
    }
    let found = opened(paths)?;
    Ok(match found.frames.only(&found) {
        Some(_) => OpenedInput::Incident(Box::new(found.frames.load()?), None),
        None => OpenedInput::Captures(Box::new(found)),
    })
}

/// Whether a path is a file with an incident of ours: by its begin, or by its name where it cannot be
/// read. Nothing is read of a pipe, whose bytes come only once.
pub(crate) fn is_incident_file(path: &Path) -> bool {
    if path == Path::new("-") || path.metadata().is_ok_and(|there| !there.is_file()) {
        return false;
    }
    (open::is_sqlite(path) && !store::is_replay(path))
        || path.extension().is_some_and(|end| end == "frame")
}

/// What was read, for an incident of ours: what is damaged in it is told as left out.
pub(super) fn sources(path: &str, damage: &[Damage]) -> Vec<SourceRead> {
    let source = |skipped| SourceRead {
        path: path.to_owned(),
        kind: "freezeframe incident".to_owned(),
        skipped,
        ..SourceRead::default()
    };
    let damaged = damage.iter().map(|damage| source(Some(damage.line())));
    std::iter::once(source(None)).chain(damaged).collect()
}

/// An error with the path that was given: where it lies for SQLite is nobody's business.
fn with_path(error: &StoreError, file: &SqliteFile, path: &str) -> anyhow::Error {
    let own = file.path().display().to_string();
    anyhow!("{}", error.to_string().replace(&own, path))
}

impl IncidentFiles {
    /// Takes an SQLite file, which may be something else.
    pub(super) fn add(&mut self, path: String, file: SqliteFile) -> Result<()> {
        if self.first.is_some() {
            self.more.push(path);
            return Ok(());
        }
        read_summary(file.path()).map_err(|error| with_path(&error, &file, &path))?;
        self.first = Some((path, file));
        Ok(())
    }

    /// The path of the incident that was given, when there is no other and no capture beside it.
    pub(super) fn only(&self, found: &OpenedCaptures) -> Option<&str> {
        let is_alone = self.more.is_empty() && found.files.is_empty() && found.stretches.is_empty();
        let (path, _) = self.first.as_ref().filter(|_| is_alone)?;
        Some(path)
    }

    /// How many incidents were given, when there is no capture beside them.
    pub(super) fn only_these(&self, found: &OpenedCaptures) -> usize {
        let is_alone = found.files.is_empty() && found.stretches.is_empty();
        let count = usize::from(self.first.is_some()) + self.more.len();
        if is_alone { count } else { 0 }
    }

    /// Reads the first.
    pub(super) fn load(&self) -> Result<LoadedIncident> {
        let Some((path, file)) = &self.first else {
            bail!("no incident in it");
        };
        read_incident(file.path()).map_err(|error| with_path(&error, file, path))
    }

    /// What is told of incidents that are not alone.
    pub(super) fn left_out(&self) -> impl Iterator<Item = SourceRead> {
        let paths = self.first.iter().map(|(path, _)| path).chain(&self.more);
        paths.map(|path| SourceRead {
            path: path.clone(),
            kind: "not opened".to_owned(),
            skipped: Some(NOT_ALONE.to_owned()),
            ..SourceRead::default()
        })
    }
}
