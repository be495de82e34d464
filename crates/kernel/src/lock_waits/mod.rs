//! Exact futex waits of one process, with times and callers, and waits for locks of the kernel.
//!
//! A BPF program on `sched_switch` notes when a thread of the process is switched out inside a
//! futex call that waits, and counts the time when it is switched in again. No system call
//! tracepoint is used: those slow down every system call of the machine (`syscall_regfunc`,
//! kernel/tracepoint.c).
//!
//! **A wait** is one sleep: from the switch out to the switch in, the time on the run queue after
//! the waking included. A thread that is woken and finds the lock taken again sleeps again, and
//! that is a second wait, as it is for every counter of futex calls; so is the rest of a wait that
//! a signal interrupted. Times add up all the same, only counts are higher and maxima lower. A
//! lock taken by spinning was no wait. A timed `FUTEX_WAIT` that was interrupted by a signal
//! without a handler goes on under another system call (`restart_syscall`), and that rest is not
//! seen.
//!
//! **The window** begins when the programs are attached and ends in [`WaitCounter::finish`], or
//! where they switched themselves off. Threads asleep at its begin are found by a pass over the
//! tasks, those asleep at its end are read out with their age; both count with the time inside the
//! window. Only waits for locks of the kernel that began before it are not seen.
//!
//! A condition variable of glibc has two futex words (`__g_signals`) and may use both, so it can
//! be two addresses here.
//!
//! Nothing remains attached: programs, links and maps are file descriptors of this process, and go
//! with it however it ends.

mod counter;
mod error;
mod load;
mod meter;
mod rows;
mod wire;

use std::time::Duration;

use crate::snapshot::Registers;

pub use counter::WaitCounter;
pub use error::WaitError;
pub use wire::{HISTOGRAM_BUCKETS, STACK_BYTES_MAX, bucket_from};

/// [`AddressWaits::operation`] of `futex_wait(2)`, which has no operation: its number, shifted out
/// of the way of those of `futex(2)`.
pub const OPERATION_FUTEX_WAIT: u32 = 455 << 16;

/// [`AddressWaits::operation`] of `futex_waitv(2)`. The address is that of the first futex.
pub const OPERATION_FUTEX_WAITV: u32 = 449 << 16;

/// [`KernelWaits::flags`]: the waiter spins (`LCB_F_SPIN`, include/trace/events/lock.h).
pub const KERNEL_LOCK_SPIN: u32 = 1;
/// [`KernelWaits::flags`]: for reading (`LCB_F_READ`).
pub const KERNEL_LOCK_READ: u32 = 2;
/// [`KernelWaits::flags`]: for writing (`LCB_F_WRITE`).
pub const KERNEL_LOCK_WRITE: u32 = 4;
/// [`KernelWaits::flags`]: a lock of the real-time kernel (`LCB_F_RT`).
pub const KERNEL_LOCK_RT: u32 = 8;
/// [`KernelWaits::flags`]: a per-CPU reader-writer semaphore (`LCB_F_PERCPU`).
pub const KERNEL_LOCK_PERCPU: u32 = 16;
/// [`KernelWaits::flags`]: a mutex (`LCB_F_MUTEX`); with SPIN it began by spinning.
pub const KERNEL_LOCK_MUTEX: u32 = 32;

/// What to count, and how much it may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitOptions {
    /// The process, by its id in the first pid namespace.
    pub pid: u32,
    /// Waits of the process for its own locks.
    pub futexes: bool,
    /// Also waits for locks of the kernel, of all processes.
    pub kernel_locks: bool,
    /// At most so many waits a second carry their stack; 0: none.
    pub stacks_per_second_max: u32,
    /// Above this rate of waits, taken over 100 ms, counting switches itself off. Locks of the
    /// kernel have the same limit by themselves.
    pub events_per_second_max: u64,
    /// Bytes of stack that are copied, from the stack pointer upwards; rounded down to a multiple
    /// of 512, at least 512 and at most [`STACK_BYTES_MAX`].
    pub stack_bytes: u32,
}

/// One wait with its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitSample {
    /// The thread that waited, by its id in the first pid namespace.
    pub tid: u32,
    /// The futex.
    pub address: u64,
    /// Second argument of futex(2), or [`OPERATION_FUTEX_WAIT`], [`OPERATION_FUTEX_WAITV`].
    pub operation: u32,
    /// How long; of a wait that was not over, how long until the end of the window.
    pub waited: Duration,
    /// It was not over at the end of the window.
    pub still_waiting: bool,
    /// It stands for so many waits: one in so many was taken at that moment.
    pub one_in: u32,
    /// User registers at the system call.
    pub registers: Registers,
    /// `pthread_self()` (`fs_base`).
    pub thread_pointer: u64,
    /// The stack from `registers.sp` upwards, as far as it was mapped and in memory.
    pub stack: Vec<u8>,
}

/// The waits at one futex address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressWaits {
    /// The futex. 0: all addresses that found no room in the table ([`WaitTotals::overflow`]).
    pub address: u64,
    /// Second argument of futex(2) of its last wait, or [`OPERATION_FUTEX_WAIT`],
    /// [`OPERATION_FUTEX_WAITV`].
    pub operation: u32,
    /// Waits, those that were not over included.
    pub waits: u64,
    /// Time waited within the window.
    pub total: Duration,
    /// The longest wait.
    pub max: Duration,
    /// Waits that were not over at the end of the window.
    pub still_waiting: u64,
    /// Most threads that waited at once, from switch out to switch in.
    pub waiters_max: u64,
    /// Waits by length: see [`bucket_from`].
    pub histogram: [u32; HISTOGRAM_BUCKETS],
}

/// The waits for locks of the kernel from one place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelWaits {
    /// Addresses of the kernel's stack, innermost first: at most 16, of waits that spin 10. The
    /// first is the BPF program and the second the trace's entry (`bpf_trace_run2`); the lock's own
    /// code follows. Empty in the rows of the waits without one: above 4,000 stacks a second, of
    /// waits that spin 1,000, because walking a stack costs more than all the rest; and where the
    /// tables had no room.
    pub stack: Vec<u64>,
    /// `KERNEL_LOCK_…`.
    pub flags: u32,
    /// The lock is the `mmap_lock` of the process or of the waiter.
    pub is_mmap_lock: bool,
    /// Waits, those that were not over included.
    pub waits: u64,
    /// Time waited within the window.
    pub total: Duration,
    /// The longest wait.
    pub max: Duration,
    /// By threads of the process, out of `waits`. A wait that spins in an interrupt counts for the
    /// thread it interrupted.
    pub server_waits: u64,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitTotals {
    /// Length of the window; shorter when it was switched off.
    pub wall: Duration,
    /// By address, most time first.
    pub waits: Vec<AddressWaits>,
    /// By place in the kernel, most time first.
    pub kernel_locks: Vec<KernelWaits>,
    /// Samples that no `poll` handed over: the last ones, and those of waits that were not over.
    pub samples: Vec<WaitSample>,
    /// Waits counted.
    pub events: u64,
    /// Samples that found no room on their way.
    pub lost_samples: u64,
    /// Waits in the row of addresses that found no room, address 0.
    pub overflow: u64,
    /// Waits that were not counted: more threads than are followed (16,384).
    pub untracked: u64,
    /// Processor time of the programs, as the kernel measured it in a tenth of the window (the
    /// first 100 ms of each second), extrapolated; without what entering them takes. Absent
    /// without CAP_SYS_ADMIN.
    pub cost: Option<Duration>,
    /// The rate of waits was above the limit after so long, and nothing was counted from then on.
    pub switched_off_after: Option<Duration>,
    /// The same for locks of the kernel.
    pub kernel_locks_switched_off_after: Option<Duration>,
}
