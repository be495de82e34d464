//! The timeline of the first screen: a few narrow charts, one below another, on one axis of time.
//!
//! They answer in the order in which one asks: what are the sessions in, does work get done, does the server answer, and
//! is it the processors.

use std::collections::BTreeMap;

use model::{Incident, Millis, OrderBy, Window};

use crate::curve::{Curve, Point};
use crate::derived::{self, FailedProbe};
use crate::units::Quantity;

/// States with an area of their own; the others are one.
const STATES_MAX: usize = 4;

/// The sessions that are in a statement, and those of a state.
const ACTIVE: &str = "processlist.active";
const STATES: &str = "processlist.state.*";

/// Disks with a line of their own.
const DISKS_MAX: usize = 3;

/// Beyond so many times the largest number of sessions the line of the processors would flatten everything.
const PROCESSORS_TIMES_MAX: f64 = 3.0;

/// One narrow chart.
#[derive(Debug)]
pub(crate) struct Strip {
    /// What it shows, in words.
    pub(crate) title: &'static str,
    /// Areas that stand on each other, or lines.
    pub(crate) curves: Vec<Curve>,
    pub(crate) is_stacked: bool,
    /// A level to compare with, and its name.
    pub(crate) level: Option<(f64, String)>,
    /// Probes without an answer.
    pub(crate) failed: Vec<FailedProbe>,
}

/// Those of which something was recorded.
pub(crate) fn strips(incident: &Incident) -> Vec<Strip> {
    let states = busiest(&[(incident, incident.stall_window())]);
    let strips = all(incident, &states).into_iter().flatten();
    strips.filter(is_drawn).collect()
}

/// The strips of a stretch of a history: those of an incident, and what one looks at over hours.
pub(crate) fn hours(incident: &Incident) -> Vec<Strip> {
    let more = [
        lines(
            incident,
            "Sessions connected",
            &[("status.Threads_connected", "connected")],
        ),
        lines(
            incident,
            "Waiting in InnoDB",
            &[
                ("innodb.lock_wait_transactions", "at row locks"),
                ("innodb.semaphore_waits", "at semaphores"),
            ],
        ),
        disks(incident),
        lines(
            incident,
            "Tasks kept waiting (PSI)",
            &[
                ("psi.io.some_us", "for I/O"),
                ("psi.memory.some_us", "for memory"),
                ("psi.cpu.some_us", "for a CPU"),
            ],
        ),
        lines(
            incident,
            "Memory available",
            &[("meminfo.MemAvailable", "available")],
        ),
    ];
    let mut strips = strips(incident);
    strips.extend(more.into_iter().flatten().filter(is_drawn));
    strips
}

/// Whether a signal is one that the history of hours shows; with the states of sessions, of which there may be many.
pub fn is_of_hours(name: &str, has_states: bool) -> bool {
    let is_state = || name.starts_with(STATES.trim_end_matches('*'));
    let is_disk = || name.starts_with("disk.") && name.ends_with(".busy_ms");
    OF_HOURS.contains(&name) || is_disk() || (has_states && (name == ACTIVE || is_state()))
}

/// Signals of [`hours`], but states and disks.
const OF_HOURS: [&str; 17] = [
    "status.Questions",
    "status.Threads_running",
    "status.Threads_connected",
    "probe.query_us",
    "probe.connect_us",
    "probe.query_outcome",
    "probe.connect_outcome",
    "cpu.system_share",
    "cpu.busy_share",
    "cpu.steal_share",
    "cpu.count",
    "innodb.lock_wait_transactions",
    "innodb.semaphore_waits",
    "psi.io.some_us",
    "psi.memory.some_us",
    "psi.cpu.some_us",
    "meminfo.MemAvailable",
];

/// The three disks that are in use most.
fn disks(incident: &Incident) -> Option<Strip> {
    let disks = derived::disks(incident);
    let curves = disks.iter().take(DISKS_MAX);
    let curves: Vec<Curve> = curves
        .filter_map(|disk| derived::disk_busy(incident, disk))
        .filter(|curve| !curve.is_flat_zero())
        .collect();
    (!curves.is_empty()).then_some(Strip {
        title: "Disk in use",
        curves,
        is_stacked: false,
        level: None,
        failed: Vec::new(),
    })
}

/// A recording, what of it is shown, and in which time its states are counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StripScope<'a> {
    pub(crate) incident: &'a Incident,
    pub(crate) window: Window,
    pub(crate) counted: Window,
}

/// The strips of two recordings, those of one kind beside each other, with the same states in the same order.
pub(crate) fn alike(sides: &[StripScope<'_>; 2]) -> Vec<[Option<Strip>; 2]> {
    let states = busiest(&sides.map(|side| (side.incident, side.counted)));
    let [first, second] = sides.map(|side| {
        all(side.incident, &states).map(|strip| {
            let strip = strip.map(|strip| within(strip, side.window));
            strip.filter(is_drawn)
        })
    });
    let pairs = first.into_iter().zip(second);
    pairs
        .map(|(first, second)| [first, second])
        .filter(|pair| pair.iter().any(Option::is_some))
        .collect()
}

fn all(incident: &Incident, states: &[String]) -> [Option<Strip>; 4] {
    [
        sessions(incident, states),
        lines(
            incident,
            "Statements completed",
            &[("status.Questions", "all")],
        ),
        answers(incident),
        processors(incident),
    ]
}

fn is_drawn(strip: &Strip) -> bool {
    strip.curves.iter().any(|curve| curve.points.len() > 1)
}

/// What of a strip is in a window.
fn within(mut strip: Strip, window: Window) -> Strip {
    let is_in = |at: Millis| (window.from..=window.to).contains(&at);
    for curve in &mut strip.curves {
        let step = curve.step;
        let points = &mut curve.points;
        points.retain(|point| is_in(point.at) && (!step || is_in(point.since)));
    }
    strip.failed.retain(|probe| is_in(probe.at));
    strip
}

fn lines(incident: &Incident, title: &'static str, signals: &[(&str, &str)]) -> Option<Strip> {
    let curves: Vec<Curve> = signals
        .iter()
        .filter_map(|(name, label)| labelled(incident, name, label))
        .collect();
    (!curves.is_empty()).then(|| Strip {
        title,
        curves,
        is_stacked: false,
        level: None,
        failed: Vec::new(),
    })
}

fn labelled(incident: &Incident, name: &str, label: &str) -> Option<Curve> {
    Some(Curve {
        label: label.to_owned(),
        ..derived::curve_named(incident, name)?
    })
}

fn answers(incident: &Incident) -> Option<Strip> {
    let signals = [
        ("probe.query_us", "SELECT 1"),
        ("probe.connect_us", "a new connection"),
    ];
    let mut strip = lines(incident, "Time to an answer", &signals)?;
    strip.failed = derived::failed_probes(incident);
    Some(strip)
}

fn processors(incident: &Incident) -> Option<Strip> {
    let system = labelled(incident, "cpu.system_share", "system")?;
    let mut curves = vec![system.clone()];
    if let Some(user) = derived::user_share(incident) {
        curves.push(Curve {
            points: derived::combined(&user, &system, |user, system| user + system),
            ..user
        });
    }
    Some(Strip {
        title: "CPUs in use",
        curves,
        is_stacked: true,
        level: Some((1.0, String::new())),
        failed: Vec::new(),
    })
}

/// Sessions by the state that they are in, one area on another; without states those that run.
fn sessions(incident: &Incident, names: &[String]) -> Option<Strip> {
    let by_state = states(incident, names);
    let mut strip = match by_state.is_empty() {
        true => lines(
            incident,
            "Sessions in statements",
            &[("status.Threads_running", "running")],
        )?,
        false => Strip {
            title: "Sessions in statements",
            curves: by_state,
            is_stacked: true,
            level: None,
            failed: Vec::new(),
        },
    };
    let values = strip.curves.iter().flat_map(|curve| &curve.points);
    let most = values.map(|point| point.value).fold(0.0, f64::max);
    let processors = incident.timeline.get("cpu.count").and_then(|series| {
        let mut points = incident.timeline.points(series);
        points.next().map(|(_, count)| count)
    });
    strip.level = processors
        .filter(|count| *count >= 1.0 && *count <= PROCESSORS_TIMES_MAX * most)
        .map(|count| (count, format!("{count:.0} CPUs")));
    Some(strip)
}

/// The states that most sessions were in, over all of these recordings.
fn busiest(sides: &[(&Incident, Window)]) -> Vec<String> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (incident, window) in sides {
        let Some(active) = incident.timeline.get(ACTIVE) else {
            continue;
        };
        // Of two recordings the longer one does not count for more.
        let looks = incident.timeline.points_in(active, *window).count().max(1);
        for series in incident.timeline.matching(STATES) {
            let values = incident.timeline.points_in(series, *window);
            let sum: f64 = values.map(|(_, value)| value).sum();
            *sums.entry(state(&series.name)).or_default() += sum / looks as f64;
        }
    }
    let mut states: Vec<(&str, f64)> = sums.into_iter().collect();
    states.retain(|(_, mean)| mean.is_finite() && *mean > 0.0);
    states.order_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    states.truncate(STATES_MAX);
    states.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// The state that a series counts the sessions of.
fn state(series: &str) -> &str {
    let prefix = STATES.trim_end_matches('*');
    series.strip_prefix(prefix).unwrap_or(series)
}

/// These states, each with those before it below, and at the top all others. A state that nobody was in has no value at
/// that moment: moments are those of the whole list.
fn states(incident: &Incident, names: &[String]) -> Vec<Curve> {
    let Some(active) = labelled(incident, ACTIVE, "other states") else {
        return Vec::new();
    };
    if names.is_empty() {
        return Vec::new();
    }
    let mut below: BTreeMap<Millis, f64> = BTreeMap::new();
    let mut curves: Vec<Curve> = Vec::new();
    for name in names {
        let series = incident.timeline.get(&STATES.replace('*', name));
        let values: BTreeMap<Millis, f64> = series
            .map(|series| incident.timeline.points(series).collect())
            .unwrap_or_default();
        let mut curve = Curve {
            label: name.replace('_', " "),
            signals: Vec::new(),
            quantity: Quantity::Count,
            ..active.clone()
        };
        for point in &mut curve.points {
            let sum = below.entry(point.at).or_default();
            *sum += values.get(&point.at).copied().unwrap_or(0.0);
            point.value = *sum;
        }
        curves.push(curve);
    }
    let all: Vec<Point> = active
        .points
        .iter()
        .map(|point| Point {
            value: point
                .value
                .max(below.get(&point.at).copied().unwrap_or(0.0)),
            ..*point
        })
        .collect();
    let is_more = all
        .iter()
        .any(|point| point.value > below.get(&point.at).copied().unwrap_or(0.0));
    if is_more {
        curves.push(Curve {
            points: all,
            quantity: Quantity::Count,
            ..active
        });
    }
    curves
}

#[cfg(test)]
mod tests {
    use model::{Reading, Timeline, Unit};

    use super::*;
    use crate::testing::incident_of;

    /// An incident with so many sessions in each state all the time.
    fn in_states(states: &[(&str, f64)]) -> Incident {
        let mut timeline = Timeline::default();
        for second in 0..100_u64 {
            let gauge = |name: &str, value| Reading::gauge(name.to_owned(), Unit::Count, value);
            let mut readings: Vec<Reading> = states
                .iter()
                .map(|(state, count)| gauge(&STATES.replace('*', state), *count))
                .collect();
            readings.push(gauge(ACTIVE, states.iter().map(|(_, count)| count).sum()));
            timeline.push_readings("processlist", second * 1000, &readings);
        }
        incident_of(timeline)
    }

    fn heights(strip: &Strip) -> Vec<(&str, f64)> {
        let height = |curve: &Curve| curve.points.last().map_or(0.0, |point| point.value);
        let curves = strip.curves.iter();
        curves
            .map(|curve| (curve.label.as_str(), height(curve)))
            .collect()
    }

    #[test]
    fn states_of_two_recordings_have_one_order() {
        let first = in_states(&[("sending_data", 5.0), ("opening_tables", 3.0)]);
        let second = in_states(&[("updating", 40.0), ("sending_data", 1.0)]);
        let shown = |incident| StripScope {
            incident,
            window: Window {
                from: 10_000,
                to: 20_000,
            },
            counted: Incident::stall_window(incident),
        };
        let rows = alike(&[shown(&first), shown(&second)]);
        assert_eq!(rows.len(), 1);
        let [Some(one), Some(other)] = &rows[0] else {
            panic!("both have sessions");
        };
        // A state stands on those before it, also where nobody was in it.
        assert_eq!(
            heights(one),
            [
                ("updating", 0.0),
                ("sending data", 5.0),
                ("opening tables", 8.0)
            ]
        );
        assert_eq!(
            heights(other),
            [
                ("updating", 40.0),
                ("sending data", 41.0),
                ("opening tables", 41.0)
            ]
        );
        let inside = |point: &Point| (10_000..=20_000).contains(&point.at);
        assert!(
            one.curves
                .iter()
                .all(|curve| curve.points.iter().all(inside))
        );
        assert_eq!(one.curves[0].points.len(), 11);
        // By itself the first one has its own states alone.
        let alone = strips(&first);
        assert_eq!(
            heights(&alone[0]),
            [("sending data", 5.0), ("opening tables", 8.0)]
        );
    }
}
