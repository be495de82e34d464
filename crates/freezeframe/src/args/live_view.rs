//! Arguments of `freezeframe live`.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::Args;

use super::ServerArgs;

/// The keys are those of the view's own table.
static HELP: LazyLock<String> = LazyLock::new(|| {
    format!(
        "Keys:
{}
Examples:
  freezeframe live                             the server that is recorded here, now
  freezeframe live FILE.frame                  an incident, or captures of other tools
  freezeframe live --dir /mnt/db1/freezeframe  a history
  freezeframe live FILE.frame --plain          one line for each change, for tickets

The view never asks the server: it reads the history of a running recorder once a second, so it
works while the server hangs. If nothing is recorded here, or with --record, it starts its own
recorder, which keeps everything in memory and ends with the view.

As root, if it reads a key 0.02 s late because no CPU is free, it reserves one for a minute: its
threads for keys and for reading run before all others, each at most 10 ms of 50 ms
(SCHED_DEADLINE). So it answers when hundreds of threads want a CPU. --ordinary does without.",
        live::keys::manual()
    )
});

#[derive(Debug, Args)]
#[command(after_help = HELP.as_str())]
pub(crate) struct LiveView {
    /// An incident, a history, or what other tools captured [default: the history in --dir]
    #[arg(value_name = "FILE")]
    pub(crate) paths: Vec<PathBuf>,
    /// Directory of incidents and history [default: where record writes]
    #[arg(long, value_name = "DIR", conflicts_with = "paths")]
    pub(crate) dir: Option<PathBuf>,
    /// Label of the server, if several were recorded
    #[arg(long, value_name = "LABEL", conflicts_with = "paths")]
    pub(crate) server: Option<String>,
    /// Start a recorder for this view only: in memory, and it ends with the view
    #[arg(long, conflicts_with_all = ["paths", "dir"])]
    pub(crate) record: bool,
    /// Print one line for each change instead of a screen
    #[arg(long)]
    pub(crate) plain: bool,
    /// Use ASCII only; strips are digits from 0 to 9
    #[arg(long)]
    pub(crate) ascii: bool,
    /// Number of colours [default: what the terminal has; off with NO_COLOR]
    #[arg(long, value_name = "COLOURS", value_parser = ["off", "8", "16", "256"])]
    pub(crate) palette: Option<String>,
    /// Do not reserve processor time for the view
    #[arg(long)]
    pub(crate) ordinary: bool,
    /// Directory of your own causes [default: /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// What is recorded so
    #[command(flatten)]
    pub(crate) own: ServerArgs,
}
