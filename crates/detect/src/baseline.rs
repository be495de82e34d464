use std::collections::VecDeque;

use model::Millis;

/// The recent past of one level, to which the present is compared.
///
/// The median is used and not the mean: the first seconds of a stall, which are in it before the
/// rule fires, must not lift it.
#[derive(Debug, Clone)]
pub(crate) struct Baseline {
    values: VecDeque<(Millis, f64)>,
    keep_ms: Millis,
    min_ms: Millis,
}

impl Baseline {
    pub(crate) fn new(keep_ms: Millis, min_ms: Millis) -> Self {
        Self {
            values: VecDeque::new(),
            keep_ms,
            min_ms,
        }
    }

    pub(crate) fn add(&mut self, at: Millis, value: f64) {
        self.values.push_back((at, value));
        while self
            .values
            .front()
            .is_some_and(|(first, _)| first + self.keep_ms < at)
        {
            self.values.pop_front();
        }
    }

    /// The median; absent until enough time is covered.
    pub(crate) fn median(&self) -> Option<f64> {
        let (first, last) = (self.values.front()?.0, self.values.back()?.0);
        if last - first < self.min_ms {
            return None;
        }
        let mut sorted: Vec<f64> = self.values.iter().map(|(_, value)| *value).collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }
}
