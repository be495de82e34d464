//! The bytes of an image, from its file or from memory, and what tells one version of a file from another.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// O_NONBLOCK (asm-generic/fcntl.h): opening a FIFO that took a file's place does not wait.
const O_NONBLOCK: i32 = 0o4000;

/// What tells one version of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileKey {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl FileKey {
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// Bytes of an image. Files are read with pread(2) and never mapped: reading beyond the end of a file that was
/// truncated meanwhile is an error here, in a mapping it is SIGBUS.
#[derive(Debug)]
pub(crate) enum Content {
    /// An open file: its bytes stay reachable after it is unlinked.
    Open(File),
    /// A file that is opened for each read, as long as it is still the same.
    Path(PathBuf, FileKey),
    /// A copy in memory.
    Bytes(Arc<[u8]>),
    /// Memory of a process, from where its file's first bytes are mapped.
    Memory {
        pid: u32,
        base: u64,
        /// Bytes that are mapped there.
        length: u64,
    },
}

impl Content {
    /// Opens a regular file. Devices and FIFOs are refused: reading them may have effects.
    pub(crate) fn open(path: &Path) -> io::Result<(File, FileKey)> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(O_NONBLOCK)
            .open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        Ok((file, FileKey::from_metadata(&metadata)))
    }

    pub(crate) fn length(&self) -> io::Result<u64> {
        match self {
            Self::Open(file) => Ok(file.metadata()?.len()),
            Self::Path(_, key) => Ok(key.size),
            Self::Bytes(bytes) => Ok(bytes.len() as u64),
            Self::Memory { length, .. } => Ok(*length),
        }
    }

    /// Fills the buffer from `offset` on, or fails.
    pub(crate) fn read_into(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let read = self.read_some(offset, buffer)?;
        if read == buffer.len() {
            Ok(())
        } else {
            Err(io::Error::from(io::ErrorKind::UnexpectedEof))
        }
    }

    /// Fills as much of the buffer as there are bytes from `offset` on.
    pub(crate) fn read_some(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Open(file) => read_file(file, offset, buffer),
            Self::Path(path, key) => {
                let (file, found) = Self::open(path)?;
                if found != *key {
                    return Err(io::Error::from(io::ErrorKind::NotFound));
                }
                read_file(&file, offset, buffer)
            }
            Self::Bytes(bytes) => {
                let start = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                let rest = bytes.get(start..).unwrap_or(&[]);
                let count = rest.len().min(buffer.len());
                if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
                    to.copy_from_slice(from);
                }
                Ok(count)
            }
            Self::Memory { pid, base, length } => {
                let room = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX);
                let count = room.min(buffer.len());
                let Some(part) = buffer.get_mut(..count) else {
                    return Ok(0);
                };
                kernel::memory::read_memory(*pid, base.saturating_add(offset), part)
            }
        }
    }

    /// A piece of the content, at most `limit` bytes long and not beyond its end.
    pub(crate) fn read(&self, offset: u64, size: u64, limit: u64) -> io::Result<Vec<u8>> {
        let end = offset.checked_add(size);
        if size > limit || end.is_none_or(|end| self.length().is_ok_and(|length| end > length)) {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        let mut buffer = vec![0; usize::try_from(size).map_err(|_| io::ErrorKind::InvalidData)?];
        self.read_into(offset, &mut buffer)?;
        Ok(buffer)
    }
}

fn read_file(file: &File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset.saturating_add(done as u64)) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
