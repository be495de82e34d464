//! What wakes the threads of the sources before their time: a stall, and the end of the recording. Without it each would
//! look ten times a second whether there is one, and with two hundred servers that is most of what they cost.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A bell that all threads of a recorder hear.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    rung: Mutex<u64>,
    bell: Condvar,
}

impl Wake {
    /// How often it was rung. Who takes note of this before looking for work misses no ring.
    pub(crate) fn rung(&self) -> u64 {
        *self.lock()
    }

    /// Wakes all.
    pub(crate) fn ring(&self) {
        *self.lock() += 1;
        self.bell.notify_all();
    }

    /// Sleeps for `time`, or until it is rung after it had been `rung` so often.
    pub(crate) fn sleep(&self, rung: u64, time: Duration) {
        let waited = self
            .bell
            .wait_timeout_while(self.lock(), time, |now| *now == rung);
        drop(waited);
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        // A number: a panic elsewhere cannot have left it half-written.
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_ring_between_the_look_and_the_sleep_is_heard() {
        let wake = Arc::new(Wake::default());
        let rung = wake.rung();
        wake.ring();
        let begin = Instant::now();
        wake.sleep(rung, Duration::from_secs(60));
        let rung = wake.rung();
        let other = wake.clone();
        let ringer = std::thread::spawn(move || other.ring());
        wake.sleep(rung, Duration::from_secs(60));
        ringer.join().unwrap();
        assert!(begin.elapsed() < Duration::from_secs(50));
        wake.sleep(wake.rung(), Duration::from_millis(20));
        assert!(begin.elapsed() >= Duration::from_millis(20));
    }
}
