//! Arguments of `freezeframe capture`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use cli::duration;

use super::ServerArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe capture                     the next 30 s of every server that is recorded here
  freezeframe capture --for 2m --label 3306
  freezeframe capture --port 3306         without a recorder: recorded just for this time
  kill -USR1 \"$(pgrep -f 'freezeframe record')\"    the same for 30 s, without waiting

A running recorder is asked through its socket in --dir; the incident then has the minute before,
too. For a stall that is over already use `freezeframe explain --at`.")]
pub(crate) struct Capture {
    /// How long to capture
    #[arg(long = "for", alias = "seconds", value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub(crate) for_time: Duration,
    /// Label of the server, if several are recorded
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["socket", "host", "port", "pid"])]
    pub(crate) label: Option<String>,
    /// Directory of the recorder, where the incident is written [default: where record writes]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Directory of your own causes [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Print JSON, one document for each incident; docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
