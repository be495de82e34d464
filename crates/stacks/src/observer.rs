//! Looking at one process for a while: snapshots with names, as commands print them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kernel::perf::{RawSample, Sampler, SamplerOptions, Scope, ring_bytes_for};
use kernel::snapshot::{
    NoStack, RawThread, Registers, SnapshotError, SnapshotOptions, Snapshotter, Way,
};
use model::{Millis, StackTable, ThreadSnapshot};
use thiserror::Error;

use crate::images::{Images, ImagesError};
use crate::locks::LockSymbols;
use crate::names::Namer;
use crate::naming::{Numbers, RawStacks, lock_symbols};
use crate::raw_stack_table::{RawStackId, RawStackTable};
use crate::unwound_snapshot::UnwoundSnapshot;
use crate::watch::{LockLocation, Sampled, Watch, lock};

/// Samples a second while a snapshot is taken: a thread that runs for a millisecond is seen.
const GLANCE_HZ: u32 = 2000;

/// User stack copied with each of them.
const GLANCE_STACK_BYTES: u32 = 32 * 1024 - 8;

/// The pause before each second try for threads that were on a processor. A thread that waits for
/// its turn on a busy machine waits for the slices of those before it, some milliseconds each.
const SECOND_TRIES_AFTER: [Duration; 5] = [
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_millis(2),
    Duration::from_millis(4),
    Duration::from_millis(8),
];

/// A snapshot of thousands of threads takes no longer.
const GLANCE_MAX: Duration = Duration::from_millis(50);

/// Distinct stacks of one look at a process.
const STACKS_MAX: usize = 200_000;

/// Why a process cannot be looked at.
#[derive(Debug, Error)]
pub enum ObserveError {
    /// No way to its threads.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Its images cannot be read.
    #[error(transparent)]
    Images(#[from] ImagesError),
}

/// Takes snapshots of one process.
pub struct Observer {
    snapshotter: Snapshotter,
    watch: Watch,
    book: Arc<Mutex<RawStackTable>>,
    /// For the threads that are on a processor when the snapshot comes to them.
    glance: Option<Sampler>,
    images: Images,
    places: HashMap<u64, LockLocation>,
    /// Kept, because the kernel's and the images' symbol tables take far longer to read than to
    /// use.
    namer: Namer,
    /// What unwinding took, of each snapshot so far.
    unwinding: Vec<Duration>,
    begin: Instant,
}

impl Observer {
    /// Opens the gentlest way that is permitted.
    pub fn open(pid: u32, options: &SnapshotOptions) -> Result<Self, ObserveError> {
        let book = Arc::new(Mutex::new(RawStackTable::new(STACKS_MAX)));
        let images = Images::new();
        let glance = Sampler::open(&SamplerOptions {
            scope: Scope::Machine,
            hz: GLANCE_HZ,
            stack_bytes: GLANCE_STACK_BYTES,
            kernel: options.kernel_stacks,
            user_stacks: true,
            ring_bytes: ring_bytes_for(GLANCE_HZ, GLANCE_STACK_BYTES, GLANCE_MAX),
        });
        let observer = Self {
            snapshotter: Snapshotter::open(pid, options)?,
            watch: Watch::open(pid, &images, book.clone())?,
            book,
            glance: glance.ok(),
            namer: Namer::new(&images),
            images,
            places: HashMap::new(),
            unwinding: Vec::new(),
            begin: Instant::now(),
        };
        Ok(observer)
    }

    /// How snapshots are taken.
    pub fn method(&self) -> Way {
        self.snapshotter.way()
    }

    /// Why gentler ways are not possible.
    pub fn refused(&self) -> &[(Way, String)] {
        self.snapshotter.refused()
    }

    /// The threads now. Stacks have no names yet, so that snapshots can follow each other.
    pub fn snapshot(&mut self) -> Result<UnwoundSnapshot, SnapshotError> {
        let at = self.now();
        if let Some(glance) = &mut self.glance {
            let _ = glance.enable();
        }
        self.watch.before_threads();
        let raw = self.snapshotter.take(false);
        self.watch.after_threads();
        let captured = Instant::now();
        let mut on_processor: HashMap<u32, Sampled> = HashMap::new();
        if let Some(glance) = &mut self.glance {
            let _ = glance.disable();
            let watch = &mut self.watch;
            let pid = watch.pid();
            glance.drain(&mut |sample: &RawSample<'_>| {
                if sample.pid == pid {
                    on_processor.insert(sample.tid, watch.sample(sample));
                }
            });
        }
        let raw = raw?;
        let mut seen = self.watch.see(at, &raw);
        let mut running: Vec<u32> = raw
            .threads
            .iter()
            .filter(|thread| thread.stack == Err(NoStack::OnProcessor))
            .map(|thread| thread.tid)
            .collect();
        running.retain(|tid| match on_processor.get(tid) {
            Some(sampled) => {
                self.watch.fill(&mut seen, *tid, *sampled);
                false
            }
            None => true,
        });
        // Some of the rest wait now, or for a processor where the way can read those.
        for pause in SECOND_TRIES_AFTER {
            if running.is_empty() {
                break;
            }
            std::thread::sleep(pause);
            let again = self.snapshotter.take_threads(&running)?;
            self.watch.see_again(&mut seen, &again);
            let read = |tid: &u32| {
                let of = |thread: &&RawThread| thread.tid == *tid;
                again
                    .threads
                    .iter()
                    .find(of)
                    .is_some_and(|thread| thread.stack.is_ok())
            };
            running.retain(|tid| !read(tid));
        }
        for thread in &seen.threads {
            if let Some(futex) = thread.syscall.and_then(|call| call.futex) {
                let place = self.watch.lock_location(futex.address);
                // What a latch is, is known when a wait for it was seen in the server's table.
                if place.latch.is_some() || !self.places.contains_key(&futex.address) {
                    self.places.insert(futex.address, place);
                }
            }
        }
        self.unwinding.push(captured.elapsed());
        Ok(seen)
    }

    /// Snapshots at an interval, for as long as `goes_on` says; it is told how many there are. When
    /// the process ends meanwhile, these are those taken until then.
    pub fn snapshots(
        &mut self,
        interval: Duration,
        mut goes_on: impl FnMut(usize) -> bool,
    ) -> Result<Vec<UnwoundSnapshot>, SnapshotError> {
        let mut taken = Vec::new();
        let mut next = Instant::now();
        while goes_on(taken.len()) {
            match self.snapshot() {
                Ok(seen) => taken.push(seen),
                Err(SnapshotError::Gone { .. }) if !taken.is_empty() => break,
                Err(error) => return Err(error),
            }
            next += interval;
            let now = Instant::now();
            if next > now {
                std::thread::sleep(next - now);
            } else {
                // Missed beats are not made up for.
                next = now;
            }
        }
        Ok(taken)
    }

    /// The stack of a wait for a lock, from registers and bytes that were copied elsewhere.
    pub fn unwind(&mut self, lock: u64, registers: &Registers, stack: &[u8]) -> RawStackId {
        self.places
            .entry(lock)
            .or_insert_with(|| self.watch.lock_location(lock));
        self.watch.unwind(registers, stack)
    }

    /// The programs and libraries seen.
    pub fn images(&self) -> &Images {
        &self.images
    }

    /// Names for addresses; it knows those that it was asked for before.
    pub fn namer(&mut self) -> &mut Namer {
        &mut self.namer
    }

    /// What unwinding took of each snapshot so far, in their order; the first one of an image reads
    /// its tables.
    pub fn unwinding(&self) -> &[Duration] {
        &self.unwinding
    }

    /// Milliseconds since it was opened, the time of its snapshots.
    pub fn now(&self) -> Millis {
        self.begin.elapsed().as_millis() as Millis
    }

    /// Names for all stacks of these snapshots, and for more of the same watch, in one book. The
    /// first time this reads symbol tables, up to a second.
    pub fn name(&mut self, seen: &[UnwoundSnapshot], more: &[RawStackId]) -> Named {
        let ids: HashSet<RawStackId> = seen
            .iter()
            .flat_map(|seen| seen.threads.iter().map(|thread| thread.stack))
            .chain(more.iter().copied())
            .collect();
        let mut book = StackTable::default();
        let stacks = RawStacks::copy(&lock(&self.book), &ids);
        let numbers = stacks.name(&mut self.namer, &mut book);
        let places = self.places.iter().map(|(address, place)| (*address, place));
        let mut symbols = lock_symbols(places);
        if book
            .frames()
            .iter()
            .any(|frame| frame.name == "mutex_spin_wait")
        {
            symbols.events = self.watch.innodb_events();
        }
        Named {
            snapshots: seen
                .iter()
                .map(|seen| seen.named(|id| numbers.get(id)))
                .collect(),
            symbols,
            numbers,
            book,
        }
    }
}

/// What was seen, with names.
#[derive(Debug)]
pub struct Named {
    /// The snapshots.
    pub snapshots: Vec<ThreadSnapshot>,
    /// Their stacks.
    pub book: StackTable,
    /// The numbers of all stacks in the book.
    pub numbers: Numbers,
    /// What the symbols say of the locks waited for.
    pub symbols: LockSymbols,
}
