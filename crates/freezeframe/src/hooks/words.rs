//! What the forms of an event have in common: its parts in words. Pure.

use serde_json::Value;

/// A text of an event; empty where there is none.
pub(super) fn text<'a>(body: &'a Value, key: &str) -> &'a str {
    body[key].as_str().unwrap_or_default()
}

/// Host and label, as other hosts know the server.
pub(super) fn server(body: &Value) -> String {
    format!("{}:{}", text(body, "host"), text(body, "server"))
}

/// The verdict in a sentence; empty before there is one.
pub(super) fn sentence(body: &Value) -> &str {
    text(&body["verdict"], "sentence")
}

/// What to do first.
pub(super) fn first_remedy(body: &Value) -> Option<&str> {
    body["verdict"]["findings"][0]["remedy"]["now"][0].as_str()
}

/// The event in a sentence.
pub(super) fn summary(body: &Value) -> String {
    let server = server(body);
    match (text(body, "event"), sentence(body)) {
        ("start", _) => format!("{server} stalls: {}", text(body, "says")),
        ("end", _) => format!("{server}: the stall is over"),
        (_, sentence) => format!("{server} stalls: {sentence}"),
    }
}

/// The cause, where one is named, else the rule that noticed it.
pub(super) fn class(body: &Value) -> &str {
    let cause = body["verdict"]["findings"][0]["cause"].as_str();
    cause.unwrap_or_else(|| text(body, "rule"))
}
