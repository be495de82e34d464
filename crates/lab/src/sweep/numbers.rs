//! Numbers of some stalls.

use serde_json::{Value, json};

use super::lines::Stall;

/// How far onset and end may be from the truth, seconds.
pub(super) const NEAR_S: f64 = 1.0;

/// Numbers of some stalls.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Numbers {
    pub(super) felt: usize,
    pub(super) noticed: usize,
    pub(super) merged: usize,
    /// Sorted, seconds.
    delays: Vec<f64>,
    pub(super) onset_near: usize,
    pub(super) end_near: usize,
}

impl Numbers {
    pub(super) fn from_stalls<'a>(stalls: impl Iterator<Item = &'a Stall>) -> Self {
        let mut numbers = Self {
            felt: 0,
            noticed: 0,
            merged: 0,
            delays: Vec::new(),
            onset_near: 0,
            end_near: 0,
        };
        let is_near = |error: Option<f64>| error.is_some_and(|error| error.abs() <= NEAR_S);
        for stall in stalls {
            numbers.felt += 1;
            numbers.noticed += usize::from(stall.noticed);
            numbers.merged += usize::from(stall.merged);
            numbers.onset_near += usize::from(is_near(stall.onset_error_s));
            numbers.end_near += usize::from(is_near(stall.end_error_s));
            numbers
                .delays
                .extend(stall.delay_s.filter(|_| stall.noticed));
        }
        numbers.delays.sort_unstable_by(f64::total_cmp);
        numbers
    }

    pub(super) fn delay(&self, share: f64) -> Option<f64> {
        let rank = (share * self.delays.len() as f64).ceil() as usize;
        self.delays.get(rank.max(1) - 1).copied()
    }

    pub(super) fn cells(&self) -> [String; 6] {
        let seconds = |value: Option<f64>| {
            value.map_or_else(|| "–".to_owned(), |value| format!("{value:.1} s"))
        };
        [
            self.felt.to_string(),
            percent(self.noticed, self.felt),
            seconds(self.delay(0.5)),
            seconds(self.delay(0.99)),
            percent(self.onset_near, self.noticed),
            percent(self.end_near, self.noticed),
        ]
    }

    pub(super) fn json(&self) -> Value {
        json!({"felt": self.felt, "noticed": self.noticed, "merged": self.merged, "delay_median_s": self.delay(0.5),
            "delay_p99_s": self.delay(0.99), "onset_near": self.onset_near, "end_near": self.end_near})
    }
}

pub(super) fn percent(count: usize, of: usize) -> String {
    match of {
        0 => "–".to_owned(),
        _ => format!("{:.1} % ({count})", share(count, of) * 100.0),
    }
}

pub(super) fn share(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}
