//! Waits for latches, as signs look at them.

use model::SemaphoreWait;
use serde::Deserialize;

/// A wait with its places in the form that patterns are written for, made once.
#[derive(Deserialize)]
#[serde(from = "SemaphoreWait")]
pub(crate) struct PlacedWait {
    pub(crate) wait: SemaphoreWait,
    /// Where the latch was asked for, as `file line N`.
    pub(crate) asked_at: String,
    pub(crate) created_at: Option<String>,
}

impl From<SemaphoreWait> for PlacedWait {
    fn from(wait: SemaphoreWait) -> Self {
        let asked_at = format!("{} line {}", without_folder(&wait.file), wait.line);
        let created_at = wait.created_file.as_deref().map(|file| {
            let line = wait.created_line.unwrap_or(0);
            format!("{} line {line}", without_folder(file))
        });
        Self {
            wait,
            asked_at,
            created_at,
        }
    }
}

/// Servers before 5.5 and builds of distributions write folders before the file's name.
pub(crate) fn without_folder(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}
