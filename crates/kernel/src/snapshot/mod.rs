//! All threads of a process at one moment, as the kernel hands them over: registers and bytes.
//! Unwinding and naming come later, elsewhere, from what is here.
//!
//! Three ways, the gentlest first ([`Way`]); [`Snapshotter::open`] tries them on the process itself and keeps the first
//! that works. All of them copy the stacks' memory, and a copy waits while another thread of the process holds its
//! `mmap_lock` for writing (mmap, munmap, mprotect) or while a page comes from swap. The deadline is looked at between
//! threads; it cannot end such a wait. So a snapshotter runs on a thread of its own, and a pass that does not come back
//! is itself a sign of what is wrong.
//!
//! What the ways do not have in common:
//!
//! | | BPF | /proc | ptrace |
//! |---|---|---|---|
//! | kernel | 5.18, with BTF | any | 3.4 |
//! | needs | CAP_BPF, CAP_PERFMON | CAP_SYS_PTRACE and, for another user's process, CAP_DAC_READ_SEARCH | CAP_SYS_PTRACE |
//! | frame pointer | yes | no | yes |
//! | thread pointer | yes | glibc on x86-64 | yes |
//! | kernel stack | yes | no: `/proc/PID/task/TID/stack` has names, not addresses | no |
//! | ready to run, but not on a processor | yes | no (`OnProcessor`) | yes |
//! | on a processor | no | no | yes |
//!
//! **Each pass of the BPF iterator is compared with /proc.** The kernel takes a thread that exits during the pass for
//! the last one (`task_group_seq_get_next`). The number of threads is compared first (one fstat(2)); where it
//! differs, an iterator over all tasks fetches who is missing.
//!
//! **A snapshot comes first.** The copying thread has nice -10 where permitted (`kernel/src/snapshot/precedence.rs`):
//! a few milliseconds, which among hundreds of threads would be spread over a second. On two saturated processors 500
//! threads took 13.6 ms by BPF and 50 ms by /proc without, 6.5 and 20.8 ms with it.
//!
//! **Threads on a processor** have stale registers. Commands sample the processors 2,000 times a second while a
//! snapshot lasts. Threads that only waited for a turn are read again for up to 16 ms: with 100 threads by /proc 99.3
//! % of the stacks are complete, 98.8 % with 1.5 ms. The recorder has the profile instead.
//!
//! **Deep stacks are read twice.** A BPF record holds 31 KiB; the part above is read a moment later, since it belongs
//! to functions that wait for others to return (`kernel/src/snapshot/deep.rs`).
//!
//! **Kernel stacks by BPF only.** `/proc/PID/task/TID/stack` has no addresses, needs CAP_SYS_ADMIN, and is a file a
//! thread.
//!
//! **Lock waits at `sched_switch`**: a system call tracepoint slows every system call of the machine
//! (`syscall_regfunc`, kernel/tracepoint.c).

mod bpf;
mod bpf_link;
mod deep;
mod futex;
mod precedence;
mod proc;
mod ptrace;
mod raw;
mod record;
mod refusal;
mod syscall_line;
mod task_files;
mod thread_pointer;

pub use raw::{NoStack, RawFutex, RawSnapshot, RawSyscall, RawThread, Registers, Way};

use precedence::Precedence;
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::io;
use std::time::Duration;

/// The most threads in a snapshot unless told otherwise.
pub const THREADS_MAX_DEFAULT: usize = 4096;
/// The most bytes of one stack unless told otherwise. Of 155 threads of a server under load, 8 had more than 15.6 KiB
/// and none more than this.
pub const STACK_BYTES_DEFAULT: usize = 28 << 10;
/// The most bytes of one stack: with the rest of its record it must fit in the 32 KiB that the kernel gives a BPF
/// iterator (kernel/bpf/bpf_iter.c, `bpf_seq_read`).
pub const STACK_BYTES_MAX: usize = 31 << 10;

/// What a snapshotter may do, and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// `ptrace` is allowed where nothing gentler works: it stops each thread for the time of a copy, and makes some
    /// system calls of theirs fail with `EINTR` (signal(7)).
    pub force_stop: bool,
    /// Only this way. [`Way::Ptrace`] needs `force_stop` too.
    pub only: Option<Way>,
    /// The most threads in a snapshot; the others are counted.
    pub threads_max: usize,
    /// The most bytes of one stack that are copied at once; at most [`STACK_BYTES_MAX`].
    pub stack_bytes_max: usize,
    /// Read on where a stack is deeper than that, a moment later, up to 256 KiB.
    pub deep: bool,
    /// After it, a pass copies no more stacks. Counted from the pass's begin.
    pub deadline: Duration,
    /// Take kernel stacks too, where the way can.
    pub kernel_stacks: bool,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        Self {
            force_stop: false,
            only: None,
            threads_max: THREADS_MAX_DEFAULT,
            stack_bytes_max: STACK_BYTES_DEFAULT,
            deep: true,
            deadline: Duration::from_secs(2),
            kernel_stacks: true,
        }
    }
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The process has ended, or its id is another's now.
    #[error("process {pid} has ended")]
    Gone {
        /// The process.
        pid: u32,
    },
    /// No way is open on this machine; each with the reason and, where it is known, the cure.
    #[error("cannot read the stacks of process {pid}: {}", refusal::list(refused))]
    NoWay {
        /// The process.
        pid: u32,
        /// The ways that were tried, with what stands against them.
        refused: Vec<(Way, String)>,
    },
    /// A system call failed in a way that no thread's end explains.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The kernel's records are not what the BPF program writes.
    #[error("a record of the BPF program is incomplete")]
    Record,
}

impl SnapshotError {
    /// Whether the process is not there any more.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Gone { .. })
    }

    fn system(what: &'static str, source: impl Into<io::Error>) -> Self {
        Self::System {
            what,
            source: source.into(),
        }
    }
}

/// One pass over the threads.
#[derive(Debug, Clone, Copy)]
struct Pass<'a> {
    pid: u32,
    /// Only these threads.
    wanted: Option<&'a [u32]>,
    /// Leave the stacks of threads that did not move.
    reuse: bool,
    /// CLOCK_MONOTONIC.
    deadline: Duration,
    /// Room to make for the stacks at once.
    bytes_expected: usize,
}

impl Pass<'_> {
    fn nothing_taken(&self) -> Taken {
        Taken {
            bytes: Vec::with_capacity(self.bytes_expected),
            ..Taken::default()
        }
    }
}

/// What a pass brings.
#[derive(Debug, Default)]
struct Taken {
    threads: Vec<RawThread>,
    bytes: Vec<u8>,
    left_out: u32,
    stopped: Duration,
}

enum Taker {
    Bpf(Box<bpf::BpfThreads>),
    Proc(proc::ProcThreads),
    Ptrace(ptrace::PtraceThreads),
}

/// Takes snapshots of one process. Memory: about 1 MiB of the kernel's for BPF, 130 KiB of our own otherwise, and what
/// a snapshot holds.
pub struct Snapshotter {
    pid: u32,
    deadline: Duration,
    deep: bool,
    taker: Taker,
    /// The size of the last whole snapshot, which the next one's is near to.
    bytes_last: usize,
    refused: Vec<(Way, String)>,
}

impl Snapshotter {
    /// Finds the gentlest way that this machine allows for this process, by trying it on the process's first thread.
    /// For BPF that loads a program, which takes about a tenth of a second.
    pub fn open(pid: u32, options: &SnapshotOptions) -> Result<Self, SnapshotError> {
        let mut refused = Vec::new();
        for way in [Way::Bpf, Way::Proc, Way::Ptrace] {
            if options.only.is_some_and(|only| only != way) {
                continue;
            }
            match open_way(way, pid, options) {
                Ok(taker) => {
                    return Ok(Self {
                        pid,
                        deadline: options.deadline,
                        deep: options.deep,
                        taker,
                        bytes_last: 0,
                        refused,
                    });
                }
                Err(OpenError::Gone) => return Err(SnapshotError::Gone { pid }),
                Err(OpenError::Refused(reason)) => refused.push((way, reason)),
            }
        }
        Err(SnapshotError::NoWay { pid, refused })
    }

    /// The way in use.
    pub fn way(&self) -> Way {
        match self.taker {
            Taker::Bpf(_) => Way::Bpf,
            Taker::Proc(_) => Way::Proc,
            Taker::Ptrace(_) => Way::Ptrace,
        }
    }

    /// The gentler ways that are not possible here, each with the reason and, where it is known, the cure.
    pub fn refused(&self) -> &[(Way, String)] {
        &self.refused
    }

    /// All threads. With `reuse`, a thread that was not on a processor since this snapshotter last handed over its
    /// stack comes without it, as [`NoStack::Unmoved`], though with its registers where the way has them at no cost,
    /// and with what stands at its futex now: a lock can change hands while a thread waits for it. ptrace moves what it
    /// looks at and has no use for `reuse`.
    pub fn take(&mut self, reuse: bool) -> Result<RawSnapshot, SnapshotError> {
        self.pass(None, reuse)
    }

    /// Only these threads: a second try for those that were on a processor. Ids that are not the process's are passed
    /// over.
    pub fn take_threads(&mut self, tids: &[u32]) -> Result<RawSnapshot, SnapshotError> {
        self.pass(Some(tids), false)
    }

    fn pass(&mut self, wanted: Option<&[u32]>, reuse: bool) -> Result<RawSnapshot, SnapshotError> {
        let began = monotonic();
        let pass = Pass {
            pid: self.pid,
            wanted,
            reuse,
            deadline: began.saturating_add(self.deadline),
            bytes_expected: if wanted.is_some() || reuse {
                0
            } else {
                self.bytes_last
            },
        };
        let first = Precedence::take();
        let mut taken = match &mut self.taker {
            Taker::Bpf(way) => way.pass(&pass),
            Taker::Proc(way) => way.pass(&pass),
            Taker::Ptrace(way) => way.pass(&pass),
        }?;
        if self.deep {
            deep::extend(
                self.pid,
                &mut taken.threads,
                &mut taken.bytes,
                pass.deadline,
                monotonic,
            );
        }
        drop(first);
        if pass.wanted.is_none() && !reuse {
            self.bytes_last = taken.bytes.len();
        }
        taken.threads.sort_unstable_by_key(|thread| thread.tid);
        Ok(RawSnapshot {
            pid: self.pid,
            way: self.way(),
            began,
            wall: monotonic().saturating_sub(began),
            stopped: taken.stopped,
            threads: taken.threads,
            left_out: taken.left_out,
            bytes: taken.bytes,
        })
    }
}

impl fmt::Debug for Snapshotter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshotter")
            .field("pid", &self.pid)
            .field("way", &self.way())
            .field("refused", &self.refused)
            .finish_non_exhaustive()
    }
}

/// Why a way cannot be used.
enum OpenError {
    Gone,
    Refused(String),
}

fn open_way(way: Way, pid: u32, options: &SnapshotOptions) -> Result<Taker, OpenError> {
    match way {
        Way::Bpf => bpf::BpfThreads::open(pid, options).map(|way| Taker::Bpf(Box::new(way))),
        Way::Proc => proc::ProcThreads::open(pid, options).map(Taker::Proc),
        Way::Ptrace if options.force_stop => {
            ptrace::PtraceThreads::open(pid, options).map(Taker::Ptrace)
        }
        Way::Ptrace => Err(OpenError::Refused(
            "it stops the server's threads; not tried without --force-stop".to_owned(),
        )),
    }
}

fn monotonic() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshotter_may_be_given_to_another_thread() {
        fn may<T: Send>() {}
        may::<Snapshotter>();
    }
}
