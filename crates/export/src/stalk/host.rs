//! What the host's files said.

use std::fmt::Write as _;

use super::ticks::{Scene, number};
use model::OrderBy;

/// Facts of these areas have files of their own.
const TOLD_ELSEWHERE: [&str; 2] = ["variables.", "sysctl."];

/// `/proc/vmstat`, each second.
pub(super) fn procvmstat(scene: &Scene<'_>) -> String {
    let series = scene.series("vmstat.");
    let mut out = String::new();
    let Some((_, first)) = series.first() else {
        return out;
    };
    for tick in scene.ticks(first) {
        scene.ts(&mut out, tick.at);
        for (name, series) in &series {
            if let Some(value) = tick.value(series) {
                let _ = writeln!(out, "{name} {}", number(value));
            }
        }
    }
    out
}

/// `/proc/meminfo`, each second.
pub(super) fn meminfo(scene: &Scene<'_>) -> String {
    let mut series = scene.series("meminfo.");
    // Readers know the file by its first line.
    series.order_by_key(|(name, _)| match *name {
        "MemTotal" => 0,
        "MemFree" => 1,
        "MemAvailable" => 2,
        _ => 3,
    });
    let mut out = String::new();
    let Some((_, first)) = series.first() else {
        return out;
    };
    for tick in scene.ticks(first) {
        scene.ts(&mut out, tick.at);
        for (name, series) in &series {
            let Some(value) = tick.value(series) else {
                continue;
            };
            let label = format!("{name}:");
            let _ = match series.unit {
                model::Unit::Bytes => writeln!(out, "{label:<15} {:>8.0} kB", value / 1024.0),
                _ => writeln!(out, "{label:<15} {:>8}", number(value)),
            };
        }
    }
    out
}

/// `df -k`, each time it was looked at. Only the share in use was recorded: sizes are `-`.
pub(super) fn df(scene: &Scene<'_>) -> String {
    let series = scene.series("filesystem.");
    let shares: Vec<_> = series
        .iter()
        .filter_map(|(name, series)| Some((name.strip_suffix(".used_share")?, *series)))
        .collect();
    let mut out = String::new();
    let Some((_, first)) = shares.first() else {
        return out;
    };
    for tick in scene.ticks(first) {
        scene.ts(&mut out, tick.at);
        out.push_str("Filesystem 1K-blocks Used Available Use% Mounted on\n");
        for (mount, series) in &shares {
            if let Some(share) = tick.value(series) {
                let _ = writeln!(out, "- - - - {:.0}% {mount}", share * 100.0);
            }
        }
    }
    out
}

/// Bytes of a sector of `/proc/diskstats`, whatever the device's own size.
const SECTOR_BYTES: f64 = 512.0;

/// `/proc/diskstats`, each second, with the fields of Linux 2.6 (Documentation/admin-guide/iostats.rst):
/// pt-diskstats of 3.2 passes over lines that have those of discards and flushes, too.
pub(super) fn diskstats(scene: &Scene<'_>) -> String {
    let mut out = String::new();
    let all = scene.series("disk.");
    let mut disks: Vec<&str> = all
        .iter()
        .filter_map(|(name, _)| name.strip_suffix(".reads"))
        .collect();
    disks.sort_unstable();
    disks.dedup();
    let Some(first) = disks
        .first()
        .and_then(|disk| scene.one(&format!("disk.{disk}.reads")))
    else {
        return out;
    };
    for tick in scene.ticks(first) {
        scene.ts(&mut out, tick.at);
        for disk in &disks {
            let value = |name: &str| tick.value(scene.one(&format!("disk.{disk}.{name}"))?);
            let Some(reads) = value("reads") else {
                continue;
            };
            let whole = |name: &str| number(value(name).unwrap_or(0.0));
            let sectors = |name: &str| number((value(name).unwrap_or(0.0) / SECTOR_BYTES).round());
            let _ = writeln!(
                out,
                "{:>4} {:>7} {disk} {} 0 {} {} {} 0 {} {} {} {} {}",
                0,
                0,
                number(reads),
                sectors("read_bytes"),
                whole("read_ms"),
                whole("writes"),
                sectors("write_bytes"),
                whole("write_ms"),
                whole("in_flight"),
                whole("busy_ms"),
                whole("weighted_ms"),
            );
        }
    }
    out
}

/// The lines of `netstat -s` on accept queues, each second.
pub(super) fn netstat(scene: &Scene<'_>) -> String {
    let mut out = String::new();
    let (Some(overflows), drops) = (
        scene.one("net.listen_overflows"),
        scene.one("net.listen_drops"),
    ) else {
        return out;
    };
    for tick in scene.ticks(overflows) {
        let Some(value) = tick.value(overflows) else {
            continue;
        };
        scene.ts(&mut out, tick.at);
        out.push_str("TcpExt:\n");
        let _ = writeln!(
            out,
            "    {} times the listen queue of a socket overflowed",
            number(value)
        );
        if let Some(value) = drops.and_then(|drops| tick.value(drops)) {
            let _ = writeln!(out, "    {} SYNs to LISTEN sockets dropped", number(value));
        }
    }
    out
}

/// `sysctl -a`, as far as it was recorded.
pub(super) fn sysctl(scene: &Scene<'_>) -> String {
    facts_of(scene, |name| name.strip_prefix("sysctl."))
}

/// What else was known, a name and a value a line.
pub(super) fn facts(scene: &Scene<'_>) -> String {
    facts_of(scene, |name| {
        let elsewhere = TOLD_ELSEWHERE.iter().any(|start| name.starts_with(start));
        (!elsewhere).then_some(name)
    })
}

fn facts_of(scene: &Scene<'_>, pick: fn(&str) -> Option<&str>) -> String {
    let mut out = String::new();
    for (name, value) in super::server::facts_then(scene) {
        if let Some(name) = pick(name) {
            let _ = writeln!(out, "{name} = {}", value.replace(['\n', '\r'], " "));
        }
    }
    out
}
