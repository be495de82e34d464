//! Arguments of `freezeframe support-bundle`.

use std::path::PathBuf;

use clap::Args;

use super::ServerArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe support-bundle                       freezeframe-support-STAMP.tar.gz here, mode 0600
  freezeframe support-bundle -o /tmp/b.tar.gz --incidents 1
  freezeframe support-bundle --no-check            do not ask the server
  tar -tzf freezeframe-support-*.tar.gz            list it; README.txt says what was removed

Nothing is sent anywhere. The file has the versions of freezeframe and the kernel, the configuration
without its texts, the output of self-test and check, the recorder's log and metrics, the list of
incidents, and the last incidents as `export --redact` writes them. Passwords, tokens, addresses of
hooks, users, hosts and paths of the configuration are removed everywhere. If one were still in the
file, nothing is written.

Exit codes: 0 written (a part that is missing says why), 1 nothing was written.")]
pub(crate) struct SupportBundle {
    /// File to write [default: freezeframe-support-STAMP.tar.gz in this directory]
    #[arg(long, short, value_name = "FILE.tar.gz")]
    pub(crate) output: Option<PathBuf>,
    /// Directory of the recorder [default: where record writes]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Number of incidents, the latest first
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=20))]
    pub(crate) incidents: u8,
    /// Leave out freezeframe check, which asks the server
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON; docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
