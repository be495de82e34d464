//! Arguments of `freezeframe compare`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe compare A.frame B.frame                   the stall of A against the stall of B, or B's calm
  freezeframe compare --before 2h --after 10m           the last ten minutes against the two hours before
  freezeframe compare --at 14:00 --before 1h --after 1h around a change
  freezeframe compare --before 13:00..13:30 --after 14:00..14:30
  freezeframe compare --since-fix                       since the last fix that was applied
  freezeframe compare A.frame B.frame --cause thp-compaction --html proof.html
  freezeframe compare --before 2h --after 10m --exit-code && echo worked

The answer is worked, no effect, worse or not proven, with what is missing for a proof.
Times without a zone are local. docs/compare.md says how it is computed.
Exit codes with --exit-code: 0 worked, 4 no effect, 5 worse, 6 not proven.")]
pub(crate) struct Compare {
    /// Two incidents: before and after
    #[arg(value_name = "FILE", num_args = 0..=2, conflicts_with_all = ["before", "after", "at", "since_fix"])]
    pub(crate) files: Vec<PathBuf>,
    /// Both stalls, whatever the second one's cause: they were made on purpose, by the same test
    #[arg(long, requires = "files")]
    pub(crate) stalls: bool,
    /// How long before the change, or FROM..TO
    #[arg(long, value_name = "TIME")]
    pub(crate) before: Option<String>,
    /// How long after the change, or FROM..TO
    #[arg(long, value_name = "TIME")]
    pub(crate) after: Option<String>,
    /// When the change was made; else so long ago as --after says
    #[arg(long, value_name = "MOMENT", conflicts_with = "since_fix")]
    pub(crate) at: Option<String>,
    /// The change is the last fix that was applied, or this one
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub(crate) since_fix: Option<String>,
    /// Where fixes are written down [default: fixes in --dir]
    #[arg(long, value_name = "DIR", requires = "since_fix")]
    pub(crate) fix_dir: Option<PathBuf>,
    /// The cause in question, none for what clients feel; else the first finding before the change
    #[arg(long, value_name = "ID")]
    pub(crate) cause: Option<String>,
    /// Causes of your own [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// The server whose history is meant, where there are several
    #[arg(long, value_name = "LABEL")]
    pub(crate) server: Option<String>,
    /// Where incidents and the history are [default: beside FILE, else as for record]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Configuration; else /etc/freezeframe/freezeframe.toml when it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// JSON, as docs/reference/json.md describes it
    #[arg(long, conflicts_with = "html")]
    pub(crate) json: bool,
    /// Write one self-contained page; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Exit with 0 only when it worked
    #[arg(long)]
    pub(crate) exit_code: bool,
}
