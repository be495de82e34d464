//! Arguments of `freezeframe self-test`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe self-test                          a line each; what failed, and what to do
  freezeframe self-test --json | jq -r '.checks[] | select(.state != \"ok\").says'
  freezeframe self-test --dir /srv/freezeframe || systemctl status freezeframe

It asks no server anything (freezeframe check does), and tells no receiver of a hook. What it writes into the \
recorder's directory it takes away again. It ends within 10 s, whatever hangs.

Exit codes: 0 nothing failed (evidence that cannot be had here is a note), 1 something failed.")]
pub(crate) struct SelfTest {
    /// The recorder's directory [default: as for record]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Configuration; else /etc/freezeframe/freezeframe.toml when it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// JSON, as docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
}
