//! Arguments of `freezeframe causes`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  freezeframe causes                             all of them, your own among them
  freezeframe causes show slow-fsync             what is looked for, and what to do
  freezeframe causes lint my-cause.toml          everything that is wrong with a file of your own
  freezeframe causes --json | jq -r '.causes[].id'

A cause is a TOML file; docs/reference/causes.md says how to write one. Your own belong to
/etc/freezeframe/causes.d; one with the id of a built-in cause takes its place."
)]
pub(crate) struct Causes {
    #[command(subcommand)]
    pub(crate) command: Option<CausesCommand>,
    #[command(flatten)]
    pub(crate) common: CausesCommon,
}

#[derive(Debug, Args, Clone, Default)]
pub(crate) struct CausesCommon {
    /// Causes of your own [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Configuration; else /etc/freezeframe/freezeframe.toml when it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CausesCommand {
    /// What is looked for, with limits; what speaks against it, what looks like it, what to do.
    #[command(after_help = "Examples:
  freezeframe causes show slow-fsync
  freezeframe causes show slow-fsync --json | jq -r '.look_alikes[].cause'
  freezeframe causes show my-cause --causes ./my-causes    one of your own, not yet installed")]
    Show {
        /// The cause's id
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        common: CausesCommon,
    },
    /// Everything that is wrong with files; exits with 1 when there is something.
    #[command(after_help = "Examples:
  freezeframe causes lint                        the directory of your own causes
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
