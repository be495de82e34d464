//! `/proc/PID/limits` (fs/proc/base.c, `proc_pid_limits`; proc_pid_limits(5)). Readable without privilege.

use std::path::Path;

use super::text::lines;
use crate::read::{self, ReadError};

/// About 1.4 KiB: sixteen lines of fixed width.
const LIMITS_BYTES_MAX: usize = 16 * 1024;

/// The soft limit named `name` (`Max open files`) as the kernel writes it: a number or `unlimited`.
pub fn soft<'a>(bytes: &'a [u8], name: &str) -> Option<&'a str> {
    lines(bytes)
        .filter_map(|line| str::from_utf8(line).ok())
        .find_map(|line| line.strip_prefix(name)?.split_whitespace().next())
}

/// Reads a `limits` file.
pub fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    read::whole(path, LIMITS_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_limits() {
        let text =
            b"Limit                     Soft Limit           Hard Limit           Units     \n\
            Max core file size        0                    unlimited            bytes     \n\
            Max open files            32184                524288               files     \n";
        assert_eq!(soft(text, "Max open files"), Some("32184"));
        assert_eq!(soft(text, "Max core file size"), Some("0"));
        assert_eq!(soft(text, "Max msgqueue size"), None);
        assert_eq!(soft(b"Max open files", "Max open files"), None);
    }
}
