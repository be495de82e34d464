//! A sign of a cause as a series of readings within a stretch of time.

use model::{Incident, Millis, Window};

use super::{Subject, formulas};
use crate::evaluate::{self, Truth};
use crate::evidence::Evidence;
use crate::measure::{Limits, Sign, Taken, Test};
use expression::{Condition, Expression, Of};

/// Slots of a stretch at the most; in a longer one a slot is longer than a second.
const SLOTS_MAX: u64 = 3_600;

/// A shorter slot holds no reading of a source that reads each second.
const SLOT_MIN_MS: Millis = 1_000;

/// So long may a counter be silent and its next reading still tell of the time before: longer than
/// a server that answers nobody is usually waited for.
const FILL_MS: Millis = 120_000;

/// A sign's readings in one stretch.
#[derive(Debug, Clone, Default)]
pub(super) struct Readings {
    /// When, since the stretch's begin, and what.
    pub(super) points: Vec<(Millis, f64)>,
    /// For each, whether it was a sign of the cause; empty when that cannot be told.
    pub(super) held: Vec<bool>,
}

impl Readings {
    /// Of a stretch, by when each reading's slot ends.
    pub(super) fn new(found: Vec<(Window, f64)>, held: Vec<bool>, of: Window) -> Self {
        let since = |slot: Window| slot.to.saturating_sub(of.from);
        let points = found.into_iter();
        let points = points.map(|(slot, value)| (since(slot), value));
        Self {
            points: points.collect(),
            held,
        }
    }

    pub(super) fn values(&self) -> Vec<f64> {
        self.points.iter().map(|(_, value)| *value).collect()
    }

    /// Share of the readings in which the sign held.
    pub(super) fn held_share(&self) -> Option<f64> {
        let held = self.held.iter().filter(|held| **held).count();
        (!self.held.is_empty()).then(|| held as f64 / self.held.len() as f64)
    }
}

/// What a sign measures, in words, where there are readings to compare.
pub(super) fn described(sign: &Sign) -> Option<String> {
    match &sign.test {
        Test::Signals(test) => Some(short(&test.expression, &test.text)),
        // What it counts has patterns in it; its sentence says it to people.
        Test::Call(call) if call.kind.taken != Taken::Events => {
            Some(sign.says.title(sign.show, call.kind.each))
        }
        Test::Call(_) | Test::Fact(_) => None,
    }
}

/// A measure as people call it: `Com_show_warnings a second`. Formulas of people's own causes stay as they are.
fn short(expression: &Expression, text: &str) -> String {
    if let Some(name) = formulas::name_of(text) {
        return name.to_owned();
    }
    let Expression::Signal {
        function, pattern, ..
    } = expression
    else {
        return text.replace("status.", "");
    };
    let name = pattern.trim_start_matches("status.");
    match function.words {
        "" => text.to_owned(),
        words => words.replace("{}", name),
    }
}

/// The things that a sign with `each` is about, those of both sides; one nameless thing otherwise.
pub(super) fn things(sign: &Sign, evidence: &Evidence) -> Vec<Option<String>> {
    match &sign.test {
        Test::Signals(test) if sign.each => evidence
            .captures(&test.expression.patterns())
            .into_iter()
            .map(Some)
            .collect(),
        _ => vec![None],
    }
}

/// The readings of a sign. `usual` is its value in calm, for limits that are relative to that.
pub(super) fn readings(
    sign: &Sign,
    thing: Option<&str>,
    subject: &Subject,
    evidence: &Evidence,
    usual: Option<f64>,
) -> Readings {
    let window = subject.window;
    let conditions = Condition::bound(&sign.only_if, thing);
    let inside = |at: &Millis| *at > window.from && *at <= window.to;
    let points: Vec<(Window, f64)> = match &sign.test {
        Test::Fact(_) => return Readings::default(),
        Test::Signals(test) => measured(&test.expression.bound(thing), subject.incident, window),
        Test::Call(call) => {
            let found = call.function.readings(evidence);
            match call.kind.taken {
                Taken::Snapshots => (found.into_iter())
                    .filter(|(at, _)| inside(&at.to))
                    .map(|(at, value)| (slot_before(at.to, window), value))
                    .collect(),
                Taken::Stretches | Taken::Events => within(found, window),
            }
        }
    };
    let limits = &sign.limits;
    let can_hold = limits.above.is_some() || limits.below.is_some() || usual.is_some();
    let held = points
        .iter()
        .filter(|_| can_hold)
        .map(|(slot, value)| {
            is_beyond(limits, *value, usual) && are_met(&conditions, subject.incident, *slot)
        })
        .collect();
    Readings::new(points, held, window)
}

/// Whether conditions are met in a slot. Where what they ask for was not read in it, as in a stall
/// that the status does not get through, the next readings tell.
fn are_met(conditions: &[Condition], incident: &Incident, slot: Window) -> bool {
    [0, 5_000, 30_000, FILL_MS]
        .into_iter()
        .map(|later| Window {
            to: slot.to.saturating_add(later),
            ..slot
        })
        .flat_map(|window| evaluate::truths(conditions, incident, &[window]))
        .find(|truth| !matches!(truth, Truth::Absent(_)))
        == Some(Truth::True)
}

/// The stretch's slots; a reading tells of the time since the one before it.
pub(super) fn slots(window: Window) -> Vec<Window> {
    let length = window.length();
    let seconds = length.div_ceil(SLOTS_MAX).div_ceil(SLOT_MIN_MS).max(1);
    let step = seconds * SLOT_MIN_MS;
    (0..length.div_ceil(step).min(SLOTS_MAX + 1))
        .map(|index| {
            let from = window.from + index * step;
            Window::new(from + 1, (from + step).min(window.to))
        })
        .collect()
}

/// An expression in each slot that it has a value in. Where a counter was silent, the time before
/// its next reading has that reading's rate.
pub(super) fn measured(
    expression: &Expression,
    incident: &Incident,
    window: Window,
) -> Vec<(Window, f64)> {
    let slots = slots(window);
    let values = evaluate::values(expression, incident, &slots);
    let mut found: Vec<(Window, Option<f64>)> = slots
        .into_iter()
        .zip(values.iter().map(evaluate::Value::number))
        .collect();
    if is_rates(expression) {
        let mut next: Option<(Millis, f64)> = None;
        for (slot, value) in found.iter_mut().rev() {
            match (*value, next) {
                (Some(value), _) => next = Some((slot.to, value)),
                (None, Some((at, later))) if at.saturating_sub(slot.to) <= FILL_MS => {
                    *value = Some(later);
                }
                _ => {}
            }
        }
    }
    found
        .into_iter()
        .filter_map(|(slot, value)| Some((slot, value?)))
        .collect()
}

fn is_rates(expression: &Expression) -> bool {
    match expression {
        Expression::Number(_) | Expression::Fact { .. } => true,
        Expression::Signal { function, .. } => matches!(function.of, Of::Rate),
        Expression::Binary(_, left, right) => is_rates(left) && is_rates(right),
    }
}

fn slot_before(at: Millis, window: Window) -> Window {
    Window::new(at.saturating_sub(SLOT_MIN_MS).max(window.from) + 1, at)
}

/// What was taken over a stretch of time belongs to where its middle lies.
fn within(found: Vec<(Window, f64)>, window: Window) -> Vec<(Window, f64)> {
    found
        .into_iter()
        .filter(|(of, _)| window.contains(of.from.midpoint(of.to)))
        .map(|(of, value)| {
            let slot = Window::new(of.from.max(window.from), of.to.min(window.to));
            (slot, value)
        })
        .collect()
}

fn is_beyond(limits: &Limits, value: f64, usual: Option<f64>) -> bool {
    let at_least = |limit: Option<f64>| limit.is_none_or(|limit| value >= limit);
    let at_most = |limit: Option<f64>| limit.is_none_or(|limit| value <= limit);
    let times = |times: Option<f64>| Some(times? * usual?);
    at_least(limits.above)
        && at_least(times(limits.times_baseline))
        && at_most(limits.below)
        && at_most(times(limits.at_most_times_baseline))
}

/// The mean, where there is anything.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_cover_a_stretch_and_are_bounded() {
        let window = Window::new;
        assert_eq!(
            slots(window(10, 2_510)),
            [
                window(11, 1_010),
                window(1_011, 2_010),
                window(2_011, 2_510)
            ]
        );
        assert_eq!(slots(window(5, 5)), []);
        let day = slots(window(0, 86_400_000));
        assert!(day.len() as u64 <= SLOTS_MAX + 1);
        assert_eq!(day.last().unwrap().to, 86_400_000);
    }

    /// Titles stand at the end of sentences, and in the middle of them.
    #[test]
    fn no_title_of_the_catalogue_ends_with_a_gap() {
        let causes = crate::Catalogue::builtin().causes().iter();
        let signs = causes.flat_map(|cause| cause.witnesses.iter().chain(&cause.against));
        let titles: Vec<String> = signs.filter_map(described).collect();
        assert!(titles.len() > 100);
        for title in titles {
            let last = title.rsplit(' ').next().unwrap_or_default();
            let is_whole = !title.ends_with('…') && !["for", "of", "at", ""].contains(&last);
            assert!(is_whole, "{title}");
        }
    }

    #[test]
    fn limits_hold_as_in_the_diagnosis() {
        let limits = Limits {
            above: Some(10.0),
            times_baseline: Some(2.0),
            ..Limits::default()
        };
        assert!(is_beyond(&limits, 10.0, None));
        assert!(!is_beyond(&limits, 10.0, Some(6.0)));
        assert!(is_beyond(&limits, 12.0, Some(6.0)));
        let low = Limits {
            below: Some(3.0),
            ..Limits::default()
        };
        assert!(is_beyond(&low, 3.0, None) && !is_beyond(&low, 3.1, None));
    }
}
