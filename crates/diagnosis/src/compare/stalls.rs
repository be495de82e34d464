//! Stalls come and go: a calm hour after a change proves something only when an hour was not calm
//! before.

use super::signals::{ALPHA, HELD_MIN};
use super::{Recurrence, Role, SideNumbers, SignalChange, Stretch, Subject};

/// From this share of the time on a cause is there all the time, and does not come and go.
const CHRONIC: f64 = 0.8;

/// Signs closer together than this are of one episode, milliseconds.
const GAP_MS: u64 = 30_000;

const HOUR_MS: f64 = 3_600_000.0;

/// How often stalls came, before and after: those that were counted, else the episodes within the
/// windows in which a deciding sign held. Nothing where neither is known.
pub(super) fn recurrence(
    before: &Subject,
    after: &Subject,
    signals: &[SignalChange],
) -> Option<Recurrence> {
    if before.stretch == Stretch::Run && after.stretch == Stretch::Run {
        // Both came because they were made.
        return None;
    }
    let deciding: Vec<&SignalChange> = signals
        .iter()
        .filter(|row| row.role == Role::Deciding && row.before.held.is_some())
        .collect();
    let chosen = before.stretch == Stretch::Window;
    let held = deciding
        .iter()
        .filter_map(|row| row.before.held)
        .fold(0.0, f64::max);
    let counts = !(chosen && held >= CHRONIC);
    let hours = |ms: u64| ms as f64 / HOUR_MS;
    let counted = |subject: &Subject| Some((subject.stalls?, hours(subject.recorded_ms?)));
    let (name, first, second) = match (chosen, counted(before), counted(after)) {
        (false, Some(first), Some(second)) => ("incidents", first, second),
        (false, _, _) => return None,
        (true, _, _) if deciding.is_empty() => return None,
        (true, _, _) => {
            let of = |subject: &Subject, side: fn(&SignalChange) -> &SideNumbers| {
                let episodes = deciding.iter().map(|row| episodes(row, side(row)));
                let most = episodes.max().unwrap_or(0);
                let recorded_ms = subject.recorded_ms.unwrap_or(subject.window.length());
                (most, hours(recorded_ms))
            };
            (
                "episodes",
                of(before, |row| &row.before),
                of(after, |row| &row.after),
            )
        }
    };
    let ((before, before_hours), (after, after_hours)) = (first, second);
    let all = before_hours + after_hours;
    let share = if all > 0.0 { after_hours / all } else { 0.0 };
    let p = at_most(after, before + after, share);
    let more_hours = (p >= ALPHA && after == 0 && before > 0).then(|| {
        // (T1 / (T1 + T2)) ^ n < alpha.
        let needed = before_hours * (ALPHA.powf(-1.0 / f64::from(before)) - 1.0);
        (needed - after_hours).max(0.0)
    });
    Some(Recurrence {
        counted: name,
        before,
        before_hours,
        after,
        after_hours,
        p,
        more_hours,
        counts,
    })
}

/// Stretches in which a sign held, with pauses that are no end.
fn episodes(row: &SignalChange, side: &SideNumbers) -> u32 {
    // A few odd readings are no episode.
    if side.held.is_none_or(|held| held <= HELD_MIN / 10.0) {
        return 0;
    }
    let beyond = |value: f64| match (row.limit, row.low_is_bad) {
        (Some(limit), false) => value >= limit,
        (Some(limit), true) => value <= limit,
        (None, _) => false,
    };
    let mut count = 0;
    let mut last: Option<u64> = None;
    for (at, value) in &side.points {
        if beyond(*value) {
            if last.is_none_or(|last| at.saturating_sub(last) > GAP_MS) {
                count += 1;
            }
            last = Some(*at);
        }
    }
    count
}

/// Probability of at most `k` of `n` when each is one with probability `share`.
fn at_most(k: u32, n: u32, share: f64) -> f64 {
    let mut term = (1.0 - share).powi(i32::try_from(n).unwrap_or(i32::MAX));
    if term == 0.0 {
        return if share >= 1.0 && k < n { 0.0 } else { 1.0 };
    }
    let mut sum = term;
    for index in 0..k {
        term *= f64::from(n - index) / f64::from(index + 1) * share / (1.0 - share);
        sum += term;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_stalls_after_are_weighed_by_the_time_they_had() {
        assert!((at_most(0, 3, 0.5) - 0.125).abs() < 1e-12);
        assert!((at_most(1, 3, 0.5) - 0.5).abs() < 1e-12);
        assert_eq!(at_most(3, 3, 0.5), 1.0);
        assert_eq!(at_most(0, 0, 0.5), 1.0);
    }
}
