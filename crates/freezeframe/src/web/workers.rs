//! Threads that make what takes longer: files are read, and a disk may hang.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::Result;

use crate::listen::{Answer, Reply, Slot};

/// Two pages of a kind at a time; the reading of incidents has a lock besides.
const THREADS: usize = 2;

/// Pages that may wait for a thread.
const WAITING_MAX: usize = 16;

struct Job {
    slot: Slot,
    head_only: bool,
    make: Box<dyn FnOnce() -> Answer + Send>,
}

/// The threads.
pub(super) struct Workers(SyncSender<Job>);

impl Workers {
    /// Starts them, with names that begin so; `wake` is written to when an answer is there.
    pub(super) fn start(wake: &UnixStream, name: &str) -> Result<Self> {
        let (sender, jobs) = sync_channel(WAITING_MAX);
        let jobs = Arc::new(Mutex::new(jobs));
        for number in 0..THREADS {
            let (jobs, wake) = (jobs.clone(), wake.try_clone()?);
            kernel::own_threads::start(format!("{name}-{number}"), move || work(&jobs, wake))?;
        }
        Ok(Self(sender))
    }

    /// Has an answer made. Where too many wait for theirs already, it is that.
    pub(super) fn make(
        &self,
        head_only: bool,
        make: impl FnOnce() -> Answer + Send + 'static,
    ) -> Reply {
        let slot = Slot::new(OnceLock::new());
        let job = Job {
            slot: slot.clone(),
            head_only,
            make: Box::new(make),
        };
        match self.0.try_send(job) {
            Ok(()) => Reply::Later(slot),
            Err(_) => {
                let busy = Answer::text(503, "too many requests at once; try again");
                Reply::Now(busy.bytes(head_only).into())
            }
        }
    }
}

fn work(jobs: &Mutex<Receiver<Job>>, mut wake: UnixStream) {
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else {
            return;
        };
        let made = catch_unwind(AssertUnwindSafe(job.make));
        let answer = made.unwrap_or_else(|_| Answer::text(500, "internal error; please report it"));
        let _ = job.slot.set(answer.bytes(job.head_only).into());
        // Where that is full, somebody is about to look anyway.
        let _ = wake.write(&[1]);
    }
}
