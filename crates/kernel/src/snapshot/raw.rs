use std::ops::Range;
use std::time::Duration;

/// How a snapshot is taken, the gentlest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// BPF task iterator.
    Bpf,
    /// `/proc/PID/task/TID/syscall` and `process_vm_readv`.
    Proc,
    /// `ptrace`, one thread at a time.
    Ptrace,
}

/// The registers that unwinding needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Registers {
    /// Program counter.
    pub ip: u64,
    /// Stack pointer.
    pub sp: u64,
    /// Frame pointer (`rbp`, `x29`); absent where the kernel does not tell it.
    pub bp: Option<u64>,
    /// Link register of aarch64; absent elsewhere.
    pub lr: Option<u64>,
}

/// The futex a thread waits on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawFutex {
    /// First argument of futex(2).
    pub address: u64,
    /// Second argument.
    pub operation: u32,
    /// The 64 bytes from `address` on, when they could be read: lock word, count and owner of a
    /// glibc mutex on x86-64 are the first three; further on, types of the server's own keep the
    /// `pthread_self()` of their writer.
    pub words: Option<[u32; 16]>,
}

/// The system call a thread is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawSyscall {
    /// Its number.
    pub number: i64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// Why there is no user stack in a [`RawThread`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoStack {
    /// It was on a processor: what the kernel has of its registers is old.
    OnProcessor,
    /// The system refused it.
    Refused,
    /// It ended during the pass.
    Gone,
    /// Its stack's memory could not be read.
    Unreadable,
    /// It did not move since the last snapshot of the same snapshotter: what was true then is
    /// true now.
    Unmoved,
    /// Out of time: a deadline of the pass had passed.
    Deadline,
}

/// A thread as the kernel sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct RawThread {
    /// Its id in the host's pid namespace.
    pub tid: u32,
    /// Its name (`comm`), as bytes of UTF-8 where it is none.
    pub name: String,
    /// The letter of its state, as in `/proc/PID/stat`.
    pub state: char,
    /// Times it was switched out, by itself or by force.
    pub switches: u64,
    /// The system call it is in.
    pub syscall: Option<RawSyscall>,
    /// The futex it waits on, when that is what it does.
    pub futex: Option<RawFutex>,
    /// Its user registers.
    pub registers: Option<Registers>,
    /// Its thread pointer (`fs_base` on x86-64): `pthread_self()`, and near the upper end of its
    /// stack unless it is the first thread. Absent where the kernel does not tell it.
    pub thread_pointer: Option<u64>,
    /// Addresses of its kernel stack, innermost first; empty where it has none or that is refused.
    pub kernel_stack: Vec<u64>,
    /// Its user stack: where in [`RawSnapshot::bytes`] the bytes from `registers.sp` upwards are.
    pub stack: Result<Range<usize>, NoStack>,
    /// The bytes go to the upper end of the stack: there is nothing above them.
    pub stack_whole: bool,
}

/// All threads of a process, and the memory of their stacks.
#[derive(Debug, Clone)]
pub struct RawSnapshot {
    /// The process.
    pub pid: u32,
    /// How it was taken.
    pub way: Way,
    /// When it began, CLOCK_MONOTONIC.
    pub began: Duration,
    /// Wall time of the pass.
    pub wall: Duration,
    /// The longest that one thread was stopped.
    pub stopped: Duration,
    /// The threads, by id.
    pub threads: Vec<RawThread>,
    /// Threads left out: over the limit, or gone before anything was read.
    pub left_out: u32,
    /// Stack memory of all threads.
    pub bytes: Vec<u8>,
}

impl RawSnapshot {
    /// The bytes of a thread's stack, from its stack pointer upwards; empty when there are none.
    pub fn stack_bytes(&self, thread: &RawThread) -> &[u8] {
        thread
            .stack
            .as_ref()
            .ok()
            .and_then(|range| self.bytes.get(range.clone()))
            .unwrap_or(&[])
    }
}
