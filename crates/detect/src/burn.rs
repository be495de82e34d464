//! How long statements took, minute by minute: what grows slowly never stands out from the last
//! five minutes.

use std::collections::VecDeque;

use model::Millis;
use serde::{Deserialize, Serialize};

const MINUTE_MS: Millis = 60_000;

/// Minutes that are kept.
const MINUTES_MAX: usize = 75;

/// The last minutes, which are compared and not compared with.
const RECENT: usize = 15;

/// Minutes to compare with, at the least.
const REFERENCE_MIN: usize = 15;

/// Statements a second below which a minute says nothing of how long they take.
const COMPLETIONS_MIN: f64 = 10.0;

/// Samples of a minute below which it does not count.
const SAMPLES_MIN: u32 = 30;

#[derive(Debug, Default)]
pub(crate) struct Burn {
    /// Seconds a statement took, by minute.
    minutes: VecDeque<f64>,
    began: Option<Millis>,
    in_flight: f64,
    completions: f64,
    samples: u32,
}

/// What is kept over a restart of the recorder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LearntBurn {
    minutes: Vec<f64>,
}

impl Burn {
    pub(crate) fn with(learnt: &LearntBurn) -> Self {
        let minutes = learnt.minutes.iter().copied();
        Self {
            minutes: minutes
                .filter(|each| each.is_finite())
                .take(MINUTES_MAX)
                .collect(),
            ..Self::default()
        }
    }

    pub(crate) fn learnt(&self) -> LearntBurn {
        LearntBurn {
            minutes: self.minutes.iter().copied().collect(),
        }
    }

    pub(crate) fn add(&mut self, at: Millis, in_flight: f64, completions: f64) {
        let began = *self.began.get_or_insert(at);
        self.in_flight += in_flight;
        self.completions += completions;
        self.samples += 1;
        if at < began.saturating_add(MINUTE_MS) {
            return;
        }
        let each = self.in_flight / self.completions;
        let enough = self.completions >= COMPLETIONS_MIN * f64::from(self.samples);
        if self.samples >= SAMPLES_MIN && enough && each.is_finite() {
            self.minutes.push_back(each);
            if self.minutes.len() > MINUTES_MAX {
                self.minutes.pop_front();
            }
        }
        self.interrupt();
    }

    /// The minute that is under way does not count.
    pub(crate) fn interrupt(&mut self) {
        self.began = None;
        self.in_flight = 0.0;
        self.completions = 0.0;
        self.samples = 0;
    }

    pub(crate) fn restart(&mut self) {
        self.interrupt();
    }

    /// Seconds that a statement took: the lesser of the last two minutes, and the median of the
    /// hour before the last quarter of one.
    pub(crate) fn now_and_before(&self) -> Option<(f64, f64)> {
        let count = self.minutes.len().checked_sub(RECENT)?;
        if count < REFERENCE_MIN {
            return None;
        }
        let mut before: Vec<f64> = self.minutes.iter().take(count).copied().collect();
        before.sort_by(f64::total_cmp);
        let now = self
            .minutes
            .iter()
            .rev()
            .take(2)
            .copied()
            .fold(f64::INFINITY, f64::min);
        Some((now, *before.get(before.len() / 2)?))
    }
}
