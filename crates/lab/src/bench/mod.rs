//! What freezeframe costs and how fast it is, beside the tools that people have today. All of one
//! part in one run on one machine; the ratios are what counts.

mod captures;
mod fleet;
mod live;
mod locks;
mod measure;
mod memory;
mod packets;
mod pages;
mod paired;
mod peers;
mod probe;
mod profile;
mod queries;
mod recorder;
mod snapshots;
mod targets;
mod verdict;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use rustix::process::{Resource, getrlimit, setrlimit};
use testbed::ServerKind;

use crate::args::{BenchPart, ServerArg};

/// Runs the parts that are asked for, all of them when none is named; of the live view all stalls, or these.
pub(crate) fn run(
    stretch: Duration,
    parts: &[BenchPart],
    servers: &[ServerArg],
    stalls: &[String],
) -> Result<ExitCode> {
    raise_open_files();
    let servers: Vec<ServerKind> = servers
        .iter()
        .map(|server| ServerKind::from(*server))
        .collect();
    let wanted = |part| parts.is_empty() || parts.contains(&part);
    if wanted(BenchPart::Recorder) {
        recorder::run(stretch)?;
    }
    if wanted(BenchPart::Snapshots) {
        snapshots::run(&servers)?;
    }
    if wanted(BenchPart::Profile) {
        profile::run()?;
    }
    if wanted(BenchPart::Locks) {
        locks::run()?;
    }
    if wanted(BenchPart::Queries) {
        queries::run()?;
    }
    if wanted(BenchPart::Memory) {
        memory::run()?;
    }
    if wanted(BenchPart::Packets) {
        packets::run()?;
    }
    if wanted(BenchPart::Verdict) {
        verdict::run()?;
    }
    if wanted(BenchPart::Captures) {
        captures::run()?;
    }
    if wanted(BenchPart::Pages) {
        pages::run()?;
    }
    if wanted(BenchPart::Live) {
        live::run(stalls)?;
    }
    if wanted(BenchPart::Targets) {
        targets::run(stretch)?;
    }
    if wanted(BenchPart::Fleet) {
        fleet::run(stretch)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Two thousand connections are as many open files, here and in the server, which inherits the
/// limit. Where it cannot be raised, opening the connections says so.
fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
