//! Whether the server gets through its statements as it did a moment ago.
//!
//! A stall of two seconds that begins just after a regular look is no second old at the next one, and over at
//! the one after it. That fewer complete or more are under way shows it at once, and then it is worth to look
//! again in between.

use model::{Millis, Reading};

use crate::baseline::Baseline;
use crate::view::is_second_look;

/// How much of the past is the moment ago, milliseconds.
const PAST_MS: Millis = 30_000;

/// And how much of it must be known, milliseconds.
const PAST_MIN_MS: Millis = 5000;

/// Fewer statements a second, our own among them, say nothing of one second.
const RATE_MIN: f64 = 10.0;

/// Who begins to hang within a second and is not a second old in the next look began in its last part:
/// about so many were completed before.
const FELL_SHARE: f64 = 0.5;

/// So many times as many statements as usual are under way where some are held.
const RUNNING_TIMES: f64 = 3.0;

/// And so many, our own among them.
const RUNNING_MIN: f64 = 3.0;

/// How fast a server completes statements, fed with each status.
#[derive(Debug)]
pub struct Pace {
    rates: Baseline,
    running: Baseline,
    before: Option<(Millis, f64)>,
    is_worse: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            rates: Baseline::new(PAST_MS, PAST_MIN_MS, None),
            running: Baseline::new(PAST_MS, PAST_MIN_MS, None),
            before: None,
            is_worse: false,
        }
    }
}

impl Pace {
    /// Takes the readings of a status.
    pub fn observe(&mut self, at: Millis, status: &[Reading]) {
        self.is_worse = false;
        let value = |name| {
            let mut readings = status.iter();
            readings
                .find(|reading| reading.name == name)
                .map(|reading| reading.value)
        };
        let Some(questions) = value("status.Questions") else {
            return;
        };
        let running = value("status.Threads_running").unwrap_or(0.0);
        // The server counts a statement when it begins.
        let completed = questions - running;
        let Some((before, completed_before)) = self.before.replace((at, completed)) else {
            return;
        };
        // Another clock or another server: nothing to compare with.
        if at <= before || completed < completed_before {
            let before = self.before;
            *self = Self {
                before,
                ..Self::default()
            };
            return;
        }
        let rate = (completed - completed_before) * 1000.0 / (at - before) as f64;
        let fell = |usual| usual >= RATE_MIN && rate <= usual * FELL_SHARE;
        let crowds = |usual| running >= RUNNING_MIN && running >= usual * RUNNING_TIMES;
        self.is_worse =
            self.rates.median().is_some_and(fell) || self.running.median().is_some_and(crowds);
        if !is_second_look(before, at) {
            self.rates.add(at, rate);
            self.running.add(at, running);
        }
    }

    /// In the last second statements completed at half of their usual rate or less, or three times as many
    /// as usual are under way.
    pub fn is_worse(&self) -> bool {
        self.is_worse
    }
}

#[cfg(test)]
mod tests {
    use model::Unit;

    use super::*;

    fn worse(pace: &mut Pace, at: Millis, questions: f64, running: f64) -> bool {
        let status = [
            Reading::counter("status.Questions", Unit::Count, questions),
            Reading::gauge("status.Threads_running", Unit::Count, running),
        ];
        pace.observe(at, &status);
        pace.is_worse()
    }

    #[test]
    fn a_fall_is_seen_in_the_second_in_which_it_begins() {
        let mut pace = Pace::default();
        let mut told = Vec::new();
        for second in 0..20 {
            told.push(worse(&mut pace, second * 1000, second as f64 * 40.0, 1.0));
        }
        assert_eq!(told, [false; 20]);
        // Fifteen came, and four of them hang.
        assert!(worse(&mut pace, 20_000, 775.0, 5.0));
        assert!(worse(&mut pace, 20_450, 775.0, 5.0));
        assert!(!worse(&mut pace, 21_000, 800.0, 1.0));
        // As many as ever complete, and some do not.
        assert!(worse(&mut pace, 22_000, 842.0, 3.0));
    }

    #[test]
    fn quiet_servers_and_new_ones_fall_nowhere() {
        let mut pace = Pace::default();
        for second in 0..20 {
            assert!(!worse(&mut pace, second * 1000, second as f64 * 8.0, 1.0));
        }
        assert!(!worse(&mut pace, 20_000, 153.0, 1.0), "too few to tell");
        for (at, questions) in [(21_000, 5.0), (20_000, 9.0), (22_000, f64::NAN)] {
            assert!(!worse(&mut pace, at, questions, 1.0), "{at}");
        }
    }
}
