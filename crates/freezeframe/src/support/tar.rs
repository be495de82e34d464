//! A tar archive of small files (POSIX.1-1988, ustar).

/// Size of a block.
const BLOCK: usize = 512;

/// Longest name that the header's first field has room for.
const NAME_BYTES_MAX: usize = 100;

/// An archive while it is made.
#[derive(Debug, Default)]
pub(super) struct Tar(Vec<u8>);

impl Tar {
    /// Adds a file that its owner alone may read. A longer name is cut: ours are short.
    pub(super) fn add(&mut self, name: &str, bytes: &[u8], modified_s: u64) {
        let mut head = [0_u8; BLOCK];
        let name = name.as_bytes();
        put(&mut head, 0, name.get(..NAME_BYTES_MAX).unwrap_or(name));
        put(&mut head, 100, b"0000600\0");
        put(&mut head, 108, b"0000000\0");
        put(&mut head, 116, b"0000000\0");
        put(&mut head, 124, format!("{:011o}\0", bytes.len()).as_bytes());
        put(&mut head, 136, format!("{modified_s:011o}\0").as_bytes());
        // The sum is made with blanks in its own place.
        put(&mut head, 148, b"        ");
        put(&mut head, 156, b"0");
        put(&mut head, 257, b"ustar\x0000");
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        put(&mut head, 148, format!("{sum:06o}\0 ").as_bytes());
        self.0.extend(head);
        self.0.extend(bytes);
        let rest = bytes.len().next_multiple_of(BLOCK) - bytes.len();
        self.0.resize(self.0.len() + rest, 0);
    }

    /// The whole archive, with the two empty blocks that end it.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 2 * BLOCK, 0);
        self.0
    }
}

fn put(head: &mut [u8; BLOCK], at: usize, bytes: &[u8]) {
    for (to, from) in head.iter_mut().skip(at).zip(bytes) {
        *to = *from;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn tar_unpacks_what_was_packed() {
        let mut tar = Tar::default();
        tar.add("a/b.txt", b"hello", 1_790_000_000);
        tar.add("c", &[7; 1024], 1_790_000_000);
        tar.add("empty", b"", 0);
        let bytes = tar.finish();
        assert_eq!(bytes.len() % BLOCK, 0);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tar");
        std::fs::write(&path, &bytes).unwrap();
        let unpacked = Command::new("tar")
            .args(["-xf", "x.tar"])
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert!(unpacked.status.success(), "{unpacked:?}");
        assert!(unpacked.stderr.is_empty(), "{unpacked:?}");
        let read = |name: &str| std::fs::read(dir.path().join(name)).unwrap();
        assert_eq!(read("a/b.txt"), b"hello");
        assert_eq!(read("c"), [7; 1024]);
        assert_eq!(read("empty"), b"");
    }
}
