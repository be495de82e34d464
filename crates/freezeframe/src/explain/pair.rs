//! `explain A B --html`: two incidents on one page.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use diagnosis::compare::{cause_in_question, settings};
use store::{READ_BYTES_MAX, read_incident_within};

use crate::{causes, memory};

/// Memory that each of the two may take, bytes.
const BYTES_MAX: u64 = READ_BYTES_MAX / 2;

/// Writes the page.
pub(super) fn page(files: [&PathBuf; 2], page: &Path, exit_code: bool) -> Result<ExitCode> {
    let read = |path: &PathBuf| {
        memory::now_reading(path);
        let loaded = read_incident_within(path, BYTES_MAX)?;
        anyhow::Ok(super::recorded(loaded, Some(path.clone())))
    };
    let ((first, of_first), (second, of_second)) = (read(files[0])?, read(files[1])?);
    let cause = cause_in_question(&[&of_first, &of_second], causes::catalogue());
    let settings = settings(&first, &second, cause);
    let text = report::pair_html([(&first, &of_first), (&second, &of_second)], &settings);
    super::put(page, &text)?;
    Ok(super::code(exit_code, [&of_first, &of_second]))
}
