//! Room on the file systems of a process's directories.

use std::io;
use std::path::Path;

/// What statvfs(3) tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Size in bytes.
    pub bytes: u64,
    /// Bytes free for a user without privileges.
    pub free_bytes: u64,
    /// Inodes, 0 where the file system makes them as needed.
    pub inodes: u64,
    /// Free inodes.
    pub free_inodes: u64,
}

/// The room at a path. Waits for as long as the file system does: a dead NFS server's waits for ever.
pub fn room(path: &Path) -> io::Result<Room> {
    let told = rustix::fs::statvfs(path)?;
    Ok(Room {
        bytes: told.f_blocks.saturating_mul(told.f_frsize),
        free_bytes: told.f_bavail.saturating_mul(told.f_frsize),
        inodes: told.f_files,
        free_inodes: told.f_favail,
    })
}
