//! `freezeframe queries`: what a server was asked, from its logs or from listening to it.

mod arrange;
mod diff;
mod file;
mod follow;
mod general_log;
mod input;
mod listening;
mod live;
mod logs;
pub(crate) mod options;
mod progress;
mod pump;
pub(crate) mod zstd;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use cli::output;
use store::write_private;

use crate::args::Queries;

pub(crate) fn run(args: &Queries) -> Result<ExitCode> {
    if args.live.live.is_some() {
        return live::run(args);
    }
    logs::run(args)
}

/// Writes a page where `--html` says; nobody else may read it.
pub(crate) fn write_page(path: &Path, page: &str) -> Result<()> {
    if path.as_os_str() == "-" {
        return output::print(page);
    }
    write_private(path, page.as_bytes()).with_context(|| path.display().to_string())?;
    output::note(&format!("wrote {}", path.display()));
    Ok(())
}
