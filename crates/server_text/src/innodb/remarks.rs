//! What people write between the lines of a status that they show.
//!
//! A status of a server has nothing else in it. One that somebody pasted into a ticket may have a sentence between two
//! sections, and nothing is left out of what stands outside of statements. InnoDB's own lines there are made of a few
//! hundred words: a line in which another one stands is somebody's. In one that begins like one of InnoDB's and goes on
//! otherwise, the other words are left out: what it counts is evidence. A statement of a transaction ends where prose begins
//! ([`sql::statement_within`]): InnoDB itself does not mark its end.

use super::exact::{WHO_WORDS_MAX, is_exact};
use super::forms::{is_constraint_line, is_log_line, stem};
use super::lines::{Kind, Line, Lines};
use super::noted;
use super::own_words::{GONE, is_of_word, is_own};
use super::redact::unescaped;
use super::sections::Section;
use crate::error_log::is_of_log;

/// A status without what people wrote between its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithoutRemarks {
    /// The status.
    pub text: String,
    /// What stood in place of a statement, or behind one, is left out.
    pub has_other_statements: bool,
}

/// The status without such lines. `is_known` are lines that begin like InnoDB's: of those its own words stay.
pub fn without_remarks(text: &str, is_known: impl Fn(&str) -> bool) -> WithoutRemarks {
    let text = unescaped(text);
    let mut out = WithoutRemarks {
        text: String::with_capacity(text.len()),
        has_other_statements: false,
    };
    let mut statement: Vec<Line<'_>> = Vec::new();
    // Elsewhere InnoDB tells in its own prose what is wrong with a foreign key.
    let mut is_of_transaction = false;
    for line in Lines::new(&text) {
        if line.kind == Kind::Statement && is_of_transaction {
            statement.push(line);
            continue;
        }
        out.statement(&mut statement);
        is_of_transaction = line.kind == Kind::Thread;
        let may_be_remark = match line.kind {
            Kind::Own => !line.has_form,
            // A transaction's statement stands behind its thread, and nothing else does: what comes behind another line
            // of InnoDB's is somebody's.
            Kind::Statement => line.section != Section::ForeignKey,
            _ => false,
        };
        let has_others = may_be_remark
            && !without_note(line.stem)
                .split(|c: char| !is_of_word(c))
                .all(is_own);
        let begins_so = has_others && is_known(line.stem.trim_start());
        if !has_others || begins_so {
            let kept = without_note(behind_collector(&line));
            let begin = kept.trim_end().len().saturating_sub(stem(kept).len());
            let (head, tail) = kept.split_at_checked(begin).unwrap_or(("", kept));
            match goes_on_otherwise(&line) || (begins_so && !is_of_log(line.raw)) {
                true if line.kind == Kind::Thread => {
                    out.line(&line, &format!("{head}{}", own_state(tail)));
                }
                true => out.line(&line, &format!("{head}{}", noted::own_part(tail))),
                false => out.line(&line, kept),
            }
        }
    }
    out.statement(&mut statement);
    out
}

impl WithoutRemarks {
    fn line(&mut self, line: &Line<'_>, text: &str) {
        self.text.push_str(text);
        if !line.is_last {
            self.text.push('\n');
        }
    }

    /// The lines where a transaction's statement stands: those of them that are one.
    fn statement(&mut self, lines: &mut Vec<Line<'_>>) {
        if lines.is_empty() {
            return;
        }
        let lines = std::mem::take(lines);
        let stems: Vec<&str> = lines.iter().map(|line| line.stem).collect();
        let text = stems.join("\n");
        let kept = sql::statement_within(&text);
        // In its last line, too.
        let whole = text.get(kept.clone()).unwrap_or_default();
        let end = kept.start + sql::without_remark(whole).len();
        let is_whole = end >= kept.start + whole.trim_end().len();
        // That a transaction has a statement is evidence, whatever stands there.
        let mut is_missing = kept.is_empty();
        let mut at = 0;
        for line in &lines {
            let begin = at;
            at += line.stem.len() + 1;
            let is_kept = kept.contains(&begin) && (is_whole || begin < end);
            if is_kept || line.stem.is_empty() {
                let behind = (at - 1).saturating_sub(end);
                let shown = match is_whole || line.stem.is_empty() {
                    true => line.raw,
                    false => without_end(line.raw, behind),
                };
                self.has_other_statements |= shown.len() < line.raw.len();
                self.line(line, shown);
                continue;
            }
            self.has_other_statements = true;
            if is_missing {
                self.line(line, GONE);
                is_missing = false;
            }
        }
    }
}

/// The line without so many bytes at its end.
fn without_end(raw: &str, bytes: usize) -> &str {
    let end = raw.trim_end().len().saturating_sub(bytes);
    raw.get(..end).unwrap_or(raw)
}

/// A wait is known wherever it stands in a line. What a collector of logs wrote in front of it names hosts and programs.
fn behind_collector<'a>(line: &Line<'a>) -> &'a str {
    const WAIT: &str = "--Thread ";
    if line.kind != Kind::Own || line.stem.trim_start().starts_with(WAIT) {
        return line.raw;
    }
    let at = line.raw.find(WAIT);
    at.and_then(|at| line.raw.get(at..)).unwrap_or(line.raw)
}

/// The line without what somebody noted behind it: `TABLE LOCK table … lock mode IX   <--- ours`. InnoDB has no such signs.
fn without_note(line: &str) -> &str {
    const SIGNS: [&str; 7] = ["<-", "<=", "\u{2190}", "// ", "# ", "=> ", "-- "];
    let is_behind_blank = |at: &usize| {
        let before = line.get(..*at).unwrap_or_default();
        before.ends_with([' ', '\t'])
    };
    let ends = SIGNS.iter().filter_map(|sign| {
        let mut places = line.match_indices(*sign).map(|(at, _)| at);
        places.find(is_behind_blank)
    });
    let end = ends.min();
    end.and_then(|end| line.get(..end))
        .map_or(line, str::trim_end)
}

/// Whether a line begins like one of InnoDB's, and is no such line as a whole.
fn goes_on_otherwise(line: &Line<'_>) -> bool {
    line.has_form
        && matches!(line.kind, Kind::Own | Kind::Transaction | Kind::Thread)
        && !is_exact(line.stem)
        && !is_constraint_line(line.stem)
        // It is redacted as such.
        && !is_log_line(line.raw)
}

/// A thread's line: host, address and user stay, and of the state what is one.
fn own_state(line: &str) -> String {
    const BEHIND: &str = "query id ";
    let parts = line.split_once(BEHIND).filter(|_| !noted::has_form(line));
    let Some((head, tail)) = parts else {
        return noted::own_part(line);
    };
    // The number stands in front of them.
    let words = tail.split(' ').take(1 + WHO_WORDS_MAX);
    let end: usize = words.map(|word| word.len() + 1).sum();
    let (who, state) = tail
        .split_at_checked(end.min(tail.len()))
        .unwrap_or((tail, ""));
    let (head, state) = (
        noted::own_words(head, false),
        noted::own_words(state, false),
    );
    format!("{head}{BEHIND}{who}{state}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "2026-11-20 14:00:00 0x7f INNODB MONITOR OUTPUT\n";
    const STATUS: &str = "--------\nFILE I/O\n--------\nI/O thread 0 state: waiting for completed aio requests (insert buffer thread)\n\
        Pending normal aio reads: [0, 0, 0, 0] , aio writes: [0, 0, 0, 0] ,\n ibuf aio reads:, log i/o's:, sync i/o's:\n\
        0.00 reads/s, 0 avg bytes/read, 0.00 writes/s, 0.00 fsyncs/s\n---\nLOG\n---\nLog sequence number 12\nMax checkpoint age    7782360\n\
        ----------------------\nBUFFER POOL AND MEMORY\n----------------------\nTotal large memory allocated 137363456\n\
        Pages made young 0, not young 0\n0.00 youngs/s, 0.00 non-youngs/s\nNo buffer pool page gets since the last printout\n\
        LRU len: 8, unzip_LRU len: 0\nI/O sum[0]:cur[0], unzip sum[0]:cur[0]\n--------------\nROW OPERATIONS\n--------------\n\
        0 queries inside InnoDB, 0 queries in queue\nProcess ID=612, Main thread ID=0x7f1b5c0d6700, state: sleeping\n\
        Number of rows inserted 0, updated 0, deleted 0, read 0\n";

    #[test]
    fn a_status_alone_stays_as_it_is() {
        for status in [STATUS.to_owned(), STATUS.trim_end().to_owned()] {
            assert_eq!(without_remarks(&status, |_| false).text, status);
        }
    }

    #[test]
    fn sentences_between_its_lines_are_left_out() {
        for remark in [
            "her password is hunter2, and her card 4111 1111 1111 1111",
            "Here Alice asked for the log",
            "das Kennwort lautet geheim",
        ] {
            for place in ["\n---\nLOG", "\nPages made", "\nNumber of rows"] {
                let (head, tail) = STATUS.split_once(place).unwrap();
                let text = format!("{head}\n{remark}{place}{tail}{remark}");
                assert_eq!(without_remarks(&text, |_| false).text, STATUS, "{remark}");
            }
        }
    }

    #[test]
    fn what_stands_between_the_locks_of_a_transaction_is_no_statement() {
        let head = "------------\nTRANSACTIONS\n------------\nTrx id counter 500\n---TRANSACTION 5, ACTIVE 3 sec\n\
            MySQL thread id 5, OS thread handle 1, query id 9 localhost root updating\nupdate acme set a = 1\n\
            Trx read view will not see trx with id >= 5, sees < 4\n";
        let behind =
            "TABLE LOCK table `a`.`b` trx id 5 lock mode IX\n---TRANSACTION 4, not started\n";
        for remark in [
            "password=hunter2 for Alice\n",
            "hunter2,4711\n\n> said Alice\n",
        ] {
            let shown = without_remarks(&format!("{head}{remark}{behind}"), |_| false);
            assert_eq!(
                shown.text.replace("\n\n", "\n"),
                format!("{head}{behind}"),
                "{remark}"
            );
        }
    }

    #[test]
    fn what_is_noted_behind_a_line_is_left_out() {
        let lines = [
            "---TRANSACTION 5, ACTIVE 3 sec",
            "MySQL thread id 5, OS thread handle 1, query id 9 localhost root updating",
            "update acme set a = 1",
            "TABLE LOCK table `a`.`b` trx id 5 lock mode IX",
            "--Thread 140 has waited at row0ins.cc line 123 for 241.00 seconds the semaphore:",
            "0 queries inside InnoDB, 0 queries in queue",
        ];
        let plain = lines.join("\n");
        assert_eq!(without_remarks(&plain, |_| false).text, plain);
        for note in [
            "   <--- Alice",
            " \u{2190} hunter2",
            " // hunter2",
            " -- hunter2",
            "  # hunter2",
            " => hunter2",
        ] {
            for at in [0, 1, 3, 4, 5] {
                let mut noted = lines.map(str::to_owned);
                noted[at].push_str(note);
                assert_eq!(
                    without_remarks(&noted.join("\n"), |_| false).text,
                    plain,
                    "{note}"
                );
            }
        }
    }

    /// A sentence in one line with what it is about, and a word in a place where InnoDB has none.
    #[test]
    fn a_line_that_goes_on_otherwise_keeps_innodbs_words() {
        for (line, shown) in [
            (
                "--Thread 140211 has waited at trx0undo.ic line 171 for 577 seconds the semaphore: quillfeather asked, hunter2",
                "--Thread 140211 has waited at trx0undo.ic line 171 for 577 seconds the semaphore: ? asked, ?",
            ),
            (
                "------- TRX HAS BEEN WAITING 41 SEC FOR THIS LOCK TO BE GRANTED: quillfeather",
                "------- TRX HAS BEEN WAITING 41 SEC FOR THIS LOCK TO BE GRANTED: ?",
            ),
            (
                "TABLE LOCK table `quill`.`feather` trx id 5 lock mode IX quillfeather `hunter2`",
                "TABLE LOCK table `quill`.`feather` trx id 5 lock mode IX ? `?`",
            ),
            (
                "MySQL thread id 5, OS thread handle 1, query id 9 web7 10.0.0.5 shop updating: quillfeather asked",
                "MySQL thread id 5, OS thread handle 1, query id 9 web7 10.0.0.5 shop updating: ? asked",
            ),
            (
                "---TRANSACTION 5, ACTIVE 3 sec starting index read quillfeather",
                "---TRANSACTION 5, ACTIVE 3 sec starting index read ?",
            ),
        ] {
            let before = match line.starts_with("--Thread") {
                true => "",
                false => "---TRANSACTION 5, ACTIVE 3 sec\n",
            };
            let between = |line: &str| {
                format!("{START}{before}{line}\nTABLE LOCK table `a`.`b` trx id 5 lock mode IX\n")
            };
            let (text, expected) = (between(line), between(shown));
            assert_eq!(without_remarks(&text, |_| false).text, expected);
        }
        let whole = "RECORD LOCKS space id 5 page no 3 n bits 72 index quill_feather of table `a`.`b` trx id 4 lock_mode X waiting\n";
        assert_eq!(without_remarks(whole, |_| false).text, whole);
    }

    /// What the caller knows by its begin has no form of InnoDB's that is looked at as a whole.
    #[test]
    fn of_a_line_that_begins_like_innodbs_its_words_are_kept() {
        let is_known = |text: &str| {
            const BEGINS: [&str; 10] = [
                "number of readers",
                "Main thread",
                "Process ID=",
                "I/O thread",
                "OS WAIT ARRAY INFO",
                "X-lock",
                "Mutex",
                "a writer",
                "Last time",
                "History list length",
            ];
            BEGINS.iter().any(|begin| text.starts_with(begin))
        };
        let lines = [
            "Main thread process no. 3177, id 1149061440, state: sleeping",
            "Process ID=5, Main thread ID=6 , state=flushing log",
            "I/O thread 0 state: waiting for completed aio requests (insert buffer thread)",
            "OS WAIT ARRAY INFO: reservation count 5, signal count 2",
            "X-lock on RW-latch at 0x7fe12a '&new_index->lock'",
            "X-lock (wait_ex) on RW-latch at 0x2aaa created in file /build/acme-57/btr/btr0sea.cc line 139",
            "Mutex at 0x1f3c7d8 '&kernel_mutex', lock var 0",
            "Mutex at 0x7f12, Mutex DICT_SYS created dict0dict.cc:1173, locked by 15, lock var 1",
            "a writer (thread id 140211) has reserved it in mode  wait exclusive",
            "Last time write locked in file /home/buildbot/git/row/row0sel.cc line 3495",
            "Last time read locked in file not yet reserved line 0",
            "number of readers 1, waiters flag 1, lock_word: ffffffffffffffff",
            "History list length 5",
        ];
        let text = |lines: &[String]| format!("{START}{}\n---\nLOG\n---\n", lines.join("\n"));
        let plain = lines.map(str::to_owned);
        let same = text(&plain);
        assert_eq!(without_remarks(&same, is_known).text, same);
        for note in [
            " quillfeather",
            ", her pin is hunter2",
            " (hunter2, of quillfeather)",
            " 'hunter2'",
        ] {
            for at in 0..lines.len() {
                let mut noted = plain.clone();
                noted[at].push_str(note);
                let shown = without_remarks(&text(&noted), is_known).text;
                assert!(
                    !shown.contains("hunter2") && !shown.contains("quillfeather"),
                    "{shown}"
                );
                assert!(shown.contains(lines[at]), "{shown}");
            }
        }
        // A line of a log is redacted as one.
        let entry = "2026-01-02T03:04:05.1Z 0 [Warning] InnoDB: quillfeather\n";
        let shown = without_remarks(entry, |_| true);
        assert_eq!(shown.text, entry);
    }

    #[test]
    fn what_a_collector_wrote_in_front_of_a_wait_is_left_out() {
        let wait =
            "--Thread 140 has waited at row0ins.cc line 123 for 241.00 seconds the semaphore:";
        for head in [
            "Nov 20 14:00:00 acme-db1 acme_db_1[123]: ",
            "[acme_db_1] ",
            "acme_db_1  | ",
            "",
        ] {
            let shown = without_remarks(
                &format!("{head}{wait}\nS-lock on RW-latch at 0x7f\n"),
                |text| text.contains(" has waited at ") || text.starts_with("S-lock"),
            );
            let kept = match head.ends_with("| ") {
                // It is taken away from all lines of a text.
                true => head,
                false => "",
            };
            assert_eq!(
                shown.text,
                format!("{kept}{wait}\nS-lock on RW-latch at 0x7f\n")
            );
        }
    }

    #[test]
    fn what_stands_behind_a_statement_in_its_line_is_none_of_it() {
        let text = |statement: &str| {
            format!(
                "---TRANSACTION 5, ACTIVE 3 sec\nMySQL thread id 5, OS thread handle 1, query id 9 localhost root updating\n\
                 {statement}\n---TRANSACTION 4, ACTIVE 5 sec\n"
            )
        };
        for (noted, statement) in [
            ("COMMIT, Alice says hunter2", "COMMIT"),
            (
                "update t\nset a = 1\nwhere id = 5 => hunter2",
                "update t\nset a = 1\nwhere id = 5",
            ),
            (
                "db_1  | update t set a = 1 Alice says hunter2",
                "db_1  | update t set a = 1",
            ),
            ("select 1 Alice says\nfrom hunter2", "select 1"),
        ] {
            let shown = without_remarks(&text(noted), |_| false);
            assert_eq!(shown.text, text(statement));
            assert!(shown.has_other_statements);
        }
    }

    #[test]
    fn a_statement_is_no_remark() {
        let text = "---TRANSACTION 5, ACTIVE 3 sec\nMySQL thread id 5, OS thread handle 1, query id 9 localhost root updating\n\
            update acme set quillfeather = 1\nwhere id = 5\n--------\nFILE I/O\n--------\n";
        let shown = without_remarks(text, |_| false);
        assert_eq!(shown.text, text);
        assert!(!shown.has_other_statements);
    }

    #[test]
    fn what_stands_behind_a_statement_is_none_of_it() {
        let head = "---TRANSACTION 5, ACTIVE 3 sec\nMySQL thread id 5, OS thread handle 1, query id 9 localhost root updating\n";
        let prose = "her password is hunter2\nThanks, Alice\n";
        let behind = "------- TRX HAS BEEN WAITING 3 SEC FOR THIS LOCK TO BE GRANTED:\n---TRANSACTION 4, ACTIVE 5 sec\n";
        for (statement, kept) in [
            (
                "update acme set a = 1\nwhere id = 5\n",
                "update acme set a = 1\nwhere id = 5\n",
            ),
            ("update acme set a = 'x'\n\n", "update acme set a = 'x'\n\n"),
            ("commit\n", "commit\n"),
            // A transaction without a statement has none, and one with something else has that.
            ("", "?\n"),
        ] {
            let shown = without_remarks(&format!("{head}{statement}{prose}{behind}"), |_| false);
            assert_eq!(shown.text, format!("{head}{kept}{behind}"));
            assert!(shown.has_other_statements);
        }
        // Behind the names of containers, and at the end of a text.
        let shown = without_remarks(
            &format!("{head}db_1  | update t\ndb_1  | set a = 1\nher card is 4111"),
            |_| false,
        );
        assert_eq!(
            shown.text,
            format!("{head}db_1  | update t\ndb_1  | set a = 1\n")
        );
    }
}
