//! `queries FILE…`.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::args::Queries;

/// Digests logs.
pub(crate) fn run(_args: &Queries) -> Result<ExitCode> {
    bail!("not built yet")
}
