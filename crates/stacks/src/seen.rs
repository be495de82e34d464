use std::sync::Arc;

use model::{FutexWait, RunState, SnapshotNote, StackId, Syscall, ThreadAt, ThreadSnapshot};

use crate::{RawStackId, syscalls};

/// The system call a thread is in, without its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenSyscall {
    /// Its number.
    pub number: i64,
    /// The futex it waits on.
    pub futex: Option<FutexWait>,
}

/// A thread of a snapshot whose stack has no names yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenThread {
    /// Its id.
    pub tid: u32,
    /// Its name.
    pub name: Arc<str>,
    /// Its state.
    pub state: RunState,
    /// How often it was switched out so far.
    pub switches: u64,
    /// The system call it is in.
    pub syscall: Option<SeenSyscall>,
    /// Its stack, in the [`crate::RawBook`] of the watch that saw it.
    pub stack: RawStackId,
    /// Its stack is from a perf event: it was on a processor.
    pub sampled: bool,
}

/// A snapshot whose stacks have no names yet: what a recorder keeps by the thousand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// When and how it was taken.
    pub note: SnapshotNote,
    /// The threads, by id.
    pub threads: Vec<SeenThread>,
    /// Threads that are not in it: over the limit, or ended in the pass.
    pub left_out: u32,
}

impl SeenSyscall {
    /// With its name.
    pub fn named(&self) -> Syscall {
        Syscall {
            number: self.number,
            name: syscalls::name(self.number).unwrap_or_default().to_owned(),
            futex: self.futex,
        }
    }
}

impl Seen {
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
                .map(|thread| ThreadAt {
                    tid: thread.tid,
                    name: thread.name.to_string(),
                    state: thread.state,
                    syscall: thread.syscall.as_ref().map(SeenSyscall::named),
                    stack: stack_of(thread.stack),
                    switches: thread.switches,
                    sampled: thread.sampled,
                })
                .collect(),
            left_out: self.left_out,
        }
    }
}
