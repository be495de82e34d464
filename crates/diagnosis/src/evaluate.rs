//! Computes an expression over a window of an incident.

use std::collections::BTreeSet;

use model::{Incident, Measure, Series, Window};

use crate::expression::{Comparison, Condition, Expression, Function, Operator};

/// What an expression came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Number(f64),
    /// Everything was recorded, but it has no value: something was divided by zero.
    Undefined,
    /// These signals or facts are not in the record, or have no value in the window.
    Absent(BTreeSet<String>),
}

impl Value {
    fn finite(number: f64) -> Self {
        if number.is_finite() {
            Self::Number(number)
        } else {
            Self::Undefined
        }
    }

    fn absent(name: &str) -> Self {
        Self::Absent(BTreeSet::from([name.to_owned()]))
    }

    fn or_absent(number: Option<f64>, name: &str) -> Self {
        number.map_or_else(|| Self::absent(name), Self::finite)
    }

    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Undefined | Self::Absent(_) => None,
        }
    }

    /// Absence wins over everything: an expression with a part missing has no value.
    fn combine(self, other: Self, with: impl Fn(f64, f64) -> f64) -> Self {
        match (self, other) {
            (Self::Absent(mut these), Self::Absent(those)) => {
                these.extend(those);
                Self::Absent(these)
            }
            (Self::Absent(names), _) | (_, Self::Absent(names)) => Self::Absent(names),
            (Self::Number(left), Self::Number(right)) => Self::finite(with(left, right)),
            _ => Self::Undefined,
        }
    }
}

/// Whether a condition is true; undefined is not true.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Truth {
    True,
    False,
    Absent(BTreeSet<String>),
}

/// The value of an expression in a window.
pub(crate) fn value(expression: &Expression, incident: &Incident, window: Window) -> Value {
    match expression {
        Expression::Number(number) => Value::Number(*number),
        Expression::Fact(name) => fact(incident, name),
        Expression::Signal { function, pattern } => signal(incident, *function, pattern, window),
        Expression::Binary(operator, left, right) => {
            let left = value(left, incident, window);
            let right = value(right, incident, window);
            left.combine(right, |left, right| match operator {
                Operator::Add => left + right,
                Operator::Subtract => left - right,
                Operator::Multiply => left * right,
                Operator::Divide => left / right,
            })
        }
    }
}

/// Whether all conditions are true in a window.
pub(crate) fn all_true(conditions: &[Condition], incident: &Incident, window: Window) -> Truth {
    let mut missing = BTreeSet::new();
    let mut all = true;
    for condition in conditions {
        let left = value(&condition.left, incident, window);
        let right = value(&condition.right, incident, window);
        let truth = left.combine(right, |left, right| {
            f64::from(match condition.comparison {
                Comparison::AtLeast => left >= right,
                Comparison::AtMost => left <= right,
                Comparison::Above => left > right,
                Comparison::Below => left < right,
            })
        });
        match truth {
            Value::Absent(names) => missing.extend(names),
            Value::Number(number) => all &= number > 0.5,
            Value::Undefined => all = false,
        }
    }
    if !all {
        Truth::False
    } else if missing.is_empty() {
        Truth::True
    } else {
        Truth::Absent(missing)
    }
}

fn fact(incident: &Incident, name: &str) -> Value {
    let number = incident
        .fact(name)
        .and_then(|value| value.trim().parse::<f64>().ok());
    Value::or_absent(number, name)
}

fn signal(incident: &Incident, function: Function, pattern: &str, window: Window) -> Value {
    let timeline = &incident.timeline;
    let summed = |measure: Measure| {
        timeline
            .matching(pattern)
            .filter_map(|series| timeline.measure(series, measure, window))
            .reduce(|sum, value| sum + value)
    };
    let number = match function {
        Function::Rate => summed(Measure::Rate),
        Function::Delta => summed(Measure::Delta),
        Function::Mean => summed(Measure::Mean),
        Function::Max => summed(Measure::Max),
        Function::Min => summed(Measure::Min),
        Function::Last => summed(Measure::Last),
        Function::P95 => {
            let mut values = readings(incident, pattern, window);
            values.sort_unstable_by(f64::total_cmp);
            // The nearest rank: of 20 readings the 19th.
            let rank = (values.len() * 95).div_ceil(100);
            values.get(rank.saturating_sub(1)).copied()
        }
        Function::Share(wanted) => {
            let values = readings(incident, pattern, window);
            let equal = values.iter().filter(|value| **value == wanted).count();
            (!values.is_empty()).then(|| equal as f64 / values.len() as f64)
        }
    };
    Value::or_absent(number, pattern)
}

fn readings(incident: &Incident, pattern: &str, window: Window) -> Vec<f64> {
    let timeline = &incident.timeline;
    let inside = |series: &Series| -> Vec<f64> {
        timeline
            .points(series)
            .filter(|(at, _)| *at >= window.from && *at <= window.to)
            .map(|(_, value)| value)
            .collect()
    };
    timeline.matching(pattern).flat_map(inside).collect()
}
