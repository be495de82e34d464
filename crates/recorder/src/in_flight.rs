//! Which sources are being read at the moment, so that one that hangs is seen while it does.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use kernel::run_delay;
use model::{Millis, SOURCES};

/// Which sources are being read now, and since when. Written by the workers, read by the
/// recorder, so that a reading that does not come back is seen while it is missing.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// Begin of the reading, milliseconds + 1; 0 is none.
    since: Vec<AtomicU64>,
    /// The thread that reads.
    thread: Vec<AtomicU32>,
}

impl InFlight {
    pub(crate) fn new() -> Self {
        Self {
            since: SOURCES.iter().map(|_| AtomicU64::new(0)).collect(),
            thread: SOURCES.iter().map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// The calling thread begins to read a source.
    pub(crate) fn begin(&self, source: usize, now: Millis) {
        if let Some(cell) = self.thread.get(source) {
            cell.store(run_delay::own_tid(), Ordering::Relaxed);
        }
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

    /// Whether the thread that reads a source could go on, if it had a processor: then what is late is this program.
    pub(crate) fn is_ready(&self, source: usize) -> bool {
        let thread = self.thread.get(source);
        thread.is_some_and(|thread| run_delay::is_ready(thread.load(Ordering::Relaxed)))
    }
}
