//! When a fix was applied.

use std::path::Path;

use anyhow::{Result, bail};

/// A fix that was applied.
pub(super) struct Applied {
    /// When, milliseconds since 1970 UTC.
    pub(super) at_ms: i64,
    /// The cause that it is for, where that is known.
    pub(super) cause: Option<String>,
}

/// The last fix of the journal in a directory, or the one with this id.
pub(super) fn last(_dir: &Path, _id: &str) -> Result<Applied> {
    bail!("--since-fix: no fix is recorded here; give the time of the change with --at")
}
