//! Loads and programs that run beside something else.

use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use testbed::{Load, LoadResult, Login, Mix, Watch};

/// A load of a mix; ended by whoever started it, the bound is for the case that they cannot.
pub(crate) fn load(
    login: Login,
    mix: &Mix,
    clients: usize,
    rate_per_second: Option<f64>,
    compression: bool,
) -> Load {
    Load {
        login,
        clients,
        rate_per_second,
        compression,
        reconnect: false,
        statements: mix.statements(),
        duration: Duration::from_secs(150),
        timeout: Duration::from_secs(10),
    }
}

/// A load on a thread of its own.
pub(crate) struct Background {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<LoadResult, testbed::Error>>>,
}

impl Background {
    pub(crate) fn start(load: Load) -> Result<Self> {
        Self::start_as(load, None)
    }

    /// With a log of what its clients feel.
    pub(crate) fn start_watched(load: Load, watch: &Arc<Watch>) -> Result<Self> {
        Self::start_as(load, Some(watch.clone()))
    }

    fn start_as(load: Load, watch: Option<Arc<Watch>>) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("lab-load".to_owned())
            .spawn(move || match watch {
                Some(watch) => testbed::run_watched(&load, &stopped, &watch),
                None => testbed::run(&load, &stopped),
            })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }

    /// The clients send nothing more; [`Self::end`] waits for them.
    pub(crate) fn tell_to_end(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn end(mut self) -> Result<LoadResult> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => Ok(result?),
            _ => bail!("the load generator failed"),
        }
    }
}

impl Drop for Background {
    /// A run that failed leaves no load behind for the next one.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// SIGTERM.
pub(crate) fn terminate(child: &Child) {
    signal(child, Signal::TERM);
}

/// Sends a signal to a child that was not waited for yet, so that its number is still its own.
pub(crate) fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended by itself meanwhile.
        let _ = kill_process(pid, signal);
    }
}
