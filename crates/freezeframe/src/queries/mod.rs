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

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use cli::output;
use store::write_private;

use crate::args::Queries;
use crate::no_loss::refuse_loss;

pub(crate) fn run(args: &Queries) -> Result<ExitCode> {
    if let Some(page) = &args.html {
        refuse_loss("--html", page, &inputs(args))?;
    }
    if args.live.live.is_some() {
        return live::run(args);
    }
    logs::run(args)
}

/// The logs that are read; of a part of one, what stands before its times.
fn inputs(args: &Queries) -> Vec<PathBuf> {
    let sides = args.diff.iter().flatten();
    let parts = sides.flat_map(|side| {
        let log = side.rsplit_once('@').map(|(log, _)| log);
        [Some(side.as_str()), log].into_iter().flatten()
    });
    let sides = parts.map(PathBuf::from);
    args.files.iter().cloned().chain(sides).collect()
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
