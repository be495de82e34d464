//! From the kernel's tables to the rows of the result. Pure.

use std::time::Duration;

use super::wire::{
    HISTOGRAM_BUCKETS, KernelPathBytes, KernelRowWords, KernelWaitBytes, MMAP_LOCK, RowBytes,
    WaitBytes, bucket_of, u32_at, u64_at,
};
use super::{AddressWaits, KernelWaits};

/// A thread's wait as it stood at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenWait {
    pub tid: u32,
    pub since: u64,
    pub address: u64,
    pub operation: u32,
}

/// The wait of a thread; `None` when it does not wait.
pub(super) fn open_wait(tid: u32, bytes: &WaitBytes) -> Option<OpenWait> {
    let since = u64_at(bytes, 0);
    (since != 0).then(|| OpenWait {
        tid,
        since,
        address: u64_at(bytes, 8),
        operation: u32_at(bytes, 24),
    })
}

/// The row of an address as the kernel counted it: waits that are over.
pub(super) fn address_row(address: u64, bytes: &RowBytes) -> AddressWaits {
    let mut histogram = [0; HISTOGRAM_BUCKETS];
    for (bucket, count) in histogram.iter_mut().enumerate() {
        *count = u32_at(bytes, 56 + bucket * 4);
    }
    AddressWaits {
        address,
        operation: u32::try_from(u64_at(bytes, 0)).unwrap_or(u32::MAX),
        waits: u64_at(bytes, 8),
        total: Duration::from_nanos(u64_at(bytes, 16)),
        max: Duration::from_nanos(u64_at(bytes, 24)),
        still_waiting: 0,
        waiters_max: u64_at(bytes, 40),
        histogram,
    }
}

/// Adds the waits that are not over at `end` to the rows, those without one to the row of address
/// 0, and puts the rows with the most time first. Rows without a wait go.
pub(super) fn finish_addresses(
    mut rows: Vec<AddressWaits>,
    overflow: AddressWaits,
    open: &[OpenWait],
    end: u64,
) -> Vec<AddressWaits> {
    rows.push(overflow);
    rows.sort_by_key(|r| r.address);
    for wait in open {
        let at = rows
            .binary_search_by_key(&wait.address, |r| r.address)
            .unwrap_or(0);
        let Some(row) = rows.get_mut(at) else {
            continue;
        };
        let age = end.saturating_sub(wait.since);
        row.operation = wait.operation;
        row.waits += 1;
        row.still_waiting += 1;
        row.total += Duration::from_nanos(age);
        row.max = row.max.max(Duration::from_nanos(age));
        row.histogram[bucket_of(age)] += 1;
    }
    rows.retain(|r| r.waits > 0);
    rows.sort_by_key(|r| (std::cmp::Reverse(r.total), r.address));
    rows
}

/// A place in the kernel: number of its stack, negative without one, and flags.
pub(super) type KernelPath = (i32, u32);

pub(super) fn kernel_path(bytes: &KernelPathBytes) -> KernelPath {
    (u32_at(bytes, 0).cast_signed(), u32_at(bytes, 4))
}

/// A wait for a lock of the kernel that is not over.
pub(super) struct OpenKernelWait {
    pub path: KernelPath,
    pub since: u64,
    pub ours: bool,
}

pub(super) fn open_kernel_wait(bytes: &KernelWaitBytes) -> OpenKernelWait {
    OpenKernelWait {
        since: u64_at(bytes, 0),
        path: (u32_at(bytes, 16).cast_signed(), u32_at(bytes, 20)),
        ours: u64_at(bytes, 24) != 0,
    }
}

/// The rows of the kernel's locks, most time first. Places whose stacks are equal are one row, and
/// so are those that have none.
pub(super) fn kernel_rows(
    counted: &[(KernelPath, KernelRowWords)],
    overflow: &KernelRowWords,
    open: &[OpenKernelWait],
    end: u64,
    mut stack_of: impl FnMut(i32) -> Vec<u64>,
) -> Vec<KernelWaits> {
    let mut rows: std::collections::HashMap<(Vec<u64>, u32), KernelWaits> =
        std::collections::HashMap::new();
    let mut add = |path: KernelPath, counts: &KernelRowWords| {
        let stack = stack_of(path.0);
        let row = rows
            .entry((stack.clone(), path.1))
            .or_insert_with(|| KernelWaits {
                stack,
                flags: path.1 & !MMAP_LOCK,
                is_mmap_lock: path.1 & MMAP_LOCK != 0,
                waits: 0,
                total: Duration::ZERO,
                max: Duration::ZERO,
                server_waits: 0,
            });
        row.waits += counts[0];
        row.total += Duration::from_nanos(counts[1]);
        row.max = row.max.max(Duration::from_nanos(counts[2]));
        row.server_waits += counts[3];
    };
    for (path, counts) in counted {
        add(*path, counts);
    }
    for wait in open {
        let age = end.saturating_sub(wait.since);
        add(wait.path, &[1, age, age, u64::from(wait.ours)]);
    }
    add((-1, 0), overflow);
    let mut rows: Vec<KernelWaits> = rows.into_values().filter(|r| r.waits > 0).collect();
    rows.sort_by(|a, b| {
        b.total
            .cmp(&a.total)
            .then_with(|| a.stack.cmp(&b.stack))
            .then_with(|| a.flags.cmp(&b.flags))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(address: u64, waits: u64, total_ns: u64) -> AddressWaits {
        AddressWaits {
            address,
            operation: 0,
            waits,
            total: Duration::from_nanos(total_ns),
            max: Duration::from_nanos(total_ns),
            still_waiting: 0,
            waiters_max: 1,
            histogram: [0; HISTOGRAM_BUCKETS],
        }
    }

    #[test]
    fn waits_that_are_not_over_count_with_their_age() {
        let open = [
            OpenWait {
                tid: 1,
                since: 4_000,
                address: 0x10,
                operation: 0x80,
            },
            OpenWait {
                tid: 2,
                since: 9_000,
                address: 0x30,
                operation: 0,
            },
        ];
        let rows = vec![row(0x20, 1, 500), row(0x10, 2, 100), row(0x40, 0, 0)];
        let rows = finish_addresses(rows, row(0, 0, 0), &open, 10_000);
        let short: Vec<_> = rows
            .iter()
            .map(|r| (r.address, r.waits, r.still_waiting, r.total.as_nanos()))
            .collect();
        assert_eq!(
            short,
            [(0x10, 3, 1, 6_100), (0, 1, 1, 1_000), (0x20, 1, 0, 500)],
            "0x30 found no room in the table, 0x40 had no wait"
        );
        assert_eq!(rows[0].max.as_nanos(), 6_000);
        assert_eq!(rows[0].operation, 0x80);
        assert_eq!(rows[0].histogram.iter().sum::<u32>(), 1);
    }

    #[test]
    fn kernel_rows_with_one_stack_are_one_and_its_flags_keep_them_apart() {
        let counted = [
            ((5, 4 | MMAP_LOCK), [2, 100, 80, 1]),
            ((6, 4 | MMAP_LOCK), [1, 50, 50, 0]),
            ((6, 2), [7, 10, 5, 7]),
        ];
        let open = [OpenKernelWait {
            path: (5, 4 | MMAP_LOCK),
            since: 900,
            ours: true,
        }];
        let rows = kernel_rows(&counted, &[0; 4], &open, 1_000, |_| vec![1, 2]);
        assert_eq!(rows.len(), 2);
        assert!(rows[0].is_mmap_lock);
        assert_eq!((rows[0].waits, rows[0].server_waits), (4, 2));
        assert_eq!(rows[0].total.as_nanos(), 250);
        assert_eq!(rows[0].max.as_nanos(), 100);
        assert_eq!((rows[1].flags, rows[1].waits), (2, 7));
        assert!(!rows[1].is_mmap_lock);
    }
}
