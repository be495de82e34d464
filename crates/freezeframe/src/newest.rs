//! The incident that is meant where none is named: the newest.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use cli::{output, recorded};
use store::read_summary;

/// The incident of a directory with the latest onset; `else_name` is what has to be named where there is none. One that
/// cannot be read may be the newest: that is said.
pub(crate) fn newest(dir: &Path, else_name: &str) -> Result<PathBuf> {
    let (newest, unread) = found(dir, else_name)?;
    for error in unread {
        output::note(&format!("{error}; it is left out, and may be newer"));
    }
    Ok(newest)
}

/// The newest, and what is wrong with those that cannot be read.
fn found(dir: &Path, else_name: &str) -> Result<(PathBuf, Vec<String>)> {
    let files = recorded::frames(dir).map_err(|error| {
        anyhow!(
            "{}: cannot list incidents: {error}; name {else_name}",
            dir.display()
        )
    })?;
    let count = files.len();
    let mut newest = None;
    let mut unread = Vec::new();
    for path in files {
        match read_summary(&path) {
            Ok(summary) => {
                let onset = summary.clock.wall_ms(summary.stall.onset);
                newest = newest.max(Some((onset, path)));
            }
            Err(error) => unread.push(error.to_string()),
        }
    }
    match (newest, unread.first()) {
        (Some((_, path)), _) => Ok((path, unread)),
        (None, None) => bail!("no incidents in {}; name {else_name}", dir.display()),
        (None, Some(error)) if count == 1 => bail!("{error}; name {else_name}"),
        (None, Some(error)) => bail!(
            "{}: none of its {count} incidents can be read ({error}); name {else_name}",
            dir.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incident_that_cannot_be_read_is_not_silently_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let told = |dir: &Path| found(dir, "an incident").map_err(|error| error.to_string());
        assert!(
            told(dir.path())
                .unwrap_err()
                .starts_with("no incidents in ")
        );
        let broken = dir.path().join("3306-20261120T031200Z.frame");
        std::fs::write(&broken, "no incident").unwrap();
        let why = told(dir.path()).unwrap_err();
        assert!(
            why.contains("20261120T031200Z.frame") && !why.contains("no incidents in"),
            "{why}"
        );
        let whole = dir.path().join("3306-20261119T031200Z.frame");
        let made = testbed::made_incident(&testbed::IncidentSize::small());
        store::write_incident_file(&made, &whole).unwrap();
        let (newest, unread) = told(dir.path()).unwrap();
        assert_eq!(newest, whole);
        assert!(unread.len() == 1 && unread[0].contains("20261120T031200Z.frame"));
    }
}
