//! What a signal is at a moment, what it was before, and how far apart the two are.

use model::{Measure, Millis, Series, SignalKind, Timeline, Window};

/// A counter's rate at a moment is of this time, milliseconds: sources are read each second.
const NOW_MS: Millis = 2_000;

/// The reading of a source that is read each ten seconds still counts, milliseconds.
const SLOW_MS: Millis = 15_000;

/// A swing smaller than this share of the mean is none: rates of a second are whole numbers.
const SWING_SHARE: f64 = 0.05;

/// Distances above this many usual ones are holes.
const GAP_FACTOR: Millis = 3;

/// A distance up to this is no hole, milliseconds.
const GAP_MIN_MS: Millis = 2_500;

/// A silence up to this is none, milliseconds: a reading may be late, and its second is not over.
const SILENT_MS: Millis = 3_500;

/// Values of a signal in a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// Largest.
    pub max: f64,
}

/// A value and the time that it is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Begin; of a level the same as `at`.
    pub since: Millis,
    /// End.
    pub at: Millis,
    /// A level, or the growth of a counter a second.
    pub value: f64,
}

/// What a signal is at a moment: its level, or how fast it grows a second. Of a source that has fallen silent it is not
/// known: what a server answered before it hung is not what it does now.
pub fn now(timeline: &Timeline, series: &Series, at: Millis) -> Option<f64> {
    if is_silent(timeline, series, at) {
        return None;
    }
    let within = |ms: Millis| Window {
        from: at.saturating_sub(ms),
        to: at,
    };
    match series.kind {
        SignalKind::Gauge => timeline.measure(series, Measure::Last, within(SLOW_MS)),
        SignalKind::Counter => timeline
            .measure(series, Measure::Rate, within(NOW_MS))
            .or_else(|| timeline.measure(series, Measure::Rate, within(SLOW_MS))),
    }
    .filter(|value| value.is_finite())
}

/// A source that was read every so often, and now was not for some times as long.
fn is_silent(timeline: &Timeline, series: &Series, at: Millis) -> bool {
    let window = Window {
        from: at.saturating_sub(SLOW_MS),
        to: at,
    };
    let ticks: Vec<Millis> = timeline
        .points_in(series, window)
        .map(|(tick, _)| tick)
        .collect();
    let Some(last) = ticks.last().filter(|_| ticks.len() > 2) else {
        // Too few to tell how often it is read.
        return false;
    };
    let usual = usual_distance(ticks.iter().copied());
    at.saturating_sub(*last) > usual.saturating_mul(GAP_FACTOR).max(SILENT_MS)
}

/// The same of a signal with this name.
pub fn now_of(timeline: &Timeline, name: &str, at: Millis) -> Option<f64> {
    now(timeline, timeline.get(name)?, at)
}

/// The values of a signal in a window; counters as rates.
pub fn points(timeline: &Timeline, series: &Series, window: Window) -> Vec<Point> {
    let mut points = Vec::new();
    each_point(timeline, series, window, &mut |point| points.push(point));
    points
}

/// The same one by one: a screen of all signals looks at hundreds of thousands.
fn each_point(timeline: &Timeline, series: &Series, window: Window, take: &mut impl FnMut(Point)) {
    if series.kind == SignalKind::Gauge {
        let readings = timeline.points_in(series, window);
        for (at, value) in readings.filter(|(_, value)| value.is_finite()) {
            take(Point {
                since: at,
                at,
                value,
            });
        }
        return;
    }
    let lead = Window {
        from: window.from.saturating_sub(SLOW_MS),
        to: window.to,
    };
    let readings = timeline.points_in(series, lead);
    let mut raw: Vec<(Millis, f64)> = Vec::with_capacity(readings.size_hint().1.unwrap_or(0));
    raw.extend(readings);
    let gap = usual_distance(raw.iter().map(|(at, _)| *at)).saturating_mul(GAP_FACTOR);
    for pair in raw.windows(2) {
        let [(since, before), (at, value)] = pair else {
            continue;
        };
        if *at < window.from || at <= since || at - since > gap.max(GAP_MIN_MS) {
            continue;
        }
        // A counter that fell began anew.
        let grown = if value >= before {
            value - before
        } else {
            *value
        };
        let rate = grown * 1000.0 / (at - since) as f64;
        if rate.is_finite() {
            take(Point {
                since: *since,
                at: *at,
                value: rate,
            });
        }
    }
}

/// Mean and swing of a signal in a window; absent with less than two values.
pub fn spread(timeline: &Timeline, series: &Series, window: Window) -> Option<Spread> {
    let mut values: Vec<f64> = Vec::new();
    each_point(timeline, series, window, &mut |point| {
        values.push(point.value)
    });
    if values.len() < 2 {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().map(|value| value / count).sum::<f64>();
    let variance = values.iter().map(|value| (value - mean).powi(2) / count);
    Some(Spread {
        mean,
        deviation: variance.sum::<f64>().sqrt(),
        max: values.iter().copied().fold(f64::MIN, f64::max),
    })
}

impl Spread {
    /// How many usual swings a value is away from the mean.
    pub fn departure(&self, value: f64) -> f64 {
        let floor = self.mean.abs() * SWING_SHARE;
        // Without hypot(3), whose newest version would be all of the program that needs a C library of 2.35.
        let swing = (self.deviation.powi(2) + floor.powi(2)).sqrt();
        let apart = value - self.mean;
        match apart == 0.0 {
            true => 0.0,
            // What never moved and moves now has moved far, but not without end.
            false => apart / swing.max(apart.abs() / 100.0),
        }
    }

    /// How a value compares in words: `x12`, `-90 %`, `as usual`.
    pub fn change(&self, value: f64) -> String {
        let (before, apart) = (self.mean, value - self.mean);
        if self.departure(value).abs() < 2.0 {
            return "as usual".to_owned();
        }
        match before.abs() > f64::EPSILON {
            false => "from 0".to_owned(),
            true => match value / before {
                times if times >= 2.0 => format!("x{}", three(times)),
                _ => format!("{:+.0} %", apart / before.abs() * 100.0),
            },
        }
    }
}

fn three(times: f64) -> String {
    match times {
        _ if times < 9.95 => format!("{times:.1}"),
        _ if times < 9_999.5 => format!("{times:.0}"),
        _ => format!("{:.0}k", times / 1000.0),
    }
}

/// A strip: the largest value of each column, absent where nothing was read.
pub fn columns(points: &[Point], window: Window, count: usize) -> Vec<Option<f64>> {
    let mut strip: Vec<Option<f64>> = vec![None; count];
    let length = window.to.saturating_sub(window.from).max(1);
    let place = |at: Millis| {
        let inside = at.clamp(window.from, window.to) - window.from;
        ((inside as u128 * count as u128 / u128::from(length)) as usize).min(count.max(1) - 1)
    };
    let usual = usual_distance(points.iter().map(|point| point.at));
    let gap = usual.saturating_mul(GAP_FACTOR).max(GAP_MIN_MS);
    let mut last: Option<Millis> = None;
    for point in points {
        let before = last.filter(|last| point.at.saturating_sub(*last) <= gap);
        last = Some(point.at);
        // Columns between two readings that are no hole have the later one.
        let from = before.map_or(place(point.at), |before| {
            (place(before) + 1).min(place(point.at))
        });
        for column in strip.iter_mut().take(place(point.at) + 1).skip(from) {
            *column = Some(column.map_or(point.value, |value| value.max(point.value)));
        }
    }
    // The reading of this second may still be on its way.
    if let Some(end) = last.filter(|last| window.to.saturating_sub(*last) <= gap) {
        let value = strip.get(place(end)).copied().flatten();
        for column in strip.iter_mut().skip(place(end) + 1) {
            *column = value;
        }
    }
    strip
}

/// The lower quartile of the distances: in a hard stall half of them may be holes.
fn usual_distance(ticks: impl Iterator<Item = Millis>) -> Millis {
    let mut distances: Vec<Millis> = Vec::with_capacity(ticks.size_hint().0);
    let mut last = None;
    for tick in ticks {
        distances.extend(last.map(|last| tick.saturating_sub(last)));
        last = Some(tick);
    }
    if distances.is_empty() {
        return 0;
    }
    let quartile = distances.len() / 4;
    *distances.select_nth_unstable(quartile).1
}

/// A strip as digits, 0 to 9, or as blocks. `top` is what the highest one stands for.
pub fn strip(values: &[Option<f64>], top: f64, is_ascii: bool) -> String {
    const BLOCKS: [char; 10] = ['▁', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█', '█'];
    let letter = |value: &Option<f64>| match value {
        None => ' ',
        Some(value) => {
            let share = if top > 0.0 { value / top } else { 0.0 };
            let level = (share * 10.0).clamp(0.0, 9.0) as u32;
            match is_ascii {
                true => char::from_digit(level, 10).unwrap_or('9'),
                false => BLOCKS.get(level as usize).copied().unwrap_or('█'),
            }
        }
    };
    values.iter().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use model::{Reading, Unit};

    use super::*;

    fn timeline(values: &[(Millis, f64)], kind: SignalKind) -> Timeline {
        let mut timeline = Timeline::default();
        for (at, value) in values {
            let reading = match kind {
                SignalKind::Gauge => Reading::gauge("s.x", Unit::Count, *value),
                SignalKind::Counter => Reading::counter("s.x", Unit::Count, *value),
            };
            timeline.push_readings("s", *at, &[reading]);
        }
        timeline
    }

    const ALL: Window = Window {
        from: 0,
        to: 100_000,
    };

    #[test]
    fn a_counter_is_told_by_its_rate() {
        let values: Vec<(Millis, f64)> = (0..10).map(|s| (s * 1000, s as f64 * 50.0)).collect();
        let timeline = timeline(&values, SignalKind::Counter);
        let series = timeline.get("s.x").unwrap();
        assert_eq!(now(&timeline, series, 9_000), Some(50.0));
        assert_eq!(now(&timeline, series, 60_000), None);
        let spread = spread(&timeline, series, ALL).unwrap();
        assert!((spread.mean - 50.0).abs() < 1e-9 && spread.max == 50.0);
        assert!(spread.deviation < 1e-6);
    }

    #[test]
    fn a_silent_source_tells_nothing_of_now() {
        for kind in [SignalKind::Counter, SignalKind::Gauge] {
            let values: Vec<(Millis, f64)> = (0..10).map(|s| (s * 1000, s as f64 * 50.0)).collect();
            let timeline = timeline(&values, kind);
            let series = timeline.get("s.x").unwrap();
            assert!(now(&timeline, series, 12_000).is_some());
            assert_eq!(now(&timeline, series, 13_000), None);
        }
        // One that is read each ten seconds is not silent after nine.
        let slow = timeline(&[(0, 1.0), (10_000, 2.0)], SignalKind::Gauge);
        assert_eq!(now(&slow, slow.get("s.x").unwrap(), 19_000), Some(2.0));
    }

    #[test]
    fn departures_are_in_usual_swings() {
        let spread = Spread {
            mean: 100.0,
            deviation: 10.0,
            max: 120.0,
        };
        assert_eq!(spread.departure(100.0), 0.0);
        assert!((spread.departure(200.0) - 8.94).abs() < 0.01);
        assert!(spread.departure(0.0) < -8.0);
        for (value, words) in [
            (104.0, "as usual"),
            (10.0, "-90 %"),
            (150.0, "+50 %"),
            (1_200.0, "x12"),
            (5_000_000.0, "x50k"),
        ] {
            assert_eq!(spread.change(value), words);
        }
        let never = Spread {
            mean: 0.0,
            deviation: 0.0,
            max: 0.0,
        };
        assert!((never.departure(7.0) - 100.0).abs() < 1e-9);
        assert_eq!(never.change(7.0), "from 0");
    }

    #[test]
    fn a_strip_has_holes_and_peaks() {
        let values: Vec<(Millis, f64)> = (0..100)
            .filter(|s| !(40..60).contains(s))
            .map(|s| (s * 1000, if s == 25 { 9.5 } else { 1.0 }))
            .collect();
        let timeline = timeline(&values, SignalKind::Gauge);
        let points = points(&timeline, timeline.get("s.x").unwrap(), ALL);
        let columns = columns(&points, ALL, 10);
        assert_eq!(strip(&columns, 10.0, true), "1191  1111");
        assert_eq!(strip(&columns, 10.0, false), "▁▁█▁  ▁▁▁▁");
        assert_eq!(strip(&[Some(3.0), None], 0.0, true), "0 ");
    }
}
