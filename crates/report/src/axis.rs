//! Axes: round numbers people would have chosen.

use model::{Incident, Millis, Window};

use crate::{
    time_format,
    units::{Quantity, Scale, digits},
};

/// Grid lines a value axis aims at.
const VALUE_TICKS: f64 = 4.0;

/// So many things are counted by eye, from none on.
const FEW: f64 = 1000.0;

/// How far below the aimed-at step a rounder one may lie.
const STEP_SLACK: f64 = 0.8;

/// Share of a step by which a value may stand above the axis because of rounding.
const ROUNDING_SLACK: f64 = 1e-9;

/// Labels a time axis has at the most.
const TIME_TICKS_MAX: i64 = 7;

/// Steps of a time axis, in milliseconds.
const TIME_STEPS_MS: [i64; 21] = [
    1_000,
    2_000,
    5_000,
    10_000,
    15_000,
    30_000,
    60_000,
    120_000,
    300_000,
    600_000,
    900_000,
    1_800_000,
    3_600_000,
    7_200_000,
    10_800_000,
    21_600_000,
    43_200_000,
    86_400_000,
    172_800_000,
    604_800_000,
    2_592_000_000,
];

/// A value axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValueAxis {
    /// Value at the bottom.
    pub(crate) low: f64,
    /// Value at the top.
    pub(crate) high: f64,
    /// The unit of its labels.
    pub(crate) scale: Scale,
    /// Grid lines: value, label.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl ValueAxis {
    /// An axis for values from `min` to `max`; it begins at zero unless the values are far from it. Of a few sessions or
    /// threads it always does: 32 beside 40 is no bottom.
    pub(crate) fn new(quantity: Quantity, min: f64, max: f64) -> Self {
        let are_few = matches!(quantity, Quantity::Count) && max < FEW;
        let is_far = min > 0.0 && min > 0.6 * max && max > min;
        let (mut low, mut high) = match is_far && !are_few {
            true => (min, max),
            false => (min.min(0.0), max.max(0.0)),
        };
        if high <= low {
            high = low + 1.0;
        }
        let scale = quantity.scale_for(low.abs().max(high.abs()));
        let whole = matches!(quantity, Quantity::Count | Quantity::Code) && scale.factor == 1.0;
        let step = round_step((high - low) / scale.factor / VALUE_TICKS, whole) * scale.factor;
        low = (low / step).floor() * step;
        high = ((high / step - ROUNDING_SLACK).ceil() * step).max(low + step);
        let count = ((high - low) / step).round().clamp(1.0, 2.0 * VALUE_TICKS) as u32;
        let ticks = (0..=count)
            .map(|index| {
                let value = low + step * f64::from(index);
                let value = if value.abs() < step * 1e-6 {
                    0.0
                } else {
                    value
                };
                (value, label(value, step, scale))
            })
            .collect();
        Self {
            low,
            high,
            scale,
            ticks,
        }
    }

    /// Where a value lies: 0 at the bottom, 1 at the top.
    pub(crate) fn place(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// A label whose digits are enough to tell it from its neighbours; zero has no unit.
fn label(value: f64, step: f64, scale: Scale) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let (value, step) = (value / scale.factor, step / scale.factor);
    if value.abs() < 100.0 * step || value.abs() >= 1e6 {
        return format!("{}{}", digits(value), scale.short_suffix());
    }
    let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}{}", scale.short_suffix())
}

/// The smallest of 1, 2, 5 times a power of ten that is not far below `raw`.
fn round_step(raw: f64, whole: bool) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= raw * STEP_SLACK)
        .unwrap_or(10.0 * power);
    if whole { step.max(1.0) } else { step }
}

/// A time axis' labels: place from 0 to 1, wall-clock time in UTC, or where that is not known the
/// time since the begin.
pub(crate) fn time_ticks(incident: &Incident) -> Vec<(f64, String)> {
    let from = incident.clock.wall_ms(incident.window.from);
    let to = incident.clock.wall_ms(incident.window.to);
    let span = to.saturating_sub(from);
    let is_known = incident.clock.is_known();
    if span <= 0 {
        return vec![(
            0.0,
            time_format::time_text(&incident.clock, incident.window.from),
        )];
    }
    let step = TIME_STEPS_MS
        .into_iter()
        .find(|step| span / step < TIME_TICKS_MAX)
        .unwrap_or(span);
    let first = from.saturating_add((step - from.rem_euclid(step)) % step);
    let write = |at: i64| match is_known {
        false => format!("+{}", time_format::duration(at.max(0).unsigned_abs())),
        true if step % 60_000 == 0 => time_format::clock_minute(at),
        true => time_format::clock_time(at),
    };
    (0..TIME_TICKS_MAX)
        .map_while(|index| first.checked_add(step.checked_mul(index)?))
        .take_while(|at| *at <= to)
        .map(|at| ((at - from) as f64 / span as f64, write(at)))
        .collect()
}

/// Where a moment lies in the incident's window: 0 at its begin, 1 at its end.
pub(crate) fn time_percent(incident: &Incident, at: Millis) -> f64 {
    Span::from_window(incident.window).place(at)
}

/// What a time axis shows: so much before a moment, and so much after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// The moment, in the incident's own milliseconds.
    zero: Millis,
    /// Milliseconds before it; more than the incident has where another one has more.
    before: Millis,
    /// Milliseconds after it.
    after: Millis,
}

impl Span {
    /// A window.
    pub(crate) fn from_window(window: Window) -> Self {
        Self::around(window.from, 0, window.to.saturating_sub(window.from))
    }

    /// So much around a moment.
    pub(crate) fn around(zero: Millis, before: Millis, after: Millis) -> Self {
        Self {
            zero,
            before,
            after,
        }
    }

    /// Where a moment lies: 0 at the begin, 1 at the end.
    pub(crate) fn place(self, at: Millis) -> f64 {
        let length = self.before.saturating_add(self.after).max(1);
        let begin = self.zero as f64 - self.before as f64;
        ((at as f64 - begin) / length as f64).clamp(0.0, 1.0)
    }

    /// Labels that count from the moment: place, and text such as `-30 s`, `0`, `+1 min`.
    pub(crate) fn ticks(self) -> Vec<(f64, String)> {
        let signed = |ms: Millis| i64::try_from(ms).unwrap_or(i64::MAX / 4);
        let (before, after) = (signed(self.before), signed(self.after));
        let length = before.saturating_add(after).max(1);
        let step = TIME_STEPS_MS
            .into_iter()
            .find(|step| length / step < TIME_TICKS_MAX)
            .unwrap_or(length);
        (-before / step..=after / step)
            .map(|number| {
                let at = number * step;
                let label = match at {
                    0 => "0".to_owned(),
                    _ => format!(
                        "{}{}",
                        if at < 0 { '-' } else { '+' },
                        time_format::step(at)
                    ),
                };
                ((at + before) as f64 / length as f64, label)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use model::Timeline;

    use super::*;
    use crate::testing::incident_of;

    fn labels(quantity: Quantity, min: f64, max: f64) -> Vec<String> {
        ValueAxis::new(quantity, min, max)
            .ticks
            .into_iter()
            .map(|(_, label)| label)
            .collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(
            labels(Quantity::PerSecond, 12.0, 48_123.0),
            ["0", "10k/s", "20k/s", "30k/s", "40k/s", "50k/s"]
        );
        assert_eq!(
            labels(Quantity::Share, 0.0, 0.83),
            ["0", "20%", "40%", "60%", "80%", "100%"]
        );
        assert_eq!(labels(Quantity::Count, 0.0, 2.0), ["0", "1", "2"]);
        assert_eq!(
            labels(Quantity::Count, 32.0, 40.0),
            ["0", "10", "20", "30", "40"]
        );
        assert_eq!(
            labels(Quantity::Seconds, 0.0, 0.0032),
            ["0", "1 ms", "2 ms", "3 ms", "4 ms"]
        );
        assert_eq!(
            labels(Quantity::Count, 1000.0, 1004.0),
            ["1.000k", "1.001k", "1.002k", "1.003k", "1.004k"]
        );
        assert_eq!(
            labels(Quantity::Count, -5.0, 5.0),
            ["-6", "-4", "-2", "0", "2", "4", "6"]
        );
    }

    #[test]
    fn odd_ranges_have_an_axis() {
        for (min, max) in [
            (0.0, 0.0),
            (5.0, 5.0),
            (-3.0, -3.0),
            (-1e30, 1e30),
            (1e30, 1e30),
            (0.0, 1e-30),
        ] {
            let axis = ValueAxis::new(Quantity::PerSecond, min, max);
            assert!(axis.low.is_finite() && axis.high.is_finite() && axis.low < axis.high);
            assert!(
                axis.low <= min && axis.high >= max * 0.999_999,
                "{min} {max} {axis:?}"
            );
            assert!(axis.ticks.iter().all(|(value, _)| value.is_finite()));
            assert!((2..=10).contains(&axis.ticks.len()), "{axis:?}");
        }
    }

    #[test]
    fn labels_around_a_moment_count_from_it() {
        let span = Span::around(40_000, 60_000, 120_000);
        let ticks = span.ticks();
        let labels: Vec<&str> = ticks.iter().map(|(_, label)| label.as_str()).collect();
        assert_eq!(
            labels,
            ["-1 min", "-30 s", "0", "+30 s", "+1 min", "+90 s", "+2 min"]
        );
        assert_eq!(ticks[0].0, 0.0);
        assert_eq!(ticks[2].0, span.place(40_000));
        assert_eq!(ticks[6].0, 1.0);
        // More before it than the incident has.
        assert_eq!(span.place(0), 20.0 / 180.0);
        let hours = Span::around(0, 0, 2 * 3_600_000).ticks();
        assert_eq!(hours.last().map(|tick| tick.1.as_str()), Some("+2 h"));
        for (before, after) in [(0, 0), (u64::MAX, u64::MAX), (0, 1)] {
            let ticks = Span::around(u64::MAX, before, after).ticks();
            assert!((1..=15).contains(&ticks.len()));
            assert!(ticks.iter().all(|(place, _)| (0.0..=1.0).contains(place)));
        }
    }

    #[test]
    fn time_labels_lie_on_round_moments() {
        let mut incident = incident_of(Timeline::default());
        incident.clock.wall_at_zero_ms = 1_715_483_525_120;
        incident.window.to = 300_000;
        let ticks = time_ticks(&incident);
        assert_eq!(ticks[0].1, "03:13");
        assert_eq!(ticks.len(), 5);
        incident.window.to = 30_000;
        assert_eq!(time_ticks(&incident)[0].1, "03:12:10");
        incident.window.to = 0;
        assert_eq!(time_ticks(&incident).len(), 1);
        incident.clock.wall_at_zero_ms = i64::MIN;
        assert!(!time_ticks(&incident).is_empty());
    }
}
