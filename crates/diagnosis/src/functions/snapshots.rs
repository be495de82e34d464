//! Numbers of moments, and what they come to in the slices of a stall.

use model::Window;

use crate::evidence::Evidence;
use crate::measure::{Seen, Sign, absent, conditional};
use crate::moments::Moments;

/// What one snapshot shows: so many of so many.
pub(crate) struct Snapshot {
    pub(crate) matching: u64,
    pub(crate) of: u64,
}

/// One of each moment.
pub(crate) struct Snapshots<'e> {
    pub(crate) moments: &'e Moments,
    pub(crate) all: Vec<Snapshot>,
}

impl Snapshots<'_> {
    pub(crate) fn inside(&self, window: Window) -> &[Snapshot] {
        (self.all.get(self.moments.places(window))).unwrap_or_default()
    }

    /// The number in each window of the stall. Where there is no snapshot, `source` is missing.
    pub(crate) fn seen(
        &self,
        sign: &Sign,
        evidence: &Evidence,
        source: &str,
        number: impl Fn(&[Snapshot]) -> Option<f64>,
    ) -> Vec<Seen> {
        let judged = evidence.judged(sign.over, self.moments);
        let seen = judged
            .places
            .iter()
            .map(|places| match self.all.get(places.clone()) {
                None | Some([]) => absent(source),
                Some(inside) => number(inside).map_or(Seen::Nothing, Seen::Number),
            });
        conditional(sign, evidence, &judged.windows, seen.collect())
    }

    /// Each snapshot's number.
    pub(crate) fn each(&self, number: impl Fn(&Snapshot) -> Option<f64>) -> Vec<(Window, f64)> {
        let snapshots = self.moments.at.iter().zip(&self.all);
        snapshots
            .filter_map(|(at, one)| Some((Window::new(*at, *at), number(one)?)))
            .collect()
    }
}
