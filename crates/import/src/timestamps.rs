//! Moments of captures on the one clock of an incident.

use model::{Millis, Window};

use crate::read::{Read, Workload};

/// Where evidence stands that tells no time, in milliseconds from the begin of the window.
pub(crate) const UNTIMED_AT: Millis = 1_000;

/// Longest time that captures of one stall may be apart, in milliseconds; a time further off is
/// taken as not told.
const APART_MAX_MS: i64 = 6 * 3_600_000;

/// Longest time that a log or a file of packets tells of, in milliseconds: ten years.
const INTERVAL_MAX_MS: Millis = 10 * 366 * 86_400_000;

/// Moments of captures as moments of the incident.
pub(crate) struct Times {
    /// Milliseconds since 1970 UTC of what is told first; absent where nothing tells a time.
    pub(crate) zero: Option<i64>,
}

impl Times {
    /// The moments that captures tell, in order.
    pub(crate) fn known<'a>(reads: impl Iterator<Item = &'a Read>) -> Vec<i64> {
        let mut known: Vec<i64> = reads
            .flat_map(|read| {
                let ticks = read.ticks.iter().filter_map(|tick| tick.at);
                let texts = read.texts.iter().filter_map(|(timestamp, _)| timestamp.at);
                let snapshots = read.snapshots.iter().filter_map(|snapshot| snapshot.at);
                let rows = read.rows.iter().filter_map(|rows| rows.at);
                ticks.chain(texts).chain(snapshots).chain(rows)
            })
            .collect();
        known.sort_unstable();
        known
    }

    pub(crate) fn new<'a>(reads: impl Iterator<Item = &'a Read> + Clone) -> Self {
        let known = Self::known(reads.clone());
        // What is far from most is of another day.
        let middle = known.get(known.len() / 2).copied();
        let zero = middle.and_then(|middle| {
            known
                .iter()
                .copied()
                .find(|at| middle.saturating_sub(*at) <= APART_MAX_MS)
        });
        // Logs and packets tell of all the time from their first statement on.
        let begins = reads.flat_map(|read| &read.workload);
        let begins = begins.filter_map(|workload| workload.from);
        let zero = match zero {
            Some(zero) => begins
                .filter(|from| zero.saturating_sub(*from) <= APART_MAX_MS)
                .fold(zero, i64::min)
                .into(),
            None => begins.min(),
        };
        Self { zero }
    }

    /// A stretch, however long it is; a moment where its ends are not told.
    pub(crate) fn interval(&self, workload: &Workload) -> Window {
        let since = |timestamp: i64| {
            let since = timestamp.checked_sub(self.zero?)?;
            let since = u64::try_from(since).ok()?.min(INTERVAL_MAX_MS);
            Some(UNTIMED_AT.saturating_add(since))
        };
        match (workload.from.and_then(since), workload.to.and_then(since)) {
            (Some(from), Some(to)) if to >= from => Window { from, to },
            (from, to) => {
                let from = from.or(to).unwrap_or(UNTIMED_AT);
                let length = workload.length.unwrap_or(0).min(INTERVAL_MAX_MS);
                Window {
                    from,
                    to: from.saturating_add(length),
                }
            }
        }
    }

    /// Where evidence is on the clock of the incident.
    pub(crate) fn on_clock(&self, at: Option<i64>, after: u64) -> Millis {
        let known = at.zip(self.zero).and_then(|(at, zero)| {
            let since = at.checked_sub(zero)?;
            (0..=APART_MAX_MS).contains(&since).then_some(since as u64)
        });
        let apart = u64::try_from(APART_MAX_MS).unwrap_or(u64::MAX);
        UNTIMED_AT.saturating_add(known.unwrap_or(after.min(apart)))
    }
}

/// How long after the last moment of other captures a date is still of this stall, in milliseconds.
const DATE_AFTER_MS: i64 = 60_000;

/// Gives what tells no time the dates that stand beside it, where other captures tell the host's zone and the date is
/// of the time that they tell of: a log shows printouts of other days as well.
pub(crate) fn by_dates(read: &mut Read, (from, to): (i64, i64), ahead_ms: i64) {
    let dates = std::mem::take(&mut read.dates);
    let dated = |after: u64| {
        let (_, date) = dates.iter().find(|(beside, _)| *beside == after)?;
        let at = date.saturating_sub(ahead_ms);
        (from..=to.saturating_add(DATE_AFTER_MS))
            .contains(&at)
            .then_some(at)
    };
    for tick in &mut read.ticks {
        tick.at = tick.at.or_else(|| dated(tick.after));
    }
    for (timestamp, _) in &mut read.texts {
        timestamp.at = timestamp.at.or_else(|| dated(timestamp.after));
    }
}
