//! Whether the digests count what the server is asked.
//!
//! They may not: MariaDB counts no executions of prepared statements in them (seen on 10.11), and
//! `setup_actors` may leave users out. The server's counter `Questions` has all statements of clients.

use super::{DigestReading, DigestRow};

/// Fewer statements that are missing are noise: a login, a `USE` and a ping are questions without a digest.
const MISSING_MIN: u64 = 50;

/// So many of the questions have to be missing: one in this many.
const MISSING_ONE_IN: u64 = 3;

/// What the server was asked in a stretch of time, and how much of it the digests counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestCoverage {
    /// The growth of `Questions`.
    pub questions: u64,
    /// Statements that the digests counted, those without room included.
    pub counted: u64,
}

impl DigestCoverage {
    /// The server was asked clearly more than its digests counted.
    pub fn is_more(self) -> bool {
        let missing = self.questions.saturating_sub(self.counted);
        missing >= MISSING_MIN && missing >= self.questions / MISSING_ONE_IN
    }

    /// For people.
    pub fn to_text(self) -> String {
        format!(
            "the server's digests counted only {} of {} statements; MariaDB counts no executions of prepared statements there",
            self.counted.min(self.questions),
            self.questions
        )
    }
}

/// What was counted up to a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) questions: Option<u64>,
    pub(super) counted: u64,
}

impl Counts {
    pub(super) fn from_reading(reading: &DigestReading) -> Self {
        let rows = reading.rows.values().chain(&reading.no_room);
        let count = |row: &DigestRow| row.sums.count;
        Self {
            questions: reading.questions,
            counted: rows.map(count).fold(0, u64::saturating_add),
        }
    }

    /// Nothing where a counter is not known, or fell: the table was emptied in between.
    pub(super) fn since(self, before: Self) -> Option<DigestCoverage> {
        Some(DigestCoverage {
            questions: self.questions?.checked_sub(before.questions?)?,
            counted: self.counted.checked_sub(before.counted)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_clearly_more() {
        for (questions, counted, is_more) in [
            (39_000, 12, true),
            (39_000, 25_900, true),
            (39_000, 26_100, false),
            (100, 200, false),
            (49, 0, false),
            (50, 0, true),
            (0, 0, false),
        ] {
            let asked = DigestCoverage { questions, counted };
            assert_eq!(asked.is_more(), is_more, "{asked:?}");
        }
    }

    #[test]
    fn counters_that_fell_tell_nothing() {
        let at = |questions, counted| Counts { questions, counted };
        assert_eq!(at(Some(5), 3).since(at(Some(6), 2)), None);
        assert_eq!(at(Some(7), 3).since(at(Some(6), 4)), None);
        assert_eq!(at(None, 3).since(at(Some(6), 2)), None);
        let asked = DigestCoverage {
            questions: 1,
            counted: 1,
        };
        assert_eq!(at(Some(7), 3).since(at(Some(6), 2)), Some(asked));
    }
}
