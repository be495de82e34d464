//! What the server prints itself: the InnoDB monitor, the error log, and parts of both.

use model::TextKind;

use crate::crash;
use crate::crash::{is_crash_detail, is_crash_event, is_crash_line};
use crate::format::{Format, Gap, Group, Recogniser};
use crate::format::{Next, Open, WRAPPED_LINES_MAX};
use crate::formats::{backtrace, processlist};
use crate::line::{Line, joined};
use crate::prefixes::Prefixes;
use crate::read::Timestamp;
use crate::read::{Read, counted};
use crate::times;
use crate::times::starts_with_date;

pub(crate) static FORMAT: Format = Format {
    id: "server_text",
    group: Group::Server,
    name: "InnoDB status or error log",
    printed_by: "the server: `SHOW ENGINE INNODB STATUS`, its log",
    content: "transactions, waits for latches, history, warnings; after a crash, its signal and assertion",
    recognisers: &[Recogniser::new(50, "", 0, |at| {
        is_server_line(at.text) || is_section(at.text, at.next)
    })],
    continues,
    add,
    pass: |open, text| open.statement &= !text.is_empty(),
    // Blank lines and remarks stand between what the monitor and the log print.
    gap: Gap::Lines(12),
    has_version: true,
    preference: 1,
    read,
    ..Format::NONE
};

/// The InnoDB monitor's, or the error log's.
pub(crate) fn is_server_line(text: &str) -> bool {
    static STARTS: Prefixes = Prefixes::new(&[
        "---TRANSACTION ",
        "MySQL thread id ",
        "MariaDB thread id ",
        "mysql tables in use ",
        "LOCK WAIT ",
        "------- TRX HAS BEEN WAITING ",
        "RECORD LOCKS space id ",
        "TABLE LOCK table ",
        "Record lock, heap no ",
        "OS WAIT ARRAY INFO",
        "Mutex spin waits ",
        "RW-shared ",
        "RW-excl ",
        "RW-sx ",
        "Trx id counter ",
        "Purge done for trx",
        "History list length ",
        "LIST OF TRANSACTIONS FOR EACH SESSION",
        "*** (1) ",
        "*** (2) ",
        "*** WE ROLL BACK ",
        "LATEST DETECTED DEADLOCK",
        "END OF INNODB MONITOR OUTPUT",
        "InnoDB: ",
        "[Note] InnoDB: ",
        "[Warning] InnoDB: ",
        "[ERROR] InnoDB: ",
        "Mutex at 0x",
        "Last time write locked in file ",
        "Last time read locked in file ",
        "Log sequence number ",
        "Log flushed up to ",
        "Last checkpoint at ",
        "Pending normal aio reads",
        "Pending flushes (fsync) ",
        "Buffer pool size ",
        "Modified db pages ",
    ]);
    const LEVELS: [&str; 8] = [
        "[Note]",
        "[Warning]",
        "[ERROR]",
        "[System]",
        "[Error]",
        " InnoDB: ",
        "INNODB MONITOR OUTPUT",
        "mysqld_safe ",
    ];
    STARTS.match_start(text)
        || is_wait(text)
        || (text.starts_with("--Thread ") && text.contains(" has waited at "))
        || (starts_with_date(text) && LEVELS.iter().any(|level| text.contains(level)))
        || is_count(text)
        || is_bare_transaction(text)
        || (text.ends_with("row lock(s)") && text.contains(" lock struct(s), heap size "))
        || (text.starts_with("Version: '") && text.contains("socket:"))
        || (text.starts_with("mysqld: ") || text.starts_with("mariadbd: "))
        || is_crash_line(text)
}

/// A number in front of words that only the monitor has: `1 pending log flushes, 0 pending chkp writes`.
fn is_count(text: &str) -> bool {
    const WORDS: [&str; 5] = [
        " pending log flushes, ",
        " pending log writes, ",
        " queries inside InnoDB, ",
        " read views open inside InnoDB",
        " OS file reads, ",
    ];
    text.starts_with(|c: char| c.is_ascii_digit()) && WORDS.iter().any(|words| text.contains(words))
}

/// The name of a section of the monitor, with the dashes below it, or the dashes above.
fn is_section(text: &str, next: &[&str]) -> bool {
    const SECTIONS: [&str; 13] = [
        "BACKGROUND THREAD",
        "SEMAPHORES",
        "RW-LATCH INFO",
        "MUTEX INFO",
        "LATEST FOREIGN KEY ERROR",
        "LATEST DETECTED DEADLOCK",
        "TRANSACTIONS",
        "FILE I/O",
        "INSERT BUFFER AND ADAPTIVE HASH INDEX",
        "LOG",
        "BUFFER POOL AND MEMORY",
        "INDIVIDUAL BUFFER POOL INFO",
        "ROW OPERATIONS",
    ];
    let is_dashes = |text: &str| text.len() >= 3 && text.bytes().all(|byte| byte == b'-');
    let line = |ahead: usize| next.get(ahead).map_or("", |line| line.trim());
    match is_dashes(text) {
        true => SECTIONS.contains(&line(0)) && is_dashes(line(1)),
        // A heading of Markdown looks the same.
        false => text != "LOG" && SECTIONS.contains(&text) && is_dashes(line(0)),
    }
}

/// `--Thread 140 has waited at a.cc line 3 for 241.00 seconds the semaphore:`.
fn is_wait(text: &str) -> bool {
    const BYTES_MIN: usize = "Thread 1 has waited at a line 1 for 1 seconds the semaphore".len();
    text.len() >= BYTES_MIN
        && text.contains("Thread ")
        && text.contains(" has waited at ")
        && text.contains(" seconds the semaphore")
}

fn is_bare_transaction(text: &str) -> bool {
    text.strip_prefix("TRANSACTION ").is_some_and(|rest| {
        rest.split_once(", ").is_some_and(|(_, state)| {
            state.starts_with("ACTIVE") || state.starts_with("not started")
        })
    })
}

fn continues(open: &Open, next: &Next<'_>) -> bool {
    let is_another = next
        .own
        .is_some_and(|own| *own == backtrace::FORMAT || *own == processlist::FORMAT);
    if is_another && !open.statement {
        return false;
    }
    let is_near = open.carried < WRAPPED_LINES_MAX;
    (open.monitor && is_near)
        || (open.statement && !next.text.is_empty() && is_near)
        || is_monitor_detail(next.text)
        || (next.own.is_none() && is_crash_detail(next.text))
}

fn add(open: &mut Open, text: &str) {
    if text.ends_with("INNODB MONITOR OUTPUT") {
        open.monitor = !text.starts_with("END OF");
    }
    if is_server_line(text) {
        open.carried = 0;
        open.statement = text.contains(" thread id ")
            && (text.starts_with("MySQL") || text.starts_with("MariaDB"));
    } else {
        open.carried += 1;
    }
}

/// Lines of the monitor that are its own only inside of it.
fn is_monitor_detail(text: &str) -> bool {
    static STARTS: Prefixes = Prefixes::new(&[
        "X-lock ",
        "S-lock ",
        "SX-lock ",
        "Mutex ",
        "a writer (thread id ",
        "number of readers ",
        "waiters flag ",
        "Last time ",
        "holder thread ",
        "Database pages ",
        "Free buffers ",
        "Old database pages ",
        "Pending ",
        "Total memory allocated",
        "Dictionary memory allocated",
        "0: len ",
        "------",
        "======",
        "Main thread ",
        "Process ID=",
        "Number of rows inserted ",
        "Number of system rows inserted ",
        "Total large memory allocated",
        "Pages made young ",
        "Pages read",
        "Pages flushed up to ",
        "No buffer pool page gets",
        "Buffer pool hit rate ",
        "LRU len: ",
        "I/O sum[",
        "I/O thread ",
        "Ibuf: size ",
        "Hash table size ",
        "merged operations:",
        "discarded operations:",
        "Spin rounds per wait",
        "srv_master_thread ",
        "Per second averages calculated ",
    ]);
    const WORDS: [&str; 9] = [
        ": len ",
        " lock struct",
        " youngs/s, ",
        " reads/s, ",
        " inserts/s, ",
        " log i/o's done, ",
        " hash searches/s, ",
        " pending preads, ",
        ", delete mark ",
    ];
    STARTS.match_start(text) || WORDS.iter().any(|words| text.contains(words))
}

/// Printouts of the monitor in one log that are read.
const PRINTOUTS_MAX: usize = 100;

/// Bytes that are looked through for one printout: the server cuts it at a megabyte. With its text and
/// what is read of it a log would be in memory three times.
const PRINTOUT_BYTES_MAX: usize = 48 << 20;

/// Bytes of log lines that are kept of one section.
const LOG_BYTES_MAX: usize = 256 << 10;

fn read(lines: &[Line<'_>]) -> Read {
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
                "of {} lines only {} were searched for messages of InnoDB",
                next - from,
                of_printout.len()
            );
            let first = of_printout.first().map_or(0, |line| line.number);
            read.skipped.push((first, why.into()));
        }
        let text = joined(of_printout);
        let mut taken = server::innodb_taken(&text);
        // Numbers are read from all lines, and those are kept that can be nobody's.
        let is_known = |text: &str| is_server_line(text) || is_monitor_detail(text);
        let own = server_text::innodb::without_remarks(&text, is_known);
        if own.has_other_statements {
            // Waits tell the statement of whoever holds a latch.
            taken.texts = server::innodb_taken(&own.text).texts;
        } else if own.text.len() < text.len() {
            let statuses = taken.texts.iter_mut();
            for status in statuses.filter(|text| text.kind() == TextKind::InnodbStatus) {
                *status = server_text::innodb_status(&own.text);
            }
        }
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
            .push((Timestamp::default(), server_text::error_log(&body)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn what_people_write_within_a_status_is_not_kept() {
        let text = "2026-01-02 03:04:05 0x7f00 INNODB MONITOR OUTPUT\n=====================================\n\
            Per second averages calculated from the last 9 seconds\nthis is the one of acme, whose password is hunter2\n\
            --------------\nROW OPERATIONS\n--------------\n5 queries inside InnoDB, 9 queries in queue\n\
            see, Alice says that her card 4111 is in there\nNumber of rows inserted 1, updated 2, deleted 3, read 4\n\
            ----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n";
        let begin = text.find("--------------").unwrap_or_default();
        for text in [text, &text[begin..]] {
            let read = read(&clean::lines(text));
            assert_eq!(read.values("innodb.queries_in_queue"), [9.0]);
            let kept = format!("{:?}", read.texts);
            for word in ["hunter2", "acme", "Alice", "4111"] {
                assert!(!kept.contains(word), "{word}: {kept}");
            }
            assert!(kept.contains("Number of rows inserted 1"), "{kept}");
        }
    }

    #[test]
    fn what_people_write_behind_a_statement_is_not_kept() {
        let text = "---TRANSACTION 5, ACTIVE 3 sec\nMySQL thread id 5, OS thread handle 140, query id 9 localhost root updating\n\
            update acme set a = 1\nher password is hunter2 and her card 4111\n\
            ---TRANSACTION 6, ACTIVE 3 sec\nMySQL thread id 6, OS thread handle 141, query id 9 localhost root\n\
            see, Alice says that it is this one\n\
            --Thread 141 has waited at buf0buf.cc line 3 for 241.00 seconds the semaphore:\nX-lock on RW-latch at 0x7f created in file buf0buf.cc line 5\n\
            a writer (thread id 140) has reserved it in mode  exclusive\nnumber of readers 0, waiters flag 1\n";
        let read = read(&clean::lines(text));
        let kept = format!("{:?}", read.texts);
        for word in ["hunter2", "4111", "Alice", "password"] {
            assert!(!kept.contains(word), "{word}: {kept}");
        }
        assert!(kept.contains("update acme set a = ?"), "{kept}");
        assert!(kept.contains("---TRANSACTION 6, ACTIVE 3 sec"), "{kept}");
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
            --Thread 1400 has waited at fts0fts.cc line 36 for 257.00 seconds the semaphore:\n";
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
