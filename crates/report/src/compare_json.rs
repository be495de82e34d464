//! A comparison as JSON: `docs/reference/json.md` is its contract.

use diagnosis::compare::{Comparison, SideHead};
use serde_json::{Value, json};

use crate::{escape, time_format};

/// Name and version of the document.
const FORMAT: &str = "freezeframe-comparison/1";

/// The comparison as one JSON document with a line end. Numbers that are not finite are `null`.
pub fn compare_json(comparison: &Comparison) -> String {
    let mut document = json!({ "format": FORMAT });
    // Only maps with keys that are no strings fail, and there are none.
    if let (Value::Object(into), Ok(Value::Object(fields))) =
        (&mut document, serde_json::to_value(comparison))
    {
        into.extend(fields);
        for (name, side) in [("before", &comparison.before), ("after", &comparison.after)] {
            into.insert(name.to_owned(), self::side(side));
        }
    }
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    escape::json(&text) + "\n"
}

fn side(side: &SideHead) -> Value {
    let moment = |ms: i64| side.time_is_known().then(|| time_format::rfc3339(ms));
    json!({
        "host": side.host,
        "server": side.server,
        "version": side.version,
        "id": side.id,
        "stretch": side.stretch,
        "from": moment(side.from_ms),
        "to": moment(side.to_ms),
        "seconds": side.length_ms() as f64 / 1000.0,
    })
}
