//! `mpstat` and `sar`.

use std::collections::BTreeMap;

use model::{Fact, Reading, Unit};

use crate::clean::Line;
use crate::columns::number;
use crate::format::{Format, Gap, Group, Recogniser};
use crate::read::{Read, Tick, counted};
use crate::times::clock;

pub(crate) static FORMAT: Format = Format {
    id: "sysstat",
    group: Group::Host,
    name: "mpstat or sar output",
    printed_by: "mpstat, sar",
    content: "shares of the processors, memory, paging, disks, queues",
    recognisers: &[Recogniser::new(350, "L0123456789", 0, |at| {
        is_sysstat_header(at.text)
    })],
    continues: |_, next| is_sysstat_row(next.text),
    gap: Gap::Lines(6),
    preference: 13,
    read,
    ..Format::NONE
};

/// `Linux 6.1.0-18-amd64 (db1)  11/21/2026  _x86_64_  (8 CPU)`.
pub(crate) fn is_host_line(text: &str) -> bool {
    text.starts_with("Linux ") && text.contains('(') && text.ends_with(" CPU)")
}

/// Columns by which a table of mpstat or sar is known.
const SYSSTAT: [&str; 16] = [
    "%usr",
    "%user",
    "cswch/s",
    "runq-sz",
    "kbmemfree",
    "pgpgin/s",
    "pswpin/s",
    "rkB/s",
    "rd_sec/s",
    "tps",
    "IFACE",
    "intr/s",
    "kbswpfree",
    "totsck",
    "active/s",
    "%scpu-10",
];

/// A head of mpstat or sar: the time, then names of columns.
fn is_sysstat_header(text: &str) -> bool {
    is_host_line(text)
        || clock(text)
            .is_some_and(|(_, rest)| rest.split_whitespace().any(|word| SYSSTAT.contains(&word)))
}

/// `Average:     all    6.00  …`, `Durchschn.:`, `Moyenne :`: a word of any language, then mostly numbers.
fn is_mean(text: &str) -> bool {
    let Some((name, rest)) = text.split_once(':') else {
        return false;
    };
    let name = name.trim_end();
    let is_word =
        (4..=24).contains(&name.len()) && name.chars().all(|c| c.is_alphabetic() || c == '.');
    let words = rest.split_whitespace();
    let numbers = words.clone().filter(|word| number(word).is_some()).count();
    text.starts_with("Average:") || (is_word && numbers >= 2 && numbers + 2 >= words.count())
}

/// A row of them: the time or `Average:`, then values.
fn is_sysstat_row(text: &str) -> bool {
    clock(text).is_some() || is_mean(text)
}

/// Rows that are read.
const ROWS_MAX: usize = 200_000;

/// What a column of sar becomes.
enum Becomes {
    /// A level, with this factor.
    Level(&'static str, Unit, f64),
    /// A counter, of a rate a second with this factor.
    Counter(&'static str, Unit, f64),
}

/// Columns, by the name that sysstat gives them.
const COLUMNS: [(&str, Becomes); 16] = [
    (
        "runq-sz",
        Becomes::Level("cpu.procs_running", Unit::Count, 1.0),
    ),
    (
        "blocked",
        Becomes::Level("cpu.procs_blocked", Unit::Count, 1.0),
    ),
    (
        "cswch/s",
        Becomes::Counter("cpu.context_switches", Unit::Count, 1.0),
    ),
    (
        "pswpin/s",
        Becomes::Counter("vmstat.pswpin", Unit::Count, 1.0),
    ),
    (
        "pswpout/s",
        Becomes::Counter("vmstat.pswpout", Unit::Count, 1.0),
    ),
    (
        "pgscank/s",
        Becomes::Counter("vmstat.pgscan_kswapd", Unit::Count, 1.0),
    ),
    (
        "pgscand/s",
        Becomes::Counter("vmstat.pgscan_direct", Unit::Count, 1.0),
    ),
    (
        "pgsteal/s",
        Becomes::Counter("vmstat.pgsteal", Unit::Count, 1.0),
    ),
    (
        "fault/s",
        Becomes::Counter("vmstat.pgfault", Unit::Count, 1.0),
    ),
    (
        "majflt/s",
        Becomes::Counter("vmstat.pgmajfault", Unit::Count, 1.0),
    ),
    (
        "kbmemfree",
        Becomes::Level("meminfo.MemFree", Unit::Bytes, 1024.0),
    ),
    (
        "kbavail",
        Becomes::Level("meminfo.MemAvailable", Unit::Bytes, 1024.0),
    ),
    (
        "kbcached",
        Becomes::Level("meminfo.Cached", Unit::Bytes, 1024.0),
    ),
    (
        "kbdirty",
        Becomes::Level("meminfo.Dirty", Unit::Bytes, 1024.0),
    ),
    (
        "kbswpfree",
        Becomes::Level("meminfo.SwapFree", Unit::Bytes, 1024.0),
    ),
    (
        "kbanonpg",
        Becomes::Level("meminfo.AnonPages", Unit::Bytes, 1024.0),
    ),
];

#[derive(Default)]
struct Reader {
    read: Read,
    columns: Vec<String>,
    sums: BTreeMap<String, f64>,
    /// Second of the day of the first row, of the row before, and the days that passed.
    first: Option<u64>,
    latest: u64,
    days: u64,
    /// When the table that is read had its row before, milliseconds from the begin.
    before: Option<u64>,
    rows: usize,
    names: Vec<&'static str>,
}

/// Tables of mpstat or sar, each with a time in front of every row.
fn read(lines: &[Line<'_>]) -> Read {
    let mut reader = Reader::default();
    reader.read.relative = true;
    for line in lines.iter().take(ROWS_MAX) {
        let text = line.trimmed();
        if is_host_line(text) {
            reader.host(text);
        } else if let Some((second, rest)) = clock(text) {
            reader.line(second, rest);
        }
    }
    let mut read = reader.read;
    read.brought = counted(reader.rows, "row", "rows");
    read.what = Some(
        match reader.names.as_slice() {
            [] => "sysstat output",
            ["mpstat"] => "mpstat output",
            ["pidstat"] => "pidstat output",
            _ => "sar output",
        }
        .to_owned(),
    );
    if read.is_empty() && reader.names == ["pidstat"] {
        let why = "known; what single processes took says nothing of the host";
        read.skipped.push((0, why.into()));
    }
    read
}

impl Reader {
    /// `Linux … (8 CPU)`.
    fn host(&mut self, text: &str) {
        let count = text
            .rsplit_once('(')
            .and_then(|(_, rest)| rest.split(' ').next())
            .filter(|count| count.parse::<u32>().is_ok());
        if let Some(count) = count {
            self.read.facts.push(Fact::new("host.cpus", count));
        }
    }

    fn line(&mut self, second: u64, rest: &str) {
        let words: Vec<&str> = rest.split_whitespace().collect();
        // The first value of a table of processors or devices is a name.
        let numbers = words.iter().skip(1).filter(|word| number(word).is_some());
        let is_head = words.len() > 1 && numbers.count() == 0;
        if is_head {
            self.columns = words.iter().map(|word| (*word).to_owned()).collect();
            self.before = None;
            let has = |names: [&str; 2]| {
                let mut columns = self.columns.iter();
                columns.any(|column| names.contains(&column.as_str()))
            };
            let name = if has(["PID", "TGID"]) {
                "pidstat"
            } else if has(["%usr", "%gnice"]) {
                "mpstat"
            } else {
                "sar"
            };
            if !self.names.contains(&name) {
                self.names.push(name);
            }
            if self.first.is_none() {
                self.begin(second);
            }
            self.before = Some(self.after(second));
            return;
        }
        if self.columns.is_empty() || words.len() + 2 < self.columns.len() {
            return;
        }
        if self.first.is_none() {
            self.begin(second);
        }
        let after = self.after(second);
        let values: Vec<&str> = words;
        let readings = self.readings(&values, after);
        self.rows += 1;
        for (source, readings) in readings {
            self.read.ticks.push(Tick {
                source,
                at: None,
                after,
                readings,
            });
        }
        self.before = Some(after);
    }

    fn begin(&mut self, second: u64) {
        self.first = Some(second);
        self.latest = second;
    }

    /// Milliseconds since the first row. A time that falls by half a day went through midnight; one
    /// that rises so much is the begin of the next table.
    fn after(&mut self, second: u64) -> u64 {
        let first = self.first.unwrap_or(second);
        if second + 43_200 < self.latest {
            self.days += 1;
        } else if second > self.latest + 43_200 {
            self.days = self.days.saturating_sub(1);
        }
        self.latest = second;
        (self.days * 86_400 + second)
            .saturating_sub(first)
            .saturating_mul(1000)
    }

    fn readings(&mut self, values: &[&str], after: u64) -> Vec<(&'static str, Vec<Reading>)> {
        let place = |name: &str| self.columns.iter().position(|column| column == name);
        let value = |name: &str| values.get(place(name)?).copied();
        let numeric = |name: &str| value(name).and_then(number);
        let seconds = self
            .before
            .map_or(1.0, |before| after.saturating_sub(before) as f64 / 1000.0);
        let seconds = if seconds > 0.0 { seconds } else { 1.0 };
        // What one process takes says nothing of the host.
        if place("PID").or(place("TGID")).is_some() {
            return Vec::new();
        }
        if place("%usr").or(place("%user")).is_some() {
            // One processor of many says nothing of all.
            if value("CPU").is_some_and(|cpu| cpu != "all") {
                return Vec::new();
            }
            let sum = |names: &[&str]| {
                let all: Vec<f64> = names.iter().filter_map(|name| numeric(name)).collect();
                (!all.is_empty()).then(|| all.iter().sum::<f64>())
            };
            let user = sum(&["%usr", "%user", "%nice", "%guest"]);
            let system = sum(&["%sys", "%system", "%irq", "%soft"]);
            let readings: Vec<Reading> = [
                ("cpu.user_share", user),
                ("cpu.system_share", system),
                ("cpu.busy_share", user.zip(system).map(|(a, b)| a + b)),
                ("cpu.iowait_share", numeric("%iowait")),
                ("cpu.steal_share", numeric("%steal")),
            ]
            .into_iter()
            .filter_map(|(name, percent)| Some(Reading::gauge(name, Unit::Share, percent? / 100.0)))
            .collect();
            return match readings.is_empty() {
                true => Vec::new(),
                false => vec![("cpu", readings)],
            };
        }
        if let Some(device) = value("DEV") {
            let device = device.to_owned();
            let columns = [
                ("read_bytes", "rkB/s", 1024.0, Unit::Bytes),
                ("read_bytes", "rd_sec/s", 512.0, Unit::Bytes),
                ("write_bytes", "wkB/s", 1024.0, Unit::Bytes),
                ("write_bytes", "wr_sec/s", 512.0, Unit::Bytes),
                ("busy_ms", "%util", 10.0, Unit::Milliseconds),
            ];
            let told: Vec<(String, Unit, f64)> = columns
                .into_iter()
                .filter_map(|(name, column, factor, unit)| {
                    let rate = numeric(column)?;
                    Some((
                        format!("disk.{device}.{name}"),
                        unit,
                        rate * factor * seconds,
                    ))
                })
                .collect();
            let queue = numeric("aqu-sz").or_else(|| numeric("avgqu-sz"));
            let mut readings: Vec<Reading> = told
                .into_iter()
                .map(|(name, unit, grown)| self.counter(name, unit, grown))
                .collect();
            if let Some(queue) = queue {
                let name = format!("disk.{device}.in_flight");
                readings.push(Reading::gauge(name, Unit::Count, queue));
            }
            return vec![("disk", readings)];
        }
        let told: Vec<(&'static str, Unit, f64, bool)> = COLUMNS
            .iter()
            .filter_map(|(column, becomes)| {
                let value = numeric(column)?;
                Some(match becomes {
                    Becomes::Level(name, unit, factor) => (*name, *unit, value * factor, false),
                    Becomes::Counter(name, unit, factor) => {
                        (*name, *unit, value * factor * seconds, true)
                    }
                })
            })
            .collect();
        let mut by_source: BTreeMap<&'static str, Vec<Reading>> = BTreeMap::new();
        for (name, unit, value, is_counter) in told {
            let source = match name.split('.').next() {
                Some("vmstat") => "vmstat",
                Some("meminfo") => "meminfo",
                _ => "cpu",
            };
            let reading = match is_counter {
                true => self.counter(name.to_owned(), unit, value),
                false => Reading::gauge(name, unit, value),
            };
            by_source.entry(source).or_default().push(reading);
        }
        by_source.into_iter().collect()
    }

    fn counter(&mut self, name: String, unit: Unit, grown: f64) -> Reading {
        let sum = self.sums.entry(name.clone()).or_insert(0.0);
        *sum += grown;
        Reading::counter(name, unit, *sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn mpstat_of_all_processors() {
        let read = read(&clean::lines(
            "Linux 6.1.0-18-amd64 (db1) \t11/21/2026 \t_x86_64_\t(2 CPU)\n\n\
             12:00:00 PM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n\
             12:00:01 PM  all    5.00    0.00   80.00    1.00    0.00    2.00    3.00    0.00    0.00    9.00\n\
             12:00:01 PM    0   10.00    0.00   90.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00\n\n\
             12:00:01 PM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n\
             12:00:02 PM  all    6.00    0.00   70.00    1.00    0.00    0.00    0.00    0.00    0.00   23.00\n\
             Average:     all    6.00    0.00   70.00    1.00    0.00    0.00    0.00    0.00    0.00   23.00\n",
        ));
        assert_eq!(read.points("cpu.system_share"), [(1000, 0.82), (2000, 0.7)]);
        assert_eq!(read.facts, [Fact::new("host.cpus", "2")]);
        assert_eq!(read.what.as_deref(), Some("mpstat output"));
    }

    #[test]
    fn pidstat_is_called_by_its_name() {
        let read = read(&clean::lines(
            "06:27:29 PM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n\
             06:27:34 PM   123      1526   91.20    2.60    0.00    0.00   93.80     0  mysqld\n",
        ));
        assert!(read.is_empty());
        assert_eq!(read.what.as_deref(), Some("pidstat output"));
        assert!(read.skipped[0].1.contains("single processes"));
    }

    #[test]
    fn tables_of_sar() {
        let read = read(&clean::lines(
            "Linux 5.4.0 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)\n\n\
             23:50:01     proc/s   cswch/s\n23:55:01      10.00   1000.00\n00:00:01      10.00   3000.00\n\n\
             23:50:01      DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util\n\
             23:55:01      vda       5.0     2.0       4.0      3.0       1.5       2.0       50.0\n",
        ));
        assert_eq!(
            read.points("cpu.context_switches"),
            [(300_000, 300_000.0), (600_000, 1_200_000.0)]
        );
        assert_eq!(read.points("disk.vda.in_flight"), [(300_000, 1.5)]);
        assert_eq!(read.points("disk.vda.busy_ms"), [(300_000, 150_000.0)]);
    }
}
