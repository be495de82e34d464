//! When a fix was applied: from the journal that `freezeframe fix` keeps, one file each.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use diagnosis::compare::Answer;
use remedy::fix::Proof;
use serde::Deserialize;

use crate::args::Compare;
use crate::journals;

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
    /// The journal that it stands in.
    pub(super) journal: PathBuf,
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

/// Where fixes are looked for: what was said, else where `fix` writes them down.
pub(super) fn places(args: &Compare, dir: &Path) -> Vec<PathBuf> {
    match &args.fix_dir {
        Some(said) => vec![said.clone()],
        None => journals::fixes_of(dir),
    }
}

/// The last fix of the journals that was applied and not put back, or the one with this id (or the
/// begin of it), whatever became of it.
pub(super) fn last(journals: &[PathBuf], id: &str) -> Result<Applied> {
    let mut entries = Vec::new();
    let mut is_any = false;
    for journal in journals {
        if let Some(found) = entries_of(journal)? {
            is_any = true;
            entries.extend(found.into_iter().map(|entry| (journal, entry)));
        }
    }
    let names: Vec<String> = journals
        .iter()
        .map(|journal| journal.display().to_string())
        .collect();
    if !is_any {
        let (names, verb) = match names.as_slice() {
            [one] => (one.clone(), "does"),
            all => (all.join(" and "), "do"),
        };
        bail!(
            "--since-fix: no fix was applied here ({names} {verb} not exist); name the --fix-dir it was made with{}, \
             or the time of your own change with --at",
            others_journal(journals)
        );
    }
    let wanted = |(_, entry): &&(&PathBuf, Entry)| match id {
        "" => matches!(entry.state.as_str(), "applied" | "left"),
        id => entry.id.starts_with(id),
    };
    let last = entries
        .iter()
        .filter(wanted)
        .max_by_key(|(_, entry)| entry.taken_us);
    match (last, id) {
        (Some((journal, entry)), _) => Ok(Applied {
            id: entry.id.clone(),
            at_ms: entry.taken_us / 1000,
            until_ms: entry.ended_us.map(|ended| ended / 1000),
            cause: entry.cause.clone(),
            journal: (*journal).clone(),
        }),
        (None, "") => bail!(
            "{}: no fix is in force; name the id of a fix, or the time of a change with --at",
            names.join(", ")
        ),
        (None, id) => bail!("{}: no fix {id}", names.join(", ")),
    }
}

/// Where root keeps a journal that was not looked at: only root reads it.
fn others_journal(journals: &[PathBuf]) -> String {
    let of_root = Path::new(remedy::helper::STATE);
    match of_root.exists() && !journals.contains(&journals::fixes_in(of_root)) {
        true => format!(" (what root made is in {}: use sudo)", of_root.display()),
        false => String::new(),
    }
}

/// The entries of a journal; nothing where there is none.
fn entries_of(journal: &Path) -> Result<Option<Vec<Entry>>> {
    let found = match std::fs::read_dir(journal) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).context(journal.display().to_string()),
    };
    let paths = found.filter_map(|entry| Some(entry.ok()?.path()));
    let paths = paths.take(ENTRIES_MAX);
    let entries = paths.filter(|path| path.to_str().is_some_and(|name| name.ends_with(SUFFIX)));
    entries
        .map(|path| read(&path))
        .collect::<Result<_>>()
        .map(Some)
}

/// Writes down what was said of a fix, so that the fleet can be told. Of a journal that is not ours, nothing is: who made
/// the fix says what came of it.
pub(super) fn note_proof(fix: &Applied, verdict: Answer) {
    let proof = match verdict {
        Answer::Worked => Proof::Worked,
        Answer::NoEffect => Proof::NoEffect,
        Answer::Worse => Proof::Worse,
        Answer::NotProven => Proof::NotProven,
    };
    let _ = remedy::fix::note_proof(&fix.journal, &fix.id, proof);
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

    fn write(journal: &Path, id: &str, state: &str, taken: i64, ended: &str) {
        let text = format!(
            r#"{{"version": 1, "id": "{id}", "cause": "thp-compaction", "state": "{state}",
                "steps": [], "taken_us": {taken}, "ended_us": {ended}}}"#
        );
        std::fs::write(journal.join(format!("{id}{SUFFIX}")), text).unwrap();
    }

    #[test]
    fn the_last_fix_in_force_is_meant() {
        let dir = tempfile::tempdir().unwrap();
        let journal = dir.path().join("fixes");
        let last = |id| last(std::slice::from_ref(&journal), id);
        assert!(last("").is_err());
        std::fs::create_dir(&journal).unwrap();
        assert!(last("").is_err());
        write(&journal, "aa11", "applied", 1_000_000, "null");
        write(&journal, "bb22", "applied", 5_000_000, "null");
        write(&journal, "cc33", "undone", 9_000_000, "12000000");
        std::fs::write(journal.join("lock"), "").unwrap();
        assert_eq!(last("").unwrap().at_ms, 5_000);
        let undone = last("cc").unwrap();
        assert_eq!((undone.at_ms, undone.until_ms), (9_000, Some(12_000)));
        assert!(last("dd").is_err());
        std::fs::write(journal.join("x.fix.json"), "{").unwrap();
        let error = format!("{:#}", last("").unwrap_err());
        assert!(error.contains("x.fix.json"), "{error}");
    }

    /// Beside a service, fixes of root and of the service's user are in two places.
    #[test]
    fn of_several_journals_each_may_have_the_fix() {
        let dir = tempfile::tempdir().unwrap();
        let journals = ["of-root", "beside"].map(|name| dir.path().join(name));
        let error = format!("{:#}", last(&journals, "").unwrap_err());
        for part in ["of-root and ", "beside do not exist", "--fix-dir"] {
            assert!(error.contains(part), "{error}");
        }
        let [of_root, beside] = &journals;
        std::fs::create_dir(of_root).unwrap();
        write(of_root, "aa11", "applied", 5_000_000, "null");
        let found = last(&journals, "").unwrap();
        assert_eq!((found.id.as_str(), &found.journal), ("aa11", &journals[0]));
        std::fs::create_dir(beside).unwrap();
        write(beside, "bb22", "applied", 1_000_000, "null");
        assert_eq!(last(&journals, "").unwrap().id, "aa11");
        assert_eq!(&last(&journals, "bb").unwrap().journal, beside);
        let error = format!("{:#}", last(&journals, "cc").unwrap_err());
        assert!(
            error.contains("of-root, ") && error.contains("no fix cc"),
            "{error}"
        );
    }
}
