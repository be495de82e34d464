//! Arguments of `freezeframe-lab cascade`.

use std::path::PathBuf;

use clap::Args;

use super::ServerArg;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab cascade
  freezeframe-lab cascade --server mariadb --dir /tmp/cascade

The page is cascade.html in the directory, beside the incidents.

Exit codes: 0 every cause named first, nothing wrong beside it, and every remedy proven; 3 not all of it;
1 it could not be run.")]
pub(crate) struct CascadeRun {
    /// A cascade of one's own
    #[arg(value_name = "FILE", conflicts_with = "server")]
    pub(crate) file: Option<PathBuf>,
    /// On this server: mysql-5.5 or mariadb; else the first one that is there
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<ServerArg>,
    /// Where incidents, history and the page go
    #[arg(long, value_name = "DIR", default_value = "lab/cascade")]
    pub(crate) dir: PathBuf,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}
