//! Signs that measure signals.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::{Judged, Outcome, Seen, conditional, judge, windows};
use crate::catalogue::{MeasureTest, Sign};
use crate::evaluate::{self, Missing, Truth, Value};
use crate::evidence::Evidence;
use crate::expression::{Condition, Expression};
use crate::since_start;
use crate::template::Filling;
use crate::verdict::Witness;

/// Things that `each = true` looks at, at the most.
const EACH_MAX: usize = 256;

/// What one thing, such as one disk, came to.
struct One {
    judged: Judged,
    expression: Expression,
    baseline: Option<f64>,
    /// The baseline is the average since the server's start.
    since_start: bool,
    each: Option<String>,
}

pub(super) fn test(sign: &Sign, test: &MeasureTest, evidence: &Evidence) -> Outcome {
    let ones: Vec<One> = if test.each {
        let names = evidence.captures(&test.expression.patterns());
        names
            .into_iter()
            .take(EACH_MAX)
            .map(|name| one(test, evidence, Some(name)))
            .collect()
    } else {
        vec![one(test, evidence, None)]
    };
    let best = ones
        .iter()
        .filter_map(|one| match one.judged {
            Judged::Holds { value, limit } => Some((one, value, limit)),
            _ => None,
        })
        .max_by(|(_, left, _), (_, right, _)| {
            let order = left.total_cmp(right);
            if test.limits.wants_high() {
                order
            } else {
                order.reverse()
            }
        });
    if let Some((one, value, limit)) = best {
        return Outcome::Holds(witness(sign, test, evidence, one, value, limit));
    }
    let not = ones.iter().find_map(|one| match &one.judged {
        Judged::Not(text) => Some(text.clone()),
        _ => None,
    });
    if let Some(text) = not {
        return Outcome::Not(text);
    }
    let missing: BTreeSet<String> = if ones.is_empty() {
        let patterns = test.expression.patterns();
        patterns.into_iter().map(str::to_owned).collect()
    } else {
        let unknown = ones.into_iter().filter_map(|one| match one.judged {
            Judged::Unknown(names) => Some(names),
            _ => None,
        });
        unknown.flatten().collect()
    };
    Outcome::Unknown(missing)
}

fn one(test: &MeasureTest, evidence: &Evidence, each: Option<String>) -> One {
    let bound = |conditions: &[Condition]| -> Vec<Condition> {
        match &each {
            None => conditions.to_vec(),
            Some(name) => conditions.iter().map(|one| one.bound(name)).collect(),
        }
    };
    let expression = match &each {
        None => test.expression.clone(),
        Some(name) => test.expression.bound(name),
    };
    let windows = windows(test.over, evidence);
    let values = evaluate::values(&expression, evidence.incident, &windows);
    let truths = evaluate::truths(&bound(&test.only_if), evidence.incident, &windows);
    let mut lacking = PerNames::default();
    let mut seen: Vec<Seen> = values
        .into_iter()
        .zip(truths)
        .map(|(value, truth)| {
            see(value, truth, |names| {
                lacking.get(names, |names| evidence.server_lacks(names))
            })
        })
        .collect();
    if !test.left_out_if.is_empty() {
        let out = evaluate::truths(&bound(&test.left_out_if), evidence.incident, &windows);
        for (one, out) in seen.iter_mut().zip(out) {
            if matches!(out, Truth::True) {
                *one = Seen::Nothing;
            }
        }
    }
    // Where signals were not followed but read once, the slices around that reading are all there is.
    if seen.iter().any(|one| !matches!(one, Seen::Absent(_))) {
        let mut sparse = PerNames::default();
        seen.retain(|one| match one {
            Seen::Absent(names) => !sparse.get(names, |names| evidence.are_sparse(names)),
            _ => true,
        });
    }
    let baseline = evidence
        .baseline
        .and_then(|window| evaluate::value(&expression, evidence.incident, window).number());
    let what = match &each {
        None => test.text.clone(),
        Some(name) => test.text.replace('*', name),
    };
    // The average can make a sign sure, and not deny it: what is wrong may be so since the start.
    let usual = since_start(test, evidence, &expression);
    let by_usual = usual.map(|usual| {
        let mut limits = test.limits;
        limits.times_baseline = limits.times_baseline.map(|times| times * since_start::MORE);
        judge(
            &limits,
            test.over,
            seen.clone(),
            Some(usual),
            &what,
            test.show,
        )
    });
    if let Some(judged @ Judged::Holds { .. }) = by_usual {
        return One {
            judged,
            expression,
            baseline: usual,
            since_start: true,
            each,
        };
    }
    One {
        judged: judge(&test.limits, test.over, seen, baseline, &what, test.show),
        expression,
        baseline,
        since_start: false,
        each,
    }
}

/// The average of a sign that cannot be judged without something to compare it with, where nothing before the onset was
/// recorded.
fn since_start(test: &MeasureTest, evidence: &Evidence, expression: &Expression) -> Option<f64> {
    let limits = &test.limits;
    let needs_it = limits.times_baseline.is_some() && limits.wants_high();
    if evidence.baseline.is_some() || limits.baseline_optional || !needs_it {
        return None;
    }
    since_start::average(expression, evidence.incident)
}

fn see(value: Value, truth: Truth, lacks: impl FnOnce(&Missing) -> bool) -> Seen {
    match (value, truth) {
        (Value::Absent(names), _) if lacks(&names) => Seen::Nothing,
        (Value::Absent(names), _) => Seen::Absent(names),
        (_, Truth::Absent(names)) => Seen::Absent(names),
        (Value::Undefined, _) => Seen::Nothing,
        (Value::Number(number), truth) => conditional(number, truth),
    }
}

/// What was found out about names; window after window asks for the same.
#[derive(Default)]
struct PerNames(Vec<(Missing, bool)>);

impl PerNames {
    fn get(&mut self, names: &Missing, find: impl FnOnce(&BTreeSet<String>) -> bool) -> bool {
        let mut known = self.0.iter();
        if let Some((_, found)) =
            known.find(|(known, _)| Rc::ptr_eq(known, names) || known == names)
        {
            return *found;
        }
        let found = find(names);
        self.0.push((Rc::clone(names), found));
        found
    }
}

fn witness(
    sign: &Sign,
    test: &MeasureTest,
    evidence: &Evidence,
    one: &One,
    value: f64,
    limit: f64,
) -> Witness {
    let patterns = one.expression.patterns();
    let timeline = &evidence.incident.timeline;
    let signals: BTreeSet<String> = patterns
        .iter()
        .flat_map(|pattern| timeline.matching(pattern))
        .map(|series| series.name.clone())
        .collect();
    let filling = Filling {
        text: None,
        value: Some(value),
        baseline: one.baseline,
        limit: Some(limit),
        each: one.each.clone(),
    };
    let says = sign.says.render(&filling, test.show);
    Witness {
        id: sign.id.clone(),
        source: sign.source(),
        says: match one.since_start {
            true => says.replace("before the onset", "on average since its start"),
            false => says,
        },
        value: Some(value),
        baseline: one.baseline,
        limit: Some(limit),
        signals: signals.into_iter().collect(),
        conclusive: sign.conclusive,
    }
}
