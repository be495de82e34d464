//! Arguments of `freezeframe compare`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe compare A.frame B.frame                    two incidents
  freezeframe compare --before 2h --after 10m            the last 10 minutes, the 2 hours before
  freezeframe compare --at 14:00 --before 1h --after 1h  around a change at 14:00
  freezeframe compare --before 13:00..13:30 --after 14:00..14:30
  freezeframe compare --since-fix                        since the last fix was applied
  freezeframe compare A.frame B.frame --cause thp-compaction --html proof.html
  freezeframe compare --before 2h --after 10m --exit-code && echo worked

The answer is: worked, no effect, worse, or not proven (and what is missing for a proof).
docs/compare.md says how it is computed.
Printed times are UTC. A time you type is local, unless you put UTC behind it: '03:12 UTC'.

Exit codes with --exit-code: 0 worked, 4 no effect, 5 worse, 6 not proven.")]
pub(crate) struct Compare {
    /// Two incidents: before and after
    #[arg(value_name = "FILE", num_args = 0..=2, conflicts_with_all = ["before", "after", "at", "since_fix"])]
    pub(crate) files: Vec<PathBuf>,
    /// Compare the two stalls even if their causes differ: for two runs of the same test
    #[arg(long, requires = "files")]
    pub(crate) stalls: bool,
    /// How long before the change, or FROM..TO
    #[arg(long, value_name = "TIME")]
    pub(crate) before: Option<String>,
    /// How long after the change, or FROM..TO
    #[arg(long, value_name = "TIME")]
    pub(crate) after: Option<String>,
    /// When the change was made [default: when the time of --after begins]
    #[arg(long, value_name = "MOMENT", conflicts_with = "since_fix")]
    pub(crate) at: Option<String>,
    /// Compare before and after a fix [default: the last that was applied]
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub(crate) since_fix: Option<String>,
    /// Directory of the journal of fixes [default: where fix keeps it]
    #[arg(long, value_name = "DIR", requires = "since_fix")]
    pub(crate) fix_dir: Option<PathBuf>,
    /// The cause to compare; "none" compares only what clients feel [default: the first finding before the change]
    #[arg(long, value_name = "ID")]
    pub(crate) cause: Option<String>,
    /// Directory of your own causes [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Label of the server, if several were recorded
    #[arg(long, value_name = "LABEL")]
    pub(crate) server: Option<String>,
    /// Directory of incidents and history [default: the one of FILE, else where record writes]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Configuration file [default: /etc/freezeframe/freezeframe.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON; docs/reference/json.md describes it
    #[arg(long, conflicts_with = "html")]
    pub(crate) json: bool,
    /// Write a self-contained HTML page; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Exit with 0 only if the change worked
    #[arg(long)]
    pub(crate) exit_code: bool,
}

impl Compare {
    /// Whether it is the fix as a whole that is judged: its own cause, over the usual times.
    pub(crate) fn is_of_fix_alone(&self) -> bool {
        self.since_fix.is_some()
            && self.cause.is_none()
            && self.before.is_none()
            && self.after.is_none()
    }
}
