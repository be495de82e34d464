//! Stretches of time.

use serde::{Deserialize, Serialize};

use crate::Millis;

/// A stretch of time, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Begin.
    pub from: Millis,
    /// End.
    pub to: Millis,
}
