//! What recorders of a simulated fleet send: rows of recorded incidents under other names and times, and minutes made of
//! their calm seconds.

use std::collections::BTreeSet;

use fleet::from_incident::{IncidentRows, hash_of_bytes, host_id, incident_id, minute_row};
use fleet::row::{
    Action, Hash64, HealthRow, HostRow, Millis, Proof, RemedyRow, Seconds, SignalRow,
};

use super::plan::{Applied, Server, Stall};
use super::templates::{Pool, Template};
use crate::chance::Chance;

/// Seconds of a template's calm that stay together.
const BLOCK: usize = 15;

/// Seconds of a minute.
const MINUTE: usize = 60;

/// Share of an incident's stacks that another recording of the same would not have.
const STACKS_MISSED: f64 = 0.2;

/// Who a server is at this moment, milliseconds since 1970.
pub(super) fn id(server: &Server, salt: &[u8], at_ms: i64) -> Hash64 {
    host_id(salt, server.name_at(at_ms), server.label)
}

/// A server as its recorder tells it.
pub(super) fn host(server: &Server, template: &Template, salt: &[u8], at_ms: i64) -> HostRow {
    HostRow {
        host_id: id(server, salt, at_ms),
        host: server.name_at(at_ms).to_owned(),
        label: server.label.to_owned(),
        cluster: server.cluster.to_owned(),
        kernel: server.kernel.to_owned(),
        recorder_version: server.recorder.to_owned(),
        thp: server.thp.to_owned(),
        settings: server.settings.clone(),
        seen: Seconds::of_ms(at_ms + server.ahead_ms),
        ..template.rows.host.clone()
    }
}

/// The incident of a stall, as the recorder of its server would send it.
pub(super) fn incident(
    stall: &Stall,
    server: &Server,
    template: &Template,
    salt: &[u8],
    chance: &mut Chance,
) -> Option<IncidentRows> {
    let view = template.view(stall.view)?;
    let rows = &template.rows;
    let onset = stall.at_ms + server.ahead_ms;
    let by = (onset - view.incident.onset.0).div_euclid(1000);
    let shifted = |at: Seconds| Seconds((at.0 + by).max(0));
    let host_id = id(server, salt, stall.at_ms);
    let name = format!("{}-{onset}", server.label);
    let sha256 = hash_of_bytes(format!("{host_id} {name}").as_bytes());
    let incident_id = incident_id(host_id, &name);
    let mut incident = view.incident.clone();
    incident.incident_id = incident_id;
    incident.host_id = host_id;
    incident.detected = Millis(onset + incident.detected.0 - incident.onset.0);
    incident.onset = Millis(onset);
    incident.duration_ms = (f64::from(incident.duration_ms) * chance.between(0.4, 4.0)) as u32;
    incident.facts.clone_from(&server.settings);
    incident.frame_key = format!("/var/lib/freezeframe/{name}.frame");
    incident.frame_bytes = 500_000 + chance.number() % 5_000_000;
    incident.frame_sha256 = sha256;
    incident.name = name;
    let mut findings = view.findings.clone();
    for finding in &mut findings {
        finding.incident_id = incident_id;
        finding.host_id = host_id;
        finding.onset = incident.onset;
    }
    let mut stacks = view.stacks.clone();
    stacks.retain(|_| !chance.is(STACKS_MISSED));
    for row in &mut stacks {
        let share = chance.between(0.5, 1.5);
        row.host_id = host_id;
        row.incident_id = incident_id;
        row.ts = Seconds::of_ms(onset);
        row.samples = ((f64::from(row.samples) * share) as u32).max(1);
        row.ns = (row.ns as f64 * share) as u64;
    }
    let seen: BTreeSet<Hash64> = stacks.iter().map(|row| row.stack_id).collect();
    let day = Seconds::of_ms(onset).day();
    let mut stack_frames: Vec<_> = rows
        .stack_frames
        .iter()
        .filter(|row| seen.contains(&row.stack_id))
        .cloned()
        .collect();
    let named: BTreeSet<Hash64> = stack_frames
        .iter()
        .flat_map(|row| row.frames.iter().copied())
        .collect();
    let mut frames: Vec<_> = rows
        .frames
        .iter()
        .filter(|row| named.contains(&row.frame_id))
        .cloned()
        .collect();
    stack_frames.iter_mut().for_each(|row| row.seen = day);
    frames.iter_mut().for_each(|row| row.seen = day);
    let mut queries = rows.queries.clone();
    for row in &mut queries {
        row.host_id = host_id;
        row.ts = shifted(row.ts);
    }
    let mut query_texts = rows.query_texts.clone();
    for row in &mut query_texts {
        row.first_seen = shifted(row.first_seen);
    }
    // Minutes begin where minutes do.
    let by_minutes = by - by.rem_euclid(60);
    let mut signals = rows.signals.clone();
    for row in &mut signals {
        row.host_id = host_id;
        row.ts = Seconds((row.ts.0 + by_minutes).max(0));
    }
    Some(IncidentRows {
        host: host(server, template, salt, stall.at_ms),
        health: HealthRow {
            host_id,
            ts: Seconds::of_ms(onset),
            ..rows.health.clone()
        },
        incident,
        findings,
        stacks,
        stack_frames,
        frames,
        queries,
        query_texts,
        signals,
    })
}

/// A calm minute of a server: what its recorder sends each minute. `minute`: its begin, seconds since 1970.
pub(super) fn minute(
    server: &Server,
    template: &Template,
    salt: &[u8],
    minute: i64,
    chance: &mut Chance,
) -> (HostRow, HealthRow, Vec<SignalRow>) {
    let at_ms = minute * 1000;
    let host = host(server, template, salt, at_ms + 60_000);
    // Whose clock is wrong by minutes tells other minutes.
    let minute = (at_ms + server.ahead_ms).div_euclid(60_000) * 60;
    let host_id = id(server, salt, at_ms);
    let health = HealthRow {
        host_id,
        ts: Seconds(minute + 60),
        cpu_ms: 300,
        ..template.rows.health.clone()
    };
    let rows = template.pools.iter().filter_map(|pool| {
        let seconds = seconds(pool, server.scale, chance);
        let mut row = minute_row(host_id, &pool.signal, minute, &seconds)?;
        if !pool.has_seconds {
            row.seconds.clear();
        }
        Some(row)
    });
    (host, health, rows.collect())
}

/// Blocks of what was recorded, at another height: no two minutes are the same, and what is packed looks like what a
/// server has.
fn seconds(pool: &Pool, scale: f64, chance: &mut Chance) -> [f64; MINUTE] {
    let mut seconds = [f64::NAN; MINUTE];
    let first = pool.seconds.first().copied().unwrap_or(f64::NAN);
    if pool.is_constant() {
        seconds.fill(first);
        return seconds;
    }
    let scale = scale * chance.between(0.8, 1.25);
    for block in seconds.chunks_mut(BLOCK) {
        let from = chance.below(pool.seconds.len());
        let values = pool.seconds.iter().cycle().skip(from);
        for (second, value) in block.iter_mut().zip(values) {
            // What counts whole things counts them here, too: else each second is packed worse than a server's.
            *second = match (pool.signal.ends_with("_share"), value.fract() == 0.0) {
                (true, _) => *value,
                (false, true) => (value * scale).round(),
                (false, false) => value * scale,
            };
        }
    }
    seconds
}

/// What is told of a remedy.
pub(super) fn remedies(applied: &Applied, server: &Server, salt: &[u8]) -> Vec<RemedyRow> {
    let row = |action, at_ms| RemedyRow {
        host_id: id(server, salt, at_ms),
        at: Seconds::of_ms(at_ms + server.ahead_ms),
        remedy: format!("against-{}", applied.cause),
        cause: applied.cause.clone(),
        action,
        proof: match applied.is_undone {
            true => Proof::NotProven,
            false => Proof::Proven,
        },
        rev: 1,
    };
    let mut rows = vec![row(Action::Apply, applied.at_ms)];
    if applied.is_undone {
        rows.push(row(Action::Undo, applied.at_ms + 86_400_000));
    }
    rows
}
