//! Waits for locks of the kernel, with names.

use kernel::lock_waits::{
    KERNEL_LOCK_MUTEX, KERNEL_LOCK_PERCPU, KERNEL_LOCK_READ, KERNEL_LOCK_RT, KERNEL_LOCK_SPIN,
    KERNEL_LOCK_WRITE, KernelWaits,
};
use model::KernelLockRow;

use crate::names::Namer;

/// Rows of a table; the least are put together in the last one.
const ROWS_MAX: usize = 40;

/// Functions of a path.
const PATH_FRAMES: usize = 6;

/// The innermost functions of a stack that are the lock's own or the tracing's: who asked for the
/// lock is behind them. Beginnings of names (kernel/locking).
const LOCK_FUNCTIONS: [&str; 24] = [
    "__bpf_trace_",
    "bpf_",
    "__traceiter_contention",
    "trace_contention",
    "rwsem_down_",
    "down_read",
    "down_write",
    "__down_read",
    "__down_write",
    "__mutex_lock",
    "mutex_lock",
    "queued_spin_lock_slowpath",
    "native_queued_spin_lock_slowpath",
    "__pv_queued_spin_lock_slowpath",
    "queued_read_lock_slowpath",
    "queued_write_lock_slowpath",
    "_raw_spin_lock",
    "_raw_read_lock",
    "_raw_write_lock",
    "do_raw_spin_lock",
    "percpu_down_read",
    "percpu_rwsem_wait",
    "__percpu_down_read",
    "percpu_down_write",
];

/// Rows of a lock table, most time first: the waits of one lock kind and call path together.
pub fn kernel_lock_rows(waits: &[KernelWaits], namer: &mut Namer) -> Vec<KernelLockRow> {
    let mut rows: Vec<KernelLockRow> = Vec::new();
    for wait in waits {
        let row = KernelLockRow {
            name: name(wait).to_owned(),
            path: path(wait, namer),
            waits: wait.waits,
            total_us: wait.total.as_secs_f64() * 1e6,
            max_us: wait.max.as_secs_f64() * 1e6,
            server_waits: wait.server_waits,
        };
        match rows
            .iter_mut()
            .find(|known| known.name == row.name && known.path == row.path)
        {
            Some(known) => add(known, &row),
            None => rows.push(row),
        }
    }
    rows.sort_by(|a, b| b.total_us.total_cmp(&a.total_us));
    let rest = rows.split_off(rows.len().min(ROWS_MAX));
    if let Some(first) = rest.first() {
        let mut others = KernelLockRow {
            name: format!("{} more", rest.len()),
            path: Vec::new(),
            ..first.clone()
        };
        rest.iter().skip(1).for_each(|row| add(&mut others, row));
        rows.push(others);
    }
    rows
}

fn add(row: &mut KernelLockRow, other: &KernelLockRow) {
    row.waits += other.waits;
    row.total_us += other.total_us;
    row.max_us = row.max_us.max(other.max_us);
    row.server_waits += other.server_waits;
}

fn name(wait: &KernelWaits) -> &'static str {
    let has = |flag| wait.flags & flag != 0;
    match () {
        () if wait.is_mmap_lock && has(KERNEL_LOCK_WRITE) => "mmap_lock, to write",
        () if wait.is_mmap_lock => "mmap_lock, to read",
        () if has(KERNEL_LOCK_MUTEX) => "mutex",
        () if has(KERNEL_LOCK_PERCPU) => "per-CPU rw semaphore",
        () if has(KERNEL_LOCK_RT) => "rt mutex",
        () if has(KERNEL_LOCK_SPIN) && has(KERNEL_LOCK_READ) => "rw spinlock, to read",
        () if has(KERNEL_LOCK_SPIN) && has(KERNEL_LOCK_WRITE) => "rw spinlock, to write",
        () if has(KERNEL_LOCK_SPIN) => "spinlock",
        () if has(KERNEL_LOCK_READ) => "rw semaphore, to read",
        () if has(KERNEL_LOCK_WRITE) => "rw semaphore, to write",
        () => "semaphore",
    }
}

fn path(wait: &KernelWaits, namer: &mut Namer) -> Vec<String> {
    let names: Vec<String> = wait
        .stack
        .iter()
        .map(|address| namer.kernel(*address).name.clone())
        .collect();
    let own = |name: &String| LOCK_FUNCTIONS.iter().any(|own| name.starts_with(own));
    let first = names.iter().rposition(own).map_or(0, |last| last + 1);
    let first = if first < names.len() { first } else { 0 };
    names.into_iter().skip(first).take(PATH_FRAMES).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::images::Images;

    fn wait(flags: u32, is_mmap_lock: bool, waits: u64, us: u64) -> KernelWaits {
        KernelWaits {
            stack: Vec::new(),
            flags,
            is_mmap_lock,
            waits,
            total: Duration::from_micros(us),
            max: Duration::from_micros(us),
            server_waits: waits,
        }
    }

    #[test]
    fn waits_of_one_kind_and_path_are_one_row_and_the_most_time_is_first() {
        let waits = [
            wait(KERNEL_LOCK_MUTEX, false, 1, 10),
            wait(KERNEL_LOCK_WRITE, true, 2, 500),
            wait(KERNEL_LOCK_MUTEX | KERNEL_LOCK_SPIN, false, 3, 20),
        ];
        let rows = kernel_lock_rows(&waits, &mut Namer::new(&Images::new()));
        let seen: Vec<(&str, u64, f64, f64)> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.waits, row.total_us, row.max_us))
            .collect();
        assert_eq!(
            seen,
            [
                ("mmap_lock, to write", 2, 500.0, 500.0),
                ("mutex", 4, 30.0, 20.0)
            ]
        );
    }
}
