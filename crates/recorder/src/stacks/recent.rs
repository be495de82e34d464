//! The stacks in memory, for somebody who looks while the recorder runs.

use std::sync::Arc;

use model::{Clock, Millis, StackEvidence, Window};

use super::{StackWatch, lock};
use crate::clock::RecorderClock;

/// Runs of threads and rows of profiles that are handed out at the most, 100 to 200 bytes each as text: where there are
/// more, they are of a shorter time.
const ROWS_MAX: usize = 20_000;

/// A shorter time than this is not tried, milliseconds: the latest is always there.
const SHORTEST_MS: Millis = 5_000;

/// What a recorder has in memory of its server's threads, for others to look at while it runs.
#[derive(Debug, Clone)]
pub struct RecentStacks {
    watch: Arc<StackWatch>,
    clock: RecorderClock,
}

/// Those of a recorder that takes none.
impl Default for RecentStacks {
    fn default() -> Self {
        Self::new(Arc::new(StackWatch::new()), RecorderClock::start())
    }
}

impl RecentStacks {
    pub(crate) fn new(watch: Arc<StackWatch>, clock: RecorderClock) -> Self {
        Self { watch, clock }
    }

    /// The stacks, profiles and lock tables of the last time, at most this long, milliseconds, and how their times relate to
    /// the time of day. Gives them names on the caller's thread: the first time this reads symbol tables, which takes up to
    /// a second.
    pub fn latest(&self, for_ms: Millis) -> (Clock, StackEvidence) {
        let to = self.clock.now();
        let window = |length: Millis| Window {
            from: to.saturating_sub(length),
            to,
        };
        let mut length = for_ms;
        while length > SHORTEST_MS && lock(&self.watch.ring).rows(window(length)) > ROWS_MAX {
            length /= 2;
        }
        let raw = self.watch.evidence(window(length));
        (self.clock.clock(), self.watch.name(raw))
    }
}
