//! `vmstat 1`: what processors, memory and swap did from row to row.

use model::Unit;

use crate::columns::{Column, Head, Sums, level, rate, shares, without_mean};
use crate::format::{Format, Gap, Group, Recogniser};
use crate::line::Line;
use crate::read::{Read, TIMESTAMPS_MAX};
use crate::times;

pub(crate) static FORMAT: Format = Format {
    id: "vmstat",
    group: Group::Host,
    name: "vmstat output",
    printed_by: "vmstat, in any language",
    content: "processors, run queue, context switches, swapping",
    recognisers: &[Recogniser::new(330, "pr", 0, |at| {
        is_vmstat_header(at.text)
    })],
    continues: |_, next| is_row(next.text),
    absorbs: |_, next| is_row(next.text),
    gap: Gap::Lines(3),
    preference: 5,
    read,
    ..Format::NONE
};

fn is_vmstat_header(text: &str) -> bool {
    text.starts_with("procs -")
        || (text.starts_with("r ") && text.contains(" swpd ") && text.contains(" cs "))
}

/// Numbers, with `-` for those that nobody recorded.
fn is_row(text: &str) -> bool {
    let mut has_number = false;
    let mut words = text.split_whitespace();
    words.all(|word| {
        let is_number = word.parse::<f64>().is_ok();
        has_number |= is_number;
        is_number || word == "-"
    }) && has_number
}

const COLUMNS: [Column; 5] = [
    level("r", "cpu.procs_running", Unit::Count, 1.0),
    level("b", "cpu.procs_blocked", Unit::Count, 1.0),
    // Kilobytes a second, as pages of 4 KiB.
    rate("si", "vmstat.pswpin", 0.25),
    rate("so", "vmstat.pswpout", 0.25),
    rate("cs", "cpu.context_switches", 1.0),
];

/// `vmstat 1`: the first row is the mean since the start and is left out when others follow.
fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read {
        relative: true,
        ..Read::default()
    };
    let mut head = Head::default();
    let mut rows: Vec<(Option<i64>, &str)> = Vec::new();
    let mut at = None;
    for line in lines {
        let text = line.trimmed();
        let columns = head.0.len().min(13);
        if let Some(timestamp) = times::ts(text) {
            at = Some(timestamp);
        } else if text.starts_with("r ") {
            head = Head::parse(text);
        } else if columns > 0 && is_row(text) && text.split_whitespace().count() >= columns {
            rows.push((at.take(), text));
        }
    }
    let mut begin = without_mean(&mut rows);
    read.keep_newest(&mut rows, TIMESTAMPS_MAX);
    let mut sums = Sums::default();
    let mut timestamps = Vec::with_capacity(rows.len() + 1);
    for (at, text) in rows {
        let words = text.split_whitespace().map(|word| word.parse().ok());
        let row: Vec<Option<f64>> = words.collect();
        let value = |name: &str| head.cell(&row, &[name]).flatten();
        if let Some((began, _)) = begin.take() {
            timestamps.push((began, sums.begin(&COLUMNS, value)));
        }
        let mut readings = shares(value("us"), value("sy"), value("wa"), value("st"));
        readings.extend(sums.readings(&COLUMNS, 1.0, value));
        timestamps.push((at, readings));
    }
    read.push_each("cpu", timestamps);
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn of_a_log_of_weeks_the_newest_moments_are_kept() {
        let mut text = String::from(
            " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n",
        );
        for number in 0..TIMESTAMPS_MAX + 6 {
            text.push_str(&format!("{number} 0 0 1 1 1 0 0 0 0 0 7 1 2 97 0 0\n"));
        }
        let read = read(&clean::lines(&text));
        let running = read.values("cpu.procs_running");
        assert_eq!((running.len(), running[0]), (TIMESTAMPS_MAX, 6.0));
        assert_eq!(read.skipped, [(0, "5 older moments".into())]);
    }

    #[test]
    fn a_column_that_nobody_recorded_is_no_number() {
        let read = read(&clean::lines(
            " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n\
             - - - - - - 8 4 - - - - 10 80 - 5 -\n - - - - - - 8 4 - - - - 10 80 - 5 -\n",
        ));
        assert_eq!(read.values("vmstat.pswpin"), [0.0, 2.0]);
        assert_eq!(read.values("cpu.system_share"), [0.8]);
        assert_eq!(read.values("cpu.context_switches"), [0.0; 0]);
    }

    #[test]
    fn of_two_rows_the_second_is_what_happened_since_the_first() {
        let text = "procs ---memory---\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n\
             2 21 2096620 70112 1012 55120 61 58 61120 6120 4120 8810  4 22 0 74 0\n\
             1 24 2096812 69840  988 54988 7044 6100 70011 6400 4402 9012  3 25 0 72 0\n";
        let read = read(&clean::lines(text));
        assert_eq!(read.values("vmstat.pswpin"), [0.0, 1761.0]);
        assert_eq!(read.values("vmstat.pswpout"), [0.0, 1525.0]);
        // Levels and shares are those of the second alone.
        assert_eq!(read.values("cpu.procs_blocked"), [24.0]);
        assert_eq!(read.values("cpu.system_share"), [0.25]);
    }

    #[test]
    fn rows_of_vmstat() {
        let read = read(&clean::lines(
            "procs ---memory---\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n\
             1 0 0 1 1 1 0 0 0 0 5 9 1 1 98 0 0\n 9 2 0 1 1 1 8 0 0 0 5 70 10 80 5 5 0\n 9 2 0 1 1 1 8 0 0 0 5 30 10 80 5 5 0\n",
        ));
        assert_eq!(read.values("cpu.system_share"), [0.8, 0.8]);
        assert_eq!(read.values("vmstat.pswpin"), [2.0, 4.0]);
        assert_eq!(read.values("cpu.context_switches"), [70.0, 100.0]);
    }
}
