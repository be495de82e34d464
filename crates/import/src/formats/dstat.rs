//! `dstat` and its successor `dool`: tables of a second a row, their groups of columns parted by bars, and numbers with units.

use model::Unit;

use crate::columns::{Column, Sums, level, number, rate, shares, without_mean};
use crate::format::{Format, Group, Recogniser};
use crate::line::Line;
use crate::read::Read;

pub(crate) static FORMAT: Format = Format {
    id: "dstat",
    group: Group::Host,
    name: "dstat output",
    printed_by: "dstat, dool",
    content: "processors, run queue, context switches, swapping",
    recognisers: &[Recogniser::new(280, "-ut", 0, |at| {
        is_title(at.text) || dstat_columns(at.text).is_some()
    })],
    continues: |_, next| is_dstat_row(next.text),
    preference: 20,
    read,
    ..Format::NONE
};

/// The names of the columns, group by group: `usr sys idl wai hiq siq| read  writ|  in   out | int   csw`.
fn dstat_columns(text: &str) -> Option<Vec<Vec<&str>>> {
    if !text.contains("usr sys idl") {
        return None;
    }
    let groups = text.split('|');
    Some(
        groups
            .map(|group| group.split_whitespace().collect())
            .collect(),
    )
}

/// The line above the columns: `----total-cpu-usage---- -dsk/total- …`.
fn is_title(text: &str) -> bool {
    text.starts_with("--") && text.contains("cpu-usage--")
}

/// A row: values parted by blanks, and bars between groups.
fn is_dstat_row(text: &str) -> bool {
    let is_time = |word: &str| {
        word.bytes()
            .all(|byte| byte.is_ascii_digit() || b"-:".contains(&byte))
    };
    let mut words = text.split(['|', ' ']).filter(|word| !word.is_empty());
    text.contains('|')
        && text.starts_with(|c: char| c.is_ascii_digit())
        && words.all(|word| dstat_value(word).is_some() || is_time(word))
}

/// `14k`, `3.1M`, `120B`, `7`: decimal prefixes of 1000 stand for counts, of 1024 for bytes; the difference is not told.
fn dstat_value(word: &str) -> Option<f64> {
    let digits = word.trim_end_matches(['B', 'k', 'M', 'G']);
    let unit = match word.get(digits.len()..)? {
        "" | "B" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    Some(number(digits)? * unit)
}

/// Bytes of a page of memory.
const PAGE: f64 = 4096.0;

const COLUMNS: [Column; 5] = [
    level("run", "cpu.procs_running", Unit::Count, 1.0),
    level("blk", "cpu.procs_blocked", Unit::Count, 1.0),
    rate("in", "vmstat.pswpin", 1.0 / PAGE),
    rate("out", "vmstat.pswpout", 1.0 / PAGE),
    rate("csw", "cpu.context_switches", 1.0),
];

/// The first row is the mean since the start of the machine and is left out when others follow.
fn read(lines: &[Line<'_>]) -> Read {
    let mut columns: Vec<Vec<&str>> = Vec::new();
    let mut rows: Vec<Vec<(&str, f64)>> = Vec::new();
    for line in lines {
        let text = line.trimmed();
        if let Some(head) = dstat_columns(text) {
            columns = head;
        } else if let Some(row) = row_of(&columns, text) {
            rows.push(row);
        }
    }
    let mut begin = without_mean(&mut rows);
    let mut read = Read {
        relative: true,
        ..Read::default()
    };
    let mut sums = Sums::default();
    let mut timestamps = Vec::with_capacity(rows.len() + 1);
    for row in &rows {
        let value = |name: &str| {
            let mut cells = row.iter();
            cells
                .find(|(column, _)| *column == name)
                .map(|(_, value)| *value)
        };
        if begin.take().is_some() {
            timestamps.push((None, sums.begin(&COLUMNS, value)));
        }
        let mut readings = shares(value("usr"), value("sys"), value("wai"), value("stl"));
        readings.extend(sums.readings(&COLUMNS, 1.0, value));
        timestamps.push((None, readings));
    }
    read.push_each("cpu", timestamps);
    read
}

/// The values of a row by their columns, those of the group of processors first: elsewhere names come again.
fn row_of<'a>(columns: &[Vec<&'a str>], text: &str) -> Option<Vec<(&'a str, f64)>> {
    let groups: Vec<&str> = text.split('|').collect();
    if columns.is_empty() || groups.len() < columns.len() {
        return None;
    }
    let mut row = Vec::new();
    for (names, group) in columns.iter().zip(groups) {
        let values: Vec<f64> = group.split_whitespace().filter_map(dstat_value).collect();
        // The group of the time has words of its own.
        if values.len() == names.len() {
            row.extend(names.iter().copied().zip(values));
        }
    }
    row.iter().any(|(name, _)| *name == "sys").then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn rows_and_values() {
        assert_eq!(dstat_value("14k"), Some(14_000.0));
        assert_eq!(dstat_value("120B"), Some(120.0));
        assert_eq!(dstat_value("3.5M"), Some(3_500_000.0));
        for word in ["k", "1kk", "soon", ""] {
            assert_eq!(dstat_value(word), None, "{word}");
        }
        assert!(is_dstat_row("9   2  89   0   0   0|  14k  151k|   0     0"));
        assert!(is_dstat_row("23-11 10:11:12|  9   2  89|2133  3210"));
        for text in ["9 2 89", "| 9 | app |", "9|it was so|"] {
            assert!(!is_dstat_row(text), "{text}");
        }
    }

    #[test]
    fn rows_by_their_groups() {
        let text = "----system---- ----total-cpu-usage---- -dsk/total- ---paging-- ---system-- ---procs---\n\
            \x20    time     |usr sys idl wai hiq siq| read  writ|  in   out | int   csw |run blk new\n\
            23-11 10:11:12|  9   2  89   0   0   0|  14k  151k|   0     0 |2133  3210 |  0   0   1\n\
            23-11 10:11:13|  1  88  11   0   0   0|   0   120k|  40k    0 |  21k   88k| 12 3.0   0\n\
            23-11 10:11:14|  1  90   9   0   0   0|   0     0 |   0     0 |  22k   90k| 14   1   0\n";
        let capture = read(&clean::lines(text));
        assert_eq!(capture.values("cpu.system_share"), [0.88, 0.9]);
        assert_eq!(capture.values("cpu.context_switches"), [88e3, 178e3]);
        assert_eq!(capture.values("vmstat.pswpin"), [40e3 / PAGE, 40e3 / PAGE]);
        assert_eq!(capture.values("cpu.procs_blocked"), [3.0, 1.0]);
        assert_eq!(capture.points("cpu.user_share"), [(0, 0.01), (1000, 0.01)]);
    }

    #[test]
    fn swap_without_processors_is_not_read_as_them() {
        let capture = read(&clean::lines("usr sys idl\n 1 2\n x | y\n"));
        assert!(capture.ticks.is_empty());
    }
}
