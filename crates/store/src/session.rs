//! What a recorder tells the history of itself.

use model::{Clock, Server, Stall};

/// What a recording session begins with.
#[derive(Debug, Clone)]
pub struct SessionStart {
    /// Its clock.
    pub clock: Clock,
    /// Host name.
    pub host: String,
    /// The recorder's version.
    pub tool_version: String,
    /// The server.
    pub server: Server,
}

/// An incident that is under way: enough to make its file from the history if the recorder dies.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenIncident {
    /// The incident's id.
    pub id: String,
    /// The stall as known so far.
    pub stall: Stall,
}
