//! The verdict as JSON: `docs/reference/json.md` is its contract.

use diagnosis::Verdict;
use model::{Incident, Millis, Trigger, Window};
use serde::Serialize;

use crate::evidence::summary::{StacksSummary, stacks_summary};
use crate::evidence::workload::{Workload, workloads};
use crate::{escape, time_format};

/// Name and version of the document; fields are added within a version, never changed.
pub(crate) const FORMAT: &str = "freezeframe-verdict/1";

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    incident: Head<'a>,
    #[serde(flatten)]
    verdict: &'a Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    stacks: Option<StacksSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    asked: Vec<Workload>,
}

#[derive(Serialize)]
struct Head<'a> {
    id: &'a str,
    host: &'a str,
    server: ServerHead<'a>,
    time_known: bool,
    onset: Option<String>,
    trigger: Option<String>,
    end: Option<String>,
    duration_seconds: Option<f64>,
    triggers: &'a [Trigger],
    window: WindowHead,
    previous: Option<WindowHead>,
    baseline: WindowHead,
}

#[derive(Serialize)]
struct ServerHead<'a> {
    label: &'a str,
    version: &'a str,
    pid: Option<u32>,
    address: &'a str,
}

#[derive(Serialize)]
struct WindowHead {
    from: Option<String>,
    to: Option<String>,
}

/// The incident's head and its verdict as one JSON document with a line end.
///
/// Numbers that are not finite are `null`. Everything a terminal would obey is escaped.
pub fn json(incident: &Incident, verdict: &Verdict) -> String {
    let is_known = incident.clock.is_known();
    let moment = |at: Millis| is_known.then(|| time_format::rfc3339(incident.clock.wall_ms(at)));
    let window = |window: Window| WindowHead {
        from: moment(window.from),
        to: moment(window.to),
    };
    let stall = &incident.stall;
    let document = Document {
        format: FORMAT,
        incident: Head {
            id: &incident.id,
            host: &incident.host,
            server: ServerHead {
                label: &incident.server.label,
                version: &incident.server.version,
                pid: incident.server.pid,
                address: &incident.server.address,
            },
            time_known: is_known,
            onset: moment(stall.onset),
            trigger: moment(stall.trigger),
            end: stall.end.and_then(moment),
            duration_seconds: stall
                .end
                .map(|end| end.saturating_sub(stall.onset) as f64 / 1000.0),
            triggers: &stall.triggers,
            window: window(incident.window),
            previous: stall.previous().map(window),
            baseline: window(
                incident
                    .calm_after()
                    .unwrap_or_else(|| incident.baseline_window()),
            ),
        },
        verdict,
        stacks: stacks_summary(incident),
        asked: workloads(incident),
    };
    // Only maps with keys that are no strings fail, and there are none.
    let text = serde_json::to_string_pretty(&document)
        .unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }).to_string());
    escape::json(&text) + "\n"
}
