//! How long the statements of each class usually take, as far as processlists show it.

use std::collections::{HashMap, VecDeque};

use model::Millis;
use serde::{Deserialize, Serialize};

/// Classes remembered at the most: what a server is asked in a day seldom has more, and one takes
/// some dozen bytes.
const CLASSES_MAX: usize = 2000;

/// A class that was seen so often, and never a second old, is a short one.
const SHORT_SEEN_MIN: u32 = 20;

/// An age is learnt this long after it was seen, milliseconds: a stall is noticed within that time,
/// and what was seen in it is not learnt.
const LEARN_AFTER_MS: Millis = 15_000;

/// How many times its longest known time a statement may take.
const LONG_TIMES: f64 = 3.0;

/// What is known of a class of statements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Class {
    /// Samples in which a statement of it ran that was no second old.
    seen: u32,
    /// The longest that one of them was seen to run, milliseconds; below a second is 0.
    longest_ms: u32,
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
    pending: VecDeque<(Millis, u64, u32)>,
}

/// The identity of a statement's class: FNV-1a of its fingerprint, the same in every release, for it
/// is kept on disk.
pub(super) fn class_of(statement: &str) -> u64 {
    let fingerprint = sql::fingerprint(statement);
    fingerprint
        .bytes()
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

    /// A statement that has just begun, in calm.
    pub(super) fn saw_young(&mut self, id: u64) {
        let class = self.entry(id);
        class.seen = class.seen.saturating_add(1);
    }

    /// A statement of this age, in calm.
    pub(super) fn saw_old(&mut self, now: Millis, id: u64, age_ms: u32) {
        if self.pending.len() < CLASSES_MAX {
            self.pending.push_back((now, id, age_ms));
        }
    }

    /// Learns what was seen long enough ago; in a stall what waits to be learnt is forgotten.
    pub(super) fn settle(&mut self, now: Millis, calm: bool) {
        if !calm {
            self.pending.clear();
        }
        while let Some((at, id, age_ms)) = self.pending.front().copied() {
            if at.saturating_add(LEARN_AFTER_MS) > now {
                break;
            }
            self.pending.pop_front();
            let class = self.entry(id);
            class.longest_ms = class.longest_ms.max(age_ms);
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
        if class.seen >= SHORT_SEEN_MIN {
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
        for _ in 0..SHORT_SEEN_MIN {
            classes.saw_young(update);
        }
        classes.saw_old(1000, report, 30_000);
        classes.settle(2000, true);
        assert_eq!(classes.usual(report, 30_000.0), Usual::Unknown);
        classes.settle(20_000, true);
        assert_eq!(classes.usual(report, 80_000.0), Usual::Long);
        assert_eq!(classes.usual(report, 100_000.0), Usual::Unknown);
        assert_eq!(classes.usual(update, 2000.0), Usual::Short);
        classes.saw_old(21_000, update, 5000);
        classes.settle(22_000, false);
        classes.settle(60_000, true);
        assert_eq!(classes.usual(update, 2000.0), Usual::Short);
        let again = Classes::with(&classes.learnt());
        assert_eq!(again.usual(report, 80_000.0), Usual::Long);
    }
}
