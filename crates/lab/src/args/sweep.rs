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
  freezeframe-lab sweep --again --keep sweep.jsonl  the table of the kept results, without a run

The truth is the delay that the server's clients measured by their own clock, not the break itself.
A later run with the same --keep continues with the cells that were covered least often.
Ctrl-C ends in order; kept results stay.

Exit codes: 0 the targets are met, 3 they are not, 1 it could not be run.")]
pub(crate) struct Sweep {
    /// Duration
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "2h")]
    pub(crate) for_time: Duration,
    /// Number of servers at the same time, each with its clients and its recorder
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) at_once: u32,
    /// The server
    #[arg(long, value_name = "SERVER", default_value = "mariadb")]
    pub(crate) server: ServerArg,
    /// Seed for the order of the runs
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Add each result to FILE immediately, and include the results already in FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,
    /// Run nothing: make the table from the results in FILE
    #[arg(long, requires = "keep", conflicts_with_all = ["for_time", "at_once", "seed", "only", "healthy_only", "stalls_only", "dir", "recordings"])]
    pub(crate) again: bool,
    /// Only these mechanisms
    #[arg(long, value_name = "MECHANISM")]
    pub(crate) only: Vec<Mechanism>,
    /// Only healthy work: there may be no notice
    #[arg(long, conflicts_with_all = ["stalls_only", "only"])]
    pub(crate) healthy_only: bool,
    /// Only stalls
    #[arg(long)]
    pub(crate) stalls_only: bool,
    /// Also set back the clock of this host, as healthy work: only on your own machine. It is corrected after 20 s, even
    /// if this program is killed
    #[arg(long, conflicts_with = "stalls_only")]
    pub(crate) set_clock: bool,
    /// Directory for the recorders; uninteresting files are removed
    #[arg(long, value_name = "DIR", default_value = "sweep")]
    pub(crate) dir: PathBuf,
    /// Save the detector's input for each server, with the delays of its clients, in a file in DIR
    #[arg(long, value_name = "DIR")]
    pub(crate) recordings: Option<PathBuf>,
    /// Also write the table as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}
