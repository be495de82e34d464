//! What a lock table is made of: snapshots, symbols of the addresses, waits that were counted.

use std::collections::HashMap;
use std::ops::Range;

use model::{Millis, StackId, StackTable, ThreadSnapshot};

use crate::latches::Latch;

/// What a lock table is made of: threads at several moments, with named stacks.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The stacks that the snapshots mean.
    pub book: &'a StackTable,
    /// Snapshots of one process, in any order; a burst at 10 to 20 a second.
    pub snapshots: &'a [ThreadSnapshot],
}

/// The data symbol that covers an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSymbol {
    /// Its name as people write it (`LOCK_open`, `fil_system`).
    pub name: String,
    /// From its begin to the address, bytes.
    pub offset: u64,
    /// Its size, bytes; 0 when the symbol table does not tell.
    pub size: u64,
}

/// What the caller knows of the addresses that threads wait on.
#[derive(Debug, Clone, Default)]
pub struct LockSymbols {
    /// Futex addresses that a data symbol covers.
    pub names: HashMap<u64, DataSymbol>,
    /// Writable data of libc.so (`.data` and `.bss`), where `main_arena` is.
    pub libc_data: Vec<Range<u64>>,
    /// Futex addresses in the data of a program or library that no symbol covers, by their place in
    /// it: its name and the offset, which are the same at each start and what a debugger takes.
    pub in_image: HashMap<u64, (String, u64)>,
    /// Mutexes of InnoDB up to MySQL 5.5 that a variable leads to, by the address of the event
    /// (`os_event_struct`) that threads wait on.
    pub events: HashMap<u64, &'static str>,
    /// InnoDB's read-write locks, by the eight bytes with the futex words of their events.
    pub latches: HashMap<u64, Latch>,
}

impl LockSymbols {
    pub(super) fn in_libc_data(&self, address: u64) -> bool {
        self.libc_data.iter().any(|range| range.contains(&address))
    }
}

/// All waits at one futex address with one operation, counted where threads are switched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AddressTotals {
    /// Address of the futex word.
    pub address: u64,
    /// Operation as given to futex(2).
    pub operation: u32,
    /// Waits, with those that were not over at the end.
    pub waits: u64,
    /// Time waited, microseconds.
    pub total_us: f64,
    /// The longest wait, microseconds.
    pub max_us: f64,
    /// Most threads that waited at once.
    pub waiters_max: u32,
}

/// One wait of those that were counted, with its stack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitSample {
    /// Id of the thread that waited.
    pub tid: u32,
    /// Address of the futex word.
    pub address: u64,
    /// The stack it waited with.
    pub stack: StackId,
    /// How long, microseconds.
    pub waited_us: f64,
}

/// Waits of a stretch of time, all of them counted, some of them with a stack.
#[derive(Debug, Clone, Copy)]
pub struct ExactWaits<'a> {
    /// Start of the counting, on the recorder's clock.
    pub from: Millis,
    /// End of the counting, on the recorder's clock.
    pub to: Millis,
    /// Waits counted, also those of addresses that are not in `totals`.
    pub events: u64,
    /// One wait in so many has a stack.
    pub stack_every: u32,
    /// Processor time that counting took, microseconds; 0 when the kernel does not tell.
    pub cost_us: u64,
    /// It switched itself off after so many milliseconds.
    pub switched_off_after_ms: Option<u64>,
    /// Totals by address.
    pub totals: &'a [AddressTotals],
    /// Waits with a stack.
    pub samples: &'a [WaitSample],
}
