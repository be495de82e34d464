//! Which memory allocator a process runs with, by what is mapped into it.

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

const BYTES_MAX: usize = 4 << 20;

/// Reading a process's map waits for its mmap_lock, which a stalled server may hold for long.
const PATIENCE: Duration = Duration::from_secs(1);

/// Libraries that are put before the C library's allocator, by the begin of their file names.
const ALLOCATORS: [&str; 3] = ["libjemalloc", "libtcmalloc", "libmimalloc"];

/// C libraries, by the begin of the file names of their own.
const C_LIBRARIES: [(&str, &str); 4] = [
    ("libc.so.6", "glibc"),
    // glibc before 2.34.
    ("libc-2.", "glibc"),
    ("ld-musl", "musl"),
    ("libc.musl", "musl"),
];

/// What a map tells; nothing where it could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MappedAllocators {
    /// The file name of an allocator.
    pub(super) allocator: Option<String>,
    /// The C library.
    pub(super) c_library: Option<String>,
}

/// Reads `/proc/PID/maps`.
pub(super) fn read(maps: &Path) -> MappedAllocators {
    let maps = maps.to_owned();
    let (sender, answer) = channel();
    let reader = kernel::own_threads::start("ff-maps", move || {
        let _ = sender.send(kernel::read::head(&maps, BYTES_MAX).unwrap_or_default());
    });
    match (reader, answer.recv_timeout(PATIENCE)) {
        (Ok(_), Ok(text)) => from_map_text(&String::from_utf8_lossy(&text)),
        _ => MappedAllocators::default(),
    }
}

fn from_map_text(text: &str) -> MappedAllocators {
    let names = || text.lines().filter_map(|line| line.rsplit('/').next());
    let c_library = names().find_map(|name| {
        let mut known = C_LIBRARIES.iter();
        known.find_map(|(begin, library)| name.starts_with(begin).then_some(*library))
    });
    MappedAllocators {
        allocator: names()
            .find(|name| ALLOCATORS.iter().any(|begin| name.starts_with(begin)))
            .map(str::to_owned),
        c_library: c_library.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_their_names() {
        let of = |name: &str| {
            from_map_text(&format!(
                "7f00-7f01 r-xp 00000000 08:01 1 /usr/lib/{name}\n"
            ))
        };
        assert_eq!(of("libc.so.6").c_library.as_deref(), Some("glibc"));
        assert_eq!(of("libc-2.31.so").c_library.as_deref(), Some("glibc"));
        assert_eq!(of("ld-musl-x86_64.so.1").c_library.as_deref(), Some("musl"));
        assert_eq!(of("libcrypt.so.1"), MappedAllocators::default());
        let name = "libjemalloc.so.2";
        assert_eq!(of(name).allocator.as_deref(), Some(name));
        assert_eq!(from_map_text(""), MappedAllocators::default());
    }
}
