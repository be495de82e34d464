//! Snapshots that are unwound and not named yet: their stacks are numbers.

use std::sync::Arc;

use model::{FutexWait, RunState, SnapshotMeta, SnapshotThread, StackId, Syscall, ThreadSnapshot};

use crate::{RawStackId, syscalls};

/// The system call a thread is in, without its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnwoundSyscall {
    /// Number of the system call on this architecture.
    pub number: i64,
    /// The futex it waits on.
    pub futex: Option<FutexWait>,
}

/// A thread of a snapshot whose stack has no names yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnwoundThread {
    /// Thread id.
    pub tid: u32,
    /// Name of the thread (`comm`).
    pub name: Arc<str>,
    /// State for the scheduler.
    pub state: RunState,
    /// How often it was switched out so far.
    pub switches: u64,
    /// The system call it is in.
    pub syscall: Option<UnwoundSyscall>,
    /// Its stack, in the [`crate::RawStackTable`] of the watch that saw it.
    pub stack: RawStackId,
    /// Its stack is from a perf event: it was on a processor.
    pub sampled: bool,
}

/// A snapshot whose stacks have no names yet: what a recorder keeps by the thousand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnwoundSnapshot {
    /// When and how it was taken.
    pub note: SnapshotMeta,
    /// The threads, by id.
    pub threads: Vec<UnwoundThread>,
    /// Threads that are not in it: over the limit, or ended in the pass.
    pub left_out: u32,
}

impl UnwoundSyscall {
    /// With its name.
    pub fn named(&self) -> Syscall {
        Syscall {
            number: self.number,
            name: syscalls::name(self.number).unwrap_or_default().to_owned(),
            futex: self.futex,
        }
    }
}

impl UnwoundSnapshot {
    /// The snapshot with the stacks of a named book; `stack_of` tells their numbers there.
    pub fn named(&self, stack_of: impl Fn(RawStackId) -> StackId) -> ThreadSnapshot {
        ThreadSnapshot {
            at: self.note.at,
            method: self.note.method,
            wall_us: self.note.wall_us,
            stopped_us: self.note.stopped_us,
            threads: self
                .threads
                .iter()
                .map(|thread| SnapshotThread {
                    tid: thread.tid,
                    name: thread.name.to_string(),
                    state: thread.state,
                    syscall: thread.syscall.as_ref().map(UnwoundSyscall::named),
                    stack: stack_of(thread.stack),
                    switches: thread.switches,
                    sampled: thread.sampled,
                })
                .collect(),
            left_out: self.left_out,
        }
    }
}
