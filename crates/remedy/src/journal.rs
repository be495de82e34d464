//! A directory of small files, one for each change that is to be put back: a lease, a fix. A file is on disk before
//! anything is changed.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use model::OrderBy;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::trust::{Distrust, has_own_directory, own_directory};

/// Records that are listed; more than this is no journal.
const RECORDS_MAX: usize = 10_000;

/// How often a lock that another process holds is tried.
const LOCK_POLL: Duration = Duration::from_millis(10);

/// The file whose lock keeps others from the whole journal.
const LOCK: &str = "lock";

/// What the files of a journal hold.
#[derive(Debug)]
pub struct JournalFormat {
    /// How their names end.
    pub suffix: &'static str,
    /// The form of the files; another one is not understood.
    pub version: u32,
    /// More bytes than any has.
    pub bytes_max: u64,
    /// What one is, with its article.
    pub one: &'static str,
    /// What they are together.
    pub all: &'static str,
    /// What another process does that holds the lock.
    pub at_work: &'static str,
}

/// What a journal keeps.
pub trait Record: Serialize + DeserializeOwned {
    /// What its files are like.
    const FORM: JournalFormat;
    /// 16 hexadecimal digits, also the name of its file.
    fn id(&self) -> &str;
    /// The form that it was written in.
    fn version(&self) -> u32;
    /// When it was taken, microseconds since 1970 UTC.
    fn taken_us(&self) -> i64;
}

/// Where records of one kind are written down.
#[derive(Debug)]
pub struct Journal<T> {
    dir: PathBuf,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Journal<T> {
    fn clone(&self) -> Self {
        Self {
            dir: self.dir.clone(),
            of: PhantomData,
        }
    }
}

/// Why a journal cannot be used.
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
    /// Others may write there: what it says could make us change a system.
    #[error("the journal of {all} must belong to us, and nobody else may write it: {}", .why.advice())]
    NotOurs {
        /// What it keeps.
        all: &'static str,
        /// Why it is not trusted.
        why: Distrust,
    },
    /// A file is none of this journal.
    #[error("{path}: {problem}")]
    NotARecord {
        /// Which.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// Another process holds the lock.
    #[error("{path}: another process is {at_work}")]
    Locked {
        /// Of which file.
        path: PathBuf,
        /// What it does.
        at_work: &'static str,
    },
}

impl JournalError {
    fn is_not_there(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == ErrorKind::NotFound)
    }
}

impl<T: Record> Journal<T> {
    /// The journal in a directory, which is made when it is not there (0700).
    pub fn open(dir: &Path) -> Result<Self, JournalError> {
        own_directory(dir).map_err(distrusted::<T>)?;
        if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            sync_directory(parent)?;
        }
        Ok(Self {
            dir: dir.to_owned(),
            of: PhantomData,
        })
    }

    /// The journal in a directory, or nothing when there is no such directory: then nothing was done.
    pub fn existing(dir: &Path) -> Result<Option<Self>, JournalError> {
        match has_own_directory(dir).map_err(distrusted::<T>)? {
            true => Self::open(dir).map(Some),
            false => Ok(None),
        }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file of a record.
    pub fn path(&self, id: &str) -> PathBuf {
        self.dir.join(format!("{id}{}", T::FORM.suffix))
    }

    /// Writes a record down: when this returns it is on disk. Its number is new, or the journal is locked.
    pub fn write(&self, record: &T) -> Result<(), JournalError> {
        let path = self.path(record.id());
        let text = serde_json::to_vec_pretty(record).map_err(|error| JournalError::NotARecord {
            path: path.clone(),
            problem: error.to_string(),
        })?;
        // One of a killed process is written over: it is nobody's.
        let temporary = self.dir.join(format!("{}.tmp", record.id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
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

    /// A record, or nothing when it is not there.
    pub fn read(&self, id: &str) -> Result<Option<T>, JournalError> {
        match read(&self.path(id)) {
            Err(error) if error.is_not_there() => Ok(None),
            record => record.map(Some),
        }
    }

    /// Every record, the oldest first; files that are none as errors.
    pub fn list(&self) -> Result<Vec<Result<T, JournalError>>, JournalError> {
        let mut records = Vec::new();
        let files = self.dir.read_dir().map_err(io(&self.dir))?;
        for file in files.take(RECORDS_MAX) {
            let path = file.map_err(io(&self.dir))?.path();
            if !path.to_string_lossy().ends_with(T::FORM.suffix) {
                continue;
            }
            match read(&path) {
                // Forgotten while we looked.
                Err(error) if error.is_not_there() => {}
                record => records.push(record),
            }
        }
        records.order_by_key(|record: &Result<T, _>| match record {
            Ok(record) => (record.taken_us(), record.id().to_owned()),
            Err(_) => (i64::MAX, String::new()),
        });
        Ok(records)
    }

    /// Takes one record in hand, so that nobody else gives it back at the same time; nothing when it was given back.
    /// Waits for another process up to `patience`.
    pub fn lock_record(
        &self,
        id: &str,
        patience: Option<Duration>,
    ) -> Result<Option<LockedRecord<T>>, JournalError> {
        let path = self.path(id);
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.map_err(io(&path))?,
        };
        wait_for_lock::<T>(&file, &path, patience)?;
        // Whoever had it has given it back meanwhile: the file has no name any more.
        if file.metadata().map_err(io(&path))?.nlink() == 0 {
            return Ok(None);
        }
        Ok(Some(LockedRecord {
            record: read(&path)?,
            path,
            _lock: file,
        }))
    }

    /// Keeps all others that ask for it from the journal until the file is dropped or we die. Waits up to `patience`.
    pub fn lock_all(&self, patience: Option<Duration>) -> Result<File, JournalError> {
        let path = self.dir.join(LOCK);
        let file = open_lock(&path).map_err(io(&path))?;
        wait_for_lock::<T>(&file, &path, patience)?;
        Ok(file)
    }

    /// Everything is back. One that is not there is forgotten already.
    pub fn forget(&self, id: &str) -> Result<(), JournalError> {
        forget(&self.path(id))
    }
}

/// A record in hand; let go when it is dropped or we die.
#[derive(Debug)]
pub struct LockedRecord<T> {
    /// What is written down.
    pub record: T,
    path: PathBuf,
    _lock: File,
}

impl<T> LockedRecord<T> {
    /// Everything is back: forgets it.
    pub fn forget(self) -> Result<(), JournalError> {
        forget(&self.path)
    }
}

fn forget(path: &Path) -> Result<(), JournalError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io(path)(error)),
        Ok(()) => path.parent().map_or(Ok(()), sync_directory),
    }
}

fn read<T: Record>(path: &Path) -> Result<T, JournalError> {
    let form = T::FORM;
    let none = |problem: String| JournalError::NotARecord {
        path: path.to_owned(),
        problem,
    };
    let file = File::open(path).map_err(io(path))?;
    let mut text = Vec::new();
    file.take(form.bytes_max + 1)
        .read_to_end(&mut text)
        .map_err(io(path))?;
    if text.len() as u64 > form.bytes_max {
        return Err(none(format!("too long for {}", form.one)));
    }
    let record: T = serde_json::from_slice(&text).map_err(|error| none(error.to_string()))?;
    if record.version() != form.version {
        return Err(none(format!(
            "version {} of {}; this program knows {}",
            record.version(),
            form.one,
            form.version
        )));
    }
    let name = path.file_name().map(|name| name.to_string_lossy());
    if name != Some(format!("{}{}", record.id(), form.suffix).into()) {
        return Err(none("its name does not match".to_owned()));
    }
    Ok(record)
}

fn wait_for_lock<T: Record>(
    file: &File,
    path: &Path,
    patience: Option<Duration>,
) -> Result<(), JournalError> {
    let begin = Instant::now();
    while !try_lock(file).map_err(io(path))? {
        if patience.is_some_and(|patience| begin.elapsed() >= patience) {
            return Err(JournalError::Locked {
                path: path.to_owned(),
                at_work: T::FORM.at_work,
            });
        }
        std::thread::sleep(LOCK_POLL);
    }
    Ok(())
}

/// Whether the lock of a file is ours now.
pub(crate) fn try_lock(file: &File) -> std::io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// An empty file that is there for its lock.
pub(crate) fn open_lock(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

fn sync_directory(dir: &Path) -> Result<(), JournalError> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(io(dir))
}

/// Why the directory of a journal, or what leads to one, is not used.
pub(crate) fn distrusted<T: Record>(why: Distrust) -> JournalError {
    match why {
        Distrust::Io { path, source } => JournalError::Io { path, source },
        why => JournalError::NotOurs {
            all: T::FORM.all,
            why,
        },
    }
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> JournalError + use<> {
    let path = path.to_owned();
    move |source| JournalError::Io { path, source }
}

/// 16 hexadecimal digits that nobody has had before.
pub fn random_id() -> Result<String, String> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| format!("/dev/urandom: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Microseconds since 1970 UTC.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}
