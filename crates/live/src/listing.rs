//! The incidents of a directory.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cli::recorded;
use model::OrderBy;

use crate::model::{IncidentEntry, NotedStall};

/// Incidents that are listed, the latest.
const LISTED_MAX: usize = 500;

/// The files of a directory, read again when one came or went.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    read: Option<(PathBuf, Option<SystemTime>, Vec<IncidentEntry>)>,
}

impl Listing {
    /// They, with the stalls that were noticed and not captured, the latest first.
    pub(crate) fn read(&mut self, dir: &Path, noted: &[NotedStall]) -> Vec<IncidentEntry> {
        let changed = dir.metadata().and_then(|there| there.modified()).ok();
        let is_same = |read: &(PathBuf, Option<SystemTime>, _)| read.0 == dir && read.1 == changed;
        if !self.read.as_ref().is_some_and(is_same) {
            self.read = Some((dir.to_owned(), changed, list(dir)));
        }
        let files = self.read.as_ref().map(|(_, _, files)| files.clone());
        let others = noted
            .iter()
            .filter(|one| !one.is_captured)
            .map(without_file);
        latest(files.into_iter().flatten().chain(others).collect())
    }
}

fn without_file(noted: &NotedStall) -> IncidentEntry {
    let length = noted
        .end_wall_ms
        .map(|end| end.saturating_sub(noted.onset_wall_ms));
    IncidentEntry {
        path: None,
        onset_wall_ms: noted.onset_wall_ms,
        length_ms: length.and_then(|ms| u64::try_from(ms).ok()),
        server: noted.server.clone(),
        rule: noted.rule.clone(),
        says: noted.says.clone(),
        cause: noted.cause.clone(),
    }
}

/// The incidents of a directory, the latest first.
pub fn list(dir: &Path) -> Vec<IncidentEntry> {
    let listed: Vec<IncidentEntry> = recorded::summaries(dir)
        .into_iter()
        .map(|(path, summary)| {
            let first = summary.stall.triggers.first();
            IncidentEntry {
                onset_wall_ms: summary.clock.wall_ms(summary.stall.onset),
                length_ms: summary
                    .stall
                    .end
                    .map(|end| end.saturating_sub(summary.stall.onset)),
                server: summary.server.label.clone(),
                rule: first.map_or(String::new(), |trigger| trigger.rule.clone()),
                says: first.map_or(String::new(), |trigger| trigger.says.clone()),
                path: Some(path),
                cause: None,
            }
        })
        .collect();
    latest(listed)
}

fn latest(mut listed: Vec<IncidentEntry>) -> Vec<IncidentEntry> {
    listed.order_by_key(|one| std::cmp::Reverse(one.onset_wall_ms));
    listed.truncate(LISTED_MAX);
    listed
}
