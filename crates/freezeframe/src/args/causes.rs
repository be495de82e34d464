//! Arguments of `freezeframe causes`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  freezeframe causes                             all causes, with your own
  freezeframe causes show slow-fsync             how it is recognised, and what to do
  freezeframe causes lint my-cause.toml          all mistakes in a file of yours
  freezeframe causes --json | jq -r '.causes[].id'

A cause is a TOML file; docs/reference/causes.md says how to write one. Put your own into
/etc/freezeframe/causes.d. One with the id of a built-in cause replaces it."
)]
pub(crate) struct Causes {
    #[command(subcommand)]
    pub(crate) command: Option<CausesCommand>,
    #[command(flatten)]
    pub(crate) common: CausesCommon,
}

#[derive(Debug, Args, Clone, Default)]
pub(crate) struct CausesCommon {
    /// Directory of your own causes [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Configuration file [default: /etc/freezeframe/freezeframe.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CausesCommand {
    /// Show a cause: its signs and limits, what speaks against it, what looks like it, the remedy.
    #[command(after_help = "Examples:
  freezeframe causes show slow-fsync
  freezeframe causes show slow-fsync --json | jq -r '.look_alikes[].cause'
  freezeframe causes show my-cause --causes ./my-causes    your own, not yet installed")]
    Show {
        /// Id of the cause
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        common: CausesCommon,
    },
    /// Find all mistakes in files of causes; exit with 1 if there are any.
    #[command(after_help = "Examples:
  freezeframe causes lint                        the directory with your own causes
  freezeframe causes lint my-cause.toml && sudo cp my-cause.toml /etc/freezeframe/causes.d
  freezeframe causes lint ./my-causes --json | jq .problems")]
    Lint {
        /// Files, and directories of files [default: the directory of your own causes]
        #[arg(value_name = "FILE|DIR")]
        paths: Vec<PathBuf>,
        #[command(flatten)]
        common: CausesCommon,
    },
}
