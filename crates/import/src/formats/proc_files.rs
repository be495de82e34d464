//! Files of /proc, once or again and again.

use kernel::procfs::{diskstats, meminfo, stat, vmstat};
use model::{Reading, Unit};

use crate::format::{DIGITS, Format, Group, Recogniser};
use crate::line::Line;
use crate::read::{Read, TIMESTAMPS_MAX};
use crate::times;

pub(crate) static STAT: Format = Format {
    id: "proc_stat",
    group: Group::Host,
    name: "/proc/stat",
    printed_by: "the kernel",
    content: "processors, run queue, context switches",
    recognisers: &[Recogniser::new(450, "c", 0, |at| is_proc_stat(at.line))],
    continues: |_, next| is_stat_line(next.text),
    absorbs: |_, next| is_stat_line(next.text),
    preference: 8,
    read: |lines| {
        let mut before = None;
        read("cpu", 0, lines, |bytes| of_stat(bytes, &mut before))
    },
    is_inventory: true,
    ..Format::NONE
};

pub(crate) static VMSTAT: Format = Format {
    id: "proc_vmstat",
    group: Group::Host,
    name: "/proc/vmstat",
    printed_by: "the kernel",
    content: "all its counters",
    recognisers: &[Recogniser::new(460, "ncp", 0, |at| {
        is_proc_vmstat(at.line, at.next)
    })],
    continues: |_, next| is_vmstat_line(next.text),
    absorbs: |_, next| is_vmstat_line(next.text),
    preference: 7,
    read: |lines| read("vmstat", 0, lines, of_vmstat),
    is_inventory: true,
    ..Format::NONE
};

pub(crate) static MEMINFO: Format = Format {
    id: "proc_meminfo",
    group: Group::Host,
    name: "/proc/meminfo",
    printed_by: "the kernel",
    content: "all its amounts",
    recognisers: &[Recogniser::new(470, "M", 0, |at| {
        at.text.starts_with("MemTotal:") || at.text.starts_with("MemFree:")
    })],
    continues: |_, next| is_meminfo_line(next.text),
    absorbs: |_, next| is_meminfo_line(next.text),
    preference: 9,
    read: |lines| read("meminfo", 0, lines, of_meminfo),
    is_inventory: true,
    ..Format::NONE
};

pub(crate) static DISKSTATS: Format = Format {
    id: "proc_diskstats",
    group: Group::Host,
    name: "/proc/diskstats",
    printed_by: "the kernel",
    content: "requests, times and queues by disk",
    recognisers: &[Recogniser::new(480, DIGITS, 0, |at| is_diskstats(at.text))],
    preference: 10,
    // The name stands behind two numbers.
    read: |lines| read("disk", 2, lines, of_diskstats),
    is_inventory: true,
    ..Format::NONE
};

fn is_proc_stat(line: &str) -> bool {
    line.strip_prefix("cpu  ").is_some_and(|rest| {
        let mut words = rest.split_whitespace();
        words.clone().count() >= 4 && words.all(|word| word.parse::<u64>().is_ok())
    })
}

fn is_proc_vmstat(line: &str, next: &[&str]) -> bool {
    let pair = |line: &str| {
        line.split_once(' ').is_some_and(|(name, value)| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
                && value.parse::<u64>().is_ok()
        })
    };
    (line.starts_with("nr_") || line.starts_with("compact_") || line.starts_with("pg"))
        && pair(line)
        && next.first().is_none_or(|next| pair(next))
}

/// `   8       0 sda 1 2 3 …`, eleven numbers or more behind the name.
fn is_diskstats(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |index: usize| {
        words
            .get(index)
            .is_some_and(|word| word.parse::<u64>().is_ok())
    };
    words.len() >= 14 && number(0) && number(1) && !number(2) && (3..14).all(number)
}

fn is_meminfo_line(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(_, value)| value.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

fn is_stat_line(text: &str) -> bool {
    [
        "cpu",
        "intr ",
        "ctxt ",
        "btime ",
        "processes ",
        "procs_",
        "softirq ",
    ]
    .iter()
    .any(|start| text.starts_with(start))
}

fn is_vmstat_line(text: &str) -> bool {
    text.split_once(' ')
        .is_some_and(|(_, value)| value.parse::<u64>().is_ok())
}

/// Reads the prints of a file of which one is told from the next by the word at this place of its first line.
fn read(
    source: &'static str,
    word: usize,
    lines: &[Line<'_>],
    mut readings: impl FnMut(&[u8]) -> Vec<Reading>,
) -> Read {
    let mut read = Read::default();
    let mut timestamps = timestamps(word, lines);
    read.keep_newest(&mut timestamps, TIMESTAMPS_MAX);
    let timestamps = timestamps.into_iter().map(|(at, lines)| {
        let mut text = String::new();
        for line in lines.iter().filter(|line| times::ts(&line.text).is_none()) {
            text.push_str(&line.text);
            text.push('\n');
        }
        (at, readings(text.as_bytes()))
    });
    read.push_each(source, timestamps);
    read
}

/// The prints of the file: each has its moment in front, or begins with its first name again.
fn timestamps<'a, 'b>(word: usize, lines: &'a [Line<'b>]) -> Vec<(Option<i64>, &'a [Line<'b>])> {
    let mut begins: Vec<(Option<i64>, usize)> = Vec::new();
    let mut at = None;
    let mut begin = true;
    let mut first = None;
    for (place, line) in lines.iter().enumerate() {
        let text = line.text.as_ref();
        if let Some(timestamp) = times::ts(text) {
            at = Some(timestamp);
            begin = true;
            continue;
        }
        let name = text.split_whitespace().nth(word).unwrap_or_default();
        if begin || first == Some(name) {
            begin = false;
            first = Some(name);
            begins.push((at.take(), place));
        }
    }
    let ends = begins.iter().skip(1).map(|(_, place)| *place);
    let ends: Vec<usize> = ends.chain([lines.len()]).collect();
    let each = begins.into_iter().zip(ends);
    each.filter_map(|((at, from), to)| Some((at, lines.get(from..to)?)))
        .collect()
}

fn of_vmstat(bytes: &[u8]) -> Vec<Reading> {
    vmstat::pairs(bytes)
        .map(|(name, value)| {
            let name = format!("vmstat.{name}");
            if name.starts_with("vmstat.nr_") {
                Reading::gauge(name, Unit::Pages, value as f64)
            } else {
                Reading::counter(name, Unit::Count, value as f64)
            }
        })
        .collect()
}

fn of_stat(bytes: &[u8], before: &mut Option<stat::CpuTicks>) -> Vec<Reading> {
    let stat = stat::parse(bytes);
    let mut readings = Vec::new();
    if let Some(now) = stat.total
        && let Some(before) = before.replace(now)
    {
        let grown =
            |pick: fn(&stat::CpuTicks) -> u64| pick(&now).saturating_sub(pick(&before)) as f64;
        let system = grown(|t| t.system) + grown(|t| t.irq) + grown(|t| t.softirq);
        let user = grown(|t| t.user) + grown(|t| t.nice);
        let (idle, iowait, steal) = (
            grown(|t| t.idle),
            grown(|t| t.iowait),
            grown(|t| t.steal.unwrap_or(0)),
        );
        let total = system + user + idle + iowait + steal;
        if total > 0.0 {
            for (name, part) in [
                ("cpu.system_share", system),
                ("cpu.user_share", user),
                ("cpu.busy_share", system + user),
                ("cpu.iowait_share", iowait),
                ("cpu.steal_share", steal),
            ] {
                readings.push(Reading::gauge(name, Unit::Share, part / total));
            }
        }
    }
    let level = |name, value: u64| Reading::gauge(name, Unit::Count, value as f64);
    let switches = |value| Reading::counter("cpu.context_switches", Unit::Count, value as f64);
    readings.extend(stat.context_switches.map(switches));
    let processors = stat.cpus.len() as u64;
    for (name, value) in [
        ("cpu.procs_running", stat.procs_running),
        ("cpu.procs_blocked", stat.procs_blocked),
        ("cpu.count", (processors > 0).then_some(processors)),
    ] {
        readings.extend(value.map(|value| level(name, value)));
    }
    readings
}

fn of_meminfo(bytes: &[u8]) -> Vec<Reading> {
    meminfo::pairs(bytes)
        .map(|(name, amount)| match amount {
            meminfo::Amount::Kib(kib) => {
                Reading::gauge(format!("meminfo.{name}"), Unit::Bytes, kib as f64 * 1024.0)
            }
            meminfo::Amount::Count(count) => {
                Reading::gauge(format!("meminfo.{name}"), Unit::Count, count as f64)
            }
        })
        .collect()
}

fn of_diskstats(bytes: &[u8]) -> Vec<Reading> {
    const COUNT: Unit = Unit::Count;
    const BYTES: Unit = Unit::Bytes;
    const MS: Unit = Unit::Milliseconds;
    const SECTOR_BYTES: u64 = 512;
    let bytes_of = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
    let mut readings = Vec::new();
    let disks = diskstats::parse(bytes);
    for disk in disks.iter().filter(|disk| is_whole(&disk.name)) {
        let signal = |name: &str| format!("disk.{}.{name}", disk.name);
        let flushes = disk.flushes.as_ref();
        for (name, unit, value) in [
            ("reads", COUNT, Some(disk.reads)),
            ("read_bytes", BYTES, Some(bytes_of(disk.sectors_read))),
            ("read_ms", MS, Some(disk.read_ms)),
            ("writes", COUNT, Some(disk.writes)),
            ("write_bytes", BYTES, Some(bytes_of(disk.sectors_written))),
            ("write_ms", MS, Some(disk.write_ms)),
            ("busy_ms", MS, Some(disk.io_ms)),
            ("weighted_ms", MS, Some(disk.weighted_io_ms)),
            ("flushes", COUNT, flushes.map(|flushes| flushes.completed)),
            ("flush_ms", MS, flushes.map(|flushes| flushes.ms)),
        ] {
            let counter = |value| Reading::counter(signal(name), unit, value as f64);
            readings.extend(value.map(counter));
        }
        let queue = disk.in_flight as f64;
        readings.push(Reading::gauge(signal("in_flight"), COUNT, queue));
    }
    readings
}

/// A disk and no partition or loop, as far as names tell.
pub(crate) fn is_whole(name: &str) -> bool {
    let partition =
        |start: &str| name.starts_with(start) && name.ends_with(|c: char| c.is_ascii_digit());
    let nvme_partition =
        (name.starts_with("nvme") || name.starts_with("mmcblk")) && name.contains('p');
    !(partition("sd")
        || partition("vd")
        || partition("xvd")
        || partition("hd")
        || nvme_partition
        || name.starts_with("loop")
        || name.starts_with("ram"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn samples_of_pt_stalk() {
        let read = (VMSTAT.read)(&clean::lines(
            "TS 1700000000.0 x\nnr_free_pages 5\ncompact_stall 7\nTS 1700000001.0 x\nnr_free_pages 4\ncompact_stall 90\n",
        ));
        let at: Vec<_> = read.ticks.iter().map(|tick| tick.at).collect();
        assert_eq!(at, [Some(1_700_000_000_000), Some(1_700_000_001_000)]);
        assert_eq!(read.ticks[1].readings[1].value, 90.0);
    }

    #[test]
    fn shares_of_processors_need_two_prints() {
        let read = (STAT.read)(&clean::lines(
            "cpu  10 0 10 80 0 0 0 0\nctxt 5\ncpu  20 0 90 90 0 0 0 0\nctxt 9\n",
        ));
        let share = |index: usize| {
            read.ticks[index]
                .readings
                .iter()
                .find(|one| one.name == "cpu.system_share")
                .map(|one| one.value)
        };
        assert_eq!((share(0), share(1)), (None, Some(0.8)));
    }
}
