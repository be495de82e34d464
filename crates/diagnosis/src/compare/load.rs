//! What the server was asked to do on both sides: a comparison of different loads tells little.

use std::collections::BTreeSet;

use model::{Measure, Millis, Timeline, Window};

use super::{Load, Stretch, Subject};
use crate::catalogue::{Cause, Test};

/// Shortest time before an onset that tells of the load, milliseconds.
const LOAD_MIN_MS: Millis = 10_000;

/// The time in front of a stretch that tells what a server was asked to do that then answered nobody, milliseconds.
const LOAD_AHEAD_MS: Millis = 60_000;

/// The load: statements that are not the cause's own. Where a side is a stall, it is the load
/// before its onset, because a stalled server answers few; where the server counted none in a time that was asked for,
/// it is the one in front of that.
pub(super) fn load(before: &Subject, after: &Subject, cause: Option<&Cause>) -> Option<Load> {
    let own: BTreeSet<&str> = cause
        .into_iter()
        .flat_map(|cause| &cause.witnesses)
        .filter_map(|sign| match &sign.test {
            Test::Measure(test) => Some(test.expression.patterns()),
            _ => None,
        })
        .flatten()
        .filter(|name| name.starts_with("status.Com_") && !name.contains('*'))
        .collect();
    let of = |subject: &Subject| {
        let timeline = &subject.incident.timeline;
        let baseline = subject.incident.baseline_window();
        let long = |window: Window| window.to.saturating_sub(window.from);
        let window = match subject.stretch {
            Stretch::Stall if long(baseline) >= LOAD_MIN_MS => baseline,
            _ => subject.window,
        };
        others_a_second(timeline, window, &own)
    };
    let ahead = |subject: &Subject| {
        let to = subject.window.from;
        let window = Window {
            from: to.saturating_sub(LOAD_AHEAD_MS),
            to,
        };
        others_a_second(&subject.incident.timeline, window, &own)
    };
    let (within, after) = (of(before), of(after)?);
    let before = within.or_else(|| ahead(before))?;
    Some(Load {
        before,
        after,
        ratio: (before > 0.0).then(|| after / before),
        without: own
            .iter()
            .map(|name| name.trim_start_matches("status.").to_owned())
            .collect(),
        before_is_ahead: within.is_none(),
    })
}

/// Statements a second but for those with these counters; `None` where they were not counted.
fn others_a_second(timeline: &Timeline, window: Window, own: &BTreeSet<&str>) -> Option<f64> {
    let rate = |name: &str| timeline.measure(timeline.get(name)?, Measure::Rate, window);
    let own: f64 = own.iter().filter_map(|name| rate(name)).sum();
    Some((rate("status.Questions")? - own).max(0.0))
}
