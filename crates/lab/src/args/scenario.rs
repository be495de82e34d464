//! Arguments of `freezeframe-lab run` and `score`.

use std::path::PathBuf;

use clap::Args;

use super::ServerArg;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab run mdl-pileup
  freezeframe-lab run tmp-disk --prove           the remedy too, and the proof that it worked
  freezeframe-lab run ./my-stall.toml            a scenario that you write
  freezeframe-lab run row-lock-pileup --server mysql-9 --dir /tmp/lab

Exit codes: 0 the true cause stands first, 3 it does not, 1 it could not be run.")]
pub(crate) struct ScenarioRun {
    /// The scenario, of `freezeframe-lab list`, or the path of a file of your own (NAME.toml)
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// On this server; else the first one of the scenario that is there
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<ServerArg>,
    /// Apply the remedy where the scenario has one, and compare
    #[arg(long)]
    pub(crate) prove: bool,
    /// A shorter time before the break, and 8 s of it at the most
    #[arg(long)]
    pub(crate) brief: bool,
    /// Where the incident goes
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub(crate) dir: PathBuf,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab score                          every scenario on the first server that is there
  freezeframe-lab score --all --times 3          on every server, three times
  freezeframe-lab score --markdown lab-score.md  the table as a file as well
  freezeframe-lab score --harm                   and what the recorder costs the server in each
  freezeframe-lab score --all --keep runs.jsonl  goes on where it was interrupted
  freezeframe-lab score --again --keep runs.jsonl  the same runs, judged by this build

Exit codes: 0 every true cause stood first, 3 one did not.")]
pub(crate) struct ScenarioScore {
    /// Only these scenarios
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// On every server of a scenario that is there
    #[arg(long)]
    pub(crate) all: bool,
    /// On these servers
    #[arg(long = "server", value_name = "SERVER", conflicts_with = "all")]
    pub(crate) servers: Vec<ServerArg>,
    /// How often each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) times: u32,
    /// Write each run to FILE when it has ended, count those that are there already, and make the table of all of
    /// them: a score may be interrupted, and several at once may share a file when each has its own scenarios
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,
    /// Run nothing: judge the runs in FILE anew by what this build says of their incidents
    #[arg(long, requires = "keep", conflicts_with_all = ["names", "all", "servers", "times", "prove", "harm", "dir"])]
    pub(crate) again: bool,
    /// Apply the remedy where the scenario has one, and compare
    #[arg(long)]
    pub(crate) prove: bool,
    /// Make each break twice more, without the recorder and with it, and say what it costs the server
    #[arg(long)]
    pub(crate) harm: bool,
    /// Where the incidents go
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub(crate) dir: PathBuf,
    /// Write the table as Markdown, too
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}
