//! Curves made of more than one signal.

use model::{Incident, Measure, Millis, OrderBy, ProbeOutcome, Series};

use crate::{
    curve::{Curve, Point},
    units::Quantity,
};

/// Name of the code in which a query probe's outcome is recorded.
const QUERY_OUTCOME: &str = "probe.query_outcome";
/// Name of the code in which a connect probe's outcome is recorded.
const CONNECT_OUTCOME: &str = "probe.connect_outcome";

/// A probe that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FailedProbe {
    /// When it was known.
    pub(crate) at: Millis,
    /// How.
    pub(crate) outcome: ProbeOutcome,
}

/// The probes that were no sign of life, oldest first.
pub(crate) fn failed_probes(incident: &Incident) -> Vec<FailedProbe> {
    let mut failed: Vec<FailedProbe> = [QUERY_OUTCOME, CONNECT_OUTCOME]
        .iter()
        .filter_map(|name| incident.timeline.get(name))
        .flat_map(|series| incident.timeline.points(series))
        .filter(|(at, _)| (incident.window.from..=incident.window.to).contains(at))
        .filter_map(|(at, code)| {
            Some(FailedProbe {
                at,
                outcome: ProbeOutcome::from_code(code)?,
            })
        })
        .filter(|probe| !matches!(probe.outcome, ProbeOutcome::Ok | ProbeOutcome::AccessDenied))
        .collect();
    failed.order_by_key(|probe| probe.at);
    failed
}

/// Share of CPU time in user mode: what is busy and neither system nor stolen.
pub(crate) fn user_share(incident: &Incident) -> Option<Curve> {
    let busy = curve_named(incident, "cpu.busy_share")?;
    let system = curve_named(incident, "cpu.system_share")?;
    let stolen = curve_named(incident, "cpu.steal_share");
    let points = combined(&busy, &system, |busy, system| busy - system);
    let mut user = Curve {
        label: "user".to_owned(),
        points,
        ..busy
    };
    if let Some(stolen) = stolen {
        user.points = combined(&user, &stolen, |user, stolen| user - stolen);
    }
    for point in &mut user.points {
        point.value = point.value.max(0.0);
    }
    user.signals = Vec::new();
    Some(user)
}

/// How long a request of a disk took on average, reads or writes, as `iostat` computes await:
/// time spent by requests over requests (kernel, `Documentation/admin-guide/iostats.rst`).
pub(crate) fn disk_await(incident: &Incident, disk: &str, what: DiskWork) -> Option<Curve> {
    let (requests, spent, label) = match what {
        DiskWork::Reads => ("reads", "read_ms", "read"),
        DiskWork::Writes => ("writes", "write_ms", "write"),
    };
    let requests = curve_named(incident, &format!("disk.{disk}.{requests}"))?;
    let spent = curve_named(incident, &format!("disk.{disk}.{spent}"))?;
    // Without requests there is no such time.
    let seconds = |spent: f64, requests: f64| {
        if requests > 0.0 {
            spent / requests
        } else {
            f64::NAN
        }
    };
    Some(Curve {
        label: format!("{disk} {label}"),
        points: combined(&spent, &requests, seconds),
        signals: spent.signals,
        quantity: Quantity::Seconds,
        step: true,
    })
}

/// Share of time in which a disk had requests under way.
pub(crate) fn disk_busy(incident: &Incident, disk: &str) -> Option<Curve> {
    let busy = curve_named(incident, &format!("disk.{disk}.busy_ms"))?;
    Some(Curve {
        label: disk.to_owned(),
        ..busy
    })
}

/// Kind of disk requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskWork {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
}

/// The disks, those with the most time in use during the stall first.
pub(crate) fn disks(incident: &Incident) -> Vec<String> {
    movers(incident, "disk.*.busy_ms", usize::MAX)
        .into_iter()
        .filter_map(|series| series.name.strip_prefix("disk.")?.strip_suffix(".busy_ms"))
        .map(str::to_owned)
        .collect()
}

/// The series of a pattern whose rate or mean changed most from before the onset to the stall,
/// the largest change first; those that did not change are left out unless all are to be had.
pub(crate) fn movers<'a>(incident: &'a Incident, pattern: &'a str, most: usize) -> Vec<&'a Series> {
    let mut changes: Vec<(f64, &Series)> = incident
        .timeline
        .matching(pattern)
        .map(|series| (change(incident, series), series))
        .filter(|(change, _)| *change > 0.0 || most == usize::MAX)
        .collect();
    changes.order_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    changes
        .into_iter()
        .take(most)
        .map(|(_, series)| series)
        .collect()
}

fn change(incident: &Incident, series: &Series) -> f64 {
    let measure = match series.kind {
        model::SignalKind::Counter => Measure::Rate,
        model::SignalKind::Gauge => Measure::Mean,
    };
    let value = |window| {
        incident
            .timeline
            .measure(series, measure, window)
            .unwrap_or(0.0)
    };
    let change = (value(incident.stall_window()) - value(incident.baseline_window())).abs();
    if change.is_finite() { change } else { 0.0 }
}

/// The curve of a signal, where it was recorded.
pub(crate) fn curve_named(incident: &Incident, name: &str) -> Option<Curve> {
    incident
        .timeline
        .get(name)
        .map(|series| Curve::from_series(incident, series))
}

/// Two curves of one source, moment by moment; where one is absent, or the result is no
/// number, there is none.
pub(crate) fn combined(a: &Curve, b: &Curve, of: impl Fn(f64, f64) -> f64) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::with_capacity(a.points.len());
    let mut others = b.points.iter().peekable();
    let mut whole = true;
    for point in &a.points {
        while others.next_if(|other| other.at < point.at).is_some() {}
        let other = others.next_if(|other| other.at == point.at && other.since == point.since);
        let value = other.map(|other| of(point.value, other.value));
        match other.zip(value.filter(|value| value.is_finite())) {
            Some((other, value)) => {
                points.push(Point {
                    value,
                    joined: whole && point.joined && other.joined,
                    ..*point
                });
                whole = true;
            }
            None => whole = false,
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use model::{Reading, Timeline, Unit};

    use super::*;
    use crate::testing::incident_of;

    #[test]
    fn user_time_is_what_is_left_of_busy() {
        let mut timeline = Timeline::default();
        for at in 0..3 {
            let share = |name: &'static str, value| Reading::gauge(name, Unit::Share, value);
            timeline.push_readings(
                "cpu",
                at * 1000,
                &[
                    share("cpu.busy_share", 0.9),
                    share("cpu.system_share", if at == 1 { f64::NAN } else { 0.6 }),
                    share("cpu.steal_share", 0.1),
                ],
            );
        }
        let user = user_share(&incident_of(timeline)).unwrap();
        let seen: Vec<_> = user
            .points
            .iter()
            .map(|p| (p.at, (p.value * 1e6).round()))
            .collect();
        assert_eq!(seen, [(0, 200_000.0), (2000, 200_000.0)]);
        assert!(!user.points[1].joined);
    }

    #[test]
    fn await_is_time_over_requests() {
        let mut timeline = Timeline::default();
        for (at, writes, spent) in [(0, 0.0, 0.0), (1000, 10.0, 50.0), (2000, 10.0, 50.0)] {
            timeline.push_readings(
                "disk",
                at,
                &[
                    Reading::counter("disk.sda.writes", Unit::Count, writes),
                    Reading::counter("disk.sda.write_ms", Unit::Milliseconds, spent),
                    Reading::counter("disk.sda.busy_ms", Unit::Milliseconds, spent),
                ],
            );
        }
        let incident = incident_of(timeline);
        assert_eq!(disks(&incident), ["sda"]);
        let curve = disk_await(&incident, "sda", DiskWork::Writes).unwrap();
        let values: Vec<f64> = curve.points.iter().map(|point| point.value).collect();
        assert_eq!(values, [0.005]);
        assert_eq!(disk_await(&incident, "sda", DiskWork::Reads), None);
        assert_eq!(disk_busy(&incident, "sda").unwrap().points[0].value, 0.05);
    }

    #[test]
    fn movers_are_those_that_changed() {
        let mut timeline = Timeline::default();
        for second in 0..90u64 {
            let grown = second.saturating_sub(40) as f64;
            timeline.push_readings(
                "status",
                second * 1000,
                &[
                    Reading::counter("status.Com_show_warnings", Unit::Count, grown * 100.0),
                    Reading::counter(
                        "status.Com_select",
                        Unit::Count,
                        second as f64 - grown / 2.0,
                    ),
                    Reading::counter("status.Com_begin", Unit::Count, 7.0),
                ],
            );
        }
        let incident = incident_of(timeline);
        let names: Vec<&str> = movers(&incident, "status.Com_*", 5)
            .iter()
            .map(|series| series.name.as_str())
            .collect();
        assert_eq!(names, ["status.Com_show_warnings", "status.Com_select"]);
    }

    #[test]
    fn only_answers_that_failed_are_failures() {
        let mut timeline = Timeline::default();
        for (at, outcome) in [
            (1, ProbeOutcome::Ok),
            (2, ProbeOutcome::TimedOut),
            (3, ProbeOutcome::AccessDenied),
            (4, ProbeOutcome::Refused),
        ] {
            let reading = Reading::gauge("probe.query_outcome", Unit::Code, outcome.code());
            timeline.push_readings("probe", at, &[reading]);
        }
        let failed: Vec<_> = failed_probes(&incident_of(timeline))
            .iter()
            .map(|p| p.outcome)
            .collect();
        assert_eq!(failed, [ProbeOutcome::TimedOut, ProbeOutcome::Refused]);
    }
}
