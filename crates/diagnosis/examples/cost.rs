//! How long the whole catalogue takes on what the recorder's ring holds two minutes into a stall, and on a full incident of
//! ten minutes: 800 signals a second, a thousand threads, profiles, lock tables, processlists and logs.
//!
//! `cargo run --release -p freezeframe-diagnosis --example cost`

#![allow(clippy::print_stdout, reason = "it measures, and tells")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a tool for developers"
)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::deep_stalls::{more, server};
use diagnosis::{Catalogue, diagnose};
use model::TextKind;

/// What the recorder's ring holds two minutes into a stall, seconds; and a whole incident.
const LENGTHS_S: [u64; 2] = [180, 600];

fn main() {
    for length_s in LENGTHS_S {
        measure(length_s);
    }
}

fn measure(length_s: u64) {
    let end_s = length_s - 60;
    let mut story = server::checkpoint();
    story.end_s = Some(end_s);
    story.to_s = length_s;
    for index in 0..700 {
        story = story.rate(&format!("status.Counter_{index}"), 10.0, 20.0);
    }
    for second in (60..end_s).step_by(10) {
        let waits = vec![more::wait(("btr0cur.cc", 554), ("dict0dict.cc", 2420), 3.0); 300];
        story = story.semaphores(second, &waits);
    }
    for second in 60..end_s {
        let lines =
            "2026-01-02T03:04:05Z 0 [Note] InnoDB: some line of an ordinary log, not long\n";
        story = story
            .text(second, TextKind::ErrorLog, &lines.repeat(10))
            .text(
                second,
                TextKind::InnodbStatus,
                &"---TRANSACTION 1, ACTIVE 5 sec\n".repeat(200),
            );
    }
    let incident = story.build();
    let catalogue = Catalogue::builtin();
    println!(
        "{length_s} s, {} causes; {} signals, {} texts, {} snapshots, {} threads",
        catalogue.causes().len(),
        incident.timeline.series.len(),
        incident.texts.len(),
        incident.stacks.snapshots.len(),
        incident.stacks.runs.len()
    );
    let mut times: Vec<f64> = (0..21)
        .map(|_| {
            let begin = Instant::now();
            let verdict = diagnose(&incident, catalogue);
            assert!(!verdict.findings.is_empty());
            begin.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    // Patterns are compiled when they are first asked.
    let first = times[0];
    times.sort_by(f64::total_cmp);
    println!(
        "whole catalogue: {first:.0} ms the first time, {:.0} ms (median of 21), {:.0} ms at least",
        times[10], times[0]
    );
}
