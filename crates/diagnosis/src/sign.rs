//! Tests one sign on the evidence.

pub(crate) mod lines;
pub(crate) mod locks;
mod measure;
pub(crate) mod profile;
pub(crate) mod semaphores;
pub(crate) mod sessions;
pub(crate) mod stacks;
pub(crate) mod statements;

use std::collections::BTreeSet;
use std::rc::Rc;

use model::Window;

use crate::catalogue::{FactTest, Limits, Over, Sign, Test, Wanted};
use crate::evaluate::{self, Missing, Truth};
use crate::evidence::{Capture, Evidence};
use crate::expression::Condition;
use crate::human::{self, Show};
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

/// Tests a sign.
pub(crate) fn test(sign: &Sign, evidence: &Evidence) -> Outcome {
    match &sign.test {
        Test::Measure(test) => measure::test(sign, test, evidence),
        Test::Processlist(test) => sessions::test(sign, test, evidence),
        Test::Fact(test) => fact(sign, test, evidence),
        Test::Profile(test) => profile::test(sign, test, evidence),
        Test::Stacks(test) => stacks::test(sign, test, evidence),
        Test::Lock(test) => locks::test(sign, test, evidence),
        Test::Statements(test) => statements::test(sign, test, evidence),
        Test::Semaphores(test) => semaphores::test(sign, test, evidence),
        Test::Lines(test) => lines::test(sign, test, evidence),
    }
}

/// What a sign came to that is one number over the stall.
struct Number<'s> {
    seen: Seen,
    baseline: Option<f64>,
    /// What the number is, in words.
    what: String,
    show: Show,
    each: Option<String>,
    source: &'s str,
}

/// Judges a sign that is one number over the stall as a whole.
fn over_stall(
    sign: &Sign,
    limits: &Limits,
    only_if: &[Condition],
    evidence: &Evidence,
    number: Number,
) -> Outcome {
    let seen = match number.seen {
        Seen::Number(value) => {
            let truth = evaluate::all_true(only_if, evidence.incident, evidence.stall);
            conditional(value, truth)
        }
        other => other,
    };
    let judged = judge(
        limits,
        Over::Stall,
        vec![seen],
        number.baseline,
        &number.what,
        number.show,
    );
    let (value, limit) = match judged {
        Judged::Holds { value, limit } => (value, limit),
        Judged::Not(text) => return Outcome::Not(text),
        Judged::Unknown(names) => return Outcome::Unknown(names),
    };
    let filling = Filling {
        text: None,
        value: Some(value),
        baseline: number.baseline,
        limit: Some(limit),
        each: number.each,
    };
    Outcome::Holds(Witness {
        id: sign.id.clone(),
        source: number.source.to_owned(),
        says: sign.says.render(&filling, number.show),
        value: Some(value),
        baseline: number.baseline,
        limit: Some(limit),
        signals: Vec::new(),
        conclusive: sign.conclusive,
    })
}

fn absent(name: &str) -> Seen {
    Seen::Absent(Rc::new(BTreeSet::from([name.to_owned()])))
}

/// What a number is where conditions are or are not met.
fn conditional(number: f64, truth: Truth) -> Seen {
    match truth {
        Truth::True => Seen::Number(number),
        Truth::False => Seen::Idle(number),
        Truth::Absent(names) => Seen::Absent(names),
    }
}

/// Whether a sign is looked for in settings, which say nothing about the time of the stall.
fn fact(sign: &Sign, test: &FactTest, evidence: &Evidence) -> Outcome {
    let Some(value) = evidence.incident.fact(&test.name).map(str::trim) else {
        return if is_no_variable_there(&test.name, evidence) {
            Outcome::Not(format!("the server has no {}", test.name))
        } else {
            Outcome::Unknown(BTreeSet::from([test.name.clone()]))
        };
    };
    let number = value.parse::<f64>().ok();
    let (holds, limit) = match &test.wanted {
        Wanted::Equals(text) => (value.eq_ignore_ascii_case(text), None),
        Wanted::Not(text) => (!value.eq_ignore_ascii_case(text), None),
        Wanted::Matches(regex) => (regex.is_match(value), None),
        Wanted::Above(limit) => (number.is_some_and(|number| number >= *limit), Some(*limit)),
        Wanted::Below(limit) => (number.is_some_and(|number| number <= *limit), Some(*limit)),
    };
    if !holds {
        return Outcome::Not(format!("{} is {value}", test.name));
    }
    let text = match (number, test.show) {
        (Some(number), Some(show)) => human::show(number, show),
        _ => value.to_owned(),
    };
    let filling = Filling {
        text: Some(text),
        value: number,
        limit,
        ..Filling::default()
    };
    Outcome::Holds(Witness {
        id: sign.id.clone(),
        source: sign.source(),
        says: sign.says.render(&filling, test.show.unwrap_or(Show::Count)),
        value: number,
        baseline: None,
        limit,
        signals: Vec::new(),
        conclusive: sign.conclusive,
    })
}

/// All variables of a server are read together: one that is missing while others are there is not
/// absent evidence, this server does not have it.
fn is_no_variable_there(name: &str, evidence: &Evidence) -> bool {
    let is_variable = |name: &str| name.starts_with("variables.");
    is_variable(name)
        && !evidence.is_part(Capture::Variables)
        && evidence
            .incident
            .facts
            .iter()
            .any(|timed| is_variable(&timed.fact.name))
}

/// What a number was in one window.
#[derive(Clone)]
enum Seen {
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
fn windows(over: Over, evidence: &Evidence) -> Vec<Window> {
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
fn judge(
    limits: &Limits,
    over: Over,
    seen: Vec<Seen>,
    baseline: Option<f64>,
    what: &str,
    show: Show,
) -> Judged {
    let windows = seen.len();
    let mut numbers = Vec::new();
    let mut idle = Vec::new();
    let mut nothing = 0;
    let mut missing = BTreeSet::new();
    let mut latest: Option<Missing> = None;
    for one in seen {
        match one {
            Seen::Number(number) => numbers.push(number),
            Seen::Idle(number) => idle.push(number),
            Seen::Nothing => nothing += 1,
            Seen::Absent(names) => {
                // Window after window lacks the same.
                if !latest
                    .as_ref()
                    .is_some_and(|latest| Rc::ptr_eq(latest, &names))
                {
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
    match (baseline, absolute) {
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
