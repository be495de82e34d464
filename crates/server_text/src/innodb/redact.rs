//! A status text without its statements' literals and without row values.

use std::borrow::Cow;

use super::lines::{Kind, Lines};

/// Most bytes of a status that are kept. The server itself keeps 64 KiB up to 5.1, 1 MiB since
/// (`srv0srv.h`, `MAX_STATUS_SIZE`).
pub const STATUS_BYTES_MAX: usize = 1 << 20;

/// Of a status that is too long, this much of its end is kept: there stand the log, the buffer
/// pool and the row operations. The list of transactions gives way, as in the server.
const TAIL_BYTES: usize = STATUS_BYTES_MAX / 4;

/// Stands where text was left out. Begins like the server's own mark.
const CUT_MARK: &str = "... truncated... (too long to keep)\n";

/// What stands for a literal, a value, or what a cut left of a statement.
const GONE: &str = "?";

/// `text` with every SQL literal and every row value replaced by `?`: in the statements of
/// transactions, in the latest deadlock and foreign key error, and in record dumps. A statement
/// becomes one line ([`sql::redact_in_any_mode`]). All other text stays byte for byte.
///
/// A line of unknown form becomes `?` where a statement may have been cut before it. Two things
/// cannot be told from InnoDB's own words and may show: parts of the strings of a session with
/// `NO_BACKSLASH_ESCAPES`, and, in a literal longer than the shortest that a server cuts, a printout of InnoDB
/// that somebody stored: its lines have to be of InnoDB's grammar as a whole.
///
/// The result has at most [`STATUS_BYTES_MAX`] bytes: a longer one loses whole lines of its
/// middle, and a line says so. It reads ([`super::parse`]) like the original.
pub fn redact(text: &str) -> String {
    let text = unescaped(text);
    let text = shortened(&text);
    let redacted = redact_lines(&text);
    // A short value is shorter than what stands for it.
    shortened(&redacted).into_owned()
}

/// The status as the server sent it, when the client wrote its line feeds as `\n`: the batch mode
/// of `mysql -e` without `--raw` does.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    let is_escaped = text.contains(r" INNODB MONITOR OUTPUT\n=====")
        && !text.lines().any(|line| line.starts_with("====="));
    if !is_escaped {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('0') => plain.push('\0'),
            Some('\\') | None => plain.push('\\'),
            Some(other) => plain.extend(['\\', other]),
        }
    }
    Cow::Owned(plain)
}

fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= STATUS_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    let head_end = text.floor_char_boundary(STATUS_BYTES_MAX - TAIL_BYTES - CUT_MARK.len());
    let tail_start = text.ceil_char_boundary(text.len() - TAIL_BYTES);
    let (head, _) = text.split_at(head_end);
    let (_, tail) = text.split_at(tail_start);
    // A line without end is left out whole: half of a literal cannot be told from InnoDB's words.
    let head = head.rfind('\n').map_or("", |at| head.split_at(at + 1).0);
    let tail = tail.split_once('\n').map_or("", |(_, tail)| tail);
    Cow::Owned([head, CUT_MARK, tail].concat())
}

/// A part of a status, as [`rewrite`] hands it over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusPart {
    /// A statement of a client, its lines joined.
    Statement,
    /// The line that says whose transaction it is: `MySQL thread id 5, … localhost root updating`.
    Thread,
    /// A line of InnoDB's own.
    Own,
}

/// A status with each of its parts as `with` writes it: for other names in statements, users and
/// hosts. What is a value of a row becomes `?` as in [`redact`].
pub fn rewrite(text: &str, with: &mut dyn FnMut(StatusPart, &str) -> String) -> String {
    let text = unescaped(text);
    let mut out: Vec<String> = Vec::new();
    let mut statement: Vec<&str> = Vec::new();
    for line in Lines::new(&text) {
        if line.kind == Kind::Statement {
            statement.push(line.raw);
            continue;
        }
        if !statement.is_empty() {
            out.push(with(StatusPart::Statement, &statement.join("\n")));
            statement.clear();
        }
        out.push(match line.kind {
            Kind::Thread => with(StatusPart::Thread, line.raw),
            Kind::Field => field(line.raw),
            Kind::Remnant if is_blank(line.raw) => line.raw.to_owned(),
            Kind::Remnant => GONE.to_owned(),
            _ => with(StatusPart::Own, line.raw),
        });
    }
    if !statement.is_empty() {
        out.push(with(StatusPart::Statement, &statement.join("\n")));
    }
    out.join("\n")
}

fn redact_lines(text: &str) -> String {
    let mut out = Out::default();
    for line in Lines::new(text) {
        match line.kind {
            Kind::Statement => out.statement.push(line.raw),
            Kind::Remnant => out.remnant(line.raw),
            Kind::Field => out.own(&field(line.raw)),
            Kind::Own | Kind::Header | Kind::Transaction | Kind::Thread => out.own(line.raw),
        }
    }
    out.flush();
    out.text
}

#[derive(Default)]
struct Out<'a> {
    text: String,
    begun: bool,
    statement: Vec<&'a str>,
    in_remnant: bool,
}

impl<'a> Out<'a> {
    fn own(&mut self, line: &str) {
        self.flush();
        self.line(line);
    }

    fn remnant(&mut self, line: &str) {
        if is_blank(line) {
            self.own(line);
        } else if !self.in_remnant {
            self.own(GONE);
            self.in_remnant = true;
        }
    }

    fn flush(&mut self) {
        self.in_remnant = false;
        let mut lines = std::mem::take(&mut self.statement).into_iter().peekable();
        while let Some(blank) = lines.next_if(|line| is_blank(line)) {
            self.line(blank);
        }
        let lines: Vec<_> = lines.collect();
        let Some(last) = lines.iter().rposition(|line| !is_blank(line)) else {
            return;
        };
        let (lines, blanks) = lines.split_at(last + 1);
        self.line(&sql::redact_in_any_mode(&lines.join("\n")));
        for blank in blanks {
            self.line(blank);
        }
    }

    fn line(&mut self, line: &str) {
        if self.begun {
            self.text.push('\n');
        }
        self.begun = true;
        self.text.push_str(line);
    }
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// ` 0: len 4; hex 80000001; asc     ;;` without its value. What follows a value in the same line
/// goes with it: the value may hold anything that looks like an end.
fn field(raw: &str) -> String {
    let is_described = raw.contains("RECORD: ") || raw.contains("TUPLE: ");
    let colon = if is_described {
        raw.find(": len ")
    } else {
        raw.find(':')
    };
    let (number, value) = raw.split_at(colon.map_or(0, |at| at + 1));
    let word = value.trim_start();
    if let Some(rest) = word.strip_prefix("len ") {
        let length = leading_digits(rest);
        return format!("{number} len {length}; hex {GONE}; asc {GONE};;");
    }
    let is_null = word.starts_with("SQL NULL")
        && word
            .trim_start_matches("SQL NULL")
            .chars()
            .all(|c| c.is_ascii_digit() || ",; size\r".contains(c));
    if is_null {
        return raw.to_owned();
    }
    format!("{number} {GONE}")
}

fn leading_digits(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_length_only() {
        for (raw, redacted) in [
            (
                " 0: len 4; hex 80000001; asc     ;;",
                " 0: len 4; hex ?; asc ?;;",
            ),
            (
                " 3: len 30; hex 6161; asc aa;; (total 99 bytes);",
                " 3: len 30; hex ?; asc ?;;",
            ),
            (
                " 0: len 4; hex 80; asc a;; 1: len 6; hex 00; asc x;;",
                " 0: len 4; hex ?; asc ?;;",
            ),
            (" 1: SQL NULL;", " 1: SQL NULL;"),
            (" 1: SQL NULL, size 4 ;", " 1: SQL NULL, size 4 ;"),
            (" 1: SQL NULL secret", " 1: ?"),
            (" 2: 12.5 13.5", " 2: ?"),
            (" 2: MBR: 1.0 2.0", " 2: ?"),
            (
                "db_1 |  2: len 4; hex 80; asc s;;",
                "db_1 |  2: len 4; hex ?; asc ?;;",
            ),
            (
                "RECORD: info bits 0 0: len 4; hex 80; asc s;; 1: len 1; hex 8; asc s;;",
                "RECORD: info bits 0 0: len 4; hex ?; asc ?;;",
            ),
        ] {
            assert_eq!(field(raw), redacted);
        }
    }

    #[test]
    fn what_batch_mode_escaped_is_read() {
        let text =
            r"InnoDB\t\t\n=====\n2026-11-20 23:40:21 0x7f INNODB MONITOR OUTPUT\n=====\na\\b\x\";
        let plain =
            "InnoDB\t\t\n=====\n2026-11-20 23:40:21 0x7f INNODB MONITOR OUTPUT\n=====\na\\b\\x\\";
        assert_eq!(unescaped(text), plain);
        assert_eq!(unescaped(plain), plain);
        let inside = format!("=====\n{text}");
        assert_eq!(unescaped(&inside), inside);
    }

    #[test]
    fn what_is_not_from_a_client_stays_byte_for_byte() {
        let text = "=====\r\n2014-03-27 09:15:52 7f21d80b4700 INNODB MONITOR OUTPUT\n=====\n\n\
                    ------------------------\nLATEST FOREIGN KEY ERROR\n------------------------\n\
                    2014-03-27 09:15:48 7f21d80b4700 Transaction:\n\
                    TRANSACTION 4417, ACTIVE 0 sec updating or deleting\n\
                    mysql tables in use 1, locked 1\n\
                    5 lock struct(s), heap size 1184, 3 row lock(s), undo log entries 1\n\
                    MySQL thread id 12, OS thread handle 0x7f21d80b4700, query id 208 localhost root updating\n\
                    Foreign key constraint fails for table `shop`.`item`:\n,\n  \
                    CONSTRAINT `item_of` FOREIGN KEY (`order_no`) REFERENCES `orders` (`no`)\n\
                    Trying to delete or update in parent table, in index `PRIMARY` tuple:\n\
                    DATA TUPLE: 5 fields;\n\n\
                    But in child table `shop`.`item`, in index `order_no`, there is a record:\n\
                    PHYSICAL RECORD: n_fields 3; compact format; info bits 0\n\n\
                    ------------\nTRANSACTIONS\n------------\nTrx id counter 4420\n\
                    ---TRANSACTION 4417, not started\n\
                    MySQL thread id 12, OS thread handle 0x7f21d80b4700, query id 209 localhost root init  \n\
                    --------\nFILE I/O\n--------\nI/O thread 0 state: x\n\n  \n";
        assert_eq!(redact(text), text);
    }

    #[test]
    fn statements_lose_their_literals_wherever_they_stand() {
        let redacted = redact(
            "------------------------\nLATEST DETECTED DEADLOCK\n------------------------\n\
             2026-11-20 23:40:14 0x7f600a78b6c0\n*** (1) TRANSACTION:\n\
             TRANSACTION 36, ACTIVE 1 sec starting index read\n\
             MariaDB thread id 7, OS thread handle 14, query id 21 localhost root Updating\n\
             update t\n set a = 'x',\n\n b = 5 /* c */\n\n\
             *** WAITING FOR THIS LOCK TO BE GRANTED:\n",
        );
        assert!(
            redacted.ends_with(
                "Updating\nupdate t set a = ?, b = ?\n\n*** WAITING FOR THIS LOCK TO BE GRANTED:\n"
            ),
            "{redacted}"
        );
        let redacted = redact(
            "------------------------\nLATEST FOREIGN KEY ERROR\n------------------------\n\
             2014-03-27 09:15:48 7f6 Error in foreign key constraint of table test/t2:\n\
             FOREIGN KEY (`a`) REFERENCES t1 (b)) COMMENT 'x':\n",
        );
        assert!(
            redacted.ends_with("test/t2:\nFOREIGN KEY (`a`) REFERENCES t1 (b)) COMMENT ?:\n"),
            "{redacted}"
        );
    }

    #[test]
    fn parts_are_handed_over_as_what_they_are() {
        let text = "------------\nTRANSACTIONS\n------------\nTrx id counter 4420\n\
                    ---TRANSACTION 4417, ACTIVE 3 sec\n\
                    MySQL thread id 1, OS thread handle 0x7f, query id 14 web app updating\n\
                    update t\n set a = 1\n\
                    --------\nFILE I/O\n--------\nI/O thread 0 state: x\n";
        let mut seen = Vec::new();
        let same = rewrite(text, &mut |part, lines| {
            if part != StatusPart::Own {
                seen.push((part, lines.to_owned()));
            }
            lines.to_owned()
        });
        assert_eq!(same, text);
        let thread = "MySQL thread id 1, OS thread handle 0x7f, query id 14 web app updating";
        let expected = [
            (StatusPart::Thread, thread.to_owned()),
            (StatusPart::Statement, "update t\n set a = 1".to_owned()),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn what_a_cut_left_is_not_shown() {
        assert_eq!(
            redact("secret', 5)\n\nfrom x\n---TRANSACTION 5, not started\n"),
            "?\n\n?\n---TRANSACTION 5, not started\n"
        );
        assert_eq!(
            redact("... truncated...\nsecret', 5)\nfrom x\n---TRANSACTION 5, not started"),
            "... truncated...\n?\n---TRANSACTION 5, not started"
        );
    }

    #[test]
    fn a_long_text_loses_whole_lines_of_its_middle() {
        let transaction = "---TRANSACTION 5, ACTIVE 1 sec\n\
                           MySQL thread id 1, query id 2 localhost root\n\
                           update t set a = 'secret'\n";
        let text = format!(
            "=====\n2026-11-20 23:40:21 0x7f INNODB MONITOR OUTPUT\n=====\n\
             ------------\nTRANSACTIONS\n------------\n{}\
             --------\nFILE I/O\n--------\nPending flushes (fsync): 3\n",
            transaction.repeat(STATUS_BYTES_MAX / 50)
        );
        let redacted = redact(&text);
        assert!(redacted.len() <= STATUS_BYTES_MAX && redacted.len() > STATUS_BYTES_MAX / 2);
        assert!(redacted.contains(CUT_MARK));
        assert!(!redacted.contains("secret"));
        assert_eq!(redact(&redacted), redacted);
        let status = crate::innodb::parse(&redacted);
        assert!(status.transactions.list_cut);
        assert_eq!(status.pending_io.fsyncs, Some(3));
        assert_eq!(redact(&"x".repeat(2 * STATUS_BYTES_MAX)), CUT_MARK);
    }
}
