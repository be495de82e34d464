//! What the server prints itself: the InnoDB monitor, the error log, and parts of both.

use model::TextKind;

use super::{Read, counted, crash};
use crate::clean::Line;
use crate::kind::{is_crash_event, is_section, is_wait, starts_with_date};
use crate::moments::Moment;
use crate::times;

/// Printouts of the monitor in one log that are read.
const PRINTOUTS_MAX: usize = 100;

/// Bytes that are looked through for one printout: the server cuts it at a megabyte. With its text and
/// what is read of it a log would be in memory three times.
const PRINTOUT_BYTES_MAX: usize = 48 << 20;

/// Bytes of log lines that are kept of one piece.
const LOG_BYTES_MAX: usize = 256 << 10;

pub(super) fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let starts: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| {
            let text = line.trimmed();
            text.ends_with("INNODB MONITOR OUTPUT") && !text.starts_with("END OF")
        })
        .map(|(index, _)| index)
        .collect();
    let printouts = starts.len();
    // What stands before the first printout belongs to it: waits that the log tells of.
    let mut from = 0;
    for (index, next) in (0_u64..).zip(starts.iter().skip(1).copied().chain([lines.len()])) {
        if index as usize >= PRINTOUTS_MAX {
            read.skipped.push((
                lines.get(from).map_or(0, |line| line.number),
                format!("printouts of the InnoDB monitor over {PRINTOUTS_MAX}").into(),
            ));
            break;
        }
        let start = starts.get(index as usize).copied();
        let of_printout = near(
            lines.get(from..next).unwrap_or_default(),
            start.map(|at| at - from),
        );
        if of_printout.len() < next - from {
            let why = format!(
                "of {} lines only {} were looked through for what InnoDB says",
                next - from,
                of_printout.len()
            );
            let first = of_printout.first().map_or(0, |line| line.number);
            read.skipped.push((first, why.into()));
        }
        let text = joined(of_printout);
        let mut taken = server::innodb_taken(&text);
        // A log line is no status: only what holds something of InnoDB's is kept as one.
        let has_status = !taken.readings.is_empty() || has_innodb(&text);
        if !has_status {
            taken
                .texts
                .retain(|text| text.kind() != TextKind::InnodbStatus);
        }
        let head = starts
            .get(index as usize)
            .and_then(|start| lines.get(*start));
        if let Some(date) = head.and_then(|head| times::date_ms(head.trimmed())) {
            read.dates.push((index * 1000, date));
        }
        read.take("innodb", None, index * 1000, taken);
        from = next;
    }
    let sessions = crash::sessions(lines);
    let has_sessions = sessions.is_some();
    read.ticks.extend(sessions);
    let log = log_lines(lines, &mut read);
    let waits = lines.iter().filter(|line| is_wait(line.trimmed())).count();
    let is_part = printouts == 0 && has_section(lines);
    read.what = Some(
        match (log > 0 || has_sessions, printouts > 0) {
            (true, true) => "error log with InnoDB status",
            (true, false) if is_part => "error log with part of an InnoDB status",
            (true, false) => "error log",
            (false, true) => "InnoDB status",
            (false, false) => "part of an InnoDB status",
        }
        .to_owned(),
    );
    let mut brought = Vec::new();
    if printouts > 0 {
        brought.push(counted(
            printouts,
            "printout of the monitor",
            "printouts of the monitor",
        ));
    }
    if is_part && log > 0 {
        brought.push("part of a printout of the monitor".to_owned());
    }
    if waits > 0 {
        brought.push(counted(waits, "wait for a latch", "waits for latches"));
    }
    if log > 0 {
        brought.push(counted(log, "log line", "log lines"));
    }
    if has_sessions {
        brought.push("sessions at a crash".to_owned());
    }
    if brought.is_empty() && !read.is_empty() {
        brought.push(counted(lines.len(), "line", "lines"));
    }
    read.brought = brought.join(", ");
    read
}

/// The lines around the head of a printout, or without one the last, as many as are looked through: a
/// log of weeks has its waits in the part that was written last.
fn near<'a, 'b>(lines: &'a [Line<'b>], head: Option<usize>) -> &'a [Line<'b>] {
    let bytes = |line: &Line<'_>| line.text.len() + 1;
    let head = head.unwrap_or(lines.len()).min(lines.len());
    let (before, behind) = lines.split_at(head);
    let fitting = |lines: &mut dyn Iterator<Item = &Line<'_>>, mut left: usize| {
        let count = lines
            .take_while(|line| {
                let fits = bytes(line) <= left;
                left = left.saturating_sub(bytes(line));
                fits
            })
            .count();
        (count, left)
    };
    let (more, left) = fitting(&mut behind.iter(), PRINTOUT_BYTES_MAX);
    let (fewer, _) = fitting(&mut before.iter().rev(), left);
    lines.get(head - fewer..head + more).unwrap_or_default()
}

fn joined(lines: &[Line<'_>]) -> String {
    let mut text = String::with_capacity(lines.iter().map(|line| line.text.len() + 1).sum());
    for line in lines {
        text.push_str(&line.text);
        text.push('\n');
    }
    text
}

/// A printout whose begin is missing: the head of one of its sections, or its end.
fn has_section(lines: &[Line<'_>]) -> bool {
    lines.iter().enumerate().any(|(index, line)| {
        let below = lines.get(index + 1).map_or("", Line::trimmed);
        line.trimmed() == "END OF INNODB MONITOR OUTPUT" || is_section(line.trimmed(), &[below])
    })
}

/// Something that only InnoDB prints, beside lines of a log.
fn has_innodb(text: &str) -> bool {
    [
        "TRANSACTION",
        "LOCKS space id",
        "TABLE LOCK",
        " has waited at ",
        "Mutex at 0x",
        "RW-latch at",
    ]
    .iter()
    .any(|words| text.contains(words))
}

/// Keeps the lines of the log; says how many.
fn log_lines(lines: &[Line<'_>], read: &mut Read) -> usize {
    let mut body = String::new();
    let mut count = 0;
    let mut in_monitor = false;
    let mut in_wait = false;
    for line in lines {
        let text = line.trimmed();
        if text.ends_with("INNODB MONITOR OUTPUT") {
            in_monitor = !text.starts_with("END OF");
            continue;
        }
        let is_log = is_log_line(text);
        in_monitor &= !text.starts_with("InnoDB: ###");
        in_wait = is_wait(text) || (in_wait && is_wait_detail(text));
        if in_monitor || !(is_log || in_wait) {
            continue;
        }
        if body.len() + text.len() > LOG_BYTES_MAX {
            read.skipped.push((
                line.number,
                format!("lines of the log over {LOG_BYTES_MAX} bytes").into(),
            ));
            break;
        }
        count += usize::from(is_log);
        body.push_str(text);
        body.push('\n');
    }
    if count > 0 {
        read.texts
            .push((Moment::default(), server_text::error_log(&body)));
    }
    count
}

fn is_log_line(text: &str) -> bool {
    text.starts_with("InnoDB: ")
        || ["[Note] InnoDB: ", "[Warning] InnoDB: ", "[ERROR] InnoDB: "]
            .iter()
            .any(|level| text.starts_with(level))
        || text.starts_with("Version: '")
        || text.starts_with("mysqld: ")
        || text.starts_with("mariadbd: ")
        || is_crash_event(text)
        || (starts_with_date(text)
            && [
                "[Note]",
                "[Warning]",
                "[ERROR]",
                "[Error]",
                "[System]",
                " InnoDB: ",
                "mysqld_safe ",
            ]
            .iter()
            .any(|level| text.contains(level)))
}

fn is_wait_detail(text: &str) -> bool {
    [
        "Mutex at ",
        "X-lock",
        "S-lock",
        "SX-lock",
        "a writer ",
        "number of readers ",
        "waiters flag ",
        "Last time ",
        "holder thread ",
    ]
    .iter()
    .any(|start| text.starts_with(start))
}

/// The server's version, as the log or the paths of its sources tell it.
pub(crate) fn version(lines: &[Line<'_>]) -> Option<String> {
    lines.iter().find_map(|line| version_in(&line.text))
}

/// `Version: '5.6.16-log'`, `…/mysql-5.7.32/sql/…`, `…/percona-server-8.0.32-24/…`.
fn version_in(text: &str) -> Option<String> {
    let number = |rest: &str| {
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(rest.len());
        let number = rest.get(..end)?.trim_end_matches('.');
        (number.matches('.').count() == 2 && number.starts_with(|c: char| c.is_ascii_digit()))
            .then(|| number.to_owned())
    };
    if let Some(rest) = text.strip_prefix("Version: '") {
        return rest.split('\'').next().map(str::to_owned);
    }
    for (mark, suffix) in [
        ("mysql-", ""),
        ("percona-server-", ""),
        ("mariadb-", "-MariaDB"),
        ("MariaDB-", "-MariaDB"),
    ] {
        for (at, _) in text.match_indices(mark) {
            let in_path = at > 0 && text.as_bytes().get(at - 1) == Some(&b'/');
            if in_path && let Some(number) = text.get(at + mark.len()..).and_then(number) {
                return Some(format!("{number}{suffix}"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn versions_are_where_they_are() {
        for (text, version) in [
            (
                "Version: '5.6.16-log'  socket: '/tmp/x'",
                Some("5.6.16-log"),
            ),
            (
                "at /usr/src/mysql-5.7.32/include/thr_cond.h:147",
                Some("5.7.32"),
            ),
            (
                "at /b/percona-server-8.0.32-24/storage/x.cc",
                Some("8.0.32"),
            ),
            ("see mysql-8.0.1 for more", None),
            ("/mysql-8.0/x", None),
        ] {
            assert_eq!(version_in(text).as_deref(), version, "{text}");
        }
    }

    #[test]
    fn a_printout_without_its_begin_is_a_part() {
        let text = "--------------\nROW OPERATIONS\n--------------\n5 queries inside InnoDB, 9 queries in queue\n\
            ----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n\
            InnoDB: ###### Diagnostic info printed to the standard error stream\n";
        let read = read(&clean::lines(text));
        assert_eq!(
            read.what.as_deref(),
            Some("error log with part of an InnoDB status")
        );
        assert_eq!(
            read.brought,
            "part of a printout of the monitor, 1 log line"
        );
        assert_eq!(read.values("innodb.queries_in_queue"), [9.0]);
    }

    #[test]
    fn a_log_has_its_lines_and_its_waits() {
        let text = "2020-01-01T00:00:00.1Z 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took 9000ms.\n\
            2020-01-01T00:00:01.1Z 0 [Warning] InnoDB: A long semaphore wait:\n\
            --Thread 1400 has waited at fts0fts.cc line 36 for 288.00 seconds the semaphore:\n";
        let read = read(&clean::lines(text));
        let kinds: Vec<TextKind> = read.texts.iter().map(|(_, text)| text.kind()).collect();
        assert!(
            kinds.contains(&TextKind::ErrorLog) && kinds.contains(&TextKind::Semaphores),
            "{kinds:?}"
        );
        assert_eq!(read.what.as_deref(), Some("error log"));
        assert_eq!(read.brought, "1 wait for a latch, 2 log lines");
    }
}
