//! A lock table as JSON. Fields are added over time; none is renamed, removed or given another
//! meaning.

use model::{
    Absent, ChainLink, Holder, HolderBy, KernelLockRow, LockCaller, LockRow, LockTable, NamedBy,
    StackTable, WaitCounting,
};
use serde::Serialize;

use super::{
    chain::chain_sentence,
    stacks_json::{FrameOut, address, frames_out, to_text},
};

/// A lock table and what it refers to.
#[derive(Debug, Clone, Copy)]
pub struct LocksInput<'a> {
    /// Process id.
    pub pid: u32,
    /// The table.
    pub table: &'a LockTable,
    /// Its stacks.
    pub book: &'a StackTable,
}

/// The document of `freezeframe locks --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LocksDocument<'a> {
    /// Process id.
    pub pid: u32,
    /// How long it took.
    pub seconds: f64,
    /// How waits were counted: `depth` is `sampled` (with `snapshots`, `interval_ms`; `waits` and
    /// times are estimates) or `exact` (with `events`, `stack_every`, `cost_us`,
    /// `switched_off_after_ms`).
    #[serde(flatten)]
    pub depth: &'a WaitCounting,
    /// Locks, most time first.
    pub locks: Vec<LockOut<'a>>,
    /// Waits for work or an answer, as rows of locks; no contention.
    pub conditions: Vec<LockOut<'a>>,
    /// Threads that wait for work, in the snapshot with most of them.
    pub idle_threads: u32,
    /// Chains of waits, the largest crowd first.
    pub chains: Vec<ChainOut<'a>>,
    /// Locks of the kernel.
    pub kernel_locks: &'a [KernelLockRow],
    /// What could not be taken.
    pub absent: &'a [Absent],
}

/// A lock that threads waited for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LockOut<'a> {
    /// Its name.
    pub name: &'a str,
    /// What the name rests on: `symbol`, `arena`, `call-path` or `address`.
    pub named_by: NamedBy,
    /// Address of its word, hexadecimal with `0x`; `null` when several stand under one name.
    pub address: Option<String>,
    /// Most threads seen waiting at once.
    pub waiters_max: u32,
    /// Waits.
    pub waits: u64,
    /// Time waited, microseconds.
    pub total_us: f64,
    /// Mean wait, microseconds.
    pub mean_us: f64,
    /// The longest wait, microseconds.
    pub max_us: f64,
    /// Share of the time of all threads that do not idle, 0 to 1.
    pub share: f64,
    /// By call path, most time first.
    pub callers: Vec<CallerOut<'a>>,
    /// Who held it, most often first.
    pub holders: Vec<HolderOut<'a>>,
}

/// The waits from one call path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallerOut<'a> {
    /// The functions that asked for the lock, innermost first.
    pub path: &'a [String],
    /// Waits.
    pub waits: u64,
    /// Time waited, microseconds.
    pub total_us: f64,
    /// The longest wait, microseconds.
    pub max_us: f64,
    /// A whole stack of such a wait, innermost first.
    pub frames: Vec<FrameOut<'a>>,
}

/// A thread that held a lock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HolderOut<'a> {
    /// Its id.
    pub tid: u32,
    /// Its name.
    pub name: &'a str,
    /// How it is known: `owner-field` or `stack`.
    pub by: HolderBy,
    /// Snapshots in which it held the lock while others waited.
    pub snapshots: u32,
    /// What it did.
    pub doing: &'a str,
    /// Its stack in the last of them, innermost first.
    pub frames: Vec<FrameOut<'a>>,
}

/// A chain of waits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChainOut<'a> {
    /// The chain as a sentence.
    pub says: String,
    /// The links, the crowd first.
    pub links: Vec<LinkOut<'a>>,
    /// The last holder waits for a lock further up.
    pub circular: bool,
}

/// One step of a chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkOut<'a> {
    /// The lock's name.
    pub lock: &'a str,
    /// Threads that wait for it.
    pub waiters: u32,
    /// Who holds it; `null` when that is not known.
    pub holder: Option<HolderOut<'a>>,
}

/// The document of a lock table.
pub fn locks_document<'a>(input: &LocksInput<'a>) -> LocksDocument<'a> {
    let LocksInput { pid, table, book } = *input;
    let rows = |rows: &'a [LockRow]| rows.iter().map(|row| lock_out(row, book)).collect();
    LocksDocument {
        pid,
        seconds: table.to.saturating_sub(table.from) as f64 / 1000.0,
        depth: &table.depth,
        locks: rows(&table.locks),
        conditions: rows(&table.conditions),
        idle_threads: table.idle_threads,
        chains: table
            .chains
            .iter()
            .map(|chain| ChainOut {
                says: chain_sentence(chain),
                links: chain
                    .links
                    .iter()
                    .map(|link| link_out(link, book))
                    .collect(),
                circular: chain.circular,
            })
            .collect(),
        kernel_locks: &table.kernel_locks,
        absent: &table.absent,
    }
}

/// The document as text with a line end. Everything a terminal would obey is escaped.
pub fn locks_json(input: &LocksInput<'_>) -> String {
    to_text(&locks_document(input))
}

fn lock_out<'a>(row: &'a LockRow, book: &'a StackTable) -> LockOut<'a> {
    LockOut {
        name: &row.name,
        named_by: row.named_by,
        address: Some(row.address).filter(|at| *at != 0).map(address),
        waiters_max: row.waiters_max,
        waits: row.waits,
        total_us: row.total_us,
        mean_us: row.mean_us(),
        max_us: row.max_us,
        share: row.share,
        callers: row
            .callers
            .iter()
            .map(|caller| caller_out(caller, book))
            .collect(),
        holders: row
            .holders
            .iter()
            .map(|holder| holder_out(holder, book))
            .collect(),
    }
}

fn caller_out<'a>(caller: &'a LockCaller, book: &'a StackTable) -> CallerOut<'a> {
    CallerOut {
        path: &caller.path,
        waits: caller.waits,
        total_us: caller.total_us,
        max_us: caller.max_us,
        frames: frames_out(book, caller.stack),
    }
}

fn holder_out<'a>(holder: &'a Holder, book: &'a StackTable) -> HolderOut<'a> {
    HolderOut {
        tid: holder.tid,
        name: &holder.name,
        by: holder.by,
        snapshots: holder.snapshots,
        doing: &holder.doing,
        frames: frames_out(book, holder.stack),
    }
}

fn link_out<'a>(link: &'a ChainLink, book: &'a StackTable) -> LinkOut<'a> {
    LinkOut {
        lock: &link.lock,
        waiters: link.waiters,
        holder: link.holder.as_ref().map(|holder| holder_out(holder, book)),
    }
}
