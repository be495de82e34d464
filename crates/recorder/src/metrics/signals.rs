//! The numbers of a managed host as the signals that a host of our own has.

use model::{Reading, Unit};

use super::parse::Metrics;

/// Memory by its name in `/proc/meminfo`: kilobytes, or a count.
const MEMORY: [(&str, &str, &str, bool); 20] = [
    ("memory", "total", "MemTotal", true),
    ("memory", "free", "MemFree", true),
    ("memory", "buffers", "Buffers", true),
    ("memory", "cached", "Cached", true),
    ("memory", "active", "Active", true),
    ("memory", "inactive", "Inactive", true),
    ("memory", "dirty", "Dirty", true),
    ("memory", "writeback", "Writeback", true),
    ("memory", "mapped", "Mapped", true),
    ("memory", "slab", "Slab", true),
    ("memory", "pageTables", "PageTables", true),
    ("memory", "hugePagesTotal", "HugePages_Total", false),
    ("memory", "hugePagesFree", "HugePages_Free", false),
    ("memory", "hugePagesRsvd", "HugePages_Rsvd", false),
    ("memory", "hugePagesSurp", "HugePages_Surp", false),
    ("memory", "hugePagesSize", "Hugepagesize", true),
    ("swap", "total", "SwapTotal", true),
    ("swap", "free", "SwapFree", true),
    ("swap", "cached", "SwapCached", true),
    ("memory", "available", "MemAvailable", true),
];

/// Counters of a disk by what is told of each second: the name there, ours, how much one of theirs is.
const DISK_RATES: [(&str, &str, Unit, f64); 6] = [
    ("readIOsPS", "reads", Unit::Count, 1.0),
    ("writeIOsPS", "writes", Unit::Count, 1.0),
    ("readKbPS", "read_bytes", Unit::Bytes, 1024.0),
    ("writeKbPS", "write_bytes", Unit::Bytes, 1024.0),
    ("readThroughput", "read_bytes", Unit::Bytes, 1.0),
    ("writeThroughput", "write_bytes", Unit::Bytes, 1.0),
];

/// Requests of a kind, how long one of them took, and our counter of their time. One time for both kinds is told where
/// there is none for each.
const DISK_TIMES: [(&str, &str, &str); 2] = [
    ("readIOsPS", "readLatency", "read_ms"),
    ("writeIOsPS", "writeLatency", "write_ms"),
];

/// A hole longer than this is not filled with what was true at its end, seconds.
const GAP_MAX_S: i64 = 300;

/// What was counted so far: managed hosts tell rates, and the signals are counters.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    at_s: Option<i64>,
    counters: std::collections::BTreeMap<String, f64>,
}

impl Signals {
    /// The readings of a sample; `None` when it is not newer than the last one.
    pub(crate) fn of(&mut self, metrics: &Metrics) -> Option<Vec<Reading>> {
        let before = self.at_s;
        if before.is_some_and(|before| metrics.at_s <= before) {
            return None;
        }
        self.at_s = Some(metrics.at_s);
        let seconds = before.map_or(0, |before| (metrics.at_s - before).min(GAP_MAX_S));
        let mut out = Vec::new();
        processors(metrics, &mut out);
        memory(metrics, &mut out);
        file_systems(metrics, &mut out);
        for group in ["diskIO", "physicalDeviceIO"] {
            for device in metrics.parts(group) {
                self.disk(metrics, group, device, seconds as f64, &mut out);
            }
        }
        Some(out)
    }

    fn disk(
        &mut self,
        metrics: &Metrics,
        group: &str,
        device: &str,
        seconds: f64,
        out: &mut Vec<Reading>,
    ) {
        let of = |name: &str| metrics.of_part(group, device, name);
        let word = part_word(device);
        let mut counter = |name: &str, unit: Unit, a_second: f64| {
            let name = format!("disk.{word}.{name}");
            let count = self.counters.entry(name.clone()).or_default();
            *count += a_second.max(0.0) * seconds;
            out.push(Reading::counter(name, unit, count.round()));
        };
        for (theirs, ours, unit, factor) in DISK_RATES {
            if let Some(rate) = of(theirs) {
                counter(ours, unit, rate * factor);
            }
        }
        for (requests, time, ours) in DISK_TIMES {
            let each_ms = of(time).or_else(|| of("await"));
            if let (Some(requests), Some(each_ms)) = (of(requests), each_ms) {
                counter(ours, Unit::Milliseconds, requests * each_ms);
            }
        }
        if let Some(percent) = of("util") {
            counter("busy_ms", Unit::Milliseconds, percent * 10.0);
        }
        let queue = of("avgQueueLen").or_else(|| of("diskQueueDepth"));
        out.extend(
            queue.map(|queue| Reading::gauge(format!("disk.{word}.in_flight"), Unit::Count, queue)),
        );
    }
}

/// Percent of all processors, as shares.
fn processors(metrics: &Metrics, out: &mut Vec<Reading>) {
    let percent = |name: &str| metrics.get("cpuUtilization", name);
    let of_some = |names: [&str; 2]| {
        let known: Vec<f64> = names.iter().filter_map(|name| percent(name)).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>())
    };
    let user = of_some(["user", "nice"]);
    let system = of_some(["system", "irq"]);
    for (name, value) in [
        ("cpu.user_share", user),
        ("cpu.nice_share", percent("nice")),
        ("cpu.system_share", system),
        (
            "cpu.busy_share",
            user.zip(system).map(|(user, system)| user + system),
        ),
        ("cpu.iowait_share", percent("wait")),
        ("cpu.steal_share", percent("steal")),
    ] {
        out.extend(value.map(|value| {
            let share = (value * 100.0).round() / 10_000.0;
            Reading::gauge(name, Unit::Share, share)
        }));
    }
    for (name, value) in [
        ("cpu.count", metrics.get("general", "numVCPUs")),
        ("cpu.procs_running", metrics.get("tasks", "running")),
        ("cpu.procs_blocked", metrics.get("tasks", "blocked")),
    ] {
        out.extend(value.map(|value| Reading::gauge(name, Unit::Count, value)));
    }
}

fn memory(metrics: &Metrics, out: &mut Vec<Reading>) {
    for (group, theirs, ours, is_kilobytes) in MEMORY {
        let Some(value) = metrics.get(group, theirs) else {
            continue;
        };
        let (unit, factor) = match is_kilobytes {
            true => (Unit::Bytes, 1024.0),
            false => (Unit::Count, 1.0),
        };
        out.push(Reading::gauge(
            format!("meminfo.{ours}"),
            unit,
            value * factor,
        ));
    }
}

fn file_systems(metrics: &Metrics, out: &mut Vec<Reading>) {
    for mount_point in metrics.parts("fileSys") {
        let used = metrics.of_part("fileSys", mount_point, "usedPercent");
        out.extend(used.map(|percent| {
            let name = format!("filesystem.{mount_point}.used_share");
            Reading::gauge(name, Unit::Share, percent / 100.0)
        }));
    }
}

/// A part of a signal's name.
fn part_word(part: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let word = part.chars().take(64);
    word.map(|c| if is_plain(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    /// Made for this test: the groups and names as they are documented.
    const SAMPLE: &str = include_str!("../../tests/fixtures/metrics/enhanced.json");
    const INSIGHTS: &str = include_str!("../../tests/fixtures/metrics/insights.json");

    fn value(readings: &[Reading], name: &str) -> Option<f64> {
        let found = readings.iter().find(|reading| reading.name == name);
        found.map(|reading| reading.value)
    }

    #[test]
    fn a_sample_of_the_operator_gives_the_signals_of_a_host() {
        let first = parse(SAMPLE.as_bytes()).unwrap();
        let mut signals = Signals::default();
        let readings = signals.of(&first).unwrap();
        for (name, wanted) in [
            ("cpu.user_share", 0.415),
            ("cpu.system_share", 0.225),
            ("cpu.busy_share", 0.64),
            ("cpu.iowait_share", 0.31),
            ("cpu.count", 4.0),
            ("cpu.procs_blocked", 3.0),
            ("meminfo.MemTotal", 16_000_000.0 * 1024.0),
            ("meminfo.Dirty", 2_000_000.0 * 1024.0),
            ("meminfo.HugePages_Total", 12.0),
            ("meminfo.SwapFree", 500_000.0 * 1024.0),
            ("filesystem./rdsdbdata.used_share", 0.973),
            ("disk.rdsdev.in_flight", 31.5),
            ("disk.rdsdev.reads", 0.0),
        ] {
            assert_eq!(value(&readings, name), Some(wanted), "{name}");
        }
        assert_eq!(signals.of(&first), None, "it is the same");
        let later = SAMPLE.replace("12:00:00Z", "12:00:10Z");
        let readings = signals.of(&parse(later.as_bytes()).unwrap()).unwrap();
        for (name, wanted) in [
            ("disk.rdsdev.reads", 1500.0),
            ("disk.rdsdev.write_bytes", 8000.0 * 1024.0 * 10.0),
            // 400 writes of 60 ms a second.
            ("disk.rdsdev.write_ms", 240_000.0),
            ("disk.rdsdev.busy_ms", 9900.0),
        ] {
            assert_eq!(value(&readings, name), Some(wanted), "{name}");
        }
    }

    #[test]
    fn the_newest_of_several_counts_however_they_are_packed() {
        let later = SAMPLE.replace("12:00:00Z", "12:00:07Z");
        let event = serde_json::json!({"events": [{"message": SAMPLE}, {"message": later}]});
        let listed = format!("[{later},{SAMPLE}]");
        let lines = format!("{}\n{}", SAMPLE, later);
        for packed in [event.to_string(), listed, lines] {
            let newest = parse(packed.as_bytes()).unwrap();
            assert_eq!(newest.at_s - parse(SAMPLE.as_bytes()).unwrap().at_s, 7);
        }
    }

    #[test]
    fn counters_of_performance_insights_are_the_same_numbers() {
        let metrics = parse(INSIGHTS.as_bytes()).unwrap();
        let readings = Signals::default().of(&metrics).unwrap();
        assert_eq!(value(&readings, "cpu.system_share"), Some(0.2));
        assert_eq!(
            value(&readings, "meminfo.MemFree"),
            Some(900_000.0 * 1024.0)
        );
        assert_eq!(value(&readings, "disk.all.in_flight"), Some(7.0));
        assert_eq!(value(&readings, "cpu.count"), Some(8.0));
        // A load by wait events is no number of the host.
        assert_eq!(readings.len(), 4, "{readings:#?}");
    }

    #[test]
    fn what_is_none_gives_nothing_and_never_fails() {
        for text in [
            "",
            "null",
            "[]",
            "{}",
            "{\"timestamp\": 5}",
            "{\"MetricList\": 5}",
            "\u{1b}[",
            "{\"events\": [{\"message\": \"x\"}]}",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        for end in 0..SAMPLE.len() {
            let _ = parse(&SAMPLE.as_bytes()[..end]);
        }
    }
}
