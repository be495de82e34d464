//! Readings of all captures, each at its moment.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use model::{Millis, Reading};

/// From one capture that tells no time to the next, and from the last evidence to the end of the window, in
/// milliseconds.
pub(crate) const AFTER: Millis = 1_000;

/// Captures of the same thing without a time that are kept.
const SAME_MOMENT_MAX: usize = 200;

/// Readings by their moments.
#[derive(Default)]
pub(crate) struct Ticks {
    pub(crate) by_moment: BTreeMap<(Millis, &'static str), Vec<Reading>>,
    /// Of readings that were given one moment and whose first is this signal: how many moments from there on
    /// are taken.
    taken: HashMap<(Millis, &'static str, Cow<'static, str>), usize>,
}

impl Ticks {
    /// Adds readings at a moment. The same signals at the same moment are from two captures that tell
    /// no time: the second one is put behind the first.
    pub(crate) fn add(&mut self, at: Millis, source: &'static str, readings: Vec<Reading>) {
        let Some(first) = readings.first() else {
            return;
        };
        let key = (at, source, first.name.clone());
        let taken = self.taken.entry(key).or_default();
        while *taken < SAME_MOMENT_MAX {
            let at = at.saturating_add(AFTER.saturating_mul(*taken as Millis));
            *taken += 1;
            let there = self.by_moment.entry((at, source)).or_default();
            let is_free = !there
                .iter()
                .any(|one| readings.iter().any(|new| new.name == one.name));
            if is_free {
                there.extend(readings);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Unit;

    #[test]
    fn the_same_signals_go_behind_and_others_beside_until_there_are_too_many() {
        let mut ticks = Ticks::default();
        let mut add = |name: &'static str, value: f64| {
            ticks.add(5, "status", vec![Reading::gauge(name, Unit::Count, value)]);
        };
        for count in 0..SAME_MOMENT_MAX + 9 {
            add("a", count as f64);
        }
        add("b", 1.0);
        let timestamps: Vec<(Millis, usize)> = ticks
            .by_moment
            .iter()
            .map(|((at, _), readings)| (*at, readings.len()))
            .collect();
        assert_eq!(timestamps.len(), SAME_MOMENT_MAX);
        assert_eq!(timestamps[..3], [(5, 2), (1_005, 1), (2_005, 1)]);
        assert_eq!(ticks.by_moment[&(2_005, "status")][0].value, 2.0);
    }
}
