//! Arguments of `freezeframe self-test`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe self-test                          one line for each check
  freezeframe self-test --json | jq -r '.checks[] | select(.state != \"ok\").says'
  freezeframe self-test --dir /srv/freezeframe || systemctl status freezeframe

It asks no server (`freezeframe check` does) and calls no hook. Files that it writes into the
recorder's directory are deleted again. It ends within 10 s, whatever hangs.

Exit codes: 0 nothing failed (evidence that this host does not have is a note), 1 a check failed.")]
pub(crate) struct SelfTest {
    /// Directory of the recorder [default: where record writes]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Configuration file [default: /etc/freezeframe/freezeframe.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON; docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
}
