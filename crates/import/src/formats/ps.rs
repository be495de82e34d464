//! `ps`: processes, or their threads, in the columns that somebody asked for; also rows whose head was cut off, as `ps aux | grep mysqld` does.

use std::collections::{BTreeMap, BTreeSet};

use model::{Reading, Unit};

use crate::columns::{
    first_words, is_process_state, is_process_time, is_server_program, is_share, is_whole,
};
use crate::format::{Format, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::{Read, counted};

pub(crate) static FORMAT: Format = Format {
    id: "ps",
    group: Group::Host,
    name: "ps output",
    printed_by: "ps (any columns, threads; also rows without a head)",
    content: "the server's memory; with one row per thread, how many are in uninterruptible sleep",
    // Before top, whose table has columns that ps has not.
    recognisers: &[
        Recogniser::new(240, "UPTLSEFNRCW%", 0, |at| is_ps_header(at.text)),
        Recogniser::new(260, "", sign::COLON | sign::DIGIT, |at| {
            is_ps_aux_row(at.text)
        }),
    ],
    continues: |_, next| is_ps_row(next.text),
    is_inventory: true,
    preference: 16,
    read,
    ..Format::NONE
};

/// Columns of ps that number what a row is of.
const PS_NUMBERS: [&str; 5] = ["PID", "TID", "LWP", "SPID", "TGID"];

/// Columns of ps that name the program.
const PS_COMMANDS: [&str; 3] = ["CMD", "COMMAND", "COMM"];

/// The other columns of ps(1), by their heads; those of `-o` may be asked for in any order.
const PS_COLUMNS: [&str; 45] = [
    "UID", "USER", "EUSER", "RUSER", "EUID", "RUID", "GROUP", "PPID", "PGID", "PGRP", "SID",
    "SESS", "TPGID", "NLWP", "THCNT", "S", "STAT", "F", "C", "CP", "%CPU", "%MEM", "PRI", "NI",
    "CLS", "RTPRIO", "PSR", "P", "ADDR", "SZ", "SIZE", "VSZ", "RSS", "RSZ", "MINFL", "MAJFL",
    "WCHAN", "TT", "TTY", "TIME", "STIME", "START", "STARTED", "ELAPSED", "CGROUP",
];

/// `UID PID PPID C SZ RSS PSR STIME TTY TIME CMD`, `USER PID %CPU %MEM VSZ RSS …`, and what was asked
/// for by name: `PID VSZ COMMAND`.
fn is_ps_header(text: &str) -> bool {
    let has = |names: &[&str]| text.split_whitespace().any(|word| names.contains(&word));
    if !has(&PS_NUMBERS) || !has(&PS_COMMANDS) {
        return false;
    }
    let mut words = text.split_whitespace();
    let known = [&PS_NUMBERS[..], &PS_COMMANDS[..], &PS_COLUMNS[..]];
    let is_known = |word: &str| known.iter().any(|names| names.contains(&word));
    let begins = |text: &str| {
        let mut words = text.split_whitespace();
        matches!(words.next(), Some("UID" | "USER")) && words.next() == Some("PID")
    };
    words.clone().count() >= 3 && (begins(text) || words.all(is_known))
}

/// A process: its user, then its number; or its number, then its size.
fn is_ps_row(text: &str) -> bool {
    let is_number = |word: Option<&str>| word.is_some_and(|word| word.parse::<u64>().is_ok());
    let mut words = text.split_whitespace();
    let count = words.clone().count();
    let (first, second) = (is_number(words.next()), is_number(words.next()));
    let sizes = second && (count >= 6 || (first && count >= 3 && !is_number(words.next())));
    // `41844 91.3 85.2 13667636 mysqld`: shares before the size.
    let is_decimal = |word: &str| is_share(word) && word.contains(['.', ',']);
    let mut words = text.split_whitespace();
    let shares = first
        && count >= 4
        && words.nth(1).is_some_and(is_decimal)
        && words
            .next()
            .is_some_and(|word| is_decimal(word) || is_whole(word));
    // With other columns only the process's state tells: `1234 Ssl 0.3 mysqld`.
    sizes
        || shares
        || (count >= 3
            && text.split_whitespace().take(6).any(is_process_state)
            && text
                .split_whitespace()
                .take(4)
                .any(|word| is_number(Some(word))))
}

/// The columns of `ps aux`.
const PS_AUX: [&str; 11] = [
    "USER", "PID", "%CPU", "%MEM", "VSZ", "RSS", "TTY", "STAT", "START", "TIME", "COMMAND",
];

/// `mysql 2211 903 55.3 21983732 18212312 ? Sl Jul12 5312:11 /usr/sbin/mysqld`.
fn is_ps_aux_row(text: &str) -> bool {
    // A program's name or path stands where lists of other things have what is no number.
    let mut words = text.split_ascii_whitespace();
    if !words.clone().nth(1).is_some_and(is_whole) {
        return false;
    }
    let Some(
        [
            user,
            pid,
            cpu,
            memory,
            virtual_size,
            resident,
            tty,
            state,
            _,
            time,
            _,
        ],
    ) = first_words(&mut words)
    else {
        return false;
    };
    !is_whole(user)
        && is_whole(pid)
        && is_share(cpu)
        && is_share(memory)
        && [cpu, memory].iter().any(|share| share.contains(['.', ',']))
        && is_whole(virtual_size)
        && is_whole(resident)
        && is_terminal(tty)
        && is_process_state(state)
        && is_process_time(time)
}

/// Linux: `?`, `pts/0`, `tty1`. macOS: `??`, `s001`. FreeBSD: `-`, `v0`.
fn is_terminal(word: &str) -> bool {
    let short = word.trim_start_matches(['s', 'v']);
    matches!(word, "?" | "??" | "-")
        || word.starts_with("pts/")
        || word.starts_with("tty")
        || (short.len() < word.len() && is_whole(short))
}

/// `ps`: the server's memory; with a row a thread (`-L`) also how many of its threads cannot be interrupted.
fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut columns: Vec<&str> = Vec::new();
    let mut rows = 0_usize;
    let mut resident: Option<f64> = None;
    let mut threads = Threads::default();
    let mut servers: BTreeSet<&str> = BTreeSet::new();
    for line in lines {
        let text = line.trimmed();
        let words: Vec<&str> = text.split_whitespace().collect();
        if is_ps_header(text) {
            columns = words;
            continue;
        }
        if columns.is_empty() && is_ps_aux_row(text) {
            columns = PS_AUX.into();
        }
        let Some(row) = PsRow::parse(&columns, &words) else {
            continue;
        };
        rows += 1;
        let program = row.command.rsplit('/').next().unwrap_or(row.command);
        let number = row.value(&["PID", "TGID"]);
        if is_server_program(program) {
            servers.extend(number);
        } else if !number.is_some_and(|number| servers.contains(number)) {
            // From 8.0 on the threads behind the first one have names of their own.
            continue;
        }
        if let Some(kib) = row.value(&["RSS", "RSZ"]).and_then(|kib| kib.parse().ok()) {
            // The largest is the server; its children and its guard are small.
            let bytes: f64 = kib;
            let bytes = bytes * 1024.0;
            resident = Some(resident.map_or(bytes, |most: f64| most.max(bytes)));
        }
        if row.value(&["TID", "LWP", "SPID"]).is_some() {
            threads.count(&row);
        }
    }
    read.brought = match threads.all {
        0 => counted(rows, "process", "processes"),
        _ => counted(rows, "thread or process", "threads and processes"),
    };
    if let Some(bytes) = resident {
        read.brought.push_str(&format!(
            ", the server has {:.1} GiB",
            bytes / 1_073_741_824.0
        ));
        let reading = Reading::gauge("process.resident_bytes", Unit::Bytes, bytes);
        read.push("process", None, 0, vec![reading]);
    }
    if threads.states > 0 {
        let blocked = threads.uninterruptible;
        read.brought.push_str(&format!(
            ", {blocked} of {} in uninterruptible sleep{}",
            counted(threads.all, "thread of the server", "threads of the server"),
            threads.most_waited_for()
        ));
        let reading = Reading::gauge("threads.uninterruptible", Unit::Count, blocked as f64);
        read.push("threads", None, 0, vec![reading]);
    }
    if read.is_empty() && rows > 0 {
        let why = match servers.is_empty() {
            false => "it has neither the server's memory (RSS) nor a row for each thread (-L)",
            true => "no process in it is a MySQL or MariaDB server",
        };
        read.skipped.push((0, why.into()));
    }
    read
}

/// A row below the head of ps.
struct PsRow<'a, 't> {
    columns: &'a [&'t str],
    words: &'a [&'t str],
    /// The place of the command among the columns.
    place: usize,
    command: &'t str,
}

impl<'a, 't> PsRow<'a, 't> {
    fn parse(columns: &'a [&'t str], words: &'a [&'t str]) -> Option<Self> {
        let place = columns
            .iter()
            .position(|column| ["CMD", "COMMAND", "COMM"].contains(column))?;
        Some(Self {
            columns,
            words,
            place,
            command: words.get(place)?,
        })
    }

    /// The first of the columns that is there. Behind the command it is found from the end: a command has blanks.
    fn value(&self, names: &[&str]) -> Option<&'t str> {
        let at = self
            .columns
            .iter()
            .position(|column| names.contains(column))?;
        let word = match at < self.place {
            true => at,
            false => self.words.len().checked_sub(self.columns.len() - at)?,
        };
        self.words.get(word).copied()
    }
}

/// Threads of the server, by their state.
#[derive(Default)]
struct Threads {
    all: usize,
    /// Those whose state is told.
    states: usize,
    uninterruptible: usize,
    /// Where those wait in the kernel, where that is told (`wchan`).
    places: BTreeMap<String, usize>,
}

impl Threads {
    fn count(&mut self, row: &PsRow<'_, '_>) {
        self.all += 1;
        let Some(state) = row.value(&["STAT", "S"]) else {
            return;
        };
        self.states += 1;
        if state.starts_with('D') {
            self.uninterruptible += 1;
            if let Some(place) = row.value(&["WCHAN"]).filter(|place| place.len() > 1) {
                *self.places.entry(place.to_owned()).or_default() += 1;
            }
        }
    }

    fn most_waited_for(&self) -> String {
        match self.places.iter().max_by_key(|(_, count)| **count) {
            Some((place, count)) => format!(" ({count} in {place})"),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;
    use crate::formats::top::is_top_row;

    #[test]
    fn rows_are_known_by_the_shape_of_their_cells() {
        for row in [
            "mysql 2211 903 55.3 21983732 18212312 ? Sl Jul12 5312:11 /usr/sbin/mysqld --x=y",
            "root 101 99,0 0,0 0 0 ? R 09:14 12:11 [khugepaged]",
            "_mysql 517 88.1 2.4 34925412 402312 ?? S 9:14AM 3:11.02 /usr/local/mysql/bin/mysqld",
            "ann 9310 0.0 0.0 34121212 812 s001 S+ 9:20AM 0:00.01 /usr/local/mysql/bin/mysqld",
            "mysql 781 12.0 20.1 1812312 812312 - I 8Jul26 91:02.11 /usr/local/libexec/mysqld",
        ] {
            assert!(is_ps_aux_row(row), "{row}");
            assert!(!is_top_row(row), "{row}");
        }
        for row in [
            "2211 mysql 20 0 21.0g 17.4g 12312 S 903.0 55.3 5312:11 mysqld",
            "12 root rt 0 0 0 0 S 0.0 0.0 0:00.13 migration/0",
        ] {
            assert!(is_top_row(row), "{row}");
            assert!(!is_ps_aux_row(row), "{row}");
        }
        for row in [
            "8 app web:1 shop Query 1807 query end INSERT INTO t SELECT 1, 2, 3",
            "mysql 2211 903 55 21983732 18212312 ? Sl Jul12 5312:11 /usr/sbin/mysqld",
            "253 0 dm-0 1 2 3 4 5 6 7 8 9 10 11",
            "",
        ] {
            assert!(!is_ps_aux_row(row) && !is_top_row(row), "{row}");
        }
    }

    #[test]
    fn processes_with_the_columns_that_were_asked_for() {
        let capture = read(&clean::lines(
            "  PID    RSS COMMAND\n    1  23712 init\n16680 1048576 mysqld\n",
        ));
        assert_eq!(capture.values("process.resident_bytes"), [1_073_741_824.0]);
        let capture = read(&clean::lines(
            "  PID    VSZ COMMAND\n16680 136345132 mysqld\n",
        ));
        assert!(
            capture.skipped[0].1.contains("RSS"),
            "{:?}",
            capture.skipped
        );
    }

    #[test]
    fn threads_that_cannot_be_interrupted() {
        let capture = read(&clean::lines(
            "    PID     TID STAT WCHAN                            COMMAND\n   1234    1234 Ssl  poll_schedule_timeout            mysqld\n\
               1234    1250 Dsl  io_schedule                      mysqld\n   1234    1251 Dsl  io_schedule                      mysqld\n\
               1234    1252 Dsl  jbd2_log_wait_commit             connection\n    900     900 D    io_schedule                      jbd2/vda1-8\n",
        ));
        assert_eq!(
            capture.brought,
            "5 threads and processes, 3 of 4 threads of the server in uninterruptible sleep (2 in io_schedule)"
        );
        assert_eq!(capture.values("threads.uninterruptible"), [3.0]);
        // What stands behind a command with blanks is found from the end.
        let capture = read(&clean::lines(
            "  PID  PPID CMD                         RSS STAT\n 1234     1 /usr/sbin/mysqld --user=mysql 1048576 Ssl\n",
        ));
        assert_eq!(capture.values("process.resident_bytes"), [1_073_741_824.0]);
        assert!(capture.values("threads.uninterruptible").is_empty());
    }

    #[test]
    fn rows_without_their_head() {
        let capture = read(&clean::lines(
            "mysql 2211 903 55.3 21983732 1048576 ? Sl Jul12 5312:11 /usr/sbin/mysqld --daemonize\n\
             root 9912 0.0 0.0 6332 2048 pts/0 S+ 10:00 0:00 grep mysqld\n",
        ));
        assert_eq!(capture.brought, "2 processes, the server has 1.0 GiB");
        assert_eq!(capture.values("process.resident_bytes"), [1_073_741_824.0]);
    }

    #[test]
    fn all_columns() {
        let capture = read(&clean::lines(
            "UID          PID    PPID  C    SZ   RSS PSR STIME TTY          TIME CMD\nmysql        812       1  5 500000 1048576   1 10:00 ?        00:10:00 /usr/sbin/mysqld --daemonize\nroot 9 1 0 1 1 0 10:00 ? 00:00:00 [kworker/0:1]\n",
        ));
        assert_eq!(
            capture.values("process.resident_bytes").last().copied(),
            Some(1_073_741_824.0)
        );
    }
}
