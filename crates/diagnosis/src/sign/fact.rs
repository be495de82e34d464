//! Signs that look at a setting, which says nothing about the time of the stall.

use std::collections::BTreeSet;

use super::{Instead, Outcome};
use crate::evidence::Evidence;
use crate::human;
use crate::measure::{FactTest, Sign, Wanted};
use crate::setting_value::readable;
use crate::template::Filling;
use crate::verdict::Witness;

pub(super) fn test(sign: &Sign, test: &FactTest, evidence: &Evidence) -> Outcome {
    let Some(value) = evidence.incident.fact(&test.name).map(str::trim) else {
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
