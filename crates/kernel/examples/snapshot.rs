//! How long a snapshot of a process takes, each way that is open here.
//!
//!     cargo run --release -p freezeframe-kernel --example snapshot -- PID [ROUNDS]

#![allow(clippy::print_stdout, reason = "it measures, and tells")]
#![allow(clippy::panic, reason = "an example")]

use kernel::clock;
use kernel::snapshot::{NoStack, RawSnapshot, SnapshotOptions, Snapshotter, Way};
use std::collections::BTreeMap;
use std::env;
use std::time::{Duration, Instant};

fn main() {
    let mut arguments = env::args()
        .skip(1)
        .map_while(|argument| argument.parse().ok());
    let Some(pid) = arguments.next() else {
        panic!("usage: snapshot PID [ROUNDS]");
    };
    let rounds = arguments.next().unwrap_or(20).max(1);
    match Snapshotter::open(pid, &SnapshotOptions::default()) {
        Ok(gentlest) => println!("{:?}, not {:?}", gentlest.way(), gentlest.refused()),
        Err(e) => println!("{e}"),
    }
    for way in [Way::Bpf, Way::Proc, Way::Ptrace] {
        let options = SnapshotOptions {
            only: Some(way),
            force_stop: true,
            ..SnapshotOptions::default()
        };
        let start = Instant::now();
        let mut snapshotter = match Snapshotter::open(pid, &options) {
            Ok(snapshotter) => snapshotter,
            Err(e) => {
                println!("{way:?}: {e}");
                continue;
            }
        };
        println!(
            "{way:?}: opened in {:.1} ms",
            start.elapsed().as_secs_f64() * 1e3
        );
        for reuse in [false, true] {
            let before = clock::thread_cpu();
            let taken: Result<Vec<RawSnapshot>, _> =
                (0..rounds).map(|_| snapshotter.take(reuse)).collect();
            let cpu = (clock::thread_cpu() - before) / rounds;
            match taken {
                Ok(taken) => tell(if reuse { "reuse" } else { "whole" }, &taken, cpu),
                Err(e) => println!("  {e}"),
            }
        }
    }
}

fn tell(kind: &str, taken: &[RawSnapshot], cpu: Duration) {
    let mut walls: Vec<f64> = taken.iter().map(|it| it.wall.as_secs_f64() * 1e3).collect();
    walls.sort_by(f64::total_cmp);
    let stopped = taken.iter().map(|it| it.stopped).max().unwrap_or_default();
    let Some(last) = taken.last() else { return };
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    for thread in &last.threads {
        let outcome = match &thread.stack {
            Ok(_) if thread.stack_whole => "whole".to_owned(),
            Ok(_) => "cut".to_owned(),
            Err(NoStack::OnProcessor) => format!("OnProcessor {}", thread.state),
            Err(other) => format!("{other:?}"),
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    println!(
        "  {kind}: {} threads, wall ms min {:.2} median {:.2} max {:.2}, cpu ms {:.2}, {} KiB, stopped at most {stopped:?}, left out {}, {outcomes:?}",
        last.threads.len(),
        walls.first().unwrap_or(&0.0),
        walls.get(walls.len() / 2).unwrap_or(&0.0),
        walls.last().unwrap_or(&0.0),
        cpu.as_secs_f64() * 1e3,
        last.bytes.len() >> 10,
        last.left_out,
    );
}
