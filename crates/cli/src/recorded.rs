//! What a recorder's directory holds: histories and incidents.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use store::{IncidentSummary, read_summary};

/// The history of the server with this label, or of the only one.
pub fn history(dir: &Path, server: Option<&str>) -> Result<PathBuf> {
    if let Some(label) = server {
        let name = format!("history-{label}.db");
        let dirs = store::state_dirs(dir);
        let mut paths = dirs.iter().map(|dir| dir.join(&name));
        return Ok(paths
            .find(|path| path.exists())
            .unwrap_or_else(|| dir.join(name)));
    }
    std::fs::read_dir(dir).with_context(|| format!("{}: cannot read a history", dir.display()))?;
    let found = histories(dir);
    match &found[..] {
        [] => bail!(
            "{}: no history here; is this the recorder's --dir, and is the history switched on?",
            dir.display()
        ),
        [(path, _)] => Ok(path.clone()),
        many => {
            let labels: Vec<&str> = many.iter().map(|(_, label)| label.as_str()).collect();
            bail!(
                "several servers were recorded; choose one with --server: {}",
                labels.join(", ")
            )
        }
    }
}

/// All histories, with the labels of their servers.
pub fn histories(dir: &Path) -> Vec<(PathBuf, String)> {
    let dirs = store::state_dirs(dir).into_iter();
    let entries = dirs.flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten().flatten());
    let mut found: Vec<(PathBuf, String)> = entries
        .filter_map(|entry| {
            let path = entry.path();
            let label = history_label(&path)?;
            Some((path, label))
        })
        .collect();
    found.sort();
    found
}

/// The server's label in the name of a history's file; nothing where it is none.
pub fn history_label(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let label = name.strip_prefix("history-")?.strip_suffix(".db")?;
    Some(label.to_owned())
}

/// The incidents of a directory and of the named servers below it, by name, which is by server and time. What is being
/// written is none.
pub fn frames(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    std::fs::read_dir(dir)?;
    let dirs = store::state_dirs(dir).into_iter();
    let entries = dirs.flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten().flatten());
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "frame"))
        .filter(|path| {
            !path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'))
        })
        .collect();
    paths.sort();
    Ok(paths)
}

/// What they are; those that cannot be read are left out.
pub fn summaries(dir: &Path) -> Vec<(PathBuf, IncidentSummary)> {
    frames(dir)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|path| {
            let summary = read_summary(&path).ok()?;
            Some((path, summary))
        })
        .collect()
}
