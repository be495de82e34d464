use std::path::{Path, PathBuf};

use kernel::roots::ProcRoot;

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
