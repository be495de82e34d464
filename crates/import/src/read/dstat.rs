//! `dstat` and its successor `dool`: tables of a second a row, their groups of columns parted by bars.

use model::{Reading, Unit};

use super::tools::{Sums, shares};
use super::{Read, Tick, counted};
use crate::clean::Line;
use crate::kind::{dstat_columns, dstat_value};

/// Bytes of a page of memory.
const PAGE: f64 = 4096.0;

/// The first row is the mean since the start of the machine and is left out when others follow.
pub(super) fn read(lines: &[Line<'_>]) -> Read {
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
    if rows.len() > 1 {
        rows.remove(0);
    }
    let mut read = Read {
        brought: counted(rows.len(), "moment", "moments"),
        relative: true,
        ..Read::default()
    };
    let mut sums = Sums::default();
    for (after, row) in (0..).step_by(1000).zip(&rows) {
        let readings = readings(row, &mut sums);
        if !readings.is_empty() {
            read.ticks.push(Tick {
                source: "cpu",
                at: None,
                after,
                readings,
            });
        }
    }
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

fn readings(row: &[(&str, f64)], sums: &mut Sums) -> Vec<Reading> {
    let value = |name: &str| {
        let found = row.iter().find(|(column, _)| *column == name);
        found.map(|(_, value)| *value)
    };
    let mut readings = shares(value("usr"), value("sys"), value("wai"), value("stl"));
    for (name, level) in [
        ("cpu.procs_running", value("run")),
        ("cpu.procs_blocked", value("blk")),
    ] {
        readings.extend(level.map(|level| Reading::gauge(name, Unit::Count, level)));
    }
    for (name, grown) in [
        ("vmstat.pswpin", value("in").map(|bytes| bytes / PAGE)),
        ("vmstat.pswpout", value("out").map(|bytes| bytes / PAGE)),
        ("cpu.context_switches", value("csw")),
    ] {
        sums.add(&mut readings, name, grown);
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn rows_by_their_groups() {
        let text = "----system---- ----total-cpu-usage---- -dsk/total- ---paging-- ---system-- ---procs---\n\
            \x20    time     |usr sys idl wai hiq siq| read  writ|  in   out | int   csw |run blk new\n\
            23-11 10:11:12|  9   2  89   0   0   0|  14k  151k|   0     0 |2133  3210 |  0   0   1\n\
            23-11 10:11:13|  1  88  11   0   0   0|   0   120k|  40k    0 |  21k   88k| 12 3.0   0\n\
            23-11 10:11:14|  1  90   9   0   0   0|   0     0 |   0     0 |  22k   90k| 14   1   0\n";
        let told = read(&clean::lines(text));
        assert_eq!(told.values("cpu.system_share"), [0.88, 0.9]);
        assert_eq!(told.values("cpu.context_switches"), [88e3, 178e3]);
        assert_eq!(told.values("vmstat.pswpin"), [40e3 / PAGE, 40e3 / PAGE]);
        assert_eq!(told.values("cpu.procs_blocked"), [3.0, 1.0]);
        assert_eq!(told.points("cpu.user_share"), [(0, 0.01), (1000, 0.01)]);
    }

    #[test]
    fn swap_without_processors_is_not_read_as_them() {
        let told = read(&clean::lines("usr sys idl\n 1 2\n x | y\n"));
        assert!(told.ticks.is_empty());
    }
}
