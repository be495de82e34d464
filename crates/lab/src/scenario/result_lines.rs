//! Results of long work, one a line of JSON: written as each is there, so that the work can be interrupted.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// More would be no score.
const BYTES_MAX: u64 = 64 << 20;

/// What is there already. A file that is not there has nothing.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let mut results = Vec::new();
    let lines = BufReader::new(file.take(BYTES_MAX)).lines();
    for (index, line) in lines.enumerate() {
        let place = || format!("{}:{}", path.display(), index + 1);
        let line = line.with_context(place)?;
        if !line.trim().is_empty() {
            results.push(serde_json::from_str(&line).with_context(place)?);
        }
    }
    Ok(results)
}

/// Adds results, in one write: others may add theirs meanwhile.
pub(crate) fn add<T: Serialize>(path: &Path, results: &[T]) -> Result<()> {
    let lines = lines(results)?;
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(lines.as_bytes()))
        .with_context(|| path.display().to_string())
}

/// Puts results in the place of those that are there: whenever it is interrupted, the file has the old ones or the new.
pub(crate) fn replace<T: Serialize>(path: &Path, results: &[T]) -> Result<()> {
    let beside = path.with_extension("new");
    std::fs::write(&beside, lines(results)?)
        .and_then(|()| std::fs::rename(&beside, path))
        .with_context(|| path.display().to_string())
}

fn lines<T: Serialize>(results: &[T]) -> Result<String> {
    let mut lines = String::new();
    for result in results {
        lines.push_str(&serde_json::to_string(result)?);
        lines.push('\n');
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn what_was_added_is_read_again_and_a_damaged_line_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.jsonl");
        assert!(read::<u32>(&path).unwrap().is_empty());
        add(&path, &[1, 2]).unwrap();
        add(&path, &[3]).unwrap();
        assert_eq!(read::<u32>(&path).unwrap(), [1, 2, 3]);
        replace(&path, &[1, 2, 4]).unwrap();
        assert_eq!(read::<u32>(&path).unwrap(), [1, 2, 4]);
        add(&path, &["four"]).unwrap();
        let error = read::<u32>(&path).unwrap_err();
        assert_eq!(error.to_string(), format!("{}:4", path.display()));
    }
}
