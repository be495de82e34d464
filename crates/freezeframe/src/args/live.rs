//! Arguments of the commands that look at a running server once.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use cli::{duration, some_time};

use super::ServerArgs;

/// How stacks are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodArg {
    /// BPF task iterator (CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE; Linux 5.18)
    Bpf,
    /// /proc and process_vm_readv (CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH; or the server's own user)
    Proc,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe stacks                                the server on this host
  freezeframe stacks --port 3306 --samples 20       twenty snapshots, 100 ms apart
  freezeframe stacks --pid 4711 --limit 5           the five largest groups of any program
  freezeframe stacks --pid 4711 --pt-pmp            pt-pmp's format
  freezeframe stacks --json | jq '.groups[0]'
  freezeframe stacks --folded --samples 50 > server.folded
  freezeframe stacks --from gdb.txt --limit 5       output of gdb, pstack, eu-stack, pt-pmp, perf
                                                    script, pprof; folded lines; incidents
  gdb -p PID -batch -ex 'thread apply all bt' | freezeframe stacks --from -

Threads with equal stacks are one group; the largest group comes first. The innermost frame comes
first; [k] marks the kernel. No thread is stopped unless you say --force-stop. See docs/stacks.md.")]
pub(crate) struct Stacks {
    /// Read what other tools captured, or an incident, instead of a running server; - for standard input
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = [
        "socket", "port", "pid", "samples", "interval", "method", "force_stop", "no_kernel", "no_login",
    ])]
    pub(crate) from: Vec<PathBuf>,
    /// Number of snapshots to add up
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) samples: u32,
    /// Time from one snapshot to the next
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "100ms")]
    pub(crate) interval: Duration,
    /// Groups to print in text [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Use only this method
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<MethodArg>,
    /// If nothing gentler is permitted, stop one thread after the other while its stack is copied (ptrace)
    #[arg(long, conflicts_with = "method")]
    pub(crate) force_stop: bool,
    /// Leave out the kernel's part of the stacks
    #[arg(long)]
    pub(crate) no_kernel: bool,
    /// Do not ask the server which connection a thread works for
    #[arg(long)]
    pub(crate) no_login: bool,
    /// Print JSON; docs/reference/json.md describes it
    #[arg(long, group = "format")]
    pub(crate) json: bool,
    /// Print folded stacks, for flame graph tools
    #[arg(long, group = "format")]
    pub(crate) folded: bool,
    /// Print in the format of pt-pmp
    #[arg(long, group = "format")]
    pub(crate) pt_pmp: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe profile                               the whole machine for ten seconds
  freezeframe profile --port 3306 --seconds 30      only this server
  freezeframe profile -o calm.profile.json          keep it, to compare later
  freezeframe profile --diff calm.profile.json stall.profile.json
  freezeframe profile --diff A B --html diff.html   a flame graph that shows the changes
  freezeframe profile --diff idle.txt stalled.txt   listings of opreport, perf report or perf top
  freezeframe profile --html flame.html --pprof profile.pb.gz

SELF is the function alone, TOTAL includes what it called; both are shares of the samples. Threads
that wait use no CPU: see `freezeframe stacks` and `freezeframe locks`. See docs/stacks.md.")]
pub(crate) struct Profile {
    /// How long to sample
    #[arg(long, alias = "for", short = 's', value_name = "TIME", value_parser = some_time, default_value = "10s")]
    pub(crate) seconds: Duration,
    /// Samples per second on each CPU
    #[arg(long, value_name = "N", default_value_t = 99, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) hz: u32,
    /// Functions to print; 0 for all
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(crate) limit: usize,
    /// Compare two profiles instead of taking one: A is the baseline, B the stall; .profile.json, folded
    /// stacks, or output of opreport, perf report, perf script or pprof
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["output", "pprof"])]
    pub(crate) diff: Option<Vec<PathBuf>>,
    /// Write the profile to this file, to compare or print it later
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write a flame graph as a self-contained HTML page; with --diff a differential one
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the profile for pprof (profile.proto, gzip)
    #[arg(long, value_name = "FILE")]
    pub(crate) pprof: Option<PathBuf>,
    /// Print JSON; docs/reference/json.md describes it
    #[arg(long, group = "format")]
    pub(crate) json: bool,
    /// Print folded stacks, for flame graph tools
    #[arg(long, group = "format", conflicts_with = "diff")]
    pub(crate) folded: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe locks                       the server on this host, for five seconds
  freezeframe locks --interval 10ms       more snapshots, to see shorter waits
  freezeframe locks --exact -s 2s         count and time every wait, by BPF
  freezeframe locks --pid 4711 --json | jq '.locks[0].holders'

~ marks an estimate, >= the time seen so far. Snapshots miss some waits that are shorter than the
interval; --exact counts all, prints its cost, and stops above --max-rate. Threads that wait for
work are counted apart. docs/stacks.md says what is needed, and how locks and holders are found.

Exit code: 0, whether threads wait or not.")]
pub(crate) struct Locks {
    /// How long to watch
    #[arg(long, alias = "for", short = 's', value_name = "TIME", value_parser = some_time, default_value = "5s")]
    pub(crate) seconds: Duration,
    /// Time from one snapshot to the next (with --exact 100ms, to find holders)
    #[arg(long, value_name = "TIME", value_parser = some_time, default_value = "50ms")]
    pub(crate) interval: Duration,
    /// Count and time every wait (BPF: CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE; Linux 5.19, x86-64)
    #[arg(long)]
    pub(crate) exact: bool,
    /// Waits per second above which --exact stops itself
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) max_rate: u64,
    /// Locks to print in text; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print JSON; docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
