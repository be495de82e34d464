//! Arguments of `freezeframe import`.

use std::path::PathBuf;

use clap::Args;

/// What others captured, as an incident.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe import ticket.txt -o ticket.frame
  freezeframe import /var/lib/pt-stalk/2026_11_20_23_30_15 -o night.frame
  freezeframe import ticket.txt gdb.out -o ticket.frame --force    again, with one more file")]
pub(crate) struct Import {
    /// Captures of one stall: files, directories, .gz, .zst, .tar, .zip; - for standard input
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Incident file to write
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON: what was read
    #[arg(long)]
    pub(crate) json: bool,
}
