//! `/proc/PID/stat` and `/proc/PID/task/TID/stat` (fs/proc/array.c, `do_task_stat`; proc_pid_stat(5)), and
//! `schedstat` beside it (fs/proc/base.c, `proc_pid_schedstat`). Readable without privilege; neither file waits for
//! the process's `mmap_lock`.

use super::text::{fields, number};

/// Set in `flags` of a thread of the kernel itself (include/linux/sched.h).
pub const PF_KTHREAD: u32 = 0x0020_0000;

/// One thread, or with `/proc/PID/stat` the whole process: then the times and faults are sums over its threads,
/// those that have ended included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStat {
    /// Thread id; in `/proc/PID/stat` the process id.
    pub id: u32,
    /// Name, at most 15 bytes, of a kernel thread up to 63; bytes that are not UTF-8 are replaced.
    pub comm: String,
    /// `R` running or ready, `S` sleeping, `D` uninterruptible, `T` stopped, `t` traced, `Z` zombie, `X` dead,
    /// `I` idle kernel thread.
    pub state: char,
    /// Parent's process id.
    pub parent: u32,
    /// `PF_*` bits of the kernel.
    pub flags: u32,
    /// Page faults that needed no I/O.
    pub minflt: u64,
    /// Page faults that waited for I/O.
    pub majflt: u64,
    /// CPU time in user mode, in ticks of [`crate::clock::hertz`].
    pub utime_ticks: u64,
    /// CPU time in the kernel, in ticks.
    pub stime_ticks: u64,
    /// Threads of the process.
    pub num_threads: u32,
    /// Start in ticks since boot; with the id it names a process or thread for good.
    pub start_time_ticks: u64,
    /// Ticks spent waiting for block I/O and swap-in; stays 0 unless delay accounting is on (sysctl
    /// `kernel.task_delayacct`, off by default since kernel 5.14).
    pub blkio_delay_ticks: Option<u64>,
}

/// Parses a `stat` file of a process or thread. `None` when it is not one.
pub fn parse(bytes: &[u8]) -> Option<TaskStat> {
    // comm is the task's own choice and may hold spaces, parentheses and newlines; after it there are only numbers.
    let open = bytes.iter().position(|&b| b == b'(')?;
    let close = bytes.iter().rposition(|&b| b == b')')?;
    let comm = bytes.get(open + 1..close)?;
    let mut rest = fields(bytes.get(close + 1..)?);

    let state = char::from(*rest.next()?.first()?);
    let parent = number(rest.next()?)?;
    let flags = number(rest.nth(4)?)?; // after pgrp, session, tty_nr, tpgid
    let minflt = number(rest.next()?)?;
    let majflt = number(rest.nth(1)?)?; // after cminflt
    let utime_ticks = number(rest.nth(1)?)?; // after cmajflt
    let stime_ticks = number(rest.next()?)?;
    let num_threads = number(rest.nth(4)?)?; // after cutime, cstime, priority, nice
    let start_time_ticks = number(rest.nth(1)?)?; // after itrealvalue
    let blkio_delay_ticks = rest.nth(19).and_then(number); // field 42 of proc_pid_stat(5)
    Some(TaskStat {
        id: number(bytes.get(..open)?.trim_ascii())?,
        comm: String::from_utf8_lossy(comm).into_owned(),
        state,
        parent,
        flags,
        minflt,
        majflt,
        utime_ticks,
        stime_ticks,
        num_threads,
        start_time_ticks,
        blkio_delay_ticks,
    })
}

/// What the scheduler counted for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedStat {
    /// Nanoseconds on a CPU.
    pub run_ns: u64,
    /// Nanoseconds ready to run and waiting for a CPU.
    pub wait_ns: u64,
    /// Times it was put on a CPU.
    pub slices: u64,
}

/// Parses a `schedstat` file of a thread. `None` also for `0 0 0`, which a kernel without these counts prints.
pub fn parse_schedstat(bytes: &[u8]) -> Option<SchedStat> {
    let mut rest = fields(bytes);
    let mut next = || rest.next().and_then(number);
    let stat = SchedStat {
        run_ns: next()?,
        wait_ns: next()?,
        slices: next()?,
    };
    (stat.run_ns | stat.wait_ns | stat.slices != 0).then_some(stat)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "4457 (ib_io) rd) (1) D 4455 4455 2568 0 -1 4194368 105 1 22 2 33 44 5 6 20 0 37 0 55880 \
        2998272 413 18446744073709551615 94160128950272 94160128974377 140726327395088 0 0 0 0 0 0 0 0 0 17 1 0 0 99 \
        0 0 94160128990224 94160128991840 94160952131584 140726327400951 140726327400973 140726327400973 \
        140726327402474 0\n";

    #[test]
    fn comm_with_parentheses() {
        let stat = parse(SERVER.as_bytes()).unwrap();
        assert_eq!(
            (stat.id, stat.comm.as_str(), stat.state),
            (4457, "ib_io) rd) (1", 'D')
        );
        assert_eq!((stat.parent, stat.flags & PF_KTHREAD), (4455, 0));
        assert_eq!((stat.minflt, stat.majflt), (105, 22));
        assert_eq!((stat.utime_ticks, stat.stime_ticks), (33, 44));
        assert_eq!((stat.num_threads, stat.start_time_ticks), (37, 55880));
        assert_eq!(stat.blkio_delay_ticks, Some(99));
    }

    #[test]
    fn comm_with_a_newline() {
        let stat = parse(SERVER.replace("ib_io", "a\nb").as_bytes()).unwrap();
        assert_eq!(stat.comm, "a\nb) rd) (1");
    }

    #[test]
    fn a_cut_file_is_none_or_lacks_only_the_end() {
        assert!(parse(b"12 (x) S 1 2").is_none());
        assert!(parse(b")12 (").is_none());
        let cut = SERVER.find(" 99 ").unwrap();
        assert_eq!(
            parse(&SERVER.as_bytes()[..cut]).unwrap().blkio_delay_ticks,
            None
        );
    }

    #[test]
    fn schedstat() {
        let expected = SchedStat {
            run_ns: 160_971,
            wait_ns: 1_751_354,
            slices: 2,
        };
        assert_eq!(parse_schedstat(b"160971 1751354 2\n"), Some(expected));
        assert_eq!(parse_schedstat(b"0 0 0\n"), None);
        assert_eq!(parse_schedstat(b"1 2"), None);
    }
}
