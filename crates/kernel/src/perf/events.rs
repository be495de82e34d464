#![allow(
    unsafe_code,
    reason = "perf_event_open(2), its ioctls and poll(2) are raw system calls"
)]

use std::io;
use std::time::{Duration, Instant};

use perf_event_open_sys::bindings::{self, perf_event_attr};
use perf_event_open_sys::ioctls;
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Whom an event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// Whatever runs.
    Any,
    /// A thread; for a process id its first thread.
    Thread(u32),
}

/// `perf_event_open(2)` on one processor.
pub(super) fn open(mut attr: perf_event_attr, task: Task, cpu: u32) -> io::Result<OwnedFd> {
    let pid = match task {
        Task::Any => -1,
        Task::Thread(tid) => libc::pid_t::try_from(tid).map_err(|_| io::ErrorKind::InvalidInput)?,
    };
    let cpu = libc::c_int::try_from(cpu).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: `attr` is a whole `perf_event_attr` with its size set; it asks for no signal, no breakpoint and no
    // address of ours, so the kernel writes nothing but its `size` and the ring that is mapped later.
    let fd = unsafe {
        perf_event_open_sys::perf_event_open(
            &mut attr,
            pid,
            cpu,
            -1,
            u64::from(bindings::PERF_FLAG_FD_CLOEXEC),
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Starts an event and those that threads inherited from it.
pub(super) fn enable(event: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptor is open for the call; ENABLE takes a number and touches no memory of ours.
    check(unsafe { ioctls::ENABLE(event.as_raw_fd(), 0) })
}

/// Stops an event and those that threads inherited from it.
pub(super) fn disable(event: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: as in `enable`.
    check(unsafe { ioctls::DISABLE(event.as_raw_fd(), 0) })
}

/// A new period or frequency, as [`super::Clock::period`] makes it. Inherited events keep theirs (`_perf_event_period`
/// does not go to the children).
pub(super) fn set_period(event: BorrowedFd<'_>, period: u64) -> io::Result<()> {
    // SAFETY: the argument is the address of a u64 (`perf_event_ioctl` reads one there), alive during the call; the
    // binding wants it as a number.
    check(unsafe { ioctls::PERIOD(event.as_raw_fd(), std::ptr::from_ref(&period) as u64) })
}

/// The records of `event` go to the ring of `owner`, an event on the same processor.
pub(super) fn set_output(event: BorrowedFd<'_>, owner: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both descriptors are open for the call; the kernel keeps the ring alive by itself afterwards.
    check(unsafe { ioctls::SET_OUTPUT(event.as_raw_fd(), owner.as_raw_fd()) })
}

/// Nanoseconds that an event was enabled; wants `PERF_FORMAT_TOTAL_TIME_ENABLED` alone. It stands still for an event
/// whose processor was taken away, also when that is back.
pub(super) fn time_enabled_ns(event: BorrowedFd<'_>) -> Option<u64> {
    let mut bytes = [0_u8; 16];
    let count = rustix::io::read(event, &mut bytes).ok()?;
    let (_value, time) = bytes.get(..count)?.split_first_chunk::<8>()?;
    time.first_chunk().map(|time| u64::from_ne_bytes(*time))
}

/// Waits until one of the rings has passed its watermark: true; or for `timeout`: false. An event that is gone (its
/// processor was taken away) would wake at once and always; it is left out.
pub(super) fn wait_any<'a>(
    rings: impl Iterator<Item = BorrowedFd<'a>>,
    timeout: Duration,
) -> io::Result<bool> {
    let began = Instant::now();
    let mut waits: Vec<libc::pollfd> = rings
        .map(|ring| libc::pollfd {
            fd: ring.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    loop {
        let left = timeout.saturating_sub(began.elapsed());
        // Rounded up: a wait of less than a millisecond must not become a busy loop.
        let left_ms = i32::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX);
        // SAFETY: the pointer and the length are those of `waits`, which nothing else uses during the call.
        let ready = unsafe { libc::poll(waits.as_mut_ptr(), waits.len() as libc::nfds_t, left_ms) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted && began.elapsed() < timeout {
                continue;
            }
            return if error.kind() == io::ErrorKind::Interrupted {
                Ok(false)
            } else {
                Err(error)
            };
        }
        if ready == 0 {
            return Ok(false);
        }
        if waits.iter().any(|wait| wait.revents & libc::POLLIN != 0) {
            return Ok(true);
        }
        for wait in waits.iter_mut().filter(|wait| wait.revents != 0) {
            wait.fd = -1; // poll(2): ignored
        }
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Task, disable, enable, open, time_enabled_ns};
    use crate::perf::Clock;
    use crate::perf::attributes::Recipe;
    use rustix::fd::AsFd;

    /// By this an event whose processor was taken away is told from one on an idle processor.
    #[test]
    fn the_clock_of_an_event_runs_while_it_is_enabled_and_stands_still_when_not() {
        let recipe = Recipe {
            clock: Clock::CpuClock,
            hz: 1,
            kernel: true,
            stack_bytes: 8,
            inherit: false,
        };
        let event = match open(recipe.sampling(), Task::Any, 0) {
            Ok(event) => event,
            Err(error) => {
                eprintln!("skipped: {error}");
                return;
            }
        };
        let event = event.as_fd();
        enable(event).unwrap();
        let first = time_enabled_ns(event).unwrap();
        let second = time_enabled_ns(event).unwrap();
        assert!(second > first, "{first} {second}");
        disable(event).unwrap();
        let stopped = time_enabled_ns(event).unwrap();
        assert_eq!(time_enabled_ns(event), Some(stopped));
    }
}
