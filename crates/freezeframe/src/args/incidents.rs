//! Arguments of `freezeframe incidents`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use cli::duration;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe incidents                          the latest first
  freezeframe incidents --sort length --limit 5  the five longest
  freezeframe incidents --since 2026-11-20 --cause slow-fsync
  freezeframe incidents --longer 10s --server 3306
  freezeframe incidents --dir /mnt/db1/freezeframe
  freezeframe explain \"$(freezeframe incidents --limit 1 --json | jq -r '.[0].path')\"

Printed times are UTC. A time you type is local, unless you put UTC behind it: '03:12 UTC'.")]
pub(crate) struct Incidents {
    /// Directory of the incidents [default: where record writes]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Sort order
    #[arg(long, value_enum, value_name = "BY", default_value = "time")]
    pub(crate) sort: SortArg,
    /// Only incidents whose first finding is this cause
    #[arg(long, value_name = "ID")]
    pub(crate) cause: Option<String>,
    /// Only incidents of the server with this label
    #[arg(long, value_name = "LABEL")]
    pub(crate) server: Option<String>,
    /// Only incidents that began at or after: 03:12 (today), '2026-11-20 14:00', 2h (ago)
    #[arg(long, value_name = "MOMENT")]
    pub(crate) since: Option<String>,
    /// Only incidents that began at or before
    #[arg(long, value_name = "MOMENT")]
    pub(crate) until: Option<String>,
    /// Only incidents that lasted at least this long
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) longer: Option<Duration>,
    /// Only incidents that lasted at most this long
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) shorter: Option<Duration>,
    /// Maximum number of incidents; 0 for all [default: 30, all with --json]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Configuration file [default: /etc/freezeframe/freezeframe.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What incidents are listed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortArg {
    /// The latest first
    Time,
    /// The longest first
    Length,
    /// By the title of the cause
    Cause,
    /// The most certain first
    Level,
    /// By server
    Server,
}
