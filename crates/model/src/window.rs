//! Stretches of time.

use serde::{Deserialize, Serialize};

use crate::Millis;

/// A stretch of time, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Start, on the recorder's clock.
    pub from: Millis,
    /// End, on the recorder's clock.
    pub to: Millis,
}
