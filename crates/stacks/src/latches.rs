//! Who has the read-write locks of MySQL's InnoDB: from the server's own table of waits.
//!
//! A thread that waits for one sleeps on an event, which does not lead to its lock. But InnoDB writes
//! each wait down before it begins, for `SHOW ENGINE INNODB STATUS` (the sync array, sync0arr.cc): the
//! waiting thread and the lock. The lock has its writer's `pthread_self()`. Nothing is believed
//! that does not fit together: the thread must wait on the very event that the lock points to, the
//! lock's word must say that a writer is in the way, its flags that the writer's id is valid and
//! that somebody waits, and the writer must have had the lock before the threads' stacks were
//! taken as well as after. With another layout than the known ones nothing fits, and nothing is told.

use std::collections::HashMap;

/// From the begin of an event to its condition variable: a mutex, and a flag and a count of eight bytes
/// each (os0sync.h of 5.5; os0event.cc of 8.0, where the two numbers come first).
const EVENT_CONDITION: u64 = if cfg!(target_arch = "aarch64") {
    48
} else {
    40
} + 8
    + 8;

/// From the begin of an event to the futex words of its condition variable, `__g_signals`: since glibc
/// 2.41, which left two words before them out, and before.
pub(crate) const EVENT_FUTEXES: [u64; 2] = [EVENT_CONDITION + 32, EVENT_CONDITION + 40];

/// Cells that are read in one look at most: a server with more threads in them is told in part.
const CELLS_MAX: u64 = 4096;
/// Cells read at once.
const CELLS_STEP: u64 = 64;
/// Arrays of cells (`innodb_sync_array_size` is 1 by default).
const ARRAYS_MAX: u64 = 64;
/// Locks that are read in one look.
const LOCKS_MAX: usize = 256;
/// Futex words of which the lock is remembered.
const KNOWN_MAX: usize = 4096;

/// A member of a structure: where it begins, and its bytes.
#[derive(Debug, Clone, Copy)]
struct Member {
    at: usize,
    bytes: usize,
}

const fn member(at: usize, bytes: usize) -> Member {
    Member { at, bytes }
}

/// How one generation of InnoDB lays these things out on 64-bit machines.
#[derive(Debug)]
struct Layout {
    /// The variable that leads to the table of waits.
    array: &'static str,
    /// The variable with the number of tables; empty where there is one, which `array` points to.
    arrays: &'static str,
    cell_bytes: usize,
    request: Member,
    thread: Member,
    waiting: Member,
    /// What a cell asks for: to read, to write beside readers, to write, and as the writer that
    /// waits for the readers to leave.
    read: u64,
    update: Option<u64>,
    write: u64,
    write_next: u64,
    lock_word: Member,
    waiters: Member,
    recursive: Member,
    writer: usize,
    /// The ids of all readers, exclusive-or: one reader's id, when there is one.
    readers: Option<usize>,
    event: usize,
    write_next_event: usize,
    /// From the begin of an event to its mutex, which a thread takes again when it was woken.
    event_mutex: u64,
    /// A lock word up to this is one that a writer is in the way of readers of; up to `held`
    /// of other writers. At that of `free` nobody has it.
    held: i64,
    free: i64,
    /// Locks of which there is one.
    named: &'static [Named],
}

/// A lock that a variable leads to.
#[derive(Debug)]
struct Named {
    symbol: &'static str,
    /// The variable is a pointer to what the lock lies in.
    pointer: bool,
    /// From the begin of that to the lock.
    offset: u64,
    /// As the table of known waits calls it.
    name: &'static str,
}

const fn named(symbol: &'static str, pointer: bool, offset: u64, name: &'static str) -> Named {
    Named {
        symbol,
        pointer,
        offset,
        name,
    }
}

/// Bytes of a lock that are read.
const LOCK_BYTES: usize = 48;
/// In all generations: reserved cells, cells, and the pointer to the first cell (sync0arr).
const ARRAY_BYTES: usize = 24;

static LAYOUTS: &[Layout] = &[
    // From the debug information of MySQL 5.5.9: sync_array_struct, sync_cell_struct, rw_lock_struct,
    // trx_purge_struct; X_LOCK_DECR in sync0rw.h; RW_LOCK_EX to RW_LOCK_WAIT_EX in sync0sync.h.
    Layout {
        array: "sync_primary_wait_array",
        arrays: "",
        cell_bytes: 80,
        request: member(24, 8),
        thread: member(48, 8),
        waiting: member(56, 8),
        write: 351,
        read: 352,
        write_next: 353,
        update: None,
        lock_word: member(0, 8),
        waiters: member(8, 8),
        recursive: member(16, 8),
        writer: 24,
        readers: None,
        event: 32,
        write_next_event: 40,
        event_mutex: 0,
        held: 0,
        free: 0x10_0000,
        named: &[
            named("dict_operation_lock", false, 0, "dict_operation_lock"),
            named(
                "btr_search_latch_temp",
                true,
                0,
                "btr_search_latch (adaptive hash index)",
            ),
            named("purge_sys", true, 32, "purge_sys latch"),
        ],
    },
    // sync0arr_impl.h, sync0rw.h and sync0types.h of MySQL 8.0, and the code of MySQL 9.7
    // (sync_array_reserve_cell, sync_array_get_nth_cell, rw_lock_create_func, rw_lock_x_lock_low).
    Layout {
        array: "sync_wait_array",
        arrays: "sync_array_size",
        cell_bytes: 72,
        request: member(8, 8),
        thread: member(32, 8),
        waiting: member(40, 1),
        update: Some(2),
        write_next: 3,
        read: 4,
        write: 5,
        lock_word: member(0, 4),
        waiters: member(4, 1),
        recursive: member(5, 1),
        writer: 16,
        readers: Some(24),
        event: 32,
        write_next_event: 40,
        event_mutex: 16,
        held: 0x1000_0000,
        free: 0x2000_0000,
        named: &[named("dict_operation_lock", true, 0, "dict_operation_lock")],
    },
];

/// Memory of the server: fills the bytes from an address on, or says that it cannot.
pub(crate) trait Peek {
    fn peek(&self, address: u64, bytes: &mut [u8]) -> bool;

    /// A word of eight bytes.
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.peek(address, &mut bytes)
            .then(|| u64::from_ne_bytes(bytes))
    }
}

/// A read-write lock of InnoDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latch {
    /// Its address, which `SHOW ENGINE INNODB STATUS` prints.
    pub address: u64,
    /// Its name, when there is only one such lock.
    pub name: Option<&'static str>,
}

/// A wait for a lock, as the server wrote it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LatchWait {
    /// `pthread_self()` of the thread that waits.
    pub(crate) waiter: u64,
    /// The event that it sleeps on, if it does.
    event: u64,
    /// `pthread_self()` of the thread that has the lock; 0 when that cannot be known.
    pub(crate) owner: u64,
}

/// A lock's words at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Words {
    word: i64,
    waiters: u64,
    recursive: u64,
    writer: u64,
    readers: u64,
    event: u64,
    write_next_event: u64,
}

/// A reserved cell.
#[derive(Debug, Clone, Copy)]
struct Cell {
    lock: u64,
    request: u64,
    thread: u64,
}

/// The locks of one server.
#[derive(Debug)]
pub(crate) struct Latches {
    layout: &'static Layout,
    array: u64,
    arrays: u64,
    /// Variables that lead to locks.
    variables: Vec<(&'static Named, u64)>,
    /// Locks that were waited for at the last looks, to be read before the next one.
    remembered: Vec<u64>,
    before: HashMap<u64, Words>,
    known: HashMap<u64, Latch>,
    waits: Vec<LatchWait>,
}

impl Latches {
    /// Finds a server's table of waits by its symbols; absent in a server without one.
    pub(crate) fn find(symbol_address: impl Fn(&str) -> Option<u64>) -> Option<Self> {
        if cfg!(not(target_pointer_width = "64")) {
            return None;
        }
        LAYOUTS.iter().find_map(|layout| {
            let array = symbol_address(layout.array)?;
            let arrays = match layout.arrays {
                "" => 0,
                name => symbol_address(name)?,
            };
            Some(Self {
                layout,
                array,
                arrays,
                variables: layout
                    .named
                    .iter()
                    .filter_map(|named| Some((named, symbol_address(named.symbol)?)))
                    .collect(),
                remembered: Vec::new(),
                before: HashMap::new(),
                known: HashMap::new(),
                waits: Vec::new(),
            })
        })
    }

    /// To be called just before the threads are looked at.
    pub(crate) fn read_before(&mut self, memory: &impl Peek) {
        self.waits.clear();
        let cells = self.cells(memory);
        let mut locks = std::mem::take(&mut self.remembered);
        locks.extend(cells.iter().map(|cell| cell.lock));
        locks.sort_unstable();
        locks.dedup();
        locks.truncate(LOCKS_MAX);
        self.before = locks
            .into_iter()
            .filter_map(|lock| Some((lock, self.words(memory, lock)?)))
            .collect();
    }

    /// To be called just after: [`Self::take_waits`] gives what it found.
    pub(crate) fn read_after(&mut self, memory: &impl Peek) {
        let cells = self.cells(memory);
        self.waits.clear();
        self.remembered.clear();
        if cells.is_empty() {
            return;
        }
        if self.known.len() > KNOWN_MAX {
            self.known.clear();
        }
        self.name(memory);
        let mut locks: HashMap<u64, Option<Words>> = HashMap::new();
        for cell in cells {
            if locks.len() >= LOCKS_MAX && !locks.contains_key(&cell.lock) {
                continue;
            }
            let words = *locks
                .entry(cell.lock)
                .or_insert_with(|| self.words(memory, cell.lock));
            let Some(words) = words else {
                continue;
            };
            let latch = Latch {
                address: cell.lock,
                name: None,
            };
            self.remember(&words, latch, false);
            self.waits.push(self.wait(&cell, &words));
        }
        self.remembered = locks.into_keys().collect();
    }

    /// The waits at the last look, those for locks of this kind: once, for the threads that were
    /// looked at with it.
    pub(crate) fn take_waits(&mut self) -> Vec<LatchWait> {
        std::mem::take(&mut self.waits)
    }

    /// The lock that threads wait for that sleep on this futex word, as far as it was seen or named.
    pub(crate) fn at(&self, futex: u64) -> Option<Latch> {
        self.known.get(&(futex & !7)).copied()
    }

    /// Reads where the locks with names are: early in the server's life they are not there yet.
    pub(crate) fn name(&mut self, memory: &impl Peek) {
        for (named, variable) in self.variables.clone() {
            let base = if named.pointer {
                memory.word(variable)
            } else {
                Some(variable)
            };
            let Some(address) = base
                .filter(|base| *base != 0)
                .map(|base| base.saturating_add(named.offset))
            else {
                continue;
            };
            let Some(words) = self.words(memory, address) else {
                continue;
            };
            let latch = Latch {
                address,
                name: Some(named.name),
            };
            self.remember(&words, latch, true);
        }
    }

    /// The places where threads sleep that wait for a lock.
    fn remember(&mut self, words: &Words, latch: Latch, is_named: bool) {
        for event in [words.event, words.write_next_event] {
            let places = EVENT_FUTEXES.into_iter().chain([self.layout.event_mutex]);
            for place in places.map(|at| event.saturating_add(at) & !7) {
                // A place that was of another lock may be of this one by now.
                let known = self.known.entry(place).or_insert(latch);
                if is_named || known.address != latch.address {
                    *known = latch;
                }
            }
        }
    }

    fn cells(&self, memory: &impl Peek) -> Vec<Cell> {
        let mut cells = Vec::new();
        let mut budget = CELLS_MAX;
        let Some(first) = memory.word(self.array) else {
            return cells;
        };
        let arrays = match self.arrays {
            0 => vec![first],
            count => {
                let count = memory.word(count).unwrap_or(0).min(ARRAYS_MAX);
                (0..count)
                    .filter_map(|index| memory.word(first.checked_add(8 * index)?))
                    .collect()
            }
        };
        for array in arrays {
            self.cells_of(memory, array, &mut budget, &mut cells);
        }
        cells
    }

    fn cells_of(&self, memory: &impl Peek, array: u64, budget: &mut u64, cells: &mut Vec<Cell>) {
        let mut head = [0; ARRAY_BYTES];
        if array == 0 || !memory.peek(array, &mut head) {
            return;
        }
        let head = |at| unsigned(&head, member(at, 8)).unwrap_or(0);
        let (mut reserved, count, mut at) = (head(0), head(8), head(16));
        let mut rest = count;
        // The first free cell is taken, so those in use are near the begin.
        while reserved > 0 && rest > 0 && *budget > 0 {
            let step = rest.min(*budget).min(CELLS_STEP);
            let mut bytes = vec![0; step as usize * self.layout.cell_bytes];
            if !memory.peek(at, &mut bytes) {
                return;
            }
            for bytes in bytes.chunks_exact(self.layout.cell_bytes) {
                let lock = unsigned(bytes, member(0, 8)).unwrap_or(0);
                if lock != 0 {
                    reserved = reserved.saturating_sub(1);
                    cells.extend(self.cell(bytes, lock));
                }
            }
            rest -= step;
            *budget -= step;
            at = at.saturating_add(step * self.layout.cell_bytes as u64);
        }
    }

    /// A cell whose thread waits for a lock of this kind.
    fn cell(&self, bytes: &[u8], lock: u64) -> Option<Cell> {
        let layout = self.layout;
        let request = unsigned(bytes, layout.request)?;
        let of_latch = request == layout.read
            || request == layout.write
            || request == layout.write_next
            || Some(request) == layout.update;
        let waits = unsigned(bytes, layout.waiting)? == 1;
        (of_latch && waits && lock & 7 == 0).then_some(Cell {
            lock,
            request,
            thread: unsigned(bytes, layout.thread)?,
        })
    }

    fn words(&self, memory: &impl Peek, lock: u64) -> Option<Words> {
        let layout = self.layout;
        let mut bytes = [0; LOCK_BYTES];
        if !memory.peek(lock, &mut bytes) {
            return None;
        }
        let of = |member| unsigned(&bytes, member);
        let word = of(layout.lock_word)?;
        let words = Words {
            word: if layout.lock_word.bytes == 4 {
                i64::from(word as u32 as i32)
            } else {
                word as i64
            },
            waiters: of(layout.waiters)?,
            recursive: of(layout.recursive)?,
            writer: of(member(layout.writer, 8))?,
            readers: layout.readers.and_then(|at| of(member(at, 8))).unwrap_or(0),
            event: of(member(layout.event, 8))?,
            write_next_event: of(member(layout.write_next_event, 8))?,
        };
        // What a lock never has: this is something else.
        let plausible = words.word <= layout.free
            && words.waiters <= 1
            && words.recursive <= 1
            && words.event != 0
            && words.event & 7 == 0
            && words.event != words.write_next_event;
        plausible.then_some(words)
    }

    fn wait(&self, cell: &Cell, after: &Words) -> LatchWait {
        let layout = self.layout;
        let event = if cell.request == layout.write_next {
            after.write_next_event
        } else {
            after.event
        };
        let before = self.before.get(&cell.lock);
        let owner = before.map_or(0, |before| {
            match (self.owner(cell, before), self.owner(cell, after)) {
                (Some(before), Some(after)) if before == after => after,
                _ => 0,
            }
        });
        LatchWait {
            waiter: cell.thread,
            event,
            owner,
        }
    }

    /// The one thread that is in the way of a wait, where the lock tells.
    fn owner(&self, cell: &Cell, words: &Words) -> Option<u64> {
        let layout = self.layout;
        if cell.request == layout.write_next {
            // It has the lock but for the readers; the last of them can be known.
            layout.readers?;
            return (words.word == -1 && words.readers != 0).then_some(words.readers);
        }
        let limit = if cell.request == layout.read {
            0
        } else {
            layout.held
        };
        // Who gives the lock up takes the flag of waiters down, and whoever makes the id of the
        // writer invalid that of its validity.
        let has_writer =
            words.word <= limit && words.waiters == 1 && words.recursive == 1 && words.writer != 0;
        has_writer.then_some(words.writer)
    }
}

impl LatchWait {
    /// Whether who sleeps on this futex sleeps on the event.
    pub(crate) fn is_at(&self, futex: u64) -> bool {
        EVENT_FUTEXES
            .iter()
            .any(|at| self.event.saturating_add(*at) == futex & !7)
    }
}

/// A number of the server, of at most eight bytes.
fn unsigned(bytes: &[u8], member: Member) -> Option<u64> {
    let bytes = bytes.get(member.at..member.at + member.bytes)?;
    let mut word = [0; 8];
    if cfg!(target_endian = "little") {
        word.get_mut(..bytes.len())?.copy_from_slice(bytes);
    } else {
        word.get_mut(8 - bytes.len()..)?.copy_from_slice(bytes);
    }
    Some(u64::from_ne_bytes(word))
}

#[cfg(test)]
mod tests;
