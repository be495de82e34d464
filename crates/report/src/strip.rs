//! The timeline of the first screen: a few narrow charts, one below another, on one axis of time.
//!
//! They answer in the order in which one asks: what are the sessions in, does work get done, does the server answer, and
//! is it the processors.

use std::collections::BTreeMap;

use model::{Incident, Millis};

use crate::curve::{Curve, Point};
use crate::derived::{self, FailedProbe};
use crate::units::Quantity;

/// States with an area of their own; the others are one.
const STATES_MAX: usize = 4;

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
    let all = [
        sessions(incident),
        lines(
            incident,
            "Statements completed",
            &[("status.Questions", "all")],
        ),
        answers(incident),
        processors(incident),
    ];
    let mut strips: Vec<Strip> = all.into_iter().flatten().collect();
    strips.retain(|strip| strip.curves.iter().any(|curve| curve.points.len() > 1));
    strips
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
        title: "Processors in use",
        curves,
        is_stacked: true,
        level: Some((1.0, String::new())),
        failed: Vec::new(),
    })
}

/// Sessions by the state that they are in, one area on another; without states those that run.
fn sessions(incident: &Incident) -> Option<Strip> {
    let by_state = states(incident);
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
        .map(|count| (count, format!("{count:.0} processors")));
    Some(strip)
}

/// The states with most sessions in the stall, each with those before it below, and at the top all others. A state that
/// nobody was in has no value at that moment: moments are those of the whole list.
fn states(incident: &Incident) -> Vec<Curve> {
    let Some(active) = labelled(incident, "processlist.active", "other states") else {
        return Vec::new();
    };
    let prefix = "processlist.state.";
    let mut states: Vec<(f64, String, BTreeMap<Millis, f64>)> = incident
        .timeline
        .matching("processlist.state.*")
        .map(|series| {
            let name = series.name.strip_prefix(prefix).unwrap_or(&series.name);
            let values: BTreeMap<Millis, f64> = incident.timeline.points(series).collect();
            let stall = incident.stall_window();
            let sum: f64 = values
                .range(stall.from..=stall.to)
                .map(|(_, value)| value)
                .sum();
            (sum, name.replace('_', " "), values)
        })
        .filter(|(sum, ..)| sum.is_finite() && *sum > 0.0)
        .collect();
    states.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    states.truncate(STATES_MAX);
    if states.is_empty() {
        return Vec::new();
    }
    let mut below: BTreeMap<Millis, f64> = BTreeMap::new();
    let mut curves: Vec<Curve> = Vec::new();
    for (_, label, values) in &states {
        let mut curve = Curve {
            label: label.clone(),
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
