//! Signals by the minute, with their seconds.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::Range;

use model::{Incident, Millis, Series, SignalKind};

use crate::row::{Hash64, Seconds, SignalRow};

/// Seconds of a minute.
const MINUTE: usize = 60;

/// Seconds from one reading of a counter to the next over which its growth is spread, at the most: longer ones are a gap.
const GAP_SECONDS_MAX: i64 = 60;

/// Rows of one incident: a thousand signals for ten minutes.
const ROWS_MAX: usize = 50_000;

/// The minutes of every signal of the record.
pub(super) fn minutes(redacted: &Incident, host_id: Hash64) -> Vec<SignalRow> {
    let all = i64::MIN..i64::MAX;
    let own = |name: &str| Some(name.to_owned());
    rows(redacted, &redacted.timeline.series, host_id, &all, own)
}

/// Those of them that begin in this time, seconds since 1970. `name`: what stands for a signal's name; one for which
/// nothing does is left out. Each signal is taken out of the record: its row may have its room.
pub(super) fn minutes_between(
    recorded: &mut Incident,
    host_id: Hash64,
    begins: &Range<i64>,
    name: impl Fn(&str) -> Option<String>,
) -> Vec<SignalRow> {
    let series = std::mem::take(&mut recorded.timeline.series);
    rows(recorded, series, host_id, begins, name)
}

fn rows<S: Borrow<Series>>(
    recorded: &Incident,
    all: impl IntoIterator<Item = S>,
    host_id: Hash64,
    begins: &Range<i64>,
    name: impl Fn(&str) -> Option<String>,
) -> Vec<SignalRow> {
    let mut rows = Vec::new();
    for one in all {
        let series: &Series = one.borrow();
        let Some(name) = name(&series.name) else {
            continue;
        };
        for (minute, seconds) in of_series(recorded, series, begins) {
            if rows.len() >= ROWS_MAX {
                return rows;
            }
            rows.extend(row(host_id, &name, minute, &seconds));
        }
    }
    rows
}

/// The seconds of the minutes that begin in this time, by the begin of their minute, seconds since 1970.
fn of_series(
    incident: &Incident,
    series: &Series,
    begins: &Range<i64>,
) -> BTreeMap<i64, [f64; MINUTE]> {
    let mut minutes = BTreeMap::new();
    let mut put = |second: i64, value: f64| {
        let begin = second - second.rem_euclid(60);
        if !begins.contains(&begin) {
            return;
        }
        let minute: &mut [f64; MINUTE] = minutes.entry(begin).or_insert([f64::NAN; MINUTE]);
        let place = usize::try_from(second.rem_euclid(60)).unwrap_or(0);
        if let Some(known) = minute.get_mut(place) {
            // Of several in one second the largest: a peak is what a stall is seen by. NaN loses.
            *known = known.max(value);
        }
    };
    let second = |at: Millis| incident.clock.wall_ms(at).div_euclid(1000);
    let mut before: Option<(Millis, f64)> = None;
    for (at, value) in incident.timeline.points(series) {
        match series.kind {
            SignalKind::Gauge => put(second(at), value),
            SignalKind::Counter => {
                if let Some((from, base)) = before {
                    // A counter that fell began anew.
                    let growth = if value >= base { value - base } else { value };
                    let rate = growth * 1000.0 / at.saturating_sub(from).max(1) as f64;
                    let to = second(at);
                    let first = (second(from) + 1).min(to);
                    if to - first < GAP_SECONDS_MAX {
                        (first..=to).for_each(|second| put(second, rate));
                    }
                }
                before = Some((at, value));
            }
        }
    }
    minutes
}

/// The row of a minute of a signal, NaN where a second has no value; none when no second has one. `minute`: its begin,
/// seconds since 1970.
pub fn row(
    host_id: Hash64,
    signal: &str,
    minute: i64,
    seconds: &[f64; MINUTE],
) -> Option<SignalRow> {
    // What no clock can have told: a damaged record.
    u32::try_from(minute).ok()?;
    let present = || seconds.iter().copied().filter(|value| value.is_finite());
    let n = present().count();
    let (min, max) = (present().reduce(f64::min)?, present().reduce(f64::max)?);
    Some(SignalRow {
        host_id,
        signal: signal.to_owned(),
        ts: Seconds(minute),
        n: u8::try_from(n).unwrap_or(u8::MAX),
        min,
        max,
        mean: present().sum::<f64>() / n as f64,
        // All alike: the minute says it.
        seconds: match min == max {
            true => Vec::new(),
            false => seconds.iter().copied().map(single).collect(),
        },
    })
}

/// In single precision, as smallest, largest and mean value are stored: rates are fractions whose last digits are those of
/// the recorder's own moments, and a third of what a store would keep of the seconds.
fn single(value: f64) -> f64 {
    f64::from(value as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_single_precision() {
        let mut seconds = [f64::NAN; MINUTE];
        let values = [4_000_000.0 / 1001.0, 16_777_215.0, -0.5, 0.0, 1e12 + 1.0];
        for (second, value) in seconds.iter_mut().zip(values) {
            *second = value;
        }
        let kept = row(Hash64(1), "a.b", 60, &seconds).map(|row| row.seconds);
        let kept = kept.unwrap_or_default();
        assert_eq!(kept.len(), MINUTE);
        for (kept, value) in kept.iter().zip(values) {
            assert_eq!(*kept, f64::from(*kept as f32));
            assert!((kept - value).abs() <= value.abs() / 1e7, "{kept} {value}");
        }
        // Whole numbers up to 16 million are what they were.
        assert_eq!(kept[1..4], values[1..4]);
        assert!(kept[5..].iter().all(|value| value.is_nan()));
    }

    #[test]
    fn seconds_that_are_alike_are_not_kept() {
        let alike = row(Hash64(1), "a.b", 60, &[3.0; MINUTE]);
        let alike = alike.map(|row| (row.n, row.min, row.max, row.mean, row.seconds.len()));
        assert_eq!(alike, Some((60, 3.0, 3.0, 3.0, 0)));
        let mut seconds = [f64::NAN; MINUTE];
        assert_eq!(row(Hash64(1), "a.b", 60, &seconds), None);
        seconds[4] = 1.0;
        seconds[9] = 2.0;
        let two = row(Hash64(1), "a.b", 60, &seconds);
        let two = two.map(|row| (row.n, row.mean, row.seconds.len()));
        assert_eq!(two, Some((2, 1.5, 60)));
    }
}
