//! What a server does usually, by its own counters: how much there was of something since its start. Captures of other
//! tools begin with the stall, and have nothing else of the time before.

use model::{Incident, SignalKind};

use crate::evaluate::number_of_fact;
use expression::{Expression, Of};

/// A shorter life tells nothing of what is usual, in seconds.
const LIFE_MIN_SECONDS: f64 = 60.0;

/// By how much more than the time before the onset the average is to be exceeded: day and night are in it.
pub(crate) const MORE: f64 = 2.0;

/// An expression of rates of the server's counters, over its life until the record begins. `None` where something else
/// is in it, or the server has just begun.
pub(crate) fn average(expression: &Expression, incident: &Incident) -> Option<f64> {
    let life = ["status.Uptime_since_flush_status", "status.Uptime"]
        .iter()
        .find_map(|name| first(incident, name))?;
    if life < LIFE_MIN_SECONDS || expression.patterns().is_empty() {
        return None;
    }
    value(expression, incident, life).filter(|value| value.is_finite())
}

fn value(expression: &Expression, incident: &Incident, life_seconds: f64) -> Option<f64> {
    match expression {
        Expression::Number(number) => Some(*number),
        Expression::Fact { name, word } => number_of_fact(incident, name, word.as_deref()),
        Expression::Signal {
            function, pattern, ..
        } if matches!(function.of, Of::Rate) && pattern.starts_with("status.") => {
            let series = incident.timeline.get(pattern)?;
            let count =
                (series.kind == SignalKind::Counter).then(|| first(incident, pattern))??;
            Some(count / life_seconds)
        }
        Expression::Signal { .. } => None,
        Expression::Binary(operator, left, right) => {
            let left = value(left, incident, life_seconds)?;
            let right = value(right, incident, life_seconds)?;
            Some(operator.apply(left, right))
        }
    }
}

/// The first reading of a signal.
fn first(incident: &Incident, name: &str) -> Option<f64> {
    let mut values = incident.timeline.get(name)?.values.iter().copied();
    values.find(|value| value.is_finite())
}
