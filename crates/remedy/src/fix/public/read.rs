//! Reading records: as the recorder does, whom nothing in them may harm.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use super::{BYTES_MAX, PublicError, PublicRecord, RECORDS_MAX, SUFFIX, io, not_trusted};
use crate::trust::{Distrust, check_writers};

/// Files of a directory that are looked at: twice what writers leave there.
const LOOKED_AT_MAX: usize = 2 * RECORDS_MAX;

const ROOT: u32 = 0;

/// Group and others may write.
const WRITABLE: u32 = 0o022;

/// What a directory tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublicRecords {
    /// The records, the oldest first.
    pub records: Vec<PublicRecord>,
    /// Files that are none.
    pub skipped: Vec<Skipped>,
}

/// A file that is no record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

/// Reads the records of a directory; nothing where there is none. What is wrong with a file costs that file alone.
///
/// # Errors
///
/// When others than root and we may write there, or it cannot be read.
pub fn read_public(dir: &Path) -> Result<Option<PublicRecords>, PublicError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match openat(CWD, dir, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        directory => directory.map_err(io(dir))?,
    };
    let caller = rustix::process::geteuid().as_raw();
    let found = fstat(&directory).map_err(io(dir))?;
    if ![ROOT, caller].contains(&found.st_uid) {
        return Err(PublicError::NotTrusted(Distrust::Owner {
            path: dir.to_owned(),
            owner: found.st_uid,
        }));
    }
    check_writers(dir, caller).map_err(not_trusted)?;
    let mut all = PublicRecords::default();
    let names = Dir::read_from(directory.as_fd()).map_err(io(dir))?;
    let mut left = LOOKED_AT_MAX;
    for entry in names {
        let entry = entry.map_err(io(dir))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(id) = name.strip_suffix(SUFFIX) else {
            continue;
        };
        if left == 0 {
            all.skipped.push(Skipped {
                name: dir.display().to_string(),
                why: format!("more than {LOOKED_AT_MAX} records"),
            });
            break;
        }
        left -= 1;
        match read(&directory, &name, caller) {
            Ok(record) if record.id == id => all.records.push(record),
            Ok(_) => all.skipped.push(Skipped {
                why: "its name does not match".to_owned(),
                name,
            }),
            // Pruned while we looked.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => all.skipped.push(Skipped {
                why: error.to_string(),
                name,
            }),
        }
    }
    all.records
        .sort_by(|a, b| (a.since_us, &a.id).cmp(&(b.since_us, &b.id)));
    all.skipped.sort_unstable();
    Ok(Some(all))
}

fn read(directory: &OwnedFd, name: &str, caller: u32) -> std::io::Result<PublicRecord> {
    let none = |why: &str| std::io::Error::other(why.to_owned());
    // A pipe has nobody who writes.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(none("no plain file"));
    }
    if ![ROOT, caller].contains(&stat.st_uid) || stat.st_mode & WRITABLE != 0 {
        return Err(none("others may write it"));
    }
    let mut bytes = Vec::new();
    File::from(file)
        .take(BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() > BYTES_MAX {
        return Err(none("too long"));
    }
    let record: PublicRecord =
        serde_json::from_slice(&bytes).map_err(|error| none(&error.to_string()))?;
    match record.problem() {
        Some(why) => Err(none(why)),
        None => Ok(record),
    }
}
