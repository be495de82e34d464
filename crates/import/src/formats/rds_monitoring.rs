//! Amazon RDS, Enhanced Monitoring ("OS metrics in Enhanced Monitoring" of its User Guide tells the units): the only
//! thing to be had of the host there. `crate::rds_monitoring` makes a line of each object.

use model::{Reading, SignalKind, Unit};
use serde_json::Value;

use crate::columns::{Sums, shares};
use crate::format::{Format, Group, Recogniser};
use crate::line::Line;
use crate::rds_monitoring::BEGIN;
use crate::read::{Read, counted};

pub(crate) static FORMAT: Format = Format {
    id: "rds_monitoring",
    group: Group::Host,
    name: "Enhanced Monitoring of RDS",
    printed_by: "the console, or `aws logs get-log-events --log-group-name RDSOSMetrics`",
    content: "processors, memory, disks, swapping, the server's memory",
    recognisers: &[Recogniser::new(300, "{", 0, |at| {
        at.text.starts_with(BEGIN)
    })],
    preference: 22,
    read,
    ..Format::NONE
};

/// Between two of them where only one is there: the default of the service.
const INTERVAL_MS: u32 = 60_000;

/// Columns of a disk, by the names that iostat has for them.
const DISK: [(&str, &str); 7] = [
    ("r/s", "readIOsPS"),
    ("w/s", "writeIOsPS"),
    ("rkB/s", "readKbPS"),
    ("wkB/s", "writeKbPS"),
    ("await", "await"),
    ("%util", "util"),
    ("aqu-sz", "avgQueueLen"),
];

/// What is told in kilobytes of memory, by the names of `/proc/meminfo`.
const MEMORY: [(&str, &str); 10] = [
    ("MemTotal", "total"),
    ("MemFree", "free"),
    ("Buffers", "buffers"),
    ("Cached", "cached"),
    ("Dirty", "dirty"),
    ("Writeback", "writeback"),
    ("Slab", "slab"),
    ("Mapped", "mapped"),
    ("Active", "active"),
    ("Inactive", "inactive"),
];

/// Moments at the most, the newest: an hour of seconds.
const TIMESTAMPS_MAX: usize = 3_600;

fn read(lines: &[Line<'_>]) -> Read {
    // Parsed objects take ten times the room of their text: one is there at a time.
    let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
    let mut timestamps: Vec<(Option<i64>, &str)> = lines
        .iter()
        .filter_map(|line| Some((timestamp(&parsed(line.trimmed())?), line.trimmed())))
        .collect();
    // The newest may stand first.
    timestamps.sort_by_key(|(at, _)| *at);
    let mut read = Read {
        relative: true,
        ..Read::default()
    };
    read.keep_newest(&mut timestamps, TIMESTAMPS_MAX);
    read.brought = counted(timestamps.len(), "moment", "moments");
    let mut sums = Sums::default();
    let mut before: Option<i64> = None;
    let is_alone = timestamps.len() == 1;
    for (after, (at, text)) in (0_u64..).step_by(1000).zip(&timestamps) {
        let Some(object) = parsed(text) else { continue };
        let seconds = before
            .zip(*at)
            .map(|(before, at)| at.saturating_sub(before) as f64 / 1000.0)
            .filter(|seconds| *seconds > 0.0)
            .unwrap_or(f64::from(INTERVAL_MS) / 1000.0);
        before = *at;
        for (source, readings) in [
            ("cpu", processors(&object, seconds, &mut sums)),
            ("meminfo", memory(&object)),
            ("disk", disks(&object, seconds, &mut sums)),
            ("process", server(&object)),
        ] {
            // The rates of one moment alone are those of the time before it.
            let after = match is_alone {
                true => {
                    let begin = at.map(|at| at.saturating_sub(i64::from(INTERVAL_MS)));
                    read.push(source, begin, 0, counters_at_zero(&readings));
                    u64::from(INTERVAL_MS)
                }
                false => after,
            };
            read.push(source, *at, after, readings);
        }
    }
    read
}

/// The counters as they were before they grew.
fn counters_at_zero(readings: &[Reading]) -> Vec<Reading> {
    let counters = readings
        .iter()
        .filter(|one| one.kind == SignalKind::Counter);
    let at_zero = |one: &Reading| Reading::counter(one.name.clone(), one.unit, 0.0);
    counters.map(at_zero).collect()
}

fn timestamp(object: &Value) -> Option<i64> {
    let at = sql::log::LogTime::at_start_of(object["timestamp"].as_str()?)?;
    Some(at.us(0) / 1000)
}

fn processors(object: &Value, seconds: f64, sums: &mut Sums) -> Vec<Reading> {
    let share = |name: &str| object["cpuUtilization"][name].as_f64();
    let with = |name: &str, more: &str| Some(share(name)? + share(more).unwrap_or(0.0));
    let mut readings = shares(
        with("user", "nice"),
        with("system", "irq"),
        share("wait"),
        share("steal"),
    );
    for (name, value) in [
        ("cpu.procs_running", &object["tasks"]["running"]),
        ("cpu.procs_blocked", &object["tasks"]["blocked"]),
        ("cpu.count", &object["numVCPUs"]),
    ] {
        let value = value.as_f64();
        readings.extend(value.map(|value| Reading::gauge(name, Unit::Count, value)));
    }
    // Kilobytes a second, as pages of 4 KiB.
    for (name, way) in [("vmstat.pswpin", "in"), ("vmstat.pswpout", "out")] {
        let pages = object["swap"][way].as_f64().map(|kib| kib / 4.0 * seconds);
        readings.extend(pages.map(|pages| sums.counter(name, Unit::Count, pages)));
    }
    readings
}

fn memory(object: &Value) -> Vec<Reading> {
    let value = |name: &str| object["memory"][name].as_f64();
    let reading = |(name, theirs): &(&str, &str)| {
        let bytes = value(theirs)? * 1024.0;
        Some(Reading::gauge(
            format!("meminfo.{name}"),
            Unit::Bytes,
            bytes,
        ))
    };
    MEMORY.iter().filter_map(reading).collect()
}

/// The disks that have all their numbers.
fn disks(object: &Value, seconds: f64, sums: &mut Sums) -> Vec<Reading> {
    let mut readings = Vec::new();
    for disk in object["diskIO"].as_array().into_iter().flatten() {
        let is_whole = DISK.iter().all(|(_, theirs)| disk[*theirs].is_number());
        let Some(name) = disk["device"].as_str().filter(|_| is_whole) else {
            continue;
        };
        readings.extend(sums.disk(&plain(name), seconds, |names| {
            let (_, theirs) = DISK.iter().find(|(name, _)| names.contains(name))?;
            disk[*theirs].as_f64()
        }));
    }
    readings
}

fn plain(device: &str) -> String {
    let letters = device.chars().take(40);
    letters.filter(char::is_ascii_alphanumeric).collect()
}

/// The server's resident memory: one row of the processes is left, and it is the server's.
fn server(object: &Value) -> Vec<Reading> {
    let kib = object["processList"][0]["rss"].as_f64();
    let bytes = kib.map(|kib| kib * 1024.0);
    let reading = |bytes| Reading::gauge("process.resident_bytes", Unit::Bytes, bytes);
    bytes.map(reading).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    fn object(at: &str, user: f64, writes: f64) -> String {
        format!(
            "{{\"engine\":\"MYSQL\",\"timestamp\":\"{at}\",\"numVCPUs\":2,\"cpuUtilization\":{{\"user\":{user},\"nice\":1.0,\"system\":70.0,\"irq\":0.0,\"wait\":5.0,\"steal\":0.0}},\
             \"memory\":{{\"free\":4}},\"tasks\":{{\"running\":9,\"blocked\":3}},\"swap\":{{\"in\":8.0,\"out\":0.0}},\
             \"diskIO\":[{{\"device\":\"rdsdev\",\"readIOsPS\":0,\"writeIOsPS\":{writes},\"readKbPS\":0,\"writeKbPS\":8,\"await\":20,\"util\":99.5,\"avgQueueLen\":3}}],\
             \"processList\":[{{\"name\":\"mysqld\",\"rss\":1024}},{{\"name\":\"mysqld\",\"rss\":1024}}]}}\n"
        )
    }

    #[test]
    fn one_moment_has_the_rates_of_the_time_before_it() {
        let text = object("2024-10-02T11:20:20Z", 9.0, 50.0);
        let capture = read(&clean::lines(&text));
        assert_eq!(capture.brought, "1 moment");
        assert_eq!(capture.points("vmstat.pswpin"), [(0, 0.0), (60_000, 120.0)]);
        assert_eq!(capture.values("disk.rdsdev.writes"), [0.0, 3000.0]);
        assert_eq!(capture.values("cpu.user_share"), [0.1]);
    }

    #[test]
    fn moments_in_their_order() {
        let text = [
            object("2024-10-02T11:20:20Z", 19.0, 50.0),
            object("2024-10-02T11:20:10Z", 9.0, 50.0),
        ];
        let capture = read(&clean::lines(&text.concat()));
        assert_eq!(capture.brought, "2 moments");
        assert_eq!(capture.values("cpu.user_share"), [0.1, 0.2]);
        assert_eq!(capture.values("cpu.procs_blocked"), [3.0, 3.0]);
        // For a minute, then for ten seconds.
        assert_eq!(capture.values("vmstat.pswpin"), [120.0, 140.0]);
        assert_eq!(capture.values("disk.rdsdev.writes"), [3000.0, 3500.0]);
        assert_eq!(capture.values("disk.rdsdev.write_ms"), [60_000.0, 70_000.0]);
        assert_eq!(capture.values("meminfo.MemFree"), [4096.0, 4096.0]);
        assert_eq!(capture.values("process.resident_bytes"), [1_048_576.0; 2]);
    }
}
