//! Stacks by ptrace(2): each thread is stopped for the time of one copy, never two at once, never one in state D.
//!
//! **A killed tracer leaves nothing stopped.** Threads are seized without options, so without PTRACE_O_EXITKILL, and
//! when a tracer ends the kernel detaches what it traced: it takes back a stop that was asked for but has not come yet,
//! and lets a stopped thread go on (kernel/ptrace.c, `exit_ptrace`, `__ptrace_detach`, `__ptrace_unlink`). Tracers are
//! threads, not processes. So each pass has a tracer thread of its own, and one whose thread does not stop in time just
//! ends: PTRACE_DETACH works only on stopped threads, and waiting for the stop may take seconds when the thread is in
//! the kernel behind a lock.
//!
//! While a pass runs, nothing else in this process may wait for *any* child (`waitpid(-1)`): it would get the stops.

mod calls;

use super::proc::{StackCopier, futex_of, listed, out_of_time, without_stack};
use super::raw::{NoStack, RawThread};
use super::task_files::{TaskFiles, is_gone};
use super::{OpenError, Pass, SnapshotError, SnapshotOptions, Taken, monotonic, refusal};
use calls::Stop;
use rustix::io::Errno;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// A thread that has not stopped by then is let go.
const STOP_BUDGET: Duration = Duration::from_millis(20);
/// A thread that sleeps stops within some microseconds; until then looking again at once is the shortest stop.
const SPIN: Duration = Duration::from_micros(200);
const LOOK_AGAIN: Duration = Duration::from_micros(50);

/// The way itself.
#[derive(Debug)]
pub(super) struct PtraceThreads {
    files: TaskFiles,
    copier: StackCopier,
    threads_max: usize,
}

/// How a look at one thread ended.
enum Look {
    Done(RawThread),
    Gone,
    /// It is still seized and may stop any time: this tracer has to end.
    StillSeized(RawThread),
}

impl PtraceThreads {
    pub(super) fn open(pid: u32, options: &SnapshotOptions) -> Result<Self, OpenError> {
        let unlisted = |e| match e {
            e if is_gone(e) => OpenError::Gone,
            e => OpenError::Refused(refusal::proc(e, "/proc/PID/task", pid)),
        };
        let mut files = TaskFiles::open(pid).map_err(unlisted)?;
        let tid = files.living().map_err(unlisted)?;
        // Seizing alone does not stop it, and the end of the thread that did it lets it go.
        let tried = thread::spawn(move || calls::seize(tid)).join();
        match tried.unwrap_or(Err(Errno::INVAL)) {
            Ok(()) => Ok(Self {
                files,
                copier: StackCopier::new(options),
                threads_max: options.threads_max,
            }),
            Err(e) if is_gone(e) => Err(OpenError::Gone),
            Err(e) => Err(OpenError::Refused(refusal::ptrace(e, pid))),
        }
    }

    pub(super) fn pass(&mut self, pass: &Pass<'_>) -> Result<Taken, SnapshotError> {
        let mut taken = pass.nothing_taken();
        let tids = listed(&mut self.files, pass, self.threads_max, &mut taken)?;
        let mut rest = tids.as_slice();
        while !rest.is_empty() {
            let (looker, to, deadline) = (&mut *self, &mut taken, pass.deadline);
            let done = thread::scope(|scope| {
                let tracer = thread::Builder::new()
                    .name("tracer".to_owned())
                    .spawn_scoped(scope, || looker.look_at(rest, deadline, to));
                tracer.map(thread::ScopedJoinHandle::join)
            });
            let done = match done {
                Ok(Ok(done)) => done?,
                Ok(Err(_)) => {
                    return Err(SnapshotError::system(
                        "tracer",
                        io::Error::other("it panicked"),
                    ));
                }
                Err(e) => return Err(SnapshotError::system("start a tracer thread", e)),
            };
            rest = rest.get(done..).unwrap_or_default();
        }
        Ok(taken)
    }

    /// Looks at one thread after the other, and tells at how many: fewer than all when this tracer has to end.
    fn look_at(
        &mut self,
        tids: &[u32],
        deadline: Duration,
        taken: &mut Taken,
    ) -> Result<usize, SnapshotError> {
        calls::be_first();
        for (index, &tid) in tids.iter().enumerate() {
            if monotonic() >= deadline {
                taken.threads.push(out_of_time(tid));
                continue;
            }
            match self.look(tid, taken) {
                Ok(Look::Done(thread)) => taken.threads.push(thread),
                Ok(Look::StillSeized(thread)) => {
                    taken.threads.push(thread);
                    return Ok(index + 1);
                }
                Ok(Look::Gone) => taken.left_out += 1,
                Err(e) if is_gone(e) => taken.left_out += 1,
                Err(e) => return Err(SnapshotError::system("/proc/PID/task/TID/stat", e)),
            }
        }
        Ok(tids.len())
    }

    fn look(&mut self, tid: u32, taken: &mut Taken) -> Result<Look, Errno> {
        let header = self.files.header(tid)?;
        let mut thread = without_stack(tid, &header);
        match header.state {
            'Z' | 'X' => thread.stack = Err(NoStack::Gone),
            // It would stop only after its wait, and then for us.
            'D' => thread.stack = Err(NoStack::Refused),
            _ => return Ok(self.stop(thread, taken)),
        }
        Ok(Look::Done(thread))
    }

    fn stop(&mut self, mut thread: RawThread, taken: &mut Taken) -> Look {
        let tid = thread.tid;
        let begin = Instant::now();
        match calls::seize(tid) {
            Ok(()) => {}
            Err(e) if is_gone(e) => return Look::Gone,
            Err(_) => {
                thread.stack = Err(NoStack::Refused);
                return Look::Done(thread);
            }
        }
        if calls::interrupt(tid).is_err() {
            thread.stack = Err(NoStack::Gone);
            return Look::StillSeized(thread);
        }
        // It stops after the last look that found it running.
        let mut ran = begin;
        let signal = loop {
            let look = Instant::now();
            match calls::stopped(tid) {
                Ok(Stop::Stopped { signal }) => break signal,
                Ok(Stop::NotYet) => ran = look,
                Ok(Stop::Ended) | Err(_) => {
                    thread.stack = Err(NoStack::Gone);
                    return Look::StillSeized(thread);
                }
            }
            match begin.elapsed() {
                elapsed if elapsed > STOP_BUDGET => {
                    thread.stack = Err(NoStack::Deadline);
                    return Look::StillSeized(thread);
                }
                elapsed if elapsed > SPIN => thread::sleep(LOOK_AGAIN),
                _ => thread::yield_now(),
            }
        };
        self.copy(&mut thread, &mut taken.bytes);
        let detached = calls::detach(tid, signal);
        taken.stopped = taken.stopped.max(ran.elapsed());
        match detached {
            Ok(()) => Look::Done(thread),
            // Killed meanwhile, or not stopped after all: the end of this tracer settles it.
            Err(_) => Look::StillSeized(thread),
        }
    }

    /// What a stopped thread has.
    fn copy(&self, thread: &mut RawThread, bytes: &mut Vec<u8>) {
        let Ok(regs) = calls::registers(thread.tid) else {
            thread.stack = Err(NoStack::Refused);
            return;
        };
        thread.registers = Some(regs.registers);
        thread.thread_pointer = regs.thread_pointer;
        thread.syscall = regs.syscall;
        thread.futex = futex_of(thread.tid, regs.syscall);
        let sp = regs.registers.sp;
        match self.copier.copy(thread.tid, sp, regs.thread_pointer, bytes) {
            Ok((range, whole)) => {
                thread.stack = Ok(range);
                thread.stack_whole = whole;
            }
            Err(why) => thread.stack = Err(why),
        }
    }
}
