//! Arguments of `freezeframe fix`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use cli::some_time;

use super::ServerArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe fix                           show the remedy for the newest incident
  freezeframe fix x.frame                   for the first finding of this incident
  freezeframe fix thp-compaction            for a cause, by its id
  freezeframe fix thp-compaction --apply    show the changes, ask, then apply them
  freezeframe fix thp-compaction --apply --now --for 30m
                                            try it for 30 minutes; undone even after a SIGKILL
  freezeframe fix --undo                    undo it
  freezeframe fix --list                    what was done, and what is still in force

Without --apply or --undo nothing is changed. Each change is written to a journal before it is made.
Files of others are never edited, and nothing is ever restarted. docs/fix.md says what is changed.

Members of the group freezeframe need no root for kernel settings with --for: docs/leases.md.

Exit codes: 0 done, 1 error or something could not be undone, 3 the incident has no cause.")]
pub(crate) struct Fix {
    /// Incident (its file or name, or a recorder's directory), or id of a cause [default: the newest incident]
    #[arg(value_name = "INCIDENT|CAUSE", conflicts_with_all = ["undo", "list"])]
    pub(crate) what: Option<String>,
    /// Use this cause of the incident instead of its first finding
    #[arg(long, value_name = "ID", conflicts_with_all = ["undo", "list"])]
    pub(crate) cause: Option<String>,
    /// Directory of your own causes [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Apply the changes that can be made here, after showing them and asking
    #[arg(long, conflicts_with_all = ["undo", "list"])]
    pub(crate) apply: bool,
    /// Do not ask
    #[arg(long, requires = "apply")]
    pub(crate) yes: bool,
    /// Make only changes that act at once, and undo them after this time
    #[arg(long = "for", value_name = "TIME", value_parser = some_time, requires = "apply", conflicts_with = "durable")]
    pub(crate) for_time: Option<Duration>,
    /// Make only changes that act at once
    #[arg(long, conflicts_with_all = ["undo", "list"])]
    pub(crate) now: bool,
    /// Make only changes that act from the next start
    #[arg(long, conflicts_with_all = ["undo", "list", "now"])]
    pub(crate) durable: bool,
    /// Make also changes that need the consent of others: you have it
    #[arg(long, requires = "apply")]
    pub(crate) consent: bool,
    /// Undo a fix: by its id or the beginning of it, or all [default: the only one]
    #[arg(long, value_name = "ID|all", num_args = 0..=1, conflicts_with = "list")]
    pub(crate) undo: Option<Option<String>>,
    /// Undo it even where somebody else has changed it since
    #[arg(long, requires = "undo")]
    pub(crate) force: bool,
    /// List what was done and what is still in force
    #[arg(long)]
    pub(crate) list: bool,
    /// Directory of the journal of fixes [default: fixes, below where record writes]
    #[arg(long, value_name = "DIR")]
    pub(crate) fix_dir: Option<PathBuf>,
    /// Read and change files below this directory instead of /
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Print JSON; docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
