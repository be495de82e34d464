//! How a recorder works: directories, times, limits.

use std::path::PathBuf;
use std::time::Duration;

use model::Millis;
use server::Deadlines;
use store::HistoryLimits;

use crate::general_log::GeneralLogPermit;
use crate::retention::RetentionLimits;

/// How a recorder works. The defaults are those of the documentation.
#[derive(Debug, Clone)]
pub struct RecorderConfig {
    /// Where incidents and the history go.
    pub dir: PathBuf,
    /// What an incident keeps of the time before its onset, milliseconds.
    pub before_ms: Millis,
    /// What it keeps of the time after its end, milliseconds.
    pub after_ms: Millis,
    /// The longest an incident covers from its onset, milliseconds.
    pub incident_max_ms: Millis,
    /// When a first verdict is given while the stall lasts, milliseconds after the trigger.
    pub preliminary_ms: Millis,
    /// What the detector calls a stall.
    pub detect: detect::Config,
    /// How much history is kept; `None` keeps none on disk.
    pub history: Option<HistoryLimits>,
    /// How much of what was recorded is kept, and how much room is left to others. See [`crate::keep_within`].
    pub retention: RetentionLimits,
    /// Whether the general log may be leased at a trigger, when no gentler way sees statements.
    pub general_log: Option<GeneralLogPermit>,
    /// How long the server may take.
    pub deadlines: Deadlines,
}

impl RecorderConfig {
    /// The defaults, with a directory.
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            before_ms: 60_000,
            after_ms: 30_000,
            incident_max_ms: 600_000,
            preliminary_ms: 1000,
            detect: detect::Config::default(),
            history: Some(HistoryLimits::default()),
            retention: RetentionLimits::default(),
            general_log: None,
            deadlines: Deadlines {
                connect: Duration::from_secs(3),
                answer: Duration::from_secs(3),
            },
        }
    }
}
