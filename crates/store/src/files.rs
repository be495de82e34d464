//! Directories and files that only their owner may read, and files that are whole or not there.

use std::fs::{File, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::StoreError;

/// Makes a directory for recordings, readable by its owner only; one that exists stays as it is.
pub fn make_private_dir(path: &Path) -> Result<(), StoreError> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        // "File exists" says nothing of what is wrong with a file where a directory is wanted.
        .map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => std::io::Error::from(rustix::io::Errno::NOTDIR),
            _ => error,
        })
        .map_err(StoreError::io(path))
}

/// Below a recorder's directory: a directory for each server that was given a name.
pub const TARGETS_DIR: &str = "targets";

/// A recorder's directory, and those of the named servers below it.
pub fn state_dirs(dir: &Path) -> Vec<PathBuf> {
    let below = std::fs::read_dir(dir.join(TARGETS_DIR));
    let below = below.into_iter().flatten().flatten();
    // Not through a link: what it leads to is somebody else's.
    let mut dirs: Vec<PathBuf> = below
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    dirs.sort();
    dirs.insert(0, dir.to_owned());
    dirs
}

/// Makes the file if it is not there, with mode 0600 before anything is in it. A symbolic link in
/// its place is an error: somebody else chose where it points.
pub(crate) fn touch_private(path: &Path) -> Result<(), StoreError> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .map_err(StoreError::io(path))?;
    file.set_permissions(Permissions::from_mode(0o600))
        .map_err(StoreError::io(path))
}

/// Writes a whole file that only its owner can read; complete or not there. What stood at the path
/// is replaced, whatever its mode was; what is no file, such as /dev/stdout, is written to, also where it leads to a file.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    if is_of_the_system(path) || path.metadata().is_ok_and(|there| !there.is_file()) {
        return std::fs::write(path, bytes).map_err(StoreError::io(path));
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    // Of an earlier attempt that was cut off.
    let _ = std::fs::remove_file(partial);
    let written = touch_private(partial)
        .and_then(|()| std::fs::write(partial, bytes).map_err(StoreError::io(partial)))
        .and_then(|()| publish(partial, path));
    if written.is_err() {
        // What is left of it is worth nothing; the first error is the one to tell.
        let _ = std::fs::remove_file(partial);
    }
    written.map_err(|error| error.about(path))
}

/// A name that the system gives to what is open, or to a device: nothing is put in its place.
fn is_of_the_system(path: &Path) -> bool {
    path.parent() == Some(Path::new("/dev"))
        || ["/dev/fd", "/proc"].iter().any(|dir| path.starts_with(dir))
}

/// Moves a finished file to its name so that it survives a crash of the machine.
pub(crate) fn publish(partial: &Path, path: &Path) -> Result<(), StoreError> {
    File::open(partial)
        .and_then(|file| file.sync_all())
        .map_err(StoreError::io(partial))?;
    std::fs::rename(partial, path).map_err(StoreError::io(path))?;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let dir = dir.unwrap_or(Path::new("."));
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(StoreError::io(dir))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_name_of_the_system_is_written_to_and_not_replaced() {
        for (name, is_of) in [
            ("/dev/stdout", true),
            ("/dev/fd/1", true),
            ("/proc/self/fd/1", true),
            ("/dev/shm/page.html", false),
            ("page.html", false),
        ] {
            assert_eq!(is_of_the_system(Path::new(name)), is_of, "{name}");
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page.html");
        let open = File::create(&path).unwrap();
        let name = format!("/proc/self/fd/{}", open.as_raw_fd());
        write_private(Path::new(&name), b"a page").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"a page");
        assert_eq!(open.metadata().unwrap().len(), 6, "the same file");
    }
}
