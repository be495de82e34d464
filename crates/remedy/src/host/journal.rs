//! The files of the host's leases: one a lease, written whole and synced before a change is made.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{HostChange, HostError, io};
use crate::ProcessId;
use crate::trust::own_directory;

const SUFFIX: &str = ".host.json";
const LOCK: &str = "lock";

/// More than any lease has.
const ENTRY_BYTES_MAX: u64 = 64 << 10;

/// Entries that are listed; more than this is no journal.
const ENTRIES_MAX: usize = 1_000;

/// A lease of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostEntry {
    /// 16 hexadecimal digits, also the name of its file.
    pub id: String,
    /// Who took it.
    pub owner: ProcessId,
    /// What is changed, in this order.
    pub changes: Vec<NumberedChange>,
}

/// A change with a number by which it can be put back alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedChange {
    /// Counted up within the lease.
    pub number: u64,
    /// What.
    pub change: HostChange,
}

/// Where they are written down.
#[derive(Debug, Clone)]
pub(super) struct HostJournal {
    dir: PathBuf,
}

impl HostJournal {
    /// The journal in a directory, which is made when it is not there (0700).
    pub(super) fn open(dir: &Path) -> Result<Self, HostError> {
        own_directory(dir)?;
        Ok(Self {
            dir: dir.to_owned(),
        })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    fn path(&self, id: &str) -> PathBuf {
        self.dir.join(format!("{id}{SUFFIX}"))
    }

    /// Waits until nobody else makes or puts back; let go when the file is dropped or we die.
    pub(super) fn lock(&self) -> Result<File, HostError> {
        let path = self.dir.join(LOCK);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(io(&path))?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(file),
                Err(Errno::INTR) => {}
                Err(error) => {
                    return Err(HostError::Io {
                        path,
                        source: error.into(),
                    });
                }
            }
        }
    }

    /// Writes a lease down: when this returns it is on disk.
    pub(super) fn write(&self, entry: &HostEntry) -> Result<(), HostError> {
        let path = self.path(&entry.id);
        let temporary = self.dir.join(format!("{}.tmp", entry.id));
        let text = serde_json::to_vec_pretty(entry).map_err(|error| HostError::Failed {
            what: path.display().to_string(),
            why: error.to_string(),
        })?;
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut file| {
                file.write_all(&text)?;
                file.sync_all()
            })
            .and_then(|()| std::fs::rename(&temporary, &path))
            .and_then(|()| File::open(&self.dir)?.sync_all())
            .map_err(io(&path))
    }

    /// A lease, or nothing when it is not there.
    pub(super) fn read(&self, id: &str) -> Result<Option<HostEntry>, HostError> {
        let path = self.path(id);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(HostError::Io { path, source }),
        };
        let mut text = Vec::new();
        file.take(ENTRY_BYTES_MAX)
            .read_to_end(&mut text)
            .map_err(io(&path))?;
        let entry: HostEntry =
            serde_json::from_slice(&text).map_err(|error| HostError::Failed {
                what: path.display().to_string(),
                why: format!("is no lease: {error}"),
            })?;
        Ok(Some(entry))
    }

    /// The ids of all that are written down.
    pub(super) fn ids(&self) -> Result<Vec<String>, HostError> {
        let entries = self.dir.read_dir().map_err(io(&self.dir))?;
        let mut ids: Vec<String> = entries
            .take(ENTRIES_MAX)
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().into_string().ok()?;
                Some(name.strip_suffix(SUFFIX)?.to_owned())
            })
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Everything is back.
    pub(super) fn forget(&self, id: &str) -> Result<(), HostError> {
        let path = self.path(id);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(HostError::Io {
                path,
                source: error,
            }),
            _ => Ok(()),
        }
    }
}
