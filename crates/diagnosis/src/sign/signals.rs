//! Signs that measure signals.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::evaluate::{self, Missing, Truth, Value};
use crate::evidence::Evidence;
use crate::measure::{Measured, Seen, Sign, SignalsTest, met};
use crate::since_start;
use expression::{Condition, Expression, Of};
use model::Window;

/// Things that `each = true` looks at, at the most.
const EACH_MAX: usize = 256;

/// Signals that count sessions, threads or transactions that wait.
const CROWDS: [&str; 6] = [
    "innodb.lock_wait_transactions",
    "innodb.prepared_transactions",
    "innodb.queries_in_queue",
    "innodb.semaphore_waits",
    "status.Innodb_row_lock_current_waits",
    "threads.uninterruptible",
];

fn is_crowd(expression: &Expression) -> bool {
    let Expression::Signal {
        function, pattern, ..
    } = expression
    else {
        return false;
    };
    let is_level = matches!(function.of, Of::Mean | Of::Max);
    is_level && CROWDS.contains(&pattern.as_str())
}

/// What each thing, such as each disk, came to.
pub(super) fn measure(sign: &Sign, test: &SignalsTest, evidence: &Evidence) -> Vec<Measured> {
    let patterns = test.expression.patterns();
    if !sign.each {
        return one(sign, test, evidence, None);
    }
    let names = evidence.captures(&patterns);
    if names.is_empty() {
        let missing = patterns.into_iter().map(str::to_owned).collect();
        let seen = vec![Seen::Absent(Rc::new(missing))];
        return vec![Measured::new(sign, seen, None)];
    }
    let names = names.into_iter().take(EACH_MAX);
    names
        .flat_map(|name| one(sign, test, evidence, Some(name)))
        .collect()
}

/// The signals that have these names.
pub(super) fn names(test: &SignalsTest, each: Option<&str>, evidence: &Evidence) -> Vec<String> {
    let expression = test.expression.bound(each);
    let timeline = &evidence.incident.timeline;
    let signals: BTreeSet<String> = expression
        .patterns()
        .iter()
        .flat_map(|pattern| timeline.matching(pattern))
        .map(|series| series.name.clone())
        .collect();
    signals.into_iter().collect()
}

/// What one thing came to; where that can be told, before it what it is beside the average since the server's start.
fn one(
    sign: &Sign,
    test: &SignalsTest,
    evidence: &Evidence,
    each: Option<String>,
) -> Vec<Measured> {
    let truths = |conditions: &[Condition], windows: &[Window]| {
        let bound = Condition::bound(conditions, each.as_deref());
        evaluate::truths(&bound, evidence.incident, windows)
    };
    let expression = test.expression.bound(each.as_deref());
    let windows = evidence.windows(sign.over);
    let values = evaluate::values(&expression, evidence.incident, windows);
    let mut lacks = remembered(|names| evidence.server_lacks(names));
    let seen = values.into_iter().zip(truths(&sign.only_if, windows));
    let mut seen: Vec<Seen> = seen
        .map(|(value, truth)| see(value, truth, &mut lacks))
        .collect();
    if !sign.left_out_if.is_empty() {
        let out = truths(&sign.left_out_if, windows);
        for (one, out) in seen.iter_mut().zip(out) {
            if matches!(out, Truth::True) {
                *one = Seen::Nothing;
            }
        }
    }
    // Where signals were not followed but read once, the slices around that reading are all there is.
    if seen.iter().any(|one| !matches!(one, Seen::Absent(_))) {
        let mut sparse = remembered(|names| evidence.are_sparse(names));
        seen.retain(|one| !matches!(one, Seen::Absent(names) if sparse(names)));
    }
    let baseline = evidence.baseline.and_then(|window| {
        let values = evaluate::values(&expression, evidence.incident, &[window]);
        values.first()?.number()
    });
    let usual = since_start(sign, evidence, &expression);
    let by_usual = usual.map(|usual| {
        let mut one = Measured::new(sign, seen.clone(), Some(usual));
        one.limits.times_baseline = one
            .limits
            .times_baseline
            .map(|times| times * since_start::MORE);
        one.since_start = true;
        one
    });
    let all = by_usual.into_iter();
    let all = all.chain([Measured::new(sign, seen, baseline)]);
    all.map(|mut one| {
        one.each = each.clone();
        match is_crowd(&test.expression) {
            true => one.of_crowd(evidence),
            false => one,
        }
    })
    .collect()
}

/// The average of a sign that cannot be judged without something to compare it with, where nothing before the onset was
/// recorded.
fn since_start(sign: &Sign, evidence: &Evidence, expression: &Expression) -> Option<f64> {
    let limits = &sign.limits;
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
        (Value::Number(number), truth) => met(number, truth),
    }
}

/// What is found out about names: window after window asks for the same.
fn remembered(find: impl Fn(&BTreeSet<String>) -> bool) -> impl FnMut(&Missing) -> bool {
    let mut latest: Option<(Missing, bool)> = None;
    move |names| match &latest {
        Some((known, found)) if Rc::ptr_eq(known, names) => *found,
        _ => latest.insert((Rc::clone(names), find(names))).1,
    }
}
