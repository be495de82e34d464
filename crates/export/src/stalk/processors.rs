//! `/proc/stat`, and `vmstat` made of it.

use std::fmt::Write as _;

use model::{Series, SignalKind, Window};

use super::ticks::{Scene, Tick, grown, number};

/// Columns of a line of `/proc/stat`, in its order.
const MODES: [&str; 8] = [
    "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal",
];

/// Ticks a second (USER_HZ; proc(5)).
const TICKS_A_SECOND: f64 = 100.0;

/// KiB of a page.
const PAGE_KIB: f64 = 4.0;

/// `/proc/stat`, each second.
pub(super) fn procstat(scene: &Scene<'_>) -> String {
    let mut out = String::new();
    let Some(first) = scene.one("cpu.all.user") else {
        return out;
    };
    let mut processors: Vec<u32> = scene
        .series("cpu.")
        .iter()
        .filter_map(|(name, _)| name.strip_suffix(".user")?.parse().ok())
        .collect();
    processors.sort_unstable();
    let rows: Vec<(String, [Option<&Series>; 8])> =
        std::iter::once(("cpu ".to_owned(), "all".to_owned()))
            .chain(
                processors
                    .iter()
                    .map(|processor| (format!("cpu{processor}"), processor.to_string())),
            )
            .map(|(label, name)| {
                (
                    label,
                    MODES.map(|mode| scene.one(&format!("cpu.{name}.{mode}"))),
                )
            })
            .collect();
    for tick in scene.ticks(first) {
        if tick.value(first).is_none() {
            continue;
        }
        scene.ts(&mut out, tick.at);
        for (label, modes) in &rows {
            let values: Vec<Option<f64>> = modes
                .iter()
                .map(|series| series.and_then(|series| tick.value(series)))
                .collect();
            if values.iter().all(Option::is_none) {
                continue;
            }
            out.push_str(label);
            for value in values {
                let _ = write!(out, " {}", number(value.unwrap_or(0.0)));
            }
            out.push('\n');
        }
        for (label, name) in [
            ("ctxt", "cpu.context_switches"),
            ("processes", "cpu.forks"),
            ("procs_running", "cpu.procs_running"),
            ("procs_blocked", "cpu.procs_blocked"),
        ] {
            if let Some(value) = scene.one(name).and_then(|series| tick.value(series)) {
                let _ = writeln!(out, "{label} {}", number(value));
            }
        }
    }
    out
}

const HEAD: &str = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n";

/// `vmstat 1`: its first row is the mean since the host's start.
pub(super) fn vmstat(scene: &Scene<'_>) -> String {
    let Some(first) = scene
        .one("cpu.all.user")
        .or_else(|| scene.one("cpu.user_share"))
    else {
        return String::new();
    };
    let ticks = scene.ticks(first);
    let mut out = HEAD.to_owned();
    if let Some(tick) = ticks.first() {
        row(scene, &mut out, None, *tick);
    }
    for pair in ticks.windows(2) {
        if let [before, now] = pair {
            row(scene, &mut out, Some(*before), *now);
        }
    }
    if ticks.is_empty() { String::new() } else { out }
}

/// `vmstat LENGTH 2`: the mean since the host's start, and the mean of the window.
pub(super) fn vmstat_overall(scene: &Scene<'_>) -> String {
    let Some(first) = scene
        .one("cpu.all.user")
        .or_else(|| scene.one("cpu.user_share"))
    else {
        return String::new();
    };
    let ticks = scene.ticks(first);
    let (Some(begin), Some(end)) = (ticks.first(), ticks.last()) else {
        return String::new();
    };
    let mut out = HEAD.to_owned();
    row(scene, &mut out, None, *begin);
    row(scene, &mut out, Some(*begin), *end);
    out
}

/// A row of what happened from one moment to another, or from the host's start on.
fn row(scene: &Scene<'_>, out: &mut String, before: Option<Tick>, now: Tick) {
    let level = |name: &str| now.value(scene.one(name)?);
    let kib = |name: &str| Some(at(scene, &format!("meminfo.{name}"), now)? / 1024.0);
    let ticks: [f64; 8] = MODES.map(|mode| {
        let series = scene.one(&format!("cpu.all.{mode}"));
        let ticks = series.and_then(|series| match before {
            Some(before) => growth(series, before, now),
            None => now.value(series),
        });
        ticks.unwrap_or(0.0)
    });
    let total: f64 = ticks.iter().sum();
    let cpus = level("cpu.count").unwrap_or(1.0).max(1.0);
    let seconds = match before {
        Some(before) => now.at.saturating_sub(before.at) as f64 / 1000.0,
        None => total / TICKS_A_SECOND / cpus,
    };
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    let share = |part: f64, name: Option<&str>| {
        if total > 0.0 {
            Some(part / total * 100.0)
        } else {
            name.and_then(level).map(|share| share * 100.0)
        }
    };
    // A value of another source, by its own readings.
    let rate = |names: &[String], scale: f64| {
        let mut sum = None;
        for name in names {
            let Some(series) = scene.one(name) else {
                continue;
            };
            let grown = match before {
                Some(before) => at(scene, name, before)
                    .zip(at(scene, name, now))
                    .map(|(before, now)| grown(series.kind, before, now)),
                None => at(scene, name, now),
            };
            if let Some(grown) = grown.filter(|_| seconds > 0.0) {
                *sum.get_or_insert(0.0) += grown / seconds * scale;
            }
        }
        sum
    };
    let names = |end: &str| -> Vec<String> {
        scene
            .series("disk.")
            .iter()
            .filter(|(name, _)| name.ends_with(end))
            .map(|(name, _)| format!("disk.{name}"))
            .collect()
    };
    let one = |name: &str| vec![name.to_owned()];
    let cells = [
        (2, level("cpu.procs_running")),
        (2, level("cpu.procs_blocked")),
        (
            6,
            kib("SwapTotal")
                .zip(kib("SwapFree"))
                .map(|(all, free)| all - free),
        ),
        (6, kib("MemFree")),
        (6, kib("Buffers")),
        // With what of the slabs can be had back (procps, meminfo.c).
        (
            6,
            kib("Cached").map(|cached| cached + kib("SReclaimable").unwrap_or(0.0)),
        ),
        (4, rate(&one("vmstat.pswpin"), PAGE_KIB)),
        (4, rate(&one("vmstat.pswpout"), PAGE_KIB)),
        (5, rate(&names(".read_bytes"), 1.0 / 1024.0)),
        (5, rate(&names(".write_bytes"), 1.0 / 1024.0)),
        (4, None),
        (4, rate(&one("cpu.context_switches"), 1.0)),
        (2, share(user + nice, Some("cpu.user_share"))),
        (2, share(system + irq + softirq, Some("cpu.system_share"))),
        (2, share(idle, None)),
        (2, share(iowait, Some("cpu.iowait_share"))),
        (2, share(steal, Some("cpu.steal_share"))),
    ];
    let words: Vec<String> = cells
        .into_iter()
        .map(|(width, value)| match value {
            Some(value) => format!("{value:>width$.0}"),
            None => format!("{:>width$}", "-"),
        })
        .collect();
    let _ = writeln!(out, "{}", words.join(" "));
}

fn growth(series: &Series, before: Tick, now: Tick) -> Option<f64> {
    Some(grown(
        SignalKind::Counter,
        before.value(series)?,
        now.value(series)?,
    ))
}

/// The last value of a series of another source at a moment.
fn at(scene: &Scene<'_>, name: &str, tick: Tick) -> Option<f64> {
    let window = Window {
        from: 0,
        // Sources of the same second are read a little after each other.
        to: tick.at.saturating_add(500),
    };
    let series = scene.one(name)?;
    let last = scene
        .incident
        .timeline
        .points_in(series, window)
        .next_back();
    last.map(|(_, value)| value)
}
