//! The JSON: the contract of `docs/reference/json.md`.

use crate::common;
use report::json;
use serde_json::Value;

fn document() -> Value {
    serde_json::from_str(&json(&common::incident(), &common::verdict())).unwrap_or_default()
}

fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().into_iter().flatten();
    object.map(|(key, _)| key.as_str()).collect()
}

#[test]
fn the_fields_are_those_of_the_contract() {
    let document = document();
    assert_eq!(
        keys(&document),
        [
            "absent", "findings", "folded", "format", "incident", "rejected", "sentence", "sources"
        ]
    );
    assert_eq!(document["format"], "freezeframe-verdict/1");
    let incident = &document["incident"];
    assert_eq!(
        keys(incident),
        [
            "baseline",
            "duration_seconds",
            "end",
            "host",
            "id",
            "onset",
            "previous",
            "server",
            "time_known",
            "trigger",
            "triggers",
            "window"
        ]
    );
    assert_eq!(
        keys(&incident["server"]),
        ["address", "label", "pid", "version"]
    );
    assert_eq!(keys(&incident["triggers"][0]), ["rule", "says"]);
    assert_eq!(
        keys(&document["findings"][0]),
        [
            "actors",
            "against",
            "cause",
            "confidence",
            "level",
            "refuted_by",
            "relations",
            "remedy",
            "sources",
            "title",
            "unknown",
            "what",
            "witnesses"
        ]
    );
    assert_eq!(
        keys(&document["findings"][0]["witnesses"][0]),
        [
            "baseline",
            "conclusive",
            "id",
            "limit",
            "says",
            "signals",
            "source",
            "value"
        ]
    );
    assert_eq!(
        keys(&document["findings"][0]["remedy"]),
        ["durable", "now", "risk", "undo", "verify"]
    );
    assert_eq!(keys(&document["rejected"][0]), ["cause", "title", "why"]);
    assert_eq!(keys(&document["absent"][0]), ["detail", "reason", "what"]);
    assert_eq!(keys(&document["sources"][0]), ["kind", "path"]);
}

#[test]
fn the_values_are_those_of_the_incident() {
    let document = document();
    let incident = &document["incident"];
    assert_eq!(incident["onset"], "2024-05-12T03:16:05.120Z");
    assert_eq!(incident["end"], "2024-05-12T03:17:12.120Z");
    assert_eq!(incident["duration_seconds"], 67.0);
    assert_eq!(incident["window"]["from"], "2024-05-12T03:12:05.120Z");
    assert!(incident["previous"].is_null());
    assert_eq!(incident["baseline"]["from"], incident["window"]["from"]);
    assert_eq!(incident["baseline"]["to"], incident["onset"]);
    assert_eq!(incident["server"]["pid"], 4711);
    assert_eq!(document["findings"][0]["level"], "certain");
    assert_eq!(document["findings"][0]["witnesses"][0]["value"], 46_812.0);
    assert_eq!(document["absent"][0]["reason"], "permission");
}

#[test]
fn a_stall_before_is_told_with_what_is_compared_therefore() {
    let mut incident = common::incident();
    let (begin, onset) = (incident.window.from, incident.stall.onset);
    incident.stall.earlier = vec![model::Window {
        from: begin,
        to: onset - 12_000,
    }];
    let document: Value = serde_json::from_str(&json(&incident, &common::verdict())).expect("JSON");
    let incident = &document["incident"];
    assert_eq!(incident["previous"]["from"], incident["window"]["from"]);
    assert_eq!(incident["previous"]["to"], "2024-05-12T03:15:53.120Z");
    assert_eq!(incident["baseline"]["from"], incident["previous"]["to"]);
    assert_eq!(incident["baseline"]["to"], incident["onset"]);
}

#[test]
fn what_is_not_there_is_null() {
    let (mut incident, mut verdict) = (common::incident(), common::verdict());
    incident.stall.end = None;
    incident.server.pid = None;
    verdict.findings[0].witnesses[0].value = Some(f64::NAN);
    let document: Value = serde_json::from_str(&json(&incident, &verdict)).expect("JSON");
    assert!(
        document["incident"]["end"].is_null() && document["incident"]["duration_seconds"].is_null()
    );
    assert!(document["incident"]["server"]["pid"].is_null());
    assert!(document["findings"][0]["witnesses"][0]["value"].is_null());
}
