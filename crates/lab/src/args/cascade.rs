//! Arguments of `freezeframe-lab cascade`.

use std::path::PathBuf;

use clap::Args;

use super::ServerArg;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab cascade
  freezeframe-lab cascade --server mariadb --dir /tmp/cascade

The page is cascade.html in the directory, next to the incidents.

Exit codes: 0 every cause named first, no wrong cause, and every remedy proven; 3 otherwise;
1 it could not be run.")]
pub(crate) struct CascadeRun {
    /// Your own cascade file
    #[arg(value_name = "FILE", conflicts_with = "server")]
    pub(crate) file: Option<PathBuf>,
    /// Run on this server, mysql-5.5 or mariadb [default: the first available]
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<ServerArg>,
    /// Directory for incidents, history and the page
    #[arg(long, value_name = "DIR", default_value = "lab/cascade")]
    pub(crate) dir: PathBuf,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}
