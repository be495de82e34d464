//! Lock tables: who waited for which lock, for how long, and who held it.

use serde::{Deserialize, Serialize};

use crate::{Absent, Millis, StackId};

/// How the waits of a lock table were counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "depth")]
pub enum WaitCounting {
    /// From snapshots: waits shorter than the interval are seen with the probability of their
    /// length; counts and times are estimates.
    Sampled {
        /// Snapshots taken.
        snapshots: u32,
        /// Milliseconds from one to the next, on average.
        interval_ms: f64,
    },
    /// Every wait was counted and timed where the thread is switched out and in again. Callers are
    /// from one wait in `stack_every`.
    Exact {
        /// Waits counted.
        events: u64,
        /// One wait in so many has a stack.
        stack_every: u32,
        /// Processor time that counting took, microseconds, as the kernel accounts it; 0 when it
        /// does not.
        cost_us: u64,
        /// It switched itself off after so many milliseconds, above the set rate of events.
        switched_off_after_ms: Option<u64>,
    },
    /// Another told it: a table of the server, another tool. Only what that one knows is in the
    /// table; other numbers are 0.
    Told {
        /// Who told it (`plockstat`, `performance_schema.metadata_locks`).
        by: String,
    },
}

/// What a lock's name rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamedBy {
    /// A symbol covers its address.
    Symbol,
    /// It lies where glibc keeps an allocation arena, and its callers are the allocator.
    Arena,
    /// Only one lock is waited for on this call path.
    CallPath,
    /// Nothing but the address is known.
    Address,
    /// Another told it, a table of the server or another tool.
    Told,
}

/// What a holder is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HolderBy {
    /// The lock's own owner field names it, and it is a live thread of the process.
    OwnerField,
    /// It stands in code that runs only under this lock, and does not wait for it.
    Stack,
    /// The server tells it: the holder's number is that of a connection.
    Server,
}

/// A thread that holds a lock others wait for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Thread id, as in `/proc/PID/task`.
    pub tid: u32,
    /// Name of the thread (`comm`).
    pub name: String,
    /// How that is known.
    pub by: HolderBy,
    /// Snapshots in which it held the lock while others waited.
    pub snapshots: u32,
    /// Its stack in the last of them.
    pub stack: StackId,
    /// What it did, in a few words (`waits for malloc arena main`, `runs`, `in fdatasync`).
    pub doing: String,
}

/// The waits of one lock from one call path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LockCaller {
    /// The functions that asked for the lock, innermost first, without the lock's own.
    pub path: Vec<String>,
    /// A whole stack of such a wait.
    pub stack: StackId,
    /// Number of waits; estimated from snapshots unless every wait was counted.
    pub waits: u64,
    /// Time waited, microseconds.
    pub total_us: f64,
    /// The longest wait, microseconds. Sampled waits: as far as it was seen.
    pub max_us: f64,
}

/// A lock that threads waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LockRow {
    /// Its name for people (`kernel_mutex`, `malloc arena main_arena`, `0x7f3a…`).
    pub name: String,
    /// What the name rests on.
    pub named_by: NamedBy,
    /// Address of its futex word; 0 when several addresses were put together under one name.
    pub address: u64,
    /// Most threads seen waiting at once. Exact tables: most that waited at once.
    pub waiters_max: u32,
    /// Number of waits; estimated from snapshots unless every wait was counted.
    pub waits: u64,
    /// Time waited, microseconds.
    pub total_us: f64,
    /// The longest wait, microseconds.
    pub max_us: f64,
    /// Share of the time of all threads of the process that do not idle, 0 to 1.
    pub share: f64,
    /// By call path, most time first.
    pub callers: Vec<LockCaller>,
    /// Who held it, most often first.
    pub holders: Vec<Holder>,
}

impl LockRow {
    /// Mean wait, microseconds.
    pub fn mean_us(&self) -> f64 {
        if self.waits == 0 {
            0.0
        } else {
            self.total_us / self.waits as f64
        }
    }
}

/// A lock of the kernel that threads waited for (`contention_begin`, `contention_end`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelLockRow {
    /// Its name for people (`mmap_lock`, `rwsem`, `spinlock`), as far as the kernel tells.
    pub name: String,
    /// The kernel's functions that asked for it, innermost first.
    pub path: Vec<String>,
    /// Number of waits; estimated from snapshots unless every wait was counted.
    pub waits: u64,
    /// Time waited, microseconds.
    pub total_us: f64,
    /// The longest wait, microseconds.
    pub max_us: f64,
    /// By threads of the server, out of `waits`.
    pub server_waits: u64,
}

/// One step from those that wait to what they wait for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainLink {
    /// Name of the lock, as in [`LockRow::name`].
    pub lock: String,
    /// Threads that wait for it.
    pub waiters: u32,
    /// The thread that holds it, where that is known.
    pub holder: Option<Holder>,
}

/// From the crowd to the root: each link's holder waits for the next link's lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitChain {
    /// The links, the crowd first.
    pub links: Vec<ChainLink>,
    /// The last holder waits for a lock further up: a deadlock, or two moments seen as one.
    pub circular: bool,
}

/// Who waited for what, for how long, and behind whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LockTable {
    /// Start of the time that the table is about, on the recorder's clock.
    pub from: Millis,
    /// End of that time, on the recorder's clock.
    pub to: Millis,
    /// How it was counted.
    #[serde(flatten)]
    pub depth: WaitCounting,
    /// Locks, most time first.
    pub locks: Vec<LockRow>,
    /// Waits on condition variables that are neither known idling nor known locks: what they wait
    /// for is work or an answer, no lock. Rows as for locks; never counted as contention.
    pub conditions: Vec<LockRow>,
    /// Threads that wait for work, in the snapshot with most of them.
    pub idle_threads: u32,
    /// Chains, the largest crowd first.
    pub chains: Vec<WaitChain>,
    /// Locks of the kernel.
    pub kernel_locks: Vec<KernelLockRow>,
    /// What could not be taken.
    pub absent: Vec<Absent>,
}
