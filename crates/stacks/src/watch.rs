//! Following the threads of one process: what the kernel hands over becomes stacks with numbers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::memory::read_memory;
use kernel::perf::RawSample;
use kernel::snapshot::{NoStack, RawFutex, RawSnapshot, RawThread, Registers, Way};
use model::{FutexWait, Millis, RunState, SnapshotMeta, SnapshotMethod, StackEnd};

use crate::images::{Image, Images, ImagesError, Memory, Process};
use crate::latches::{Latch, LatchWait, Latches, Peek};
use crate::raw_stack_table::{RawStackId, RawStackTable};
use crate::unwind::Unwound;
use crate::unwound_snapshot::{UnwoundSnapshot, UnwoundSyscall, UnwoundThread};

/// Futex addresses of which the place is remembered.
const PLACES_MAX: usize = 16_384;

/// Where a lock lies: enough to name it later, when the process may be gone.
#[derive(Debug, Clone)]
pub struct LockLocation {
    /// What lies there.
    pub memory: Memory,
    /// The image whose variable it may be, and the address in it.
    pub(crate) variable: Option<(Arc<Image>, u64)>,
    /// The read-write lock of InnoDB that is waited for there.
    pub(crate) latch: Option<Latch>,
}

/// A sample of a profile, unwound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampled {
    /// Its stack.
    pub stack: RawStackId,
    /// Nothing is missing in it.
    pub complete: bool,
}

/// The stacks of a process as numbers of a shared book. One for each thread that looks at the
/// process: reading its memory map anew may block, and must not hold up another.
#[derive(Debug)]
pub struct Watch {
    process: Process,
    book: Arc<Mutex<RawStackTable>>,
    known: HashMap<u32, Known>,
    places: HashMap<u64, LockLocation>,
    latches: Option<Latches>,
}

/// Memory of a process.
struct Peeked(u32);

impl Peek for Peeked {
    fn peek(&self, address: u64, bytes: &mut [u8]) -> bool {
        read_memory(self.0, address, bytes).is_ok_and(|read| read == bytes.len())
    }
}

/// What is remembered of a thread until it moves.
#[derive(Debug)]
struct Known {
    thread: UnwoundThread,
    thread_pointer: Option<u64>,
    complete: bool,
}

pub(crate) fn lock(book: &Mutex<RawStackTable>) -> MutexGuard<'_, RawStackTable> {
    // A panic in the middle of adding a stack leaves that stack out and nothing else wrong.
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Reads the process's memory map: this waits for its mmap_lock.
    pub fn open(
        pid: u32,
        images: &Images,
        book: Arc<Mutex<RawStackTable>>,
    ) -> Result<Self, ImagesError> {
        let process = Process::open(pid, images)?;
        Ok(Self {
            latches: Latches::find(|name| process.symbol_address(name)),
            process,
            book,
            known: HashMap::new(),
            places: HashMap::new(),
        })
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// To be called just before a snapshot of which the lock table is made, and
    /// [`Self::after_threads`] just after: the owners of InnoDB's read-write locks are believed that
    /// had them at both times.
    pub fn before_threads(&mut self) {
        let memory = Peeked(self.pid());
        if let Some(latches) = &mut self.latches {
            latches.read_before(&memory);
        }
    }

    /// See [`Self::before_threads`]; [`Self::see`] tells what it found.
    pub fn after_threads(&mut self) {
        let memory = Peeked(self.pid());
        if let Some(latches) = &mut self.latches {
            latches.read_after(&memory);
        }
    }

    /// Where a lock lies.
    pub fn lock_location(&mut self, address: u64) -> LockLocation {
        LockLocation {
            latch: self
                .latches
                .as_ref()
                .and_then(|latches| latches.at(address)),
            ..self.memory_place(address)
        }
    }

    fn memory_place(&mut self, address: u64) -> LockLocation {
        if let Some(place) = self.places.get(&address) {
            return place.clone();
        }
        if self.places.len() >= PLACES_MAX {
            self.places.clear();
        }
        let place = LockLocation {
            memory: self.process.memory_at(address),
            variable: self
                .process
                .locate(address)
                .map(|(loaded, address)| (loaded.image.clone(), address.offset)),
            latch: None,
        };
        self.places.insert(address, place.clone());
        place
    }

    /// Unwinds a snapshot. Threads that did not move keep what they were last seen with.
    pub fn see(&mut self, at: Millis, raw: &RawSnapshot) -> UnwoundSnapshot {
        let by_pointer: HashMap<u64, u32> = raw
            .threads
            .iter()
            .filter_map(|thread| Some((self.thread_pointer(thread)?, thread.tid)))
            .collect();
        let mut known = HashMap::with_capacity(raw.threads.len());
        let mut threads = Vec::with_capacity(raw.threads.len());
        let mut complete = 0;
        for raw_thread in &raw.threads {
            let before = self.known.remove(&raw_thread.tid);
            let now = match before {
                Some(before) if raw_thread.stack == Err(NoStack::Unmoved) => {
                    before.unmoved(raw_thread)
                }
                before => self.look(raw, raw_thread, &by_pointer, before.as_ref()),
            };
            complete += u32::from(now.complete);
            threads.push(now.thread.clone());
            known.insert(raw_thread.tid, now);
        }
        self.known = known;
        self.note_latch_owners(&mut threads, &by_pointer);
        UnwoundSnapshot {
            note: SnapshotMeta {
                at,
                method: method(raw.way),
                wall_us: raw.wall.as_micros() as u64,
                stopped_us: raw.stopped.as_micros() as u64,
                threads: threads.len() as u32,
                complete,
            },
            threads,
            left_out: raw.left_out,
        }
    }

    /// Events of InnoDB's mutexes that a variable leads to: `kernel_mutex` up to MySQL 5.5, where it is
    /// a pointer (srv0srv.h) to a mutex that begins with the pointer to its event (sync0sync.h,
    /// `mutex_struct`). Empty where there is none. Reads symbol tables: once, for a server of that age.
    pub(crate) fn innodb_events(&self) -> HashMap<u64, &'static str> {
        let pointer = |address: u64| {
            let mut bytes = [0; 8];
            let read = read_memory(self.pid(), address, &mut bytes).ok()?;
            (read == bytes.len()).then(|| u64::from_ne_bytes(bytes))
        };
        self.process
            .symbol_address("kernel_mutex_temp")
            .and_then(pointer)
            .and_then(pointer)
            .map(|event| (event, "kernel_mutex"))
            .into_iter()
            .collect()
    }

    /// Writes down who has the locks that threads of a snapshot wait for.
    fn note_latch_owners(&mut self, threads: &mut [UnwoundThread], by_pointer: &HashMap<u64, u32>) {
        let waits = self.latches.iter_mut().flat_map(Latches::take_waits);
        let owners: HashMap<u32, (LatchWait, u32)> = waits
            .filter_map(|wait| {
                let waiter = by_pointer.get(&wait.waiter)?;
                let owner = by_pointer.get(&wait.owner)?;
                Some((*waiter, (wait, *owner)))
            })
            .collect();
        if owners.is_empty() {
            return;
        }
        for thread in threads {
            let futex = thread.syscall.as_mut().and_then(|call| call.futex.as_mut());
            if let Some(futex) = futex
                && let Some((wait, owner)) = owners.get(&thread.tid)
                && wait.is_at(futex.address)
            {
                futex.latch_owner = *owner;
            }
        }
    }

    fn thread_pointer(&self, thread: &RawThread) -> Option<u64> {
        thread
            .thread_pointer
            .or_else(|| self.known.get(&thread.tid)?.thread_pointer)
            .filter(|pointer| *pointer != 0)
    }

    fn look(
        &mut self,
        raw: &RawSnapshot,
        thread: &RawThread,
        by_pointer: &HashMap<u64, u32>,
        before: Option<&Known>,
    ) -> Known {
        let unwound = match (&thread.stack, &thread.registers) {
            (Ok(_), Some(registers)) => {
                self.process
                    .unwind(registers, raw.stack_bytes(thread), thread.stack_whole)
            }
            (Err(_), Some(registers)) if never_in_user_mode(registers) => {
                nothing(StackEnd::KernelOnly)
            }
            (Err(reason), _) => nothing(end_of(*reason)),
            (Ok(_), None) => nothing(StackEnd::Unreadable),
        };
        let complete = unwound.end.is_complete();
        let stack = lock(&self.book).intern(&thread.kernel_stack, &unwound.addresses, unwound.end);
        // Names are shared between snapshots: they hardly ever change.
        let name = before
            .map(|before| before.thread.name.clone())
            .filter(|name| **name == *thread.name)
            .unwrap_or_else(|| thread.name.as_str().into());
        Known {
            thread: UnwoundThread {
                tid: thread.tid,
                name,
                state: RunState::from_letter(thread.state),
                switches: thread.switches,
                syscall: thread.syscall.map(|call| UnwoundSyscall {
                    number: call.number,
                    futex: thread
                        .futex
                        .as_ref()
                        .map(|futex| futex_wait(futex, by_pointer)),
                }),
                stack,
                sampled: false,
            },
            thread_pointer: thread.thread_pointer,
            complete,
        }
    }

    /// Takes threads of a second pass in whose first stacks could not be read.
    pub fn see_again(&mut self, seen: &mut UnwoundSnapshot, raw: &RawSnapshot) {
        seen.note.wall_us += raw.wall.as_micros() as u64;
        for raw_thread in raw.threads.iter().filter(|thread| thread.stack.is_ok()) {
            let known = self.look(raw, raw_thread, &HashMap::new(), None);
            if let Some(thread) = seen
                .threads
                .iter_mut()
                .find(|thread| thread.tid == raw_thread.tid)
            {
                seen.note.complete += u32::from(known.complete);
                *thread = known.thread;
            }
        }
    }

    /// Unwinds a sample of this process.
    pub fn sample(&mut self, sample: &RawSample<'_>) -> Sampled {
        let unwound = match &sample.registers {
            Some(registers) => self.process.unwind(registers, sample.stack, false),
            None => nothing(StackEnd::KernelOnly),
        };
        Sampled {
            stack: lock(&self.book).intern(sample.kernel_stack, &unwound.addresses, unwound.end),
            complete: unwound.end.is_complete(),
        }
    }

    /// Unwinds a stack of this process that was copied elsewhere.
    pub fn unwind(&mut self, registers: &Registers, stack: &[u8]) -> RawStackId {
        let unwound = self.process.unwind(registers, stack, false);
        lock(&self.book).intern(&[], &unwound.addresses, unwound.end)
    }

    /// The stack of a thread that was on a processor, from a sample taken in the same moments.
    pub fn fill(&mut self, seen: &mut UnwoundSnapshot, tid: u32, sampled: Sampled) {
        let Some(thread) = seen.threads.iter_mut().find(|thread| thread.tid == tid) else {
            return;
        };
        thread.stack = sampled.stack;
        thread.sampled = true;
        seen.note.complete += u32::from(sampled.complete);
    }
}

/// The kernel's part of a sample of some other process.
pub fn kernel_part(book: &Mutex<RawStackTable>, sample: &RawSample<'_>) -> RawStackId {
    lock(book).intern(sample.kernel_stack, &[], StackEnd::KernelOnly)
}

impl Known {
    fn unmoved(mut self, thread: &RawThread) -> Self {
        self.thread.state = RunState::from_letter(thread.state);
        self.thread.switches = thread.switches;
        self
    }
}

/// A worker of io_uring: a thread of the process that never leaves the kernel, so that all its
/// registers of user mode are 0 (kernel/fork.c, `create_io_thread`). MariaDB has some under load.
fn never_in_user_mode(registers: &Registers) -> bool {
    registers.ip == 0 && registers.sp == 0
}

fn nothing(end: StackEnd) -> Unwound {
    Unwound {
        addresses: Vec::new(),
        end,
    }
}

fn end_of(reason: NoStack) -> StackEnd {
    match reason {
        NoStack::OnProcessor => StackEnd::OnProcessor,
        NoStack::Refused => StackEnd::Refused,
        NoStack::Gone => StackEnd::Gone,
        // Unmoved since a snapshot that we did not see.
        NoStack::Unreadable | NoStack::Deadline | NoStack::Unmoved => StackEnd::Unreadable,
    }
}

fn method(way: Way) -> SnapshotMethod {
    match way {
        Way::Bpf => SnapshotMethod::Bpf,
        Way::Proc => SnapshotMethod::Proc,
        Way::Ptrace => SnapshotMethod::Ptrace,
    }
}

fn futex_wait(futex: &RawFutex, by_pointer: &HashMap<u64, u32>) -> FutexWait {
    let words = futex.words.as_ref();
    // A pointer is aligned; `pthread_self()` of a live thread does not occur by chance.
    let pointer_owner = words
        .into_iter()
        .flat_map(|words| words.chunks_exact(2))
        .filter_map(|pair| match pair {
            [low, high] => by_pointer.get(&(u64::from(*low) | u64::from(*high) << 32)),
            _ => None,
        })
        .next()
        .copied()
        .unwrap_or(0);
    FutexWait {
        address: futex.address,
        operation: futex.operation,
        owner_word: words.map_or(0, |words| words[2]),
        pointer_owner,
        latch_owner: 0,
    }
}
