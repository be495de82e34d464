//! Tests one sign on the evidence.

mod fact;
mod signals;

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::evaluate::Missing;
use crate::evidence::Evidence;
use crate::human;
use crate::measure::{Measured, Seen, Sign, Test};
use crate::moments::Over;
use crate::template::Filling;
use crate::verdict::Witness;

/// How a test ended.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// The sign is there.
    Holds(Witness),
    /// It was looked for with sufficient evidence and is not there.
    Not(Instead),
    /// The evidence is absent: names of signals or facts.
    Unknown(BTreeSet<String>),
}

/// What was seen instead of a sign. Most causes lack one, and few are told of: it is put in words for those.
#[derive(Debug, Clone)]
pub(crate) struct Instead {
    /// The thing that was looked at.
    each: Option<String>,
    seen: Other,
}

/// What a number was that does not hold.
#[derive(Debug, Clone)]
enum Other {
    /// In words.
    Text(String),
    /// While the conditions of the sign were not met.
    Idle(f64),
    Nothing,
    NotAllTheTime,
    Limit(f64, f64),
    Baseline(f64, f64),
}

impl Instead {
    fn text(text: String) -> Self {
        Self {
            each: None,
            seen: Other::Text(text),
        }
    }

    pub(crate) fn words(&self, sign: &Sign, evidence: &Evidence) -> String {
        let mut what = sign.words();
        if let Some(name) = &self.each {
            what = what.replace('*', name);
        }
        let shown = |number: f64| human::show(number, sign.show);
        let says = match &self.seen {
            Other::Text(text) => text.clone(),
            Other::Idle(value) => {
                let value = shown(*value);
                format!("{what} was {value} while its conditions were not met")
            }
            Other::Nothing => format!("{what} had nothing to count"),
            Other::NotAllTheTime => format!("{what} was not so all the time"),
            Other::Limit(value, limit) => {
                let (value, limit) = (shown(*value), shown(*limit));
                format!("{what} was {value}, the limit is {limit}")
            }
            Other::Baseline(value, baseline) => {
                let (value, baseline) = (shown(*value), shown(*baseline));
                format!("{what} was {value}, against {baseline} {BEFORE}")
            }
        };
        compared(says, evidence)
    }
}

/// Tests a sign.
pub(crate) fn test(sign: &Sign, evidence: &Evidence) -> Outcome {
    let measured = match &sign.test {
        Test::Fact(test) => return fact::test(sign, test, evidence),
        Test::Signals(test) => signals::measure(sign, test, evidence),
        Test::Call(call) => vec![call.function.measure(sign, evidence)],
    };
    let mut best: Option<(&Measured, f64, f64)> = None;
    let mut not = None;
    let mut unknown = BTreeSet::new();
    for one in &measured {
        match judge(sign, one) {
            Judged::Holds(value, limit) => {
                let is_better = best.is_none_or(|(_, most, _)| {
                    let order = value.total_cmp(&most);
                    match sign.limits.wants_high() {
                        true => order.is_ge(),
                        false => order.is_le(),
                    }
                });
                if is_better {
                    best = Some((one, value, limit));
                }
            }
            _ if one.since_start => {}
            Judged::Not(seen) => {
                not.get_or_insert((one, seen));
            }
            Judged::Unknown(names) => unknown.extend(names),
        }
    }
    match (best, not) {
        (Some((one, value, limit)), _) => {
            Outcome::Holds(witness(sign, one, value, limit, evidence))
        }
        (None, Some((one, seen))) => Outcome::Not(Instead {
            each: one.each.clone().filter(|_| sign.each),
            seen,
        }),
        (None, None) => Outcome::Unknown(unknown),
    }
}

/// The time that a stall is compared with, as sentences name it.
const BEFORE: &str = "before the onset";

/// A sentence with the time that this stall is compared with.
fn compared(says: String, evidence: &Evidence) -> String {
    match evidence.baseline_is_after {
        true => says.replace(BEFORE, "after the end"),
        false => says,
    }
}

fn witness(sign: &Sign, one: &Measured, value: f64, limit: f64, evidence: &Evidence) -> Witness {
    let filling = Filling {
        text: None,
        value: Some(value),
        baseline: one.baseline,
        limit: Some(limit),
        each: one.each.clone(),
    };
    let says = sign.says.render(&filling, sign.show);
    let reaches_its_own = sign.limits.above.is_none_or(|above| value >= above);
    Witness {
        id: sign.id.clone(),
        source: one.source.clone().unwrap_or_else(|| sign.source()),
        says: match one.since_start {
            true => says.replace(BEFORE, "on average since its start"),
            false => compared(says, evidence),
        },
        value: Some(value),
        baseline: one.baseline,
        limit: Some(limit),
        signals: match &sign.test {
            Test::Signals(test) => signals::names(test, one.each.as_deref(), evidence),
            Test::Call(call) => call.function.signals(evidence),
            Test::Fact(_) => Vec::new(),
        },
        conclusive: sign.conclusive && !one.is_part && reaches_its_own,
        show: sign.show,
    }
}

/// A number against its limits.
enum Judged {
    /// The number, and the limit that is told.
    Holds(f64, f64),
    /// The limit does not hold.
    Not(Other),
    /// The names of what is missing; none when only the time before the onset is.
    Unknown(BTreeSet<String>),
}

/// Judges what was seen in the windows of the stall.
///
/// A sign that was not found counts as not there only when it could be looked for in at least half
/// of the windows: a record with holes cannot say that something was not there.
fn judge(sign: &Sign, one: &Measured) -> Judged {
    let (limits, seen) = (&one.limits, &one.seen);
    let over = sign.over;
    let windows = seen.len();
    let mut numbers = Vec::new();
    let mut idle = Vec::new();
    let mut nothing = 0;
    let mut missing = BTreeSet::new();
    let mut latest: Option<&Missing> = None;
    for one in seen {
        match one {
            Seen::Number(number) => numbers.push(*number),
            Seen::Idle(number) => idle.push(*number),
            Seen::Nothing => nothing += 1,
            // Window after window lacks the same.
            Seen::Absent(names) => {
                if !latest.is_some_and(|latest| Rc::ptr_eq(latest, names)) {
                    missing.extend(names.iter().cloned());
                    latest = Some(names);
                }
            }
        }
    }
    let measured = numbers.len() + idle.len() + nothing;
    let not = |seen: Other| {
        if measured * 2 < windows {
            Judged::Unknown(missing.clone())
        } else {
            Judged::Not(seen)
        }
    };
    let largest = limits.wants_high() != (over == Over::Every);
    let extreme = |numbers: &[f64]| -> Option<f64> {
        let pick = if largest { f64::max } else { f64::min };
        numbers.iter().copied().reduce(pick)
    };
    let Some(value) = extreme(&numbers) else {
        return match extreme(&idle) {
            Some(value) => not(Other::Idle(value)),
            None if nothing > 0 => not(Other::Nothing),
            None => Judged::Unknown(missing),
        };
    };
    if over == Over::Every && measured * 2 < windows {
        return Judged::Unknown(missing);
    }
    if over == Over::Every && !idle.is_empty() {
        return not(Other::NotAllTheTime);
    }
    let above = limits.above.filter(|limit| value < *limit);
    if let Some(limit) = above.or(limits.below.filter(|limit| value > *limit)) {
        return not(Other::Limit(value, limit));
    }
    let relative = limits.times_baseline.or(limits.at_most_times_baseline);
    let absolute = limits.above.or(limits.below);
    match (relative, one.baseline, absolute) {
        (None, _, Some(limit)) => Judged::Holds(value, limit),
        (None, _, None) => Judged::Unknown(missing),
        (Some(times), Some(baseline), _) => {
            let limit = times * baseline;
            let holds = if limits.wants_high() {
                value >= limit
            } else {
                // What was nothing in calm has not stopped.
                value <= limit && baseline > 0.0
            };
            match holds {
                true => Judged::Holds(value, absolute.unwrap_or(limit)),
                false => not(Other::Baseline(value, baseline)),
            }
        }
        (_, None, Some(limit)) if limits.baseline_optional => Judged::Holds(value, limit),
        (_, None, _) => Judged::Unknown(BTreeSet::new()),
    }
}
