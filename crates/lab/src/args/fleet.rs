//! Arguments of `freezeframe-lab fleet` and `freezeframe-lab fleet-kills`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use cli::duration;

/// Which signals a simulated recorder sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FleetSignals {
    /// Only those that questions read, by the minute
    Asked,
    /// Those, and the vital ones by the second
    Vital,
    /// All that were recorded, the vital ones by the second: what recorders send
    All,
    /// All, by the second: what recorders send of the minutes around an incident
    Seconds,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab fleet --hosts 12 --days 0.1 --incidents 300
  freezeframe-lab fleet --hosts 400 --days 3 --server --frames lab
  freezeframe-lab fleet --hosts 400 --days 2 --month --signals asked --server --frames lab
  freezeframe-lab fleet --hosts 20 --days 1 --url sqlite:///tmp/fleet.db
  FREEZEFRAME_FLEET_PASSWORD=… freezeframe-lab fleet --url http://me@db1:8123/simulated

The store gets the batches that recorders would send: minutes of each server, and incidents. Servers
differ in kernel, settings, recorder, clock and load; one in a hundred is renamed, one falls silent.
Then each question is timed, and 'like-this' is asked about many incidents whose kind is known.

Exit codes: 0 done, 3 too few of the incidents that 'like-this' puts first are of the same kind.")]
pub(crate) struct FleetRun {
    /// Servers
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub(crate) hosts: u32,
    /// Days of minutes, up to now
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub(crate) days: f64,
    /// Incidents of the last 30 days
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) incidents: u32,
    /// Signals of the minutes
    #[arg(long, value_enum, default_value = "vital")]
    pub(crate) signals: FleetSignals,
    /// Seed of everything that is by chance
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Repeat the incidents of this directory and below [default: made ones, without a known cause]
    #[arg(long, value_name = "DIR")]
    pub(crate) frames: Vec<PathBuf>,
    /// The store [default: a file that is deleted]
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    pub(crate) url: Option<String>,
    /// A ClickHouse of scripts/fleet-server, deleted at the end
    #[arg(long)]
    pub(crate) server: bool,
    /// Repeat the minutes, earlier and earlier, until they are 30 days; only in ClickHouse
    #[arg(long)]
    pub(crate) month: bool,
    /// Incidents that 'like-this' is asked about
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) cases: u32,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab fleet-kills --kills 20
  freezeframe-lab fleet-kills --kills 1000 --for 1h --gateway --server

Recorders send what was recorded of other servers, and are killed (SIGKILL) at random moments; so are the
store, with --server, and the gateway, with --gateway. In the end the store must have each row once, as a store that was fed in peace has it.

Exit codes: 0 so it is, 3 rows are missing or there twice.")]
pub(crate) struct FleetKills {
    /// Kills
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) kills: u32,
    /// Longest time for all kills
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "30m")]
    pub(crate) for_time: Duration,
    /// Recorders
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=32))]
    pub(crate) agents: u32,
    /// Seed of what is by chance
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Recorders send to a gateway, which is killed as well
    #[arg(long)]
    pub(crate) gateway: bool,
    /// Into a ClickHouse of scripts/fleet-server, which is killed as well; else into a file
    #[arg(long)]
    pub(crate) server: bool,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab fleet-agents --agents 500 --minutes 1
  freezeframe-lab fleet-agents --agents 10000 --minutes 3 --server

Each simulated recorder sends what a real one sends in a calm minute, once a minute, with a token of
its own, over loopback to a gateway in a process of its own.

Exit codes: 0 each row is in the store, 3 rows are missing.")]
pub(crate) struct FleetAgents {
    /// Recorders
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    pub(crate) agents: u32,
    /// Minutes that each sends
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub(crate) minutes: u32,
    /// How often each sends one; a real one does once a minute
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1m")]
    pub(crate) every: Duration,
    /// Signals of the minutes
    #[arg(long, value_enum, default_value = "vital")]
    pub(crate) signals: FleetSignals,
    /// Requests at once, at most
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) at_once: u32,
    /// Seed of what is by chance
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Repeat the incidents of this directory and below [default: made ones]
    #[arg(long, value_name = "DIR")]
    pub(crate) frames: Vec<PathBuf>,
    /// Into a ClickHouse of scripts/fleet-server; else into a file
    #[arg(long)]
    pub(crate) server: bool,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}
