//! When a store that did not take something is asked again.

use std::time::{Duration, Instant};

use ::fleet::clickhouse::Then;

/// The first pause after a failure; each is twice the one before.
const MIN: Duration = Duration::from_secs(1);

/// The longest pause, and the first where the store has too much to do or somebody must change something.
const MAX: Duration = Duration::from_secs(600);
const BUSY_MIN: Duration = Duration::from_secs(30);

/// How long is waited, after as many failures as there were in a row.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pause {
    /// What the last failure asked for.
    pub(crate) length: Duration,
    until: Option<Instant>,
}

impl Pause {
    /// Whether it is time.
    pub(crate) fn is_over(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }

    /// It failed again.
    pub(crate) fn failed(&mut self, then: Then) {
        let least = match then {
            Then::Retry => MIN,
            Then::BackOff | Then::Stop | Then::Leave => BUSY_MIN,
        };
        self.length = (self.length * 2).clamp(least, MAX);
        // Hundreds of recorders lost it at the same moment: half of the pause is by chance.
        let chance = f64::from(kernel::clock::boottime_ms() as u32 % 1000) / 1000.0;
        self.until = Some(Instant::now() + self.length.mul_f64(0.5 + chance / 2.0));
    }

    /// It is time at once.
    pub(crate) fn end(&mut self) {
        self.until = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_ten_minutes_and_begin_longer_for_the_busy() {
        let lengths = |then: Then| {
            let mut pause = Pause::default();
            assert!(pause.is_over());
            let mut next = || {
                pause.failed(then);
                assert!(!pause.is_over());
                assert!(pause.until.unwrap() > Instant::now() + pause.length.mul_f64(0.4));
                pause.length.as_secs()
            };
            [next(), next(), next(), next(), next(), next()]
        };
        assert_eq!(lengths(Then::Retry), [1, 2, 4, 8, 16, 32]);
        assert_eq!(lengths(Then::BackOff), [30, 60, 120, 240, 480, 600]);
        assert_eq!(lengths(Then::Stop), lengths(Then::BackOff));
    }
}
