//! The command line: commands, and the arguments that several share.

mod capture;
mod causes;
mod compare;
mod export;
mod fix;
mod fleet;
mod gateway;
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
pub(crate) use fleet::{Fleet, FleetAdd, FleetAsk, FleetCommand, FleetFetch, FleetInit};
pub(crate) use gateway::{Gateway, GatewayAddHost, GatewayCommand, GatewayRemoveHost};
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

use clap::builder::{
    PathBufValueParser, PossibleValuesParser, StringValueParser, TypedValueParser,
};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use cli::{duration, some_time};
use server::TlsMode;

/// A flight recorder and doctor for MySQL, MariaDB and Percona Server stalls.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "Start:
  freezeframe live         during a stall: why it stalls, and what to do now
  freezeframe incidents    after a stall: the latest first; then: freezeframe explain FILE
  freezeframe record       always, best as a service: what is not recorded cannot be explained
  freezeframe check        before the first stall: what can be recorded, what could stall the server

Exit codes: 0 success, 1 error, 2 wrong arguments. With --exit-code also: explain 3 no cause found;
check 4 a serious risk found; compare 4 no effect, 5 worse, 6 not proven."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record a server until Ctrl-C; capture and explain every stall.
    Record(Record),
    /// Capture an incident now, stall or not, and name its cause.
    Capture(Capture),
    /// Explain an incident: what users felt, the cause, what to do.
    Explain(Explain),
    /// Compare before and after: did a change help?
    Compare(Compare),
    /// Make an incident file of what other tools captured.
    Import(Import),
    /// Export an incident: as pt-stalk's files, folded stacks or pprof; redacted, to share it.
    Export(Export),
    /// List and show the known causes; check files with your own.
    Causes(Causes),
    /// List recorded incidents.
    Incidents(Incidents),
    /// Compare many servers: similar stalls, what costs the most, who is at risk.
    Fleet(Fleet),
    /// Watch a server in the terminal; replay an incident or the history.
    Live(LiveView),
    /// Show incidents and the history in a web browser.
    Web(Web),
    /// Show what every thread of the server does now, without stopping it.
    Stacks(Stacks),
    /// Show where CPU time goes, in kernel and user code; compare two profiles.
    Profile(Profile),
    /// Show which locks threads wait for, how long, and who holds them.
    Locks(Locks),
    /// Say what a function, a session state, a latch or a log line means.
    Meaning(Meaning),
    /// Show which statements take the time: from logs, or from a running server.
    Queries(Queries),
    /// Show the remedy for a cause on this system; apply it; undo it.
    Fix(Fix),
    /// The watchdog of a fix that is made for a time; started by ourselves.
    #[command(hide = true)]
    FixWatchdog,
    /// List temporary changes of servers; revert those that were left behind.
    Leases(Leases),
    /// The watchdog of a lease; started by ourselves.
    #[command(hide = true)]
    LeaseWatchdog,
    /// The helper that makes leases for the group freezeframe; root's, started by systemd.
    #[command(hide = true)]
    LeaseHelper(LeaseHelper),
    /// Check what can be recorded here, and what could stall the server.
    Check(Check),
    /// Test within 10 s that recording works on this host.
    SelfTest(SelfTest),
    /// Pack one file for support: version, tests, log, incidents; no secrets and no names.
    SupportBundle(SupportBundle),
    /// Print the SQL that creates the recorder's account.
    Grants(Grants),
    /// List the sources: what is read, how often, what it costs and needs.
    #[command(after_help = "Examples:
  freezeframe sources
  freezeframe sources | grep vmstat              the source that reads a file, and how often
  freezeframe sources --json | jq -r '.[] | select(.cost == \"connection\").name'")]
    Sources(Json),
    /// Print the completions for a shell.
    #[command(after_help = "Examples:
  freezeframe completions bash | sudo tee /etc/bash_completion.d/freezeframe > /dev/null
  freezeframe completions zsh > \"${fpath[1]}/_freezeframe\"
  freezeframe completions fish > ~/.config/fish/completions/freezeframe.fish")]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write man pages, one for each command.
    #[command(after_help = "Examples:
  freezeframe man --dir man && man -l man/freezeframe-explain.1
  freezeframe man --dir ~/.local/share/man/man1             for you: man freezeframe-explain
  sudo freezeframe man --dir /usr/local/share/man/man1      for everybody")]
    Man {
        /// Where to write them; the directory is created if needed
        #[arg(long, value_name = "DIR")]
        dir: PathBuf,
    },
}

/// Which server, and who we are to it.
#[derive(Debug, Args, Clone, Default)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// Unix socket of the server
    #[arg(long, value_name = "PATH", conflicts_with = "pid", value_parser = socket_path())]
    pub(crate) socket: Option<PathBuf>,
    /// Host of the server [default: the one in the option file, else this host]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["pid", "socket"], value_parser = host_name())]
    pub(crate) host: Option<String>,
    /// TCP port of the server; on this host its unix socket is tried, too
    #[arg(long, value_name = "N", conflicts_with = "pid")]
    pub(crate) port: Option<u16>,
    /// Process id of the server
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// User to log in as [default: the one in ~/.my.cnf, else the system user]
    #[arg(long, short, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// File with the password in its first line [default: ~/.my.cnf, else $MYSQL_PWD]
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Option file to read instead of ~/.my.cnf
    #[arg(long, value_name = "FILE")]
    pub(crate) defaults_file: Option<PathBuf>,
    /// Login path in ~/.mylogin.cnf, which mysql_config_editor writes
    #[arg(long, value_name = "NAME")]
    pub(crate) login_path: Option<String>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Configuration file [default: /etc/freezeframe/freezeframe.toml, if it exists]
    #[arg(long, value_name = "FILE", help_heading = None::<&str>)]
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
#[command(next_help_heading = "Server")]
pub(crate) struct TlsArgs {
    /// TLS: DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY [default for another host: VERIFY_IDENTITY; with --ssl-ca VERIFY_CA]
    #[arg(long, value_name = "MODE", hide_possible_values = true, ignore_case = true, value_parser = tls_mode())]
    pub(crate) ssl_mode: Option<TlsMode>,
    /// Certificate authorities to trust, or the server's own certificate (PEM) [default: the system's]
    #[arg(long, value_name = "FILE")]
    pub(crate) ssl_ca: Option<PathBuf>,
    /// Client certificate (PEM), for accounts that require one
    #[arg(long, value_name = "FILE", requires = "ssl_key")]
    pub(crate) ssl_cert: Option<PathBuf>,
    /// Key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "ssl_cert")]
    pub(crate) ssl_key: Option<PathBuf>,
}

/// A path, and no address of another program's.
fn socket_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        let is_path = server::socket_path(path.to_string_lossy().into_owned());
        is_path.map(|_| path)
    })
}

/// A name, and no address of another program's.
fn host_name() -> impl TypedValueParser<Value = String> {
    StringValueParser::new().try_map(server::host_name)
}

/// The modes, for completions as well.
fn tls_mode() -> impl clap::builder::TypedValueParser<Value = TlsMode> {
    PossibleValuesParser::new(TlsMode::ALL.map(TlsMode::name))
        .try_map(|name| name.parse::<TlsMode>())
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe record                                   every server on this host
  freezeframe record --socket /run/mysqld/mysqld.sock  only this server
  freezeframe record --trigger 'Threads_running > 200 for 3s' \\
                     --trigger 'rate(vmstat.compact_stall) > 50'
  freezeframe record --listen 127.0.0.1:9306           Prometheus metrics at /metrics;
                                                       /healthz answers 503 during a stall
  freezeframe record --listen 10.0.0.7:9306 --listen-host db1.example.com
                                                       for a load balancer that sends this Host
  freezeframe record --host db7.example.com --ssl-ca ca.pem
                                                       a server on another host, by SQL only
  freezeframe record --targets fleet.toml              many such servers; SIGHUP reads it again

If you name no server, all servers on this host are recorded: those in containers, and those that
start later, too. The configuration can do more: metrics of managed servers ([[targets]]), programs
and webhooks to call for each incident ([[hooks]]), a store for many servers ([fleet]). See
docs/reference/configuration.md.")]
pub(crate) struct Record {
    /// File of [[targets]]: many servers at once; SIGHUP reads it again
    #[arg(long, value_name = "FILE", conflicts_with_all = ["socket", "host", "port", "pid"])]
    pub(crate) targets: Option<PathBuf>,
    /// Directory for incidents and the history [default: /var/lib/freezeframe, or ~/.local/state/freezeframe]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Your own trigger; may be repeated
    #[arg(long = "trigger", value_name = "EXPRESSION")]
    pub(crate) triggers: Vec<String>,
    /// How much time before the stall an incident keeps [default: 60s, or before_seconds of the configuration]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) before: Option<Duration>,
    /// How much time after the stall an incident keeps [default: 30s, or after_seconds of the configuration]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) after: Option<Duration>,
    /// Stop after this time
    #[arg(long = "for", alias = "seconds", value_name = "TIME", value_parser = some_time)]
    pub(crate) for_time: Option<Duration>,
    /// Serve /healthz and /metrics here, for example 127.0.0.1:9306
    #[arg(long, visible_alias = "healthz", value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// Another host name that requests to --listen may use; may be repeated
    #[arg(long = "listen-host", value_name = "NAME", value_parser = crate::listen::host_name)]
    pub(crate) listen_hosts: Vec<String>,
    /// Keep no history on disk
    #[arg(long)]
    pub(crate) no_history: bool,
    /// Write no HTML page beside the incident
    #[arg(long)]
    pub(crate) no_html: bool,
    /// Started by a view: end with this process, tell nobody, leave nothing behind
    #[arg(long, value_name = "PID", hide = true, requires = "dir")]
    pub(crate) with_parent: Option<i32>,
    /// Directory of your own causes [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Print every rule that fires in a stall, and the full report
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) verbose: bool,
    /// Print JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(after_help = explain_help())]
pub(crate) struct Explain {
    /// An incident (its file, its name, or a recorder's directory for its newest), or what other tools captured of one stall: files, directories, .gz, .zst, .tar, .zip; - for standard input [default: the newest incident]
    #[arg(value_name = "PATH", conflicts_with = "at")]
    pub(crate) paths: Vec<PathBuf>,
    /// Explain this time of the history, stall or not: 03:12, '2026-11-20 14:00', 10m (ago)
    #[arg(long, value_name = "MOMENT")]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) history: ExplainAt,
    /// Print all evidence: curves, findings with their signs, statements, threads, what is missing
    #[arg(long, conflicts_with_all = ["json", "html"])]
    pub(crate) full: bool,
    /// Print JSON; docs/reference/json.md describes it
    #[arg(long, conflicts_with = "html")]
    pub(crate) json: bool,
    /// Write a self-contained HTML page; - for standard output. With two incidents, or directories of captures: side by side
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Directory of your own causes [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Say how many servers of the fleet had this cause, and what helped [default URL: that of [fleet] in the configuration]
    #[arg(
        long,
        value_name = "URL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with = "html"
    )]
    pub(crate) fleet: Option<String>,
    /// Exit with 3 if no cause is at least likely
    #[arg(long)]
    pub(crate) exit_code: bool,
}

/// Examples, and the names of the formats that are recognised.
fn explain_help() -> String {
    const EXAMPLES: &str = "Examples:
  freezeframe explain                                   the newest incident
  freezeframe explain x.frame                           the cause, and what to do
  freezeframe explain x.frame --full                    with all evidence
  freezeframe explain x.frame --json | jq '.findings[].cause'
  freezeframe explain x.frame --html report.html
  freezeframe explain a.frame b.frame --html both.html  two incidents side by side
  freezeframe explain ticket.txt gdb.out /var/lib/pt-stalk/2026_11_20_23_30_15
  freezeframe explain mysql-diagnostics-20261120-233005.zip
  kubectl logs db-0 | freezeframe explain -
  freezeframe explain --at 03:12                        the two minutes from 03:12, from the history
  freezeframe explain --at 20m --for 10m --server 3306 --keep
  freezeframe explain x.frame --fleet=sqlite:fleet.db   how many servers of the fleet had this cause

Printed times are UTC. A time you type is local, unless you put UTC behind it: '03:12 UTC'.

These formats of other tools are recognised by their content:
";
    const COLLECTIONS: &str =
        "  collections  pt-stalk directories, diagnostics of MySQL Shell and MariaDB Shell (.zip),
               dolphie replays (.db)
One file may have several of them.";
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
    /// How much time from there on; at most 30m
    #[arg(long = "for", value_name = "TIME", value_parser = some_time, default_value = "2m", requires = "at")]
    pub(crate) for_time: Duration,
    /// Label of the server, if several were recorded
    #[arg(long, value_name = "LABEL", requires = "at")]
    pub(crate) server: Option<String>,
    /// Directory of the history [default: where record writes]
    #[arg(long, value_name = "DIR", requires = "at")]
    pub(crate) dir: Option<PathBuf>,
    /// Keep it there as an incident, for compare, export and fix
    #[arg(long, requires = "at")]
    pub(crate) keep: bool,
    /// Configuration file [default: /etc/freezeframe/freezeframe.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe meaning buf_LRU_get_free_block compaction_alloc
  freezeframe meaning 'Waiting for table metadata lock'
  grep -i error /var/log/mysql/error.log | freezeframe meaning -
  freezeframe meaning --json innodb_io_capacity | jq -r '.[].meanings[].meaning'

It knows functions of the server, of libraries and of the kernel, session states, latches, source
files, performance_schema instruments, messages of the server, of the kernel and of clients, status
variables and settings, of all generations of MySQL, MariaDB and Percona Server.

Exit codes: 0 all words are known, 1 some are not.")]
pub(crate) struct Meaning {
    /// Names, words or lines; - reads lines from standard input
    #[arg(value_name = "WORD", required = true)]
    pub(crate) words: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe check                        every server on this host
  freezeframe check --port 3306 --verbose  also rules that found nothing or lack evidence
  freezeframe check --json | jq '.[].audit.lines[] | select(.severity == \"serious\")'
  freezeframe check --exit-code            exit with 4 if a serious risk was found

A risk is reported only if its effect was seen on this server; a setting alone is no risk.")]
pub(crate) struct Check {
    /// File of [[targets]]: many servers at once, as for record
    #[arg(long, value_name = "FILE", conflicts_with_all = ["socket", "host", "port", "pid"])]
    pub(crate) targets: Option<PathBuf>,
    /// How long to watch the server, to measure rates
    #[arg(long, value_name = "TIME", value_parser = some_time, default_value = "5s")]
    pub(crate) look: Duration,
    /// Print also each source with its time, and the rules that found nothing or lack evidence
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 4 if a serious risk was found
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// JSON without texts of the server, of sessions and of the host: for support-bundle
    #[arg(long, hide = true, requires = "json")]
    pub(crate) redact: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Json {
    /// Print JSON
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

    /// "How long" has one name for whoever does not know that some commands call it otherwise.
    #[test]
    fn how_long_is_understood_by_either_name() {
        for command in ["record", "capture", "profile", "locks"] {
            for name in ["--for", "--seconds"] {
                let said = ["freezeframe", command, name, "5s"];
                let parsed = Cli::command().try_get_matches_from(said);
                assert!(parsed.is_ok(), "{command} {name}");
            }
        }
    }

    /// Whoever is woken up reads the first page only: it says where to begin, and with commands that there are.
    #[test]
    fn the_help_says_where_to_begin() {
        let command = Cli::command();
        let help = command.get_after_help().map(ToString::to_string);
        let help = help.unwrap_or_default();
        let start = help.lines().skip_while(|line| *line != "Start:").skip(1);
        let named: Vec<&str> = start
            .take_while(|line| !line.is_empty())
            .filter_map(|line| line.split_whitespace().nth(1))
            .collect();
        assert_eq!(named, ["live", "incidents", "record", "check"]);
        for name in named {
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
    }

    /// Terminals of 100 columns break what is longer, and with it the columns of the examples.
    #[test]
    fn examples_are_not_broken() {
        const COLUMNS: usize = 100;
        let mut commands = vec![Cli::command()];
        while let Some(command) = commands.pop() {
            let help = command.get_after_help().map(ToString::to_string);
            for line in help.unwrap_or_default().lines() {
                let length = line.chars().count();
                assert!(length <= COLUMNS, "{}: {line}", command.get_name());
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }
}
