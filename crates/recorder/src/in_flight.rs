//! Which sources are being read at the moment, so that one that hangs is seen while it does.

use std::sync::atomic::{AtomicU64, Ordering};

use model::{Millis, SOURCES};

/// Which sources are being read now, and since when. Written by the workers, read by the
/// recorder, so that a reading that does not come back is seen while it is missing.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// Begin of the reading, milliseconds + 1; 0 is none.
    since: Vec<AtomicU64>,
}

impl InFlight {
    pub(crate) fn new() -> Self {
        Self {
            since: SOURCES.iter().map(|_| AtomicU64::new(0)).collect(),
        }
    }

    pub(crate) fn begin(&self, source: usize, now: Millis) {
        if let Some(cell) = self.since.get(source) {
            cell.store(now + 1, Ordering::Relaxed);
        }
    }

    pub(crate) fn end(&self, source: usize) {
        if let Some(cell) = self.since.get(source) {
            cell.store(0, Ordering::Relaxed);
        }
    }

    /// Since when a source is being read.
    pub(crate) fn since(&self, source: usize) -> Option<Millis> {
        let since = self.since.get(source)?.load(Ordering::Relaxed);
        since.checked_sub(1)
    }
}
