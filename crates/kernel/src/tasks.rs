//! Every thread of a process with its counters, from `/proc/PID/task/TID/{stat,schedstat}`: no privilege, no lock of
//! the process taken, nothing stopped. A thread costs the caller 13 to 15 microseconds of CPU time (kernel 6.18, virtual
//! machine, 500 and 2,000 threads), nearly all of it in opening the two files.

use crate::procfs::task_stat::{self, SchedStat, TaskStat};
use crate::read::{ReadError, io_error};
use crate::roots::ProcRoot;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::io::{Errno, read, retry_on_intr};
use std::fmt::Write as _;
use std::mem::MaybeUninit;
use std::path::PathBuf;

/// Threads read in one scan; the others are only counted.
pub const THREADS_MAX: usize = 4096;

/// A directory entry of a seven-digit thread id takes 32 bytes, so one `getdents` lists [`THREADS_MAX`] threads at one
/// moment; over several, threads that end meanwhile make the kernel skip others (fs/proc/base.c, `first_tid`).
const DIRECTORY_BYTES: usize = THREADS_MAX * 32;
/// 52 numbers and a name.
const FILE_BYTES_MAX: usize = 2048;

/// One thread at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadSample {
    /// Thread id. Ids are used again: two samples are of the same thread when `start_time_ticks` agrees too.
    pub tid: u32,
    /// Start in ticks since boot.
    pub start_time_ticks: u64,
    /// Name, at most 15 bytes.
    pub comm: String,
    /// As in [`TaskStat::state`].
    pub state: char,
    /// CPU time in user mode, in ticks of [`crate::clock::hertz`].
    pub utime_ticks: u64,
    /// CPU time in the kernel, in ticks.
    pub stime_ticks: u64,
    /// Page faults that needed no I/O.
    pub minflt: u64,
    /// Page faults that waited for I/O.
    pub majflt: u64,
    /// Nanoseconds on a CPU; absent when the kernel does not count them.
    pub run_ns: Option<u64>,
    /// Nanoseconds ready to run and waiting for a CPU; absent when the kernel does not count them.
    pub wait_ns: Option<u64>,
}

/// The threads of a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadScan {
    /// In the kernel's order, oldest first.
    pub threads: Vec<ThreadSample>,
    /// Threads not read because of [`THREADS_MAX`].
    pub over_limit: usize,
    /// Threads that ended between being listed and being read.
    pub vanished: usize,
}

/// Scans processes on buffers that are kept between scans.
pub struct TaskScanner {
    proc: ProcRoot,
    directory: Vec<MaybeUninit<u8>>,
    file: Vec<u8>,
    path: String,
}

impl TaskScanner {
    /// A scanner of this procfs. Holds about 130 KiB.
    pub fn new(proc: ProcRoot) -> Self {
        Self {
            proc,
            directory: vec![MaybeUninit::uninit(); DIRECTORY_BYTES],
            file: vec![0; FILE_BYTES_MAX],
            path: String::new(),
        }
    }

    /// Reads every thread of a process. Fails when the process is gone or its threads cannot be listed; a thread that
    /// ends meanwhile is counted, not an error.
    pub fn scan(&mut self, pid: u32) -> Result<ThreadScan, ReadError> {
        let task = self.task(pid);
        let tasks = self.open(pid)?;

        let mut scan = ThreadScan::default();
        let mut entries = RawDir::new(tasks.as_fd(), &mut self.directory);
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|e| io_error(&task, e))?;
            let Some(tid) = tid(entry.file_name().to_bytes()) else {
                continue;
            };
            if scan.threads.len() + scan.vanished >= THREADS_MAX {
                scan.over_limit += 1;
                continue;
            }
            match sample(&tasks, tid, &mut self.path, &mut self.file) {
                Ok(Some(thread)) => scan.threads.push(thread),
                Ok(None) | Err(Errno::NOENT | Errno::SRCH) => scan.vanished += 1,
                Err(e) => return Err(io_error(&task.join(&self.path), e)),
            }
        }
        Ok(scan)
    }

    /// What the scheduler counted for some threads, in half the time of a scan; those that have ended are left out. Fails
    /// when the process is gone.
    pub fn sched_stats(
        &mut self,
        pid: u32,
        tids: &[u32],
    ) -> Result<Vec<(u32, SchedStat)>, ReadError> {
        let tasks = self.open(pid)?;
        let mut stats = Vec::with_capacity(tids.len());
        for tid in tids {
            match file(&tasks, *tid, "schedstat", &mut self.path, &mut self.file) {
                Ok(bytes) => {
                    stats.extend(task_stat::parse_schedstat(bytes).map(|stat| (*tid, stat)));
                }
                Err(Errno::NOENT | Errno::SRCH) => {}
                Err(e) => return Err(io_error(&self.task(pid).join(&self.path), e)),
            }
        }
        Ok(stats)
    }

    fn task(&self, pid: u32) -> PathBuf {
        self.proc.of(pid, "task")
    }

    fn open(&self, pid: u32) -> Result<OwnedFd, ReadError> {
        let task = self.task(pid);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(CWD, &task, flags, Mode::empty()).map_err(|e| io_error(&task, e))
    }
}

fn tid(name: &[u8]) -> Option<u32> {
    str::from_utf8(name).ok()?.parse().ok()
}

fn sample(
    tasks: &OwnedFd,
    tid: u32,
    path: &mut String,
    buffer: &mut [u8],
) -> Result<Option<ThreadSample>, Errno> {
    let Some(stat) = task_stat::parse(file(tasks, tid, "stat", path, buffer)?) else {
        return Ok(None);
    };
    let sched = match file(tasks, tid, "schedstat", path, buffer) {
        Ok(bytes) => task_stat::parse_schedstat(bytes),
        Err(Errno::NOENT | Errno::SRCH) => None,
        Err(e) => return Err(e),
    };
    Ok(Some(thread_sample(tid, stat, sched)))
}

/// procfs gives a whole record of this size in one read (fs/seq_file.c, `seq_read_iter`).
fn file<'a>(
    tasks: &OwnedFd,
    tid: u32,
    name: &str,
    path: &mut String,
    buffer: &'a mut [u8],
) -> Result<&'a [u8], Errno> {
    path.clear();
    // Writing to a String cannot fail.
    let _ = write!(path, "{tid}/{name}");
    let file = openat(
        tasks,
        path.as_str(),
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let read = retry_on_intr(|| read(&file, &mut *buffer))?;
    Ok(buffer.get(..read).unwrap_or_default())
}

/// The name of a thread (`comm`), without control characters; nothing when it is gone.
pub fn thread_name(proc: &ProcRoot, pid: u32, tid: u32) -> Option<String> {
    let bytes =
        crate::read::whole(&proc.of(pid, &format!("task/{tid}/comm")), FILE_BYTES_MAX).ok()?;
    let name = String::from_utf8_lossy(&bytes);
    Some(name.trim_end_matches('\n').to_owned())
}

fn thread_sample(tid: u32, stat: TaskStat, sched: Option<SchedStat>) -> ThreadSample {
    ThreadSample {
        tid,
        start_time_ticks: stat.start_time_ticks,
        comm: stat.comm,
        state: stat.state,
        utime_ticks: stat.utime_ticks,
        stime_ticks: stat.stime_ticks,
        minflt: stat.minflt,
        majflt: stat.majflt,
        run_ns: sched.map(|s| s.run_ns),
        wait_ns: sched.map(|s| s.wait_ns),
    }
}
