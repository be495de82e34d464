//! The command line: parses, wires, prints.

mod allocators;
mod args;
mod background;
mod bench;
mod capture;
mod captures;
mod cascade;
mod causes;
mod check;
mod compare;
mod config;
mod control;
mod demo;
mod episodes;
mod explain;
mod export;
mod fix;
mod healthy;
mod hooks;
mod incidents;
mod lab;
mod lab_recorder;
mod leases;
mod listen;
mod live;
mod locks;
mod meaning;
mod memory;
mod output;
mod profile;
mod queries;
mod record;
mod recorded;
mod scenario;
mod shell;
mod sources;
mod stacks;
mod stacks_from;
mod sweep;
mod symbols;
mod targets;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command, Usage};

#[global_allocator]
static HEAP: kernel::heap::Counted = kernel::heap::Counted;

fn main() -> ExitCode {
    // A panic is a bug; a user gets one line to report, not a trace.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        // A reader's is an absence of what it reads.
        if recorder::note_panic(&place) {
            return;
        }
        output::note(&format!("internal error at {place}; please report it"));
    }));
    // Stacks take an open file for each image, and sampling without CAP_PERFMON one for each thread.
    raise_open_files();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return wrong_arguments(&error),
    };
    memory::limit_for(&cli.command);
    let result = match cli.command {
        Command::Record(options) => record::run(&options),
        Command::Capture(options) => capture::run(&options),
        Command::Explain(options) => explain::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Import(options) => captures::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Causes(options) => causes::run(&options),
        Command::Incidents(options) => incidents::run(&options),
        Command::Stacks(options) => stacks::run(&options),
        Command::Profile(options) => profile::run(&options),
        Command::Locks(options) => locks::run(&options),
        Command::Meaning(options) => meaning::run(&options),
        Command::Queries(options) => queries::run(&options),
        Command::Fix(options) => fix::run(&options),
        Command::FixWatchdog => fix::watchdog(),
        Command::Leases(options) => leases::run(&options),
        Command::LeaseWatchdog => leases::watchdog(),
        Command::HostWatchdog => scenario::watchdog(),
        Command::Check(options) => check::run(&options),
        Command::Sources(options) => sources::run(&options),
        Command::Lab(command) => lab::run(&command),
        Command::Completions { shell } => {
            let mut command = Cli::command();
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command, "freezeframe", &mut script);
            output::print(&String::from_utf8_lossy(&script)).map(|()| ExitCode::SUCCESS)
        }
    };
    match result {
        Ok(code) => code,
        // A reader that has seen enough (`| head`) is no error.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::note(&one_line(&error));
            let is_usage = error.chain().any(|cause| cause.is::<Usage>());
            ExitCode::from(if is_usage { 2 } else { 1 })
        }
    }
}

/// Help and version are answers; anything else is told on standard error, whatever the arguments hold.
fn wrong_arguments(error: &clap::Error) -> ExitCode {
    let text = error.render();
    if error.use_stderr() {
        output::tell(&text.to_string());
    } else if let Err(error) = output::print_page(&match output::text_options().color {
        true => text.ansi().to_string(),
        false => text.to_string(),
    }) && !is_broken_pipe(&error)
    {
        output::note(&one_line(&error));
        return ExitCode::FAILURE;
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))
}

/// The soft limit on open files is for programs that use select(2); ours may be the hard one.
fn raise_open_files() {
    let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit {
        current: limits.maximum,
        ..limits
    };
    // Where that is refused the usual thousand do for most servers.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, raised);
}

/// The error with its causes in one line; a cause that the text before it holds already is left
/// out.
fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if line.is_empty() {
            line = cause;
        } else if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == ErrorKind::BrokenPipe)
    })
}
