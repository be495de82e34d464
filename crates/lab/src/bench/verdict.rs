//! From a written incident to its verdict: wall time and memory of `explain --json`, and the
//! catalogue alone on an incident in memory, as a live look has it.

use std::time::Instant;

use anyhow::Result;
use diagnosis::{Catalogue, diagnose};
use model::{Incident, Window};
use testbed::{IncidentSize, made_incident};

use super::captures::peak_kib;
use super::measure::{heading, line, median};

/// Runs of the program, and of the catalogue.
const RUNS: usize = 5;
const EVALUATIONS: usize = 21;

/// What a live look has: the ring's three minutes.
const RING_MS: u64 = 180_000;

pub(super) fn run() -> Result<()> {
    let size = IncidentSize::full();
    heading(&format!(
        "a verdict on a full incident: {} minutes, {} threads, profile, locks",
        size.seconds / 60,
        size.threads
    ))?;
    let dir = tempfile::tempdir()?;
    let incident = made_incident(&size);
    let begin = Instant::now();
    let path = store::write_incident(&incident, dir.path())?;
    let written = begin.elapsed().as_secs_f64();
    line(
        "the incident",
        &format!(
            "{:.1} MB, {} signals, {} runs of threads; written in {written:.2} s",
            path.metadata()?.len() as f64 / 1e6,
            incident.timeline.series.len(),
            incident.stacks.runs.len()
        ),
        "",
    )?;
    let mut seconds = Vec::new();
    let mut peak = 0;
    for _ in 0..RUNS {
        let begin = Instant::now();
        peak = peak.max(peak_kib(&["explain", "--json"], &path)?);
        seconds.push(begin.elapsed().as_secs_f64());
    }
    let whole = median(&seconds);
    line(
        "explain --json",
        &format!("{whole:.2} s (median of {RUNS})"),
        "<= 2 s",
    )?;
    line(
        "its resident memory",
        &format!("{:.0} MiB at most", peak as f64 / 1024.0),
        "<= 256 MiB",
    )?;
    let ms = evaluate(&incident);
    line(
        "catalogue, whole incident",
        &format!("{ms:.1} ms of CPU (median of {EVALUATIONS})"),
        "",
    )?;
    let ms = evaluate(&ring(&incident));
    line(
        "catalogue, the ring",
        &format!("{ms:.1} ms of CPU (median of {EVALUATIONS})"),
        "<= 20 ms",
    )
}

/// What the ring would hold two minutes into the stall.
fn ring(incident: &Incident) -> Incident {
    let to = incident.stall.onset + RING_MS - 60_000;
    let window = Window { from: 0, to };
    let mut ring = incident.clone();
    ring.window = window;
    ring.stall.end = None;
    ring.timeline = incident.timeline.between(window);
    ring.texts.retain(|text| text.at <= to);
    ring.queries.retain(|digest| digest.window.to <= to);
    let stacks = &mut ring.stacks;
    stacks.snapshots.retain(|note| note.at <= to);
    stacks.runs.retain(|run| run.from <= to);
    stacks.profiles.retain(|profile| profile.to <= to);
    stacks.locks.retain(|table| table.to <= to);
    ring
}

fn evaluate(incident: &Incident) -> f64 {
    let catalogue = Catalogue::builtin();
    let times: Vec<f64> = (0..EVALUATIONS)
        .map(|_| {
            // CPU time of this thread: what else runs here has no say.
            let begin = kernel::clock::thread_cpu();
            std::hint::black_box(diagnose(incident, catalogue));
            let took = kernel::clock::thread_cpu().saturating_sub(begin);
            took.as_secs_f64() * 1000.0
        })
        .collect();
    median(&times)
}
