//! Arguments of `freezeframe fleet`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe fleet ask                          the ten questions
  freezeframe fleet ask costs --dir /mnt/frames  of a directory of incidents, without any store
  freezeframe fleet init sqlite:///var/lib/fleet/fleet.db
  freezeframe fleet add sqlite:///var/lib/fleet/fleet.db /mnt/db*/freezeframe
  freezeframe fleet ask like-this --url sqlite:///var/lib/fleet/fleet.db --incident x.frame

A store is a file of SQLite, for a handful of servers, or a database in ClickHouse: docs/fleet.md. With [fleet] in their
configuration, recorders send to it by themselves.")]
pub(crate) struct Fleet {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Make a store, or bring the tables of an older one to this version; once more it changes nothing.
    #[command(after_help = "Examples:
  freezeframe fleet init sqlite:///var/lib/fleet/fleet.db
  freezeframe fleet init sqlite:fleet.db         in this directory
  freezeframe fleet init http://USER@db1:8123/freezeframe --salt-file fleet.salt

Beside a file, in FILE.salt, is what statements and names are hashed with: who has it can try names. Nothing else opens what
is in the store to a comparison with later incidents: keep it.")]
    Init(FleetInit),
    /// Put recorded incidents into a store, redacted; what is there already is judged anew.
    #[command(after_help = "Examples:
  freezeframe fleet add sqlite:///var/lib/fleet/fleet.db 3306-20261120T233015.123Z.frame
  freezeframe fleet add sqlite:///var/lib/fleet/fleet.db /var/lib/freezeframe    all below it
  freezeframe fleet add sqlite:fleet.db /mnt/db1 --cluster shop
  freezeframe fleet add http://USER@db1:8123/freezeframe --salt-file fleet.salt /var/lib/freezeframe

Statements, users, schemas and tables are redacted as by `freezeframe export --redact`; the names of hosts stay.")]
    Add(FleetAdd),
    /// Ask the fleet; without a question the list of them.
    #[command(after_help = "Examples:
  freezeframe fleet ask                          the ten questions
  freezeframe fleet ask like-this --incident 3306-20261120T233015.123Z.frame
                                                 who stalled like this, among the incidents of this host
  freezeframe fleet ask costs --url sqlite:///var/lib/fleet/fleet.db --since 30d
  freezeframe fleet ask costs --url http://USER@db1:8123/freezeframe
  freezeframe fleet ask unnamed --dir /mnt/frames --json | jq -r '.rows[].frame'
  freezeframe fleet ask builds --sql             the statement that it runs")]
    Ask(FleetAsk),
}

/// How a store on a server is reached, beside its URL.
#[derive(Debug, Args)]
pub(crate) struct FleetAccess {
    /// Certificates that are trusted for https://, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct FleetInit {
    /// The store: sqlite:///DIR/FILE, or http://USER@HOST:8123/DATABASE for ClickHouse, with its password in the environment variable FREEZEFRAME_FLEET_PASSWORD
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Make the tables on all servers of this cluster of ClickHouse, as its system.clusters names it
    #[arg(long, value_name = "NAME")]
    pub(crate) on_cluster: Option<String>,
    /// Make the fleet's salt in this file, when it is not there [default: FILE.salt beside the store; with ClickHouse none is made]
    #[arg(long, value_name = "FILE")]
    pub(crate) salt_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) access: FleetAccess,
}

#[derive(Debug, Args)]
pub(crate) struct FleetAdd {
    /// The store: sqlite:///DIR/FILE, or http://USER@HOST:8123/DATABASE with the password in FREEZEFRAME_FLEET_PASSWORD
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Incidents (.frame), and directories of them
    #[arg(value_name = "FILE|DIR", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// The cluster that these servers belong to
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// The fleet's salt; ClickHouse needs it [default: FILE.salt beside the store]
    #[arg(long, value_name = "FILE")]
    pub(crate) salt_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) access: FleetAccess,
    /// Causes of your own [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Configuration; else /etc/freezeframe/freezeframe.toml when it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct FleetAsk {
    /// The question; without one they are listed
    #[arg(value_name = "QUESTION", value_parser = questions())]
    pub(crate) question: Option<String>,
    /// The store: sqlite:///DIR/FILE, or http://USER@HOST:8123/DATABASE with the password in FREEZEFRAME_FLEET_PASSWORD
    #[arg(long, value_name = "URL", conflicts_with = "dirs")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) access: FleetAccess,
    /// Ask the incidents in and below this directory instead; may be given several times [default: as for record]
    #[arg(long = "dir", value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// The incident that others are compared with: its file, or its name in the store [default: the latest]
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) incident: Option<String>,
    /// The store's salt, by which the FILE of --incident is known in it and left out [default: FILE.salt beside the store]
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) salt_file: Option<PathBuf>,
    /// From when on: '2026-11-20 14:00', 30d (ago) [default: what fits the question; of --dir all]
    #[arg(long, value_name = "MOMENT")]
    pub(crate) since: Option<String>,
    /// How many rows at the most
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Show the statement instead of asking it: SQLite's, or ClickHouse's with such a --url
    #[arg(long)]
    pub(crate) sql: bool,
    /// JSON, as docs/reference/json.md describes it
    #[arg(long, conflicts_with = "sql")]
    pub(crate) json: bool,
    /// Causes of your own, for --dir and --incident [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Configuration; else /etc/freezeframe/freezeframe.toml when it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// The names of the questions, for completions as well.
fn questions() -> PossibleValuesParser {
    PossibleValuesParser::new(fleet::questions::QUESTIONS.map(|question| question.name))
}
