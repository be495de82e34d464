//! The command line: commands, and the arguments that several share.

mod capture;
mod causes;
mod compare;
mod export;
mod fix;
mod fleet;
mod grants;
mod import;
mod incidents;
mod live;
mod live_view;
mod queries;
mod queries_live;
mod self_test;
mod support;
mod web;

pub(crate) use capture::Capture;
pub(crate) use causes::{Causes, CausesCommand, CausesCommon};
pub(crate) use compare::Compare;
pub(crate) use export::{Export, WhenArg};
pub(crate) use fix::Fix;
pub(crate) use fleet::{Fleet, FleetAdd, FleetAsk, FleetCommand, FleetInit};
pub(crate) use grants::Grants;
pub(crate) use import::Import;
pub(crate) use incidents::{Incidents, SortArg};
pub(crate) use live::{Locks, MethodArg, Profile, Stacks};
pub(crate) use live_view::LiveView;
pub(crate) use queries::{CompatArg, GroupByArg, Queries};
pub(crate) use queries_live::{LeaseHelper, Leases, QueryMethodArg};
pub(crate) use self_test::SelfTest;
pub(crate) use support::SupportBundle;
pub(crate) use web::Web;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use cli::{duration, some_time};
use server::TlsMode;

/// A flight recorder and doctor for MySQL, MariaDB and Percona Server stalls.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 done, 1 error, 2 wrong arguments; with --exit-code: explain 3 no cause named, check 4 something serious, \
                  compare 4 to 6 not worked."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record beside a server until Ctrl-C; capture and explain every stall.
    Record(Record),
    /// Take an incident now, stall or not, and name what is wrong.
    Capture(Capture),
    /// Name the cause of a recorded incident.
    Explain(Explain),
    /// Before against after: did a change help?
    Compare(Compare),
    /// Make an incident of what others captured, and keep it.
    Import(Import),
    /// Hand an incident on: as pt-stalk's files, folded stacks, for pprof; without names.
    Export(Export),
    /// The causes that can be told: list, show, check files of your own.
    Causes(Causes),
    /// List recorded incidents.
    Incidents(Incidents),
    /// Many servers: which stalled like this one, what costs most, who is at risk; a store for their incidents.
    Fleet(Fleet),
    /// See it in the terminal: a server as it is recorded, an incident, a history.
    Live(LiveView),
    /// See it in a browser: all incidents, and the history of hours, by a link with a token.
    Web(Web),
    /// What every thread of the server does now, by equal stacks; nothing is stopped.
    Stacks(Stacks),
    /// Where the processors spend their time, kernel and user; compare two such profiles.
    Profile(Profile),
    /// Which locks threads wait for, how long, and who holds them.
    Locks(Locks),
    /// What a function, a state, a latch, a line of a log means.
    Meaning(Meaning),
    /// What a server is asked, by class of statement: from its logs, or live.
    Queries(Queries),
    /// What helps against a cause on this very system: shown, made, put back.
    Fix(Fix),
    /// The watchdog of a fix that is made for a time; started by ourselves.
    #[command(hide = true)]
    FixWatchdog,
    /// What is changed on servers for a time, and what was left behind.
    Leases(Leases),
    /// The watchdog of a lease; started by ourselves.
    #[command(hide = true)]
    LeaseWatchdog,
    /// The helper that makes leases for the group freezeframe; root's, started by systemd.
    #[command(hide = true)]
    LeaseHelper(LeaseHelper),
    /// What can be recorded here, and what cannot and why; what could stall the server.
    Check(Check),
    /// Whether everything that a recording needs works on this host, in 10 s.
    SelfTest(SelfTest),
    /// One file for whoever helps: version, configuration, tests, log, incidents; without secrets and names.
    SupportBundle(SupportBundle),
    /// The SQL that makes the recorder's account, for this server's version.
    Grants(Grants),
    /// The table of sources: what is read, how often, what it costs and needs.
    #[command(after_help = "Examples:
  freezeframe sources
  freezeframe sources | grep vmstat              which source reads a file, and how often
  freezeframe sources --json | jq -r '.[] | select(.cost == \"connection\").name'")]
    Sources(Json),
    /// Completions for a shell, on standard output.
    #[command(after_help = "Examples:
  freezeframe completions bash | sudo tee /etc/bash_completion.d/freezeframe > /dev/null
  freezeframe completions zsh > \"${fpath[1]}/_freezeframe\"
  freezeframe completions fish > ~/.config/fish/completions/freezeframe.fish")]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Man pages, one a command.
    #[command(after_help = "Examples:
  freezeframe man --dir man && man -l man/freezeframe-explain.1
  freezeframe man --dir ~/.local/share/man/man1             yours: man freezeframe-explain
  sudo freezeframe man --dir /usr/local/share/man/man1      everybody's")]
    Man {
        /// Where they go; made when it is not there
        #[arg(long, value_name = "DIR")]
        dir: PathBuf,
    },
}

/// Which server, and who we are to it.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct ServerArgs {
    /// The server that listens on this unix socket
    #[arg(long, value_name = "PATH", conflicts_with = "pid")]
    pub(crate) socket: Option<PathBuf>,
    /// The server on this host; else of the option file, else this host
    #[arg(long, value_name = "NAME", conflicts_with_all = ["pid", "socket"])]
    pub(crate) host: Option<String>,
    /// The server that listens on this TCP port; on this host its unix socket is tried too
    #[arg(long, value_name = "N", conflicts_with = "pid")]
    pub(crate) port: Option<u16>,
    /// The server with this process id
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// User name; else of ~/.my.cnf, else the system user
    #[arg(long, short, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// File whose first line is the password; else that of ~/.my.cnf, else $MYSQL_PWD
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Option file to read instead of ~/.my.cnf
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults_file: Option<PathBuf>,
    /// A login of ~/.mylogin.cnf, as mysql_config_editor writes it
    #[arg(long, value_name = "NAME")]
    pub(crate) login_path: Option<String>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Configuration; else /etc/freezeframe/freezeframe.toml when it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

impl ServerArgs {
    /// A server is named, and no other one is meant.
    pub(crate) fn names_one(&self) -> bool {
        self.socket.is_some() || self.host.is_some() || self.port.is_some() || self.pid.is_some()
    }
}

/// How the way to the server is protected.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct TlsArgs {
    /// TLS: DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY; to another host VERIFY_IDENTITY, with --ssl-ca VERIFY_CA
    #[arg(long, value_name = "MODE", hide_possible_values = true, ignore_case = true, value_parser = tls_mode())]
    pub(crate) ssl_mode: Option<TlsMode>,
    /// The authorities, or the server's certificate itself, instead of the system's; PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ssl_ca: Option<PathBuf>,
    /// Our certificate, for accounts that demand one; PEM
    #[arg(long, value_name = "FILE", requires = "ssl_key")]
    pub(crate) ssl_cert: Option<PathBuf>,
    /// Its key; PEM
    #[arg(long, value_name = "FILE", requires = "ssl_cert")]
    pub(crate) ssl_key: Option<PathBuf>,
}

/// The modes, for completions as well.
fn tls_mode() -> impl clap::builder::TypedValueParser<Value = TlsMode> {
    PossibleValuesParser::new(TlsMode::ALL.map(TlsMode::name))
        .try_map(|name| name.parse::<TlsMode>())
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe record                                    every server on this host
  freezeframe record --socket /run/mysqld/mysqld.sock   this one
  freezeframe record --trigger 'Threads_running > 200 for 3s' \\
                     --trigger 'rate(vmstat.compact_stall) > 50'
  freezeframe record --listen 127.0.0.1:9306            curl -f http://127.0.0.1:9306/healthz: 503 while
                                                        a server stalls; Prometheus at /metrics
  freezeframe record --host db7.example.com --ssl-ca ca.pem    a server on another host, by SQL alone
  freezeframe record --targets fleet.toml               many of them; kill -HUP reads the file again
  freezeframe record --listen 10.0.0.7:9306 --listen-host db1.example.com
                                                        a load balancer sends this name in its Host header

Without a server's name all of this host are recorded, in containers too, and those that begin later.
The host of a managed server: metrics of a [[targets]]; programs and addresses that are told of incidents: [[hooks]];
a store of many servers, to which what is recorded is sent, redacted: [fleet]. All in docs/reference/configuration.md.")]
pub(crate) struct Record {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Many servers: a file of [[targets]], as in the configuration; SIGHUP reads it again
    #[arg(long, value_name = "FILE", conflicts_with_all = ["socket", "host", "port", "pid"])]
    pub(crate) targets: Option<PathBuf>,
    /// Where incidents and the history go [default: /var/lib/freezeframe, or ~/.local/state/freezeframe]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// A trigger of your own; may be given several times
    #[arg(long = "trigger", value_name = "EXPRESSION")]
    pub(crate) triggers: Vec<String>,
    /// What an incident keeps of the time before its onset
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) before: Option<Duration>,
    /// What an incident keeps of the time after its end
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) after: Option<Duration>,
    /// Stop after this time
    #[arg(long = "for", value_name = "TIME", value_parser = some_time)]
    pub(crate) for_time: Option<Duration>,
    /// Answer /healthz and /metrics here, such as 127.0.0.1:9306
    #[arg(long, visible_alias = "healthz", value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// A further name by which the status address is asked; may be given several times
    #[arg(long = "listen-host", value_name = "NAME", value_parser = crate::listen::host_name)]
    pub(crate) listen_hosts: Vec<String>,
    /// Keep no history on disk
    #[arg(long)]
    pub(crate) no_history: bool,
    /// Write no HTML report beside the incident
    #[arg(long)]
    pub(crate) no_html: bool,
    /// Started by a view: end with this process, tell nobody, leave nothing behind
    #[arg(long, value_name = "PID", hide = true, requires = "dir")]
    pub(crate) with_parent: Option<i32>,
    /// Causes of your own [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Also every rule that fires in a stall, and the whole report behind it
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) verbose: bool,
    /// One JSON object a line instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = explain_help())]
pub(crate) struct Explain {
    /// An incident, or what others captured of one stall: files, directories, .gz, .zst, .tar, .zip; - for standard input
    #[arg(
        value_name = "PATH",
        required_unless_present = "at",
        conflicts_with = "at"
    )]
    pub(crate) paths: Vec<PathBuf>,
    /// A time that was recorded, noticed as a stall or not: 03:12, '2026-11-20 14:00', 10m (ago)
    #[arg(long, value_name = "MOMENT")]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) history: ExplainAt,
    /// Everything: times, curves, all findings with their signs, statements, threads, what is absent
    #[arg(long, conflicts_with_all = ["json", "html"])]
    pub(crate) full: bool,
    /// JSON, as docs/reference/json.md describes it
    #[arg(long, conflicts_with = "html")]
    pub(crate) json: bool,
    /// Write one self-contained page; - for standard output. Of two incidents: both side by side
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Causes of your own [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// How many servers of the fleet stalled by this cause; without URL the store that [fleet] of the configuration names
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with = "html"
    )]
    pub(crate) fleet: Option<String>,
    /// Exit with 3 when no cause is at least likely
    #[arg(long)]
    pub(crate) exit_code: bool,
}

/// Examples, and the names of the formats that are recognised.
fn explain_help() -> String {
    const EXAMPLES: &str = "Examples:
  freezeframe explain 3306-20261120T233015.123Z.frame       what to know and to do, in a few lines
  freezeframe explain x.frame --full                    with all evidence
  freezeframe explain x.frame --json | jq '.findings[].cause'
  freezeframe explain x.frame --html report.html
  freezeframe explain a.frame b.frame --html both.html  two incidents side by side
  freezeframe explain ticket.txt gdb.out /var/lib/pt-stalk/2026_11_20_23_30_15
  freezeframe explain mysql-diagnostics-20261120-233005.zip
  kubectl logs db-0 | freezeframe explain -
  freezeframe explain --at 03:12                        from the history: the two minutes from 03:12 on
  freezeframe explain --at 20m --for 10m --server 3306  --keep
  freezeframe explain x.frame --fleet=sqlite:fleet.db   and how many servers of the fleet stalled by it

What others captured is recognised by its content:
";
    const COLLECTIONS: &str = "  collections  directories of pt-stalk, diagnostics of MySQL Shell and MariaDB Shell (.zip),
               replays of dolphie (.db)
also several of them in one text.";
    const WIDTH: usize = 74;
    let mut help = EXAMPLES.to_owned();
    for group in ::import::Group::ALL {
        let formats = ::import::FORMATS.iter().copied();
        let mut names: Vec<&str> = formats
            .filter(|format| format.group == group && !format.content.is_empty())
            .map(|format| format.name.trim_end_matches(" output"))
            .collect();
        names.sort_unstable_by_key(|name| name.to_lowercase());
        let mut lines = vec![String::new()];
        for name in names {
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(name),
                Some(line) if line.len() + name.len() + 2 <= WIDTH => {
                    line.push_str(", ");
                    line.push_str(name);
                }
                _ => lines.push(name.to_owned()),
            }
        }
        let lines = lines.join(",\n               ");
        help.push_str(&format!("  {:<12} {lines}\n", group.name()));
    }
    help + COLLECTIONS
}

/// Of which history, with `explain --at`.
#[derive(Debug, Args)]
pub(crate) struct ExplainAt {
    /// How much time from there on, 30m at the most
    #[arg(long = "for", value_name = "TIME", value_parser = some_time, default_value = "2m", requires = "at")]
    pub(crate) for_time: Duration,
    /// The server whose history is meant, where there are several
    #[arg(long, value_name = "LABEL", requires = "at")]
    pub(crate) server: Option<String>,
    /// Where the history is [default: as for record]
    #[arg(long, value_name = "DIR", requires = "at")]
    pub(crate) dir: Option<PathBuf>,
    /// Keep it there as an incident, to compare, export, fix
    #[arg(long, requires = "at")]
    pub(crate) keep: bool,
    /// Configuration; else /etc/freezeframe/freezeframe.toml when it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe meaning buf_LRU_get_free_block compaction_alloc
  freezeframe meaning 'Waiting for table metadata lock'
  grep -i error /var/log/mysql/error.log | freezeframe meaning -
  freezeframe meaning --json innodb_io_capacity | jq -r '.[].meanings[].meaning'

Known are functions of the server, of libraries and of the kernel, states of sessions, latches,
source files, performance_schema instruments, messages of the server, of the kernel and of clients,
status variables and settings, of all generations of MySQL, MariaDB and Percona Server.

Exit codes: 0 all is known, 1 something is not.")]
pub(crate) struct Meaning {
    /// Words, names or lines; - reads lines from standard input
    #[arg(value_name = "WORD", required = true)]
    pub(crate) words: Vec<String>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe check                       every server on this host
  freezeframe check --port 3306 --verbose also which rules saw nothing, and why others could not be judged
  freezeframe check --json | jq '.[].audit.lines[] | select(.severity == \"serious\")'
  freezeframe check --exit-code           4 when something was seen that servers stalled with

A line is printed only for what was seen at this server; a setting alone is no line.")]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Many servers: a file of [[targets]], as for record
    #[arg(long, value_name = "FILE", conflicts_with_all = ["socket", "host", "port", "pid"])]
    pub(crate) targets: Option<PathBuf>,
    /// How long to look at the server, for what is told by rates
    #[arg(long, value_name = "TIME", value_parser = some_time, default_value = "5s")]
    pub(crate) look: Duration,
    /// Also the rules that saw nothing, and those without evidence
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 4 when something serious was seen
    #[arg(long)]
    pub(crate) exit_code: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Json {
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
