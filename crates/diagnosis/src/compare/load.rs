//! What the server was asked to do on both sides: a comparison of different loads tells little.

use std::collections::BTreeSet;

use model::{Measure, Millis, Timeline, Window};

use super::{Load, Stretch, Subject};
use crate::cause::Cause;
use crate::measure::Test;

/// Shortest time before an onset that tells of the load, milliseconds.
const LOAD_MIN_MS: Millis = 10_000;

/// The time in front of a stretch that tells what a server was asked to do that then answered nobody, milliseconds.
const LOAD_AHEAD_MS: Millis = 60_000;

/// Connections, of which each that ends counts as one of `Questions`: that counts commands, also `COM_QUIT` (sql_parse.cc,
/// `dispatch_command`). An application that gets a pool asks the same with half of them.
const CONNECTIONS: &str = "status.Connections";

/// The connections that never came to a command.
const REFUSED: &str = "status.Aborted_connects";

/// The load: statements that are not the cause's own, nor ends of connections where the cause is their number. Where a side is a stall, it is the load
/// before its onset, because a stalled server answers few; where the server counted none in a time that was asked for,
/// it is the one in front of that.
pub(super) fn load(before: &Subject, after: &Subject, cause: Option<&Cause>) -> Option<Load> {
    let own: BTreeSet<&str> = cause
        .into_iter()
        .flat_map(|cause| &cause.witnesses)
        .filter_map(|sign| match &sign.test {
            Test::Signals(test) => Some(test.expression.patterns()),
            _ => None,
        })
        .flatten()
        .filter(|name| {
            *name == CONNECTIONS || (name.starts_with("status.Com_") && !name.contains('*'))
        })
        .collect();
    let of = |subject: &Subject| {
        let timeline = &subject.incident.timeline;
        let baseline = subject.incident.baseline_window();
        let window = match subject.stretch {
            Stretch::Stall if baseline.length() >= LOAD_MIN_MS => baseline,
            _ => subject.window,
        };
        others_a_second(timeline, window, &own)
    };
    let ahead = |subject: &Subject| {
        let to = subject.window.from;
        let window = Window::new(to.saturating_sub(LOAD_AHEAD_MS), to);
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
    let commands = |name: &&str| match *name {
        CONNECTIONS => Some((rate(CONNECTIONS)? - rate(REFUSED).unwrap_or(0.0)).max(0.0)),
        name => rate(name),
    };
    let own: f64 = own.iter().filter_map(commands).sum();
    Some((rate("status.Questions")? - own).max(0.0))
}
