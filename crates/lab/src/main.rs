//! The lab: breaks private servers on purpose, to judge and measure freezeframe. It is a separate program, so that no
//! part of it is on a host that serves users.
//!
//! **The lab drives the program from outside.** `freezeframe-lab run` starts `freezeframe record`, reads what it
//! prints, runs `explain`, lets `fix` apply the remedy and `compare` judge, with the same commands that a user gives.
//!
//! **One stage for a scenario and a cascade** (`scenario/stage.rs`): the server, the lease of the host, the disk and
//! the control groups that any of the acts needs. Each finished run is a line of JSON
//! (`scenario/result_lines.rs`), because a whole score takes hours; the pages are made from the lines. Judging a run is
//! separate from running it (`scenario/judge.rs`), so that `--again` can try a better catalogue on the same evidence.
//!
//! **A replica and its source** are two servers of the lab (`scenario/partner.rs`, `testbed/src/replica.rs`). The
//! scenario's own is the one that is recorded, and may be either. MariaDB only, because its clients can wait for a
//! position of the source without further settings.
//!
//! **A remedy that needs a restart** is the lab's own to make, since it owns the server. `lab/src/cascade` restarts
//! it with other arguments or another allocator while a recorder goes on, makes the same break again and compares the
//! two stalls (`compare --stalls`). The load is the same, so the stacks may be compared whatever the second stall is
//! called. A scenario with such a remedy is a cascade of one act. The outcome is a `report::Document`: paragraphs,
//! tables and bars for a terminal and as a page; `freezeframe-lab allocators` writes the same.
//!
//! **What a scenario does to the server's surroundings** is a thread of ours where a thread can do it
//! (`scenario/work.rs`: copies, readers of the memory map), otherwise a small C program of `testbed/src/victims`
//! (system calls that no crate has, such as `process_madvise`). What would stay behind when it is killed is a lease
//! (`HostChange`).

mod allocators;
mod args;
mod background;
mod bench;
mod cascade;
mod chance;
mod demo;
mod fleet;
mod fleet_kills;
mod healthy;
mod load;
mod product;
mod provenance;
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
            | Command::Fleet(_)
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
            stalls,
        } => bench::run(stretch, &parts, &servers, &stalls),
        Command::List(args) => scenario::list(&args),
        Command::Run(args) => scenario::run(&args),
        Command::Score(args) => scenario::score(&args),
        Command::Allocators(args) => allocators::run(&args),
        Command::Cascade(args) => cascade::run(&args),
        Command::Peers(args) => scenario::peers(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Healthy(args) => healthy::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Fleet(args) => fleet::run(&args),
        Command::FleetAgents(args) => fleet::run_agents(&args),
        Command::FleetKills(args) => fleet_kills::run(&args),
        Command::HostWatchdog => scenario::watchdog(),
        Command::Completions { shell } => {
            let mut command = Cli::command();
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command, "freezeframe-lab", &mut script);
            output::print(&String::from_utf8_lossy(&script)).map(|()| ExitCode::SUCCESS)
        }
    }
}
