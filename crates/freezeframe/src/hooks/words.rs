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

/// How a sentence goes on where no cause was found: behind it stand ids of causes that could not be checked.
const NOT_JUDGED: &str = " Not checked, because evidence is missing";

/// The verdict in a sentence; empty before there is one.
pub(super) fn sentence(body: &Value) -> &str {
    let sentence = text(&body["verdict"], "sentence");
    let seen = sentence.split_once(NOT_JUDGED);
    seen.map_or(sentence, |(seen, _)| seen)
}

/// What users felt; empty before it is known.
pub(super) fn felt(body: &Value) -> &str {
    text(body, "felt")
}

/// What to try first for this server; of an event that an earlier version put into the queue the remedy's first line.
pub(super) fn first_remedy(body: &Value) -> Option<&str> {
    match body.get("do_now") {
        Some(said) => said.as_str(),
        None => body["verdict"]["findings"][0]["remedy"]["now"][0].as_str(),
    }
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
