//! Tests one sign on the evidence.

mod fact;
mod signals;

use std::collections::BTreeSet;
use std::rc::Rc;

use model::Window;

use crate::catalogue::{Limits, Over, Sign, Test};
use crate::evaluate::{self, Missing, Truth};
use crate::evidence::Evidence;
use crate::human;
use crate::template::Filling;
use crate::verdict::Witness;

/// How a test ended.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// The sign is there.
    Holds(Witness),
    /// It was looked for with sufficient evidence and is not there; what was seen instead.
    Not(String),
    /// The evidence is absent: names of signals or facts.
    Unknown(BTreeSet<String>),
}

/// What a sign came to, before it is held against its limits.
pub(crate) struct Measured {
    /// In each window of the stall that is looked at.
    pub(crate) seen: Vec<Seen>,
    pub(crate) baseline: Option<f64>,
    /// The sign's, as far as this evidence can reach them.
    pub(crate) limits: Limits,
    /// Only a part was shown: it proves nothing.
    pub(crate) is_part: bool,
    /// What the number is, in words.
    pub(crate) what: String,
    /// The thing that it is about.
    pub(crate) each: Option<String>,
    pub(crate) source: String,
    /// The baseline is the average since the server's start. That can make a sign sure, and not deny it: what is wrong may
    /// be so since the start.
    pub(crate) since_start: bool,
}

impl Measured {
    pub(crate) fn new(sign: &Sign, seen: Vec<Seen>, baseline: Option<f64>) -> Self {
        Self {
            seen,
            baseline,
            limits: sign.limits,
            is_part: false,
            what: match &sign.test {
                Test::Signals(test) => test.text.clone(),
                Test::Call(call) => call.function.words(false),
                Test::Fact(test) => test.name.clone(),
            },
            each: None,
            source: sign.source(),
            since_start: false,
        }
    }

    /// Of one number over the stall as a whole.
    pub(crate) fn over_stall(
        sign: &Sign,
        evidence: &Evidence,
        seen: Seen,
        baseline: Option<f64>,
    ) -> Self {
        let seen = conditional(sign, evidence, &[evidence.stall], vec![seen]);
        Self::new(sign, seen, baseline)
    }

    /// The same of a number of sessions, of threads or of those that wait, where it may be that there are few at all.
    pub(crate) fn of_crowd(self, evidence: &Evidence) -> Self {
        match evidence.in_statements() {
            Some(few) => Self {
                limits: self.limits.of_few(few),
                ..self
            },
            None => self,
        }
    }

    /// The same of a part of what there was, in which one is what was shown.
    pub(crate) fn of_part(self, sign: &Sign) -> Self {
        Self {
            limits: sign.limits.in_part(),
            is_part: true,
            ..self
        }
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
            Judged::Holds { value, limit } => {
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
            Judged::Not(text) => {
                not.get_or_insert(text);
            }
            Judged::Unknown(names) => unknown.extend(names),
        }
    }
    match (best, not) {
        (Some((one, value, limit)), _) => {
            Outcome::Holds(witness(sign, one, value, limit, evidence))
        }
        (None, Some(text)) => Outcome::Not(text),
        (None, None) => Outcome::Unknown(unknown),
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
        source: one.source.clone(),
        says: match one.since_start {
            true => says.replace("before the onset", "on average since its start"),
            false => says,
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
    }
}

/// What was seen in each window, where the conditions of the sign are or are not met.
pub(crate) fn conditional(
    sign: &Sign,
    evidence: &Evidence,
    windows: &[Window],
    mut seen: Vec<Seen>,
) -> Vec<Seen> {
    if sign.only_if.is_empty() || !seen.iter().any(|one| matches!(one, Seen::Number(_))) {
        return seen;
    }
    let truths = evaluate::truths(&sign.only_if, evidence.incident, windows);
    for (one, truth) in seen.iter_mut().zip(truths) {
        if let Seen::Number(number) = *one {
            *one = met(number, truth);
        }
    }
    seen
}

/// What a number is where conditions are or are not met.
fn met(number: f64, truth: Truth) -> Seen {
    match truth {
        Truth::True => Seen::Number(number),
        Truth::False => Seen::Idle(number),
        Truth::Absent(names) => Seen::Absent(names),
    }
}

pub(crate) fn absent(name: &str) -> Seen {
    Seen::Absent(Rc::new(BTreeSet::from([name.to_owned()])))
}

/// What a number was in one window.
#[derive(Clone)]
pub(crate) enum Seen {
    Number(f64),
    /// A number, where the conditions of the sign are not met.
    Idle(f64),
    /// Recorded, but without a value.
    Nothing,
    Absent(Missing),
}

/// A number against its limits.
enum Judged {
    Holds {
        value: f64,
        limit: f64,
    },
    /// In words.
    Not(String),
    /// The names of what is missing; none when only the time before the onset is.
    Unknown(BTreeSet<String>),
}

/// The windows in which a number is looked at.
pub(crate) fn windows(over: Over, evidence: &Evidence) -> Vec<Window> {
    match over {
        Over::Worst => evidence.slices_and_after.clone(),
        Over::Every => evidence.slices.clone(),
        Over::Stall => vec![evidence.stall],
    }
}

/// Judges what was seen in the windows of the stall.
///
/// A sign that was not found counts as not there only when it could be looked for in at least half
/// of the windows: a record with holes cannot say that something was not there.
fn judge(sign: &Sign, one: &Measured) -> Judged {
    let Measured {
        limits,
        what,
        baseline,
        seen,
        ..
    } = one;
    let (over, show) = (sign.over, sign.show);
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
    let not = |text: String| {
        if measured * 2 < windows {
            Judged::Unknown(missing.clone())
        } else {
            Judged::Not(text)
        }
    };
    let largest = limits.wants_high() != (over == Over::Every);
    let extreme = |numbers: &[f64]| -> Option<f64> {
        let pick = if largest { f64::max } else { f64::min };
        numbers.iter().copied().reduce(pick)
    };
    let Some(value) = extreme(&numbers) else {
        return match extreme(&idle) {
            Some(value) => not(format!(
                "{what} was {} while its conditions were not met",
                human::show(value, show)
            )),
            None if nothing > 0 => not(format!("{what} had nothing to count")),
            None => Judged::Unknown(missing),
        };
    };
    let words = |limit: f64| {
        format!(
            "{what} was {}, the limit is {}",
            human::show(value, show),
            human::show(limit, show)
        )
    };
    if over == Over::Every && measured * 2 < windows {
        return Judged::Unknown(missing);
    }
    if over == Over::Every && !idle.is_empty() {
        return not(format!("{what} was not so throughout"));
    }
    if let Some(limit) = limits.above
        && value < limit
    {
        return not(words(limit));
    }
    if let Some(limit) = limits.below
        && value > limit
    {
        return not(words(limit));
    }
    let relative = limits.times_baseline.or(limits.at_most_times_baseline);
    let absolute = limits.above.or(limits.below);
    let Some(times) = relative else {
        return match absolute {
            Some(limit) => Judged::Holds { value, limit },
            None => Judged::Unknown(missing),
        };
    };
    match (*baseline, absolute) {
        (Some(baseline), _) => {
            let limit = times * baseline;
            let holds = if limits.wants_high() {
                value >= limit
            } else {
                value <= limit
            };
            match holds {
                true => Judged::Holds {
                    value,
                    limit: absolute.unwrap_or(limit),
                },
                false => not(format!(
                    "{what} was {}, against {} before the onset",
                    human::show(value, show),
                    human::show(baseline, show)
                )),
            }
        }
        (None, Some(limit)) if limits.baseline_optional => Judged::Holds { value, limit },
        (None, _) => Judged::Unknown(BTreeSet::new()),
    }
}
