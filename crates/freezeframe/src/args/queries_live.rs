//! Arguments of `freezeframe queries --live`, and of `freezeframe leases`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use cli::some_time;

use super::ServerArgs;

/// How a running server's statements are seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryMethodArg {
    /// The first of these that works; the general log only with --allow-general-log
    #[default]
    Auto,
    /// The server's own sums by statement: two queries, nothing is changed
    PerformanceSchema,
    /// Packets on the server's port: works also when the server does not answer
    Packets,
    /// The server's general log, switched on for this time
    GeneralLog,
}

/// Which running server is listened to, and how.
#[derive(Debug, Args, Clone, Default)]
#[command(next_help_heading = "With --live")]
pub(crate) struct LiveArgs {
    /// Watch a running server for this time instead of reading logs
    #[arg(long, value_name = "TIME", value_parser = some_time, help_heading = None::<&str>)]
    pub(crate) live: Option<Duration>,
    /// Which method to use
    #[arg(long, value_name = "WAY", default_value = "auto", requires = "live")]
    pub(crate) way: QueryMethodArg,
    /// Allow to switch the general log on if nothing gentler works (needs SUPER or
    /// SYSTEM_VARIABLES_ADMIN); every statement is written to a file, which is deleted afterwards
    #[arg(long, requires = "live")]
    pub(crate) allow_general_log: bool,
    /// Maximum size of the general log, MiB
    #[arg(long, value_name = "MIB", default_value_t = 256, requires = "live", value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub(crate) log_max: u64,
    /// Space to leave free on the file system of the general log, MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024, requires = "live", value_parser = clap::value_parser!(u64).range(..=1_073_741_824))]
    pub(crate) leave_free: u64,
    /// Directory of the journal of leases [default: leases, below where record writes]
    #[arg(long, value_name = "DIR", requires = "live")]
    pub(crate) lease_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe leases                  list the changes in force, and those left behind
  freezeframe leases --revert         revert those that were left behind
  freezeframe leases --fix-dir DIR    list also fixes that were made with this --fix-dir

A lease is a temporary change of a server, for example its general log switched on. It is written to
a journal first, and reverted at its end, on Ctrl-C, or by a second process if the first is killed.
Something is left behind only if both were killed.

Leases that members of the group freezeframe got through freezeframe-lease.socket are listed too,
with who asked; `freezeframe fix --undo ID` reverts them.

Exit codes: 0 done, 1 something could not be reverted.")]
pub(crate) struct Leases {
    /// Revert what was left behind; tries until the server answers, or Ctrl-C
    #[arg(long)]
    pub(crate) revert: bool,
    /// Directory of the journal of leases [default: leases, below where record writes]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Another directory with a journal of fixes; may be repeated
    #[arg(long = "fix-dir", value_name = "DIR")]
    pub(crate) fix_dirs: Vec<PathBuf>,
    /// User to log in as [default: that of the lease]
    #[arg(long, short, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// File with the password in its first line [default: that of the lease, else $MYSQL_PWD]
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Option file [default: that of the lease]
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults_file: Option<PathBuf>,
    /// Configuration file [default: /etc/freezeframe/freezeframe.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of the helper; its unit gives them.
#[derive(Debug, Args)]
pub(crate) struct LeaseHelper {
    /// Put all leases of the helper back, and end
    #[arg(long)]
    pub(crate) restore: bool,
    /// Change files in this directory instead of /
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}
