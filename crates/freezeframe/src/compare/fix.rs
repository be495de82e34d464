//! When a fix was applied: from the journal that `freezeframe fix` keeps, one file each.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use diagnosis::compare::Answer;
use remedy::fix::Proof;
use serde::Deserialize;

use crate::args::Compare;

/// The journal's directory, beside the incidents.
const DIRECTORY: &str = "fixes";

const SUFFIX: &str = ".fix.json";

/// More than any entry has.
const ENTRY_BYTES_MAX: u64 = 1 << 20;

/// Entries that are looked at, at the most.
const ENTRIES_MAX: usize = 10_000;

/// A fix that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Applied {
    /// Its id.
    pub(super) id: String,
    /// When it began, milliseconds since 1970 UTC.
    pub(super) at_ms: i64,
    /// When everything was put back, where it was.
    pub(super) until_ms: Option<i64>,
    /// The cause that it is for.
    pub(super) cause: String,
}

/// What of an entry matters here.
#[derive(Deserialize)]
struct Entry {
    id: String,
    cause: String,
    state: String,
    taken_us: i64,
    ended_us: Option<i64>,
}

/// Where fixes are written down: what was said, else beside the incidents.
pub(super) fn journal(args: &Compare, dir: &Path) -> PathBuf {
    let said = args.fix_dir.clone();
    said.unwrap_or_else(|| dir.join(DIRECTORY))
}

/// The last fix of the journal that was applied and not put back, or the one with this id (or the
/// begin of it), whatever became of it.
pub(super) fn last(journal: &Path, id: &str) -> Result<Applied> {
    let found = match std::fs::read_dir(journal) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "--since-fix: no fix was applied here ({} does not exist); name the --fix-dir it was made with, or the time of your own change with --at",
            journal.display()
        ),
        Err(error) => return Err(error).context(journal.display().to_string()),
    };
    let paths = found.filter_map(|entry| Some(entry.ok()?.path()));
    let mut entries = Vec::new();
    for path in paths.take(ENTRIES_MAX) {
        if path.to_str().is_some_and(|name| name.ends_with(SUFFIX)) {
            entries.push(read(&path)?);
        }
    }
    let wanted = |entry: &&Entry| match id {
        "" => matches!(entry.state.as_str(), "applied" | "left"),
        id => entry.id.starts_with(id),
    };
    let last = entries
        .iter()
        .filter(wanted)
        .max_by_key(|entry| entry.taken_us);
    match (last, id) {
        (Some(entry), _) => Ok(Applied {
            id: entry.id.clone(),
            at_ms: entry.taken_us / 1000,
            until_ms: entry.ended_us.map(|ended| ended / 1000),
            cause: entry.cause.clone(),
        }),
        (None, "") => bail!(
            "{}: no fix is in force; name the id of a fix, or the time of a change with --at",
            journal.display()
        ),
        (None, id) => bail!("{}: no fix {id}", journal.display()),
    }
}

/// Writes down what was said of a fix, so that the fleet can be told. Of a journal that is not ours, nothing is: who made
/// the fix says what came of it.
pub(super) fn note_proof(journal: &Path, id: &str, verdict: Answer) {
    let proof = match verdict {
        Answer::Worked => Proof::Worked,
        Answer::NoEffect => Proof::NoEffect,
        Answer::Worse => Proof::Worse,
        Answer::NotProven => Proof::NotProven,
    };
    let _ = remedy::fix::note_proof(journal, id, proof);
}

fn read(path: &Path) -> Result<Entry> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(ENTRY_BYTES_MAX).read_to_string(&mut text))
        .with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| format!("{}: no fix", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn the_last_fix_in_force_is_meant() {
        let dir = tempfile::tempdir().unwrap();
        let journal = dir.path().join(DIRECTORY);
        assert!(last(&journal, "").is_err());
        std::fs::create_dir(&journal).unwrap();
        assert!(last(&journal, "").is_err());
        for (id, state, taken, ended) in [
            ("aa11", "applied", 1_000_000, "null"),
            ("bb22", "applied", 5_000_000, "null"),
            ("cc33", "undone", 9_000_000, "12000000"),
        ] {
            let text = format!(
                r#"{{"version": 1, "id": "{id}", "cause": "thp-compaction", "state": "{state}",
                    "steps": [], "taken_us": {taken}, "ended_us": {ended}}}"#
            );
            std::fs::write(journal.join(format!("{id}{SUFFIX}")), text).unwrap();
        }
        std::fs::write(journal.join("lock"), "").unwrap();
        assert_eq!(last(&journal, "").unwrap().at_ms, 5_000);
        let undone = last(&journal, "cc").unwrap();
        assert_eq!((undone.at_ms, undone.until_ms), (9_000, Some(12_000)));
        assert!(last(&journal, "dd").is_err());
        std::fs::write(journal.join("x.fix.json"), "{").unwrap();
        let error = format!("{:#}", last(&journal, "").unwrap_err());
        assert!(error.contains("x.fix.json"), "{error}");
    }
}
