//! The recorder's clock, which no change of the wall clock moves, and the time of day that belongs to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use model::{Clock, Millis};

/// A step of the time of day that is followed, milliseconds: far more than what a leap second or a reading in a busy
/// moment makes of it.
const STEP_MIN_MS: u64 = 10_000;

/// Both clocks are read together within this time, milliseconds; else something came in between.
const TOGETHER_MAX_MS: u64 = 100;

/// The recorder's clock: milliseconds since it was made, by CLOCK_BOOTTIME. Changes of the wall
/// clock do not move it. A clone is another hand on the same clock.
#[derive(Debug, Clone)]
pub(crate) struct RecorderClock {
    zero_ms: u64,
    boot_id: Arc<str>,
    /// Time of day at its zero, as it was said when it was made.
    begun_wall_ms: i64,
    /// The same as it is said now: it is another one after the time of day was set.
    wall_at_zero_ms: Arc<AtomicI64>,
}

impl RecorderClock {
    pub(crate) fn start() -> Self {
        let proc = kernel::roots::ProcRoot::default();
        let begun_wall_ms = kernel::clock::wall_ms();
        Self {
            zero_ms: kernel::clock::boottime_ms(),
            boot_id: kernel::clock::boot_id(&proc).unwrap_or_default().into(),
            begun_wall_ms,
            wall_at_zero_ms: Arc::new(AtomicI64::new(begun_wall_ms)),
        }
    }

    pub(crate) fn now(&self) -> Millis {
        kernel::clock::boottime_ms().saturating_sub(self.zero_ms)
    }

    pub(crate) fn clock(&self) -> Clock {
        Clock {
            wall_at_zero_ms: self.wall_at_zero_ms.load(Ordering::Relaxed),
            boot_id: self.boot_id.to_string(),
        }
    }

    /// How far the wall clock has moved against this one since the start, milliseconds. Not zero: somebody set it.
    pub(crate) fn wall_offset_ms(&self) -> i64 {
        kernel::clock::wall_ms() - self.begun_wall_ms.saturating_add_unsigned(self.now())
    }

    /// Looks at the time of day, and follows where it was set; tells whether it did. Without that what is recorded from
    /// then on would be found under the time that was wrong.
    pub(crate) fn follow_wall(&self) -> bool {
        let (before, wall, after) = (self.now(), kernel::clock::wall_ms(), self.now());
        after.saturating_sub(before) <= TOGETHER_MAX_MS && self.follow(before, wall)
    }

    fn follow(&self, now: Millis, wall_ms: i64) -> bool {
        let zero = wall_ms.saturating_sub_unsigned(now);
        let known = self.wall_at_zero_ms.load(Ordering::Relaxed);
        let is_step = zero.abs_diff(known) >= STEP_MIN_MS;
        if is_step {
            self.wall_at_zero_ms.store(zero, Ordering::Relaxed);
        }
        is_step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_is_followed_where_it_was_set() {
        let clock = RecorderClock::start();
        let other = clock.clone();
        let begun = clock.clock().wall_at_zero_ms;
        assert!(!clock.follow_wall(), "nobody set it");
        // A leap second, and what NTP trims.
        for wall in [begun + 60_000, begun + 61_000, begun + 55_000] {
            assert!(!clock.follow(60_000, wall), "{wall}");
        }
        let hour = 3_600_000;
        for step in [hour, -hour, -400_000 * hour] {
            assert!(clock.follow(60_000, begun + 60_000 + step));
            assert!(!clock.follow(61_000, begun + 61_000 + step), "only once");
            assert_eq!(other.clock().wall_at_zero_ms, begun + step);
        }
        assert!(clock.follow_wall(), "and back to what it is");
        assert!(other.clock().wall_at_zero_ms.abs_diff(begun) < 5000);
        assert!(clock.wall_offset_ms().abs() < 5000);
    }
}
