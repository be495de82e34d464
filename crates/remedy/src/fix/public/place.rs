//! What the journal keeps for those who are told of a fix.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Whom to tell of a fix, and of which server it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicPlace {
    /// The directory. Where there is none, nobody is told.
    pub dir: PathBuf,
    /// What the recorder calls the server that is changed, where that is known.
    pub server: Option<String>,
}

/// What `freezeframe compare --since-fix` said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// It worked.
    Worked,
    /// It changed nothing.
    NoEffect,
    /// It made things worse.
    Worse,
    /// There was not enough to tell.
    NotProven,
}
