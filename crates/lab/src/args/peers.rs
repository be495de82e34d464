//! Arguments of `freezeframe-lab peers`.

use std::path::PathBuf;

use clap::Args;

use super::ServerArg;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab peers row-lock-pileup
  freezeframe-lab peers --markdown lab-peers.md   every scenario, the table as a file as well
  freezeframe-lab peers --again --keep peers.jsonl  the same captures, judged by this build

It needs pt-stalk of percona-toolkit; a scenario takes about four minutes,
two with --only-pt-stalk, one with --only-pt-stalk --untuned.

Exit codes: 0 done, 1 nothing could be run.")]
pub(crate) struct ScenarioPeers {
    /// Only these scenarios
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// On this server; else the first one of each scenario that is there
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<ServerArg>,
    /// Write what came of each scenario to FILE when it has ended, and leave out what is there already: it may be
    /// interrupted and gone on with
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,
    /// Run nothing: judge what is in FILE anew by what this build says of the captures, where these are
    /// still there
    #[arg(long, requires = "keep", conflicts_with_all = ["names", "server", "dir"])]
    pub(crate) again: bool,
    /// Leave out nobody and the recorder: only how pt-stalk's folders are read, in half the time
    #[arg(long, conflicts_with = "again")]
    pub(crate) only_pt_stalk: bool,
    /// Of the two ways pt-stalk is run, only the one as it comes
    #[arg(long, requires = "only_pt_stalk")]
    pub(crate) untuned: bool,
    /// Where what is captured goes
    #[arg(long, value_name = "DIR", default_value = "lab-peers")]
    pub(crate) dir: PathBuf,
    /// Write the table as Markdown, too
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}
