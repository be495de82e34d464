//! Bounded reads of kernel files.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Why a kernel file gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Opening, listing or reading failed; `ENOENT` and `ESRCH` mean that the process or the feature is not there,
    /// `EACCES` and `EPERM` that a capability is missing.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The file is longer than any that its reader is made for.
    #[error("{}: longer than {limit_bytes} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The reader's limit.
        limit_bytes: usize,
    },
    /// The file was read, but is not in the format its reader knows.
    #[error("{}: not in a known format", path.display())]
    Format {
        /// The file.
        path: PathBuf,
    },
}

impl ReadError {
    /// The process, thread or file does not exist (any more).
    pub fn is_gone(&self) -> bool {
        match self {
            // procfs answers ESRCH when the task exits between open and read.
            Self::Io { source, .. } => {
                source.kind() == io::ErrorKind::NotFound
                    || source.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
            }
            Self::TooLong { .. } | Self::Format { .. } => false,
        }
    }
}

pub(crate) fn io_error(path: &Path, source: impl Into<io::Error>) -> ReadError {
    ReadError::Io {
        path: path.to_owned(),
        source: source.into(),
    }
}

/// Opens a file that is one. What else a path may lead to is refused at once: the open of a FIFO that nobody writes to
/// would wait for as long as nobody does (fifo(7)).
pub fn open_file(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        )),
    }
}

/// The whole file, or an error when it is longer than `limit_bytes`: half a kernel file is never taken for all of it.
pub fn whole(path: &Path, limit_bytes: usize) -> Result<Vec<u8>, ReadError> {
    let mut bytes = head(path, limit_bytes.saturating_add(1))?;
    if bytes.len() > limit_bytes {
        return Err(ReadError::TooLong {
            path: path.to_owned(),
            limit_bytes,
        });
    }
    bytes.shrink_to_fit();
    Ok(bytes)
}

/// The first `limit_bytes` of a file, or all of it when it is shorter.
pub fn head(path: &Path, limit_bytes: usize) -> Result<Vec<u8>, ReadError> {
    let file = File::open(path).map_err(|e| io_error(path, e))?;
    let mut bytes = Vec::with_capacity(limit_bytes.min(4096));
    file.take(limit_bytes as u64)
        .read_to_end(&mut bytes)
        .map_err(|e| io_error(path, e))?;
    Ok(bytes)
}
