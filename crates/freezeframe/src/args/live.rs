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
  freezeframe stacks --port 3306 --samples 20       twenty snapshots, 100 ms apart, put together
  freezeframe stacks --pid 4711 --limit 5           the five largest groups; any program
  freezeframe stacks --pid 4711 --pt-pmp            pt-pmp's format
  freezeframe stacks --json | jq '.groups[0]'
  freezeframe stacks --folded --samples 50 > server.folded
  freezeframe stacks --from gdb.txt --limit 5       what others captured: gdb, pstack, eu-stack, pt-pmp,
                                                    perf script, folded lines, pprof, archives, incidents
  gdb -p PID -batch -ex 'thread apply all bt' | freezeframe stacks --from -

Groups of threads with equal stacks, the largest first, frames innermost first; [k] is the kernel.
Nothing is stopped unless --force-stop is given. What is needed, and when a stack is complete:
docs/stacks.md.")]
pub(crate) struct Stacks {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// What others captured, or an incident, instead of a running server; - for standard input
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = [
        "socket", "port", "pid", "samples", "interval", "method", "force_stop", "no_kernel", "no_login",
    ])]
    pub(crate) from: Vec<PathBuf>,
    /// Snapshots to put together
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) samples: u32,
    /// Time from one snapshot to the next
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "100ms")]
    pub(crate) interval: Duration,
    /// Groups to print, in text [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Take them this way and no other
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<MethodArg>,
    /// Where nothing gentler is permitted, stop each thread in turn for the time of one copy
    /// (ptrace)
    #[arg(long, conflicts_with = "method")]
    pub(crate) force_stop: bool,
    /// Leave the kernel's part of the stacks out
    #[arg(long)]
    pub(crate) no_kernel: bool,
    /// Do not ask the server which connection a thread works for
    #[arg(long)]
    pub(crate) no_login: bool,
    /// JSON, as docs/reference/json.md describes it
    #[arg(long, group = "format")]
    pub(crate) json: bool,
    /// Folded lines, as flame graph tools read them
    #[arg(long, group = "format")]
    pub(crate) folded: bool,
    /// Lines as pt-pmp prints them
    #[arg(long, group = "format")]
    pub(crate) pt_pmp: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe profile                               the whole machine for ten seconds
  freezeframe profile --port 3306 --seconds 30      only this server
  freezeframe profile -o calm.profile.json          kept, to compare with later
  freezeframe profile --diff calm.profile.json stall.profile.json
  freezeframe profile --diff A B --html diff.html   as a flame graph, changes in colour
  freezeframe profile --diff idle.txt stalled.txt   two listings of opreport, perf report or perf top
  freezeframe profile --html flame.html --pprof profile.pb.gz

SELF is the function alone, TOTAL with what it called, as shares of the samples. Threads that wait
are in `freezeframe stacks` and `locks`. What is needed, and what a share is worth: docs/stacks.md.")]
pub(crate) struct Profile {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// How long
    #[arg(long, short = 's', value_name = "TIME", value_parser = some_time, default_value = "10s")]
    pub(crate) seconds: Duration,
    /// Samples a second and processor
    #[arg(long, value_name = "N", default_value_t = 99, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) hz: u32,
    /// Functions to print; 0 for all
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(crate) limit: usize,
    /// Compare two profiles and take none: A is the baseline, B the stall; .profile.json, folded, or what
    /// opreport, perf report, perf script or a pprof tool wrote
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["output", "pprof"])]
    pub(crate) diff: Option<Vec<PathBuf>>,
    /// Keep the profile, to compare with or to print again
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write a flame graph as one self-contained page; of --diff a differential one
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write pprof's format (profile.proto, gzip)
    #[arg(long, value_name = "FILE")]
    pub(crate) pprof: Option<PathBuf>,
    /// JSON, as docs/reference/json.md describes it
    #[arg(long, group = "format")]
    pub(crate) json: bool,
    /// Folded lines, as flame graph tools read them
    #[arg(long, group = "format", conflicts_with = "diff")]
    pub(crate) folded: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe locks                       five seconds of snapshots of the server on this host
  freezeframe locks --interval 10ms       more snapshots: shorter waits are seen
  freezeframe locks --exact -s 2s         every wait counted and timed, by BPF
  freezeframe locks --pid 4711 --json | jq '.locks[0].holders'

~ marks estimates, >= what was seen so far: a wait shorter than the interval is seen with the
probability of its length. --exact counts, prints what that cost, and switches itself off above
--max-rate. Threads that wait for work are no contention and are counted apart. What is needed,
and how names and holders are known: docs/stacks.md.

Exit code 0, whether threads wait or not.")]
pub(crate) struct Locks {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// How long
    #[arg(long, short = 's', value_name = "TIME", value_parser = some_time, default_value = "5s")]
    pub(crate) seconds: Duration,
    /// Time from one snapshot to the next (--exact: 100ms, for holders)
    #[arg(long, value_name = "TIME", value_parser = some_time, default_value = "50ms")]
    pub(crate) interval: Duration,
    /// Count and time every wait (BPF: CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE; Linux 5.19, x86-64)
    #[arg(long)]
    pub(crate) exact: bool,
    /// Waits a second above which --exact switches itself off
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) max_rate: u64,
    /// Locks to print, in text; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// JSON, as docs/reference/json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
}
