//! How long the statements of each class usually take, as far as processlists show it.

use std::collections::{HashMap, VecDeque};

use model::Millis;
use serde::{Deserialize, Serialize};

/// Classes remembered at the most: what a server is asked in a day seldom has more, and one takes
/// some dozen bytes.
const CLASSES_MAX: usize = 2000;

/// A class that was seen so often, and never a second old, is a short one.
const SHORT_SEEN_MIN: u32 = 20;

/// Looks closer than this may show the same statements, milliseconds.
const LOOK_MS: Millis = 900;

/// An age is learnt this long after it was seen, milliseconds: a stall is noticed within that time,
/// and what was seen in it is not learnt.
const LEARN_AFTER_MS: Millis = 15_000;

/// An odd age is learnt on so many occasions, so far from each other at least, milliseconds: a
/// machine that stood still for two seconds makes no statement a long one, reports of each night are long.
const ODD_MIN: u8 = 3;
const ODD_APART_MS: Millis = 60_000;

/// Of so many the one that was old is an odd one, when it took half of the time of all.
const ONE_OF_MANY: u64 = 20;

/// How many times its longest known time a statement may take.
const LONG_TIMES: f64 = 3.0;

/// What SHOW PROCESSLIST has of a statement is at least so long without its values, bytes, when it is
/// cut at a hundred characters; what is shorter is whole.
const BEGIN_BYTES: usize = 80;

/// One statement alone hangs when those of its class take a thousandth of that time on the average.
const HANGS_TIMES: f64 = 1000.0;

/// What is known of a class of statements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Class {
    /// Samples in which a statement of it ran that was no second old.
    seen: u32,
    /// The last of them.
    #[serde(skip)]
    seen_at: Millis,
    /// The longest that one of them was seen to run, milliseconds; below a second is 0.
    longest_ms: u32,
    /// Occasions on which one was old that tell of the server rather than of the class.
    #[serde(default)]
    odd: u8,
    /// The last of them.
    #[serde(skip)]
    odd_at: Millis,
    /// How long they take on the average by the server's own count, microseconds; 0 is not known.
    #[serde(default)]
    mean_us: u32,
}

/// What usual says of a running statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usual {
    /// Statements of its class take less than a second.
    Short,
    /// It may take that long.
    Long,
    /// Nothing is known.
    Unknown,
}

/// All classes.
#[derive(Debug, Clone, Default)]
pub(super) struct Classes {
    known: HashMap<u64, Class>,
    /// Ages that are not learnt yet.
    pending: VecDeque<Old>,
}

/// A statement that was seen to be old.
#[derive(Debug, Clone, Copy)]
struct Old {
    at: Millis,
    class: u64,
    age_ms: u32,
    /// It tells of the server at that moment rather than of the class.
    is_odd: bool,
}

/// The identity of a statement's class.
pub(super) fn class_of(statement: &str) -> u64 {
    class_of_fingerprint(&sql::fingerprint(statement))
}

/// The same of a fingerprint: FNV-1a of its begin, the same in every release, for it is kept on disk.
/// A processlist has the begin of a statement only.
fn class_of_fingerprint(fingerprint: &str) -> u64 {
    fingerprint
        .bytes()
        .take(BEGIN_BYTES)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

impl Classes {
    /// What was learnt, to keep.
    pub(super) fn learnt(&self) -> Vec<(u64, Class)> {
        self.known.iter().map(|(id, class)| (*id, *class)).collect()
    }

    pub(super) fn with(learnt: &[(u64, Class)]) -> Self {
        Self {
            known: learnt.iter().copied().take(CLASSES_MAX).collect(),
            pending: VecDeque::new(),
        }
    }

    fn entry(&mut self, id: u64) -> &mut Class {
        if self.known.len() >= CLASSES_MAX && !self.known.contains_key(&id) {
            // The one that tells least; it comes back when it is seen again.
            let least = self
                .known
                .iter()
                .min_by_key(|(_, class)| (class.longest_ms, class.seen));
            if let Some(least) = least.map(|(id, _)| *id) {
                self.known.remove(&least);
            }
        }
        self.known.entry(id).or_default()
    }

    /// A statement that has just begun, in calm. Many at once, as of a job that starts, are one look.
    pub(super) fn saw_young(&mut self, now: Millis, id: u64) {
        let class = self.entry(id);
        if class.seen == 0 || now >= class.seen_at.saturating_add(LOOK_MS) || now < class.seen_at {
            class.seen_at = now;
            class.seen = class.seen.saturating_add(1);
        }
    }

    /// The server's own count of a class, in calm: how many there were, how long they took together and
    /// the longest of them, where that is known, seconds.
    pub(super) fn counted(
        &mut self,
        now: Millis,
        fingerprint: &str,
        (count, sum_s, longest_s): (u64, f64, Option<f64>),
    ) {
        let id = class_of_fingerprint(fingerprint);
        if let Some(longest_s) = longest_s.filter(|longest| *longest >= 1.0) {
            let is_odd = count >= ONE_OF_MANY && sum_s < 2.0 * longest_s;
            self.saw_old(now, id, (longest_s * 1000.0).min(4e9) as u32, is_odd);
        } else if count > 0 && sum_s >= 0.0 {
            let class = self.entry(id);
            let mean_us = (sum_s * 1e6 / count as f64).clamp(1.0, 4e9) as u32;
            class.mean_us = match class.mean_us {
                0 => mean_us,
                // Not by one window that had a few odd ones.
                before => before / 4 * 3 + mean_us / 4,
            }
            .max(1);
        }
    }

    /// A statement of this age, in calm. `is_odd`: most of what ran was old with it, or all others of its class were
    /// quick.
    pub(super) fn saw_old(&mut self, now: Millis, id: u64, age_ms: u32, is_odd: bool) {
        if self.pending.len() < CLASSES_MAX {
            self.pending.push_back(Old {
                at: now,
                class: id,
                age_ms,
                is_odd,
            });
        }
    }

    /// Learns what was seen long enough ago; in a stall what waits to be learnt is forgotten.
    pub(super) fn settle(&mut self, now: Millis, calm: bool) {
        if !calm {
            self.pending.clear();
        }
        while let Some(old) = self.pending.front().copied() {
            if old.at.saturating_add(LEARN_AFTER_MS) > now {
                break;
            }
            self.pending.pop_front();
            let class = self.entry(old.class);
            if old.is_odd && class.odd < ODD_MIN {
                if class.odd == 0 || old.at >= class.odd_at.saturating_add(ODD_APART_MS) {
                    class.odd += 1;
                    class.odd_at = old.at;
                }
                continue;
            }
            class.longest_ms = class.longest_ms.max(old.age_ms);
        }
    }

    /// Whether a statement of this class usually takes as long as this one does.
    pub(super) fn usual(&self, id: u64, age_ms: f64) -> Usual {
        let Some(class) = self.known.get(&id) else {
            return Usual::Unknown;
        };
        if class.longest_ms > 0 {
            return if age_ms <= f64::from(class.longest_ms) * LONG_TIMES {
                Usual::Long
            } else {
                Usual::Unknown
            };
        }
        let mean_ms = f64::from(class.mean_us) / 1000.0;
        let is_far_over = class.mean_us > 0 && age_ms >= mean_ms * HANGS_TIMES;
        if class.seen >= SHORT_SEEN_MIN || is_far_over {
            Usual::Short
        } else {
            Usual::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_learnt_late_and_not_from_a_stall() {
        let mut classes = Classes::default();
        let (report, update) = (
            class_of("SELECT SUM(k) FROM t WHERE k > 7"),
            class_of("UPDATE t SET k = 1"),
        );
        assert_eq!(report, class_of("select sum(k) from t where k > 99"));
        let job = class_of("SELECT SUM(n) FROM sale");
        for look in 0..u64::from(SHORT_SEEN_MIN) {
            classes.saw_young(look * 1000, update);
            // Forty of them that start at once.
            classes.saw_young(5000, job);
            classes.saw_young(5450, job);
        }
        assert_eq!(classes.usual(job, 2000.0), Usual::Unknown);
        classes.saw_old(1000, report, 30_000, false);
        classes.settle(2000, true);
        assert_eq!(classes.usual(report, 30_000.0), Usual::Unknown);
        classes.settle(20_000, true);
        assert_eq!(classes.usual(report, 80_000.0), Usual::Long);
        assert_eq!(classes.usual(report, 100_000.0), Usual::Unknown);
        assert_eq!(classes.usual(update, 2000.0), Usual::Short);
        classes.saw_old(21_000, update, 5000, false);
        classes.settle(22_000, false);
        classes.settle(60_000, true);
        assert_eq!(classes.usual(update, 2000.0), Usual::Short);
        let insert = "INSERT INTO t (k, c) VALUES (1, 'x')";
        let of_insert = sql::fingerprint(insert);
        classes.counted(23_000, &of_insert, (50, 0.2, None));
        assert_eq!(classes.usual(class_of(insert), 2000.0), Usual::Unknown);
        assert_eq!(classes.usual(class_of(insert), 4000.0), Usual::Short);
        classes.counted(24_000, &of_insert, (50, 90.0, Some(8.0)));
        classes.settle(61_000, true);
        assert_eq!(classes.usual(class_of(insert), 2000.0), Usual::Long);
        // A processlist has a hundred characters of this one.
        let long = format!("SELECT {} FROM t", "a_column_with_a_name, ".repeat(9));
        classes.counted(62_000, &sql::fingerprint(&long), (50, 0.2, None));
        let begin: String = long.chars().take(100).collect();
        assert_eq!(classes.usual(class_of(&begin), 4000.0), Usual::Short);
        let again = Classes::with(&classes.learnt());
        assert_eq!(again.usual(report, 80_000.0), Usual::Long);
    }

    #[test]
    fn a_machine_that_stood_still_once_makes_no_class_long() {
        let mut classes = Classes::default();
        let update = class_of("UPDATE t SET k = 1");
        for look in 0..u64::from(SHORT_SEEN_MIN) {
            classes.saw_young(look * 1000, update);
        }
        for (occasion, expected) in [
            (100_000, Usual::Short),
            (200_000, Usual::Short),
            // Soon after it is the same occasion.
            (201_000, Usual::Short),
            (300_000, Usual::Short),
            (301_000, Usual::Long),
        ] {
            classes.saw_old(occasion, update, 1200, true);
            classes.settle(occasion + LEARN_AFTER_MS, true);
            assert_eq!(classes.usual(update, 2000.0), expected, "{occasion}");
        }
    }
}
