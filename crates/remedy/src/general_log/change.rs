//! What a lease of the general log changes, and how its files are called.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Values;

/// How our log files are called; in the data directory a file is nothing to the server.
const PREFIX: &str = "freezeframe-general-";
const SUFFIX: &str = ".log";

/// What a lease of the general log changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneralLogChange {
    /// What was set before, and is set again.
    pub previous: Values,
    /// What is set for the time of the lease.
    pub ours: Values,
    /// Our log file as it is reached from here.
    pub file_here: PathBuf,
    /// Bytes that the file may have.
    pub bytes_max: u64,
    /// Bytes that are left free on its file system.
    pub free_bytes_min: u64,
    /// The server's number of the connection that makes the changes.
    pub connection: u64,
}

/// The name of the log of a lease.
pub(crate) fn log_name(id: &str) -> String {
    format!("{PREFIX}{id}{SUFFIX}")
}

/// Whether a log file, as the server names it, belongs to a lease: of this journal or another one.
pub fn is_our_log(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let id = name
        .strip_prefix(PREFIX)
        .and_then(|name| name.strip_suffix(SUFFIX));
    id.is_some_and(|id| id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Removes the log of a lease: only a plain file that has the lease's name and was not there before the lease.
/// A file that is gone is no error.
pub(crate) fn remove_log(file: &Path, id: &str, taken_us: i64) -> std::io::Result<()> {
    let named = file
        .file_name()
        .is_some_and(|name| name.to_string_lossy() == log_name(id));
    let metadata = match file.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let refused =
        |why: &str| std::io::Error::other(format!("{}: {why}; it was left there", file.display()));
    if !named || !metadata.is_file() {
        return Err(refused("not freezeframe's log"));
    }
    // Where the file system keeps no birth, the last change is later still.
    let born = metadata.created().or_else(|_| metadata.modified())?;
    let born_us = born
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
        });
    // The kernel stamps files by a clock that is up to a tick behind (current_time, fs/inode.c).
    const TICK_US: i64 = 1_000_000;
    if born_us.saturating_add(TICK_US) < taken_us {
        return Err(refused("older than its lease"));
    }
    std::fs::remove_file(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_names_are_ours() {
        assert!(is_our_log(&format!(
            "/data/{}",
            log_name("0123456789abcdef")
        )));
        assert!(is_our_log(&log_name("0123456789abcdef")));
        for other in [
            "general.log",
            "freezeframe-general-.log",
            "freezeframe-general-0123456789abcdeg.log",
            "",
        ] {
            assert!(!is_our_log(other), "{other}");
        }
    }

    #[test]
    fn only_the_lease_s_own_file_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let id = "0123456789abcdef";
        let file = dir.path().join(log_name(id));
        std::fs::write(&file, "x").unwrap();
        let now_us = 1_000_000
            * i64::try_from(
                std::time::SystemTime::now()
                    .duration_since(std::time::UNIX_EPOCH)
                    .unwrap()
                    .as_secs(),
            )
            .unwrap();
        assert!(remove_log(&file, "0123456789abcdee", now_us).is_err());
        assert!(
            remove_log(&file, id, now_us + 3_600_000_000).is_err(),
            "older than the lease"
        );
        assert!(file.exists());
        remove_log(&file, id, now_us).unwrap();
        assert!(!file.exists());
        remove_log(&file, id, now_us).unwrap();

        let target = dir.path().join("precious");
        std::fs::write(&target, "x").unwrap();
        std::os::unix::fs::symlink(&target, &file).unwrap();
        assert!(remove_log(&file, id, now_us).is_err(), "a link is no log");
        assert!(target.exists());
    }
}
