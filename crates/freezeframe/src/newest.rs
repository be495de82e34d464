//! The incident that is meant where none is named: the newest.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use cli::recorded;

/// The incident of a directory with the latest onset; `else_name` is what has to be named where there is none.
pub(crate) fn newest(dir: &Path, else_name: &str) -> Result<PathBuf> {
    recorded::frames(dir).map_err(|error| {
        anyhow!(
            "{}: cannot list incidents: {error}; name {else_name}",
            dir.display()
        )
    })?;
    let all = recorded::summaries(dir).into_iter();
    let newest = all
        .map(|(path, summary)| (summary.clock.wall_ms(summary.stall.onset), path))
        .max();
    newest
        .map(|(_, path)| path)
        .ok_or_else(|| anyhow!("no incidents in {}; name {else_name}", dir.display()))
}
