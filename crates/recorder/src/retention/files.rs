//! The files of a recorder's directory that retention may delete: those that are named as recorders name them.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::plan::{Kept, KeptKind};

impl Kept {
    /// Deletes the file, and the page of an incident.
    pub(super) fn delete(&self) -> std::io::Result<()> {
        if self.kind == KeptKind::Incident {
            // The page goes first: one without its incident would stay for ever.
            gone(std::fs::remove_file(page(&self.path)))?;
        }
        gone(std::fs::remove_file(&self.path))
    }
}

/// What another recorder of the directory has deleted is deleted.
fn gone(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn page(frame: &Path) -> PathBuf {
    frame.with_extension("html")
}

/// All that may go, of named servers as well. A directory that cannot be read has nothing.
pub(super) fn kept_in(dir: &Path) -> Vec<Kept> {
    let dirs = store::state_dirs(dir).into_iter();
    let entries = dirs.flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten().flatten());
    entries.filter_map(|entry| kept(&entry.path())).collect()
}

fn kept(path: &Path) -> Option<Kept> {
    let name = path.file_name()?.to_str()?;
    let (kind, server, recorded_ms) = named(name)?;
    // Not through a link: what it leads to is somebody else's.
    let there = path
        .symlink_metadata()
        .ok()
        .filter(|there| there.is_file())?;
    let written = there.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let written_ms = i64::try_from(written.as_millis()).ok()?;
    let of_page = match kind {
        KeptKind::Incident => page(path).symlink_metadata().map_or(0, |page| page.len()),
        KeptKind::PutAside => 0,
    };
    Some(Kept {
        path: path.to_owned(),
        kind,
        server: server.to_owned(),
        at_ms: written_ms.max(recorded_ms),
        bytes: there.len() + of_page,
    })
}

/// `LABEL-STAMP.frame`, `history-LABEL.db.damaged-N`: what it is, of which server, and the moment in its name.
fn named(name: &str) -> Option<(KeptKind, &str, i64)> {
    if let Some(rest) = name.strip_prefix("history-") {
        let (label, number) = rest.rsplit_once(".db.damaged-")?;
        let number = number.trim_end_matches("-wal").trim_end_matches("-shm");
        number.parse::<u32>().ok()?;
        return Some((KeptKind::PutAside, label, 0));
    }
    let id = name
        .strip_suffix(".frame")
        .filter(|id| !id.starts_with('.'))?;
    let (label, stamp) = id.rsplit_once('-')?;
    let moment = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S%.fZ", stamp).ok()?;
    let moment = moment.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some((
        KeptKind::Incident,
        label,
        moment.timestamp().as_millisecond(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::incident_id;

    #[test]
    fn only_what_recorders_name_so_is_ours() {
        let id = incident_id("db7-3306", 1_795_251_600_123);
        assert_eq!(
            named(&format!("{id}.frame")),
            Some((KeptKind::Incident, "db7-3306", 1_795_251_600_123))
        );
        for aside in ["", "-wal", "-shm"] {
            let name = format!("history-3306.db.damaged-2{aside}");
            assert_eq!(named(&name), Some((KeptKind::PutAside, "3306", 0)));
        }
        for other in [
            "x.frame",
            "my-notes.frame",
            "3306-20261101T000000.000Z.html",
            ".3306-20261101T000000.000Z.frame.partial",
            "history-3306.db",
            "history-3306.db-wal",
            "history-3306.db.damaged-x",
            "stalls.jsonl",
        ] {
            assert_eq!(named(other), None, "{other}");
        }
    }
}
