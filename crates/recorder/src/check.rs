use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use model::{Absent, Reason, Sample};

use crate::clock::RecorderClock;
use crate::config::RecorderConfig;
use crate::in_flight::InFlight;
use crate::queries::QueryWatch;
use crate::stacks::StackWatch;
use crate::table::SOURCES;
use crate::target::{Shared, Target};
use crate::worker::{self, Context};

/// How one source answered.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The source.
    pub source: &'static str,
    /// Whether it brought anything.
    pub taken: bool,
    /// Signals it brought.
    pub signals: usize,
    /// How long it took, milliseconds.
    pub took_ms: f64,
    /// What is missing, and why.
    pub absent: Vec<Absent>,
}

/// Reads every source of a server once, as the recorder would, and tells how each answered
/// within `patience`.
pub fn check_sources(
    target: Target,
    config: &RecorderConfig,
    patience: Duration,
) -> std::io::Result<Vec<Checked>> {
    let (sender, samples) = sync_channel(SOURCES.len() * 64);
    let stop = Arc::new(AtomicBool::new(false));
    let shared = Arc::new(Shared::new(target));
    // The sources that only a trigger asks for are asked too.
    shared.burst.store(true, Ordering::Relaxed);
    let queries = Arc::new(QueryWatch::default());
    queries.begin_burst(0);
    let context = Context {
        clock: RecorderClock::start(),
        shared,
        stacks: Arc::new(StackWatch::new()),
        queries: queries.clone(),
        in_flight: Arc::new(InFlight::new()),
        samples: sender,
        lost: Arc::new(AtomicU64::new(0)),
        stop: stop.clone(),
    };
    worker::start(&context, config)?;
    let end = Instant::now() + patience;
    let mut first: Vec<Option<Sample>> = vec![None; SOURCES.len()];
    while first.iter().any(Option::is_none)
        && let Some(left) = end.checked_duration_since(Instant::now())
        && let Ok(sample) = samples.recv_timeout(left)
    {
        if let Some(index) = crate::table::index_of(sample.source)
            && let Some(slot) = first.get_mut(index)
        {
            slot.get_or_insert(sample);
        }
    }
    stop.store(true, Ordering::Relaxed);
    Ok(SOURCES
        .iter()
        .zip(first)
        .map(|(source, sample)| checked(source.name, sample, patience))
        .collect())
}

fn checked(source: &'static str, sample: Option<Sample>, patience: Duration) -> Checked {
    let Some(sample) = sample else {
        let detail = format!("no answer within {:.1} s", patience.as_secs_f64());
        return Checked {
            source,
            taken: false,
            signals: 0,
            took_ms: patience.as_secs_f64() * 1000.0,
            absent: vec![Absent::new(source, Reason::Deadline, detail)],
        };
    };
    let took_ms = sample.took_us as f64 / 1000.0;
    match sample.outcome {
        Ok(taken) => Checked {
            source,
            taken: !(taken.readings.is_empty() && taken.facts.is_empty() && taken.texts.is_empty()),
            signals: taken.readings.len(),
            took_ms,
            absent: taken.absent,
        },
        Err(absent) => Checked {
            source,
            taken: false,
            signals: 0,
            took_ms,
            absent: vec![absent],
        },
    }
}
