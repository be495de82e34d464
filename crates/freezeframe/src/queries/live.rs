//! What a running server is asked now.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::args::Queries;

/// `queries --live TIME`.
pub(crate) fn run(_args: &Queries) -> Result<ExitCode> {
    bail!("--live is not built yet")
}
