//! What was done, one small file each. A fix is written down and synced before anything is changed, and stays after it
//! was put back, as history.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::change::Change;
use super::root::Root;
use crate::ServerWay;
use crate::trust::{Distrust, has_own_directory, own_directory};

/// The form of the files; another one is not understood.
pub(super) const VERSION: u32 = 1;

const SUFFIX: &str = ".fix.json";
const LOCK: &str = "lock";

/// More than any entry has.
const ENTRY_BYTES_MAX: u64 = 1 << 20;

/// Entries that are listed; more than this is no journal.
const ENTRIES_MAX: usize = 10_000;

/// How often a lock that another process holds is tried.
const LOCK_POLL: Duration = Duration::from_millis(10);

/// Where fixes are written down.
#[derive(Debug, Clone)]
pub struct FixJournal {
    dir: PathBuf,
}

/// What was done about a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The form of this file.
    pub version: u32,
    /// 16 hexadecimal digits, also the name of its file.
    pub id: String,
    /// The cause's id.
    pub cause: String,
    /// The incident that it was found in.
    pub incident: Option<String>,
    /// The tree of files that was changed; `/` outside of trials.
    pub root: PathBuf,
    /// The server that was changed, and how to get in again; never with a password.
    pub server: Option<ServerWay>,
    /// What was changed, in this order.
    pub steps: Vec<DoneStep>,
    /// How far it is.
    pub state: State,
    /// When it began, microseconds since 1970 UTC.
    pub taken_us: i64,
    /// When a lease is to be given back, likewise; absent when it was made for good.
    pub deadline_us: Option<i64>,
    /// When everything was back, likewise.
    pub ended_us: Option<i64>,
    /// What went wrong, or what was left as somebody else has set it.
    pub notes: Vec<String>,
}

impl Entry {
    /// How a person puts one of its steps back, in the tree of files that it was made in.
    pub fn undo_by_hand(&self, step: &DoneStep) -> String {
        step.change.undo_by_hand(&Root::at(&self.root))
    }
}

/// A change that was made, or was about to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoneStep {
    /// The step in words.
    pub says: String,
    /// What was changed, with what was there before.
    pub change: Change,
}

/// How far a fix is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Begun. Found by anybody who has the journal's lock, it was interrupted.
    Applying,
    /// Everything is changed.
    Applied,
    /// Something could not be put back, or somebody else has changed it since.
    Left,
    /// Everything is back.
    Undone,
    /// It is done, and there is nothing that could be put back.
    Done,
}

impl Entry {
    /// Whether there is still something to be put back.
    pub fn is_open(&self) -> bool {
        !matches!(self.state, State::Undone | State::Done)
    }

    /// Whether it needs the server to be put back.
    pub fn needs_server(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| step.change.needs_server() && step.change.has_undo())
    }
}

/// Why the journal cannot be used.
#[derive(Debug, Error)]
pub enum FixJournalError {
    /// A file or directory fails.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Others may write there: what it says could make us change a system.
    #[error("the journal of fixes must be ours and writable by nobody else: {}", .0.advice())]
    NotOurs(Distrust),
    /// A file is no entry.
    #[error("{path}: {problem}")]
    NotAnEntry {
        /// Which.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// Another process applies or undoes something and is not done.
    #[error("{0}: another process is at work (it is waited for a while)")]
    Locked(PathBuf),
}

impl From<Distrust> for FixJournalError {
    fn from(why: Distrust) -> Self {
        match why {
            Distrust::Io { path, source } => Self::Io { path, source },
            why => Self::NotOurs(why),
        }
    }
}

impl FixJournal {
    /// The journal in a directory, which is made when it is not there (0700).
    pub fn open(dir: &Path) -> Result<Self, FixJournalError> {
        own_directory(dir)?;
        if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync_directory(parent)?;
        }
        Ok(Self {
            dir: dir.to_owned(),
        })
    }

    /// The journal in a directory, or nothing when there is no such directory: then nothing was done.
    pub fn existing(dir: &Path) -> Result<Option<Self>, FixJournalError> {
        match has_own_directory(dir)? {
            true => Self::open(dir).map(Some),
            false => Ok(None),
        }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn path(&self, id: &str) -> PathBuf {
        self.dir.join(format!("{id}{SUFFIX}"))
    }

    /// The file whose shared lock says that a lease is watched.
    pub(super) fn watch_path(&self, id: &str) -> PathBuf {
        self.dir.join(format!("{id}.watch"))
    }

    /// Waits until nobody else applies or undoes anything, up to `patience`.
    pub fn lock(&self, patience: Option<Duration>) -> Result<LockedJournal, FixJournalError> {
        let path = self.dir.join(LOCK);
        let file = open_lock(&path).map_err(io(&path))?;
        let begin = Instant::now();
        while !try_lock(&file, FlockOperation::NonBlockingLockExclusive).map_err(io(&path))? {
            if patience.is_some_and(|patience| begin.elapsed() >= patience) {
                return Err(FixJournalError::Locked(path));
            }
            std::thread::sleep(LOCK_POLL);
        }
        Ok(LockedJournal {
            journal: self.clone(),
            _lock: file,
        })
    }

    /// An entry, or nothing when it is not there.
    pub fn read(&self, id: &str) -> Result<Option<Entry>, FixJournalError> {
        match read(&self.path(id)) {
            Err(FixJournalError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Ok(None)
            }
            entry => entry.map(Some),
        }
    }

    /// Every entry, the oldest first; files that are none as errors.
    pub fn list(&self) -> Result<Vec<Result<Entry, FixJournalError>>, FixJournalError> {
        let mut entries = Vec::new();
        for entry in self
            .dir
            .read_dir()
            .map_err(io(&self.dir))?
            .take(ENTRIES_MAX)
        {
            let path = entry.map_err(io(&self.dir))?.path();
            if path.to_string_lossy().ends_with(SUFFIX) {
                entries.push(read(&path));
            }
        }
        entries.sort_by_key(|entry| {
            entry.as_ref().map_or((i64::MAX, String::new()), |entry| {
                (entry.taken_us, entry.id.clone())
            })
        });
        Ok(entries)
    }

    /// Whether a process watches this lease.
    pub fn is_watched(&self, id: &str) -> bool {
        let path = self.watch_path(id);
        let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else {
            return false;
        };
        !try_lock(&file, FlockOperation::NonBlockingLockExclusive).unwrap_or(true)
    }
}

/// The journal while nobody else changes anything; let go when it is dropped or we die.
#[derive(Debug)]
pub struct LockedJournal {
    journal: FixJournal,
    _lock: File,
}

impl LockedJournal {
    /// The journal.
    pub fn journal(&self) -> &FixJournal {
        &self.journal
    }

    /// Writes an entry down: when this returns it is on disk.
    pub fn write(&self, entry: &Entry) -> Result<(), FixJournalError> {
        let dir = &self.journal.dir;
        let path = self.journal.path(&entry.id);
        let text =
            serde_json::to_vec_pretty(entry).map_err(|error| FixJournalError::NotAnEntry {
                path: path.clone(),
                problem: error.to_string(),
            })?;
        // One of a killed process is written over: the lock says that it is nobody's.
        let temporary = dir.join(format!("{}.tmp", entry.id));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)
            .map_err(io(&temporary))?;
        file.write_all(&text)
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&temporary, &path))
            .map_err(io(&path))?;
        sync_directory(dir)
    }

    /// A lease is over: nobody watches it any more.
    pub(super) fn forget_watch(&self, id: &str) {
        // Only an empty file; left behind it does no harm.
        let _ = std::fs::remove_file(self.journal.watch_path(id));
    }
}

/// Holds the lock that says that a lease is watched, as long as the file is open.
pub(super) fn watch_lock(journal: &FixJournal, id: &str) -> std::io::Result<File> {
    let file = open_lock(&journal.watch_path(id))?;
    flock(&file, FlockOperation::LockShared)?;
    Ok(file)
}

fn open_lock(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

fn try_lock(file: &File, operation: FlockOperation) -> std::io::Result<bool> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn read(path: &Path) -> Result<Entry, FixJournalError> {
    let not_an_entry = |problem: String| FixJournalError::NotAnEntry {
        path: path.to_owned(),
        problem,
    };
    let file = File::open(path).map_err(io(path))?;
    let mut text = Vec::new();
    file.take(ENTRY_BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(io(path))?;
    if text.len() as u64 > ENTRY_BYTES_MAX {
        return Err(not_an_entry("too long for an entry".to_owned()));
    }
    let entry: Entry =
        serde_json::from_slice(&text).map_err(|error| not_an_entry(error.to_string()))?;
    if entry.version != VERSION {
        let problem = format!(
            "version {} of an entry; this program knows {VERSION}",
            entry.version
        );
        return Err(not_an_entry(problem));
    }
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    if name != Some(format!("{}{SUFFIX}", entry.id)) {
        return Err(not_an_entry("its name is another one's".to_owned()));
    }
    Ok(entry)
}

fn sync_directory(dir: &Path) -> Result<(), FixJournalError> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(io(dir))
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> FixJournalError + use<> {
    let path = path.to_owned();
    move |source| FixJournalError::Io { path, source }
}
