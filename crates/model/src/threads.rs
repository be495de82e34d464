//! All threads of a server at one moment: what each does, where it waits, and its stack.

use serde::{Deserialize, Serialize};

use crate::{Millis, StackId};

/// How the stacks of a snapshot were taken, the gentlest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SnapshotMethod {
    /// BPF task iterator: all threads in one pass, registers, kernel and user stack; nothing stops.
    Bpf,
    /// `/proc/PID/task/TID/syscall` and `process_vm_readv`, thread by thread; nothing stops.
    Proc,
    /// `ptrace`: each thread is stopped for the time of one copy.
    Ptrace,
}

impl SnapshotMethod {
    /// The name in files and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bpf => "bpf",
            Self::Proc => "proc",
            Self::Ptrace => "ptrace",
        }
    }

    /// The method with this [`SnapshotMethod::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Bpf, Self::Proc, Self::Ptrace]
            .into_iter()
            .find(|method| method.name() == name)
    }

    /// The method in plain words.
    pub fn to_text(self) -> &'static str {
        match self {
            Self::Bpf => "BPF task iterator, nothing stopped",
            Self::Proc => "/proc and process_vm_readv, nothing stopped",
            Self::Ptrace => "ptrace, each thread stopped in turn",
        }
    }
}

/// What a thread does, as the scheduler sees it (`state` of proc_pid_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// On a processor or waiting for one (R).
    Running,
    /// In a wait that a signal may end (S).
    Sleeping,
    /// In a wait that nothing but its end ends: disk, page fault, kernel lock (D).
    Uninterruptible,
    /// Stopped by a signal or a debugger (T, t).
    Stopped,
    /// Ended (Z, X).
    Dead,
    /// Anything else.
    Other,
}

impl RunState {
    /// From the letter that `/proc/PID/stat` shows.
    pub fn from_letter(letter: char) -> Self {
        match letter {
            'R' => Self::Running,
            'S' | 'I' => Self::Sleeping,
            'D' => Self::Uninterruptible,
            'T' | 't' => Self::Stopped,
            'Z' | 'X' | 'x' => Self::Dead,
            _ => Self::Other,
        }
    }

    /// The letter that people know.
    pub fn letter(self) -> char {
        match self {
            Self::Running => 'R',
            Self::Sleeping => 'S',
            Self::Uninterruptible => 'D',
            Self::Stopped => 'T',
            Self::Dead => 'Z',
            Self::Other => '?',
        }
    }

    /// The state in plain words.
    pub fn to_text(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Sleeping => "sleeping",
            Self::Uninterruptible => "uninterruptible",
            Self::Stopped => "stopped",
            Self::Dead => "dead",
            Self::Other => "unknown",
        }
    }
}

/// The futex a thread waits on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FutexWait {
    /// Address of the futex word in the process.
    pub address: u64,
    /// The operation with its flags, as given to futex(2): `0x189` is
    /// FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME.
    pub operation: u32,
    /// Bytes 8 to 12 behind the address: the owner's thread id when the word is the lock of a
    /// `pthread_mutex_t` of glibc on x86-64, anything otherwise. 0 when it was not read.
    pub owner_word: u32,
    /// The thread whose `pthread_self()` stands in the 64 bytes from the address on, as in the
    /// read-write locks of MariaDB's InnoDB that keep their writer; 0 when there is none.
    pub pointer_owner: u32,
    /// The thread that has the InnoDB read-write lock which is waited for on this futex, by the
    /// server's own table of waits and the lock's words (MySQL 5.5, and 8.0 and later); 0 when that
    /// is not known.
    #[serde(default)]
    pub latch_owner: u32,
}

/// The system call a thread is in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Syscall {
    /// Its number on this architecture.
    pub number: i64,
    /// Its name; empty when it is not known.
    pub name: String,
    /// The futex, for those that wait on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub futex: Option<FutexWait>,
}

/// The connection a thread works for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadSession {
    /// Connection id.
    pub connection: u64,
    /// What it is doing (`Query`, `Sleep`).
    pub command: String,
    /// The server's own word for it (`Sending data`).
    pub state: String,
    /// Class of its statement (`SELECT`, `SHOW WARNINGS`); empty without one.
    pub statement_class: String,
    /// For how long, in seconds.
    pub seconds: f64,
}

/// A thread in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotThread {
    /// Thread id in the host's pid namespace.
    pub tid: u32,
    /// Name of the thread (`comm`).
    pub name: String,
    /// State for the scheduler, where the snapshot met it.
    pub state: RunState,
    /// The system call it is in; absent when it runs, or when that cannot be read.
    pub syscall: Option<Syscall>,
    /// Its stack, in the table of the record.
    pub stack: StackId,
    /// How often it was switched out so far: an unchanged number means that it did not move.
    pub switches: u64,
    /// It was on a processor, where the snapshot's method cannot read it: its stack is from a
    /// perf event in the same moments.
    #[serde(default)]
    pub sampled: bool,
}

/// All threads of a process at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadSnapshot {
    /// Start of the snapshot, on the recorder's clock.
    pub at: Millis,
    /// How it was taken.
    pub method: SnapshotMethod,
    /// Wall time of the capture, before unwinding and naming, in microseconds.
    pub wall_us: u64,
    /// The longest that any one thread was stopped for it, in microseconds.
    pub stopped_us: u64,
    /// The threads, by id.
    pub threads: Vec<SnapshotThread>,
    /// Threads that were there and are not in `threads`: over the limit, or ended in the pass.
    pub left_out: u32,
}

/// What is kept of a snapshot beside its [`ThreadRun`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotMeta {
    /// Start of the snapshot, on the recorder's clock.
    pub at: Millis,
    /// How it was taken.
    pub method: SnapshotMethod,
    /// Wall time of the capture, in microseconds.
    pub wall_us: u64,
    /// The longest that any one thread was stopped for it, in microseconds.
    pub stopped_us: u64,
    /// Threads of the process in the snapshot.
    pub threads: u32,
    /// Threads whose stack is complete.
    pub complete: u32,
}

/// A thread that was seen with the same stack in one snapshot after another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRun {
    /// Thread id.
    pub tid: u32,
    /// Name of the thread (`comm`).
    pub name: String,
    /// First snapshot that shows it so.
    pub from: Millis,
    /// Last snapshot that shows it so; every snapshot between does.
    pub to: Millis,
    /// Number of these snapshots.
    pub snapshots: u32,
    /// It was not switched in from the first to the last of them: one single wait.
    pub unmoved: bool,
    /// State for the scheduler, where the snapshot met it.
    pub state: RunState,
    /// The system call it was in.
    pub syscall: Option<Syscall>,
    /// Its stack, in the table of the record.
    pub stack: StackId,
}
