//! What did it where nobody did: disks.

use model::{Measure, Window};

use super::actor::Actor;
use super::scene::Scene;
use crate::human::{Show, show};

/// A disk that has requests under way for such a part of the time is busy.
const BUSY: f64 = 0.5;

/// A disk whose requests take so long, milliseconds, and so many times as long as before, is slow.
const SLOW_MS: f64 = 20.0;
const TIMES: f64 = 3.0;

/// Disks that were busy or slow, the busiest first. Surely it is only where there is no other.
pub(super) fn busy_or_slow(scene: &Scene) -> Vec<Actor> {
    let (incident, timeline) = (scene.incident, &scene.incident.timeline);
    let (stall, before) = (incident.stall_window(), incident.baseline_window());
    let rate = |disk: &str, what: &str, window: Window| {
        let series = timeline.get(&format!("disk.{disk}.{what}"))?;
        timeline.measure(series, Measure::Rate, window)
    };
    let request_ms = |disk: &str, window| {
        let of = |reads, writes| Some(rate(disk, reads, window)? + rate(disk, writes, window)?);
        let requests = of("reads", "writes").filter(|count| *count > 0.0)?;
        Some(of("read_ms", "write_ms")? / requests)
    };
    let disks = timeline.matching("disk.*.busy_ms").filter_map(|series| {
        let name = series.name.strip_prefix("disk.")?;
        let name = name.strip_suffix(".busy_ms")?;
        Some((rate(name, "busy_ms", stall)? / 1000.0, name.to_owned()))
    });
    let mut disks: Vec<_> = disks.collect();
    disks.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    let sure = disks.len() == 1;
    let found = disks.into_iter().filter_map(|(busy, disk)| {
        let (now, was) = (request_ms(&disk, stall), request_ms(&disk, before));
        let is_slow = |now| now >= SLOW_MS && was.is_none_or(|was| now >= TIMES * was);
        let told = [
            Some(format!("{} busy", show(busy, Show::Percent))),
            now.map(|time| format!("{} a request", show(time, Show::Milliseconds))),
            was.map(|time| format!("{} before", show(time, Show::Milliseconds))),
        ];
        (busy >= BUSY || now.is_some_and(is_slow)).then(|| Actor {
            sure,
            thing: Some(format!("disk {disk}")),
            value: Some(told.into_iter().flatten().collect::<Vec<_>>().join(", ")),
            ..Actor::default()
        })
    });
    found.collect()
}
