//! What is read is not written over: of an incident or a capture there is no other copy.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use crate::captures;

/// Refuses `to`, the file of an option, in the place of what it would be made of, or of any incident.
pub(crate) fn refuse_loss(option: &str, to: &Path, inputs: &[PathBuf]) -> Result<()> {
    if to == Path::new("-") {
        return Ok(());
    }
    if captures::is_incident_file(to) {
        return Err(cli::usage(anyhow!(
            "{}: this is an incident, and is not written over; give another name to {option}",
            to.display()
        )));
    }
    // Only a file is replaced; a device is written to.
    let file = |path: &Path| path.canonicalize().ok().filter(|path| path.is_file());
    let Some(own) = file(to) else { return Ok(()) };
    let is_page = to
        .extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("html") || end.eq_ignore_ascii_case("htm"));
    // A page beside the captures of a folder is one that was made of them before.
    let is_in = |folder: &Path| folder.is_dir() && own.starts_with(folder) && !is_page;
    let is_input = |path: &PathBuf| {
        path.canonicalize()
            .is_ok_and(|path| path == own || is_in(&path))
    };
    if inputs.iter().any(is_input) {
        return Err(cli::usage(anyhow!(
            "{}: this is one of the files to be read, and is not written over; give another name to {option}",
            to.display()
        )));
    }
    Ok(())
}
