//! The command line: parses, wires, prints.

mod args;
mod background;
mod bench;
mod check;
mod config;
mod demo;
mod explain;
mod incidents;
mod lab;
mod output;
mod record;
mod sources;
mod targets;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Record(options) => record::run(&options),
        Command::Explain(options) => explain::run(&options),
        Command::Incidents(options) => incidents::run(&options),
        Command::Check(options) => check::run(&options),
        Command::Sources(options) => sources::run(&options),
        Command::Lab(command) => lab::run(&command),
        Command::Completions { shell } => {
            let mut command = Cli::command();
            clap_complete::generate(shell, &mut command, "freezeframe", &mut std::io::stdout());
            Ok(ExitCode::SUCCESS)
        }
    };
    match result {
        Ok(code) => code,
        // A reader that has seen enough (`| head`) is no error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("freezeframe: {error:#}");
            ExitCode::from(1)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == ErrorKind::BrokenPipe)
    })
}
