//! Arguments of `freezeframe-lab peers`.

use std::path::PathBuf;

use clap::Args;

use super::ServerArg;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab peers row-lock-pileup
  freezeframe-lab peers --markdown lab-peers.md   every scenario, with the table in a file
  freezeframe-lab peers --again --keep peers.jsonl  judge the same captures with this build

It needs pt-stalk of percona-toolkit; a scenario takes about four minutes,
two with --only-pt-stalk, one with --only-pt-stalk and one of --untuned and --tuned.

Exit codes: 0 done, 1 nothing could be run.")]
pub(crate) struct ScenarioPeers {
    /// Only these scenarios
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Run on this server [default: the first available server of each scenario]
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<ServerArg>,
    /// Add the result of each scenario to FILE when it ends, and skip results already in FILE: a run can be
    /// interrupted and resumed
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,
    /// Run nothing: judge the results in FILE again with this build, as far as their captures
    /// still exist
    #[arg(long, requires = "keep", conflicts_with_all = ["names", "server", "dir"])]
    pub(crate) again: bool,
    /// Only pt-stalk, without the recorder and the unwatched run: half the time
    #[arg(long, conflicts_with = "again")]
    pub(crate) only_pt_stalk: bool,
    /// Run pt-stalk only with its default settings
    #[arg(long, requires = "only_pt_stalk")]
    pub(crate) untuned: bool,
    /// Run pt-stalk only with tuned settings: it triggers on fewer statements, and at once
    #[arg(long, requires = "only_pt_stalk", conflicts_with = "untuned")]
    pub(crate) tuned: bool,
    /// Directory for captures
    #[arg(long, value_name = "DIR", default_value = "lab-peers")]
    pub(crate) dir: PathBuf,
    /// Also write the table as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}
