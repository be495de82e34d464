//! `freezeframe queries`: what a server was asked, from its logs or from listening to it.

mod file;
mod general_log;
mod live;

use std::process::ExitCode;

use anyhow::Result;

use crate::args::Queries;

pub(crate) fn run(args: &Queries) -> Result<ExitCode> {
    if args.live.live.is_some() {
        return live::run(args);
    }
    file::run(args)
}
