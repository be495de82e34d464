//! Writing records.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, fchmod, fstat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::record::is_id;
use super::{BYTES_MAX, PublicError, PublicRecord, RECORDS_MAX, SUFFIX, io, not_trusted};
use crate::fix::Entry;
use crate::trust::{check_writers, is_own_directory, own_directory};

/// More names than these are no directory of ours; the others are left alone.
const NAMES_MAX: usize = 4096;

/// Group and others may look into a directory.
const OPEN: u32 = 0o055;

/// Makes the directory beside the incidents, 0700: where fixes and the recorder are of one user.
pub fn make_public_directory(dir: &Path) -> Result<(), PublicError> {
    own_directory(dir).map_err(not_trusted)
}

/// Tells of an entry what everybody may know, where it has a place for that.
pub(in crate::fix) fn publish(entry: &Entry) -> Result<(), PublicError> {
    let Some(place) = &entry.public else {
        return Ok(());
    };
    match PublicRecord::of(entry, place.server.as_deref()) {
        Some(record) => write(&place.dir, &record),
        None => Ok(()),
    }
}

/// Writes a record in the place of an earlier one of the same fix.
pub(super) fn write(dir: &Path, record: &PublicRecord) -> Result<(), PublicError> {
    let failed = |source: std::io::Error| PublicError::Io {
        path: dir.join(format!("{}{SUFFIX}", record.id)),
        source,
    };
    let bytes = serde_json::to_vec(record).map_err(|error| failed(error.into()))?;
    if !is_id(&record.id) || bytes.len() > BYTES_MAX {
        return Err(failed(std::io::Error::other("is no record")));
    }
    let directory = open_own(dir)?;
    // Who may look into the directory may read what is in it, and nobody else reaches it.
    let open = fstat(&directory).map_err(io(dir))?.st_mode & OPEN != 0;
    let (name, temporary) = (
        format!("{}{SUFFIX}", record.id),
        format!(".{}.new", record.id),
    );
    // Of a killed process. A link itself is removed, not what it leads to.
    match unlinkat(&directory, &temporary, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(failed(error.into())),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&directory, &temporary, flags, Mode::RUSR | Mode::WUSR);
    let mut file = File::from(file.map_err(|error| failed(error.into()))?);
    let mode = Mode::from_raw_mode(if open { 0o644 } else { 0o600 });
    let written = file
        .write_all(&bytes)
        // The umask has no say in who is told.
        .and_then(|()| Ok(fchmod(&file, mode)?))
        .and_then(|()| file.sync_all())
        .and_then(|()| Ok(renameat(&directory, &temporary, &directory, &name)?));
    if let Err(error) = written {
        let _ = unlinkat(&directory, &temporary, AtFlags::empty());
        return Err(failed(error));
    }
    prune(&directory);
    Ok(())
}

/// The directory, when it is ours and nobody else can write there or put another one in its place.
fn open_own(dir: &Path) -> Result<OwnedFd, PublicError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(CWD, dir, flags, Mode::empty()).map_err(io(dir))?;
    let caller = rustix::process::geteuid().as_raw();
    let found = fstat(&directory).map_err(io(dir))?;
    is_own_directory(dir, (found.st_uid, found.st_mode), caller).map_err(not_trusted)?;
    check_writers(dir, caller).map_err(not_trusted)?;
    Ok(directory)
}

/// Removes the oldest records where there are too many, and what killed processes began: that no recorder was there to
/// read them is no reason to fill a disk.
fn prune(directory: &OwnedFd) {
    let Ok(found) = Dir::read_from(directory.as_fd()) else {
        return;
    };
    let mut records = Vec::new();
    for entry in found.flatten().take(NAMES_MAX) {
        let name = entry.file_name();
        let Ok(text) = name.to_str() else {
            continue;
        };
        let begun = text
            .strip_prefix('.')
            .and_then(|text| text.strip_suffix(".new"));
        let id = text.strip_suffix(SUFFIX).or(begun);
        if id.is_some_and(is_id)
            && let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        {
            records.push((stat.st_mtime, stat.st_mtime_nsec, name.to_owned()));
        }
    }
    records.sort_unstable();
    let surplus = records.len().saturating_sub(RECORDS_MAX);
    for (_, _, name) in records.iter().take(surplus) {
        let _ = unlinkat(directory, name.as_c_str(), AtFlags::empty());
    }
}
