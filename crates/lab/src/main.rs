//! The lab: breaks private servers on purpose, and judges and measures freezeframe beside them. It is a program of its
//! own, so that nothing of it is on a host that serves users.

mod allocators;
mod args;
mod background;
mod bench;
mod cascade;
mod demo;
mod healthy;
mod load;
mod made;
mod product;
mod scenario;
mod sweep;

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser};
use cli::output;

use crate::args::{Cli, Command};

#[global_allocator]
static HEAP: kernel::heap::Counted = kernel::heap::Counted;

fn main() -> ExitCode {
    cli::begin("freezeframe-lab");
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return cli::wrong_arguments(&error),
    };
    cli::end(run(cli.command))
}

fn run(command: Command) -> Result<ExitCode> {
    if !matches!(
        command,
        Command::List(_)
            | Command::Load(_)
            | Command::Allocators(_)
            | Command::HostWatchdog
            | Command::Completions { .. }
    ) {
        // Said before a server is started and broken for nothing.
        product::program()?;
    }
    match command {
        Command::Demo { dir } => demo::run(&dir),
        Command::Bench {
            stretch,
            parts,
            servers,
        } => bench::run(stretch, &parts, &servers),
        Command::List(args) => scenario::list(&args),
        Command::Run(args) => scenario::run(&args),
        Command::Score(args) => scenario::score(&args),
        Command::Allocators(args) => allocators::run(&args),
        Command::Cascade(args) => cascade::run(&args),
        Command::Peers(args) => scenario::peers(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Healthy(args) => healthy::run(&args),
        Command::Load(args) => load::run(&args),
        Command::HostWatchdog => scenario::watchdog(),
        Command::Completions { shell } => {
            let mut command = Cli::command();
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command, "freezeframe-lab", &mut script);
            output::print(&String::from_utf8_lossy(&script)).map(|()| ExitCode::SUCCESS)
        }
    }
}
