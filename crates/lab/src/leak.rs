//! An application that leaks its connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::{Error, IDLE_CONNECTIONS_MAX, Login};

/// How soon it knocks again when it was refused.
const AGAIN: Duration = Duration::from_millis(10);

/// How long a connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens connections and keeps them, and takes each place that gets free, until this is dropped: then they are closed.
pub struct Leak {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Leak {
    /// Begins; it keeps `most` connections, so that the lab's own memory has a bound.
    pub fn begin(login: &Login, most: usize) -> Result<Self, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, login) = (stop.clone(), login.clone());
        let most = most.min(IDLE_CONNECTIONS_MAX);
        let thread = std::thread::Builder::new()
            .name("lab-leak".to_owned())
            .spawn(move || {
                let mut kept = Vec::new();
                while !stopped.load(Ordering::Relaxed) {
                    match login.connect_raw(false, CONNECT_TIMEOUT) {
                        Ok(connection) if kept.len() < most => kept.push(connection),
                        _ => std::thread::sleep(AGAIN),
                    }
                }
            })
            .map_err(Error::io("start a thread"))?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Leak {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // All connections are closed when it has ended.
            let _ = thread.join();
        }
    }
}
