//! The recent past of one signal, to which a rule compares its present value.

use std::cell::OnceCell;
use std::collections::VecDeque;

use model::Millis;
use serde::{Deserialize, Serialize};

/// Values of an earlier recording that are kept: enough for a median.
const LEARNT_MAX: usize = 30;

/// The recent past of one level, to which the present is compared.
///
/// Where a median is asked for, the first seconds of a stall, which are in it before the rule
/// fires, do not lift it; and they are taken out again when the stall is known.
#[derive(Debug, Clone)]
pub(crate) struct Baseline {
    values: VecDeque<(Millis, f64)>,
    keep_ms: Millis,
    min_ms: Millis,
    /// What an earlier recording had learnt; counts until there is enough of this one.
    learnt: Vec<f64>,
    /// Asked for by many rules each second, and changed by one value: computed once for all of them.
    median: OnceCell<Option<f64>>,
    mean: OnceCell<Option<f64>>,
}

/// What a baseline keeps over a restart of the recorder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LearntLevel {
    values: Vec<f64>,
}

impl Baseline {
    pub(crate) fn new(keep_ms: Millis, min_ms: Millis, learnt: Option<&LearntLevel>) -> Self {
        let learnt = learnt.map_or(&[][..], |learnt| &learnt.values);
        Self {
            values: VecDeque::new(),
            keep_ms,
            min_ms,
            learnt: learnt
                .iter()
                .copied()
                .filter(|value| value.is_finite())
                .take(LEARNT_MAX)
                .collect(),
            median: OnceCell::new(),
            mean: OnceCell::new(),
        }
    }

    /// What was computed holds no longer.
    fn change(&mut self) {
        self.median.take();
        self.mean.take();
    }

    pub(crate) fn add(&mut self, at: Millis, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.change();
        self.values.push_back((at, value));
        while self
            .values
            .front()
            .is_some_and(|(first, _)| first.saturating_add(self.keep_ms) < at)
        {
            self.values.pop_front();
        }
    }

    /// What came from this moment on was no usual time. What was known then stays known: a stall that begins soon after the
    /// recorder would else take away what it is told by.
    pub(crate) fn forget_from(&mut self, from: Millis) {
        self.change();
        let was_known = self.covered_ms() >= self.min_ms;
        while self.values.back().is_some_and(|(at, _)| *at >= from) {
            self.values.pop_back();
        }
        if was_known && self.covered_ms() < self.min_ms && !self.values.is_empty() {
            self.learnt = self.values.iter().map(|(_, value)| *value).collect();
            let over = self.learnt.len().saturating_sub(LEARNT_MAX);
            self.learnt.drain(..over);
        }
    }

    /// The time starts anew: what is known becomes what was learnt before.
    pub(crate) fn restart(&mut self) {
        self.change();
        if self.covered_ms() >= self.min_ms {
            self.learnt = self.learnt().values;
        }
        self.values.clear();
    }

    pub(crate) fn learnt(&self) -> LearntLevel {
        if self.covered_ms() < self.min_ms {
            return LearntLevel {
                values: self.learnt.clone(),
            };
        }
        let step = self.values.len().div_ceil(LEARNT_MAX).max(1);
        LearntLevel {
            values: self
                .values
                .iter()
                .step_by(step)
                .map(|(_, value)| *value)
                .collect(),
        }
    }

    fn covered_ms(&self) -> Millis {
        match (self.values.front(), self.values.back()) {
            (Some((first, _)), Some((last, _))) => last.saturating_sub(*first),
            _ => 0,
        }
    }

    /// All values that count; none until enough time is covered.
    fn known(&self) -> impl Iterator<Item = f64> {
        let is_covered = self.covered_ms() >= self.min_ms;
        let values = self.values.iter().map(|(_, value)| *value);
        let learnt = self.learnt.iter().copied();
        values
            .take(if is_covered { usize::MAX } else { 0 })
            .chain(learnt.take(if is_covered { 0 } else { usize::MAX }))
    }

    /// The median; absent until enough time is covered.
    pub(crate) fn median(&self) -> Option<f64> {
        *self.median.get_or_init(|| {
            let mut known: Vec<f64> = self.known().collect();
            let half = known.len() / 2;
            let is_there = half < known.len();
            is_there.then(|| *known.select_nth_unstable_by(half, f64::total_cmp).1)
        })
    }

    /// The highest level of this recording since a moment.
    pub(crate) fn most_since(&self, from: Millis) -> Option<f64> {
        let values = self.values.iter().rev();
        let recent = values.take_while(|(at, _)| *at >= from);
        recent.map(|(_, value)| *value).reduce(f64::max)
    }

    /// All values up to a moment together; what an earlier recording learnt is older than any.
    pub(crate) fn sum_until(&self, until: Millis) -> f64 {
        if self.covered_ms() < self.min_ms {
            return self.learnt.iter().sum();
        }
        let old = self.values.iter().take_while(|(at, _)| *at <= until);
        old.map(|(_, value)| *value).sum()
    }

    /// The mean; absent until enough time is covered.
    pub(crate) fn mean(&self) -> Option<f64> {
        *self.mean.get_or_init(|| {
            let known = self.known();
            let (count, sum) =
                known.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
            let mean: f64 = sum / count;
            mean.is_finite().then_some(mean)
        })
    }
}
