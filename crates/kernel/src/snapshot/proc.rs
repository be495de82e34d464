//! Stacks by `/proc/PID/task/TID/{stat,schedstat,syscall}` and `process_vm_readv`, thread by thread.

use super::futex::{self, FUTEX_BYTES};
use super::raw::{NoStack, RawFutex, RawSyscall, RawThread, Registers};
use super::syscall_line::SyscallLine;
use super::task_files::{Header, TaskFiles, is_gone, is_refused};
use super::{OpenError, Pass, STACK_BYTES_MAX, SnapshotError, SnapshotOptions, Taken, monotonic};
use super::{refusal, thread_pointer};
use crate::memory::read_memory;
use rustix::io::Errno;
use std::collections::HashMap;
use std::io;
use std::ops::Range;

/// A thread that ran while it was looked at is looked at once more.
const ATTEMPTS: u32 = 2;
/// Copied above the thread pointer: the thread control block's own address is in it.
const TAIL_BYTES: u64 = 64;
/// No process has memory there (vm.mmap_min_addr), so a permitted read fails with EFAULT and a refused one with EPERM.
const NOWHERE: u64 = 8;

/// The way itself, with what it remembers of the threads.
#[derive(Debug)]
pub(super) struct ProcThreads {
    files: TaskFiles,
    copier: StackCopier,
    threads_max: usize,
    known: HashMap<u32, Known>,
}

/// A thread as it was last seen.
#[derive(Debug, Clone, Copy)]
struct Known {
    start_ticks: u64,
    thread_pointer: Option<u64>,
    /// Where it waited when its stack was handed over.
    given: Option<Given>,
}

#[derive(Debug, Clone, Copy)]
struct Given {
    switches: u64,
    syscall: Option<RawSyscall>,
    registers: Registers,
}

impl ProcThreads {
    pub(super) fn open(pid: u32, options: &SnapshotOptions) -> Result<Self, OpenError> {
        let gone_or = |e, what| {
            if is_gone(e) {
                OpenError::Gone
            } else {
                OpenError::Refused(refusal::proc(e, what, pid))
            }
        };
        let mut files = TaskFiles::open(pid).map_err(|e| gone_or(e, "/proc/PID/task"))?;
        let tid = files
            .living()
            .map_err(|e| gone_or(e, "/proc/PID/task/TID/stat"))?;
        match files.syscall(tid) {
            // The thread is there, as its header was read, so what is not there is the file.
            Err(Errno::NOENT) => {
                let reason =
                    "this kernel has no /proc/PID/task/TID/syscall (CONFIG_HAVE_ARCH_TRACEHOOK)";
                return Err(OpenError::Refused(reason.to_owned()));
            }
            Err(e) => return Err(gone_or(e, "/proc/PID/task/TID/syscall")),
            Ok(_) => {}
        }
        match read_memory(tid, NOWHERE, &mut [0]).map_err(|e| Errno::from_io_error(&e)) {
            Ok(_) | Err(Some(Errno::FAULT)) => {}
            Err(e) => return Err(gone_or(e.unwrap_or(Errno::INVAL), "process_vm_readv")),
        }
        Ok(Self {
            files,
            copier: StackCopier::new(options),
            threads_max: options.threads_max,
            known: HashMap::new(),
        })
    }

    pub(super) fn pass(&mut self, pass: &Pass<'_>) -> Result<Taken, SnapshotError> {
        let mut taken = pass.nothing_taken();
        let tids = listed(&mut self.files, pass, self.threads_max, &mut taken)?;
        let mut known = HashMap::with_capacity(tids.len());
        for &tid in &tids {
            if monotonic() >= pass.deadline {
                taken.threads.push(out_of_time(tid));
                known.extend(self.known.remove(&tid).map(|it| (tid, it)));
                continue;
            }
            match self.thread(tid, pass.reuse, &mut taken.bytes) {
                Ok((thread, it)) => {
                    taken.threads.push(thread);
                    known.insert(tid, it);
                }
                Err(e) if is_gone(e) => taken.left_out += 1,
                Err(e) => return Err(SnapshotError::system("/proc/PID/task/TID/stat", e)),
            }
        }
        if pass.wanted.is_some() {
            self.known.extend(known);
        } else {
            // Whoever was not listed has ended.
            self.known = known;
        }
        Ok(taken)
    }

    /// Fails only when nothing at all could be read.
    fn thread(
        &mut self,
        tid: u32,
        reuse: bool,
        bytes: &mut Vec<u8>,
    ) -> Result<(RawThread, Known), Errno> {
        let mut attempt = 1;
        loop {
            let header = self.files.header(tid)?;
            let known = self.known.get(&tid).copied();
            let known = known.filter(|known| known.start_ticks == header.start_ticks);
            let mut known = known.unwrap_or_else(|| Known {
                start_ticks: header.start_ticks,
                thread_pointer: thread_pointer::of(tid),
                given: None,
            });
            let mut thread = without_stack(tid, &header);
            thread.thread_pointer = known.thread_pointer;

            let unmoved = known
                .given
                .filter(|given| given.switches == header.switches);
            let off_processor = thread.state != 'R' || self.files.counts_arrivals();
            if let Some(given) = unmoved.filter(|_| reuse && off_processor) {
                thread.syscall = given.syscall;
                thread.registers = Some(given.registers);
                thread.futex = futex_of(tid, given.syscall);
                thread.stack = Err(NoStack::Unmoved);
                return Ok((thread, known));
            }

            let stack = self.stack(&mut thread, bytes);
            let moved = match self.files.switches(&header) {
                Ok(switches) => switches != header.switches,
                Err(_) => false,
            };
            if moved && attempt < ATTEMPTS {
                bytes.truncate(stack.map_or(bytes.len(), |range| range.start));
                attempt += 1;
                continue;
            }
            if moved && stack != Err(NoStack::Gone) {
                bytes.truncate(stack.map_or(bytes.len(), |range| range.start));
                let mut thread = without_stack(tid, &header);
                thread.thread_pointer = known.thread_pointer;
                known.given = None;
                return Ok((thread, known));
            }
            thread.stack = stack;
            known.given = match (&thread.stack, thread.registers) {
                (Ok(_), Some(registers)) => Some(Given {
                    switches: header.switches,
                    syscall: thread.syscall,
                    registers,
                }),
                _ => None,
            };
            return Ok((thread, known));
        }
    }

    /// Fills in what the thread waits for, and copies its stack.
    fn stack(
        &mut self,
        thread: &mut RawThread,
        bytes: &mut Vec<u8>,
    ) -> Result<Range<usize>, NoStack> {
        if matches!(thread.state, 'Z' | 'X') {
            return Err(NoStack::Gone);
        }
        let line = match self.files.syscall(thread.tid) {
            Ok(line) => line,
            Err(e) if is_gone(e) => return Err(NoStack::Gone),
            Err(e) if is_refused(e) => return Err(NoStack::Refused),
            Err(_) => return Err(NoStack::Unreadable),
        };
        let SyscallLine::Waiting { syscall, sp, ip } = line else {
            // A thread in state D is on no processor; then the kernel could not make sense of it.
            let why = if thread.state == 'D' {
                NoStack::Unreadable
            } else {
                NoStack::OnProcessor
            };
            return Err(why);
        };
        thread.syscall = syscall;
        thread.registers = Some(Registers {
            ip,
            sp,
            bp: None,
            lr: None,
        });
        thread.futex = futex_of(thread.tid, syscall);
        let (range, whole) = self
            .copier
            .copy(thread.tid, sp, thread.thread_pointer, bytes)?;
        thread.stack_whole = whole;
        Ok(range)
    }
}

/// Copies stacks to the end of a snapshot's bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct StackCopier {
    stack_bytes_max: usize,
}

impl StackCopier {
    pub(super) fn new(options: &SnapshotOptions) -> Self {
        Self {
            stack_bytes_max: options.stack_bytes_max.min(STACK_BYTES_MAX),
        }
    }

    /// Where the stack's bytes are now, and whether they go to its upper end.
    pub(super) fn copy(
        self,
        tid: u32,
        sp: u64,
        thread_pointer: Option<u64>,
        bytes: &mut Vec<u8>,
    ) -> Result<(Range<usize>, bool), NoStack> {
        // The thread library puts the control block, which the thread pointer points to, at the upper end of the stack.
        // The first thread has it elsewhere: its stack ends with its mapping.
        let to_block = thread_pointer
            .and_then(|pointer| pointer.checked_sub(sp))
            .and_then(|length| usize::try_from(length.saturating_add(TAIL_BYTES)).ok())
            .filter(|&length| length <= self.stack_bytes_max);
        let length = to_block.unwrap_or(self.stack_bytes_max);
        let start = bytes.len();
        bytes.resize(start + length, 0);
        let target = bytes.get_mut(start..).unwrap_or_default();
        match read_memory(tid, sp, target) {
            Ok(read) if read > 0 => {
                bytes.truncate(start + read);
                // Above what could be read there is no memory, so no frames either.
                Ok((start..start + read, to_block.is_some() || read < length))
            }
            other => {
                bytes.truncate(start);
                Err(no_stack(other.err()))
            }
        }
    }
}

fn no_stack(error: Option<io::Error>) -> NoStack {
    match error.as_ref().and_then(Errno::from_io_error) {
        Some(e) if is_gone(e) => NoStack::Gone,
        Some(e) if is_refused(e) => NoStack::Refused,
        _ => NoStack::Unreadable,
    }
}

/// The futex that this call of the thread waits on, with what stands there now.
pub(super) fn futex_of(tid: u32, syscall: Option<RawSyscall>) -> Option<RawFutex> {
    let mut futex = futex::waited_for(&syscall?)?;
    let mut bytes = [0; FUTEX_BYTES];
    if read_memory(tid, futex.address, &mut bytes).is_ok_and(|read| read == FUTEX_BYTES) {
        futex.words = futex::words(&bytes);
    }
    Some(futex)
}

/// A thread of which only the header is known.
pub(super) fn without_stack(tid: u32, header: &Header) -> RawThread {
    RawThread {
        name: header.name.clone(),
        state: header.state,
        switches: header.switches,
        stack: Err(NoStack::OnProcessor),
        ..out_of_time(tid)
    }
}

/// A thread that the deadline left no time for: not even its name is known.
pub(super) fn out_of_time(tid: u32) -> RawThread {
    RawThread {
        tid,
        name: String::new(),
        state: '?',
        switches: 0,
        syscall: None,
        futex: None,
        registers: None,
        thread_pointer: None,
        kernel_stack: Vec::new(),
        stack: Err(NoStack::Deadline),
        stack_whole: false,
    }
}

/// The threads of this pass; those over the limit are counted.
pub(super) fn listed(
    files: &mut TaskFiles,
    pass: &Pass<'_>,
    threads_max: usize,
    taken: &mut Taken,
) -> Result<Vec<u32>, SnapshotError> {
    let mut tids = files
        .list()
        .map_err(|e| SnapshotError::system("/proc/PID/task", e))?;
    if tids.is_empty() {
        return Err(SnapshotError::Gone { pid: pass.pid });
    }
    if let Some(wanted) = pass.wanted {
        tids.retain(|tid| wanted.contains(tid));
    }
    let over = tids.len().saturating_sub(threads_max);
    taken.left_out += u32::try_from(over).unwrap_or(u32::MAX);
    tids.truncate(threads_max);
    Ok(tids)
}
