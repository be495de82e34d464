//! Waits for locks of the kernel, with names.
//!
//! The kernel tells the kind of a lock and who asks for it, not its name: the function that asks
//! gives the name, where only one lock is asked for there. Waits that spin are put together by name,
//! since the many places that ask for the lock of a run queue say nothing; those that sleep keep
//! their call paths.

use kernel::lock_waits::{
    KERNEL_LOCK_MUTEX, KERNEL_LOCK_PERCPU, KERNEL_LOCK_READ, KERNEL_LOCK_RT, KERNEL_LOCK_SPIN,
    KERNEL_LOCK_WRITE, KernelWaits,
};
use model::{KernelLockRow, OrderBy};

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

/// A lock and the functions that ask for it; `*` at the end of a name is any rest.
struct Known {
    /// What it is, before "to read" and the like.
    name: &'static str,
    /// Of these kinds of locks only.
    kind: Kind,
    /// Functions with `|` between them.
    asked_by: &'static str,
    /// How far out the function may be: its place among those that asked.
    within: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mmap,
    Spin,
    Mutex,
    ReadWrite,
    Other,
}

/// From the kernel's source, 5.14 to 6.18.
static KNOWN: &[Known] = &[
    // kernel/sched/core.c: __schedule and try_to_wake_up take `rq->__lock`, and `p->pi_lock`.
    Known {
        name: "run queue spinlock",
        kind: Kind::Spin,
        asked_by: "__schedule|try_to_wake_up|task_rq_lock|__task_rq_lock|raw_spin_rq_lock*|_raw_spin_rq_lock*|sched_*|\
            update_blocked_averages|wake_up_new_task|ttwu_*|__set_cpus_allowed_ptr|rq_pin_lock|yield_task*|do_sched_yield|\
            pick_next_task*|sched_balance_*|newidle_balance|scheduler_tick|update_cfs_group|distribute_cfs_runtime",
        within: 2,
    },
    Known {
        name: "futex hash bucket spinlock",
        kind: Kind::Spin,
        asked_by: "futex_*|__futex_*|do_futex",
        within: 1,
    },
    Known {
        name: "LRU list spinlock",
        kind: Kind::Spin,
        asked_by: "folio_lruvec_lock*|lock_page_lruvec*|lruvec_*|shrink_*list*|isolate_lru_*|move_folios_to_lru|folio_batch_move_lru",
        within: 1,
    },
    Known {
        name: "page allocator spinlock (zone)",
        kind: Kind::Spin,
        asked_by: "rmqueue*|free_pcppages_bulk|free_one_page|__rmqueue*|get_page_from_freelist|free_unref_*|compact_zone|\
            isolate_freepages*|isolate_migratepages*",
        within: 1,
    },
    Known {
        name: "slab spinlock",
        kind: Kind::Spin,
        asked_by: "get_partial_node*|__slab_free|___slab_alloc|deactivate_slab|__unfreeze_partials|put_cpu_partial",
        within: 1,
    },
    Known {
        name: "page table spinlock",
        kind: Kind::Spin,
        asked_by: "__pte_offset_map_lock|pte_offset_map_lock|__pmd_*|do_anonymous_page|do_huge_pmd_*|zap_pte_range|wp_page_copy|\
            finish_fault|change_pte_range|__split_huge_pmd*|page_vma_mapped_walk",
        within: 1,
    },
    Known {
        name: "page cache spinlock (i_pages)",
        kind: Kind::Spin,
        asked_by: "__filemap_add_folio|filemap_add_folio|__filemap_remove*|folio_mark_dirty|__folio_mark_dirty|\
            __folio_start_writeback|__folio_end_writeback|folio_end_writeback|folio_clear_dirty*|__remove_mapping|delete_from_page_cache*",
        within: 1,
    },
    Known {
        name: "wait queue spinlock",
        kind: Kind::Spin,
        asked_by: "__wake_up*|prepare_to_wait*|prepare_to_swait*|finish_wait|finish_swait|add_wait_queue*|remove_wait_queue|\
            swake_up*|folio_wake_bit|folio_wait_bit*|ep_poll_callback|ep_poll|complete|complete_all|wait_for_completion*",
        within: 1,
    },
    Known {
        name: "timer spinlock",
        kind: Kind::Spin,
        asked_by: "hrtimer_*|__hrtimer_*|lock_hrtimer_base*|lock_timer_base|__mod_timer|timer_delete*|run_timer_softirq|__run_timers",
        within: 1,
    },
    Known {
        name: "socket spinlock",
        kind: Kind::Spin,
        asked_by: "unix_*|sock_*|__sock_*|skb_*|tcp_*|lock_sock*|release_sock|__lock_sock*",
        within: 1,
    },
    Known {
        name: "block device queue spinlock",
        kind: Kind::Spin,
        asked_by: "blk_*|__blk_*|dd_*|bfq_*|blk_mq_*|virtio_queue_rq|virtblk_*|nvme_*|scsi_*",
        within: 1,
    },
    Known {
        name: "jbd2 journal lock",
        kind: Kind::ReadWrite,
        asked_by: "jbd2_*|start_this_handle|add_transaction_credits|stop_this_handle|wait_transaction_*",
        within: 2,
    },
    Known {
        name: "jbd2 spinlock",
        kind: Kind::Spin,
        asked_by: "jbd2_*|start_this_handle|stop_this_handle|do_get_write_access|__jbd2_*",
        within: 1,
    },
    Known {
        name: "jbd2 checkpoint mutex",
        kind: Kind::Mutex,
        asked_by: "jbd2_*|__jbd2_*",
        within: 1,
    },
    // fs/ext4/file.c, fs/xfs/xfs_inode.c, fs/namei.c: inode_lock() is i_rwsem.
    Known {
        name: "inode rw semaphore (i_rwsem)",
        kind: Kind::ReadWrite,
        asked_by: "ext4_file_*|ext4_buffered_write_iter|ext4_dio_*|ext4_dax_*|ext4_fallocate|ext4_punch_hole|ext4_sync_file|\
            xfs_ilock*|xfs_file_*|btrfs_inode_lock|btrfs_file_*|btrfs_direct_write|generic_file_write_iter|open_last_lookups|path_openat|do_unlinkat|\
            lock_rename*|filename_create|do_truncate|vfs_fallocate|iterate_dir|lookup_slow|walk_component|lock_two_nondirectories|chown_common|\
            chmod_common|vfs_*|f2fs_file_*",
        within: 1,
    },
    Known {
        name: "ext4 block map rw semaphore (i_data_sem)",
        kind: Kind::ReadWrite,
        asked_by: "ext4_*",
        within: 1,
    },
    Known {
        name: "anon_vma or file mapping rw semaphore",
        kind: Kind::ReadWrite,
        asked_by: "anon_vma_*|unlink_anon_vmas|folio_lock_anon_vma_read|rmap_walk_*|vma_prepare|__vma_adjust|vma_link*|unlink_file_vma*|\
            dup_mmap|unmap_mapping_*",
        within: 1,
    },
    Known {
        name: "superblock rw semaphore",
        kind: Kind::ReadWrite,
        asked_by: "super_lock*|grab_super*|iterate_supers*|thaw_super*|freeze_super|sb_start_*|__sb_start_*",
        within: 2,
    },
    Known {
        name: "pipe mutex",
        kind: Kind::Mutex,
        asked_by: "pipe_*|anon_pipe_*|fifo_open",
        within: 1,
    },
    Known {
        name: "socket mutex",
        kind: Kind::Mutex,
        asked_by: "unix_*|sock_*|__sock_*",
        within: 1,
    },
    Known {
        name: "file position mutex (f_pos)",
        kind: Kind::Mutex,
        asked_by: "__fdget_pos|fdget_pos",
        within: 1,
    },
    Known {
        name: "epoll mutex",
        kind: Kind::Mutex,
        asked_by: "ep_*|do_epoll_*|__x64_sys_epoll_*",
        within: 1,
    },
];

/// Rows of a lock table, most time first: waits that spin by name, the others by name and call path.
/// A row of waits that spin has the call path with most of its time.
pub fn kernel_lock_rows(waits: &[KernelWaits], namer: &mut Namer) -> Vec<KernelLockRow> {
    let named = waits.iter().map(|wait| (wait, path(wait, namer))).collect();
    rows_of(named)
}

fn rows_of(mut waits: Vec<(&KernelWaits, Vec<String>)>) -> Vec<KernelLockRow> {
    // Most time first, so that the first call path of a row is the one with most time.
    waits.order_by_key(|(wait, _)| std::cmp::Reverse(wait.total));
    let mut rows: Vec<KernelLockRow> = Vec::new();
    for (wait, path) in waits {
        let kind = kind(wait);
        let row = KernelLockRow {
            name: name(wait, kind, &path),
            waits: wait.waits,
            total_us: wait.total.as_secs_f64() * 1e6,
            max_us: wait.max.as_secs_f64() * 1e6,
            server_waits: wait.server_waits,
            path,
        };
        match rows
            .iter_mut()
            .find(|known| known.name == row.name && (kind == Kind::Spin || known.path == row.path))
        {
            Some(known) => add(known, row),
            None => rows.push(row),
        }
    }
    rows.order_by(|a, b| b.total_us.total_cmp(&a.total_us));
    let rest = rows.split_off(rows.len().min(ROWS_MAX));
    if let Some(first) = rest.first() {
        let mut others = KernelLockRow {
            name: format!("{} more", rest.len()),
            path: Vec::new(),
            ..first.clone()
        };
        rest.into_iter().skip(1).for_each(|row| {
            add(
                &mut others,
                KernelLockRow {
                    path: Vec::new(),
                    ..row
                },
            )
        });
        rows.push(others);
    }
    rows
}

fn add(row: &mut KernelLockRow, other: KernelLockRow) {
    row.waits += other.waits;
    row.total_us += other.total_us;
    row.max_us = row.max_us.max(other.max_us);
    row.server_waits += other.server_waits;
    if row.path.is_empty() {
        row.path = other.path;
    }
}

fn kind(wait: &KernelWaits) -> Kind {
    let has = |flag| wait.flags & flag != 0;
    match () {
        () if wait.is_mmap_lock => Kind::Mmap,
        () if has(KERNEL_LOCK_MUTEX) => Kind::Mutex,
        () if has(KERNEL_LOCK_PERCPU) || has(KERNEL_LOCK_RT) => Kind::Other,
        () if has(KERNEL_LOCK_SPIN) => Kind::Spin,
        () if has(KERNEL_LOCK_READ) || has(KERNEL_LOCK_WRITE) => Kind::ReadWrite,
        () => Kind::Other,
    }
}

fn name(wait: &KernelWaits, kind: Kind, path: &[String]) -> String {
    let known = KNOWN.iter().find(|known| {
        known.kind == kind
            && path.iter().take(known.within).any(|function| {
                known
                    .asked_by
                    .split('|')
                    .any(|pattern| model::matches_pattern(pattern, function))
            })
    });
    let has = |flag| wait.flags & flag != 0;
    let lock = match (known, kind) {
        (Some(known), _) => known.name,
        (None, Kind::Mmap) => "mmap_lock",
        (None, Kind::Mutex) => "mutex",
        (None, Kind::ReadWrite) => "rw semaphore",
        (None, Kind::Spin) if has(KERNEL_LOCK_READ) || has(KERNEL_LOCK_WRITE) => "rw spinlock",
        (None, Kind::Spin) if path.is_empty() => "spinlocks whose callers were not taken",
        (None, Kind::Spin) => "other spinlocks",
        (None, Kind::Other) if has(KERNEL_LOCK_PERCPU) => "per-CPU rw semaphore",
        (None, Kind::Other) if has(KERNEL_LOCK_RT) => "rt mutex",
        (None, Kind::Other) => "semaphore",
    };
    let way = match (kind, has(KERNEL_LOCK_READ), has(KERNEL_LOCK_WRITE)) {
        (Kind::Mutex, ..) => "",
        (_, true, _) => ", to read",
        (_, _, true) => ", to write",
        _ => "",
    };
    format!("{lock}{way}")
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

    fn rows(waits: &[(&KernelWaits, &str)]) -> Vec<(String, u64, f64, f64, String)> {
        rows_of(
            waits
                .iter()
                .map(|(wait, path)| {
                    let path = path.split(" < ").filter(|name| !name.is_empty());
                    (*wait, path.map(str::to_owned).collect())
                })
                .collect(),
        )
        .into_iter()
        .map(|row| {
            (
                row.name,
                row.waits,
                row.total_us,
                row.max_us,
                row.path.first().cloned().unwrap_or_default(),
            )
        })
        .collect()
    }

    fn expected(rows: &[(&str, u64, f64, f64, &str)]) -> Vec<(String, u64, f64, f64, String)> {
        rows.iter()
            .map(|(name, waits, total, max, path)| {
                ((*name).to_owned(), *waits, *total, *max, (*path).to_owned())
            })
            .collect()
    }

    #[test]
    fn waits_that_sleep_are_rows_by_kind_and_path_and_the_most_time_is_first() {
        assert_eq!(
            rows(&[
                (&wait(KERNEL_LOCK_MUTEX, false, 1, 10), "f < g"),
                (&wait(KERNEL_LOCK_WRITE, true, 2, 500), "vm_mmap_pgoff"),
                (&wait(KERNEL_LOCK_WRITE, true, 2, 100), "__vm_munmap"),
                (
                    &wait(KERNEL_LOCK_MUTEX | KERNEL_LOCK_SPIN, false, 3, 20),
                    "f < g"
                ),
                (
                    &wait(KERNEL_LOCK_READ, false, 1, 90),
                    "ext4_file_read_iter < vfs_read"
                ),
                (
                    &wait(KERNEL_LOCK_READ, false, 1, 80),
                    "ext4_map_blocks < ext4_da_map_blocks"
                ),
                (&wait(KERNEL_LOCK_WRITE, false, 1, 70), "something"),
            ]),
            expected(&[
                ("mmap_lock, to write", 2, 500.0, 500.0, "vm_mmap_pgoff"),
                ("mmap_lock, to write", 2, 100.0, 100.0, "__vm_munmap"),
                (
                    "inode rw semaphore (i_rwsem), to read",
                    1,
                    90.0,
                    90.0,
                    "ext4_file_read_iter"
                ),
                (
                    "ext4 block map rw semaphore (i_data_sem), to read",
                    1,
                    80.0,
                    80.0,
                    "ext4_map_blocks"
                ),
                ("rw semaphore, to write", 1, 70.0, 70.0, "something"),
                ("mutex", 4, 30.0, 20.0, "f"),
            ])
        );
    }

    /// As MySQL 5.5 and MariaDB 10.11 under load showed them.
    #[test]
    fn waits_for_a_run_queue_are_one_row_whoever_asks() {
        let spin = KERNEL_LOCK_SPIN;
        assert_eq!(
            rows(&[
                (&wait(spin, false, 31773, 83200), ""),
                (
                    &wait(spin, false, 510, 5330),
                    "__schedule < schedule < exit_to_user_mode_loop"
                ),
                (
                    &wait(spin, false, 666, 5290),
                    "try_to_wake_up < pollwake < __wake_up_common"
                ),
                (
                    &wait(spin, false, 703, 2890),
                    "__task_rq_lock < try_to_wake_up < wake_up_q"
                ),
                (
                    &wait(spin, false, 28, 364),
                    "raw_spin_rq_lock_nested < do_sched_yield"
                ),
                (
                    &wait(spin, false, 2058, 7380),
                    "futex_wake < do_futex < __x64_sys_futex"
                ),
                (
                    &wait(spin, false, 203, 834),
                    "futex_wait_setup < __futex_wait < futex_wait"
                ),
                (&wait(spin, false, 12, 20), "something < else"),
            ]),
            expected(&[
                (
                    "spinlocks whose callers were not taken",
                    31773,
                    83200.0,
                    83200.0,
                    ""
                ),
                ("run queue spinlock", 1907, 13874.0, 5330.0, "__schedule"),
                (
                    "futex hash bucket spinlock",
                    2261,
                    8214.0,
                    7380.0,
                    "futex_wake"
                ),
                ("other spinlocks", 12, 20.0, 20.0, "something"),
            ])
        );
    }

    #[test]
    fn the_least_are_one_row() {
        let waits: Vec<KernelWaits> = (0..60)
            .map(|us| wait(KERNEL_LOCK_MUTEX, false, 1, 1000 - us))
            .collect();
        let paths: Vec<String> = (0..60).map(|at| format!("f{at}")).collect();
        let waits: Vec<(&KernelWaits, &str)> = waits
            .iter()
            .zip(&paths)
            .map(|(wait, path)| (wait, path.as_str()))
            .collect();
        let rows = rows(&waits);
        assert_eq!(rows.len(), ROWS_MAX + 1);
        let rest: u64 = (ROWS_MAX as u64..60).map(|us| 1000 - us).sum();
        assert_eq!(
            rows.last(),
            Some(&("20 more".to_owned(), 20, rest as f64, 960.0, String::new()))
        );
    }
}
