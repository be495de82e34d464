//! Computes an expression over a window of an incident.

use std::collections::BTreeSet;
use std::rc::Rc;

use model::{Incident, Measure, View, Window};

use expression::{Aggregate, Condition, Expression, Of, Operator};

/// Names of signals or facts. Window after window of a stall lacks the same ones.
pub(crate) type Missing = Rc<BTreeSet<String>>;

/// What an expression came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Number(f64),
    /// Everything was recorded, but it has no value: something was divided by zero.
    Undefined,
    /// These signals or facts are not in the record, or have no value in the window.
    Absent(Missing),
}

impl Value {
    fn finite(number: f64) -> Self {
        if number.is_finite() {
            Self::Number(number)
        } else {
            Self::Undefined
        }
    }

    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Undefined | Self::Absent(_) => None,
        }
    }

    /// Absence wins over everything: an expression with a part missing has no value.
    fn combine(self, other: Self, unions: &mut Unions, with: impl Fn(f64, f64) -> f64) -> Self {
        match (self, other) {
            (Self::Absent(these), Self::Absent(those)) => Self::Absent(unions.of(these, those)),
            (Self::Absent(names), _) | (_, Self::Absent(names)) => Self::Absent(names),
            (Self::Number(left), Self::Number(right)) => Self::finite(with(left, right)),
            _ => Self::Undefined,
        }
    }
}

/// Names of one part and of another, with the latest two: the next two are mostly the same.
#[derive(Default)]
struct Unions {
    latest: Option<(Missing, Missing, Missing)>,
}

impl Unions {
    fn of(&mut self, these: Missing, those: Missing) -> Missing {
        if let Some((left, right, union)) = &self.latest
            && Rc::ptr_eq(left, &these)
            && Rc::ptr_eq(right, &those)
        {
            return Rc::clone(union);
        }
        let union = match those.is_subset(&these) {
            true => Rc::clone(&these),
            false => Rc::new(these.union(&those).cloned().collect()),
        };
        self.latest = Some((these, those, Rc::clone(&union)));
        union
    }
}

/// Whether a condition is true; undefined is not true.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Truth {
    True,
    False,
    Absent(Missing),
}

/// The values of an expression in each of these windows, which best lie in order.
pub(crate) fn values(
    expression: &Expression,
    incident: &Incident,
    windows: &[Window],
) -> Vec<Value> {
    match expression {
        Expression::Number(number) => vec![Value::Number(*number); windows.len()],
        Expression::Fact { name, word } => {
            let number = number_of_fact(incident, name, word.as_deref());
            let value = number.map_or_else(|| Value::Absent(only(name)), Value::finite);
            vec![value; windows.len()]
        }
        Expression::Signal {
            function,
            value,
            pattern,
        } => signal(incident, function, *value, pattern, windows),
        Expression::Binary(operator, left, right) => {
            let left = values(left, incident, windows);
            let right = values(right, incident, windows);
            match operator {
                Operator::Largest => larger(left, right),
                _ => combined(left, right, |left, right| operator.apply(left, right)),
            }
        }
    }
}

fn combined(left: Vec<Value>, right: Vec<Value>, with: impl Fn(f64, f64) -> f64) -> Vec<Value> {
    let mut unions = Unions::default();
    left.into_iter()
        .zip(right)
        .map(|(left, right)| left.combine(right, &mut unions, &with))
        .collect()
}

/// Of each two the larger one, or the one that is there.
fn larger(left: Vec<Value>, right: Vec<Value>) -> Vec<Value> {
    let mut unions = Unions::default();
    left.into_iter()
        .zip(right)
        .map(|(left, right)| match (left.number(), right.number()) {
            (Some(_), None) => left,
            (None, Some(_)) => right,
            _ => left.combine(right, &mut unions, f64::max),
        })
        .collect()
}

/// Whether all conditions are true in each of these windows, which best lie in order.
pub(crate) fn truths(
    conditions: &[Condition],
    incident: &Incident,
    windows: &[Window],
) -> Vec<Truth> {
    let mut truths = vec![Truth::True; windows.len()];
    for condition in conditions {
        let left = values(&condition.left, incident, windows);
        let right = values(&condition.right, incident, windows);
        let met = combined(left, right, |left, right| {
            f64::from(condition.comparison.holds(left, right))
        });
        let mut unions = Unions::default();
        for (truth, met) in truths.iter_mut().zip(met) {
            let before = std::mem::replace(truth, Truth::False);
            *truth = match (before, met) {
                (Truth::False, _) | (_, Value::Undefined) => Truth::False,
                (before, Value::Number(number)) if number > 0.5 => before,
                (_, Value::Number(_)) => Truth::False,
                (Truth::True, Value::Absent(names)) => Truth::Absent(names),
                (Truth::Absent(these), Value::Absent(those)) => {
                    Truth::Absent(unions.of(these, those))
                }
            };
        }
    }
    truths
}

/// A fact as a number; with a word, 1 where that is among its words, and else 0.
pub(crate) fn number_of_fact(incident: &Incident, name: &str, word: Option<&str>) -> Option<f64> {
    let value = incident.fact(name)?.trim();
    let Some(word) = word else {
        return value.parse().ok();
    };
    let has = value
        .split([',', ' '])
        .any(|one| one.eq_ignore_ascii_case(word));
    Some(f64::from(u8::from(has)))
}

/// This name alone is missing.
pub(crate) fn only(name: &str) -> Missing {
    Rc::new(BTreeSet::from([name.to_owned()]))
}

fn signal(
    incident: &Incident,
    function: &Aggregate,
    value: Option<f64>,
    pattern: &str,
    windows: &[Window],
) -> Vec<Value> {
    let timeline = &incident.timeline;
    let mut views: Vec<View> = timeline
        .matching(pattern)
        .map(|series| timeline.view(series))
        .collect();
    let absent = only(pattern);
    windows
        .iter()
        .map(|window| {
            let number = in_window(&mut views, function, value, *window);
            number.map_or_else(|| Value::Absent(Rc::clone(&absent)), Value::finite)
        })
        .collect()
}

fn in_window(
    views: &mut [View],
    function: &Aggregate,
    value: Option<f64>,
    window: Window,
) -> Option<f64> {
    let measure = match function.of {
        Of::Readings(of) => return of(readings(views, window)),
        Of::ReadingsAndValue(of) => return of(readings(views, window), value?),
        _ => measure_of(function)?,
    };
    let measured = |view: &mut View| view.measure(measure, window);
    let numbers = views.iter_mut().filter_map(measured);
    numbers.reduce(|sum, number| sum + number)
}

/// What a function measures of a signal; nothing where it asks for all readings.
pub(crate) fn measure_of(function: &Aggregate) -> Option<Measure> {
    match function.of {
        Of::Rate => Some(Measure::Rate),
        Of::Delta => Some(Measure::Delta),
        Of::Mean => Some(Measure::Mean),
        Of::Max => Some(Measure::Max),
        Of::Min => Some(Measure::Min),
        Of::Last => Some(Measure::Last),
        Of::Readings(_) | Of::ReadingsAndValue(_) => None,
    }
}

fn readings(views: &mut [View], window: Window) -> Vec<f64> {
    let mut readings = Vec::new();
    for view in views {
        readings.extend(view.points_in(window).map(|(_, value)| value));
    }
    readings
}
