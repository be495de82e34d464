//! The signals that every server has, whatever stalled it.

use std::sync::LazyLock;

use model::{ProbeOutcome, Timeline, Window};
use serde::Deserialize;

use super::Subject;
use super::series::{self, Readings, mean};
use crate::embedded;
use crate::human::Show;
use expression::Expression;

/// A signal that every server has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerWide {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) unit: Show,
    /// Differences below this matter to nobody, however sure they are.
    pub(super) floor: f64,
    /// As a cause's file would have it; else the share of probes that no answer came to.
    measure: Option<String>,
    /// More of it is neither good nor bad.
    #[serde(default)]
    pub(super) neutral: bool,
}

#[derive(Deserialize)]
struct Signals {
    signal: Vec<ServerWide>,
}

/// CPUs that others than the server use: the row that says whether the machine was another one.
pub(super) const ELSEWHERE: &str = "elsewhere-cpu";

/// Time in which something waited for a CPU.
pub(super) const PRESSURE: &str = "cpu-pressure";

/// Tasks that run or want to.
pub(super) const RUN_QUEUE: &str = "run-queue";

/// Sessions at work.
pub(super) const RUNNING: &str = "running";

/// All of them.
pub(super) static SERVER_WIDE: LazyLock<Vec<ServerWide>> = LazyLock::new(|| {
    let signals: Signals = embedded::read(include_str!("../../server-wide.toml"));
    signals.signal
});

impl ServerWide {
    pub(super) fn readings(&self, subject: &Subject) -> Readings {
        let (incident, window) = (subject.incident, subject.window);
        let found: Vec<(Window, f64)> = match &self.measure {
            // The formulas are ours; a test reads them.
            Some(text) => Expression::parse(text)
                .map(|formula| series::measured(&formula, incident, window))
                .unwrap_or_default(),
            None => series::slots(window)
                .into_iter()
                .filter_map(|slot| Some((slot, unanswered(&incident.timeline, slot)?)))
                .collect(),
        };
        Readings::new(found, Vec::new(), window)
    }
}

fn unanswered(timeline: &Timeline, slot: Window) -> Option<f64> {
    let signs = ["probe.query_outcome", "probe.connect_outcome"]
        .iter()
        .filter_map(|name| timeline.get(name))
        .flat_map(|series| timeline.points_in(series, slot))
        .filter_map(|(_, code)| ProbeOutcome::from_code(code))
        .map(|outcome| f64::from(u8::from(outcome.is_stall_sign())))
        .collect::<Vec<_>>();
    mean(&signs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_formulas_are_sound() {
        let formulas = SERVER_WIDE.iter().filter_map(|one| one.measure.as_deref());
        for text in formulas.clone() {
            assert!(Expression::parse(text).is_ok(), "{text}");
        }
        assert_eq!(formulas.count(), 8);
    }
}
