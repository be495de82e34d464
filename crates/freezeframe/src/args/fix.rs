//! Arguments of `freezeframe fix`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use cli::some_time;

use super::ServerArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe fix                             what helps against the newest incident, on this system
  freezeframe fix x.frame                     against that incident's first finding
  freezeframe fix thp-compaction              against a cause, by its id
  freezeframe fix thp-compaction --apply      show the changes, ask, make them
  freezeframe fix thp-compaction --apply --now --for 30m
                                              try it: given back after half an hour, whoever is killed
  freezeframe fix --undo                      put it back
  freezeframe fix --list                      what was done, and what is still changed

Without --apply and --undo nothing is changed. A change is written down before it is made; files of
others are never edited, and nothing is ever restarted. docs/fix.md says what is changed and how.

Without root, settings of the kernel are made for a time (--for) by freezeframe-lease.socket, for
members of the group freezeframe: docs/leases.md.

Exit code 0 done, 1 error or something could not be put back, 3 the incident names no cause.")]
pub(crate) struct Fix {
    /// An incident's file, or the id of a cause [default: the newest incident]
    #[arg(value_name = "INCIDENT|CAUSE", conflicts_with_all = ["undo", "list"])]
    pub(crate) what: Option<String>,
    /// Of an incident this cause instead of its first finding
    #[arg(long, value_name = "ID", conflicts_with_all = ["undo", "list"])]
    pub(crate) cause: Option<String>,
    /// Causes of your own [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Make the changes that can be made here, after showing and asking
    #[arg(long, conflicts_with_all = ["undo", "list"])]
    pub(crate) apply: bool,
    /// Do not ask
    #[arg(long, requires = "apply")]
    pub(crate) yes: bool,
    /// Only what counts at once, and give it back after this time
    #[arg(long = "for", value_name = "TIME", value_parser = some_time, requires = "apply", conflicts_with = "durable")]
    pub(crate) for_time: Option<Duration>,
    /// Only what counts at once
    #[arg(long, conflicts_with_all = ["undo", "list"])]
    pub(crate) now: bool,
    /// Only what counts from the next start on
    #[arg(long, conflicts_with_all = ["undo", "list", "now"])]
    pub(crate) durable: bool,
    /// Who must agree does: also make the changes that say they need consent
    #[arg(long, requires = "apply")]
    pub(crate) consent: bool,
    /// Put back what was made: the fix with this id (its beginning will do), the only one, or all
    #[arg(long, value_name = "ID|all", num_args = 0..=1, conflicts_with = "list")]
    pub(crate) undo: Option<Option<String>>,
    /// Put it back also where somebody else has changed it since
    #[arg(long, requires = "undo")]
    pub(crate) force: bool,
    /// What was done and what is still changed
    #[arg(long)]
    pub(crate) list: bool,
    /// Where fixes are written down [default: fixes in the directory of record]
    #[arg(long, value_name = "DIR")]
    pub(crate) fix_dir: Option<PathBuf>,
    /// Look at this directory, and change files in it, instead of /
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// JSON, as docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
