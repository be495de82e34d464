//! Stretches of time.

use serde::{Deserialize, Serialize};

use crate::Millis;

/// A stretch of time, both ends included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Start, on the recorder's clock.
    pub from: Millis,
    /// End, on the recorder's clock.
    pub to: Millis,
}

impl Window {
    /// From one moment to another.
    pub const fn new(from: Millis, to: Millis) -> Self {
        Self { from, to }
    }

    /// How long it is, in milliseconds.
    pub fn length(self) -> Millis {
        self.to.saturating_sub(self.from)
    }

    /// Whether a moment is in it.
    pub fn contains(self, at: Millis) -> bool {
        self.from <= at && at <= self.to
    }
}
