//! `mpstat`, `sar` and `free`.

use std::collections::BTreeMap;

use model::{Fact, Reading, Unit};

use super::{Read, Tick, counted};
use crate::clean::Line;
use crate::kind::{clock, free_row, is_english_free, is_host_line, is_words, number};

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
pub(super) fn read(lines: &[Line<'_>]) -> Read {
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

/// The columns of `free`, in the order that all languages have.
const FREE: [&str; 6] = ["total", "used", "free", "shared", "buff/cache", "available"];

/// `free`: the host's memory. Which unit it prints is told by `-h` only, and else by what hosts have.
pub(super) fn free(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut columns: Vec<String> = Vec::new();
    // Of another language: the rows are told by their place.
    let mut next_row = None;
    let mut prints: u64 = 0;
    let mut unit = None;
    for line in lines {
        let text = line.trimmed();
        if is_english_free(text) {
            columns = text.split_whitespace().map(str::to_owned).collect();
            next_row = None;
            continue;
        }
        if is_words(text) {
            columns = FREE.map(str::to_owned).to_vec();
            next_row = Some("Mem");
            continue;
        }
        let Some((kind, values)) = free_row(text) else {
            continue;
        };
        let kind = next_row.replace("Swap").unwrap_or(kind);
        let value = |name: &str| {
            let place = columns.iter().position(|column| column == name)?;
            values.get(place).copied()
        };
        if kind == "Mem" {
            unit = value("total").map(unit_of);
        }
        let unit = unit.unwrap_or(1024.0);
        let names: &[(&str, &str)] = match kind {
            "Mem" => &[
                ("total", "meminfo.MemTotal"),
                ("free", "meminfo.MemFree"),
                ("available", "meminfo.MemAvailable"),
            ],
            "Swap" => &[("total", "meminfo.SwapTotal"), ("free", "meminfo.SwapFree")],
            _ => continue,
        };
        let readings: Vec<Reading> = names
            .iter()
            .filter_map(|(column, name)| {
                let bytes = bytes_of(value(column)?, unit)?;
                Some(Reading::gauge(*name, Unit::Bytes, bytes))
            })
            .collect();
        if kind == "Mem" {
            prints += 1;
            if let Some(total) = readings.first() {
                read.brought = format!("{:.1} GiB of memory", total.value / 1_073_741_824.0);
            }
        }
        if !readings.is_empty() {
            read.ticks.push(Tick {
                source: "meminfo",
                at: None,
                after: prints.saturating_sub(1) * 1000,
                readings,
            });
        }
    }
    read
}

/// Bytes of one of the units in which the total is printed: hosts of databases have from 512 MiB to
/// 8 TiB.
fn unit_of(total: &str) -> f64 {
    match total.parse::<f64>() {
        Ok(total) if total >= 8e9 => 1.0,
        Ok(total) if total >= 2e6 => 1024.0,
        Ok(total) if total >= 500.0 => 1_048_576.0,
        _ => 1_073_741_824.0,
    }
}

/// `15Gi`, `512Mi`, `1.5G`, `1024`.
fn bytes_of(text: &str, unit: f64) -> Option<f64> {
    let letters = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ',');
    let value = number(text.strip_suffix(letters)?)?;
    let factor = match letters.chars().next() {
        None => unit,
        Some('B') => 1.0,
        Some('K' | 'k') => 1024.0,
        Some('M') => 1_048_576.0,
        Some('G') => 1_073_741_824.0,
        Some('T') => 1_099_511_627_776.0,
        Some(_) => return None,
    };
    Some(value * factor)
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

    #[test]
    fn free_in_any_unit() {
        let text = |row: &str| {
            format!(
                "               total        used        free      shared  buff/cache   available\nMem:  {row}\nSwap: 0 0 0\n"
            )
        };
        for row in [
            "16777216 1 8388608 1 1 8388608",
            "16384 1 8192 1 1 8192",
            "17179869184 1 8589934592 1 1 8589934592",
            "16Gi 1Gi 8Gi 1Mi 1Gi 8192Mi",
        ] {
            let read = free(&clean::lines(&text(row)));
            assert_eq!(
                read.points("meminfo.MemTotal")[0].1,
                17_179_869_184.0,
                "{row}"
            );
            assert_eq!(
                read.points("meminfo.MemAvailable")[0].1,
                8_589_934_592.0,
                "{row}"
            );
        }
    }
}
