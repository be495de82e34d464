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
  freezeframe explain \"$(freezeframe incidents --limit 1 --json | jq -r '.[0].path')\"    the last stall")]
pub(crate) struct Incidents {
    /// Where they are [default: as for record]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// What stands first
    #[arg(long, value_enum, value_name = "BY", default_value = "time")]
    pub(crate) sort: SortArg,
    /// Only those with this cause as their first finding
    #[arg(long, value_name = "ID")]
    pub(crate) cause: Option<String>,
    /// Only those of this server, by its label
    #[arg(long, value_name = "LABEL")]
    pub(crate) server: Option<String>,
    /// Only those that began then or later: 03:12 (today), '2026-11-20 14:00', 2h (ago)
    #[arg(long, value_name = "MOMENT")]
    pub(crate) since: Option<String>,
    /// Only those that began then or earlier
    #[arg(long, value_name = "MOMENT")]
    pub(crate) until: Option<String>,
    /// Only those that lasted so long or longer
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) longer: Option<Duration>,
    /// Only those that lasted so long or shorter
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) shorter: Option<Duration>,
    /// How many at the most, 0 for all [default: 30, all with --json]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Configuration; else /etc/freezeframe/freezeframe.toml when it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// JSON
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
    /// The surest first
    Level,
    /// By server
    Server,
}
