//! How far the reading of logs is.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cli::output;

/// The line is written anew after this time.
const EVERY: Duration = Duration::from_millis(100);

/// Nothing is shown of what is done sooner.
const QUIET: Duration = Duration::from_millis(300);

const WIDTH: usize = 30;

/// A bar on a terminal's standard error, for several threads.
pub(super) struct Progress {
    /// Bytes of all logs; 0 when nobody knows.
    of: u64,
    done: AtomicU64,
    begin: Instant,
    told: Option<Mutex<Option<Instant>>>,
}

impl Progress {
    pub(super) fn new(of: u64) -> Self {
        Self {
            of,
            done: AtomicU64::new(0),
            begin: Instant::now(),
            told: output::is_terminal().then(|| Mutex::new(None)),
        }
    }

    /// So many more bytes are read.
    pub(super) fn read(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let Some(told) = &self.told else {
            return;
        };
        // Who finds it taken is not the one to tell.
        let Ok(mut told) = told.try_lock() else {
            return;
        };
        if self.begin.elapsed() < QUIET || told.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        *told = Some(Instant::now());
        output::progress(&self.line(done));
    }

    fn line(&self, done: u64) -> String {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let speed = megabytes(done) / self.begin.elapsed().as_secs_f64().max(1e-3);
        if self.of == 0 {
            return format!("{:.0} MB, {speed:.0} MB/s ", megabytes(done));
        }
        let share = (done as f64 / self.of as f64).min(1.0);
        let filled = (share * WIDTH as f64) as usize;
        format!(
            "[{}{}] {:3.0} % of {:.0} MB, {speed:.0} MB/s ",
            "=".repeat(filled),
            " ".repeat(WIDTH - filled),
            share * 100.0,
            megabytes(self.of)
        )
    }

    pub(super) fn clear(&self) {
        if let Some(told) = &self.told
            && told.lock().is_ok_and(|told| told.is_some())
        {
            output::clear_progress();
        }
    }
}
