//! A finding of a verdict in a few words.

use serde_json::Value;

/// Title, name and level.
pub(super) fn headline(finding: &Value) -> String {
    format!(
        "{} ({}), {}",
        text(&finding["title"]),
        text(&finding["cause"]),
        text(&finding["level"])
    )
}

/// The text of a value; nothing where it is none.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
