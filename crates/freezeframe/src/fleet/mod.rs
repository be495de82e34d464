//! `freezeframe fleet`: the store of many servers' incidents, and the questions to it.

mod add;
mod ask;
mod fetch;
mod init;
mod json;
pub(crate) mod known;
pub(crate) mod pause;
pub(crate) mod read;
pub(crate) mod salt;
pub(crate) mod store_url;
mod text;

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;

use crate::args::{Fleet, FleetCommand, Gateway};

/// `gateway` runs one: it stands on more than the questions do.
pub(crate) fn run(args: &Fleet, gateway: fn(&Gateway) -> Result<ExitCode>) -> Result<ExitCode> {
    match &args.command {
        FleetCommand::Init(args) => init::run(args),
        FleetCommand::Add(args) => add::run(args),
        FleetCommand::Ask(args) => ask::run(args),
        FleetCommand::Fetch(args) => fetch::run(args),
        FleetCommand::Gateway(args) => gateway(args),
    }
}

/// Milliseconds since 1970 UTC.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
