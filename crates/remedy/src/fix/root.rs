//! The tree of files that fixes look at and change, so that tests have one of their own.

use std::fs::File;
use std::io::{Error, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use kernel::roots::ProcRoot;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

/// The tree of files that is looked at and changed: `/`, or a directory that looks like one, for trials and tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Self {
        Self(PathBuf::from("/"))
    }
}

impl Root {
    /// A directory that looks like `/`.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self(dir.into())
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.0
    }

    /// Whether it is the system's own, where a kernel stands behind `/proc` and `/sys`.
    pub fn is_real(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// Where a path of that tree is reached from here.
    pub fn here(&self, path: &Path) -> PathBuf {
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Its procfs.
    pub fn proc(&self) -> ProcRoot {
        ProcRoot::at(self.0.join("proc"))
    }

    /// A file of the tree, up to `limit` bytes of it.
    pub(super) fn read(&self, path: &Path, limit: usize) -> std::io::Result<Vec<u8>> {
        // A pipe has nobody who writes.
        let file = File::from(self.open(path, OFlags::RDONLY | OFlags::NONBLOCK)?);
        if !file.metadata()?.is_file() {
            return Err(Error::other("is no plain file"));
        }
        let mut bytes = Vec::new();
        file.take(u64::try_from(limit).unwrap_or(u64::MAX))
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Whether there is something at a path of the tree.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.open(path, OFlags::PATH).is_ok()
    }

    /// Opens what a process finds there that has the tree as its root: symbolic links in it begin there, and not at our
    /// own root. Debian's `/etc/mysql/my.cnf` is such a link. Fails before Linux 5.6, which has no openat2(2).
    fn open(&self, path: &Path, flags: OFlags) -> std::io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        if self.is_real() {
            return Ok(openat(CWD, path, flags, Mode::empty())?);
        }
        let root = openat(
            CWD,
            &self.0,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let path = path.strip_prefix("/").unwrap_or(path);
        Ok(openat2(
            root,
            path,
            flags,
            Mode::empty(),
            ResolveFlags::IN_ROOT,
        )?)
    }

    /// Fails when a directory of the tree is, by a symbolic link, outside of it.
    pub(super) fn holds(&self, dir_here: &Path) -> std::io::Result<()> {
        if self.is_real() {
            return Ok(());
        }
        let real = dir_here.canonicalize()?;
        if real.starts_with(self.0.canonicalize()?) {
            return Ok(());
        }
        Err(std::io::Error::other(format!(
            "{} leads out of {}",
            dir_here.display(),
            self.0.display()
        )))
    }
}
