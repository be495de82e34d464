//! What one `SHOW ENGINE INNODB STATUS` says, as plain values.

use serde::{Deserialize, Serialize};

use super::transaction::{ActiveTransaction, LockWait};
use super::transactions::TransactionSummary;
use model::SemaphoreWait;

/// One printout of the InnoDB monitor. What the text does not say is absent: `None`, or an empty
/// list. The lines come from `srv_printf_innodb_monitor()` in `storage/innobase/srv/srv0srv.cc`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InnodbStatus {
    /// The line `END OF INNODB MONITOR OUTPUT` was there: the text was not cut.
    pub complete: bool,
    /// When the server printed it, in the server's words and time zone (`2023-03-14 08:27:55`,
    /// before 5.6 `100217 9:14:36`).
    pub taken: Option<String>,
    /// The rates ("…/s") are averages over this many seconds.
    pub averaged_seconds: Option<u64>,
    /// Threads that wait for a mutex or latch, in the order of the text.
    pub semaphore_waits: Vec<SemaphoreWait>,
    /// How often latches were spun and waited for.
    pub semaphores: SemaphoreCounters,
    /// The TRANSACTIONS section, in numbers.
    pub transactions: TransactionSummary,
    /// Transactions that wait for a row or table lock, in the order of the text, at most
    /// [`super::LOCK_WAITS_MAX`].
    pub lock_waits: Vec<LockWait>,
    /// Who may block others: the active transactions that hold row locks, the longest active
    /// first, at most [`super::BLOCKERS_MAX`].
    pub blockers: Vec<ActiveTransaction>,
    /// All that are active, whether they hold anything that is told or not, likewise.
    #[serde(default)]
    pub active: Vec<ActiveTransaction>,
    /// Disk operations that have not ended.
    pub pending_io: PendingIo,
    /// What the main (master) thread does (`sleeping`, `flushing log`).
    pub main_thread_state: Option<String>,
    /// The redo log.
    pub log: LogStatus,
    /// The buffer pool; the sums over all instances.
    pub buffer_pool: BufferPool,
    /// The ROW OPERATIONS section.
    pub rows: RowOperations,
    /// The adaptive hash index.
    pub adaptive_hash: AdaptiveHash,
    /// Size of the change (insert) buffer, in pages.
    pub change_buffer_pages: Option<u64>,
    /// The latest deadlock.
    pub latest_deadlock: LatestDeadlock,
}

/// Counters of the SEMAPHORES section, since the server started (`sync0sync.cc`,
/// `sync_print_wait_info()`, and `sync0arr.cc`, `sync_array_print_info()`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SemaphoreCounters {
    /// This server lists latch waits at all: an `OS WAIT ARRAY INFO` line or a wait was there.
    /// MariaDB from 10.6 on has no such list; no wait there says nothing.
    pub listed: bool,
    /// Waits that were given to the operating system.
    pub reservation_count: Option<u64>,
    /// Signals to waiting threads.
    pub signal_count: Option<u64>,
    /// Mutexes. Not printed from 5.7 on.
    pub mutex: SpinCounters,
    /// Shared requests of latches.
    pub rw_shared: SpinCounters,
    /// Exclusive requests of latches.
    pub rw_excl: SpinCounters,
    /// Shared-exclusive requests of latches, from 5.7 on.
    pub rw_sx: SpinCounters,
}

/// How one kind of latch request was waited for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpinCounters {
    /// Requests that had to spin.
    pub spins: Option<u64>,
    /// Rounds they spun.
    pub rounds: Option<u64>,
    /// Requests that slept in the operating system.
    pub os_waits: Option<u64>,
}

/// Disk operations that have not ended (`os0file.cc`, `os_aio_print()`, and `buf0buf.cc`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PendingIo {
    /// `Pending normal aio reads`: asynchronous reads.
    pub aio_reads: Option<u64>,
    /// `aio writes`: asynchronous writes.
    pub aio_writes: Option<u64>,
    /// Reads of change buffer pages.
    pub ibuf_aio_reads: Option<u64>,
    /// Operations on the redo log.
    pub log_ios: Option<u64>,
    /// Synchronous operations.
    pub sync_ios: Option<u64>,
    /// `Pending flushes (fsync) log: N` or `N pending log flushes`, the larger where both stand.
    pub log_flushes: Option<u64>,
    /// All pending fsyncs: `Pending flushes (fsync): N`, before MariaDB 10.5 the sum of log and
    /// buffer pool.
    pub fsyncs: Option<u64>,
    /// `N pending preads`: threads inside `pread()`.
    pub preads: Option<u64>,
    /// `N pending pwrites`: threads inside `pwrite()`.
    pub pwrites: Option<u64>,
    /// `N pending log writes` of the LOG section.
    pub log_writes: Option<u64>,
    /// `N pending chkp writes` of the LOG section.
    pub checkpoint_writes: Option<u64>,
    /// Pages of the buffer pool that wait to be read.
    pub page_reads: Option<u64>,
    /// Pages of the buffer pool that wait to be written: LRU, flush list and single pages.
    pub page_writes: Option<u64>,
}

/// The redo log (`log0log.cc`, `log_print()`). Positions are bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LogStatus {
    /// `Log sequence number`: bytes of redo ever made.
    pub sequence_number: Option<u64>,
    /// `Log flushed up to`: what is safe on disk.
    pub flushed: Option<u64>,
    /// `Pages flushed up to`: every page changed before is written.
    pub pages_flushed: Option<u64>,
    /// `Last checkpoint at`: crash recovery would begin here.
    pub checkpoint: Option<u64>,
    /// `Max checkpoint age` in bytes (Percona Server): all writes stop when the age reaches it.
    pub checkpoint_age_max_bytes: Option<u64>,
}

impl LogStatus {
    /// Redo that crash recovery would have to read, in bytes.
    pub fn checkpoint_age_bytes(&self) -> Option<u64> {
        self.sequence_number?.checked_sub(self.checkpoint?)
    }

    /// Redo that is not yet safe on disk, in bytes.
    pub fn unflushed_bytes(&self) -> Option<u64> {
        self.sequence_number?.checked_sub(self.flushed?)
    }
}

/// The BUFFER POOL AND MEMORY section (`buf0buf.cc`, `buf_print_io_instance()`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BufferPool {
    /// Its size, in pages.
    pub total_pages: Option<u64>,
    /// Pages on the free list.
    pub free_pages: Option<u64>,
    /// Pages that hold data.
    pub database_pages: Option<u64>,
    /// Changed pages that are not yet written.
    pub dirty_pages: Option<u64>,
    /// Page requests that found their page in memory, of 1000. Absent when there was no request
    /// since the last printout.
    pub hit_rate_per_1000: Option<u64>,
    /// Pages made young, ever.
    pub made_young_pages: Option<u64>,
    /// Pages not made young, ever.
    pub not_young_pages: Option<u64>,
    /// Pages made young a second.
    pub youngs_per_second: Option<f64>,
    /// Pages not made young a second.
    pub non_youngs_per_second: Option<f64>,
    /// Pages read from disk, ever.
    pub read_pages: Option<u64>,
    /// Pages created, ever.
    pub created_pages: Option<u64>,
    /// Pages written, ever.
    pub written_pages: Option<u64>,
}

/// The ROW OPERATIONS section (`srv0srv.cc`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RowOperations {
    /// Threads inside InnoDB, as `innodb_thread_concurrency` counts them.
    pub queries_inside: Option<u64>,
    /// Threads that wait to enter.
    pub queries_in_queue: Option<u64>,
    /// Read views that are open.
    pub read_views: Option<u64>,
}

/// The adaptive hash index (`ibuf0ibuf.cc`, `btr0sea.cc`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AdaptiveHash {
    /// Index searches it answered, a second.
    pub hash_searches_per_second: Option<f64>,
    /// Index searches it did not answer, a second.
    pub non_hash_searches_per_second: Option<f64>,
}

/// The latest deadlock (`lock0lock.cc`). Its transactions, queries and rows are not read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LatestDeadlock {
    /// The text tells of a deadlock.
    pub seen: bool,
    /// When it happened, in the server's words and time zone.
    pub taken: Option<String>,
}
