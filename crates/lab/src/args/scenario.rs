//! Arguments of `freezeframe-lab run` and `score`.

use std::path::PathBuf;

use clap::Args;

use super::ServerArg;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab run mdl-pileup
  freezeframe-lab run tmp-disk --prove           also apply the remedy, and prove that it worked
  freezeframe-lab run ./my-stall.toml            your own scenario
  freezeframe-lab run row-lock-pileup --server mysql-9 --dir /tmp/lab

Exit codes: 0 the true cause is first, 3 it is not, 1 it could not be run.")]
pub(crate) struct ScenarioRun {
    /// A scenario from `freezeframe-lab list`, or the path of your own file (NAME.toml)
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Run on this server [default: the first available server of the scenario]
    #[arg(long, value_name = "SERVER")]
    pub(crate) server: Option<ServerArg>,
    /// Also apply the remedy, if the scenario has one, and compare
    #[arg(long)]
    pub(crate) prove: bool,
    /// A shorter time before the break, and a break of at most 8 s
    #[arg(long)]
    pub(crate) brief: bool,
    /// Directory for the incident
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub(crate) dir: PathBuf,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe-lab score                          every scenario on its first available server
  freezeframe-lab score --all --times 3          on every server, three times
  freezeframe-lab score --markdown lab-score.md  with the table in a file
  freezeframe-lab score --harm                   also measure the cost of the recorder in each
  freezeframe-lab score --all --keep runs.jsonl  resumes where it was interrupted
  freezeframe-lab score --again --keep runs.jsonl  judge the same runs with this build

Exit codes: 0 every true cause was first, 3 one was not.")]
pub(crate) struct ScenarioScore {
    /// Only these scenarios
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Run on every available server of a scenario
    #[arg(long)]
    pub(crate) all: bool,
    /// Run on these servers
    #[arg(long = "server", value_name = "SERVER", conflicts_with = "all")]
    pub(crate) servers: Vec<ServerArg>,
    /// Runs of each scenario
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) times: u32,
    /// Add each run to FILE when it ends, include the runs already in FILE, and make the table from all of
    /// them: a score can be interrupted, and several at once can share a file if each has its own scenarios
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,
    /// Run nothing: judge the runs in FILE again, with this build's verdicts on their incidents
    #[arg(long, requires = "keep", conflicts_with_all = ["names", "all", "servers", "times", "prove", "harm", "dir"])]
    pub(crate) again: bool,
    /// Also apply the remedy, if the scenario has one, and compare
    #[arg(long)]
    pub(crate) prove: bool,
    /// Run each break twice more, without and with the recorder, and print its cost for the server
    #[arg(long)]
    pub(crate) harm: bool,
    /// Directory for the incidents
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub(crate) dir: PathBuf,
    /// Also write the table as Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}
