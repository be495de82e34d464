//! Arguments of `freezeframe queries`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use cli::some_time;

use super::queries_live::LiveArgs;

/// Whose fingerprints and identities are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompatArg {
    /// pt-query-digest: the same classes and checksums as in its history
    Pt,
}

/// What makes a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupByArg {
    /// The statement without literals
    #[default]
    Fingerprint,
    /// The kind of statement
    Kind,
    /// The user
    User,
    /// The client's host
    Host,
    /// The database
    Database,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe queries /var/log/mysql/slow.log               what took the time
  freezeframe queries slow.log.1.gz slow.log --limit 5      several logs together
  freezeframe queries slow.log --since '2026-11-20 14:00' --until '2026-11-20 14:10'
  freezeframe queries slow.log --filter db=shop --filter 'Rows_examined>100000'
  freezeframe queries slow.log --group-by user --order-by count
  freezeframe queries slow.log --order-by Rows_examined:max --json | jq '.classes[0].fingerprint'
  freezeframe queries --diff yesterday.log today.log        what changed most
  freezeframe queries --diff slow.log@10:00..10:10 slow.log@14:00..14:10
  freezeframe queries --follow /var/log/mysql/slow.log      until Ctrl-C
  zcat slow.log.gz | freezeframe queries -
  freezeframe queries --live 60s                            a running server, the gentlest way

Reads slow logs and general logs of MySQL 5.0 to 9, Percona Server and MariaDB, also as .gz or .zst.
Statements are shown without literals unless you say --no-redact.
Printed times are UTC. A time you type is local, unless you put UTC behind it: '03:12 UTC'.
Medians, 95 % and 99 % values have an error of at most 0.8 %.")]
pub(crate) struct Queries {
    /// Slow or general logs; - for standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["diff", "live"], conflicts_with_all = ["diff", "live"])]
    pub(crate) files: Vec<PathBuf>,
    /// Compare two logs, two parts of one (FILE@FROM..TO), or two outputs of --json: A is before, B is
    /// after
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["follow", "live"])]
    pub(crate) diff: Option<Vec<String>>,
    /// Only statements from this moment on: a time, a date and time, or how long ago (90s, 2h)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only statements before this moment
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only statements that match: user, host, db, kind or text with = != or ~ (contains), or a number
    /// of the log with = != < <= > >=; may be repeated, all must match
    #[arg(long = "filter", value_name = "EXPRESSION")]
    pub(crate) filters: Vec<String>,
    /// Group statements by
    #[arg(long, value_name = "WHAT", default_value = "fingerprint")]
    pub(crate) group_by: GroupByArg,
    /// Sort the groups by time, count, or NUMBER[:sum|min|max|avg|count|median|p95|p99] with a number of
    /// the log [default: time, or count if the log has no times]
    #[arg(long, value_name = "ORDER")]
    pub(crate) order_by: Option<String>,
    /// Groups to show; 0 for all [default: 20 in text and page, all in JSON]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Keep reading as the log grows, until Ctrl-C
    #[arg(long, conflicts_with = "live")]
    pub(crate) follow: bool,
    /// With --follow: stop after this time
    #[arg(long = "for", value_name = "TIME", value_parser = some_time, requires = "follow")]
    pub(crate) for_time: Option<Duration>,
    /// Make groups and checksums as another tool does
    #[arg(long, value_name = "TOOL")]
    pub(crate) compat: Option<CompatArg>,
    /// Show the slowest statement of each group with its literals, which may be private data
    #[arg(long)]
    pub(crate) no_redact: bool,
    /// Print JSON; docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a self-contained HTML page; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) live: LiveArgs,
}
