//! Statements by class. The digest is of the statement as the server has it and of the fleet's salt, so that it is the
//! same on every server and tells nobody else anything; the text that is kept is the redacted one.

use std::collections::BTreeMap;

use model::{Incident, QueryClass, QueryMethod, TimedDigest};

use super::hash::hash64;
use crate::row::{Hash64, QueryRow, QueryTextRow, Seconds};

/// Classes of one incident.
const CLASSES_MAX: usize = 1_000;

/// Ways to see statements, the one that sees the most first. Counters see no statements.
const WAYS: [QueryMethod; 4] = [
    QueryMethod::PerformanceSchema,
    QueryMethod::Packets,
    QueryMethod::SlowLog,
    QueryMethod::GeneralLog,
];

/// What a server was asked.
#[derive(Default)]
pub(super) struct Statements {
    pub(super) queries: Vec<QueryRow>,
    pub(super) texts: Vec<QueryTextRow>,
}

/// The classes of the best way there is: several saw the same statements. Both incidents have them in the same order.
pub(super) fn statements(
    incident: &Incident,
    redacted: &Incident,
    salt: &[u8],
    host_id: Hash64,
) -> Statements {
    let has = |way: &QueryMethod| {
        incident
            .queries
            .iter()
            .any(|timed| timed.digest.method == *way)
    };
    let Some(way) = WAYS.into_iter().find(has) else {
        return Statements::default();
    };
    let mut queries: BTreeMap<(Hash64, Seconds), QueryRow> = BTreeMap::new();
    let mut texts: BTreeMap<Hash64, QueryTextRow> = BTreeMap::new();
    let pairs = incident.queries.iter().zip(&redacted.queries);
    for (timed, renamed) in pairs.filter(|(timed, _)| timed.digest.method == way) {
        for (class, renamed) in timed.digest.classes.iter().zip(&renamed.digest.classes) {
            let digest = hash64(&[b"statement", salt, class.fingerprint.as_bytes()]);
            let ts = first_seen(incident, timed, class);
            if class.fingerprint.is_empty() || queries.len() >= CLASSES_MAX {
                continue;
            }
            let row = query(host_id, ts, digest, class);
            queries.entry((digest, ts)).or_insert(row);
            texts.entry(digest).or_insert_with(|| QueryTextRow {
                digest,
                text: renamed.fingerprint.clone(),
                first_seen: ts,
            });
        }
    }
    Statements {
        queries: queries.into_values().collect(),
        texts: texts.into_values().collect(),
    }
}

fn first_seen(incident: &Incident, timed: &TimedDigest, class: &QueryClass) -> Seconds {
    let from = incident.clock.wall_ms(timed.window.from);
    Seconds::of_ms(class.first_us.map_or(from, |us| us.div_euclid(1000)))
}

fn query(host_id: Hash64, ts: Seconds, digest: Hash64, class: &QueryClass) -> QueryRow {
    let time = class
        .measures
        .iter()
        .find(|measure| measure.name == "Query_time");
    let us = |seconds: f64| (seconds * 1e6) as u64;
    let sum = |name: &str| class.sum(name).unwrap_or(0.0);
    let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let decades = time.map_or(&[][..], |time| time.decades.as_slice());
    let decades = (0..=7).zip(decades).filter(|(_, count)| **count > 0);
    QueryRow {
        host_id,
        ts,
        digest,
        n: narrow(class.count),
        sum_us: us(sum("Query_time")),
        max_us: narrow(us(time.and_then(|time| time.max).unwrap_or(0.0))),
        lock_us: us(sum("Lock_time")),
        rows_examined: sum("Rows_examined") as u64,
        errors: narrow(class.errors.unwrap_or(0)),
        hist: decades
            .map(|(from, count)| (from, narrow(*count)))
            .collect(),
    }
}
