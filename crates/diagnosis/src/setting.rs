//! The setting that did it, where a cause is about one.

use model::Incident;

use crate::actors::Actor;
use crate::cause::Cause;
use crate::measure::Test;
use crate::setting_value::readable;

/// The setting, with the value that it had last in the stall. Where signs of the cause ask for a value, it is one of
/// these; else it may be it. `max` is no limit.
pub(crate) fn actor(cause: &Cause, incident: &Incident, name: &str) -> Option<Actor> {
    let tests = cause.witnesses.iter().filter_map(|sign| match &sign.test {
        Test::Fact(test) if test.name == name => Some(test),
        _ => None,
    });
    let tests: Vec<_> = tests.collect();
    let fits = |value: &&str| {
        !value.starts_with("max")
            && (tests.is_empty() || tests.iter().any(|test| test.holds(value)))
    };
    let (facts, end) = (&incident.facts, incident.stall_window().to);
    let named = || facts.iter().filter(|timed| timed.fact.name == name);
    let in_time = named().rev().filter(|timed| timed.at <= end);
    let mut values = in_time.chain(named()).map(|timed| timed.fact.value.trim());
    let name = name.trim_start_matches("variables.");
    Some(Actor {
        sure: !tests.is_empty(),
        thing: Some(name.trim_start_matches("sysctl.").to_owned()),
        value: Some(readable(name, values.find(fits)?)),
        ..Actor::default()
    })
}
