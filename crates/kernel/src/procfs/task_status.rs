//! `/proc/PID/status` and `/proc/PID/task/TID/status` (fs/proc/array.c, `proc_pid_status`, and fs/proc/task_mmu.c,
//! `task_mem`; proc_pid_status(5)). Readable without privilege; does not wait for the process's `mmap_lock`.

use super::text::{fields, lines, named, number};
use crate::read::{self, ReadError};
use std::path::Path;

/// About 1.5 KiB; the `Groups` line may hold 65,536 numbers (include/uapi/linux/limits.h, `NGROUPS_MAX`).
const STATUS_BYTES_MAX: usize = 1 << 20;

/// The lines of `status` that matter for a database server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskStatus {
    /// Real user id.
    pub uid: Option<u32>,
    /// Effective user id.
    pub effective_uid: Option<u32>,
    /// Threads of the process.
    pub threads: Option<u32>,
    /// Resident memory in KiB.
    pub vm_rss_kib: Option<u64>,
    /// Swapped-out private memory in KiB.
    pub vm_swap_kib: Option<u64>,
    /// False when the process gave up transparent huge pages for itself (`prctl(PR_SET_THP_DISABLE)`); kernel 5.0.
    pub thp_enabled: Option<bool>,
    /// Times this one thread gave up the CPU to wait.
    pub voluntary_switches: Option<u64>,
    /// Times this one thread was taken off the CPU.
    pub involuntary_switches: Option<u64>,
}

/// Parses a `status` file.
pub fn parse(bytes: &[u8]) -> TaskStatus {
    let mut status = TaskStatus::default();
    for (name, rest) in lines(bytes).filter_map(named) {
        let mut rest = fields(rest);
        let mut next = || rest.next().and_then(number::<u64>);
        match name {
            "Uid" => {
                status.uid = next().and_then(|uid| uid.try_into().ok());
                status.effective_uid = next().and_then(|uid| uid.try_into().ok());
            }
            "Threads" => status.threads = next().and_then(|n| n.try_into().ok()),
            "VmRSS" => status.vm_rss_kib = next(),
            "VmSwap" => status.vm_swap_kib = next(),
            "THP_enabled" => status.thp_enabled = next().map(|on| on != 0),
            "voluntary_ctxt_switches" => status.voluntary_switches = next(),
            "nonvoluntary_ctxt_switches" => status.involuntary_switches = next(),
            _ => {}
        }
    }
    status
}

/// Reads a `status` file.
pub fn read(path: &Path) -> Result<TaskStatus, ReadError> {
    Ok(parse(&read::whole(path, STATUS_BYTES_MAX)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mariadb_10_11_gives_up_huge_pages() {
        let status = parse(include_bytes!("../../tests/fixtures/status-mariadb-10.11"));
        assert_eq!(
            (status.uid, status.effective_uid),
            (Some(65_534), Some(65_534))
        );
        assert_eq!(status.thp_enabled, Some(false));
        assert_eq!(status.threads, Some(12));
        assert_eq!(
            (status.vm_rss_kib, status.vm_swap_kib),
            (Some(99_980), Some(0))
        );
        assert_eq!(
            (status.voluntary_switches, status.involuntary_switches),
            (Some(184), Some(8))
        );
    }

    #[test]
    fn kernel_thread_of_kernel_4_18() {
        let status = parse(
            b"Name:\tkdamond: x\nUid:\t0\t0\t0\t0\nThreads:\t1\nvoluntary_ctxt_switches:\tx\n",
        );
        assert_eq!((status.uid, status.threads), (Some(0), Some(1)));
        assert_eq!((status.vm_rss_kib, status.thp_enabled), (None, None));
        assert_eq!(status.voluntary_switches, None);
    }
}
