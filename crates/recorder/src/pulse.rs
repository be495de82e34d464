//! How a recorder itself does, for others to look at while it runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use model::{Millis, ProbeOutcome, Sample};
use serde_json::Value;

/// No moment.
const NEVER: u64 = 0;

/// The state of one recorder. Written by its thread, read by anybody; nothing in it blocks that
/// thread for longer than a copy of a sentence.
#[derive(Debug, Default)]
pub struct Pulse {
    /// CLOCK_BOOTTIME of the last beat, milliseconds.
    beat_ms: AtomicU64,
    /// The same of the moment since when the query probe gets no answer; 0 while it does.
    unanswered_since_ms: AtomicU64,
    samples: AtomicU64,
    missed_deadlines: AtomicU64,
    lost: AtomicU64,
    ring_series: AtomicU64,
    ring_values: AtomicU64,
    ring_text_bytes: AtomicU64,
    absent: AtomicU64,
    stalled: AtomicBool,
    /// CLOCK_BOOTTIME of the moment when the stall began, milliseconds.
    stalled_since_ms: AtomicU64,
    reason: Mutex<String>,
    verdict: Mutex<Option<Arc<Value>>>,
}

/// What [`Pulse`] says at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PulseNow {
    /// Milliseconds since the recorder's last beat, which comes four times a second; `None` before
    /// the first.
    pub beat_age_ms: Option<Millis>,
    /// A stall lasts.
    pub stalled: bool,
    /// For how long it lasts, milliseconds.
    pub stalled_ms: Option<Millis>,
    /// What the rule saw that noticed it, at that moment; empty when none lasts.
    pub reason: String,
    /// What is said so far of the stall that lasts; `None` when none lasts or nobody judged it yet.
    pub verdict: Option<Arc<Value>>,
    /// For how long the query probe gets no answer, milliseconds.
    pub unanswered_ms: Option<Millis>,
    /// Samples taken in.
    pub samples: u64,
    /// Readings that were not back at their deadline.
    pub missed_deadlines: u64,
    /// Samples lost because the recorder's thread could not keep up.
    pub lost: u64,
    /// Signals in the ring.
    pub ring_series: u64,
    /// Values in the ring, eight bytes each.
    pub ring_values: u64,
    /// Bytes of texts in the ring.
    pub ring_text_bytes: u64,
    /// Different kinds of evidence that were absent at some time.
    pub absent: u64,
}

impl Pulse {
    /// The state now.
    pub fn now(&self) -> PulseNow {
        let now = kernel::clock::boottime_ms();
        let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        let since = |cell: &AtomicU64| match load(cell) {
            NEVER => None,
            moment => Some(now.saturating_sub(moment)),
        };
        PulseNow {
            beat_age_ms: since(&self.beat_ms),
            stalled: self.stalled.load(Ordering::Relaxed),
            stalled_ms: since(&self.stalled_since_ms),
            reason: copied(&self.reason),
            verdict: self
                .verdict
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            unanswered_ms: since(&self.unanswered_since_ms),
            samples: load(&self.samples),
            missed_deadlines: load(&self.missed_deadlines),
            lost: load(&self.lost),
            ring_series: load(&self.ring_series),
            ring_values: load(&self.ring_values),
            ring_text_bytes: load(&self.ring_text_bytes),
            absent: load(&self.absent),
        }
    }

    /// The verdict so far on the stall that lasts, in JSON: whoever judges it says so here.
    pub fn judged(&self, verdict: Value) {
        self.set_verdict(Some(Arc::new(verdict)));
    }

    fn set_verdict(&self, verdict: Option<Arc<Value>>) {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = verdict;
    }

    pub(crate) fn beat(&self) {
        self.beat_ms
            .store(kernel::clock::boottime_ms().max(1), Ordering::Relaxed);
    }

    pub(crate) fn sample(&self, sample: &Sample) {
        self.samples.fetch_add(1, Ordering::Relaxed);
        if sample.source != "query-probe" {
            return;
        }
        let Some(outcome) = sample
            .value("probe.query_outcome")
            .and_then(ProbeOutcome::from_code)
        else {
            return;
        };
        if outcome.is_stall_sign() {
            let now = kernel::clock::boottime_ms().max(1);
            // The first of them counts.
            let _ = self.unanswered_since_ms.compare_exchange(
                NEVER,
                now,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        } else {
            self.unanswered_since_ms.store(NEVER, Ordering::Relaxed);
        }
    }

    pub(crate) fn missed_deadline(&self) {
        self.missed_deadlines.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn lost(&self, count: u64) {
        self.lost.store(count, Ordering::Relaxed);
    }

    pub(crate) fn ring(&self, series: u64, values: u64, text_bytes: u64, absent: u64) {
        self.ring_series.store(series, Ordering::Relaxed);
        self.ring_values.store(values, Ordering::Relaxed);
        self.ring_text_bytes.store(text_bytes, Ordering::Relaxed);
        self.absent.store(absent, Ordering::Relaxed);
    }

    /// A stall that began so long ago.
    pub(crate) fn stalled(&self, reason: &str, lasts_ms: Millis) {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = reason.to_owned();
        self.set_verdict(None);
        let since = kernel::clock::boottime_ms().saturating_sub(lasts_ms);
        self.stalled_since_ms.store(since.max(1), Ordering::Relaxed);
        self.stalled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn over(&self) {
        self.stalled.store(false, Ordering::Relaxed);
        self.stalled_since_ms.store(NEVER, Ordering::Relaxed);
        self.reason
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        self.set_verdict(None);
    }
}

fn copied(text: &Mutex<String>) -> String {
    text.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[cfg(test)]
mod tests {
    use model::{Reading, SourceData, Unit};

    use super::*;

    fn probe(outcome: ProbeOutcome) -> Sample {
        Sample {
            source: "query-probe",
            at: 0,
            took_us: 1,
            outcome: Ok(SourceData {
                readings: vec![Reading::gauge(
                    "probe.query_outcome",
                    Unit::Code,
                    outcome.code(),
                )],
                ..SourceData::default()
            }),
        }
    }

    #[test]
    fn a_probe_without_answer_is_timed_from_its_first_failure() {
        let pulse = Pulse::default();
        assert_eq!(pulse.now(), PulseNow::default());
        pulse.sample(&probe(ProbeOutcome::TimedOut));
        let since = pulse.unanswered_since_ms.load(Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(20));
        pulse.sample(&probe(ProbeOutcome::TimedOut));
        assert_eq!(pulse.unanswered_since_ms.load(Ordering::Relaxed), since);
        assert!(pulse.now().unanswered_ms.unwrap() >= 20);
        // A refused login is a sign of life.
        pulse.sample(&probe(ProbeOutcome::AccessDenied));
        assert_eq!(pulse.now().unanswered_ms, None);
        assert_eq!(pulse.now().samples, 3);
    }

    #[test]
    fn a_stall_has_its_reason_while_it_lasts() {
        let pulse = Pulse::default();
        pulse.stalled("a probe hangs", 30);
        assert_eq!(
            (pulse.now().stalled, pulse.now().reason.as_str()),
            (true, "a probe hangs")
        );
        assert!(pulse.now().stalled_ms.unwrap() >= 30);
        pulse.over();
        assert_eq!(pulse.now(), PulseNow::default());
    }
}
