//! Arguments of `freezeframe support-bundle`.

use std::path::PathBuf;

use clap::Args;

use super::ServerArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe support-bundle                       freezeframe-support-STAMP.tar.gz here, mode 0600
  freezeframe support-bundle -o /tmp/b.tar.gz --incidents 1
  freezeframe support-bundle --no-check            the server is not asked anything
  tar -tzf freezeframe-support-*.tar.gz            what is in it; README.txt says what was taken out

Nothing is sent anywhere. In it: version and host's kernel, the configuration without its texts, self-test and check, \
the recorder's log and metrics, the list of incidents, the last incidents as export --redact writes them. Passwords, \
tokens, addresses of hooks, users, hosts and paths of the configuration are taken out of all of it; where one would still \
stand in the file, nothing is written.

Exit codes: 0 written (a part that cannot be had says why), 1 nothing was written.")]
pub(crate) struct SupportBundle {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Where to write it [default: freezeframe-support-STAMP.tar.gz in this directory]
    #[arg(long, short, value_name = "FILE.tar.gz")]
    pub(crate) output: Option<PathBuf>,
    /// The recorder's directory [default: as for record]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// How many incidents, the latest first
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=20))]
    pub(crate) incidents: u8,
    /// Without freezeframe check: the server is not asked
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Replace a file that is there already
    #[arg(long)]
    pub(crate) force: bool,
    /// JSON, as docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
}
