//! A check's answer for strangers: made of what is known to name nobody.
//!
//! Texts of the server, of sessions and of the host's files may name users, hosts and paths, in forms that nobody can list.
//! So of each text only what is ours is left: names of sources and rules, reasons, numbers. The server's own name stays, in
//! `server` and `name`: whoever asks must know which it is, and take it out.

use diagnosis::Audit;
use serde_json::{Map, Value, json};

/// The answer about a server, and the audit that is in it.
pub(super) fn of(mut answer: Value, audit: &Audit) -> Value {
    if let Some(sources) = answer["sources"].as_array_mut() {
        sources.iter_mut().for_each(source);
    }
    answer["login"] = login(&answer["login"]);
    if let Some(account) = answer.get_mut("account") {
        *account = without(account, &["name"]);
        if let Some(grants) = account["grants"].as_array_mut() {
            // It holds the account.
            grants
                .iter_mut()
                .for_each(|grant| *grant = without(grant, &["cure"]));
        }
    }
    if answer["fleet"].is_object() {
        let frames = answer["fleet"]["frames"]["ok"].clone();
        answer["fleet"] = json!({"ok": answer["fleet"]["ok"], "frames": {"ok": frames}});
    }
    let lines = answer["audit"]["lines"].as_array_mut();
    for (line, seen) in lines.into_iter().flatten().zip(&audit.lines) {
        line["saw"] = json!(seen.shared);
    }
    let not_judged = answer["audit"]["not_judged"].as_array_mut();
    for rule in not_judged.into_iter().flatten() {
        // Its evidence, and the reason; what the server or the host said stands in brackets behind.
        let why = rule["why"].as_str().unwrap_or_default();
        let why = why.split(" (").next().unwrap_or_default().to_owned();
        rule["why"] = json!(why);
    }
    answer
}

/// Whether it let us in, and else the number of its error.
fn login(login: &Value) -> Value {
    let detail = login["detail"].as_str().unwrap_or_default();
    json!({"ok": login["ok"], "reason": login["reason"], "error": error_number(detail)})
}

fn source(source: &mut Value) {
    for absent in source["absent"].as_array_mut().into_iter().flatten() {
        let detail = absent["detail"].as_str().unwrap_or_default();
        let error = error_number(detail);
        *absent = without(absent, &["detail"]);
        absent["error"] = json!(error);
    }
}

/// The number in `ERROR 1045 (28000): …`.
fn error_number(detail: &str) -> Option<u32> {
    let (_, rest) = detail.split_once("ERROR ")?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

fn without(value: &Value, keys: &[&str]) -> Value {
    let fields = value.as_object().into_iter().flatten();
    let kept = fields.filter(|(key, _)| !keys.contains(&key.as_str()));
    let kept: Map<String, Value> = kept
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Value::Object(kept)
}

#[cfg(test)]
mod tests {
    use diagnosis::{AuditLine, Severity};

    use super::*;

    #[test]
    fn what_the_server_and_the_host_say_is_left_out() {
        let line = AuditLine {
            rule: "name-resolution",
            severity: Severity::Note,
            saw: "sessions of 2 other hosts (such as payroll-web3.acme.internal)".to_owned(),
            shared: "sessions of 2 other hosts (such as (hidden))".to_owned(),
            why: "",
            cause: None,
            remedy: None,
            source: "",
        };
        let audit = Audit {
            lines: vec![line],
            ..Audit::default()
        };
        let denied = "ERROR 1045 (28000): Access denied for user 'acme'@'10.1.2.3'";
        let answer = json!({
            "server": "3306",
            "sources": [{"source": "status", "taken": false, "absent": [
                {"what": "status", "reason": "no-login", "detail": denied},
            ]}],
            "login": {"ok": false, "user": "acme", "reason": "no-login", "detail": denied, "to_do": "ask acme"},
            "account": {"name": "acme@10.1.2.3", "version": "8.4.3", "grants": [
                {"privilege": "PROCESS", "ok": false, "cure": "GRANT PROCESS ON *.* TO `acme`@`10.1.2.3`;"},
            ]},
            "fleet": {"name": "http://acme:8123/f", "ok": false, "says": "http://acme:8123/f: no answer"},
            "audit": {
                "lines": [{"rule": "name-resolution", "saw": audit.lines[0].saw}],
                "not_judged": [{"rule": "mount", "why": "place.datadir.bytes: no right (/srv/acme: denied)"}],
            },
        });
        let shared = of(answer, &audit);
        let text = shared.to_string();
        for name in ["acme", "10.1.2.3", "payroll"] {
            assert!(!text.contains(name), "{name} in {text}");
        }
        assert_eq!(
            shared["login"],
            json!({"ok": false, "reason": "no-login", "error": 1045})
        );
        assert_eq!(shared["sources"][0]["absent"][0]["error"], 1045);
        assert_eq!(shared["account"]["grants"][0]["privilege"], "PROCESS");
        assert_eq!(
            shared["audit"]["not_judged"][0]["why"],
            "place.datadir.bytes: no right"
        );
        assert_eq!(shared["audit"]["lines"][0]["saw"], audit.lines[0].shared);
        assert_eq!(shared["fleet"]["ok"], false);
    }

    #[test]
    fn an_answer_without_an_account_and_a_fleet_gets_none() {
        let answer =
            json!({"login": {"ok": true}, "fleet": null, "sources": [], "audit": {"lines": []}});
        let shared = of(answer, &Audit::default());
        assert_eq!(shared.get("account"), None);
        assert!(shared["fleet"].is_null());
        assert_eq!(shared["login"]["ok"], true);
    }
}
