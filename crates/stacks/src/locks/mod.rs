//! Lock tables: from named thread snapshots to who waited for what, how long, and behind whom.
//!
//! Pure: no I/O and no clock. A wait is told by its innermost functions: first the lock's own
//! (`own`, a table), then the one that asked, which the known waits (`known`, tables) are looked
//! up by. What neither knows is a lock when a lock's own functions wait there, and otherwise a
//! condition, which is never counted as contention.

mod chains;
mod classify;
mod exact;
mod fold;
mod holders;
mod holding;
mod input;
mod known;
mod matching;
mod naming;
mod own;
mod plain;
mod rows;
mod sampled;
mod scene;

pub use exact::exact_table;
pub use input::{AddressTotals, DataSymbol, ExactWaits, LockSymbols, Observed, WaitSample};
pub use sampled::sampled_table;

/// Most rows for locks, and for conditions; the least are put together in the last one.
pub const ROWS_MAX: usize = 200;
/// Most call paths of a lock; the least are put together in the last one.
pub const CALLERS_MAX: usize = 20;
/// Most holders of a lock.
pub const HOLDERS_MAX: usize = 20;
/// Functions in a call path.
pub const PATH_FRAMES: usize = 6;
/// Most chains.
pub const CHAINS_MAX: usize = 10;
/// Most links of a chain.
pub const LINKS_MAX: usize = 16;
