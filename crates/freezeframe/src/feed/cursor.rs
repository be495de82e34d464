//! How far the fleet was fed: a small file, so that a recorder that is killed at any moment goes on where it was.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use store::{StoreError, write_private};

/// Its file.
const NAME: &str = "fed.json";

/// How far the fleet was fed. It is written behind the batches, so that what a kill comes between is done again: as the
/// same file of the spool, or with the same token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// What minutes are numbered under: of this directory, and new where time went back.
    pub(super) life: u64,
    /// The first minute that was not summed up, seconds since 1970.
    pub(super) minute: i64,
    /// Minutes that begin before keep their seconds, seconds since 1970.
    pub(super) seconds_until: i64,
    /// Incidents that were seen to and are still there, by their place in the directory.
    pub(super) incidents: BTreeSet<String>,
    /// Fixes that were told of and whose record is still there, each with its server and how far it was.
    #[serde(default)]
    pub(super) remedies: BTreeMap<String, u64>,
    /// Servers of this host that the fleet knows, by their labels; when they were seen last, seconds since 1970.
    #[serde(default)]
    pub(super) servers: BTreeMap<String, i64>,
}

impl Cursor {
    /// The cursor of this directory; none where there is none, or no one can read it.
    pub(super) fn load(dir: &Path) -> Option<Self> {
        let text = std::fs::read(dir.join(NAME)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// One that begins here.
    pub(super) fn begin(minute: i64) -> anyhow::Result<Self> {
        let salt = crate::export::random_salt()?;
        let life = salt.first_chunk().copied().map(u64::from_le_bytes);
        Ok(Self {
            life: life.unwrap_or_default(),
            minute,
            seconds_until: 0,
            incidents: BTreeSet::new(),
            remedies: BTreeMap::new(),
            servers: BTreeMap::new(),
        })
    }

    pub(super) fn save(&self, dir: &Path) -> Result<(), StoreError> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        write_private(&dir.join(NAME), &text)
    }
}
