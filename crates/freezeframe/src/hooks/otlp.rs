//! An event as a log record of OpenTelemetry: OTLP over HTTP, as JSON. Numbers of 64 bits are text there, and names are in
//! lower camel case (the OpenTelemetry protocol's specification, "JSON Protobuf Encoding"). Pure.

use serde_json::{Value, json};

use super::words::{class, felt, first_remedy, sentence, server, summary, text};

/// Severities (OpenTelemetry's log data model, `SeverityNumber`): a stall is an error, its end tells that all is well.
const INFO: u8 = 9;
const ERROR: u8 = 17;

/// The record of an event; `body` is our own JSON.
pub(super) fn logs(body: &Value, now_ms: i64) -> Value {
    let event = text(body, "event");
    let (number, severity) = match event {
        "end" => (INFO, "INFO"),
        _ => (ERROR, "ERROR"),
    };
    let happened = match event {
        "start" => nanoseconds(&body["onset"]),
        "end" => nanoseconds(&body["end"]),
        _ => None,
    };
    let now = (i128::from(now_ms) * 1_000_000).to_string();
    let finding = &body["verdict"]["findings"][0];
    let known = [
        ("freezeframe.event", event),
        ("freezeframe.incident", text(body, "id")),
        ("freezeframe.delivery", text(body, "delivery")),
        ("freezeframe.server", text(body, "server")),
        ("freezeframe.onset", text(body, "onset")),
        ("freezeframe.end", text(body, "end")),
        ("freezeframe.rule", text(body, "rule")),
        ("freezeframe.cause", class(body)),
        ("freezeframe.level", text(finding, "level")),
        ("freezeframe.felt", felt(body)),
        ("freezeframe.verdict", sentence(body)),
        ("freezeframe.remedy", first_remedy(body).unwrap_or_default()),
        ("db.system.name", "mysql"),
    ];
    let is_of_rule = body["verdict"].is_null();
    let attributes: Vec<Value> = known
        .into_iter()
        // Of a rule nobody says that it is the cause.
        .filter(|(_, value)| !value.is_empty())
        .filter(|(name, _)| !is_of_rule || *name != "freezeframe.cause")
        .map(|(name, value)| attribute(name, value))
        .collect();
    let record = json!({
        "timeUnixNano": happened.unwrap_or_else(|| now.clone()),
        "observedTimeUnixNano": now,
        "severityNumber": number,
        "severityText": severity,
        "eventName": format!("freezeframe.{event}"),
        "body": {"stringValue": summary(body)},
        "attributes": attributes,
    });
    json!({"resourceLogs": [{
        "resource": {"attributes": [
            attribute("service.name", "freezeframe"),
            attribute("host.name", text(body, "host")),
            attribute("service.instance.id", &server(body)),
        ]},
        "scopeLogs": [{
            "scope": {"name": "freezeframe", "version": env!("CARGO_PKG_VERSION")},
            "logRecords": [record],
        }],
    }]})
}

fn attribute(name: &str, value: &str) -> Value {
    json!({"key": name, "value": {"stringValue": value}})
}

fn nanoseconds(moment: &Value) -> Option<String> {
    let moment: jiff::Timestamp = moment.as_str()?.parse().ok()?;
    Some(moment.as_nanosecond().to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_790_000_000_000;

    fn record(body: &Value) -> Value {
        let logs = logs(body, NOW_MS);
        let resource = &logs["resourceLogs"][0];
        assert_eq!(
            resource["resource"]["attributes"][1]["value"]["stringValue"],
            "db1"
        );
        resource["scopeLogs"][0]["logRecords"][0].clone()
    }

    fn value<'a>(record: &'a Value, name: &str) -> Option<&'a str> {
        let mut attributes = record["attributes"].as_array().unwrap().iter();
        let found = attributes.find(|attribute| attribute["key"] == name)?;
        found["value"]["stringValue"].as_str()
    }

    #[test]
    fn an_incident_is_a_log_record_for_each_of_its_events() {
        let mut body = json!({"event": "start", "id": "3306-x", "host": "db1", "server": "3306",
            "onset": "2026-09-21T13:33:20Z", "delivery": "d", "rule": "work-stops", "says": "40 sessions hang"});
        let start = record(&body);
        assert_eq!(start["timeUnixNano"], "1789997600000000000");
        assert_eq!(start["observedTimeUnixNano"], "1790000000000000000");
        assert_eq!(
            (&start["severityNumber"], &start["severityText"]),
            (&json!(17), &json!("ERROR"))
        );
        assert_eq!(
            start["body"]["stringValue"],
            "db1:3306 stalls: 40 sessions hang"
        );
        assert_eq!(value(&start, "freezeframe.rule"), Some("work-stops"));
        assert_eq!(value(&start, "freezeframe.cause"), None);

        body["event"] = json!("verdict");
        body["verdict"] = json!({"sentence": "Certain: a.", "findings": [
            {"cause": "mdl-pileup", "level": "certain", "remedy": {"now": ["KILL 7"]}}]});
        let verdict = record(&body);
        assert_eq!(verdict["eventName"], "freezeframe.verdict");
        assert_eq!(value(&verdict, "freezeframe.cause"), Some("mdl-pileup"));
        assert_eq!(value(&verdict, "freezeframe.remedy"), Some("KILL 7"));

        let end = json!({"event": "end", "id": "3306-x", "host": "db1", "server": "3306",
            "onset": "2026-09-21T13:33:20Z", "end": "2026-09-21T13:34:00Z"});
        let end = record(&end);
        assert_eq!(
            (&end["severityNumber"], &end["timeUnixNano"]),
            (&json!(9), &json!("1789997640000000000"))
        );
    }
}
