//! Commands of `freezeframe-lab`.

mod allocators;
mod cascade;
mod fleet;
mod peers;
mod scenario;
mod sweep;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use cli::duration;

pub(crate) use allocators::Allocators;
pub(crate) use cascade::CascadeRun;
pub(crate) use fleet::{FleetAgents, FleetKills, FleetRun, FleetSignals};
pub(crate) use peers::ScenarioPeers;
pub(crate) use scenario::{ScenarioRun, ScenarioScore};
pub(crate) use sweep::Sweep;

/// The stalls beside which the live view is measured: a server that is stopped, locks of two kinds, processors of two kinds.
pub(crate) const STALLS_OF_LIVE: [&str; 5] = [
    "server-stopped",
    "mdl-pileup",
    "row-lock-pileup",
    "show-warnings-flood",
    "too-many-running",
];

/// Breaks private servers on purpose, to judge and measure freezeframe. Not for a host that serves users.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Examples:
  freezeframe-lab demo                           one stall from its start to its verdict
  freezeframe-lab list                           the scenarios, and on which servers they run
  freezeframe-lab run mdl-pileup                 one scenario: is its cause named correctly?

Servers are private, in their own directory, and removed at the end. The lab starts
the `freezeframe` in its own directory, or the one that $FREEZEFRAME names.

Exit codes: 0 done, 1 error, 2 wrong arguments, 3 a judging command found a failure."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// A complete stall on a private server: recorded, noticed, named.
    #[command(after_help = "Examples:
  freezeframe-lab demo
  freezeframe-lab demo --dir /tmp/demo && freezeframe explain /tmp/demo/*.frame")]
    Demo {
        /// Directory for the incident and the report
        #[arg(long, value_name = "DIR", default_value = "demo")]
        dir: PathBuf,
    },
    /// The cost of freezeframe, measured on private servers and compared with other tools.
    #[command(after_help = "Examples:
  freezeframe-lab bench                          all parts; it takes long
  freezeframe-lab bench --part verdict --part captures
  freezeframe-lab bench --part snapshots --server mysql-9
  freezeframe-lab bench --part targets --stretch 30s
  freezeframe-lab bench --part live --stall too-many-running
  freezeframe-lab bench --part recorder --stretch 20s")]
    Bench {
        /// Length of each measurement
        #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s")]
        stretch: Duration,
        /// Only these parts
        #[arg(long = "part", value_name = "PART")]
        parts: Vec<BenchPart>,
        /// Take snapshots of these servers [default: the installed MariaDB; of other available
        /// servers only how complete they are]
        #[arg(long = "server", value_name = "SERVER")]
        servers: Vec<ServerArg>,
        /// Only these stalls of the part `live`
        #[arg(long = "stall", value_name = "STALL", value_parser = STALLS_OF_LIVE)]
        stalls: Vec<String>,
    },
    /// The scenarios: ways to break a throw-away server, with known truth.
    #[command(after_help = "Examples:
  freezeframe-lab list
  freezeframe-lab list --json | jq -r '.[] | select(.can_run).name'
  freezeframe-lab list --json | jq -r '.[] | select(.cause == \"mdl-pileup\").name'")]
    List(Json),
    /// Run a scenario: is it noticed, how fast, and is its cause named correctly?
    Run(ScenarioRun),
    /// Run many scenarios and print the table.
    Score(ScenarioScore),
    /// The same work under glibc, tcmalloc, jemalloc and mimalloc: time, scaling, memory.
    Allocators(Allocators),
    /// One cause after the other on one server: each named, its remedy applied and proven.
    Cascade(CascadeRun),
    /// The same scenarios with pt-stalk and freezeframe: noticed, captured, named, and the cost.
    Peers(ScenarioPeers),
    /// Stalls of all kinds, pools, loads and lengths: is each noticed, how fast, and nothing else?
    Sweep(Sweep),
    /// Healthy, busy and idle servers, captured again and again: no cause may be named.
    Healthy(Healthy),
    /// Load for a server: N clients, a mix of statements, for a limited time.
    Load(Load),
    /// A simulated fleet into a store: how fast, how large, how long questions take.
    Fleet(FleetRun),
    /// What thousands of recorders send each minute through a gateway: what it takes, and is each row there?
    FleetAgents(FleetAgents),
    /// Recorders and the fleet's store are killed at random: is each row there once?
    FleetKills(FleetKills),
    /// The watchdog for changes of a scenario on the host; started by the lab itself.
    #[command(hide = true)]
    HostWatchdog,
    /// Completions for a shell, on standard output.
    #[command(after_help = "Examples:
  freezeframe-lab completions bash | sudo tee /etc/bash_completion.d/freezeframe-lab > /dev/null
  freezeframe-lab completions fish > ~/.config/fish/completions/freezeframe-lab.fish")]
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Json {
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BenchPart {
    /// CPU, memory, history and speed of the recorder, compared with pt-stalk
    Recorder,
    /// Snapshots of all threads, compared with gdb, eu-stack and pt-pmp
    Snapshots,
    /// Profiles of the processors, compared with perf record
    Profile,
    /// Waits for locks at several rates, compared with strace and perf trace
    Locks,
    /// A digest of a slow log, compared with pt-query-digest and mysqldumpslow
    Queries,
    /// Memory of the recorder during an incident, and the time to resolve names
    Memory,
    /// Statements from packets at full load over TCP, compared with tcpdump
    Packets,
    /// The verdict on a full incident, and the catalogue on the ring
    Verdict,
    /// Captures of other tools, from the files to the verdict
    Captures,
    /// Pages of the largest incident and of a day of history: time and size
    Pages,
    /// The live view during five stalls: response time to a key, CPU, when the cause is shown
    Live,
    /// CPU and memory of one process that records 1, 50 and 200 servers, most of them simulated
    Targets,
    /// A simulated fleet: rows a second, bytes a point, questions; the cost of a recorder that sends
    Fleet,
}

/// A kind of private server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ServerArg {
    /// The installed MariaDB
    Mariadb,
    /// MySQL 5.5.9, from scripts/servers, like the following ones
    #[value(name = "mysql-5.5")]
    MySql55,
    /// MySQL 9
    #[value(name = "mysql-9")]
    MySql9,
    /// MariaDB 11.4.5
    #[value(name = "mariadb-11")]
    MariaDb11,
}

impl From<ServerArg> for testbed::ServerKind {
    fn from(server: ServerArg) -> Self {
        match server {
            ServerArg::Mariadb => Self::MariaDb,
            ServerArg::MySql55 => Self::MySql55,
            ServerArg::MySql9 => Self::MySql9,
            ServerArg::MariaDb11 => Self::MariaDb11,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab healthy --for 1h --dir /tmp/healthy
  freezeframe-lab healthy --for 0 --brief --server mysql-9 --load restart --load backup

Exit codes: 0 no cause was likely or certain, 3 a cause was.")]
pub(crate) struct Healthy {
    /// Total time for all servers; at least one round of all loads on each
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "1h")]
    pub(crate) for_time: Duration,
    /// Only these servers [default: all available]
    #[arg(long = "server", value_name = "SERVER")]
    pub(crate) servers: Vec<ServerArg>,
    /// Only loads with this text in their name, such as "restart"
    #[arg(long = "load", value_name = "TEXT")]
    pub(crate) loads: Vec<String>,
    /// One capture of each load, at its start, instead of two
    #[arg(long)]
    pub(crate) brief: bool,
    /// Directory for the incidents
    #[arg(long, value_name = "DIR", default_value = "healthy")]
    pub(crate) dir: PathBuf,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  freezeframe-lab load --socket /tmp/s.sock --clients 30 --mix show-warnings --compress --for 10s")]
pub(crate) struct Load {
    /// The server's unix socket
    #[arg(long, value_name = "PATH", required_unless_present = "port")]
    pub(crate) socket: Option<PathBuf>,
    /// The server's TCP port on 127.0.0.1
    #[arg(long, value_name = "N", conflicts_with = "socket")]
    pub(crate) port: Option<u16>,
    /// User name
    #[arg(long, short, value_name = "NAME", default_value = "root")]
    pub(crate) user: String,
    /// File whose first line is the password
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Number of clients, each with its own connection
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) clients: usize,
    /// Mix of statements: ordinary, point-selects, reports, transactions or show-warnings
    #[arg(
        long,
        value_name = "NAME",
        default_value = "ordinary",
        conflicts_with = "statement"
    )]
    pub(crate) mix: String,
    /// A statement of your own; may be given several times
    #[arg(long, value_name = "SQL")]
    pub(crate) statement: Vec<String>,
    /// Statements a second of all clients together [default: as fast as possible]
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<f64>,
    /// Use the compressed protocol
    #[arg(long)]
    pub(crate) compress: bool,
    /// Duration
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub(crate) for_time: Duration,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
