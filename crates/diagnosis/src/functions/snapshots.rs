//! Numbers of moments, and what they come to in the slices of a stall.

use model::{Millis, Window};

use crate::evidence::Evidence;
use crate::measure::{Seen, Sign, absent, conditional, windows};

/// What one snapshot shows: so many of so many.
pub(crate) struct Snapshot {
    pub(crate) at: Millis,
    pub(crate) matching: u64,
    pub(crate) of: u64,
}

/// By time.
pub(crate) struct Snapshots(pub(crate) Vec<Snapshot>);

impl Snapshots {
    pub(crate) fn moments(&self) -> Vec<Millis> {
        self.0.iter().map(|one| one.at).collect()
    }

    pub(crate) fn inside(&self, window: Window) -> &[Snapshot] {
        let from = self.0.partition_point(|one| one.at < window.from);
        let to = self.0.partition_point(|one| one.at <= window.to);
        self.0.get(from..to).unwrap_or_default()
    }

    /// The number in each window of the stall. Where there is no snapshot, `source` is missing.
    pub(crate) fn seen(
        &self,
        sign: &Sign,
        evidence: &Evidence,
        source: &str,
        number: impl Fn(&[Snapshot]) -> Option<f64>,
    ) -> Vec<Seen> {
        let windows = evidence.judged(windows(sign.over, evidence), &self.moments());
        let seen = windows.iter().map(|window| {
            let inside = self.inside(*window);
            match inside.is_empty() {
                true => absent(source),
                false => number(inside).map_or(Seen::Nothing, Seen::Number),
            }
        });
        conditional(sign, evidence, &windows, seen.collect())
    }

    /// Each snapshot's number.
    pub(crate) fn each(&self, number: impl Fn(&Snapshot) -> Option<f64>) -> Vec<(Window, f64)> {
        let snapshots = self.0.iter();
        snapshots
            .filter_map(|one| Some((Window::new(one.at, one.at), number(one)?)))
            .collect()
    }
}
