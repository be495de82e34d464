//! What the operator of a server on another host says of that host.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use model::{Absent, Reading, Reason, SourceData, Unit};

use super::{Outcome, Reader, State, readings, signals};
use crate::context::Context;
use crate::metrics::{COMMAND_REST, MetricsFrom, Signals, parse};
use crate::target::Shared;

/// What is older than this tells nothing of now, seconds. Operators are up to a minute behind.
const AGE_MAX_S: i64 = 300;

/// The way to the operator's numbers, on a thread of its own: a command may take its time.
pub(crate) struct MetricsState {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    signals: Signals,
    rest_until: Option<Instant>,
}

impl State for MetricsState {
    const THREAD: &'static str = "ff-metrics";

    fn new(context: &Context) -> Self {
        Self {
            shared: context.shared.clone(),
            stop: context.stop.clone(),
            signals: Signals::default(),
            rest_until: None,
        }
    }
}

#[rustfmt::skip]
pub(crate) static METRICS: Reader<MetricsState> = Reader {
    source: "metrics",
    signals: &[
        signals(&["recorder.metrics_age_seconds"], "g, s", "how old the operator's numbers were when they came; they are the signals `cpu.*_share`, `cpu.count`, `cpu.procs_*`, `meminfo.*`, `disk.*`, `filesystem.*` of a host, of which disks' counters are summed up from rates"),
    ],
    read: metrics,
};

fn metrics(state: &mut MetricsState) -> Outcome {
    let Some(from) = state.shared.metrics().cloned() else {
        return Ok(SourceData::default());
    };
    if state.rest_until.is_some_and(|until| Instant::now() < until) {
        return Ok(SourceData::default());
    }
    let failed = |reason: Reason, detail: String| Absent::new("metrics", reason, detail);
    let stop = state.stop.clone();
    let read = from.read(|| stop.load(Ordering::Relaxed));
    if matches!(from, MetricsFrom::Command(_)) {
        state.rest_until = Some(Instant::now() + COMMAND_REST);
    }
    let bytes = read.map_err(|error| failed(Reason::Failed, format!("{from}: {error}")))?;
    let metrics = parse(&bytes).ok_or_else(|| {
        let detail =
            format!("{from}: it is no JSON of Enhanced Monitoring or Performance Insights");
        failed(Reason::Failed, detail)
    })?;
    let age = kernel::clock::wall_ms() / 1000 - metrics.at_s;
    if age > AGE_MAX_S {
        let detail = format!("{from}: its last numbers are {age} s old");
        return Err(failed(Reason::Gone, detail));
    }
    let Some(mut found) = state.signals.of(&metrics) else {
        return Ok(SourceData::default());
    };
    let age = Reading::gauge(
        "recorder.metrics_age_seconds",
        Unit::Seconds,
        age.max(0) as f64,
    );
    found.push(age);
    Ok(readings(found))
}
