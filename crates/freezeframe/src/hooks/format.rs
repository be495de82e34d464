//! An event as a receiver wants it: our own JSON, a chat's message, PagerDuty's events, Alertmanager's alerts,
//! OpenTelemetry's log records. Pure.
//!
//! What a stall's events have in common is the incident: a receiver that knows alerts opens one for it and closes it, by a
//! key that is the same for each event.

use serde::Deserialize;
use serde_json::{Value, json};

use super::event_kind::EventKind;
use super::otlp;
use super::words::{class, felt, first_remedy, sentence, server, summary, text};

/// Version of our own JSON.
const OWN_FORMAT: &str = "freezeframe-event/1";

/// Longest summary that PagerDuty takes (Events API v2, `payload.summary`).
const SUMMARY_CHARACTERS_MAX: usize = 1024;

/// How long an alert stays open at Alertmanager when nothing more is heard, milliseconds: it closes what is not renewed.
const OPEN_MS: i64 = 12 * 3_600_000;

/// What a receiver understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    /// Our own, as docs/reference/json.md has it.
    #[default]
    Json,
    /// A message for a chat: Slack's incoming webhooks, and those that take the same.
    Slack,
    /// PagerDuty, Events API v2.
    Pagerduty,
    /// Alertmanager, API v2: `/api/v2/alerts`.
    Alertmanager,
    /// Log records of OpenTelemetry: OTLP over HTTP, as JSON.
    Otlp,
}

impl Format {
    /// The events that are told when the configuration names none.
    pub(super) fn usual(self) -> Vec<EventKind> {
        match self {
            Self::Json => vec![EventKind::Start, EventKind::End, EventKind::Verdict],
            Self::Slack => vec![EventKind::Start, EventKind::Verdict],
            Self::Pagerduty | Self::Alertmanager | Self::Otlp => {
                vec![
                    EventKind::Start,
                    EventKind::Preliminary,
                    EventKind::End,
                    EventKind::Verdict,
                ]
            }
        }
    }

    /// It opens an alert and closes it.
    pub(super) fn has_alerts(self) -> bool {
        matches!(self, Self::Pagerduty | Self::Alertmanager)
    }
}

/// What is posted.
#[derive(Debug, PartialEq)]
pub(super) struct Message {
    pub(super) body: String,
    /// Header lines beside those of the configuration.
    pub(super) headers: Vec<String>,
}

/// What a receiver is told of an event; `None` when it is nothing to it. `body` is our own JSON.
pub(super) fn message(
    format: Format,
    secret: Option<&str>,
    body: &Value,
    now_ms: i64,
) -> Option<Message> {
    let plain = |value: Value| Message {
        body: value.to_string(),
        headers: Vec::new(),
    };
    match format {
        Format::Json => Some(signed(body, secret, now_ms)),
        Format::Slack => Some(plain(json!({"text": chat(body)}))),
        Format::Pagerduty => pagerduty(body, secret.unwrap_or_default()).map(plain),
        Format::Alertmanager => alertmanager(body, now_ms).map(plain),
        Format::Otlp => Some(plain(otlp::logs(body, now_ms))),
    }
}

fn signed(body: &Value, secret: Option<&str>, now_ms: i64) -> Message {
    let mut body = body.clone();
    body["format"] = Value::from(OWN_FORMAT);
    let body = body.to_string();
    let headers = secret.map(|secret| {
        // With the time in it an old post cannot be sent again as a new one.
        let seconds = now_ms / 1000;
        let code = transport::hmac::hex(secret.as_bytes(), format!("{seconds}.{body}").as_bytes());
        vec![
            format!("X-Freezeframe-Timestamp: {seconds}"),
            format!("X-Freezeframe-Signature: sha256={code}"),
        ]
    });
    Message {
        body,
        headers: headers.unwrap_or_default(),
    }
}

/// A stall was not over when its record ended.
fn lasts(body: &Value) -> bool {
    body["lasts"] == true
}

fn chat(body: &Value) -> String {
    let server = escaped(&server(body));
    match text(body, "event") {
        "start" => format!(
            "*{server} stalls* since {}: {}",
            text(body, "onset"),
            escaped(text(body, "says"))
        ),
        "preliminary" => format!("*{server}* stalls, so far: {}", escaped(sentence(body))),
        "end" => format!("*{server}*: the stall ended at {}", text(body, "end")),
        _ => {
            let mut told = format!("*{server}* stalled: {}", escaped(sentence(body)));
            if !felt(body).is_empty() {
                told += &format!("\nUsers felt: {}", escaped(felt(body)));
            }
            if let Some(remedy) = first_remedy(body) {
                told += &format!("\nNow: {}", escaped(remedy));
            }
            told += &format!("\nIncident {}", escaped(text(body, "id")));
            told
        }
    }
}

/// The three characters that a chat's markup begins with.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The key of all events of an incident.
fn key(body: &Value) -> String {
    format!("freezeframe/{}/{}", text(body, "host"), text(body, "id"))
}

fn pagerduty(body: &Value, routing_key: &str) -> Option<Value> {
    let is_over = closes(body)?;
    let action = if is_over { "resolve" } else { "trigger" };
    let mut event = json!({
        "routing_key": routing_key,
        "event_action": action,
        "dedup_key": key(body),
    });
    if is_over {
        return Some(event);
    }
    let summary: String = summary(body).chars().take(SUMMARY_CHARACTERS_MAX).collect();
    event["client"] = Value::from("freezeframe");
    event["payload"] = json!({
        "summary": summary,
        "source": server(body),
        "severity": "critical",
        "timestamp": body["onset"],
        "component": "database",
        "class": class(body),
        "custom_details": details(body),
    });
    Some(event)
}

fn alertmanager(body: &Value, now_ms: i64) -> Option<Value> {
    let is_over = closes(body)?;
    let end = match text(body, "end") {
        "" => iso_time(if is_over { now_ms } else { now_ms + OPEN_MS }),
        end => end.to_owned(),
    };
    Some(json!([{
        // They name the alert: the same for each event of an incident.
        "labels": {
            "alertname": "FreezeframeStall",
            "severity": "critical",
            "instance": text(body, "host"),
            "server": server(body),
            "incident": text(body, "id"),
        },
        "annotations": {
            "summary": summary(body),
            "cause": class(body),
            "felt": felt(body),
            "remedy": first_remedy(body).unwrap_or_default(),
        },
        "startsAt": body["onset"],
        "endsAt": end,
    }]))
}

/// Whether an event closes the alert of its incident or opens it; `None`: neither.
fn closes(body: &Value) -> Option<bool> {
    match text(body, "event") {
        "start" | "preliminary" => Some(false),
        "end" => Some(true),
        // Of a stall that is over: closed already, but for a recorder that was killed meanwhile.
        _ if !lasts(body) => Some(true),
        _ => None,
    }
}

fn details(body: &Value) -> Value {
    json!({
        "incident": text(body, "id"),
        "says": text(body, "says"),
        "felt": felt(body),
        "verdict": sentence(body),
        "level": body["verdict"]["findings"][0]["level"],
        "remedy": first_remedy(body),
    })
}

fn iso_time(wall_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(wall_ms)
        .map(|moment| moment.to_string())
        .unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_790_000_000_000;

    fn event(event: &str, more: &Value) -> Value {
        let mut body = json!({"event": event, "id": "3306-x", "host": "db1", "server": "3306",
            "onset": "2026-09-21T13:33:20Z", "delivery": "d"});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    }

    fn start() -> Value {
        event(
            "start",
            &json!({"rule": "work-stops", "says": "40 sessions <hang>"}),
        )
    }

    fn verdict(lasts: bool) -> Value {
        let finding = json!({"cause": "mdl-pileup", "level": "certain",
            "remedy": {"now": ["KILL 7", "x"]}});
        event(
            "verdict",
            &json!({"lasts": lasts, "verdict": {"sentence": "Certain: a & b.", "findings": [finding]}}),
        )
    }

    fn end() -> Value {
        event("end", &json!({"end": "2026-09-21T13:34:00Z"}))
    }

    fn told(format: Format, body: &Value) -> Option<Value> {
        let message = message(format, Some("R0UTE"), body, NOW_MS)?;
        Some(serde_json::from_str(&message.body).unwrap())
    }

    #[test]
    fn our_own_is_signed_over_time_and_body() {
        let message = message(Format::Json, Some("key"), &start(), NOW_MS).unwrap();
        let body: Value = serde_json::from_str(&message.body).unwrap();
        assert_eq!(body["format"], "freezeframe-event/1");
        assert_eq!(
            (&body["id"], &body["says"]),
            (&start()["id"], &start()["says"])
        );
        let over = format!("1790000000.{}", message.body);
        let expected = [
            "X-Freezeframe-Timestamp: 1790000000".to_owned(),
            format!(
                "X-Freezeframe-Signature: sha256={}",
                transport::hmac::hex(b"key", over.as_bytes())
            ),
        ];
        assert_eq!(message.headers, expected);
        let unsigned = super::message(Format::Json, None, &start(), NOW_MS).unwrap();
        assert_eq!(unsigned.headers, Vec::<String>::new());
    }

    #[test]
    fn a_chat_gets_a_line_with_its_markup_escaped() {
        let text = |body: &Value| told(Format::Slack, body).unwrap()["text"].clone();
        assert_eq!(
            text(&start()),
            "*db1:3306 stalls* since 2026-09-21T13:33:20Z: 40 sessions &lt;hang&gt;"
        );
        assert_eq!(
            text(&verdict(false)),
            "*db1:3306* stalled: Certain: a &amp; b.\nNow: KILL 7\nIncident 3306-x"
        );
        assert_eq!(
            text(&end()),
            "*db1:3306*: the stall ended at 2026-09-21T13:34:00Z"
        );
        // What explain says first: what users felt, and the step for this server.
        let mut known = verdict(false);
        known["felt"] = json!("38 of 39 clients waited <14 s>.");
        known["do_now"] = json!("First in the queue: KILL 45.");
        assert_eq!(
            text(&known),
            "*db1:3306* stalled: Certain: a &amp; b.\nUsers felt: 38 of 39 clients waited &lt;14 s&gt;.\n\
             Now: First in the queue: KILL 45.\nIncident 3306-x"
        );
        // Nobody reads two dozen ids in the night.
        let guess = json!({"cause": "purge-lag", "level": "suspicion", "remedy": {"now": ["x"]}});
        known["verdict"] = json!({"findings": [guess], "sentence": "No known cause fits. Not checked, because \
            evidence is missing (innodb): ahi-latch, purge-lag and 12 other causes."});
        known["do_now"] = Value::Null;
        assert_eq!(
            text(&known),
            "*db1:3306* stalled: No known cause fits.\nUsers felt: 38 of 39 clients waited &lt;14 s&gt;.\nIncident 3306-x"
        );
    }

    #[test]
    fn pagerduty_opens_and_resolves_one_alert_for_an_incident() {
        let opened = told(Format::Pagerduty, &start()).unwrap();
        assert_eq!(opened["event_action"], "trigger");
        assert_eq!(opened["routing_key"], "R0UTE");
        assert_eq!(opened["dedup_key"], "freezeframe/db1/3306-x");
        let payload = &opened["payload"];
        assert_eq!(payload["summary"], "db1:3306 stalls: 40 sessions <hang>");
        assert_eq!(
            (&payload["source"], &payload["severity"]),
            (&"db1:3306".into(), &"critical".into())
        );
        assert_eq!(
            (&payload["class"], &payload["timestamp"]),
            (&"work-stops".into(), &"2026-09-21T13:33:20Z".into())
        );
        for over in [end(), verdict(false)] {
            let resolved = told(Format::Pagerduty, &over).unwrap();
            let expected = json!({"routing_key": "R0UTE", "event_action": "resolve",
                "dedup_key": "freezeframe/db1/3306-x"});
            assert_eq!(resolved, expected);
        }
        assert_eq!(told(Format::Pagerduty, &verdict(true)), None, "it lasts");
        let long = event("start", &json!({"says": "é".repeat(5000)}));
        let summary = told(Format::Pagerduty, &long).unwrap()["payload"]["summary"].clone();
        assert_eq!(summary.as_str().unwrap().chars().count(), 1024);
    }

    #[test]
    fn alertmanager_gets_the_same_labels_and_an_end() {
        let opened = told(Format::Alertmanager, &start()).unwrap();
        assert_eq!(opened[0]["startsAt"], "2026-09-21T13:33:20Z");
        assert_eq!(opened[0]["endsAt"], iso_time(NOW_MS + OPEN_MS));
        assert_eq!(opened[0]["annotations"]["cause"], "work-stops");
        let closed = told(Format::Alertmanager, &end()).unwrap();
        assert_eq!(closed[0]["endsAt"], "2026-09-21T13:34:00Z");
        assert_eq!(closed[0]["labels"], opened[0]["labels"]);
        assert_eq!(closed[0]["startsAt"], opened[0]["startsAt"]);
        let explained = told(Format::Alertmanager, &verdict(false)).unwrap();
        assert_eq!(explained[0]["annotations"]["cause"], "mdl-pileup");
        assert_eq!(explained[0]["annotations"]["remedy"], "KILL 7");
        assert_eq!(explained[0]["labels"], opened[0]["labels"]);
        assert_eq!(explained[0]["endsAt"], iso_time(NOW_MS));
    }
}
