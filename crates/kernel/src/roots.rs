//! Where the kernel's file trees are mounted. Tests put a directory in their place.

use std::path::{Path, PathBuf};

/// The directory where procfs is mounted; `/proc` by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcRoot(PathBuf);

impl ProcRoot {
    /// A procfs, or a directory that looks like one.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file of the whole host, such as `stat` or `pressure/cpu`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file of one process, such as `/proc/PID/status`.
    pub fn of(&self, pid: u32, name: &str) -> PathBuf {
        self.0.join(pid.to_string()).join(name)
    }
}

impl Default for ProcRoot {
    fn default() -> Self {
        Self::at("/proc")
    }
}

/// The directory where sysfs is mounted; `/sys` by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysRoot(PathBuf);

impl SysRoot {
    /// A sysfs, or a directory that looks like one.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// A file below it, such as `kernel/mm/transparent_hugepage/enabled`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Default for SysRoot {
    fn default() -> Self {
        Self::at("/sys")
    }
}
