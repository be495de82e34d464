//! Arguments of `freezeframe queries --live`, and of `freezeframe leases`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use cli::some_time;

use super::ServerArgs;

/// How a running server's statements are seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryMethodArg {
    /// The first of the following that works; the general log only with --allow-general-log
    #[default]
    Auto,
    /// The server's own sums by class: nothing is changed, it is asked twice
    PerformanceSchema,
    /// Packets on the server's port: it is asked once who is connected, and need not answer
    Packets,
    /// The server's general log, switched on for this time and back
    GeneralLog,
}

/// Which running server is listened to, and how.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct LiveArgs {
    /// Ask or listen to a running server for this time instead of reading logs
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    pub(crate) live: Option<Duration>,
    /// With --live: how
    #[arg(long, value_name = "WAY", default_value = "auto", requires = "live")]
    pub(crate) way: QueryMethodArg,
    /// With --live: switch the general log on where nothing gentler works (it needs SUPER or
    /// SYSTEM_VARIABLES_ADMIN); every statement is then written to a file that is removed afterwards
    #[arg(long, requires = "live")]
    pub(crate) allow_general_log: bool,
    /// With --live: bytes that the general log may have, MiB
    #[arg(long, value_name = "MIB", default_value_t = 256, requires = "live", value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub(crate) log_max: u64,
    /// With --live: what the general log leaves free on its file system, MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024, requires = "live", value_parser = clap::value_parser!(u64).range(..=1_073_741_824))]
    pub(crate) leave_free: u64,
    /// With --live: where leases are written down [default: leases in the directory of record]
    #[arg(long, value_name = "DIR", requires = "live")]
    pub(crate) lease_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe leases                  what is changed now, and what was left behind
  freezeframe leases --revert         give back what was left behind
  freezeframe leases --fix-dir DIR    also fixes whose --fix-dir was this; those made for a time (--for)
                                      are known already

A lease is a change of a server for a time, such as its general log switched on. It is written down
before, and given back at the end, on Ctrl-C, and by a second process when the first was killed. Only
when both were killed is something left behind.

Those that the group freezeframe has by freezeframe-lease.socket are listed too, with who asked;
fix --undo ID puts them back.

Exit code 1 when something could not be given back.")]
pub(crate) struct Leases {
    /// Give back what was left behind; a server that does not answer is tried until it does, or Ctrl-C
    #[arg(long)]
    pub(crate) revert: bool,
    /// Where leases are written down [default: leases in the directory of record]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Where fixes are written down as well, besides fixes in that directory; may be given several times
    #[arg(long = "fix-dir", value_name = "DIR")]
    pub(crate) fix_dirs: Vec<PathBuf>,
    /// User name; else that of the lease
    #[arg(long, short, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// File whose first line is the password; else that of the lease, else $MYSQL_PWD
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Option file; else that of the lease
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults_file: Option<PathBuf>,
    /// Configuration; else /etc/freezeframe/freezeframe.toml when it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// JSON
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
