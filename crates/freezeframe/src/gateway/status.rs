//! `/healthz` and `/metrics` of a gateway.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use super::keeper::FULL;
use super::state::{Part, Reason, State};
use crate::fleet::now_ms;
use crate::listen::{Answer, Format, Request, Text};

pub(super) fn answer(state: &State, request: &Request) -> Answer {
    match request.path.as_str() {
        "/healthz" => health(state),
        "/metrics" => {
            let format = Format::wanted(&request.accept);
            Answer::new(200, format.content_type(), metrics(state, format))
        }
        "/" => Answer::text(200, "a gateway of freezeframe: /healthz, /metrics"),
        _ => Answer::text(404, "there are /healthz and /metrics"),
    }
}

/// It is well while it takes batches: a store that is away is what its journal is for.
fn health(state: &State) -> Answer {
    let (journal, store) = (state.wrong(Part::Journal), state.wrong(Part::Store));
    let waiting = state.waiting();
    let mut body = json!({
        "ok": journal.is_none(),
        "store": {"ok": store.is_none()},
        "waiting": waiting.batches,
        "waiting_bytes": waiting.bytes,
        "waiting_seconds": oldest_seconds(state),
    });
    if let Some(reason) = &journal {
        // Where the journal is concerns nobody else; the journal of the system has it.
        body["reason"] = json!(match reason == FULL {
            true => FULL,
            false => "the gateway's journal cannot be written",
        });
    }
    if let Some(reason) = store {
        body["store"]["reason"] = json!(without_words(&reason));
    }
    let code = if journal.is_none() { 200 } else { 503 };
    Answer::new(code, "application/json", format!("{body}\n"))
}

/// What is wrong with the store in our words, without the store's own: everybody on the network may ask, and a store may
/// quote a row of any host.
fn without_words(reason: &str) -> &str {
    let ends = ["code ", "status "].iter().filter_map(|number| {
        let from = reason.find(&format!("({number}"))?;
        let length = reason.get(from..)?.find(')')?;
        Some(from + length + 1)
    });
    reason
        .get(..ends.min().unwrap_or(reason.len()))
        .unwrap_or(reason)
}

fn oldest_seconds(state: &State) -> i64 {
    let at = state.waiting().oldest_at;
    at.map_or(0, |at| (now_ms() / 1000 - at).max(0))
}

fn metrics(state: &State, format: Format) -> String {
    let mut text = Text::new(format);
    text.head("info", "gauge", "The gateway's version.");
    text.value("info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    text.own("gateway");
    let waiting = state.waiting();
    let is_well = |part| f64::from(u8::from(state.wrong(part).is_none()));
    let load = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
    for (name, kind, help, value) in [
        (
            "gateway_up",
            "gauge",
            "1 while batches are taken.",
            is_well(Part::Journal),
        ),
        (
            "gateway_store_up",
            "gauge",
            "1 while the store takes batches.",
            is_well(Part::Store),
        ),
        (
            "gateway_connections",
            "gauge",
            "Connections that are open.",
            load(&state.connections),
        ),
        (
            "gateway_waiting_batches",
            "gauge",
            "Batches that wait for the store.",
            waiting.batches as f64,
        ),
        (
            "gateway_waiting_bytes",
            "gauge",
            "Their bytes.",
            waiting.bytes as f64,
        ),
        (
            "gateway_aside_batches",
            "gauge",
            "Batches that the store refuses as they are: each waits apart for its next try.",
            waiting.aside as f64,
        ),
        (
            "gateway_waiting_seconds",
            "gauge",
            "For how long the oldest of them waits.",
            oldest_seconds(state) as f64,
        ),
        (
            "gateway_received_total",
            "counter",
            "Batches that were taken.",
            load(&state.received),
        ),
        (
            "gateway_repeated_total",
            "counter",
            "Batches that came again and were known.",
            load(&state.repeated),
        ),
        (
            "gateway_stored_total",
            "counter",
            "Batches that the store has.",
            load(&state.stored),
        ),
        (
            "gateway_inserts_total",
            "counter",
            "Groups of batches that the store has.",
            load(&state.inserts),
        ),
        (
            "gateway_failures_total",
            "counter",
            "Attempts to write to the store that failed.",
            load(&state.failures),
        ),
        (
            "gateway_lost_total",
            "counter",
            "Batches that were lost after they were taken: damaged by the disk, or refused by the store until there was no room.",
            load(&state.lost),
        ),
    ] {
        text.head(name, kind, help);
        text.value(name, &[], value);
    }
    text.head(
        "gateway_refused_total",
        "counter",
        "Batches that were not taken.",
    );
    for (reason, name) in Reason::ALL {
        let count = state.refused(reason) as f64;
        text.value("gateway_refused_total", &[("reason", name)], count);
    }
    text.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_told_our_words_only() {
        for (reason, told) in [
            (
                "http://db1:8123/f: the server refused it (code 27): Cannot parse 'payroll7'",
                "http://db1:8123/f: the server refused it (code 27)",
            ),
            (
                "http://db1:8123/f: no answer from the server (status 502): <payroll7>",
                "http://db1:8123/f: no answer from the server (status 502)",
            ),
            ("/var/f.db: disk is full", "/var/f.db: disk is full"),
        ] {
            assert_eq!(without_words(reason), told);
        }
    }
}
