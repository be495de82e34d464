//! vmstat and top, as people paste them.

use model::{Reading, Unit};

use super::{MOMENTS_MAX, Read, Tick, counted};
use crate::clean::Line;
use crate::kind::{TOP, is_top_row, number};
use crate::line::is_numbers;
use crate::times;

/// Processes of one print of top that are kept.
const PROCESSES_MAX: usize = 200;

/// `vmstat 1`: the first row is the mean since the start and is left out when others follow.
pub(super) fn vmstat(lines: &[Line<'_>]) -> Read {
    let mut read = Read {
        relative: true,
        ..Read::default()
    };
    let mut columns: Vec<&str> = Vec::new();
    let mut rows: Vec<(Option<i64>, &str)> = Vec::new();
    let mut at = None;
    for line in lines {
        let text = line.trimmed();
        if let Some(moment) = times::ts(text) {
            at = Some(moment);
        } else if text.starts_with("r ") {
            columns = text.split_whitespace().collect();
        } else if !columns.is_empty()
            && is_numbers(text)
            && text.split_whitespace().count() >= columns.len().min(13)
        {
            rows.push((at.take(), text));
        }
    }
    if rows.len() > 1 {
        rows.remove(0);
    }
    read.keep_newest(&mut rows, MOMENTS_MAX);
    read.brought = counted(rows.len(), "moment", "moments");
    let mut sums = Sums::default();
    for (index, (at, text)) in rows.iter().enumerate() {
        let values: Vec<f64> = text
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let value = |name: &str| {
            let index = columns.iter().position(|column| *column == name)?;
            values.get(index).copied()
        };
        let mut readings = shares(value("us"), value("sy"), value("wa"), value("st"));
        for (name, level) in [
            ("cpu.procs_running", value("r")),
            ("cpu.procs_blocked", value("b")),
        ] {
            readings.extend(level.map(|level| Reading::gauge(name, Unit::Count, level)));
        }
        // Kilobytes a second, as pages of 4 KiB.
        sums.add(
            &mut readings,
            "vmstat.pswpin",
            value("si").map(|kib| kib / 4.0),
        );
        sums.add(
            &mut readings,
            "vmstat.pswpout",
            value("so").map(|kib| kib / 4.0),
        );
        sums.add(&mut readings, "cpu.context_switches", value("cs"));
        read.ticks.push(Tick {
            source: "cpu",
            at: *at,
            after: index as u64 * 1000,
            readings,
        });
    }
    read
}

/// Counters made of what they grew by.
#[derive(Default)]
pub(super) struct Sums(std::collections::HashMap<&'static str, f64>);

impl Sums {
    pub(super) fn add(
        &mut self,
        readings: &mut Vec<Reading>,
        name: &'static str,
        grown: Option<f64>,
    ) {
        if let Some(grown) = grown {
            let sum = self.0.entry(name).or_insert(0.0);
            *sum += grown;
            readings.push(Reading::counter(name, Unit::Count, *sum));
        }
    }
}

/// `top -b`: shares of the processors, and which processes used them.
pub(super) fn top(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut readings: Vec<Reading> = Vec::new();
    let mut columns: Vec<String> = Vec::new();
    let mut shares: std::collections::BTreeMap<String, f64> = std::collections::BTreeMap::new();
    let mut prints: u64 = 0;
    let mut processes = 0_usize;
    let mut end = |readings: &mut Vec<Reading>,
                   shares: &mut std::collections::BTreeMap<String, f64>| {
        for (command, share) in std::mem::take(shares) {
            readings.push(Reading::gauge(
                format!("top.{command}.cpus"),
                Unit::Count,
                share,
            ));
        }
        if !readings.is_empty() {
            read.ticks.push(Tick {
                source: "top",
                at: None,
                after: prints * 1000,
                readings: std::mem::take(readings),
            });
            prints += 1;
        }
    };
    for line in lines {
        let text = line.trimmed();
        if text.starts_with("top - ") {
            end(&mut readings, &mut shares);
            columns.clear();
        } else if let Some(rest) = cpu_line(text) {
            readings.extend(cpu_shares(rest));
        } else if text.starts_with("PID ") {
            columns = text.split_whitespace().map(str::to_owned).collect();
        } else if !columns.is_empty() || is_top_row(text) {
            if columns.is_empty() {
                columns = TOP.map(str::to_owned).into();
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            let cell = |name: &str| {
                let index = columns.iter().position(|column| column == name)?;
                words.get(index).copied()
            };
            // In other languages it has another name, and is the last one.
            let last = || words.get(columns.len() - 1).copied();
            if let Some((command, share)) = cell("COMMAND")
                .or_else(last)
                .zip(cell("%CPU").and_then(number))
                && processes < PROCESSES_MAX
                && share > 0.0
            {
                processes += 1;
                *shares.entry(plain(command)).or_default() += share / 100.0;
            }
        }
    }
    end(&mut readings, &mut shares);
    read.brought = counted(
        processes,
        "process that used processors",
        "processes that used processors",
    );
    read
}

fn plain(command: &str) -> String {
    command
        .chars()
        .take(40)
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect()
}

/// What stands behind `%Cpu(s):`, in any writing.
fn cpu_line(text: &str) -> Option<&str> {
    let (name, rest) = text.split_once(':')?;
    (name.len() <= 12 && name.to_ascii_lowercase().contains("cpu(s)")).then_some(rest)
}

/// The times of the processors, in the order that all languages have.
const TIMES: [&str; 8] = ["us", "sy", "ni", "id", "wa", "hi", "si", "st"];

/// `12.0 us, 80.0 sy, …`, `12.0%us, 80.0%sy, …` and `12,0 be, 80,0 sy, …`.
fn cpu_shares(text: &str) -> Vec<Reading> {
    let parts: Vec<(Option<f64>, &str)> = parts(text)
        .map(|part| {
            let part = part.trim();
            let end = part.find(|c: char| !c.is_ascii_digit() && !".,".contains(c));
            let (value, name) = part.split_at(end.unwrap_or(part.len()));
            (number(value), name.trim_matches(['%', ' ']))
        })
        .collect();
    let is_english = parts.iter().any(|(_, name)| *name == "us");
    let share = |name: &str| {
        let is_it = |(place, part): &(usize, &(Option<f64>, &str))| match is_english {
            true => part.1 == name,
            false => TIMES.get(*place) == Some(&name),
        };
        parts
            .iter()
            .enumerate()
            .find(is_it)
            .and_then(|(_, part)| part.0)
    };
    shares(share("us"), share("sy"), share("wa"), share("st"))
}

/// What the processors did, of percents.
pub(super) fn shares(
    user: Option<f64>,
    system: Option<f64>,
    iowait: Option<f64>,
    steal: Option<f64>,
) -> Vec<Reading> {
    let busy = user.zip(system).map(|(user, system)| user + system);
    [
        ("cpu.user_share", user),
        ("cpu.system_share", system),
        ("cpu.busy_share", busy),
        ("cpu.iowait_share", iowait),
        ("cpu.steal_share", steal),
    ]
    .into_iter()
    .filter_map(|(name, share)| Some(Reading::gauge(name, Unit::Share, share? / 100.0)))
    .collect()
}

/// What stands between commas, but for those between the digits of a number.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_digit)
    };
    let ends = text
        .match_indices(',')
        .map(|(at, _)| at)
        .filter(move |at| !(is_digit(at.checked_sub(1)) && is_digit(Some(at + 1))))
        .chain([text.len()]);
    ends.scan(0, move |from, to| {
        let part = text.get(*from..to);
        *from = to + 1;
        part
    })
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
        for number in 0..MOMENTS_MAX + 6 {
            text.push_str(&format!("{number} 0 0 1 1 1 0 0 0 0 0 7 1 2 97 0 0\n"));
        }
        let read = vmstat(&clean::lines(&text));
        let running = read.values("cpu.procs_running");
        assert_eq!((running.len(), running[0]), (MOMENTS_MAX, 6.0));
        assert_eq!(read.skipped, [(0, "5 older moments".into())]);
    }

    #[test]
    fn rows_of_vmstat() {
        let read = vmstat(&clean::lines(
            "procs ---memory---\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n\
             1 0 0 1 1 1 0 0 0 0 5 9 1 1 98 0 0\n 9 2 0 1 1 1 8 0 0 0 5 70 10 80 5 5 0\n 9 2 0 1 1 1 8 0 0 0 5 30 10 80 5 5 0\n",
        ));
        assert_eq!(read.values("cpu.system_share"), [0.8, 0.8]);
        assert_eq!(read.values("vmstat.pswpin"), [2.0, 4.0]);
        assert_eq!(read.values("cpu.context_switches"), [70.0, 100.0]);
    }

    #[test]
    fn rows_of_top() {
        let read = top(&clean::lines(
            "top - 10:00:00 up\n%Cpu(s): 10.5 us, 80.0 sy,  0.0 ni\n  PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND\n   77 root 39 19 0 0 0 R 100.0 0.0 92:06.94 khugepaged\n",
        ));
        assert_eq!(read.values("cpu.system_share"), [0.8]);
        assert_eq!(read.values("top.khugepaged.cpus"), [1.0]);
        // `top -b | grep mysqld`.
        let read = top(&clean::lines(
            " 2211 mysql 20 0 21.0g 17.4g 12312 S 903.0 55.3 5312:11 mysqld\n",
        ));
        assert_eq!(read.values("top.mysqld.cpus"), [9.03]);
    }
}
