//! Memory allocators that a private server can be started with.

use std::path::{Path, PathBuf};

use crate::Error;

/// What makes today's glibc as it was before version 2.26: no cache of freed blocks for each thread,
/// and one arena, as many threads of a larger machine had to share (mallopt(3), `M_ARENA_MAX`).
pub const OLD_GLIBC: &str = "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0";

/// Where distributions put libraries.
const DIRECTORIES: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib64",
    "/usr/local/lib",
];

/// A memory allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Allocator {
    /// glibc's malloc as it is.
    Glibc,
    /// glibc's malloc with [`OLD_GLIBC`].
    OldGlibc,
    /// gperftools' tcmalloc.
    Tcmalloc,
    /// jemalloc 5.
    Jemalloc,
    /// mimalloc 2.
    Mimalloc,
}

impl Allocator {
    /// Every one.
    pub const ALL: [Self; 5] = [
        Self::Glibc,
        Self::OldGlibc,
        Self::Tcmalloc,
        Self::Jemalloc,
        Self::Mimalloc,
    ];

    /// Its name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Glibc => "glibc",
            Self::OldGlibc => "old-glibc",
            Self::Tcmalloc => "tcmalloc",
            Self::Jemalloc => "jemalloc",
            Self::Mimalloc => "mimalloc",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|allocator| allocator.name() == name)
    }

    /// Its library, and the package that brings it.
    fn library(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Glibc | Self::OldGlibc => None,
            Self::Tcmalloc => Some(("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4")),
            Self::Jemalloc => Some(("libjemalloc.so.2", "libjemalloc2")),
            Self::Mimalloc => Some(("libmimalloc.so.2", "libmimalloc2.0")),
        }
    }

    /// The environment that a server with it is started with; the error says how to get its library.
    pub fn environment(self) -> Result<Vec<(String, String)>, Error> {
        if self == Self::OldGlibc {
            return Ok(vec![("GLIBC_TUNABLES".to_owned(), OLD_GLIBC.to_owned())]);
        }
        let Some((library, package)) = self.library() else {
            return Ok(Vec::new());
        };
        let path = find(library, package)?;
        Ok(vec![("LD_PRELOAD".to_owned(), path.display().to_string())])
    }

    /// Whether a process runs with it, by the files that it has mapped: `maps` is the text of
    /// `/proc/PID/maps`. A library that is linked statically does not show there.
    pub fn is_in(self, maps: &str) -> bool {
        let mapped = |allocator: Self| {
            allocator.library().is_some_and(|(library, _)| {
                let stem = library.split(".so").next().unwrap_or(library);
                maps.lines().any(|line| {
                    let name = line.rsplit('/').next().unwrap_or_default();
                    // libtcmalloc_minimal, libtcmalloc, libtcmalloc_and_profiler.
                    name.starts_with(stem.trim_end_matches("_minimal"))
                })
            })
        };
        match self {
            Self::Glibc | Self::OldGlibc => !Self::ALL.into_iter().any(mapped),
            other => mapped(other),
        }
    }
}

fn find(library: &'static str, package: &'static str) -> Result<PathBuf, Error> {
    DIRECTORIES
        .iter()
        .map(|directory| Path::new(directory).join(library))
        .find(|path| path.is_file())
        .ok_or(Error::NoLibrary { library, package })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn an_allocator_is_known_by_what_is_mapped() {
        let line =
            "7f00-7f01 r-xp 0 08:01 1 /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4.5.9\n";
        assert!(Allocator::Tcmalloc.is_in(line));
        assert!(!Allocator::Glibc.is_in(line));
        assert!(!Allocator::Jemalloc.is_in(line));
        let plain = "7f00-7f01 r-xp 0 08:01 1 /usr/lib/x86_64-linux-gnu/libc.so.6\n";
        assert!(Allocator::Glibc.is_in(plain) && Allocator::OldGlibc.is_in(plain));
        assert!(!Allocator::Tcmalloc.is_in(plain));
    }

    #[test]
    fn names_find_their_allocator() {
        for allocator in Allocator::ALL {
            assert_eq!(Allocator::named(allocator.name()), Some(allocator));
        }
        assert_eq!(Allocator::named("hoard"), None);
    }

    #[test]
    fn what_is_missing_is_said_with_its_package() {
        let error = find("libnothing.so.9", "libnothing9")
            .unwrap_err()
            .to_string();
        assert!(error.contains("apt-get install libnothing9"), "{error}");
    }
}
