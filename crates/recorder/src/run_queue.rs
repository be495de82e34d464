//! How many of a server's threads are on a processor, and how many are ready and wait for one.
//!
//! A thread that waits there has not even read what its client asked: neither the sessions nor the status know of it. That
//! it waits does not depend on how soon the recorder gets a processor, which may have a share of its own (a service, a
//! session).
//!
//! The threads of a large server are not all read each second. Between two scans some of them, evenly chosen, stand for
//! all; what began since the last scan is not among them.

use std::collections::HashMap;
use std::time::Instant;

use model::{Reading, Unit};

/// Threads that stand for all, at the most. Each takes the recorder some 7 microseconds a second.
const FOLLOWED_MAX: usize = 128;

/// CPU time of a thread, or a sum of it.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct CpuTime {
    /// On a processor.
    pub(crate) run_ns: u64,
    /// Ready, and waiting for one.
    pub(crate) wait_ns: u64,
}

/// The threads that are followed from one reading to the next.
#[derive(Default)]
pub(crate) struct RunQueue {
    before: Option<Before>,
}

struct Before {
    at: Instant,
    times: HashMap<u32, CpuTime>,
    /// How many threads each of them stands for.
    stands_for: f64,
}

impl RunQueue {
    /// The threads that the next reading is of.
    pub(crate) fn followed(&self) -> Vec<u32> {
        let before = self.before.iter();
        before
            .flat_map(|before| before.times.keys().copied())
            .collect()
    }

    /// Takes all threads; those that are followed from now on are among them.
    pub(crate) fn scanned(&mut self, at: Instant, all: &[(u32, CpuTime)]) -> Option<[Reading; 2]> {
        let readings = self.readings(at, all);
        let count = all.len().min(FOLLOWED_MAX);
        let places = (0..count).map(|place| place * all.len() / count);
        let times: HashMap<_, _> = places.filter_map(|place| all.get(place).copied()).collect();
        self.before = Some(Before {
            at,
            stands_for: all.len() as f64 / (times.len() as f64).max(1.0),
            times,
        });
        readings
    }

    /// Takes those that are followed, without those that have ended.
    pub(crate) fn looked_at(
        &mut self,
        at: Instant,
        followed: &[(u32, CpuTime)],
    ) -> Option<[Reading; 2]> {
        let readings = self.readings(at, followed);
        if let Some(before) = &mut self.before {
            before.at = at;
            before.times = followed.iter().copied().collect();
        }
        readings
    }

    /// Of the time since the reading before. Nothing where no thread was known.
    fn readings(&self, at: Instant, now: &[(u32, CpuTime)]) -> Option<[Reading; 2]> {
        let before = self.before.as_ref()?;
        let ns = at.checked_duration_since(before.at)?.as_nanos() as f64;
        if ns <= 0.0 || !now.iter().any(|(tid, _)| before.times.contains_key(tid)) {
            return None;
        }
        // Where all are followed, one that is not known began since: all of its time is of this stretch.
        let is_whole = before.stands_for == 1.0;
        let grown = |(tid, new): &(u32, CpuTime)| {
            let old = before.times.get(tid).copied();
            let old = old.or_else(|| is_whole.then(CpuTime::default))?;
            // Another thread may have the number of one that has ended.
            Some(CpuTime {
                run_ns: new.run_ns.saturating_sub(old.run_ns),
                wait_ns: new.wait_ns.saturating_sub(old.wait_ns),
            })
        };
        let grown: Vec<CpuTime> = now.iter().filter_map(grown).collect();
        let mean = |name: &'static str, of: fn(&CpuTime) -> u64| {
            let sum: u64 = grown.iter().map(of).sum();
            Reading::gauge(name, Unit::Count, sum as f64 / ns * before.stands_for)
        };
        Some([
            mean("threads.on_cpu", |times| times.run_ns),
            mean("threads.queued", |times| times.wait_ns),
        ])
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Each thread of so many ran for a hundredth of each second so far and waited for a fiftieth.
    fn threads(numbers: impl Iterator<Item = u32>, seconds: u64) -> Vec<(u32, CpuTime)> {
        let times = CpuTime {
            run_ns: seconds * 10_000_000,
            wait_ns: seconds * 20_000_000,
        };
        numbers.map(|number| (number, times)).collect()
    }

    fn values(readings: Option<[Reading; 2]>) -> Option<[f64; 2]> {
        readings.map(|readings| readings.map(|reading| (reading.value * 1000.0).round() / 1000.0))
    }

    #[test]
    fn a_few_threads_are_all_followed_and_many_are_stood_for() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        for (count, followed) in [(1, 1), (40, 40), (128, 128), (129, 128), (3000, 128)] {
            let mut queue = RunQueue::default();
            let all = |seconds| threads(0..count, seconds);
            assert!(queue.scanned(at(1), &all(1)).is_none());
            let some = queue.followed();
            assert_eq!(some.len(), followed);
            let some = threads(some.into_iter(), 2);
            let wanted = [f64::from(count) * 0.01, f64::from(count) * 0.02];
            assert_eq!(values(queue.looked_at(at(2), &some)), Some(wanted));
            assert_eq!(values(queue.scanned(at(4), &all(4))), Some(wanted));
        }
    }

    #[test]
    fn threads_that_come_and_go_tell_nothing_wrong() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut queue = RunQueue::default();
        assert!(queue.looked_at(at(0), &[]).is_none());
        assert!(queue.scanned(at(1), &threads(0..4, 1)).is_none());
        // Two of four are gone, and the two that came have used all of their time since.
        let now = values(queue.scanned(at(2), &threads(2..6, 2)));
        assert_eq!(now, Some([0.06, 0.12]));
        // Another thread has the number.
        let now = values(queue.scanned(at(3), &threads(2..6, 1)));
        assert_eq!(now, Some([0.0, 0.0]));
        // Another server: nobody is known.
        assert!(queue.scanned(at(4), &threads(90..94, 3)).is_none());
        assert!(queue.scanned(at(4), &threads(90..94, 4)).is_none());
        assert!(queue.scanned(at(5), &[]).is_none());
        assert!(queue.followed().is_empty());
    }
}
