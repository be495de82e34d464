//! Profiles: how often each stack was on a processor.

use serde::{Deserialize, Serialize};

use crate::{Millis, StackId};

/// Stands for the name of a thread that had ended before its name could be read.
pub const ENDED_THREAD: &str = "(ended)";

/// How often a stack was on a processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileCount {
    /// The stack, kernel frames first, innermost first.
    pub stack: StackId,
    /// Name of the thread (`comm`).
    pub thread: String,
    /// The thread belongs to the server.
    pub server: bool,
    /// Samples that hit this stack in this thread.
    pub count: u64,
}

/// What the processors did in a stretch of time. Idle processors give no samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Start, on the recorder's clock.
    pub from: Millis,
    /// End, on the recorder's clock.
    pub to: Millis,
    /// Samples a second and processor.
    pub hz: u32,
    /// Processors that were sampled; 1 when only the server's threads were.
    pub processors: u32,
    /// Samples by stack and thread.
    pub counts: Vec<ProfileCount>,
    /// Samples the kernel could not hand over.
    pub lost: u64,
}

/// Functions with all that they called, where a listing says how much that is and not what (`perf
/// report` with the column Children).
///
/// Samples of one may be samples of another, and are counted in the profile by their own functions:
/// of several the largest alone is sure, and nothing adds up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callers {
    /// Which profile of the record they are of, from 0.
    pub profile: usize,
    /// Each function as a stack of one frame, with its samples and those of what it called.
    pub counts: Vec<ProfileCount>,
}

impl Profile {
    /// Samples of all stacks together.
    pub fn samples(&self) -> u64 {
        self.counts.iter().map(|row| row.count).sum()
    }
}
