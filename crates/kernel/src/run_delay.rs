//! How long a thread of this process was ready to run and had no processor. That time is not the server's: on a host
//! whose processors are all taken, an answer may lie in the socket for seconds before the thread that asked reads it.

use std::time::Duration;

use crate::procfs::task_stat;

/// How long the calling thread was ready without a processor since it began. Nothing where the kernel does not count it.
pub fn so_far() -> Option<Duration> {
    let bytes = std::fs::read("/proc/thread-self/schedstat").ok()?;
    let stat = task_stat::parse_schedstat(&bytes)?;
    Some(Duration::from_nanos(stat.wait_ns))
}

/// The same since it was `before`; nothing where either is unknown.
pub fn since(before: Option<Duration>) -> Duration {
    match (before, so_far()) {
        (Some(before), Some(now)) => now.saturating_sub(before),
        _ => Duration::ZERO,
    }
}

/// The calling thread's id.
pub fn own_tid() -> u32 {
    rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .unsigned_abs()
}

/// Whether a thread of this process is on a processor or waits for one. The kernel counts a wait only when it is over
/// (kernel/sched/stats.h, `sched_info_arrive`), so a thread that still waits is known by its state alone.
pub fn is_ready(tid: u32) -> bool {
    let bytes = std::fs::read(format!("/proc/self/task/{tid}/stat"));
    let stat = bytes.ok().and_then(|bytes| task_stat::parse(&bytes));
    stat.is_some_and(|stat| stat.state == 'R')
}

/// How long a thread of this process has been on a processor; nothing where the kernel does not count it. Of one that is
/// there now it may lack the time since the kernel's last tick.
pub fn ran(tid: u32) -> Option<Duration> {
    let bytes = std::fs::read(format!("/proc/self/task/{tid}/schedstat")).ok()?;
    let stat = task_stat::parse_schedstat(&bytes)?;
    Some(Duration::from_nanos(stat.run_ns))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing step fails the test")]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_thread_that_waits_for_a_processor_is_told_from_one_that_waits_for_an_answer() {
        let (tell, told) = mpsc::channel();
        let (_answer, never) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            let _ = tell.send(own_tid());
            let _ = never.recv();
        });
        let blocked = told.recv().unwrap();
        let end = std::time::Instant::now() + Duration::from_secs(20);
        while is_ready(blocked) && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!is_ready(blocked));
        assert!(is_ready(own_tid()));
        assert!(!is_ready(u32::MAX), "no such thread");
        let before = ran(blocked);
        assert_eq!(ran(blocked), before);
        assert_eq!(ran(u32::MAX), None);
    }

    #[test]
    fn time_without_a_processor_is_counted_and_sleep_is_not() {
        let Some(before) = so_far() else {
            eprintln!("skipped: this kernel does not count what threads wait for a processor");
            return;
        };
        // More threads than processors, all of them busy: this one has to wait.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let end = std::time::Instant::now() + Duration::from_millis(200);
        let spin = move || {
            while std::time::Instant::now() < end {
                std::hint::spin_loop();
            }
        };
        let others: Vec<_> = (0..3 * processors)
            .map(|_| std::thread::spawn(spin))
            .collect();
        spin();
        for other in others {
            other.join().unwrap();
        }
        assert!(since(Some(before)) > Duration::from_millis(20));
        assert_eq!(since(None), Duration::ZERO);
    }
}
