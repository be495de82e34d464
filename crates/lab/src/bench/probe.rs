//! An impatient client, whose answers tell what a server's clients notice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Result, bail};

/// Time from an answer to the next question.
const PROBE_EVERY: Duration = Duration::from_millis(10);

/// Asks `SELECT 1` every ten milliseconds and notes how long each answer took, microseconds.
pub(super) struct Probe {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<f64>, server::ServerError>>,
}

impl Probe {
    pub(super) fn start(mut session: server::Session) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("lab-probe".to_owned())
            .spawn(move || {
                let mut latencies = Vec::new();
                while !stopped.load(Ordering::Relaxed) {
                    latencies.push(session.ping()?.as_secs_f64() * 1e6);
                    std::thread::sleep(PROBE_EVERY);
                }
                Ok(latencies)
            })?;
        Ok(Self { stop, thread })
    }

    pub(super) fn end(self) -> Result<Vec<f64>> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.join() {
            Ok(result) => Ok(result?),
            Err(_) => bail!("the probe failed"),
        }
    }
}
