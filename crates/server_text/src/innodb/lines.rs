//! What each line of a status text is: InnoDB's own words, a statement, or a dumped row value.
//!
//! A transaction prints the client's statement as it came (`ha_innodb.cc`,
//! `innobase_mysql_print_thd()`): several lines, with no mark where it ends, after the line with
//! the thread id. So a line after it is taken as a part of the statement unless it has the form
//! of one of InnoDB's own. A literal may hold lines of those forms too: while a quote is open and
//! the statement is too short to have been cut by the server, nothing ends it. Where it may have been cut, a line is
//! InnoDB's own only if all of it is ([`exact`]), up to the next thread id or section.

use super::exact;
use super::extent;
use super::forms::{
    is_constraint_line, is_cut_mark, is_deadlock_line, is_field, is_foreign_key_failure,
    is_log_line, is_monitor_line, is_monitor_start, is_rule, is_thread_line, is_transaction_line,
    is_wait_line, starts_with_date, stem,
};
use super::quotes::{self, Quote};
use super::sections::{self, Section};

/// The server cuts statements at 300, 600 or 3000 bytes (`max_query_len` of `trx_print()`), or
/// with the line before at 1024: one with fewer bytes than this was not cut.
const STATEMENT_CUT_BYTES_MIN: usize = 290;

/// The same for MariaDB, which before 10.11 cuts at 1024 bytes with the line before, and then
/// not at all (measured with 10.11.19).
const MARIADB_STATEMENT_CUT_BYTES_MIN: usize = 800;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// InnoDB's own words, or text from around the status.
    Own,
    /// The name of a section.
    Header,
    /// `---TRANSACTION …`: a transaction of the TRANSACTIONS section.
    Transaction,
    /// `MySQL thread id …`: whose transaction it is. A statement may follow.
    Thread,
    /// A part of a statement.
    Statement,
    /// A value of a dumped row.
    Field,
    /// Perhaps of a statement, and nobody can say from where in it.
    Remnant,
}

/// One line of a status text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// As it stands in the text, without its line feed.
    pub(super) raw: &'a str,
    /// Without what a log wrote before it, and without blanks at its end.
    pub(super) stem: &'a str,
    /// What it is.
    pub(super) kind: Kind,
    /// Where it stands.
    pub(super) section: Section,
    /// No line feed follows it.
    pub(super) is_last: bool,
    /// Its own words tell what it is, and not only where it stands.
    pub(super) has_form: bool,
}

/// Where a statement can stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nowhere near.
    Outside,
    /// Before the first transaction of a section.
    Preface,
    /// In a transaction, before its thread id.
    Transaction,
    /// After a thread id.
    Statement,
    /// In a foreign key error, after its statement: the constraint and the row are described.
    Described,
    /// Where a literal may go on: after a cut, or after a line of InnoDB's form in a statement
    /// that may have been cut before it.
    Cut,
}

/// The lines of a status text, or of any other text that may hold parts of one.
pub(super) struct Lines<'a> {
    text: &'a str,
    /// Where the next line begins; past the end when there is none.
    at: usize,
    /// Text before this is what a cut at the head left.
    remnant_end: usize,
    before: &'a str,
    section: Section,
    place: Place,
    quote: Option<Quote>,
    /// Where printouts begin and end.
    bounds: Vec<(usize, extent::Bound)>,
    /// Lines up to the one that begins here belong to a printout in a literal.
    nested_end: Option<usize>,
    /// The lines up to the next thread id or section may be of a literal, as far as they tell.
    is_suspect: bool,
    /// What stood in front of the first line, such as `db_1  | `.
    prefix: &'a str,
    /// Where the present line begins.
    line_at: usize,
    statement_bytes: usize,
    statement_cut_bytes_min: usize,
    /// The present line has one of InnoDB's forms.
    has_form: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let remnant_end = extent::remnant_end(text);
        Self {
            text,
            at: 0,
            remnant_end: remnant_end.unwrap_or(0),
            before: "",
            section: Section::Unknown,
            place: remnant_end.map_or(Place::Outside, |_| Place::Cut),
            quote: None,
            bounds: extent::bounds(text),
            nested_end: None,
            is_suspect: false,
            prefix: container(prefix(text.split('\n').next().unwrap_or(""))),
            line_at: 0,
            statement_bytes: 0,
            statement_cut_bytes_min: STATEMENT_CUT_BYTES_MIN,
            has_form: false,
        }
    }

    fn classify(&mut self, raw: &'a str, stem: &'a str, rest: &'a str) -> Kind {
        let doubtful = self.quote.is_some() && matches!(self.place, Place::Statement | Place::Cut);
        if doubtful {
            let is_whole = self.statement_bytes < self.statement_cut_bytes_min;
            if is_monitor_start(stem) {
                self.nested_end = self
                    .nested_end
                    .max(extent::nested_printout_end(&self.bounds, self.line_at));
            }
            if self.nested_end.is_some_and(|end| self.line_at <= end)
                || (is_whole && self.place == Place::Statement)
            {
                return self.other(raw, stem);
            }
        }
        let was_suspect = self.is_suspect;
        let is_suspect = was_suspect || doubtful || self.place == Place::Cut;
        if is_suspect && !self.is_surely_own(raw, stem, rest) {
            return self.other(raw, stem);
        }
        self.is_suspect = is_suspect;
        match self.own(raw, stem, rest, doubtful) {
            Some(kind) => {
                self.has_form = true;
                if doubtful && self.place == Place::Statement {
                    self.place = Place::Cut;
                }
                kind
            }
            None => {
                self.is_suspect = was_suspect;
                self.other(raw, stem)
            }
        }
    }

    /// Whether all of a line is InnoDB's, if any of it is. Lines of the log are redacted as such.
    fn is_surely_own(&self, raw: &str, stem: &str, rest: &str) -> bool {
        let before = prefix(raw);
        let of_log = before.strip_prefix(self.prefix).unwrap_or(before);
        let is_header = || {
            let section = sections::header(self.before, stem, rest);
            section.is_some_and(|section| section != Section::Other)
        };
        (of_log.is_empty() || exact::is_log_prefix(of_log))
            && (exact::is_exact(stem) || is_header())
            || (is_log_line(raw) && self.quote.is_none())
    }

    /// What a line is that has none of InnoDB's forms.
    fn other(&mut self, raw: &str, stem: &str) -> Kind {
        match self.place {
            _ if stem.is_empty() && self.place != Place::Statement => Kind::Own,
            Place::Outside => Kind::Own,
            Place::Preface => match self.section {
                Section::ForeignKey => self.statement(raw),
                Section::Deadlock => Kind::Remnant,
                _ => Kind::Own,
            },
            Place::Statement | Place::Described => self.statement(raw),
            Place::Transaction | Place::Cut => Kind::Remnant,
        }
    }

    /// What the line is when it has one of InnoDB's forms. `doubtful`: a literal may be open.
    fn own(&mut self, raw: &str, stem: &str, rest: &str, doubtful: bool) -> Option<Kind> {
        if is_monitor_line(stem) {
            self.enter(Section::Unknown);
            return Some(Kind::Own);
        }
        if let Some(section) = sections::header(self.before, stem, rest)
            && !self.is_text(section, stem, rest)
        {
            self.enter(section);
            return Some(Kind::Header);
        }
        // Before another thread there is its transaction.
        if is_thread_line(stem) && !doubtful {
            self.place = Place::Statement;
            self.is_suspect = false;
            self.quote = None;
            self.statement_bytes = 0;
            self.statement_cut_bytes_min = if stem.starts_with("MariaDB") {
                MARIADB_STATEMENT_CUT_BYTES_MIN
            } else {
                STATEMENT_CUT_BYTES_MIN
            };
            return Some(Kind::Thread);
        }
        if is_field(stem) {
            return Some(Kind::Field);
        }
        if stem.starts_with("---TRANSACTION") {
            self.place = Place::Transaction;
            return Some(Kind::Transaction);
        }
        if is_cut_mark(stem) {
            self.place = Place::Cut;
            return Some(Kind::Own);
        }
        if is_deadlock_line(stem) {
            self.section = Section::Deadlock;
            self.place = Place::Transaction;
            return Some(Kind::Own);
        }
        if is_wait_line(stem) || (is_log_line(raw) && self.quote.is_none()) {
            if self.section != Section::Semaphores && !doubtful {
                self.enter(Section::Unknown);
            }
            return Some(Kind::Own);
        }
        if is_foreign_key_failure(stem) {
            if !doubtful {
                self.place = Place::Described;
            }
            return Some(Kind::Own);
        }
        let is_own = is_transaction_line(stem)
            || (self.place == Place::Described && is_constraint_line(stem))
            || (self.place == Place::Preface && starts_with_date(stem));
        is_own.then_some(Kind::Own)
    }

    /// Whether the header `name` is a line of a literal.
    fn is_text(&self, section: Section, name: &str, rest: &str) -> bool {
        if self.place == Place::Outside || self.line_at == self.remnant_end {
            return false;
        }
        let doubtful = self.quote.is_some() || self.place == Place::Cut;
        (doubtful && !sections::may_follow(self.section, section))
            || !extent::is_section(section, name, rest, doubtful)
    }

    fn statement(&mut self, raw: &str) -> Kind {
        self.quote = quotes::after_line(self.quote, raw);
        self.statement_bytes += raw.len() + 1;
        Kind::Statement
    }

    fn enter(&mut self, section: Section) {
        self.section = section;
        self.is_suspect = false;
        self.quote = None;
        self.place = match section {
            Section::Deadlock | Section::ForeignKey | Section::Transactions => Place::Preface,
            _ => Place::Outside,
        };
    }
}

/// What a container or a log wrote in front of InnoDB's words.
fn prefix(raw: &str) -> &str {
    let length = raw.trim_end().len().saturating_sub(stem(raw).len());
    raw.get(..length).unwrap_or_default()
}

/// Of that, what the container wrote: `db_1  | `.
fn container(prefix: &str) -> &str {
    let end = prefix.find("| ").map_or(0, |at| at + 2);
    prefix.get(..end).unwrap_or_default()
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let tail = self.text.get(self.at..)?;
        let (raw, rest) = tail.split_once('\n').unwrap_or((tail, ""));
        self.line_at = self.at;
        self.at += raw.len() + 1;
        self.has_form = false;
        let stem = stem(raw);
        let kind = if self.line_at < self.remnant_end && !is_rule(stem) {
            Kind::Remnant
        } else {
            self.classify(raw, stem, rest)
        };
        self.before = raw;
        Some(Line {
            raw,
            stem,
            kind,
            section: self.section,
            is_last: self.at > self.text.len(),
            has_form: self.has_form,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        Lines::new(text).map(|line| line.kind).collect()
    }

    const STATEMENT: Kind = Kind::Statement;

    #[test]
    fn a_statement_ends_at_innodbs_next_line() {
        let text = "---TRANSACTION 41, ACTIVE 3 sec\n\
                    MariaDB thread id 11, OS thread handle 1, query id 29 localhost root Updating\n\
                    update t\n\
                    \n\
                    set a = 'x\n\
                    y'\n\
                    Trx read view will not see trx with id >= 39, sees < 39\n\
                    --------\n\
                    FILE I/O\n\
                    --------\n\
                    Pending flushes (fsync): 0";
        assert_eq!(
            kinds(text),
            [
                Kind::Transaction,
                Kind::Thread,
                STATEMENT,
                STATEMENT,
                STATEMENT,
                STATEMENT,
                Kind::Own,
                Kind::Own,
                Kind::Header,
                Kind::Own,
                Kind::Own,
            ]
        );
    }

    #[test]
    fn a_literal_with_innodbs_lines_in_it_does_not_end_the_statement() {
        let text = "MySQL thread id 1, query id 2 localhost root\n\
                    insert into t values ('\n\
                    --------\n\
                    FILE I/O\n\
                    --------\n\
                    ---TRANSACTION 1, not started\n\
                    ')\n\
                    --------\n\
                    FILE I/O\n\
                    --------";
        assert_eq!(
            kinds(text),
            [
                Kind::Thread,
                STATEMENT,
                STATEMENT,
                STATEMENT,
                STATEMENT,
                STATEMENT,
                STATEMENT,
                Kind::Own,
                Kind::Header,
                Kind::Own,
            ]
        );
    }

    #[test]
    fn a_long_literal_ends_at_the_last_header_of_its_name() {
        let long = "x".repeat(5_000);
        let text = format!(
            "MySQL thread id 1, query id 2 localhost root\ninsert into t values ('{long}\n\
             --------\nFILE I/O\n--------\nsecret\n\
             --------\nFILE I/O\n--------\n0 OS file reads\nEND OF INNODB MONITOR OUTPUT"
        );
        assert_eq!(
            kinds(&text)[2..],
            [
                Kind::Own,
                Kind::Remnant,
                Kind::Own,
                Kind::Remnant,
                Kind::Own,
                Kind::Header,
                Kind::Own,
                Kind::Own,
                Kind::Own
            ]
        );
    }

    #[test]
    fn a_line_in_a_long_literal_is_innodbs_only_as_a_whole() {
        let long = "x".repeat(300);
        for line in [
            "*** (forwarded by alice@example.com, her PIN is 4711 hunter2)",
            "LOCK WAIT hunter2",
            "TABLE LOCK table hunter2",
            "But in child table hunter2",
            "TRANSACTION 1, ACTIVE hunter2 sec",
            "---TRANSACTION 1, hunter2",
            "--Thread 1 has waited at hunter2",
            "Foreign key constraint fails for table hunter2",
            "RECORD: hunter2 0: len 4; hex 80; asc a;;",
            "hunter2 | *** (1) TRANSACTION:",
            "2026-01-02 hunter2 INNODB MONITOR OUTPUT",
        ] {
            let text = format!(
                "MySQL thread id 5, OS thread handle 1, query id 9 web app updating\n\
                 INSERT INTO mail VALUES (1, '{long}\n{line}\nhunter2', 7)\n\
                 --------\nFILE I/O\n--------\n0 OS file reads\n"
            );
            let redacted = crate::innodb::redact(&text);
            assert!(!redacted.contains("hunter2"), "{line}:\n{redacted}");
            assert!(!redacted.contains("alice"), "{redacted}");
            assert!(redacted.contains("0 OS file reads"), "{redacted}");
            // Behind a line that is InnoDB's as a whole, too.
            let text = text.replacen(&long, &format!("{long}\n*** (1) TRANSACTION:"), 1);
            let redacted = crate::innodb::redact(&text);
            assert!(!redacted.contains("hunter2"), "{line}:\n{redacted}");
            // And behind a cut.
            let at = text.find("xxx").unwrap_or_default();
            let redacted = crate::innodb::redact(&text[at..]);
            assert!(!redacted.contains("hunter2"), "{line}:\n{redacted}");
        }
    }

    #[test]
    fn transactions_behind_a_cut_statement_are_told() {
        let long = "x".repeat(300);
        let rest = "---TRANSACTION 41, ACTIVE 3 sec starting index read\n\
                    mysql tables in use 1, locked 1\n\
                    LOCK WAIT 2 lock struct(s), heap size 1136, 1 row lock(s)\n\
                    MySQL thread id 6, OS thread handle 2, query id 10 web app updating\n\
                    update t set a = ?\n\
                    ------- TRX HAS BEEN WAITING 3 SEC FOR THIS LOCK TO BE GRANTED:\n\
                    RECORD LOCKS space id 58 page no 3 n bits 72 index PRIMARY of table `a`.`b` trx id 41 lock_mode X waiting\n";
        let text = format!(
            "---TRANSACTION 40, ACTIVE 9 sec\n\
             MySQL thread id 5, OS thread handle 1, query id 9 web app updating\n\
             INSERT INTO mail VALUES (1, '{long}\n{rest}"
        );
        let redacted = crate::innodb::redact(&text);
        assert!(redacted.ends_with(rest), "{redacted}");
    }

    #[test]
    fn what_a_cut_left_is_a_remnant() {
        assert_eq!(
            kinds("ret', 5)\nfrom x\n---TRANSACTION 5, not started"),
            [Kind::Remnant, Kind::Remnant, Kind::Transaction]
        );
        assert_eq!(
            kinds(
                "... truncated...\n18 n bits 136\nTABLE LOCK table `a`.`b` trx id 1 lock mode IX"
            ),
            [Kind::Own, Kind::Remnant, Kind::Own]
        );
        assert_eq!(
            kinds("Free buffers 5\n--------------\nROW OPERATIONS\n--------------"),
            [Kind::Own, Kind::Own, Kind::Header, Kind::Own]
        );
    }
}
