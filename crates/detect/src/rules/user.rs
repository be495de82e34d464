//! The user's own triggers.

use model::{Millis, Sample};

use super::Sign;
use crate::UserTrigger;

pub(crate) struct User {
    trigger: UserTrigger,
    before: Option<(Millis, f64)>,
}

impl User {
    pub(super) fn new(trigger: &UserTrigger) -> Self {
        Self {
            trigger: trigger.clone(),
            before: None,
        }
    }

    pub(super) fn hold_ms(&self) -> Millis {
        self.trigger.hold_ms
    }

    pub(super) fn restart(&mut self) {
        self.before = None;
    }

    pub(super) fn look(&mut self, sample: &Sample) -> Sign {
        let trigger = &self.trigger;
        let Some(value) = trigger.value_in(sample).filter(|value| value.is_finite()) else {
            return Sign::Unclear;
        };
        let previous = self.before.replace((sample.at, value));
        let (since, value) = if trigger.rate {
            match previous {
                Some((since, old)) if value >= old && sample.at > since => {
                    (since, (value - old) * 1000.0 / (sample.at - since) as f64)
                }
                _ => return Sign::Unclear,
            }
        } else {
            (sample.at, value)
        };
        if trigger.holds(value) {
            Sign::Bad {
                since,
                says: format!("{}: it is {}", trigger.text, rounded(value)),
            }
        } else {
            Sign::Good { since }
        }
    }
}

/// A number as people write it: whole when it is large, two places when it is not.
fn rounded(value: f64) -> String {
    if value.abs() >= 1000.0 || value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}
