//! Arguments of `freezeframe export`.

use std::path::PathBuf;

use clap::Args;

/// Which part of an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum WhenArg {
    /// From its onset to its end
    #[default]
    Stall,
    /// Before its onset
    Before,
    /// All that was recorded
    All,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe export x.frame --pt-stalk /tmp/for-support    as pt-stalk would have collected it
  freezeframe export x.frame --redact -o shared.frame       without literals and names, to share
  freezeframe export x.frame --redact --pt-stalk /tmp/out   both
  freezeframe export x.frame --folded - | flamegraph.pl > stall.svg
  freezeframe export x.frame --pprof stall.pb.gz && go tool pprof -http :8080 stall.pb.gz
  freezeframe export x.frame --speedscope stall.speedscope.json    to open with https://www.speedscope.app
  freezeframe export /var/lib/pt-stalk/2026_11_20_23_30_15 --redact -o shared.frame

With --redact everything that is written is searched for every name and literal that was
replaced; where one is found, nothing is left behind and the place is told. docs/export.md says
what is replaced and what is not.")]
pub(crate) struct Export {
    /// An incident, or what others captured of one stall, as for explain
    #[arg(value_name = "INCIDENT", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Write a directory with pt-stalk's file names and formats
    #[arg(long, value_name = "DIR")]
    pub(crate) pt_stalk: Option<PathBuf>,
    /// Write the samples of the processors as folded stacks; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) folded: Option<PathBuf>,
    /// Write the samples of the processors for pprof; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) pprof: Option<PathBuf>,
    /// Write the samples of the processors for speedscope; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) speedscope: Option<PathBuf>,
    /// Which samples --folded, --pprof and --speedscope write
    #[arg(long, value_name = "WHEN", default_value = "stall")]
    pub(crate) when: WhenArg,
    /// Without literals, and with other names for users, hosts, addresses, schemas, tables, columns
    #[arg(long)]
    pub(crate) redact: bool,
    /// Write the incident: with --redact without names; without it, as today's rules leave it
    #[arg(long, short, value_name = "FILE.frame")]
    pub(crate) output: Option<PathBuf>,
    /// The salt of the new names, at least 16 bytes, for the same names in several files; keep it to yourself [default: random, forgotten]
    #[arg(long, value_name = "FILE", requires = "redact")]
    pub(crate) salt_file: Option<PathBuf>,
    /// Replace files that are there already
    #[arg(long)]
    pub(crate) force: bool,
    /// JSON, as docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
}
