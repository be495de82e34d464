//! `/proc/PID/maps`: what a process has mapped (fs/proc/task_mmu.c, `show_map_vma`; proc_pid_maps(5)), and which
//! memory allocator that tells.
//!
//! Reading it needs CAP_SYS_PTRACE over another user's process and takes its `mmap_lock` for reading, at least before
//! kernel 6.17: read it once after the server starts, on a thread with a deadline.

use super::text::{hex_u64, lines, number};
use crate::read::{self, ReadError};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A process may have 65,530 mappings by default (sysctl `vm.max_map_count`), about 100 bytes each.
const MAPS_BYTES_MAX: usize = 16 << 20;

/// One mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// `r`, `w`, `x` or `-`, then `p` private or `s` shared.
    pub perms: [u8; 4],
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// The file system's device, major and minor number. Not what stat(2) says where a file system gives its files
    /// device numbers of their own (btrfs, overlayfs).
    pub device: (u32, u32),
    /// The file's inode; 0 for anonymous memory.
    pub inode: u64,
    /// The file as the process named it, with newlines as `\012` and perhaps ` (deleted)` at the end; or `[heap]`,
    /// `[stack]`, …; empty for anonymous memory.
    pub path: &'a [u8],
}

impl<'a> Mapping<'a> {
    /// Whether it holds code.
    pub fn is_executable(&self) -> bool {
        self.perms[2] == b'x'
    }

    /// The file has no name any more: it was replaced or removed after it was mapped.
    pub fn is_deleted(&self) -> bool {
        self.path.ends_with(b" (deleted)")
    }

    /// The mapped file without ` (deleted)`, when there is one.
    pub fn file(&self) -> Option<&'a Path> {
        if !self.path.starts_with(b"/") {
            return None;
        }
        let path = self.path.strip_suffix(b" (deleted)").unwrap_or(self.path);
        Some(Path::new(OsStr::from_bytes(path)))
    }
}

/// Every mapping in the order of addresses.
pub fn mappings(bytes: &[u8]) -> impl Iterator<Item = Mapping<'_>> {
    lines(bytes).filter_map(mapping)
}

fn mapping(line: &[u8]) -> Option<Mapping<'_>> {
    // The path may hold spaces, so only the five fields before it are split off; it is padded with spaces.
    let mut rest = line.splitn(6, |&b| b == b' ');
    let range = rest.next()?;
    let dash = range.iter().position(|&b| b == b'-')?;
    Some(Mapping {
        start: hex_u64(range.get(..dash)?)?,
        end: hex_u64(range.get(dash + 1..)?)?,
        perms: rest.next()?.try_into().ok()?,
        offset: hex_u64(rest.next()?)?,
        device: device(rest.next()?)?,
        inode: number(rest.next()?)?,
        path: rest.next().unwrap_or_default().trim_ascii_start(),
    })
}

fn device(field: &[u8]) -> Option<(u32, u32)> {
    let colon = field.iter().position(|&b| b == b':')?;
    let part = |digits: &[u8]| hex_u64(digits).and_then(|value| u32::try_from(value).ok());
    Some((part(field.get(..colon)?)?, part(field.get(colon + 1..)?)?))
}

/// The bytes of `/proc/PID/maps`, for [`mappings`] and [`allocators`].
pub fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    read::whole(path, MAPS_BYTES_MAX)
}

/// A `malloc` that a server may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocator {
    /// No allocator library is mapped: the C library's, or one that is linked into the executable.
    LibcOrLinkedIn,
    /// A mapped libjemalloc.
    Jemalloc,
    /// A mapped libtcmalloc of any flavour.
    Tcmalloc,
    /// A mapped libmimalloc.
    Mimalloc,
}

impl Allocator {
    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::LibcOrLinkedIn => "libc or linked in",
            Self::Jemalloc => "jemalloc",
            Self::Tcmalloc => "tcmalloc",
            Self::Mimalloc => "mimalloc",
        }
    }
}

/// An allocator and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedAllocator {
    /// Which.
    pub allocator: Allocator,
    /// Its library; for [`Allocator::LibcOrLinkedIn`] the C library, absent in a static executable.
    pub library: Option<PathBuf>,
}

/// The allocator libraries that are mapped, in the order of addresses. More than one is possible (a plugin may bring
/// its own); the maps do not tell which of them serves `malloc`.
pub fn allocators(bytes: &[u8]) -> Vec<MappedAllocator> {
    let mut found: Vec<MappedAllocator> = Vec::new();
    let mut libc = None;
    for mapping in mappings(bytes).filter(Mapping::is_executable) {
        let Some(file) = mapping.file() else { continue };
        let name = file.file_name().unwrap_or_default().as_bytes();
        if is_libc(name) {
            libc.get_or_insert_with(|| file.to_owned());
        }
        let library = Some(file.to_owned());
        if let Some(allocator) = by_library(name)
            && !found.iter().any(|known| known.library == library)
        {
            found.push(MappedAllocator { allocator, library });
        }
    }
    if found.is_empty() {
        found.push(MappedAllocator {
            allocator: Allocator::LibcOrLinkedIn,
            library: libc,
        });
    }
    found
}

/// The allocator that a library brings, by its file's name.
pub fn of_library(path: &Path) -> Option<Allocator> {
    by_library(path.file_name()?.as_bytes())
}

fn by_library(name: &[u8]) -> Option<Allocator> {
    if name.starts_with(b"libjemalloc") {
        Some(Allocator::Jemalloc)
    } else if name.starts_with(b"libtcmalloc") {
        Some(Allocator::Tcmalloc)
    } else if name.starts_with(b"libmimalloc") {
        Some(Allocator::Mimalloc)
    } else {
        None
    }
}

fn is_libc(name: &[u8]) -> bool {
    // glibc today, glibc before 2.34 (`libc-2.31.so`), musl.
    name.starts_with(b"libc.so") || name.starts_with(b"libc-2.") || name.starts_with(b"ld-musl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_line() {
        let all: Vec<_> = mappings(
            b"562ff49c1000-562ff49c7000 r-xp 00002000 fe:00 247278                     /opt/my sql/mysqld (deleted)\n\
              7ffd0000-7ffd1000 rw-p 00000000 00:00 0 \n\
              7ffe0000-7ffe1000 rw-p 00000000 00:00 0                          [stack]\n",
        )
        .collect();
        assert_eq!(
            (all[0].start, all[0].end),
            (0x562f_f49c_1000, 0x562f_f49c_7000)
        );
        assert_eq!((all[0].offset, all[0].inode), (0x2000, 247_278));
        assert_eq!(all[0].device, (0xfe, 0));
        assert!(all[0].is_executable());
        assert_eq!(all[0].file(), Some(Path::new("/opt/my sql/mysqld")));
        assert_eq!((all[1].path, all[1].file()), (&b""[..], None));
        assert_eq!((all[2].path, all[2].file()), (&b"[stack]"[..], None));
    }

    #[test]
    fn allocator_by_library() {
        let maps = |library: &str| {
            format!(
                "1000-2000 r--p 00000000 fe:00 1 {library}\n2000-3000 r-xp 00001000 fe:00 1 {library}\n\
                 3000-4000 r-xp 00000000 fe:00 2 /lib/x86_64-linux-gnu/libc.so.6\n"
            )
        };
        for (library, allocator) in [
            ("/usr/lib/libjemalloc.so.2", Allocator::Jemalloc),
            ("/usr/lib/libtcmalloc_minimal.so.4", Allocator::Tcmalloc),
            ("/usr/lib/libmimalloc.so.2.0", Allocator::Mimalloc),
        ] {
            let found = allocators(maps(library).as_bytes());
            assert_eq!(
                found,
                [MappedAllocator {
                    allocator,
                    library: Some(library.into())
                }]
            );
        }
        let found = allocators(maps("/usr/sbin/mysqld").as_bytes());
        assert_eq!(found[0].allocator.label(), "libc or linked in");
        assert_eq!(
            found[0].library.as_deref(),
            Some(Path::new("/lib/x86_64-linux-gnu/libc.so.6"))
        );
    }

    #[test]
    fn a_static_executable_has_no_library() {
        let found = allocators(b"400000-500000 r-xp 00000000 fe:00 1 /usr/sbin/mysqld\n");
        assert_eq!(
            found,
            [MappedAllocator {
                allocator: Allocator::LibcOrLinkedIn,
                library: None
            }]
        );
    }
}
