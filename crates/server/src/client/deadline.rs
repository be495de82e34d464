//! When a wait for the server ends.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::error::ClientError;

/// How long a wait lasts before it is looked whether somebody stopped it. Ctrl-C shall be answered at once, and a
/// wake-up costs a few microseconds.
const SLICE: Duration = Duration::from_millis(100);

/// The end of a whole operation, however many waits it has: a server that sends a byte a second comes to it as well.
#[derive(Debug, Clone)]
pub(crate) struct Deadline {
    end: Instant,
    stop: Option<Arc<AtomicBool>>,
}

impl Deadline {
    /// So long from now, or until `stop` is set.
    pub(crate) fn after(time: Duration, stop: Option<&Arc<AtomicBool>>) -> Self {
        let now = Instant::now();
        Self {
            // A time beyond the clock's range is as good as a year.
            end: now
                .checked_add(time)
                .unwrap_or_else(|| now + Duration::from_secs(365 * 86400)),
            stop: stop.cloned(),
        }
    }

    /// The same, but not after this moment.
    pub(crate) fn no_later_than(mut self, end: Option<Instant>) -> Self {
        self.end = end.map_or(self.end, |end| end.min(self.end));
        self
    }

    /// What is left of the time.
    pub(super) fn left(&self) -> Result<Duration, ClientError> {
        if let Some(stop) = &self.stop
            && stop.load(Ordering::Relaxed)
        {
            return Err(ClientError::Interrupted);
        }
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ClientError::TimedOut);
        }
        Ok(left)
    }

    /// The longest wait until something has to be looked at.
    pub(super) fn slice(&self) -> Result<Duration, ClientError> {
        let left = self.left()?;
        Ok(match self.stop {
            Some(_) => left.min(SLICE),
            None => left,
        })
    }

    /// Waits until a socket can be read or written.
    pub(super) fn wait(&self, socket: BorrowedFd<'_>, what: PollFlags) -> Result<(), ClientError> {
        loop {
            let slice = self.slice()?;
            let timeout = Timespec {
                tv_sec: i64::try_from(slice.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(slice.subsec_nanos()),
            };
            match poll(
                &mut [PollFd::from_borrowed_fd(socket, what)],
                Some(&timeout),
            ) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(ClientError::Io(error.into())),
            }
        }
    }

    /// Sleeps for `time`, or until the deadline.
    pub(super) fn sleep(&self, time: Duration) -> Result<(), ClientError> {
        std::thread::sleep(self.slice()?.min(time));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_the_deadline_or_when_it_is_stopped() {
        let (read, _write) = std::io::pipe().unwrap();
        let wait = |deadline: &Deadline| {
            let begin = Instant::now();
            let socket = std::os::fd::AsFd::as_fd(&read);
            (deadline.wait(socket, PollFlags::IN), begin.elapsed())
        };
        let short = Deadline::after(Duration::from_millis(30), None);
        let (ended, took) = wait(&short);
        assert!(matches!(ended, Err(ClientError::TimedOut)), "{ended:?}");
        assert!(took >= Duration::from_millis(20), "{took:?}");

        let stop = Arc::new(AtomicBool::new(false));
        let long = Deadline::after(Duration::from_secs(600), Some(&stop));
        let setter = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            stop.store(true, Ordering::Relaxed);
        });
        let (ended, took) = wait(&long);
        assert!(matches!(ended, Err(ClientError::Interrupted)), "{ended:?}");
        assert!(took < Duration::from_secs(60), "{took:?}");
        setter.join().unwrap();
    }
}
