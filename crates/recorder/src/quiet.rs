//! Samples that can wait for the recorder's next turn: the usual answers of the probes, six a second; the status, which the
//! sessions follow; the recorder's own figures. To wake the recorder for each costs more than to take it, and they change
//! nothing before another source brings something, or the quarter of a second is over.

use std::sync::{Mutex, PoisonError};

use model::Sample;

/// What waits at the most: many times what comes in a turn.
const SAMPLES_MAX: usize = 64;

/// Samples that wait.
#[derive(Debug, Default)]
pub(crate) struct Quiet(Mutex<Vec<Sample>>);

impl Quiet {
    /// Lets a sample wait; gives it back when too many do.
    pub(crate) fn put(&self, sample: Sample) -> Option<Sample> {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() >= SAMPLES_MAX {
            return Some(sample);
        }
        samples.push(sample);
        None
    }

    /// Those that wait, in their order.
    pub(crate) fn take(&self) -> Vec<Sample> {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *samples)
    }
}
