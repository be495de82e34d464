//! `/proc/vmstat`: the memory manager's counters, one `name value` a line (mm/vmstat.c, `vmstat_show`).
//! Which names exist depends on the kernel's version and configuration. A cgroup's `memory.stat` has the same form.

use super::text::{lines, name_and_number};
use crate::read::{self, ReadError};
use crate::roots::ProcRoot;

const VMSTAT_BYTES_MAX: usize = 256 << 10;

/// Every counter in the file's order. `nr_*` are pages now, most others events since boot.
pub fn pairs(bytes: &[u8]) -> impl Iterator<Item = (&str, u64)> {
    lines(bytes).filter_map(name_and_number)
}

/// The bytes of `/proc/vmstat`, for [`pairs`].
pub fn read(proc: &ProcRoot) -> Result<Vec<u8>, ReadError> {
    read::whole(&proc.file("vmstat"), VMSTAT_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compaction_counters() {
        let bytes = include_bytes!("../../tests/fixtures/vmstat-6.18");
        let value = |name| pairs(bytes).find(|p| p.0 == name).map(|p| p.1);
        assert_eq!(value("compact_stall"), Some(417));
        assert_eq!(value("nr_free_pages"), Some(5_864_834));
        assert_eq!(value("absent"), None);
    }

    #[test]
    fn unknown_lines_are_passed_over() {
        let found: Vec<_> = pairs(b"a 1\n\nb\nc -2\n\xff 3\nd 18446744073709551615").collect();
        assert_eq!(found, [("a", 1), ("d", u64::MAX)]);
    }
}
