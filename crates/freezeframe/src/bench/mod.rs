//! What freezeframe costs and how fast it is, beside the tools that people have today. All of one
//! part in one run on one machine; the ratios are what counts.

mod measure;
mod profile;
mod recorder;
mod snapshots;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use crate::args::BenchPart;

/// Runs the parts that are asked for, all of them when none is named.
pub(crate) fn run(stretch: Duration, parts: &[BenchPart]) -> Result<ExitCode> {
    let wanted = |part| parts.is_empty() || parts.contains(&part);
    if wanted(BenchPart::Recorder) {
        recorder::run(stretch)?;
    }
    if wanted(BenchPart::Snapshots) {
        snapshots::run()?;
    }
    if wanted(BenchPart::Profile) {
        profile::run()?;
    }
    Ok(ExitCode::SUCCESS)
}
