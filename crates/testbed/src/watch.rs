//! What the users of a server felt, by their own clock: each statement and each connect that hung or failed.

use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::latency::Histogram;

/// From this time on an answer is kept by itself, milliseconds.
pub const HUNG_MS_MIN: i64 = 250;

/// Answers are counted by pieces of time of this length, milliseconds.
pub const SLOT_MS: i64 = 100;

/// More are not kept: a log of that length says that nothing worked.
const HUNG_MAX: usize = 1_000_000;

/// What a client waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// The answer to a statement.
    Statement,
    /// To be let in.
    Connect,
    /// Nothing: it was refused or lost its connection before, and is in again.
    Back,
}

/// A statement or a connect that took [`HUNG_MS_MIN`] or longer, or was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hung {
    /// The number of the client.
    pub client: usize,
    /// What it waited for.
    pub waited: Waited,
    /// When it began, wall-clock milliseconds.
    pub from_ms: i64,
    /// When it was over, wall-clock milliseconds.
    pub to_ms: i64,
    /// The kind of the failure, as [`crate::LoadResult::errors`] names it.
    pub error: Option<String>,
}

/// The log of a load's clients, which may be read while they work.
pub struct Watch {
    begin: Instant,
    begin_ms: i64,
    /// Answers by time since the begin.
    answers: Vec<AtomicU32>,
    /// How long those took together, microseconds.
    times_us: Vec<AtomicU64>,
    latency: Mutex<Histogram>,
    hung: Mutex<Vec<Hung>>,
    /// Since when each client waits, wall-clock milliseconds; 0 is not at all.
    since: Vec<AtomicI64>,
}

impl Watch {
    /// A log for so many clients and so long a time; what comes later is not counted.
    pub fn new(clients: usize, time: Duration) -> Self {
        let slots = time.as_millis() as usize / SLOT_MS as usize + 1;
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            begin: Instant::now(),
            begin_ms: wall.unwrap_or_default().as_millis() as i64,
            answers: (0..slots).map(|_| AtomicU32::new(0)).collect(),
            times_us: (0..slots).map(|_| AtomicU64::new(0)).collect(),
            latency: Mutex::default(),
            hung: Mutex::default(),
            since: (0..clients).map(|_| AtomicI64::new(0)).collect(),
        }
    }

    /// Now, wall-clock milliseconds; it never goes back.
    pub fn now_ms(&self) -> i64 {
        self.begin_ms + self.begin.elapsed().as_millis() as i64
    }

    /// The usual time of an answer: half of all were at most this slow, milliseconds.
    pub fn usual_ms(&self) -> f64 {
        lock(&self.latency).latency().p50_us / 1000.0
    }

    /// How much hung or failed so far.
    pub fn hung_count(&self) -> usize {
        lock(&self.hung).len()
    }

    /// What hung or failed so far, in the order of its end, from this number on.
    pub fn hung_from(&self, number: usize) -> Vec<Hung> {
        lock(&self.hung).get(number..).unwrap_or_default().to_vec()
    }

    /// Since when the client that has waited longest waits, wall-clock milliseconds.
    pub fn waiting_since_ms(&self) -> Option<i64> {
        let since = self.since.iter().map(|since| since.load(Ordering::Relaxed));
        since.filter(|since| *since != 0).min()
    }

    /// The end of the last piece of time before this moment in which an answer came, wall-clock milliseconds.
    pub fn last_answer_before_ms(&self, ms: i64) -> Option<i64> {
        let end = self.slot(ms).min(self.answers.len());
        let slot = self.answers.get(..end)?.iter().rposition(is_any)?;
        Some(self.begin_ms + (slot as i64 + 1) * SLOT_MS)
    }

    /// The begin of the first piece of time from this moment on in which an answer came, wall-clock milliseconds.
    pub fn first_answer_from_ms(&self, ms: i64) -> Option<i64> {
        let begin = self.slot(ms);
        let slot = self.answers.get(begin..)?.iter().position(is_any)?;
        Some(self.begin_ms + (begin + slot) as i64 * SLOT_MS)
    }

    /// How many answers came between two moments, to the piece of time.
    pub fn answers_between(&self, from_ms: i64, to_ms: i64) -> u64 {
        let end = self.slot(to_ms).min(self.answers.len());
        let slots = self.answers.get(self.slot(from_ms).min(end)..end);
        let slots = slots.unwrap_or_default().iter();
        slots
            .map(|count| u64::from(count.load(Ordering::Relaxed)))
            .sum()
    }

    /// The seconds in which an answer took this long on the average, wall-clock milliseconds.
    pub fn slow_seconds(&self, limit_ms: f64) -> Vec<Range<i64>> {
        let second = (1000 / SLOT_MS) as usize;
        let end = (self.slot(self.now_ms()) + 1).min(self.answers.len());
        let counts = self.answers.get(..end).unwrap_or_default();
        let times = self.times_us.get(..end).unwrap_or_default();
        counts
            .windows(second)
            .zip(times.windows(second))
            .enumerate()
            .filter(|(_, (counts, times))| {
                let answers: u32 = counts
                    .iter()
                    .map(|count| count.load(Ordering::Relaxed))
                    .sum();
                let us: u64 = times.iter().map(|time| time.load(Ordering::Relaxed)).sum();
                answers > 0 && us as f64 / 1000.0 >= limit_ms * f64::from(answers)
            })
            .map(|(slot, _)| {
                let from = self.begin_ms + slot as i64 * SLOT_MS;
                from..from + 1000
            })
            .collect()
    }

    fn slot(&self, ms: i64) -> usize {
        usize::try_from((ms - self.begin_ms).div_euclid(SLOT_MS)).unwrap_or(0)
    }

    /// A client waits from now on; it says when that was.
    pub(crate) fn begins(&self, client: usize) -> i64 {
        let now = self.now_ms();
        if let Some(since) = self.since.get(client) {
            since.store(now, Ordering::Relaxed);
        }
        now
    }

    /// It waits no more.
    pub(crate) fn ends(&self, client: usize, waited: Waited, from_ms: i64, error: Option<String>) {
        let to_ms = self.now_ms();
        if let Some(since) = self.since.get(client) {
            since.store(0, Ordering::Relaxed);
        }
        let is_refused = error
            .as_deref()
            .is_some_and(|error| waited == Waited::Connect || !error.starts_with("server error"));
        if is_refused || to_ms - from_ms >= HUNG_MS_MIN || waited == Waited::Back {
            let mut hung = lock(&self.hung);
            if hung.len() < HUNG_MAX {
                hung.push(Hung {
                    client,
                    waited,
                    from_ms,
                    to_ms,
                    error,
                });
            }
        }
    }

    /// An answer came, after so many nanoseconds.
    pub(crate) fn answered(&self, ns: u64) {
        let slot = self.slot(self.now_ms());
        if let (Some(count), Some(time)) = (self.answers.get(slot), self.times_us.get(slot)) {
            count.fetch_add(1, Ordering::Relaxed);
            time.fetch_add(ns / 1000, Ordering::Relaxed);
        }
        lock(&self.latency).record(ns);
    }
}

fn is_any(count: &AtomicU32) -> bool {
    count.load(Ordering::Relaxed) > 0
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_or_is_refused_is_kept_and_what_is_quick_is_counted() {
        let watch = Watch::new(2, Duration::from_secs(10));
        let from = watch.begins(1);
        assert_eq!(watch.waiting_since_ms(), Some(from));
        watch.ends(1, Waited::Statement, from, None);
        watch.answered(2_000_000);
        assert_eq!(watch.waiting_since_ms(), None);
        assert!(watch.hung_from(0).is_empty());
        watch.ends(0, Waited::Statement, from - 300, None);
        watch.ends(0, Waited::Statement, from, Some("server error 1213".into()));
        watch.ends(0, Waited::Connect, from, Some("server error 1040".into()));
        watch.ends(0, Waited::Back, from, None);
        let waited: Vec<Waited> = watch.hung_from(0).iter().map(|hung| hung.waited).collect();
        assert_eq!(waited, [Waited::Statement, Waited::Connect, Waited::Back]);
        assert!((1.9..2.1).contains(&watch.usual_ms()));
        assert_eq!(watch.answers_between(from - 1000, from + 1000), 1);
    }

    #[test]
    fn slow_seconds_are_those_of_slow_answers() {
        let watch = Watch::new(1, Duration::from_secs(10));
        // Answers of two seconds ago.
        let begun = Watch {
            begin: watch.begin.checked_sub(Duration::from_secs(2)).unwrap(),
            begin_ms: watch.begin_ms - 2000,
            ..watch
        };
        for ms in [1, 200, 9] {
            begun.answered(ms * 1_000_000);
        }
        let slow = begun.slow_seconds(60.0);
        let now = begun.now_ms();
        assert!(slow.iter().all(|second| second.end > now - 1100));
        assert!(!slow.is_empty());
        assert!(begun.slow_seconds(75.0).is_empty());
    }

    #[test]
    fn answers_around_a_moment_are_found() {
        let watch = Watch::new(1, Duration::from_secs(10));
        let begin = watch.begin_ms;
        for slot in [3, 50] {
            watch.answers[slot].store(1, Ordering::Relaxed);
        }
        assert_eq!(watch.last_answer_before_ms(begin + 2000), Some(begin + 400));
        assert_eq!(watch.first_answer_from_ms(begin + 2000), Some(begin + 5000));
        assert_eq!(watch.last_answer_before_ms(begin), None);
        assert_eq!(watch.first_answer_from_ms(begin + 6000), None);
        assert_eq!(
            watch.last_answer_before_ms(begin + 1_000_000),
            Some(begin + 5100)
        );
    }
}
