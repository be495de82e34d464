//! The command line: parses, wires, prints.

mod args;
mod capture;
mod captures;
mod causes;
mod check;
mod compare;
mod config;
mod control;
mod episodes;
mod explain;
mod export;
mod feed;
mod fix;
mod fleet;
mod gateway;
mod gateway_config;
mod grants;
mod hooks;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod http_request;
mod incidents;
mod journals;
mod lease_helper;
mod leases;
mod listen;
mod live;
mod live_view;
mod locks;
mod man;
mod meaning;
mod memory;
mod newest;
mod no_loss;
mod of_service;
mod own_recorder;
mod profile;
mod queries;
mod record;
mod refused;
mod resource_limits;
mod self_test;
mod server_arguments;
mod shell;
mod sources;
mod stacks;
mod stacks_from;
mod support;
mod symbols;
mod target_config;
mod targets;
mod targets_file;
mod triggers;
mod web;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use cli::output;

use crate::args::{Cli, Command};

#[global_allocator]
static HEAP: kernel::heap::Counted = kernel::heap::Counted;

fn main() -> ExitCode {
    cli::begin("freezeframe");
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return cli::wrong_arguments(&error),
    };
    memory::limit_for(&cli.command);
    cli::end(match cli.command {
        Command::Record(options) => record::run(&options),
        Command::Capture(options) => capture::run(&options),
        Command::Explain(options) => explain::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Import(options) => captures::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Causes(options) => causes::run(&options),
        Command::Incidents(options) => incidents::run(&options),
        Command::Fleet(options) => fleet::run(&options, gateway::run),
        Command::Live(options) => live_view::run(&options),
        Command::Web(options) => web::run(&options),
        Command::Stacks(options) => stacks::run(&options),
        Command::Profile(options) => profile::run(&options),
        Command::Locks(options) => locks::run(&options),
        Command::Meaning(options) => meaning::run(&options),
        Command::Queries(options) => queries::run(&options),
        Command::Fix(options) => fix::run(&options),
        Command::FixWatchdog => fix::watchdog(),
        Command::Leases(options) => leases::run(&options),
        Command::LeaseWatchdog => leases::watchdog(),
        Command::LeaseHelper(options) => lease_helper::run(&options),
        Command::Check(options) => check::run(&options),
        Command::SelfTest(options) => self_test::run(&options),
        Command::SupportBundle(options) => support::run(&options),
        Command::Grants(options) => grants::run(&options),
        Command::Sources(options) => sources::run(&options),
        Command::Completions { shell } => {
            let mut command = Cli::command();
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command, "freezeframe", &mut script);
            output::print(&String::from_utf8_lossy(&script)).map(|()| ExitCode::SUCCESS)
        }
        Command::Man { dir } => man::run(&dir),
    })
}
