//! The list as JSON: `docs/reference/json.md` is its contract.

use serde_json::{Value, json};

use super::CapturedIncident;
use crate::episodes::Episode;

/// Those that were captured, and behind them those that were not.
pub(super) fn list(caught: &[CapturedIncident], stalls: &[Episode]) -> Vec<Value> {
    let captured = caught.iter().map(incident);
    captured.chain(stalls.iter().map(stall)).collect()
}

fn iso_time(ms: i64) -> Option<String> {
    let moment = jiff::Timestamp::from_millisecond(ms).ok()?;
    Some(moment.to_string())
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

pub(crate) fn stall(stall: &Episode) -> Value {
    let length = stall.end_ms.map(|end| end.saturating_sub(stall.onset_ms));
    json!({
        "path": null,
        "id": null,
        "server": {"label": stall.server},
        "onset": iso_time(stall.onset_ms),
        "trigger": stall.trigger_ms.and_then(iso_time),
        "end": stall.end_ms.and_then(iso_time),
        "duration_seconds": length.map(|ms| seconds(u64::try_from(ms).unwrap_or(0))),
        "cause": stall.cause,
        "felt": stall.says,
        "triggers": stall.rule.iter().map(|rule| json!({
            "rule": rule, "says": stall.says,
        })).collect::<Vec<_>>(),
    })
}

pub(crate) fn incident(caught: &CapturedIncident) -> Value {
    let summary = &caught.summary;
    let stall = &summary.stall;
    // Captures of other tools need not tell a time.
    let time = |at: u64| {
        let known = summary.clock.is_known();
        known.then(|| iso_time(summary.clock.wall_ms(at))).flatten()
    };
    let found = caught.finding();
    json!({
        "path": caught.path,
        "id": summary.id,
        "host": summary.host,
        "server": summary.server,
        "onset": time(stall.onset),
        "trigger": time(stall.trigger),
        "end": stall.end.and_then(time),
        "duration_seconds": caught.length_ms().map(seconds),
        "previous": stall.previous().map(|previous| json!({
            "from": time(previous.from), "to": time(previous.to),
        })),
        "triggers": stall.triggers.iter().map(|trigger| json!({
            "rule": trigger.rule, "says": trigger.says,
        })).collect::<Vec<_>>(),
        "cause": found.map(|found| &found.cause),
        "title": found.map(|found| &found.title),
        "level": found.map(|found| found.level),
        "felt": caught.findings.as_ref().map(|told| &told.client_impact),
    })
}
