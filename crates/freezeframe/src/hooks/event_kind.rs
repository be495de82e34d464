//! When hooks are told.

use serde::Deserialize;

/// When a hook is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EventKind {
    /// A stall was noticed.
    Start,
    /// A first verdict while it lasts.
    Preliminary,
    /// It is over.
    End,
    /// Its file is written, with the verdict.
    Verdict,
}

impl EventKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Preliminary => "preliminary",
            Self::End => "end",
            Self::Verdict => "verdict",
        }
    }
}
