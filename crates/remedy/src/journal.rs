//! A directory of small files, one a lease. A lease is on disk before anything is changed, and its file goes when
//! everything is back.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use thiserror::Error;

use crate::Lease;
use crate::lease::VERSION;
use crate::trust::{Distrust, has_own_directory, own_directory};

/// More than any lease has.
const LEASE_BYTES_MAX: u64 = 64 << 10;

/// Leases that are listed; more than this is no journal.
const LEASES_MAX: usize = 10_000;

/// How the files of leases end.
const SUFFIX: &str = ".lease.json";

/// How often a lock that another process holds is tried.
const LOCK_POLL: Duration = Duration::from_millis(10);

/// Where leases are written down.
#[derive(Debug, Clone)]
pub struct Journal {
    dir: PathBuf,
}

/// Why the journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// A file or directory fails.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Others may write there: what it says could make us change a server.
    #[error("the journal of leases must be ours and writable by nobody else: {}", .0.advice())]
    NotOurs(Distrust),
    /// A file is no lease.
    #[error("{path}: {problem}")]
    NotALease {
        /// Which.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// Another process gives this lease back and is not done.
    #[error("{0}: another process is giving this lease back")]
    Locked(PathBuf),
}

impl From<Distrust> for JournalError {
    fn from(why: Distrust) -> Self {
        match why {
            Distrust::Io { path, source } => Self::Io { path, source },
            why => Self::NotOurs(why),
        }
    }
}

impl Journal {
    /// The journal in a directory, which is made when it is not there (0700).
    pub fn open(dir: &Path) -> Result<Self, JournalError> {
        own_directory(dir)?;
        if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync_directory(parent)?;
        }
        Ok(Self {
            dir: dir.to_owned(),
        })
    }

    /// The journal in a directory, or nothing when there is no such directory: then there are no leases.
    pub fn existing(dir: &Path) -> Result<Option<Self>, JournalError> {
        match has_own_directory(dir)? {
            true => Self::open(dir).map(Some),
            false => Ok(None),
        }
    }

    /// The file of a lease.
    pub fn path(&self, id: &str) -> PathBuf {
        self.dir.join(format!("{id}{SUFFIX}"))
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes a lease down: when this returns it is on disk.
    pub fn write(&self, lease: &Lease) -> Result<(), JournalError> {
        let path = self.path(&lease.id);
        let text = serde_json::to_vec_pretty(lease).map_err(|error| JournalError::NotALease {
            path: path.clone(),
            problem: error.to_string(),
        })?;
        let temporary = self.dir.join(format!("{}.tmp", lease.id));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .map_err(io(&temporary))?;
        let written = file
            .write_all(&text)
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&temporary, &path));
        if let Err(source) = written {
            let _ = std::fs::remove_file(&temporary);
            return Err(JournalError::Io { path, source });
        }
        sync_directory(&self.dir)
    }

    /// A lease, or nothing when it is not there.
    pub fn read(&self, id: &str) -> Result<Option<Lease>, JournalError> {
        match read(&self.path(id)) {
            Err(JournalError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Ok(None)
            }
            lease => lease.map(Some),
        }
    }

    /// Every lease that is written down, the oldest first; files that are none as errors.
    pub fn list(&self) -> Result<Vec<Result<Lease, JournalError>>, JournalError> {
        let mut leases = Vec::new();
        for entry in self.dir.read_dir().map_err(io(&self.dir))?.take(LEASES_MAX) {
            let path = entry.map_err(io(&self.dir))?.path();
            if !path.to_string_lossy().ends_with(SUFFIX) {
                continue;
            }
            match read(&path) {
                // Given back while we looked.
                Err(JournalError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
                lease => leases.push(lease),
            }
        }
        leases.sort_by_key(|lease| lease.as_ref().map_or(i64::MAX, |lease| lease.taken_us));
        Ok(leases)
    }

    /// Takes a lease in hand, so that nobody else gives it back at the same time; nothing when it was given back.
    /// Waits for another process up to `patience`.
    pub fn lock(
        &self,
        id: &str,
        patience: Option<Duration>,
    ) -> Result<Option<LockedLease>, JournalError> {
        let path = self.path(id);
        let begin = Instant::now();
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(JournalError::Io { path, source }),
        };
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => {
                    return Err(JournalError::Io {
                        path,
                        source: error.into(),
                    });
                }
            }
            if patience.is_some_and(|patience| begin.elapsed() >= patience) {
                return Err(JournalError::Locked(path));
            }
            std::thread::sleep(LOCK_POLL);
        }
        // Whoever had it has given it back meanwhile: the file has no name any more.
        if file.metadata().map_err(io(&path))?.nlink() == 0 {
            return Ok(None);
        }
        let lease = read(&path)?;
        Ok(Some(LockedLease {
            lease,
            path,
            _lock: file,
        }))
    }
}

/// A lease in hand; let go when it is dropped or we die.
#[derive(Debug)]
pub struct LockedLease {
    /// What is written down.
    pub lease: Lease,
    path: PathBuf,
    _lock: File,
}

impl LockedLease {
    /// Everything is back: forgets the lease.
    pub fn forget(self) -> Result<(), JournalError> {
        std::fs::remove_file(&self.path).map_err(io(&self.path))?;
        self.path.parent().map_or(Ok(()), sync_directory)
    }
}

fn read(path: &Path) -> Result<Lease, JournalError> {
    let not_a_lease = |problem: String| JournalError::NotALease {
        path: path.to_owned(),
        problem,
    };
    let file = File::open(path).map_err(io(path))?;
    let mut text = Vec::new();
    file.take(LEASE_BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(io(path))?;
    if text.len() as u64 > LEASE_BYTES_MAX {
        return Err(not_a_lease("too long for a lease".to_owned()));
    }
    let lease: Lease =
        serde_json::from_slice(&text).map_err(|error| not_a_lease(error.to_string()))?;
    if lease.version != VERSION {
        let problem = format!(
            "version {} of a lease; this program knows {VERSION}",
            lease.version
        );
        return Err(not_a_lease(problem));
    }
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    if name != Some(format!("{}{SUFFIX}", lease.id)) {
        return Err(not_a_lease("its name is another one's".to_owned()));
    }
    Ok(lease)
}

fn sync_directory(dir: &Path) -> Result<(), JournalError> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(io(dir))
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> JournalError {
    let path = path.to_owned();
    move |source| JournalError::Io { path, source }
}
