//! `iostat`: what disks did from report to report.

use model::Reading;

use crate::columns::{Head, Sums, is_numbers, number, shares};
use crate::format::{Format, Gap, Group, Recogniser, sign};
use crate::formats::proc_files::is_whole;
use crate::formats::sysstat::is_host_line;
use crate::line::Line;
use crate::read::{Read, counted};
use crate::times;

pub(crate) static FORMAT: Format = Format {
    id: "iostat",
    group: Group::Host,
    name: "iostat output",
    printed_by: "iostat (Linux in any language, FreeBSD, Solaris)",
    content: "requests, times and queues by disk, processors",
    recognisers: &[Recogniser::new(340, "", 0, |at| {
        (at.has(sign::PERCENT) || at.text.starts_with(['L', 'e']))
            && is_iostat_header(at.text, at.next)
    })],
    continues: |_, next| {
        iostat_row(next.text).is_some()
            || is_numbers(&next.text.replace(',', "."))
            || is_date_time(next.text)
    },
    gap: Gap::Lines(6),
    preference: 12,
    read,
    ..Format::NONE
};

/// The heads of iostat's two tables, or the line of the host in front of them.
fn is_iostat_header(text: &str, next: &[&str]) -> bool {
    let is_head = |text: &str| {
        is_device_head(text)
            || (text.starts_with("avg-cpu:") && text.contains("%user"))
            || is_iostat_of_unix(text)
    };
    let is_title = is_host_line(text) || text.starts_with("extended device statistics");
    is_head(text) || (is_title && next.iter().take(5).any(|line| is_head(line.trim())))
}

/// The head of iostat's table on Linux: `Device`, in the word of each language, and the columns.
fn is_device_head(text: &str) -> bool {
    if !text.contains("%util") {
        return false;
    }
    let mut words = text.split_whitespace();
    let is_name = |word: &str| word.starts_with(char::is_alphabetic) && !word.contains('/');
    text.starts_with("Device")
        || (words.next().is_some_and(is_name)
            && ["r/s", "w/s"]
                .iter()
                .all(|word| words.clone().any(|it| it == *word)))
}

/// The head of iostat's table on FreeBSD, where the device stands first, and on Solaris, where it
/// stands last with `-n`.
fn is_iostat_of_unix(text: &str) -> bool {
    if !text.contains("%b") {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    (words.first() == Some(&"device") || words.last() == Some(&"device"))
        && ["r/s", "w/s", "kr/s", "kw/s", "%b"].into_iter().all(has)
}

/// A disk with its numbers, which stand behind its name or in front of it.
fn iostat_row(text: &str) -> Option<(&str, Vec<f64>)> {
    let mut words: Vec<&str> = text.split_whitespace().take(42).collect();
    let name = match words.first().is_some_and(|word| number(word).is_some()) {
        true => words.pop().filter(|name| number(name).is_none())?,
        false if words.is_empty() => return None,
        false => words.remove(0),
    };
    let values: Option<Vec<f64>> = words.into_iter().map(number).collect();
    let values = values.filter(|values| (5..=40).contains(&values.len()))?;
    (name.len() <= 64).then_some((name, values))
}

/// `11/21/2026 06:25:01 AM`, `2026-11-21T06:25:01+0000`.
fn is_date_time(text: &str) -> bool {
    let words = text.split_whitespace().count();
    text.starts_with(|c: char| c.is_ascii_digit())
        && (1..=3).contains(&words)
        && text.matches(':').count() >= 2
        && text.len() <= 40
}

/// Reports, and disks of one, that are kept.
const REPORTS_MAX: usize = 20_000;

const DISKS_MAX: usize = 200;

/// One table of disks.
#[derive(Default)]
struct Report<'a> {
    disks: Vec<(&'a str, Vec<f64>)>,
    /// The columns of numbers.
    head: Head<'a>,
    processors: Vec<f64>,
    /// Second of the day, where `-t` told it.
    clock: Option<u64>,
}

/// The first report is the mean since the machine's start, and is left out when others follow.
///
/// Rates become counters again, so that they are compared like those of `/proc/diskstats`; where no
/// times are printed, a report is taken as a second.
fn read(lines: &[Line<'_>]) -> Read {
    let mut reports: Vec<Report<'_>> = Vec::new();
    let mut processors: Vec<f64> = Vec::new();
    let mut clock = None;
    let mut wants_processors = false;
    for line in lines {
        let text = line.trimmed();
        if text.starts_with("avg-cpu:") {
            wants_processors = true;
        } else if text.starts_with("Device") || is_device_head(text) || is_iostat_of_unix(text) {
            let mut head = Head::parse(text);
            let name = match is_iostat_of_unix(text) {
                true => Some("device"),
                false => head.0.first().copied(),
            };
            head.0.retain(|word| Some(*word) != name);
            if reports.len() < REPORTS_MAX {
                reports.push(Report {
                    head,
                    processors: std::mem::take(&mut processors),
                    clock: clock.take(),
                    ..Report::default()
                });
            }
        } else if wants_processors && text.split_whitespace().all(|word| number(word).is_some()) {
            processors = text.split_whitespace().filter_map(number).collect();
            wants_processors = text.is_empty();
        } else if let Some(second) = second_of_day(text) {
            clock = Some(second);
        } else if let Some((name, values)) = iostat_row(text)
            && let Some(report) = reports.last_mut()
            && report.disks.len() < DISKS_MAX
        {
            let name = name.trim_end_matches(':');
            // Names of partitions are those of Linux.
            if is_whole(name) || report.head.has("%b") {
                report.disks.push((name, values));
            }
        }
    }
    if reports.len() > 1 {
        reports.remove(0);
    }
    let mut read = Read {
        brought: counted(reports.len(), "moment", "moments"),
        relative: true,
        ..Read::default()
    };
    let mut sums = Sums::default();
    let (mut after, mut before): (u64, Option<u64>) = (0, None);
    for (index, report) in reports.iter().enumerate() {
        let seconds = match (before, report.clock) {
            (Some(before), Some(now)) => (now + 86_400 - before) % 86_400,
            _ => 1,
        };
        let seconds = seconds.clamp(1, 3600);
        before = report.clock;
        if index == 0 {
            // What the first interval is compared with.
            let base = disks(report, 0.0, &mut sums);
            read.push("disk", None, 0, base);
        }
        after += seconds * 1000;
        let readings = disks(report, seconds as f64, &mut sums);
        read.push("disk", None, after, readings);
        read.push("cpu", None, after, processors_of(&report.processors));
    }
    read
}

/// `11/21/2026 06:25:01 AM`, `2026-11-21T06:25:01+0000`.
fn second_of_day(text: &str) -> Option<u64> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) || text.len() > 40 {
        return None;
    }
    let (_, rest) = text.split_once([' ', 'T'])?;
    let bare = rest.get(..8)?;
    let suffix = rest.get(8..).unwrap_or_default();
    let suffix = suffix.trim();
    let text = format!("{bare} {suffix} ");
    times::clock(&text).map(|(second, _)| second)
}

/// What the disks did in so many seconds, as counters.
fn disks(report: &Report<'_>, seconds: f64, sums: &mut Sums) -> Vec<Reading> {
    let disks = report.disks.iter();
    disks
        .flat_map(|(disk, row)| sums.disk(disk, seconds, |names| report.head.cell(row, names)))
        .collect()
}

/// `%user %nice %system %iowait %steal %idle`.
fn processors_of(values: &[f64]) -> Vec<Reading> {
    let [user, nice, system, iowait, steal, _] = values else {
        return Vec::new();
    };
    let user = user + nice;
    shares(Some(user), Some(*system), Some(*iowait), Some(*steal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn reports_become_counters_that_begin_at_nothing() {
        let report = |writes: &str| {
            format!(
                "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util\n\
                 vda              1.00      8.00     0.00   0.00    2.00     4.00   {writes}   400.00     0.00   0.00    5.00     4.00    0.50  50.00\n\n"
            )
        };
        let text = format!(
            "Linux 6.1.0 (db1) \t11/21/2026 \t_x86_64_\t(2 CPU)\n\n{}{}{}",
            report("999.00"),
            report("100.00"),
            report("200,00")
        );
        let read = read(&clean::lines(&text));
        let writes = read.points("disk.vda.writes");
        assert_eq!(writes, [(0, 0.0), (1000, 100.0), (2000, 300.0)]);
        let busy = read.points("disk.vda.busy_ms");
        assert_eq!(busy.last(), Some(&(2000, 1000.0)));
        assert_eq!(
            read.points("disk.vda.write_ms").last(),
            Some(&(2000, 1500.0))
        );
        assert_eq!(read.points("disk.vda.in_flight")[1].1, 0.5);
    }

    #[test]
    fn freebsd_in_two_forms() {
        let head = "device       r/s     w/s     kr/s     kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b";
        let report = |writes: &str| {
            format!(
                "                        extended device statistics  \n{head}\nda0          201      {writes}   7201.8   5448.0     5    30     0    13    1  98 \ncd0            0       0      0.0      0.0     0     0     0     0    0   0 \n"
            )
        };
        let text = [report("7"), report("98"), report("100")].concat();
        let read_ = read(&clean::lines(&text));
        assert_eq!(
            read_.points("disk.da0.writes"),
            [(0, 0.0), (1000, 98.0), (2000, 198.0)]
        );
        assert_eq!(read_.points("disk.da0.write_ms")[1].1, 2940.0);
        assert_eq!(read_.points("disk.da0.busy_ms")[1].1, 980.0);
        assert_eq!(read_.points("disk.da0.in_flight")[1].1, 1.0);
        let old = "device     r/s   w/s     kr/s     kw/s qlen svc_t  %b\nad4      10.0  20.0    160.0    640.0    3   4.0  12\n";
        let read_ = read(&clean::lines(old));
        assert_eq!(read_.points("disk.ad4.read_ms")[1].1, 40.0);
        assert_eq!(read_.points("disk.ad4.write_bytes")[1].1, 655_360.0);
    }

    #[test]
    fn solaris_has_the_device_last() {
        let text = "                    extended device statistics              \n    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n    1.0   10.0    8.0  640.0  0.5  2.0    5.0   20.0  50 100 c0t0d0\n    0.0    0.0    0.0    0.0  0.0  0.0    0.0    0.0   0   0 rpool/swap\n";
        let read = read(&clean::lines(text));
        assert_eq!(read.points("disk.c0t0d0.write_ms")[1].1, 250.0);
        assert_eq!(read.points("disk.c0t0d0.in_flight")[1].1, 2.5);
        assert_eq!(read.points("disk.c0t0d0.busy_ms")[1].1, 1000.0);
    }

    #[test]
    fn times_and_old_columns() {
        let report = |time: &str| {
            format!(
                "{time}\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           5.00    0.00   80.00    1.00    0.00   14.00\n\nDevice:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\nsda 0.00 0.00 10.00 10.00 16.00 32.00 8.00 3.00 4.00 1.00 10.00\n\n"
            )
        };
        let text = [
            report("11/21/2026 11:59:50 PM"),
            report("11/21/2026 11:59:55 PM"),
            report("11/22/2026 12:00:05 AM"),
        ]
        .concat();
        let read = read(&clean::lines(&text));
        let reads = read.points("disk.sda.reads");
        assert_eq!(reads, [(0, 0.0), (1000, 10.0), (11_000, 110.0)]);
        assert_eq!(read.points("disk.sda.write_bytes")[1].1, 16_384.0);
        assert_eq!(
            read.points("cpu.system_share"),
            [(1000, 0.8), (11_000, 0.8)]
        );
    }
}
