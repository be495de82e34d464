//! Rows of plockstat, which all captures tell together.

/// What a table counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    /// Threads waited, asleep or spinning.
    Waits,
    /// Threads had the lock.
    Holds,
}

/// A row.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) counts: Counts,
    pub(crate) lock: String,
    pub(crate) count: u64,
    pub(crate) mean_ns: f64,
    /// Innermost first.
    pub(crate) path: Vec<String>,
}
