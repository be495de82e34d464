//! Signs that look at a setting, which says nothing about the time of the stall.

use std::collections::BTreeSet;

use model::Millis;

use super::{Instead, Outcome};
use crate::evidence::Evidence;
use crate::human;
use crate::measure::{FactTest, Sign, Wanted};
use crate::setting_value::readable;
use crate::template::Filling;
use crate::verdict::Witness;

/// A setting that is first read changed so soon after the onset was changed before it, or did it: the server needs a
/// moment to feel it, and nobody answers a stall as fast. Milliseconds.
const SOON_MS: Millis = 5_000;

/// The value at the onset; where it is not the wanted one, what was read soon after it.
fn value_of<'e>(test: &FactTest, evidence: &'e Evidence) -> Option<&'e str> {
    let incident = evidence.incident;
    let known = incident.fact(&test.name).map(str::trim)?;
    if test.holds(known) {
        return Some(known);
    }
    let onset = incident.stall.onset;
    let soon = incident.facts.iter().filter(|timed| {
        timed.fact.name == test.name && timed.at > onset && timed.at - onset <= SOON_MS
    });
    let mut soon = soon.map(|timed| timed.fact.value.trim());
    Some(soon.find(|value| test.holds(value)).unwrap_or(known))
}

pub(super) fn test(sign: &Sign, test: &FactTest, evidence: &Evidence) -> Outcome {
    let Some(value) = value_of(test, evidence) else {
        return match evidence.lacks(&test.name) {
            true => Outcome::Not(Instead::text(format!("the server has no {}", test.name))),
            false => Outcome::Unknown(BTreeSet::from([test.name.clone()])),
        };
    };
    if !test.holds(value) {
        let value = readable(&test.name, value);
        return Outcome::Not(Instead::text(format!("{} is {value}", test.name)));
    }
    let number = value.parse::<f64>().ok();
    let limit = match test.wanted {
        Wanted::Above(limit) | Wanted::Below(limit) => Some(limit),
        Wanted::Equals(_) | Wanted::Not(_) | Wanted::Matches(_) => None,
    };
    let text = match (number, test.show) {
        (Some(number), Some(show)) => human::show(number, show),
        _ => readable(&test.name, value),
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
        says: sign.says.render(&filling, test.show.unwrap_or_default()),
        value: number,
        limit,
        conclusive: sign.conclusive,
        show: test.show.unwrap_or_default(),
        ..Witness::default()
    })
}
