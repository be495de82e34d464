//! What the detector saw, as text: small enough to be kept beside a test, where it is replayed under a simulated clock.

use model::{Incident, Sample};
use serde_json::{Value, json};

use crate::replay::{known, samples};

/// The samples of an incident or of a stretch of a history that the detector judges by, a line of JSON each:
///
/// - `{"source": "status", "names": [...]}` before the first one of a source: what its numbers are,
/// - `[at, "status", [numbers]]`: a sample, `at` in milliseconds of the recorder's clock; null is not there,
/// - `{"at": ..., "name": ..., "value": ...}`: a fact.
///
/// Readings that failed are not in a history, and not in this.
pub fn recording(incident: &Incident) -> Vec<String> {
    let mut names: Vec<(&'static str, Vec<String>)> = Vec::new();
    for source in &incident.timeline.sources {
        let own = incident.timeline.series.iter().filter(|series| {
            let of = incident.timeline.sources.get(series.source);
            of.is_some_and(|of| of.name == source.name)
                && detect::SIGNALS.contains(&series.name.as_str())
        });
        let own: Vec<String> = own.map(|series| series.name.clone()).collect();
        if !own.is_empty() {
            names.push((known(&source.name), own));
        }
    }
    let head = |(source, names): &(&str, Vec<String>)| {
        json!({ "source": source, "names": names }).to_string()
    };
    let mut lines: Vec<String> = names.iter().map(head).collect();
    for sample in samples(incident) {
        lines.extend(facts(&sample));
        let names = names.iter().find(|(source, _)| *source == sample.source);
        lines.extend(names.and_then(|(_, names)| numbers(&sample, names)));
    }
    lines
}

fn facts(sample: &Sample) -> Vec<String> {
    let facts = sample.outcome.iter().flat_map(|taken| &taken.facts);
    facts
        .filter(|fact| detect::SIGNALS.contains(&fact.name.as_str()))
        .map(|fact| json!({ "at": sample.at, "name": fact.name, "value": fact.value }).to_string())
        .collect()
}

/// Nothing where it has none of them.
fn numbers(sample: &Sample, names: &[String]) -> Option<String> {
    let values: Vec<Value> = names
        .iter()
        .map(|name| match sample.value(name) {
            // What counts is written without a point, which is half of the text.
            Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => json!(value as i64),
            Some(value) => json!((value * 1e4).round() / 1e4),
            None => Value::Null,
        })
        .collect();
    let has_any = values.iter().any(|value| !value.is_null());
    has_any.then(|| json!([sample.at, sample.source, values]).to_string())
}
