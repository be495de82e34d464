//! The incident that is meant where its file is not named: the newest, or one by its name.

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

/// The same of a recorder's directory that is named in the place of an incident; nothing where it is none.
pub(crate) fn of_recorder(path: &Path) -> Result<Option<PathBuf>> {
    if !path.is_dir() || recorded::histories(path).is_empty() {
        return Ok(None);
    }
    let path = newest(path, "the file of an incident")?;
    output::note(&format!("the newest incident there: {}", path.display()));
    Ok(Some(path))
}

/// The file of an incident that is named as alerts and lists of a fleet name it; nothing where there is none, or a file of
/// that name.
pub(crate) fn called(dir: &Path, name: &Path) -> Option<PathBuf> {
    let is_name = name.components().count() == 1 && !name.exists();
    let all = is_name.then(|| recorded::frames(dir).ok()).flatten()?;
    let found = all.into_iter().find(|path| {
        path.file_name() == Some(name.as_os_str()) || path.file_stem() == Some(name.as_os_str())
    })?;
    output::note(&format!("its file: {}", found.display()));
    Some(found)
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
    let mut newest: Option<(i64, PathBuf)> = None;
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
    if let Some((_, path)) = newest {
        return Ok((path, unread));
    }
    match unread.first() {
        None => bail!("no incidents in {}; name {else_name}", dir.display()),
        Some(error) if count == 1 => bail!("{error}; name {else_name}"),
        Some(error) => bail!(
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
        for name in ["3306-20261119T031200Z", "3306-20261119T031200Z.frame"] {
            assert_eq!(called(dir.path(), Path::new(name)), Some(whole.clone()));
        }
        for name in ["3306", "-", "x/3306-20261119T031200Z"] {
            assert_eq!(called(dir.path(), Path::new(name)), None, "{name}");
        }
        assert_eq!(called(dir.path(), &whole), None, "it is there");
        assert!(unread.len() == 1 && unread[0].contains("20261120T031200Z.frame"));
    }
}
