//! What is in flight: a reading that does not come back is evidence while it is missing.

use model::{Absent, Millis, ProbeOutcome, Reading, Reason, SOURCES, Sample, SourceData, Unit};

use super::Recorder;

impl Recorder {
    /// What does not come back is evidence while it is missing: a hanging probe is a signal, any
    /// other source an absence, once per reading.
    pub(super) fn watch_in_flight(&mut self, now: Millis) {
        let mut waiting = Vec::new();
        for (source, name) in PROBES {
            let index = SOURCES.iter().position(|row| row.name == source);
            let since = index.and_then(|index| self.in_flight.since(index));
            if let Some(since) = since
                && now >= since + self.config.detect.probe_limit_ms
                && !index.is_some_and(|index| self.only_lacks_a_processor(index))
            {
                let us = (now - since) as f64 * 1000.0;
                waiting.push(Reading::gauge(name, Unit::Microseconds, us));
            }
        }
        if !waiting.is_empty() {
            self.take_own(waiting);
        }
        for (index, source) in SOURCES.iter().enumerate() {
            let since = self.in_flight.since(index);
            let overdue = since.is_some_and(|since| now >= since + source.deadline_ms)
                && (self.overdue[index] || !self.only_lacks_a_processor(index));
            let was = std::mem::replace(&mut self.overdue[index], overdue);
            if !overdue || was {
                continue;
            }
            self.pulse.missed_deadline();
            if let Some(readings) = unanswered_probe(source.name, now - since.unwrap_or(now)) {
                self.take(Sample {
                    source: source.name,
                    at: now,
                    took_us: source.deadline_ms * 1000,
                    outcome: Ok(SourceData {
                        readings,
                        ..SourceData::default()
                    }),
                });
            } else {
                let detail = format!("no answer for {} ms", source.deadline_ms);
                self.take(Sample {
                    source: source.name,
                    at: now,
                    took_us: source.deadline_ms * 1000,
                    outcome: Err(Absent::new(source.name, Reason::Deadline, detail)),
                });
            }
        }
    }

    /// A probe whose thread is ready: what it lacks is a processor, not the server's answer. The thread of another source
    /// computes, and a long computation is late whatever it waits for.
    fn only_lacks_a_processor(&self, index: usize) -> bool {
        let name = SOURCES.get(index).map(|source| source.name);
        PROBES.iter().any(|(probe, _)| Some(*probe) == name) && self.in_flight.is_ready(index)
    }
}

/// The probes, each with the signal of one that is not back.
const PROBES: [(&str, &str); 2] = [
    ("query-probe", "probe.query_waiting_us"),
    ("connect-probe", "probe.connect_waiting_us"),
];

/// The readings of a probe that is not back at its deadline: it has timed out, and the answer that
/// may still come is a reading of its own.
fn unanswered_probe(source: &str, waited_ms: Millis) -> Option<Vec<Reading>> {
    let (latency, outcome) = match source {
        "query-probe" => ("probe.query_us", "probe.query_outcome"),
        "connect-probe" => ("probe.connect_us", "probe.connect_outcome"),
        _ => return None,
    };
    Some(vec![
        Reading::gauge(latency, Unit::Microseconds, waited_ms as f64 * 1000.0),
        Reading::gauge(outcome, Unit::Code, ProbeOutcome::TimedOut.code()),
    ])
}
