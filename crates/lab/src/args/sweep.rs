//! Arguments of `freezeframe-lab sweep`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use cli::duration;

use super::ServerArg;
use crate::sweep::Mechanism;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab sweep --for 3m --at-once 4     a first look
  freezeframe-lab sweep --for 2h --at-once 12 --keep sweep.jsonl --markdown sweep.md
  freezeframe-lab sweep --only row-lock --only sigstop --stalls-only
  freezeframe-lab sweep --healthy-only --for 30m
  freezeframe-lab sweep --again --keep sweep.jsonl  the table of what is kept, without a run

The truth is what the clients of the server felt by their own clock, not what was done to it.
A later run with the same --keep goes on with what was covered least often.
Ctrl-C ends in order; what was kept stays.

Exit codes: 0 the targets are met, 3 they are not, 1 it could not be run.")]
pub(crate) struct Sweep {
    /// How long
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "2h")]
    pub(crate) for_time: Duration,
    /// So many servers beside each other, each with its users and its recorder
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) at_once: u32,
    /// The server
    #[arg(long, value_name = "SERVER", default_value = "mariadb")]
    pub(crate) server: ServerArg,
    /// The order of what is run
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Add each result to FILE at once, and count what is there already
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,
    /// Run nothing: make the table of what is in FILE
    #[arg(long, requires = "keep", conflicts_with_all = ["for_time", "at_once", "seed", "only", "healthy_only", "stalls_only", "dir", "recordings"])]
    pub(crate) again: bool,
    /// Only these mechanisms
    #[arg(long, value_name = "MECHANISM")]
    pub(crate) only: Vec<Mechanism>,
    /// Only healthy work: nothing may be announced
    #[arg(long, conflicts_with_all = ["stalls_only", "only"])]
    pub(crate) healthy_only: bool,
    /// Only stalls
    #[arg(long)]
    pub(crate) stalls_only: bool,
    /// Set the clock of this host back, too, as healthy work: on a machine of your own. It is put right after 20 s, even
    /// when this program is killed
    #[arg(long, conflicts_with = "stalls_only")]
    pub(crate) set_clock: bool,
    /// Where the recorders write; what is of no interest is removed
    #[arg(long, value_name = "DIR", default_value = "sweep")]
    pub(crate) dir: PathBuf,
    /// Keep what the detector saw of each server, with what its users felt, in a file of DIR
    #[arg(long, value_name = "DIR")]
    pub(crate) recordings: Option<PathBuf>,
    /// Write the table as Markdown, too
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}
