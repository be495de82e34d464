//! How many NUMA nodes with memory the host has: with one there is nothing to interleave.

use std::path::Path;

use super::root::Root;

/// Lists of nodes, as in `0-1,3`: those with memory; before Linux 3.8 only those that are there.
const LISTS: [&str; 2] = [
    "/sys/devices/system/node/has_memory",
    "/sys/devices/system/node/online",
];

const BYTES_MAX: usize = 4096;

/// Their number, where the kernel tells it.
pub(super) fn count(root: &Root) -> Option<u64> {
    LISTS.iter().find_map(|list| {
        let bytes = kernel::read::head(&root.here(Path::new(list)), BYTES_MAX).ok()?;
        count_of(std::str::from_utf8(&bytes).ok()?)
    })
}

fn count_of(list: &str) -> Option<u64> {
    let mut count: u64 = 0;
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_counted() {
        for (list, count) in [
            ("0\n", Some(1)),
            ("0-1\n", Some(2)),
            ("0-1,3,8-9\n", Some(5)),
            ("\n", None),
            ("1-0\n", None),
            ("0-18446744073709551615\n", None),
        ] {
            assert_eq!(count_of(list), count, "{list:?}");
        }
    }
}
