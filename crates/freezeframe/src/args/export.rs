//! Arguments of `freezeframe export`.

use std::path::PathBuf;

use clap::Args;

/// Which part of an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum WhenArg {
    /// From the onset to the end of the stall
    #[default]
    Stall,
    /// Before the onset
    Before,
    /// Everything that was recorded
    All,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe export x.frame --pt-stalk /tmp/for-support    the files that pt-stalk would write
  freezeframe export x.frame --redact -o shared.frame       without literals and names, to share
  freezeframe export x.frame --redact --pt-stalk /tmp/out   both
  freezeframe export x.frame --folded - | flamegraph.pl > stall.svg
  freezeframe export x.frame --pprof stall.pb.gz && go tool pprof -http :8080 stall.pb.gz
  freezeframe export x.frame --speedscope stall.json        for https://www.speedscope.app
  freezeframe export /var/lib/pt-stalk/2026_11_20_23_30_15 --redact -o shared.frame

With --redact the output is searched for every name and literal that was replaced. If one is found,
the output is deleted and the error says where it was. docs/export.md says what is replaced.")]
pub(crate) struct Export {
    /// An incident, or what other tools captured of one stall, as for explain
    #[arg(value_name = "INCIDENT", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Write a directory in pt-stalk's format
    #[arg(long, value_name = "DIR")]
    pub(crate) pt_stalk: Option<PathBuf>,
    /// Write the CPU samples as folded stacks; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) folded: Option<PathBuf>,
    /// Write the CPU samples for pprof; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) pprof: Option<PathBuf>,
    /// Write the CPU samples for speedscope; - for standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) speedscope: Option<PathBuf>,
    /// Which samples --folded, --pprof and --speedscope write
    #[arg(long, value_name = "WHEN", default_value = "stall")]
    pub(crate) when: WhenArg,
    /// Remove literals; replace names of users, hosts, schemas, tables and columns
    #[arg(long)]
    pub(crate) redact: bool,
    /// Write the incident; with --redact without names
    #[arg(long, short, value_name = "FILE.frame")]
    pub(crate) output: Option<PathBuf>,
    /// Secret of at least 16 bytes that makes the same new names in several files [default: random, not kept]
    #[arg(long, value_name = "FILE", requires = "redact")]
    pub(crate) salt_file: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON; docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
}
