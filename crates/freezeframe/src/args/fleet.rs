//! Arguments of `freezeframe fleet`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

use super::gateway::Gateway;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe fleet ask                          list the ten questions
  freezeframe fleet ask costs --dir /mnt/frames  ask a directory of incidents, without a store
  freezeframe fleet init sqlite:///var/lib/fleet/fleet.db
  freezeframe fleet add sqlite:///var/lib/fleet/fleet.db /mnt/db*/freezeframe
  freezeframe fleet ask like-this --url sqlite:///var/lib/fleet/fleet.db --incident x.frame

A store is an SQLite file, for a handful of servers, or a ClickHouse database. Recorders with
[fleet] in their configuration send to it by themselves. See docs/fleet.md.")]
pub(crate) struct Fleet {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Create a store, or upgrade the tables of an older one; safe to repeat.
    #[command(after_help = "Examples:
  freezeframe fleet init sqlite:///var/lib/fleet/fleet.db
  freezeframe fleet init sqlite:fleet.db         in this directory
  freezeframe fleet init http://USER@db1:8123/freezeframe --salt-file fleet.salt

FILE.salt next to the store is the secret that statements and names are hashed with. Keep it, since
later incidents cannot be compared without it; keep it private, since it allows guessing names.")]
    Init(FleetInit),
    /// Add recorded incidents to a store, redacted; known ones are diagnosed again.
    #[command(after_help = "Examples:
  freezeframe fleet add sqlite:///var/lib/fleet/fleet.db 3306-20261120T233015.123Z.frame
  freezeframe fleet add sqlite:///var/lib/fleet/fleet.db /var/lib/freezeframe
  freezeframe fleet add sqlite:fleet.db /mnt/db1 --cluster shop
  freezeframe fleet add http://USER@db1:8123/freezeframe --salt-file fleet.salt /var/lib/freezeframe

Statements, users, schemas and tables are redacted as by `freezeframe export --redact`; host names
are kept.")]
    Add(FleetAdd),
    /// Ask the fleet; without a question, list the questions.
    #[command(after_help = "Examples:
  freezeframe fleet ask                          list the ten questions
  freezeframe fleet ask like-this --incident x.frame
                                                 similar stalls among the incidents of this host
  freezeframe fleet ask costs --url sqlite:///var/lib/fleet/fleet.db --since 30d
  freezeframe fleet ask costs --url http://USER@db1:8123/freezeframe
  freezeframe fleet ask unnamed --dir /mnt/frames --json | jq -r '.rows[].frame'
  freezeframe fleet ask builds --sql             print the SQL that it runs

Printed times are UTC. A time you type is local, unless you put UTC behind it: '03:12 UTC'.")]
    Ask(FleetAsk),
    /// Fetch the file of an incident from where the recorders put it ([fleet] frames).
    #[command(after_help = "Examples:
  freezeframe fleet fetch 3306-20261120T233015.123Z
  freezeframe fleet fetch 3306-20261120T233015.123Z -o /tmp/x.frame
  freezeframe fleet fetch --url http://USER@db1:8123/freezeframe 3306-20261120T233015.123Z

The key to a store that speaks S3 is read from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
AWS_SESSION_TOKEN. Only files below --frames are fetched, and only if their SHA-256 is the one in
the table. They are redacted: pseudonyms, no literals.")]
    Fetch(FleetFetch),
    /// Collect what many recorders send, and write it to the store together; for over 200 hosts.
    #[command(after_help = "Examples:
  freezeframe fleet gateway --url http://USER@db1:8123/freezeframe --salt-file fleet.salt
  freezeframe fleet gateway --url sqlite:///var/lib/fleet/fleet.db --listen 10.0.0.5:9308
  freezeframe fleet gateway add-host db1         print a token for the recorder of db1
  freezeframe fleet gateway hosts                list the hosts that may send

Recorders have url = \"gateway+http://HOST:9308\" in [fleet], or gateway+https://HOST if a proxy
terminates TLS before the gateway. A batch is acknowledged when it is on the gateway's disk, and is
in the store once, also if the gateway is killed. See docs/fleet.md.")]
    Gateway(Gateway),
}

/// How a store on a server is reached, beside its URL.
#[derive(Debug, Args)]
pub(crate) struct FleetAccess {
    /// Certificate authorities to trust for https:// [default: the system's]
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct FleetInit {
    /// Store: sqlite:///DIR/FILE, or http://USER@HOST:8123/DATABASE for ClickHouse, with the password in $FREEZEFRAME_FLEET_PASSWORD
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Create the tables on all servers of this ClickHouse cluster (a name in system.clusters)
    #[arg(long, value_name = "NAME")]
    pub(crate) on_cluster: Option<String>,
    /// File of the fleet's salt, created if needed [default: FILE.salt beside the store; none for ClickHouse]
    #[arg(long, value_name = "FILE")]
    pub(crate) salt_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) access: FleetAccess,
}

#[derive(Debug, Args)]
pub(crate) struct FleetAdd {
    /// Store: sqlite:///DIR/FILE, or http://USER@HOST:8123/DATABASE with the password in $FREEZEFRAME_FLEET_PASSWORD
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Incident files (.frame), and directories of them
    #[arg(value_name = "FILE|DIR", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Cluster that these servers belong to
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// File of the fleet's salt; ClickHouse needs it [default: FILE.salt beside the store]
    #[arg(long, value_name = "FILE")]
    pub(crate) salt_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) access: FleetAccess,
    /// Directory of your own causes [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Configuration file [default: /etc/freezeframe/freezeframe.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct FleetAsk {
    /// The question; without one, the questions are listed
    #[arg(value_name = "QUESTION", value_parser = questions())]
    pub(crate) question: Option<String>,
    /// Store: sqlite:///DIR/FILE, or http://USER@HOST:8123/DATABASE with the password in $FREEZEFRAME_FLEET_PASSWORD
    #[arg(long, value_name = "URL", conflicts_with = "dirs")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) access: FleetAccess,
    /// Ask the incidents below this directory instead; may be repeated [default: where record writes]
    #[arg(long = "dir", value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Incident to compare with: its file, or its name in the store [default: the latest]
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) incident: Option<String>,
    /// File of the store's salt, to recognise the --incident in the store [default: FILE.salt beside the store]
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) salt_file: Option<PathBuf>,
    /// Only incidents since: '2026-11-20 14:00', 30d (ago) [default: fits the question; all for --dir]
    #[arg(long, value_name = "MOMENT")]
    pub(crate) since: Option<String>,
    /// Maximum number of rows
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Print the SQL (of SQLite, or of ClickHouse for such a --url) instead of running it
    #[arg(long)]
    pub(crate) sql: bool,
    /// Print JSON; docs/reference/json.md describes it
    #[arg(long, conflicts_with = "sql")]
    pub(crate) json: bool,
    /// Directory of your own causes, for --dir and --incident [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Configuration file [default: /etc/freezeframe/freezeframe.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct FleetFetch {
    /// The incident: its name, or its id, as `fleet ask` shows it
    #[arg(value_name = "INCIDENT")]
    pub(crate) incident: String,
    /// Store: sqlite:///DIR/FILE, or http://USER@HOST:8123/DATABASE with the password in $FREEZEFRAME_FLEET_PASSWORD [default: [fleet] url of the configuration]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) access: FleetAccess,
    /// Where recorders put files: /DIRECTORY, or s3+https://HOST/BUCKET/FOLDER [default: [fleet] frames of the configuration]
    #[arg(long, value_name = "PLACE")]
    pub(crate) frames: Option<String>,
    /// File to write [default: INCIDENT.frame in this directory]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Configuration file [default: /etc/freezeframe/freezeframe.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// The names of the questions, for completions as well.
fn questions() -> PossibleValuesParser {
    PossibleValuesParser::new(fleet::questions::QUESTIONS.map(|question| question.name))
}
