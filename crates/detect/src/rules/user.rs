//! The user's own triggers.

use expression::{Comparison, Expression, Of, Operator};
use model::{Millis, Sample};

use super::Sign;
use crate::UserTrigger;
use crate::trigger::signal_name;

/// A reading that is older says nothing of now. The slowest source is read every ten seconds.
const READING_MS_MAX: Millis = 30_000;

pub(crate) struct User {
    trigger: UserTrigger,
    signals: Vec<Signal>,
}

/// A signal of a trigger, with what was read of it.
struct Signal {
    name: String,
    latest: Option<Reading>,
    before: Option<Reading>,
}

#[derive(Clone, Copy)]
struct Reading {
    at: Millis,
    value: f64,
}

impl User {
    pub(super) fn new(trigger: &UserTrigger) -> Self {
        let signals = trigger.signals().into_iter().map(|name| Signal {
            name,
            latest: None,
            before: None,
        });
        Self {
            trigger: trigger.clone(),
            signals: signals.collect(),
        }
    }

    pub(super) fn hold_ms(&self) -> Millis {
        self.trigger.hold_ms
    }

    pub(super) fn restart(&mut self) {
        for signal in &mut self.signals {
            (signal.latest, signal.before) = (None, None);
        }
    }

    pub(super) fn check(&mut self, sample: &Sample) -> Sign {
        if !self.take(sample) {
            return Sign::Unclear;
        }
        let condition = &self.trigger.condition;
        let mut since = sample.at;
        let mut value = |side| self.value(side, sample.at, &mut since);
        let (Some(left), Some(right)) = (value(&condition.left), value(&condition.right)) else {
            return Sign::Unclear;
        };
        if !condition.comparison.holds(left, right) {
            return Sign::Good { since };
        }
        let mut says = format!("{}: it is {}", self.trigger.text, rounded(left));
        if !matches!(condition.right, Expression::Number(_)) && !is_negative(&condition.right) {
            let than = match condition.comparison {
                Comparison::AtLeast | Comparison::Above => "above",
                Comparison::AtMost | Comparison::Below => "below",
            };
            says += &format!(", {than} {}", rounded(right));
        }
        Sign::Bad { since, says }
    }

    /// Keeps what a sample brings; whether it brings anything of this trigger.
    fn take(&mut self, sample: &Sample) -> bool {
        let Ok(taken) = &sample.outcome else {
            return false;
        };
        let mut any = false;
        for signal in &mut self.signals {
            // Status variables are found in any case of letters.
            let is_status = signal.name.starts_with("status.");
            let value = taken.readings.iter().find(|reading| {
                reading.name == signal.name
                    || (is_status && reading.name.eq_ignore_ascii_case(&signal.name))
            });
            if let Some(value) = value.map(|reading| reading.value)
                && value.is_finite()
            {
                signal.before = signal.latest.replace(Reading {
                    at: sample.at,
                    value,
                });
                any = true;
            }
        }
        any
    }

    /// The value now; `since` goes back to where the first reading of it stands.
    fn value(&self, expression: &Expression, now: Millis, since: &mut Millis) -> Option<f64> {
        let value = match expression {
            Expression::Number(number) => *number,
            Expression::Fact { .. } => return None,
            Expression::Signal {
                function, pattern, ..
            } => {
                let name = signal_name(pattern);
                let signal = self.signals.iter().find(|signal| signal.name == name)?;
                let latest = signal.latest?;
                // Another source's sample may be a little newer than this one.
                if now.saturating_sub(latest.at) > READING_MS_MAX {
                    return None;
                }
                if matches!(function.of, Of::Rate) {
                    let before = signal.before?;
                    // A counter that falls began anew.
                    if latest.value < before.value || latest.at <= before.at {
                        return None;
                    }
                    *since = (*since).min(before.at);
                    (latest.value - before.value) * 1000.0 / (latest.at - before.at) as f64
                } else {
                    latest.value
                }
            }
            Expression::Binary(operator, left, right) => {
                let left = self.value(left, now, since);
                let right = self.value(right, now, since);
                if *operator == Operator::Largest {
                    return match (left, right) {
                        (Some(left), Some(right)) => Some(left.max(right)),
                        (one, other) => one.or(other),
                    };
                }
                operator.apply(left?, right?)
            }
        };
        value.is_finite().then_some(value)
    }
}

/// `-3` is read as `0 - 3`.
fn is_negative(expression: &Expression) -> bool {
    matches!(expression, Expression::Binary(Operator::Subtract, left, right)
        if **left == Expression::Number(0.0) && matches!(**right, Expression::Number(_)))
}

/// A number as people write it: whole when it is large, two places when it is not.
fn rounded(value: f64) -> String {
    if value.abs() >= 1000.0 || value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}
