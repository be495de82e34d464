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
  freezeframe live                             the server that is recorded here, as it goes
  freezeframe live FILE.frame                  an incident; captures of others as for explain
  freezeframe live --dir /mnt/db1/freezeframe  a history that was kept
  freezeframe live FILE.frame --plain          a line for each change, for tickets, screen readers

Nothing on the screen asks the server anything: a running recorder's history is read, once a second,
so the view works while the server hangs. Where nothing was recorded, or with --record, it starts a
recorder of its own, which keeps what it records in memory and ends with the view.
Not there yet: stacks and locks of a stall that lasts (its incident has them), another time to
compare with.",
        live::keys::manual()
    )
});

#[derive(Debug, Args)]
#[command(after_help = HELP.as_str())]
pub(crate) struct LiveView {
    /// An incident, a history, or what others captured; else the history of --dir
    #[arg(value_name = "FILE")]
    pub(crate) paths: Vec<PathBuf>,
    /// Where incidents and the history are [default: as for record]
    #[arg(long, value_name = "DIR", conflicts_with = "paths")]
    pub(crate) dir: Option<PathBuf>,
    /// Of several servers that were recorded the one with this label
    #[arg(long, value_name = "LABEL", conflicts_with = "paths")]
    pub(crate) server: Option<String>,
    /// Record for as long as this is open, into memory; by itself where nothing was recorded
    #[arg(long, conflicts_with_all = ["paths", "dir"])]
    pub(crate) record: bool,
    /// What is recorded so
    #[command(flatten)]
    pub(crate) own: ServerArgs,
    /// A line for each change, nothing drawn
    #[arg(long)]
    pub(crate) plain: bool,
    /// Letters of ASCII only; strips are digits from 0 to 9
    #[arg(long)]
    pub(crate) ascii: bool,
    /// Colours that are used [default: as the terminal has them; none with NO_COLOR]
    #[arg(long, value_name = "COLOURS", value_parser = ["off", "8", "16", "256"])]
    pub(crate) palette: Option<String>,
    /// Causes of your own [default: /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
}
