//! `freezeframe stacks`: the stacks of all threads, now.

use std::collections::HashSet;
use std::process::ExitCode;
use std::time::Instant;

use ::stacks::observer::Observer;
use anyhow::{Context, Result};
use cli::output;
use kernel::snapshot::{SnapshotOptions, Way};
use report::evidence::folded::folded_stacks;
use report::evidence::groups::group_snapshots;
use report::evidence::pt_pmp::pt_pmp;
use report::evidence::stacks_json::{CaptureCost, StacksInput, stacks_json};
use report::evidence::stacks_text::{StacksTextOptions, stacks_text};

use crate::args::{MethodArg, Stacks};
use crate::live::{self, Progress};
use crate::stacks_from;

pub(crate) fn run(args: &Stacks) -> Result<ExitCode> {
    if !args.from.is_empty() {
        return stacks_from::run(args);
    }
    let live = live::find(&args.server)?;
    // Before the snapshot, so that what the server says is of the same moment.
    let sessions = if args.no_login || args.folded || args.pt_pmp {
        Default::default()
    } else {
        live::sessions(&live)
    };
    let options = SnapshotOptions {
        force_stop: args.force_stop,
        only: args.method.map(|method| match method {
            MethodArg::Bpf => Way::Bpf,
            MethodArg::Proc => Way::Proc,
        }),
        kernel_stacks: !args.no_kernel,
        ..SnapshotOptions::default()
    };
    let mut observer = Observer::open(live.pid, &options)?;
    let wanted = args.samples as usize;
    let stop = live::stop_on_signals()?;
    let mut progress = Progress::new("snapshots", wanted);
    let seen = observer.snapshots(args.interval, |taken| {
        progress.show(taken);
        taken < wanted && !(stop.is_set() && taken > 0)
    })?;
    progress.clear();
    let begin = Instant::now();
    let named = observer.name(&seen, &[]);
    let naming = begin.elapsed();
    let input = StacksInput {
        pid: live.pid,
        snapshots: &named.snapshots,
        book: &named.book,
        sessions: &sessions,
        took: Some(CaptureCost {
            unwinding: observer.unwinding(),
            naming,
        }),
    };
    if args.json {
        output::print_json_text(&stacks_json(&input))?;
    } else if args.folded {
        let groups = group_snapshots(&named.snapshots, &named.book);
        output::print(&folded_stacks(&groups, &named.book))?;
    } else if args.pt_pmp {
        let groups = group_snapshots(&named.snapshots, &named.book);
        output::print(&pt_pmp(&groups, &named.book, &HashSet::new()))?;
    } else {
        let options = StacksTextOptions {
            text: output::text_options(),
            groups_max: args.limit.unwrap_or(0),
            frames_max: 0,
        };
        output::print_page(&stacks_text(&input, &options))?;
        for (way, why) in observer.refused() {
            output::note(&format!("not by {}: {why}", live::method_text(*way)));
        }
    }
    seen.first().context("no snapshot could be taken")?;
    Ok(ExitCode::SUCCESS)
}
