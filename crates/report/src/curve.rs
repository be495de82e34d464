//! A signal as it is drawn: counters as rates, gaps where evidence is absent.

use model::{Incident, Millis, Series, SignalKind, Window};

use crate::units::{Quantity, to_base};

/// Points kept of one line of a chart.
pub(crate) const POINTS_PER_LINE_MAX: usize = 600;

/// Two values further apart than this many usual distances of their signal are not joined.
const GAP_FACTOR: u64 = 3;

/// A distance up to this is never a gap, in milliseconds: a probe that waits for its deadline
/// leaves such distances between answers.
const GAP_MIN_MS: Millis = 2_500;

/// Values beyond this are drawn as this: differences and sums of them stay finite.
const VALUE_MAX: f64 = 1e30;

/// One drawn value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// When; for a rate the end of the time it is about.
    pub(crate) at: Millis,
    /// For a rate the begin of the time it is about, otherwise the same as `at`.
    pub(crate) since: Millis,
    /// The value in base units.
    pub(crate) value: f64,
    /// Whether nothing is missing between it and the point before.
    pub(crate) joined: bool,
}

/// One line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curve {
    /// What it shows, for the legend.
    pub(crate) label: String,
    /// The signals it was made of.
    pub(crate) signals: Vec<String>,
    /// What its numbers count.
    pub(crate) quantity: Quantity,
    /// Whether a value holds for all the time since the one before, as a rate does.
    pub(crate) step: bool,
    /// Values, oldest first.
    pub(crate) points: Vec<Point>,
}

/// Smallest, mean and largest value of a stretch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stats {
    /// Smallest.
    pub(crate) min: f64,
    /// Mean; of rates weighted by the time they are about.
    pub(crate) mean: f64,
    /// Largest.
    pub(crate) max: f64,
}

impl Curve {
    /// The curve of a series within the incident's window.
    pub(crate) fn from_series(incident: &Incident, series: &Series) -> Self {
        let step = series.kind == SignalKind::Counter;
        let factor = to_base(series.unit);
        let raw: Vec<(Millis, f64)> = incident
            .timeline
            .points(series)
            .filter(|(at, value)| {
                (incident.window.from..=incident.window.to).contains(at) && value.is_finite()
            })
            .map(|(at, value)| (at, (value * factor).clamp(-VALUE_MAX, VALUE_MAX)))
            .collect();
        Self {
            label: series.name.clone(),
            signals: vec![series.name.clone()],
            quantity: Quantity::for_series(series),
            step,
            points: if step { rates(&raw) } else { levels(&raw) },
        }
    }

    /// Its numbers in a window; absent when there are none.
    pub(crate) fn stats(&self, window: Window) -> Option<Stats> {
        let mut stats: Option<Stats> = None;
        let (mut sum, mut weights) = (0.0, 0.0);
        for point in self.points.iter().filter(|point| {
            (window.from..=window.to).contains(&point.at)
                && (point.since >= window.from || !self.step)
        }) {
            let weight = if self.step {
                (point.at - point.since) as f64
            } else {
                1.0
            };
            sum += point.value * weight;
            weights += weight;
            let so_far = stats.get_or_insert(Stats {
                min: point.value,
                mean: point.value,
                max: point.value,
            });
            so_far.min = so_far.min.min(point.value);
            so_far.max = so_far.max.max(point.value);
        }
        let mut stats = stats?;
        if weights > 0.0 {
            stats.mean = sum / weights;
        }
        Some(stats)
    }

    /// Whether there is anything but zero in it.
    pub(crate) fn is_flat_zero(&self) -> bool {
        self.points.iter().all(|point| point.value == 0.0)
    }

    /// The points to draw: at most [`POINTS_PER_LINE_MAX`], the smallest and the largest of each
    /// stretch of time where there are more, so peaks stay.
    pub(crate) fn reduced(&self, window: Window) -> Vec<Point> {
        self.reduced_to(window, POINTS_PER_LINE_MAX)
    }

    /// The same, at most so many.
    pub(crate) fn reduced_to(&self, window: Window, points_max: usize) -> Vec<Point> {
        if self.points.len() <= points_max {
            return self.points.clone();
        }
        let buckets = (points_max / 2).max(1) as u64;
        let span = window.to.saturating_sub(window.from).max(1);
        let bucket_of = |point: &Point| {
            (u128::from(point.at.saturating_sub(window.from)) * u128::from(buckets)
                / (u128::from(span) + 1)) as u64
        };
        self.points
            .chunk_by(|a, b| bucket_of(a) == bucket_of(b))
            .flat_map(extremes)
            .take(points_max)
            .collect()
    }
}

fn rates(raw: &[(Millis, f64)]) -> Vec<Point> {
    let gap = gap_after(raw);
    let mut points: Vec<Point> = Vec::with_capacity(raw.len());
    for pair in raw.windows(2) {
        let [(since, before), (at, value)] = *pair else {
            continue;
        };
        let elapsed = at.saturating_sub(since);
        if elapsed == 0 || elapsed > gap {
            continue;
        }
        // A counter that fell began anew from zero: its owner restarted.
        let grown = if value >= before {
            value - before
        } else {
            value
        };
        points.push(Point {
            at,
            since,
            value: grown * 1000.0 / elapsed as f64,
            joined: points.last().is_some_and(|last| last.at == since),
        });
    }
    points
}

fn levels(raw: &[(Millis, f64)]) -> Vec<Point> {
    let gap = gap_after(raw);
    let mut last: Option<Millis> = None;
    raw.iter()
        .map(|&(at, value)| {
            let joined = last.is_some_and(|last| at.saturating_sub(last) <= gap);
            last = Some(at);
            Point {
                at,
                since: at,
                value,
                joined,
            }
        })
        .collect()
}

/// The longest distance that is not a gap, from the lower quartile of the distances: in a short
/// record of a hard stall half of them may be gaps.
fn gap_after(raw: &[(Millis, f64)]) -> Millis {
    let mut distances: Vec<Millis> = raw
        .windows(2)
        .filter_map(|pair| Some(pair.get(1)?.0.saturating_sub(pair.first()?.0)))
        .collect();
    let quarter = distances.len() / 4;
    if distances.is_empty() {
        return GAP_MIN_MS;
    }
    let (_, usual, _) = distances.select_nth_unstable(quarter);
    usual.saturating_mul(GAP_FACTOR).max(GAP_MIN_MS)
}

/// The smallest and the largest point of a stretch in their order; joined to what was before when
/// the stretch's first point is.
fn extremes(stretch: &[Point]) -> Vec<Point> {
    let by_value = |a: &&Point, b: &&Point| a.value.total_cmp(&b.value);
    let (Some(first), Some(low), Some(high)) = (
        stretch.first(),
        stretch.iter().min_by(by_value),
        stretch.iter().max_by(by_value),
    ) else {
        return Vec::new();
    };
    let (a, b) = if low.at <= high.at {
        (low, high)
    } else {
        (high, low)
    };
    let mut kept = vec![Point {
        joined: first.joined,
        ..*a
    }];
    if a.at != b.at {
        let mut whole = stretch
            .iter()
            .filter(|point| point.at > a.at && point.at <= b.at);
        let joined = whole.all(|point| point.joined);
        // A rate that lost its neighbours holds since the kept one before it.
        let since = if joined && b.since != b.at {
            a.at
        } else {
            b.since
        };
        kept.push(Point {
            joined,
            since,
            ..*b
        });
    }
    kept
}

#[cfg(test)]
mod tests {
    use model::{Reading, Timeline, Unit};

    use super::*;
    use crate::testing::incident_of;

    fn counter(values: &[(Millis, f64)]) -> Curve {
        let mut timeline = Timeline::default();
        for (at, value) in values {
            timeline.push_readings("s", *at, &[Reading::counter("s.x", Unit::Count, *value)]);
        }
        let incident = incident_of(timeline);
        Curve::from_series(&incident, incident.timeline.get("s.x").unwrap())
    }

    fn gauge(values: &[(Millis, f64)]) -> Curve {
        let mut timeline = Timeline::default();
        for (at, value) in values {
            timeline.push_readings("s", *at, &[Reading::gauge("s.x", Unit::Count, *value)]);
        }
        let incident = incident_of(timeline);
        Curve::from_series(&incident, incident.timeline.get("s.x").unwrap())
    }

    #[test]
    fn a_counter_becomes_rates_and_survives_a_restart() {
        let curve = counter(&[(0, 10.0), (1000, 30.0), (2000, 5.0)]);
        let seen: Vec<_> = curve
            .points
            .iter()
            .map(|p| (p.since, p.at, p.value, p.joined))
            .collect();
        assert_eq!(seen, [(0, 1000, 20.0, false), (1000, 2000, 5.0, true)]);
    }

    #[test]
    fn a_hole_is_not_joined() {
        let values = [
            (0, 1.0),
            (1000, 2.0),
            (2000, 3.0),
            (9000, 4.0),
            (10_000, 5.0),
        ];
        let joined = |curve: &Curve| curve.points.iter().map(|p| p.joined).collect::<Vec<_>>();
        assert_eq!(joined(&gauge(&values)), [false, true, true, false, true]);
        let rates = counter(&values);
        assert_eq!(joined(&rates), [false, true, false]);
        assert_eq!(rates.points[2].since, 9000);
    }

    #[test]
    fn absent_and_infinite_values_are_left_out() {
        let curve = gauge(&[(0, f64::NAN), (1000, f64::INFINITY), (2000, f64::MAX)]);
        assert_eq!(curve.points.len(), 1);
        assert_eq!(curve.points[0].value, VALUE_MAX);
    }

    #[test]
    fn numbers_of_a_window() {
        let curve = gauge(&[(0, 1.0), (1000, 2.0), (2000, 6.0), (3000, 100.0)]);
        let stats = curve.stats(Window { from: 0, to: 2000 });
        assert_eq!(
            stats,
            Some(Stats {
                min: 1.0,
                mean: 3.0,
                max: 6.0
            })
        );
        assert_eq!(
            curve.stats(Window {
                from: 4000,
                to: 5000
            }),
            None
        );
    }

    #[test]
    fn reduction_keeps_peaks_holes_and_its_limit() {
        let many: Vec<(Millis, f64)> = (0..50_000)
            .filter(|i| !(20_000..30_000).contains(i))
            .map(|i| (i * 2, if i == 7_777 { 99.0 } else { (i % 5) as f64 }))
            .collect();
        let curve = gauge(&many);
        let reduced = curve.reduced(Window {
            from: 0,
            to: 100_000,
        });
        assert!(reduced.len() <= POINTS_PER_LINE_MAX, "{}", reduced.len());
        assert!(reduced.iter().any(|point| point.value == 99.0));
        assert!(reduced.iter().skip(1).any(|point| !point.joined));
        assert!(reduced.windows(2).all(|pair| pair[0].at < pair[1].at));
        let rates = counter(&many);
        let reduced = rates.reduced(Window {
            from: 0,
            to: 100_000,
        });
        assert!(reduced.iter().all(|point| point.since < point.at));
    }
}
