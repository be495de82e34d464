//! Arguments of `freezeframe capture`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use cli::duration;

use super::ServerArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe capture                     every server that is recorded here: the next 30 s
  freezeframe capture --for 2m --label 3306
  freezeframe capture --port 3306         no recorder runs: it is recorded for this once
  kill -USR1 \"$(pgrep -f 'freezeframe record')\"    the same for 30 s, and nobody waits

Where a recorder runs it is asked by its socket in --dir, and the incident has the minute before, too.
A stall that comes meanwhile is in it. What stood still before you asked: explain --at.")]
pub(crate) struct Capture {
    /// How long
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub(crate) for_time: Duration,
    /// The server with this label, of several that are recorded
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["socket", "port", "pid"])]
    pub(crate) label: Option<String>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// The recorder's directory, where the incident goes [default: as for record]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Causes of your own [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// JSON, as docs/reference/json.md describes it: a document an incident
    #[arg(long)]
    pub(crate) json: bool,
}
