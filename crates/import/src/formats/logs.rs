//! Slow logs and general logs: what was asked, by class of statement.

use model::{QueryDigest, QueryMethod};
use sql::digest::{Digester, Options, Order};
use sql::log::{EVENT_BYTES_MAX, LogKind, Reader, Rest, Step};

use crate::class_notes;
use crate::format::{Format, Gap, Group, Recogniser, sign};
use crate::format::{Next, Open, WRAPPED_LINES_MAX};
use crate::formats::{backtrace, server_text};
use crate::line::Line;
use crate::read::{Read, Workload, counted};
use crate::value_notes;

pub(crate) static SLOW: Format = Format {
    id: "slow_log",
    group: Group::Server,
    name: "slow log",
    printed_by: "the server",
    content: "statements by class",
    recognisers: &[Recogniser::new(30, "#", 0, |at| is_slow_head(at.text))],
    continues: slow_continues,
    add: |open, text| {
        let is_head = text.starts_with('#') || sets_session(text);
        open.statement = is_head || !text.ends_with(';');
        open.carried = if is_head { 0 } else { open.carried + 1 };
    },
    gap: Gap::Lines(6),
    read: |lines| read(LogKind::Slow, lines),
    ..Format::NONE
};

pub(crate) static GENERAL: Format = Format {
    id: "general_log",
    group: Group::Server,
    name: "general log",
    printed_by: "the server",
    content: "statements by class",
    recognisers: &[Recogniser::new(40, "", sign::TABLE, |at| {
        is_general(at.line)
    })],
    continues: |open, next| {
        let is_statement =
            next.own.is_none() && !next.text.is_empty() && open.carried < WRAPPED_LINES_MAX;
        is_log_opening(next.text) || is_statement
    },
    add: |open, _| open.carried += 1,
    read: |lines| read(LogKind::General, lines),
    ..Format::NONE
};

/// A line of a slow log's head and of nothing else.
fn is_slow_head(text: &str) -> bool {
    text.starts_with("# ") && sql::log::log_kind(text.as_bytes()) == Some(LogKind::Slow)
}

/// A line with which an event of a general log begins.
fn is_general(line: &str) -> bool {
    line.starts_with(|c: char| c == '\t' || c.is_ascii_digit())
        && line.contains('\t')
        && sql::log::log_kind(line.as_bytes()) == Some(LogKind::General)
}

fn slow_continues(open: &Open, next: &Next<'_>) -> bool {
    let is_another = next
        .own
        .is_some_and(|own| *own == backtrace::FORMAT || *own == server_text::FORMAT);
    is_log_opening(next.text) || (open.statement && open.carried < WRAPPED_LINES_MAX && !is_another)
}

/// `use shop;` and `SET timestamp=1700000000;`, which servers write in front of a statement.
fn sets_session(text: &str) -> bool {
    text.starts_with("SET timestamp=") || (text.starts_with("use ") && text.ends_with(';'))
}

/// What servers write when they open a log.
fn is_log_opening(text: &str) -> bool {
    text.ends_with("started with:")
        || text.starts_with("Tcp port: ")
        || text.starts_with("TCP Port: ")
        || (text.starts_with("Time ") && text.ends_with("Argument"))
}

/// Which of the two it is.
pub(crate) fn format_of(kind: LogKind) -> &'static Format {
    match kind {
        LogKind::Slow => &SLOW,
        LogKind::General => &GENERAL,
    }
}

/// Classes that are told one by one.
const CLASSES_MAX: usize = 200;

/// Bytes at the begin of a file in which it is looked for what it is.
const HEAD_BYTES: usize = 64 << 10;

/// Moments, milliseconds since 1970 UTC.
pub(crate) type Interval = (i64, i64);

/// Whether a whole file is a log: its first line is one that only such a log has. Others are read
/// line by line.
pub(crate) fn is_whole(bytes: &[u8]) -> Option<LogKind> {
    let head = bytes.get(..bytes.len().min(HEAD_BYTES)).unwrap_or_default();
    let head = head.trim_ascii_start();
    let first = head.split(|byte| *byte == b'\n').next()?;
    let first = first.trim_ascii_end();
    let is_opening = first.ends_with(b"started with:")
        || first.starts_with(b"Tcp port: ")
        || first.starts_with(b"TCP Port: ");
    let kind = sql::log::log_kind(head)?;
    (is_opening || sql::log::log_kind(first) == Some(kind)).then_some(kind)
}

/// A file with more bytes was not pasted: it is a server's own, and nobody's words stand in it.
const PASTED_BYTES_MAX: usize = 1 << 20;

/// A log that is a file of its own; of its statements only those of a stretch, where one is given.
pub(crate) fn whole(kind: LogKind, bytes: &[u8], interval: Option<Interval>) -> Read {
    let text = match bytes.len() <= PASTED_BYTES_MAX {
        true => std::str::from_utf8(bytes).ok(),
        false => None,
    };
    match text {
        Some(text) => {
            let text = without_prose(kind, text.split('\n'));
            without_notes(digested(kind, text.as_bytes(), interval))
        }
        None => digested(kind, bytes, interval),
    }
}

fn digested(kind: LogKind, bytes: &[u8], interval: Option<Interval>) -> Read {
    let us = |ms: i64| ms.saturating_mul(1000);
    let mut digester = Digester::new(Options {
        since_us: interval.map(|(from, _)| us(from)),
        until_us: interval.map(|(_, to)| us(to)),
        ..Options::default()
    });
    let mut reader = Reader::new(kind);
    let mut at = 0;
    while at < bytes.len() {
        let end = at.saturating_add(EVENT_BYTES_MAX).min(bytes.len());
        let window = bytes.get(at..end).unwrap_or_default();
        let rest = match end == bytes.len() {
            true => Rest::Nothing,
            false => Rest::NoRoom,
        };
        match reader.next(window, rest) {
            Step::Event(event, used) => {
                digester.add(&event);
                at += used.max(1);
            }
            Step::Skipped(used) => at += used.max(1),
            // Never where nothing follows or no room is left.
            Step::More => break,
        }
    }
    let (filtered, stray) = (digester.filtered(), reader.stray_bytes());
    let way = match kind {
        LogKind::Slow => QueryMethod::SlowLog,
        LogKind::General => QueryMethod::GeneralLog,
    };
    let digest = digester
        .finish(way, &Order::Usual, Some(CLASSES_MAX), false)
        .digest;
    to_read(digest, filtered, stray)
}

fn to_read(digest: QueryDigest, filtered: u64, stray: u64) -> Read {
    let mut read = Read::default();
    let statements = usize::try_from(digest.count).unwrap_or(usize::MAX);
    read.brought = counted(statements, "statement", "statements");
    if let Some(seconds) = digest
        .from_us
        .zip(digest.to_us)
        .map(|(from, to)| to.saturating_sub(from) / 1_000_000)
    {
        read.brought.push_str(&format!(" in {}", span(seconds)));
    }
    if filtered > 0 {
        let filtered = usize::try_from(filtered).unwrap_or(usize::MAX);
        read.skipped.push((
            0,
            format!(
                "{} before or after the other captures",
                counted(filtered, "statement", "statements")
            )
            .into(),
        ));
    }
    if stray > 0 {
        read.skipped
            .push((0, format!("{stray} bytes belong to no statement").into()));
    }
    if digest.count > 0 {
        let ms = |us: i64| us / 1000;
        read.workload.push(Workload {
            from: digest.from_us.map(ms),
            to: digest.to_us.map(ms),
            length: None,
            digest,
        });
    }
    read
}

/// `90 s`, `2 h 5 min`, `3 days`.
fn span(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Lines of a log in a text.
fn read(kind: LogKind, lines: &[Line<'_>]) -> Read {
    let text = without_prose(kind, lines.iter().map(|line| line.text.as_ref()));
    without_notes(digested(kind, text.as_bytes(), None))
}

/// Without what somebody wrote behind a statement that has no end in its line.
fn without_notes(mut read: Read) -> Read {
    for workload in &mut read.workload {
        class_notes::leave_out(&mut workload.digest);
    }
    read
}

/// The lines without what people write between two entries, and behind the last one.
fn without_prose<'a>(kind: LogKind, lines: impl Iterator<Item = &'a str>) -> String {
    match kind {
        LogKind::Slow => slow_without_prose(lines),
        LogKind::General => general_without_prose(lines),
    }
}

/// Of a longer statement nobody asks whether a string is open at its end.
const LEXED_BYTES_MAX: usize = 8 << 10;

/// Behind the end of a statement of a slow log come the head of the next entry, or more statements.
fn slow_without_prose<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut kept = String::new();
    let (mut statement, mut is_over) = (String::new(), true);
    // Nothing stands between a head and its statement, which may have lines that begin as a head does.
    let (mut is_behind_head, mut is_in_statement) = (false, false);
    for line in lines {
        let mut line = line;
        let text = line.trim_ascii();
        let is_head = text.starts_with('#') || sets_session(text) || is_log_opening(text);
        let goes_on = || {
            let class = sql::statement_class(text);
            !is_over || text.ends_with(';') || !matches!(class, "" | "other")
        };
        if is_head {
            // A statement of which the end was cut ends here, too.
            let is_of_next = is_first_head(text) && statement.len() <= LEXED_BYTES_MAX;
            is_in_statement &= !is_of_next || sql::is_open(&statement);
            statement.clear();
            is_over = false;
            is_behind_head |= !is_in_statement || sets_session(text);
        } else if is_behind_head && !text.is_empty() && !sql::may_begin(text) {
            continue;
        } else if text.is_empty() {
            statement.push('\n');
        } else if goes_on() {
            // What is over leaves no string open for the next one.
            if is_over {
                statement.clear();
            }
            is_behind_head = false;
            statement.push_str(text);
            let text = match note_behind(&statement, text) {
                Some(note) => {
                    statement.truncate(statement.len() - note);
                    line = text.get(..text.len() - note).unwrap_or(text);
                    line
                }
                None => text,
            };
            statement.push('\n');
            is_over = text.ends_with(';')
                && statement.len() <= LEXED_BYTES_MAX
                && !sql::is_open(&statement);
            is_in_statement = !is_over;
        } else {
            continue;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

/// A line with which an entry begins, in all versions.
fn is_first_head(text: &str) -> bool {
    ["# Time:", "# User@Host:", "# Query_time:"]
        .iter()
        .any(|begin| text.starts_with(begin))
}

/// How many bytes somebody noted behind the end of a statement, in the last line of it: `select 1;   <-- ours`.
fn note_behind(statement: &str, line: &str) -> Option<usize> {
    let behind = line.get(line.rfind(';')? + 1..)?;
    let is_note = !behind.trim().is_empty() && !sql::may_begin(behind);
    let own = statement.get(..statement.len() - behind.len())?;
    (is_note && own.len() <= LEXED_BYTES_MAX && !sql::is_open(own)).then_some(behind.len())
}

/// An entry of a general log ends where the next one begins, or where its statement is over. One that is no statement has
/// one line.
fn general_without_prose<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut kept = String::new();
    let mut statement: Option<String> = None;
    let mut more: Vec<&str> = Vec::new();
    for line in lines {
        let is_entry = sql::log::log_kind(line.as_bytes()) == Some(LogKind::General);
        if !is_entry && !is_log_opening(line.trim_ascii()) {
            more.push(line);
            continue;
        }
        push_rest(&mut kept, statement.take(), &mut more);
        statement = first_line(line).map(str::to_owned);
        // Behind one that is no statement there is nothing but what somebody noted.
        kept.push_str(match statement {
            Some(_) => line,
            None => value_notes::without_behind(line, |_| true),
        });
        kept.push('\n');
    }
    push_rest(&mut kept, statement, &mut more);
    kept
}

/// What an entry says in its first line, if that is a statement: `\t    5 Query\tselect 1`.
fn first_line(entry: &str) -> Option<&str> {
    let commands = [" Query", " Execute", " Prepare"].into_iter();
    let behind = commands.filter_map(|command| {
        let (before, rest) = entry.split_once(command)?;
        let is_word = rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_whitespace());
        is_word.then_some((before.len(), rest.trim_ascii_start()))
    });
    behind.min_by_key(|(at, _)| *at).map(|(_, rest)| rest)
}

/// The lines below the first one of an entry that are of its statement.
fn push_rest(kept: &mut String, statement: Option<String>, lines: &mut Vec<&str>) {
    let lines = std::mem::take(lines);
    let Some(mut statement) = statement.filter(|_| !lines.is_empty()) else {
        return;
    };
    for line in &lines {
        statement.push('\n');
        statement.push_str(line);
    }
    let behind = statement.get(sql::end_of_statement(&statement)..);
    let others = match behind.unwrap_or_default() {
        "" => 0,
        behind => behind.split('\n').count(),
    };
    for line in lines.iter().take(lines.len().saturating_sub(others)) {
        kept.push_str(line);
        kept.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: &str = "# Time: 2026-11-21T10:00:00.000000Z\n# User@Host: app[app] @ web [10.0.0.7]  Id:     5\n# Query_time: 2.000000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 9\nuse shop;\nSET timestamp=1795255200;\nselect * from t where a = 'secret';\n\
        # Time: 2026-11-21T10:00:09.000000Z\n# User@Host: app[app] @ web [10.0.0.7]  Id:     5\n# Query_time: 3.000000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 9\nSET timestamp=1795255209;\nselect * from t where a = 'other';\n";

    #[test]
    fn a_slow_log_is_classes_without_literals() {
        assert_eq!(is_whole(SLOW.as_bytes()), Some(LogKind::Slow));
        let read = whole(LogKind::Slow, SLOW.as_bytes(), None);
        let digest = &read.workload[0].digest;
        assert_eq!((digest.count, digest.classes.len()), (2, 1));
        assert_eq!(digest.classes[0].sum("Query_time"), Some(5.0));
        assert!(!format!("{digest:?}").contains("secret"));
        assert_eq!(read.brought, "2 statements in 9 s");
        assert_eq!(read.workload[0].to, Some(1_795_255_209_000));
    }

    #[test]
    fn only_what_belongs_to_the_other_captures_is_taken() {
        let at = 1_795_255_209_000;
        let read = whole(LogKind::Slow, SLOW.as_bytes(), Some((at - 500, at + 500)));
        assert_eq!(read.workload[0].digest.count, 1);
        assert_eq!(read.skipped.len(), 1);
    }

    #[test]
    fn what_people_write_behind_an_entry_that_is_no_statement_is_none_of_it() {
        for note in ["  <-- Alice, hunter2", " // hunter2", "\t# hunter2"] {
            let text = format!(
                "2026-11-30T14:00:00.000000Z\t    5 Connect\tapp@web1 on shop using TCP/IP{note}\n\
                 2026-11-30T14:00:00.100000Z\t    5 Init DB\tshop{note}\n2026-11-30T14:00:00.200000Z\t    6 Connect\tapp@web2{note}\n\
                 2026-11-30T14:00:00.300000Z\t    5 Query\tselect 1 from t\n2026-11-30T14:00:00.400000Z\t    6 Query\tselect 1 from t\n"
            );
            let read = read(LogKind::General, &crate::clean::lines(&text));
            let told = format!("{:?}", read.workload[0].digest);
            assert!(
                !told.contains("hunter2") && !told.contains("Alice"),
                "{told}"
            );
            for name in ["\"web1\"", "\"web2\"", "\"shop\""] {
                assert!(told.contains(name), "{name}: {told}");
            }
        }
    }

    #[test]
    fn what_people_write_between_entries_is_no_statement() {
        let remark = "Alice says that it is slow since Monday\nher password is hunter2";
        let end = "'secret';\n";
        let text = SLOW.replacen(end, &format!("{end}{remark}\n"), 1) + remark;
        let read = read(LogKind::Slow, &crate::clean::lines(&text));
        let digest = &read.workload[0].digest;
        assert_eq!((digest.count, digest.classes.len()), (2, 1));
        let told = format!("{digest:?}");
        for word in ["Alice", "alice", "Monday", "monday", "hunter2"] {
            assert!(!told.contains(word), "{word}: {told}");
        }
        // Nor is what they write behind its end.
        for note in [" <-- Alice, hunter2", "  // hunter2", " hunter2", "hunter2"] {
            let text = SLOW.replacen(end, &format!("'secret';{note}\n"), 1);
            let digest =
                &super::read(LogKind::Slow, &crate::clean::lines(&text)).workload[0].digest;
            assert_eq!((digest.count, digest.classes.len()), (2, 1), "{text}");
        }
        // Nor behind a head, whether the statement before has its end or not.
        let cut = SLOW.replacen("'secret';\n", "'secret'\n", 1);
        for place in [
            "SET timestamp=1795255209;\n",
            "# Query_time: 3.000000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 9\n",
        ] {
            let text = cut.replacen(place, &format!("{place}name = 'x' and pin = hunter2\n"), 1);
            assert_ne!(text, cut);
            let digest =
                &super::read(LogKind::Slow, &crate::clean::lines(&text)).workload[0].digest;
            assert_eq!((digest.count, digest.classes.len()), (2, 1), "{text}");
        }
        for place in ["SET timestamp=1795255200;\n", "Rows_examined: 9\n"] {
            for remark in [
                remark,
                "name = 'x' and pin = hunter2",
                "> Monday",
                "[Alice] hunter2",
            ] {
                let text = SLOW.replacen(place, &format!("{place}{remark}\n"), 1);
                let lines = crate::clean::lines(&text);
                let digest = &super::read(LogKind::Slow, &lines).workload[0].digest;
                assert_eq!((digest.count, digest.classes.len()), (2, 1), "{text}");
            }
        }
        // A string may have lines that end like a statement, and a routine has several.
        for statement in [
            "insert into t values ('one;\ntwo;\nthree');\n",
            "create procedure p() begin\nset a = 1;\nselect 1;\nend;\n",
            "/* app */\nselect a\n# first\n# second\nfrom t;\n",
            "(select a\nfrom t);\n",
            "insert into t values ('one; two', 3);\n",
            "insert into t values ('one; two\nthree; four');\n",
            "set a = 1; set b = 2;\n",
            "set a = 1; select b\nfrom t;\n",
        ] {
            let text = SLOW.replacen("select * from t where a = 'secret';\n", statement, 1);
            let lines = crate::clean::lines(&text);
            let lines = lines.iter().map(|line| line.text.as_ref());
            assert_eq!(
                without_prose(LogKind::Slow, lines).trim_end(),
                text.trim_end()
            );
        }
    }

    #[test]
    fn what_people_write_below_an_entry_of_a_general_log_is_no_statement() {
        let log = "2026-11-21T10:00:00.000000Z\t    5 Connect\tapp@web on shop\n\
            2026-11-21T10:00:01.000000Z\t    5 Query\tupdate t\nset a = 'x;\ny'\nwhere id = 7\n\
            2026-11-21T10:00:02.000000Z\t    5 Execute\tselect 1\n\
            2026-11-21T10:00:03.000000Z\t    5 Quit\t\n";
        let remark = "Alice says that it is slow since Monday\nher password is hunter2\n";
        let plain = whole(LogKind::General, log.as_bytes(), None);
        let class = |read: &Read| read.workload[0].digest.classes.clone();
        assert!(format!("{:?}", class(&plain)).contains("update t set a = ? where id = ?"));
        for entry in ["on shop\n", "where id = 7\n", "select 1\n", "Quit\t\n"] {
            let text = log.replacen(entry, &format!("{entry}{remark}"), 1);
            let lines = text.lines().zip(1..);
            let lines: Vec<Line<'_>> = lines
                .map(|(line, number)| Line {
                    number,
                    text: line.into(),
                })
                .collect();
            for read in [
                whole(LogKind::General, text.as_bytes(), None),
                read(LogKind::General, &lines),
            ] {
                assert_eq!(class(&read), class(&plain), "{text}");
                let told = format!("{:?}", read.workload[0].digest);
                for word in ["Alice", "alice", "Monday", "monday", "hunter2"] {
                    assert!(!told.contains(word), "{word}: {told}");
                }
            }
        }
        for gap in ["", "\n", "\n\n"] {
            let text = format!("{SLOW}{gap}{remark}");
            let read = whole(LogKind::Slow, text.as_bytes(), None);
            assert!(!format!("{:?}", read.workload[0].digest).contains("hunter2"));
        }
    }

    #[test]
    fn what_people_write_behind_a_statement_in_its_line_is_none_of_it() {
        let log = "2026-11-21T10:00:01.000000Z\t    5 Query\tCOMMIT, Alice says hunter2\n\
            2026-11-21T10:00:02.000000Z\t    5 Query\tselect a from t limit 1 => hunter2\n";
        let lines = log.lines().zip(1..);
        let lines: Vec<Line<'_>> = lines
            .map(|(line, number)| Line {
                number,
                text: line.into(),
            })
            .collect();
        for read in [
            whole(LogKind::General, log.as_bytes(), None),
            read(LogKind::General, &lines),
        ] {
            let classes = &read.workload[0].digest.classes;
            let mut shown: Vec<&str> = classes
                .iter()
                .map(|class| class.fingerprint.as_str())
                .collect();
            shown.sort_unstable();
            assert_eq!(shown, ["commit", "select a from t limit ?"]);
            assert_eq!(classes[0].id, sql::fingerprint_id(&classes[0].fingerprint));
        }
    }

    #[test]
    fn other_texts_are_no_logs() {
        assert_eq!(is_whole(b"Hello,\n# Time: 2026-11-21T10:00:00.0Z\n"), None);
        assert_eq!(is_whole(b""), None);
    }
}
