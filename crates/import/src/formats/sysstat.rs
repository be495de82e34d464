//! `mpstat`, `sar` and `pidstat`.

use std::collections::BTreeMap;

use model::{Fact, Reading, Unit};

use crate::columns::{Column, Head, Sums, level, number, rate, shares};
use crate::format::{Format, Gap, Group, Recogniser};
use crate::line::Line;
use crate::program_rows::{self, Programs};
use crate::read::{Read, counted};
use crate::times::clock;

pub(crate) static FORMAT: Format = Format {
    id: "sysstat",
    group: Group::Host,
    name: "mpstat or sar output",
    printed_by: "mpstat, sar, pidstat",
    content: "processors, memory, paging, disks, queues",
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
        || clock(text).is_some_and(|(_, rest)| {
            let words: Vec<&str> = rest.split_whitespace().collect();
            words.iter().any(|word| SYSSTAT.contains(word))
                || program_rows::program(&Head::default(), &words).is_some()
        })
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

/// Columns, by the name that sysstat gives them.
const COLUMNS: [Column; 16] = [
    level("runq-sz", "cpu.procs_running", Unit::Count, 1.0),
    level("blocked", "cpu.procs_blocked", Unit::Count, 1.0),
    rate("cswch/s", "cpu.context_switches", 1.0),
    rate("pswpin/s", "vmstat.pswpin", 1.0),
    rate("pswpout/s", "vmstat.pswpout", 1.0),
    rate("pgscank/s", "vmstat.pgscan_kswapd", 1.0),
    rate("pgscand/s", "vmstat.pgscan_direct", 1.0),
    rate("pgsteal/s", "vmstat.pgsteal", 1.0),
    rate("fault/s", "vmstat.pgfault", 1.0),
    rate("majflt/s", "vmstat.pgmajfault", 1.0),
    level("kbmemfree", "meminfo.MemFree", Unit::Bytes, 1024.0),
    level("kbavail", "meminfo.MemAvailable", Unit::Bytes, 1024.0),
    level("kbcached", "meminfo.Cached", Unit::Bytes, 1024.0),
    level("kbdirty", "meminfo.Dirty", Unit::Bytes, 1024.0),
    level("kbswpfree", "meminfo.SwapFree", Unit::Bytes, 1024.0),
    level("kbanonpg", "meminfo.AnonPages", Unit::Bytes, 1024.0),
];

#[derive(Default)]
struct Reader<'a> {
    read: Read,
    head: Head<'a>,
    sums: Sums,
    /// Second of the day of the first row, of the row before, and the days that passed.
    first: Option<u64>,
    latest: u64,
    days: u64,
    /// When the table that is read had its row before, milliseconds from the begin.
    before: Option<u64>,
    /// No row of the table was read yet: the time before is that of its head.
    is_first: bool,
    /// Where the time of a signal's first row begins, and the signal that had not grown yet.
    begins: Vec<(u64, Reading)>,
    rows: usize,
    names: Vec<&'static str>,
    programs: Programs,
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
    for (begin, reading) in reader.begins {
        // One row alone tells of the time since its head; without a begin it has no rate.
        let all = read.ticks.iter().flat_map(|tick| &tick.readings);
        if all.filter(|one| one.name == reading.name).count() == 1 {
            read.push(source_of(&reading.name), None, begin, vec![reading]);
        }
    }
    for (after, readings) in reader.programs.readings() {
        read.push("top", None, after, readings);
    }
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
        let why = "recognised; the usage of single processes says nothing about the host";
        read.skipped.push((0, why.into()));
    }
    read
}

impl<'a> Reader<'a> {
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

    fn line(&mut self, second: u64, rest: &'a str) {
        let words: Vec<&str> = rest.split_whitespace().collect();
        // The first value of a table of processors or devices is a name.
        let numbers = words.iter().skip(1).filter(|word| number(word).is_some());
        let is_head = words.len() > 1 && numbers.count() == 0;
        if is_head {
            self.head = Head(words);
            self.before = None;
            let has = |names: [&str; 2]| names.iter().any(|name| self.head.has(name));
            let name = match () {
                () if has(["PID", "TGID"]) => "pidstat",
                () if has(["%usr", "%gnice"]) => "mpstat",
                () => "sar",
            };
            if !self.names.contains(&name) {
                self.names.push(name);
            }
            if self.first.is_none() {
                self.start(second);
            }
            self.before = Some(self.after(second));
            self.is_first = true;
            return;
        }
        let program = program_rows::program(&self.head, &words);
        if program.is_none() && (self.head.0.is_empty() || words.len() + 2 < self.head.0.len()) {
            return;
        }
        if self.first.is_none() {
            self.start(second);
        }
        let after = self.after(second);
        self.rows += 1;
        if let Some((program, cpus)) = program {
            self.programs.add(after, program, cpus);
            return;
        }
        for (source, readings) in self.readings(&words, after) {
            self.read.push(source, None, after, readings);
        }
        self.before = Some(after);
        self.is_first = false;
    }

    fn start(&mut self, second: u64) {
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
        let head = &self.head;
        let value = |name: &str| head.cell(values, &[name]);
        let numeric = |name: &str| value(name).and_then(number);
        let seconds = self
            .before
            .map_or(1.0, |before| after.saturating_sub(before) as f64 / 1000.0);
        let seconds = if seconds > 0.0 { seconds } else { 1.0 };
        // What one process reads and writes says nothing of the host.
        if head.has("PID") || head.has("TGID") {
            return Vec::new();
        }
        if head.has("%usr") || head.has("%user") {
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
            let readings = shares(user, system, numeric("%iowait"), numeric("%steal"));
            return vec![("cpu", readings)];
        }
        if let Some(device) = value("DEV") {
            let value = |names: &[&str]| names.iter().find_map(|name| numeric(name));
            return vec![("disk", self.sums.disk(device, seconds, value))];
        }
        if let Some(before) = self.before.filter(|_| self.is_first) {
            for reading in self.sums.begin(&COLUMNS, numeric) {
                let is_known = |(_, known): &(u64, Reading)| known.name == reading.name;
                if !self.begins.iter().any(is_known) {
                    self.begins.push((before, reading));
                }
            }
        }
        let mut by_source: BTreeMap<&'static str, Vec<Reading>> = BTreeMap::new();
        for reading in self.sums.readings(&COLUMNS, seconds, numeric) {
            let source = source_of(&reading.name);
            by_source.entry(source).or_default().push(reading);
        }
        by_source.into_iter().collect()
    }
}

fn source_of(signal: &str) -> &'static str {
    match signal.split('.').next() {
        Some("vmstat") => "vmstat",
        Some("meminfo") => "meminfo",
        _ => "cpu",
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
            "06:27:29 PM   UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n\
             06:27:34 PM   123      1526     91.20      2.60      0.00       3  mysqld\n",
        ));
        assert!(read.is_empty());
        assert_eq!(read.what.as_deref(), Some("pidstat output"));
        assert!(read.skipped[0].1.contains("single processes"));
    }

    #[test]
    fn pidstat_tells_which_programs_use_the_processors() {
        let table = "06:27:29 PM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n\
             06:27:34 PM   123      1526   91.20    2.60    0.00    0.00   93.80     0  mysqld\n\
             06:27:34 PM     0      1601  300.00   10.00    0.00    1.00  310.00     1  pigz\n\
             06:27:34 PM     0      1602  200.00   10.00    0.00    1.00  210.00     2  pigz\n\
             Average:        0      1602  200.00   10.00    0.00    1.00  210.00     -  pigz\n";
        // `pidstat 5 1 | sort -nrk8`, too.
        let rows: Vec<&str> = table.lines().skip(1).collect();
        for text in [table, &rows.join("\n")] {
            let read = read(&clean::lines(text));
            assert_eq!(read.values("process.cpus"), [0.938], "{text}");
            assert_eq!(read.values("top.pigz.cpus"), [5.2], "{text}");
            assert!(read.skipped.is_empty(), "{text}");
        }
    }

    #[test]
    fn one_row_tells_of_the_time_since_its_head() {
        let read = read(&clean::lines(
            "03:10:01     pswpin/s pswpout/s\n03:20:01      4120.00   5122.00\n",
        ));
        assert_eq!(
            read.points("vmstat.pswpin"),
            [(600_000, 2_472_000.0), (0, 0.0)]
        );
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
