//! Processor time for a thread of our own that somebody waits for, where a host has none left.
#![allow(unsafe_code, reason = "libc has no function for sched_setattr(2)")]

use std::io;
use std::time::Duration;

use rustix::process::{Pid, getpriority_process};

/// The policy that gives a thread so much time of each period (sched(7)); libc has no name for it.
const SCHED_DEADLINE: i32 = 6;

/// Gives a thread of this process a processor as soon as it has something to do, for so long of each period at the most: the
/// kernel stops it for the rest of the period, and lets nobody promise more time than there is. So it waits for no ordinary
/// thread, and no mistake in it can take more than its part from a server. Threads that it starts are ordinary ones.
///
/// A nice value would not do: where threads are in groups (cgroups, sessions) it counts within the group alone.
///
/// # Errors
/// Without CAP_SYS_NICE, in a set of processors that is not all of them, or where too much was promised already. The thread
/// stays what it was.
pub fn reserve(thread: u32, time: Duration, period: Duration) -> io::Result<()> {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    set(
        thread,
        SCHED_DEADLINE,
        nanoseconds(time),
        nanoseconds(period),
    )
}

/// Makes a thread of this process an ordinary one again: for work that is long, and that nobody waits for.
///
/// # Errors
/// When the kernel refuses it.
pub fn give_back(thread: u32) -> io::Result<()> {
    set(thread, libc::SCHED_OTHER, 0, 0)
}

fn set(thread: u32, policy: i32, time_ns: u64, period_ns: u64) -> io::Result<()> {
    let thread = thread.cast_signed();
    let attributes = libc::sched_attr {
        size: u32::try_from(size_of::<libc::sched_attr>()).unwrap_or(0),
        sched_policy: policy.cast_unsigned(),
        sched_flags: u64::from(libc::SCHED_FLAG_RESET_ON_FORK.cast_unsigned()),
        // That of an ordinary thread, which it keeps meanwhile.
        sched_nice: getpriority_process(Pid::from_raw(thread)).unwrap_or(0),
        sched_priority: 0,
        sched_runtime: time_ns,
        sched_deadline: period_ns,
        sched_period: period_ns,
    };
    let flags = 0;
    // SAFETY: the kernel reads the attributes of a live reference, as many bytes as `size` says, and writes nothing.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setattr,
            thread,
            &raw const attributes,
            flags,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_delay::own_tid;

    /// Field 41 of proc_pid_stat(5).
    fn policy() -> i32 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, rest) = stat.rsplit_once(')').unwrap();
        rest.split_whitespace().nth(38).unwrap().parse().unwrap()
    }

    #[test]
    fn a_thread_has_its_time_or_stays_what_it_was() {
        std::thread::spawn(|| {
            let own = own_tid();
            let given = reserve(own, Duration::from_millis(1), Duration::from_millis(100));
            assert_eq!(policy() == SCHED_DEADLINE, given.is_ok());
            let more_than_there_is = reserve(own, Duration::from_secs(2), Duration::from_secs(1));
            assert!(more_than_there_is.is_err());
            assert_eq!(std::thread::spawn(policy).join().unwrap(), 0);
            give_back(own).unwrap();
            assert_eq!(policy(), 0);
        })
        .join()
        .unwrap();
    }
}
