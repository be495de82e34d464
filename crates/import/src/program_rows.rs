//! Rows of pidstat: which program kept how many processors busy.

use std::collections::BTreeMap;

use model::{Reading, Unit};

use crate::columns::{Head, is_server_program, is_whole, number, plain};

/// Programs of one print that are kept, as of top.
const PROGRAMS_MAX: usize = 200;

/// What the parts of a row may differ by from its sum, in percent of a processor: each is rounded.
const ROUNDED: f64 = 0.1;

/// Processors by program, of each moment, in milliseconds.
#[derive(Default)]
pub(crate) struct Programs(BTreeMap<u64, BTreeMap<String, f64>>);

impl Programs {
    pub(crate) fn add(&mut self, after: u64, program: &str, cpus: f64) {
        let print = self.0.entry(after).or_default();
        let name = plain(program, 40, "_-");
        if cpus > 0.0 && (print.len() < PROGRAMS_MAX || print.contains_key(&name)) {
            *print.entry(name).or_default() += cpus;
        }
    }

    /// The signals that top's print becomes, by moment.
    pub(crate) fn readings(self) -> impl Iterator<Item = (u64, Vec<Reading>)> {
        self.0.into_iter().map(|(after, print)| {
            let servers = print.iter().filter(|(name, _)| is_server_program(name));
            let server = servers
                .map(|(_, cpus)| *cpus)
                .reduce(|one, other| one + other);
            let gauge = |name: String, cpus: f64| Reading::gauge(name, Unit::Count, cpus);
            let mut readings: Vec<Reading> = Vec::new();
            readings.extend(server.map(|cpus| gauge("process.cpus".to_owned(), cpus)));
            let all = print.into_iter();
            readings.extend(all.map(|(name, cpus)| gauge(format!("top.{name}.cpus"), cpus)));
            (after, readings)
        })
    }
}

/// The program of a row and the processors that it used: below its head, or without one. Who sorts the rows has none.
pub(crate) fn program<'a>(head: &Head<'_>, words: &[&'a str]) -> Option<(&'a str, f64)> {
    if !head.has("PID") || !head.has("%CPU") {
        return headless(words);
    }
    let share = head.cell(words, &["%CPU"]).and_then(number)?;
    let program = head.cell(words, &["Command"])?;
    Some((program, share / 100.0))
}

/// `110 28114 1290.20 31.40 0.00 4.10 1321.60 7 zstd`: the parts are the sum. Older ones have no time of waiting.
fn headless<'a>(words: &[&'a str]) -> Option<(&'a str, f64)> {
    let (user, pid, parts, all, cpu, program) = match words {
        [user, pid, usr, system, guest, _, all, cpu, program, ..] if is_cpu(cpu) => {
            (user, pid, [usr, system, guest], all, cpu, program)
        }
        [user, pid, usr, system, guest, all, cpu, program, ..] => {
            (user, pid, [usr, system, guest], all, cpu, program)
        }
        _ => return None,
    };
    let sum: f64 = parts.into_iter().filter_map(|part| number(part)).sum();
    let all = number(all)?;
    let is_row = is_whole(user)
        && is_whole(pid)
        && is_cpu(cpu)
        && (sum - all).abs() <= ROUNDED
        && number(program).is_none();
    is_row.then_some((*program, all / 100.0))
}

/// The processor that it ran on last.
fn is_cpu(word: &str) -> bool {
    word == "-" || is_whole(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(row: &str) -> Option<(&str, f64)> {
        let words: Vec<&str> = row.split_whitespace().collect();
        program(&Head::default(), &words)
    }

    #[test]
    fn a_row_is_known_by_its_sum() {
        let new = of("110 28114 1290.20 31.40 0.00 4.10 1321.60 7 zstd");
        assert_eq!(new, Some(("zstd", 13.216)));
        assert_eq!(
            of("110 28114 9.20 0.40 0.00 9.60 7 mysqld"),
            Some(("mysqld", 0.096))
        );
        for other in [
            "110 28114 1290.20 31.40 0.00 4.10 12.60 7 zstd",
            "all 5.00 0.00 80.00 1.00 0.00 2.00 3.00 0.00 0.00 9.00",
            "0 9.00 82.00 6.00 0.00 0.00 1.00 0.00 0.00 0.00 2.00",
            "22011200 110112033 83.34 120112 20112033 101120334 61.20 5 6 7",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
