//! The shape of a stall: its five heaviest functions, stall minus the time before, and what gave it away.
//!
//! A function's weight is the number of threads that are in it on average, on a processor or waiting, in the stall less
//! before. Where a thread waits, the function is the one of the server that waits: each wait ends in the same few of the
//! C library and the kernel.

use std::collections::BTreeMap;

use model::{FrameSide, Incident, OrderBy, StackFrame, StackId};

use super::hash::hash64;
use super::stacks::seen;
use crate::row::{Hash64, Phase, StackKind};

/// Functions of a shape.
const FUNCTIONS: usize = 5;

/// Threads that a function must have more in the stall, on average, to be one of its shape.
const THREADS_MIN: f64 = 0.05;

/// The shape of these functions, in any order, and this trigger.
pub(super) fn shape(heaviest: &[String], trigger: &str) -> Hash64 {
    let mut functions: Vec<&[u8]> = heaviest.iter().map(|name| name.as_bytes()).collect();
    functions.sort_unstable();
    functions.insert(0, trigger.as_bytes());
    functions.insert(0, b"shape");
    hash64(&functions)
}

/// The heaviest functions, the heaviest first.
pub(super) fn heaviest(incident: &Incident) -> Vec<String> {
    let seen = seen(incident);
    // Of how much time a part of the incident is known in this way, never 0.
    let looked = |phases: &[Phase], kind| {
        let looked = phases
            .iter()
            .filter_map(|phase| seen.looked_ns.get(&(*phase, kind)));
        looked.sum::<f64>().max(1.0)
    };
    let mut weights: BTreeMap<&str, f64> = BTreeMap::new();
    for ((phase, kind, stack), sum) in &seen.sums {
        let is_looked_at = matches!(kind, StackKind::OnCpu | StackKind::Wait);
        let Some(function) = leaf(incident, *kind, *stack).filter(|_| is_looked_at) else {
            continue;
        };
        let threads = match phase {
            Phase::Stall => sum.ns as f64 / looked(&[Phase::Stall], *kind),
            Phase::Baseline | Phase::Before => {
                -(sum.ns as f64) / looked(&[Phase::Baseline, Phase::Before], *kind)
            }
            Phase::After => continue,
        };
        *weights.entry(function).or_default() += threads;
    }
    let mut weights: Vec<(&str, f64)> = weights.into_iter().collect();
    weights.retain(|(_, threads)| *threads >= THREADS_MIN);
    weights.order_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let heaviest = weights.into_iter().take(FUNCTIONS);
    heaviest.map(|(name, _)| name.to_owned()).collect()
}

/// The function that says what a thread was in.
fn leaf(incident: &Incident, kind: StackKind, stack: StackId) -> Option<&str> {
    let mut frames = incident.stacks.table.frames_of(stack);
    let frame = match kind {
        StackKind::Wait => frames.find(|frame| is_of_program(frame)),
        _ => frames.next(),
    };
    frame.map(|frame| frame.name.as_str())
}

/// Neither the kernel's nor of a library that only waits for others.
fn is_of_program(frame: &StackFrame) -> bool {
    const LIBRARIES: [&str; 6] = [
        "libc",
        "libpthread",
        "ld-",
        "libstdc++",
        "liburing",
        "libaio",
    ];
    let file = frame.image.rsplit('/').next().unwrap_or_default();
    frame.side == FrameSide::User
        && !file.is_empty()
        && !file.starts_with('[')
        && !LIBRARIES.iter().any(|library| file.starts_with(library))
}
