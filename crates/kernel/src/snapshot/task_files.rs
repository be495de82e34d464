//! The threads of a process and their files in `/proc/PID/task`. None of these waits for the process's `mmap_lock`.

use super::syscall_line::{self, SyscallLine};
use crate::procfs::{task_stat, task_status};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, RawDir, SeekFrom, fstat, openat, seek};
use rustix::io::{Errno, pread, retry_on_intr};
use std::fmt::Write as _;
use std::mem::MaybeUninit;

/// One `getdents` of 4,096 threads with ids of seven digits: over several, threads that end meanwhile make the kernel
/// skip others (fs/proc/base.c, `first_tid`).
const DIRECTORY_BYTES: usize = 4096 * 32;
/// Links of a directory without directories in it: from the one above, and from itself.
const DIRECTORY_LINKS: usize = 2;
/// `stat`, `schedstat` and `syscall` are far shorter, and of `status` the switches are the last lines: 1.5 KiB, unless
/// the process is in hundreds of groups.
const FILE_BYTES_MAX: usize = 16 << 10;

/// Where the count of a thread's switches is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switches {
    /// Third number of `schedstat`: times put on a processor. For a thread that is on none that equals the times it was
    /// taken off. The file costs a third of `status`.
    SchedStat,
    /// Both kinds of switches in `status`, for kernels that do not count the other (no CONFIG_SCHED_INFO, or delay
    /// accounting switched off).
    Status,
}

/// A process's directory of threads. It stays the process's own when its id is given again.
#[derive(Debug)]
pub(super) struct TaskFiles {
    task: OwnedFd,
    switches: Switches,
    directory: Vec<MaybeUninit<u8>>,
    file: Vec<u8>,
    path: String,
}

/// What is known of a thread before its stack.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) start_ticks: u64,
    pub(super) name: String,
    pub(super) state: char,
    pub(super) switches: u64,
    /// The file to read `switches` from again.
    counter: OwnedFd,
}

impl TaskFiles {
    /// Opens the directory; `ENOENT` when there is no such process.
    pub(super) fn open(pid: u32) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let task = openat(CWD, format!("/proc/{pid}/task"), flags, Mode::empty())?;
        let mut files = Self {
            task,
            switches: Switches::SchedStat,
            directory: vec![MaybeUninit::uninit(); DIRECTORY_BYTES],
            file: vec![0; FILE_BYTES_MAX],
            path: String::new(),
        };
        // Whether the kernel counts is the same for all threads; this one has certainly run.
        let own = openat(
            CWD,
            "/proc/thread-self/schedstat",
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        );
        let counted = own.is_ok_and(|own| {
            read(&own, &mut files.file)
                .is_ok_and(|bytes| task_stat::parse_schedstat(bytes).is_some())
        });
        if !counted {
            files.switches = Switches::Status;
        }
        Ok(files)
    }

    /// The ids of all threads, oldest first; empty when the process is gone.
    pub(super) fn list(&mut self) -> Result<Vec<u32>, Errno> {
        let mut tids = Vec::new();
        seek(&self.task, SeekFrom::Start(0))?;
        let mut entries = RawDir::new(self.task.as_fd(), &mut self.directory);
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) => tids.extend(tid(entry.file_name().to_bytes())),
                Err(Errno::NOENT | Errno::SRCH) => break,
                Err(e) => return Err(e),
            }
        }
        Ok(tids)
    }

    /// How many threads there are, without their ids: the kernel adds them to the directory's links (fs/proc/base.c,
    /// `proc_task_getattr`), which takes a microsecond where the list takes one for each thread.
    pub(super) fn threads(&self) -> Result<usize, Errno> {
        let links = fstat(&self.task)?.st_nlink;
        Ok(usize::try_from(links)
            .unwrap_or(usize::MAX)
            .saturating_sub(DIRECTORY_LINKS))
    }

    /// A thread that has not ended, the first if it is one; `ESRCH` when there is none.
    pub(super) fn living(&mut self) -> Result<u32, Errno> {
        for tid in self.list()? {
            let header = self.header(tid);
            if header.is_ok_and(|header| !matches!(header.state, 'Z' | 'X')) {
                return Ok(tid);
            }
        }
        Err(Errno::SRCH)
    }

    /// Name, state and switches; `ENOENT` or `ESRCH` when the thread is gone.
    pub(super) fn header(&mut self, tid: u32) -> Result<Header, Errno> {
        let stat = self.open_file(tid, "stat")?;
        let stat = task_stat::parse(read(&stat, &mut self.file)?).ok_or(Errno::INVAL)?;
        let counter = self.open_file(
            tid,
            match self.switches {
                Switches::SchedStat => "schedstat",
                Switches::Status => "status",
            },
        )?;
        Ok(Header {
            start_ticks: stat.start_time_ticks,
            name: stat.comm,
            state: stat.state,
            switches: self.count(&counter)?,
            counter,
        })
    }

    /// The count of switches now.
    pub(super) fn switches(&mut self, header: &Header) -> Result<u64, Errno> {
        self.count(&header.counter)
    }

    /// Whether the count of switches changes when a thread comes to a processor, not only when it leaves it.
    pub(super) fn counts_arrivals(&self) -> bool {
        self.switches == Switches::SchedStat
    }

    /// What the thread does, and where its stack is; `EPERM` or `EACCES` when that is refused.
    pub(super) fn syscall(&mut self, tid: u32) -> Result<SyscallLine, Errno> {
        let file = self.open_file(tid, "syscall")?;
        syscall_line::parse(read(&file, &mut self.file)?).ok_or(Errno::INVAL)
    }

    fn count(&mut self, counter: &OwnedFd) -> Result<u64, Errno> {
        let bytes = read(counter, &mut self.file)?;
        Ok(match self.switches {
            // `None` stands for three zeros here: it has not run yet.
            Switches::SchedStat => task_stat::parse_schedstat(bytes).map_or(0, |stat| stat.slices),
            Switches::Status => {
                let status = task_status::parse(bytes);
                let both = status.voluntary_switches.zip(status.involuntary_switches);
                let (voluntary, involuntary) = both.ok_or(Errno::INVAL)?;
                voluntary.wrapping_add(involuntary)
            }
        })
    }

    fn open_file(&mut self, tid: u32, name: &str) -> Result<OwnedFd, Errno> {
        self.path.clear();
        // Writing to a String cannot fail.
        let _ = write!(self.path, "{tid}/{name}");
        openat(
            &self.task,
            self.path.as_str(),
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )
    }
}

fn tid(name: &[u8]) -> Option<u32> {
    str::from_utf8(name).ok()?.parse().ok()
}

/// procfs gives a whole record of this size in one read (fs/seq_file.c, `seq_read_iter`), and makes it anew for each
/// read from the beginning.
fn read<'a>(file: &OwnedFd, buffer: &'a mut [u8]) -> Result<&'a [u8], Errno> {
    let read = retry_on_intr(|| pread(file, &mut *buffer, 0))?;
    Ok(buffer.get(..read).unwrap_or_default())
}

/// The thread or the process ended.
pub(super) fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::SRCH)
}

/// The system does not allow it.
pub(super) fn is_refused(error: Errno) -> bool {
    matches!(error, Errno::PERM | Errno::ACCESS)
}
