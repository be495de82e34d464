//! Files of incidents, and what each becomes.

use std::path::{Path, PathBuf};

use ::fleet::from_incident::{FrameFile, IncidentRows, hash_of_bytes, rows};
use anyhow::{Context, Result, anyhow, bail};
use cli::output;
use diagnosis::diagnose_closely;

use crate::{captures, causes, memory};

/// Directories below one that was named.
const DEPTH_MAX: usize = 4;

/// Files of one command: each is read and judged.
const FILES_MAX: usize = 20_000;

/// The incidents of a directory and below it, by path. Links are not followed: what they lead to is somebody else's.
pub(super) fn frames_below(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![(dir.to_owned(), 0)];
    while let Some((dir, depth)) = open.pop() {
        let entries = match std::fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if depth == 0 => {
                return Err(error).with_context(|| dir.display().to_string());
            }
            Err(error) => {
                output::note(&format!("{}: left out: {error}", dir.display()));
                continue;
            }
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() && depth < DEPTH_MAX {
                open.push((path, depth + 1));
            } else if kind.is_file()
                && !is_hidden
                && path.extension().is_some_and(|end| end == "frame")
            {
                found.push(path);
            }
        }
        if found.len() > FILES_MAX {
            bail!(
                "{}: more than {FILES_MAX} incidents below it: name directories further down",
                dir.display()
            );
        }
    }
    found.sort();
    Ok(found)
}

/// An incident as rows. `judged`: the moment of the judgement, seconds since 1970; a later one replaces an earlier.
pub(crate) fn incident_rows(path: &Path, salt: &[u8], judged: i64) -> Result<IncidentRows> {
    if path.is_file() && !captures::is_incident_file(path) {
        bail!(
            "{}: not an incident; `freezeframe import` makes one from what other tools captured",
            path.display()
        );
    }
    memory::now_reading(path);
    // It says what the file system said already.
    let loaded = store::read_incident(path).map_err(|error| anyhow!("{error}"))?;
    for damage in &loaded.damage {
        output::note(&format!("{}: {}", path.display(), damage.line()));
    }
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let file = FrameFile {
        key: whole.display().to_string(),
        bytes: bytes.len() as u64,
        sha256: hash_of_bytes(&bytes),
    };
    drop(bytes);
    // As `explain` judges it.
    let verdict = diagnose_closely(&loaded.incident, causes::catalogue());
    let rev = u32::try_from(judged).unwrap_or(u32::MAX);
    rows(&loaded.incident, &verdict, salt, &file, rev)
        .with_context(|| format!("{}: left out", path.display()))
}

/// Tells who looks on how far it is.
pub(super) fn progress(index: usize, count: usize) {
    if output::is_terminal() && count > 1 {
        output::progress(&format!("reading incident {} of {count}", index + 1));
    }
}

/// Takes the line of [`progress`] away.
pub(super) fn progress_ends(count: usize) {
    if output::is_terminal() && count > 1 {
        output::clear_progress();
    }
}
