//! How putting one change back ended.

/// What became of a change that was to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// It is as it was before.
    Back,
    /// It was as before already.
    NothingToDo,
    /// The server has ended, and with it what was set in it.
    ServerEnded,
    /// The host was started again, and what was set in its kernel is gone.
    HostRestarted,
    /// There is no way back, and nothing of ours is left.
    NoWayBack,
    /// Somebody else has changed it since; it is left as it is.
    Changed {
        /// What is there.
        now: String,
    },
}

impl Undone {
    /// Nothing of ours is left.
    pub fn is_over(&self) -> bool {
        !matches!(self, Self::Changed { .. })
    }
}
