//! `top -b`: shares of the processors, and which processes used them.

use std::collections::BTreeMap;

use model::{Reading, Unit};

use crate::columns::{
    Head, first_words, is_process_state, is_process_time, is_server_program, is_share, is_whole,
    number, plain, shares,
};
use crate::format::{DIGITS, Format, Gap, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::{Read, counted};
use crate::times;

pub(crate) static FORMAT: Format = Format {
    id: "top",
    group: Group::Host,
    name: "top output",
    printed_by: "top, in any language (also rows without a head)",
    content: "processors, by program too",
    recognisers: &[
        Recogniser::new(250, "tP", 0, |at| is_top_header(at.text)),
        Recogniser::new(251, "%Cc", sign::COLON, |at| is_cpu_line(at.text)),
        Recogniser::new(270, DIGITS, sign::COLON, |at| is_top_row(at.text)),
    ],
    continues: |_, next| {
        is_top_line(next.text) || (next.own.is_none() && is_top_summary(next.text))
    },
    absorbs: |_, next| is_top_line(next.text),
    gap: Gap::Lines(3),
    preference: 6,
    is_inventory: true,
    read,
    ..Format::NONE
};

fn is_top_header(text: &str) -> bool {
    text.starts_with("top - ")
        || (text.starts_with("PID ")
            && text.contains("%CPU")
            && (text.contains("COMMAND") || text.contains(" PR ") && text.contains(" NI ")))
        || (text.starts_with("PID ") && text.contains("CPU%") && text.contains(" PRI "))
}

/// `%Cpu(s): 12.1 us,  3.0 sy, …`: of all that top prints many people show this line alone. lscpu's `CPU(s): 8` is none.
fn is_cpu_line(text: &str) -> bool {
    cpu_line(text).is_some_and(|rest| {
        let values =
            parts(rest).filter(|part| part.trim().starts_with(|c: char| c.is_ascii_digit()));
        values.count() >= 4 && !cpu_shares(rest).is_empty()
    })
}

/// The columns by their head; htop marks the one that it sorts by: `CPU%▽MEM%`.
fn head_of(text: &str) -> Head<'_> {
    let words = text.split(|c: char| c.is_whitespace() || "▽△".contains(c));
    Head(words.filter(|word| !word.is_empty()).collect())
}

/// The columns of top as it comes.
const TOP: [&str; 12] = [
    "PID", "USER", "PR", "NI", "VIRT", "RES", "SHR", "S", "%CPU", "%MEM", "TIME+", "COMMAND",
];

/// `2211 mysql 20 0 21.0g 17.4g 12312 S 903.0 55.3 5312:11 mysqld`.
pub(crate) fn is_top_row(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let Some(
        [
            pid,
            user,
            priority,
            nice,
            virtual_size,
            resident,
            shared,
            state,
            cpu,
            memory,
            time,
            _,
        ],
    ) = first_words(&mut words)
    else {
        return false;
    };
    is_whole(pid)
        && !is_whole(user)
        && (priority == "rt" || priority.parse::<i32>().is_ok())
        && nice.parse::<i32>().is_ok()
        && [virtual_size, resident, shared].into_iter().all(is_size)
        && state.len() == 1
        && is_process_state(state)
        && is_share(cpu)
        && is_share(memory)
        && is_process_time(time)
}

/// `12312`, `21.0g`, `1611M`.
fn is_size(word: &str) -> bool {
    let digits = word.trim_end_matches(['k', 'm', 'g', 't', 'p', 'K', 'M', 'G', 'T']);
    word.len() <= digits.len() + 1 && is_share(digits)
}

fn is_top_line(text: &str) -> bool {
    const STARTS: [&str; 9] = [
        "top - ", "Tasks:", "Threads:", "Cpu(s):", "%Cpu", "Mem:", "Swap:", "KiB ", "MiB ",
    ];
    STARTS.iter().any(|start| text.starts_with(start))
        || (text.split_whitespace().count() >= 11
            && text
                .split_whitespace()
                .next()
                .is_some_and(|pid| pid.parse::<u32>().is_ok()))
}

/// `Aufgaben: 213 gesamt,   1 laufend`: a name, and numbers with a word behind each.
fn is_top_summary(text: &str) -> bool {
    text.split_once(':').is_some_and(|(name, rest)| {
        name.chars().count() <= 12
            && rest.contains(',')
            && rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Processes of one print of top that are kept.
const PROCESSES_MAX: usize = 200;

/// Prints in which a server is ready to run, from which on that is a signal.
const READY_MIN: usize = 2;

/// `top -b`: shares of the processors, and which processes used them.
fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut readings: Vec<Reading> = Vec::new();
    let mut head = Head::default();
    let mut shares: BTreeMap<String, f64> = BTreeMap::new();
    let (mut after, mut before, mut is_first): (u64, Option<u64>, bool) = (0, None, true);
    let (mut processes, mut of_print) = (0_usize, 0_usize);
    let mut ready: BTreeMap<u64, bool> = BTreeMap::new();
    let mut end = |after, readings: &mut Vec<Reading>, shares: &mut BTreeMap<String, f64>| {
        let servers = shares.iter().filter(|(name, _)| is_server_program(name));
        if let Some(cpus) = servers
            .map(|(_, share)| *share)
            .reduce(|one, other| one + other)
        {
            readings.push(Reading::gauge("process.cpus", Unit::Count, cpus));
        }
        for (command, share) in std::mem::take(shares) {
            readings.push(Reading::gauge(
                format!("top.{command}.cpus"),
                Unit::Count,
                share,
            ));
        }
        read.push("top", None, after, std::mem::take(readings));
    };
    for line in lines {
        let text = line.trimmed();
        if text.starts_with("top - ") {
            end(after, &mut readings, &mut shares);
            let now = clock_of(text);
            let seconds = match (before, now) {
                (Some(before), Some(now)) => (now + 86_400 - before) % 86_400,
                _ => 1,
            };
            after += if is_first {
                0
            } else {
                seconds.clamp(1, 3600) * 1000
            };
            (before, is_first) = (now, false);
            head.0.clear();
            of_print = 0;
        } else if let Some(rest) = cpu_line(text) {
            readings.extend(cpu_shares(rest));
        } else if text.starts_with("PID ") {
            head = head_of(text);
        } else if !head.0.is_empty() || is_top_row(text) {
            if head.0.is_empty() {
                head.0 = TOP.into();
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            let command = head.cell(&words, &["COMMAND", "Command"]);
            // In other languages it has another name, and is the last one.
            let command = command.or_else(|| words.get(head.0.len() - 1).copied());
            // `/usr/sbin/mysqld`: which program it is, not where.
            let command = command.map(|command| match command.starts_with('/') {
                true => command.rsplit('/').next().unwrap_or(command),
                false => command,
            });
            // `MYSQL_PWD=… mysql`, `https://bot:…@host`: no name of a program has such a sign in it.
            let command = command.map(|command| {
                let end = ["=", "://", "@"]
                    .iter()
                    .filter_map(|sign| command.find(sign));
                end.min()
                    .and_then(|end| command.get(..end))
                    .unwrap_or(command)
            });
            let share = head.cell(&words, &["%CPU", "CPU%"]).and_then(number);
            if command.is_some_and(is_server_program)
                && let Some(state) = head.cell(&words, &["S"])
            {
                *ready.entry(after).or_default() |= state == "R";
            }
            if let Some((command, share)) = command.zip(share)
                && of_print < PROCESSES_MAX
                && share > 0.0
            {
                processes += 1;
                of_print += 1;
                *shares.entry(plain(command, 40, "_-")).or_default() += share / 100.0;
            }
        }
    }
    end(after, &mut readings, &mut shares);
    // A server that works is in R by chance; in two prints it says how much it waits for a processor.
    if ready.values().filter(|ready| **ready).count() >= READY_MIN {
        for (after, ready) in ready {
            let value = f64::from(u8::from(ready));
            let ready = Reading::gauge("process.ready_share", Unit::Share, value);
            read.push("top", None, after, vec![ready]);
        }
    }
    read.brought = counted(
        processes,
        "process that used processors",
        "processes that used processors",
    );
    read
}

/// The second of the day in `top - 10:00:03 up …`: how often it prints is an option, 3 s as it comes (top(1), `-d`).
fn clock_of(head: &str) -> Option<u64> {
    let (_, rest) = head.split_once(" - ")?;
    times::clock(rest).map(|(second, _)| second)
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
    fn the_line_of_the_processors_alone_is_told_from_what_others_print() {
        for line in [
            "%Cpu(s): 12.1 us,  3.0 sy,  0.0 ni,  9.9 id,  0.3 wa,  0.0 hi,  0.2 si, 74.5 st",
            "%Cpu(s): 12,1 us,  3,0 sy,  0,0 ni,  9,9 id,  0,3 wa,  0,0 hi,  0,2 si, 74,5 st",
            "Cpu(s): 12.1%us,  3.0%sy,  0.0%ni,  9.9%id,  0.3%wa,  0.0%hi,  0.2%si, 74.5%st",
        ] {
            assert!(is_cpu_line(line), "{line}");
            let bytes = line.as_bytes();
            let incident = crate::import(&[crate::Input { path: "x", bytes }]).incident;
            let steal = incident.is_some_and(|it| it.timeline.get("cpu.steal_share").is_some());
            assert!(steal, "{line}");
        }
        for line in [
            "CPU(s):              32",
            "CPU(s): 0-7,16-23",
            "Cpu(s): busy, as ever, all, day",
        ] {
            assert!(!is_cpu_line(line), "{line}");
        }
    }

    #[test]
    fn rows_of_top() {
        let capture = read(&clean::lines(
            "top - 10:00:00 up\n%Cpu(s): 10.5 us, 80.0 sy,  0.0 ni\n  PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND\n   62 root 39 19 0 0 0 R 100.0 0.0 41:17.08 khugepaged\n",
        ));
        assert_eq!(capture.values("cpu.system_share"), [0.8]);
        assert_eq!(capture.values("top.khugepaged.cpus"), [1.0]);
        // How far apart prints are is what their heads say.
        let print =
            |clock: &str, share: &str| format!("top - {clock} up\n%Cpu(s): {share} us, 1.0 sy\n");
        let text =
            print("23:59:58", "10.0") + &print("00:00:01", "20.0") + &print("00:00:04", "30.0");
        let prints = read(&clean::lines(&text));
        let after: Vec<u64> = prints.ticks.iter().map(|tick| tick.after).collect();
        assert_eq!(after, [0, 3000, 6000]);
        // `top -b | grep mysqld`.
        let capture = read(&clean::lines(
            " 2211 mysql 20 0 21.0g 17.4g 12312 S 903.0 55.3 5312:11 mysqld\n",
        ));
        assert_eq!(capture.values("top.mysqld.cpus"), [9.03]);
        assert_eq!(capture.values("process.cpus"), [9.03]);
    }

    #[test]
    fn a_server_that_is_ready_in_two_prints() {
        let print = |states: &[&str]| {
            let prints = states.iter().enumerate().map(|(at, state)| {
                format!(
                    "top - 10:00:0{at} up\n%Cpu(s): 6.0 us, 1.0 sy\n  PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND\n\
                     25438 mysql 20 0 8g 132232 23704 {state} 10.0 0.5 0:02.13 mariadbd\n"
                )
            });
            prints.collect::<String>()
        };
        let values =
            |states: &[&str]| read(&clean::lines(&print(states))).values("process.ready_share");
        assert_eq!(values(&["R", "S", "R"]), [1.0, 0.0, 1.0]);
        assert!(values(&["S", "R", "S"]).is_empty());
    }

    #[test]
    fn rows_of_htop_and_programs_with_their_paths() {
        let rows = "  PID USER      PRI  NI  VIRT   RES   SHR S CPU%▽MEM%   TIME+  Command\n\
            812 root       20   0  412M  311M  9912 R 101.0 31.0  7:12.11 /usr/bin/gzip -9 dump.sql\n\
            4711 mysql      20   0 21.3G 17.4G 12312 S  3.0 55.3 99:11.02 /usr/sbin/mariadbd\n";
        let capture = read(&clean::lines(rows));
        assert_eq!(capture.values("top.gzip.cpus"), [1.01]);
        assert_eq!(capture.values("process.cpus"), [0.03]);
        let row = "812 root 20 0 412M 311M 9912 R 101.0 31.0 7:12.11 /usr/sbin/mysqld --user=mysql";
        assert!(is_top_row(row));
        let capture = read(&clean::lines(row));
        assert_eq!(capture.values("process.cpus"), [1.01]);
        let row = row.replace("/usr/sbin/mysqld --user=mysql", "MYSQL_PWD=hunter2 mysql");
        assert_eq!(
            read(&clean::lines(&row)).values("top.MYSQL_PWD.cpus"),
            [1.01]
        );
        let row = row.replace("MYSQL_PWD=hunter2 mysql", "https://bot:hunter2@h/");
        let read = read(&clean::lines(&row));
        assert_eq!(read.values("top.https.cpus"), [1.01]);
    }
}
