//! Slow logs: MySQL 5.0 to 9.x with and without `log_slow_extra`, Percona Server, MariaDB.

mod ends;
mod head;
mod template;
mod user;

pub(super) use ends::is_head;
pub use ends::slow_border;
pub(super) use head::number;

use super::commands::known;
use super::time::timestamp;
use super::{
    Attributes, Event, LogTime, Notes, Rest, Span, Step, is_opening_line, line_end, trim_statement,
};
use ends::{End, starts_measured, statement_end};
use head::{ATTRIBUTES_MAX, Head, Words, take_field, timestamp_of, without_colon};
use template::{Role, Templates};
use user::Users;

const TIME: &[u8] = b"# Time: ";
const USER: &[u8] = b"# User@Host: ";
const QUERY_TIME: &[u8] = b"# Query_time: ";
const COMMAND: &[u8] = b"# administrator command: ";

/// Bytes that tell whether a line is one of the above.
const LOOK_AHEAD: usize = COMMAND.len();

/// Lines of a plan that are kept.
const NOTES_MAX: usize = 64;

/// Bytes of a `SET timestamp` that is remembered.
const SET_BYTES_MAX: usize = 128;

/// Reads a slow log. See [`super::Reader`].
#[derive(Debug, Default)]
pub struct SlowReader {
    /// The default database: the log says it when it changes.
    database: Vec<u8>,
    database_is_known: bool,
    /// `# Time:`, which older servers write when the second changes.
    time: Option<LogTime>,
    /// Of the event under way.
    attributes: Vec<(Span, Span)>,
    notes: Vec<Span>,
    /// Of one line.
    fields: Vec<(Span, Span)>,
    templates: Box<Templates>,
    users: Users,
    /// The last `SET timestamp` with its line end, and what it said: mostly the next one says the same.
    set: Vec<u8>,
    set_seconds: Option<i64>,
    /// The rest of an event that was cut is on its way.
    is_in_cut: bool,
    pub(super) stray_bytes: u64,
}

/// Where a line leads.
enum Line<'a> {
    /// It is of the head.
    Head,
    /// A command, which is a whole event.
    Command(&'a [u8]),
    /// The statement starts.
    Statement,
    /// The next event starts.
    NextEvent,
    /// It belongs to an event whose head is not in the log.
    OfNone,
    /// That takes more bytes to know.
    Undecided,
}

impl SlowReader {
    pub(super) fn database(&self) -> Option<&[u8]> {
        self.database_is_known.then_some(self.database.as_slice())
    }

    /// See [`super::Reader::next`].
    pub fn next<'a>(&'a mut self, bytes: &'a [u8], rest: Rest) -> Step<'a> {
        if self.is_in_cut {
            return self.skip_cut(bytes, rest);
        }
        self.attributes.clear();
        self.notes.clear();
        let mut head = Head::default();
        let mut at = 0;
        loop {
            if head.seen_any
                && !head.seen_set
                && let Some(next) = self.known_line(bytes, at, &mut head)
            {
                at = next;
                continue;
            }
            // Whatever its line is: it need not be looked through twice.
            if head.seen_set && bytes.get(at).is_some_and(|byte| *byte != b'#') {
                return self.statement(bytes, at, head, rest);
            }
            let (line, next) = match line_end(bytes, at) {
                Some(end) => (bytes.get(at..end).unwrap_or_default(), end + 1),
                None if rest == Rest::Nothing => (bytes.get(at..).unwrap_or_default(), bytes.len()),
                // The start of a statement, unless it is of the head.
                None if rest == Rest::NoRoom && head.seen_any && at < bytes.len() => {
                    (bytes.get(at..).unwrap_or_default(), bytes.len())
                }
                None if rest == Rest::NoRoom => return self.cut_head(bytes),
                None => return Step::More,
            };
            if at >= bytes.len() {
                // The log ends in a head: an event whose statement was cut off, or nothing at all.
                return match head.seen_more {
                    true => self.event(bytes, head, Found::cut(), at),
                    false => self.stray(bytes, at),
                };
            }
            if !head.seen_any && !is_head(line) {
                match starts_measured(bytes, at, rest) {
                    Some(true) => {}
                    Some(false) => return self.stray(bytes, next),
                    None => return Step::More,
                }
            }
            match self.line(bytes, (at, line), &mut head, rest) {
                Line::Head => at = next,
                Line::Undecided => return Step::More,
                Line::OfNone => return self.stray(bytes, next),
                Line::Command(command) => {
                    let found = Found {
                        statement: command,
                        is_command: true,
                        is_cut: false,
                    };
                    return self.event(bytes, head, found, next);
                }
                // Who and when, but nothing that was asked or measured.
                Line::NextEvent if !head.seen_more => return self.stray(bytes, at),
                Line::NextEvent => {
                    let found = Found {
                        statement: head.used.unwrap_or_default(),
                        is_command: false,
                        is_cut: false,
                    };
                    return self.event(bytes, head, found, at);
                }
                Line::Statement => return self.statement(bytes, at, head, rest),
            }
        }
    }

    /// Bytes up to a place that are of no event.
    fn stray(&mut self, bytes: &[u8], end: usize) -> Step<'static> {
        let stray = bytes.get(..end).unwrap_or_default();
        if !is_opening_line(stray) && !stray.trim_ascii().is_empty() {
            self.stray_bytes += end as u64;
        }
        Step::Skipped(end)
    }

    /// The statement that starts at `at`, and with it the event.
    fn statement<'a>(
        &'a mut self,
        bytes: &'a [u8],
        at: usize,
        head: Head<'a>,
        rest: Rest,
    ) -> Step<'a> {
        match statement_end(bytes, at, rest) {
            End::At(end) => {
                let found = Found {
                    statement: trim_statement(bytes.get(at..end).unwrap_or_default()),
                    is_command: false,
                    is_cut: false,
                };
                self.event(bytes, head, found, end)
            }
            End::Beyond(_) if rest == Rest::NoRoom => {
                self.is_in_cut = true;
                let found = Found {
                    statement: bytes.get(at..).unwrap_or_default(),
                    is_command: false,
                    is_cut: true,
                };
                self.event(bytes, head, found, bytes.len())
            }
            End::Beyond(_) => Step::More,
        }
    }

    fn event<'a>(
        &'a mut self,
        bytes: &'a [u8],
        head: Head<'a>,
        found: Found<'a>,
        used: usize,
    ) -> Step<'a> {
        if let Some(name) = head.used {
            // The line is `use NAME`.
            let name = name.get(4..).unwrap_or_default();
            self.database.clear();
            self.database.extend_from_slice(name);
            self.database_is_known = true;
        }
        let database = if head.seen_schema {
            head.database
        } else {
            Some(self.database.as_slice()).filter(|name| !name.is_empty())
        };
        Step::Event(
            Event {
                statement: found.statement,
                is_command: found.is_command,
                is_cut: found.is_cut,
                time: head.time.or(self.time),
                user: head.user,
                host: head.host,
                database,
                database_unknown: !head.seen_schema && !self.database_is_known,
                connection: head.connection,
                program: None,
                attributes: Attributes {
                    bytes,
                    spans: &self.attributes,
                },
                numbers: &[],
                notes: Notes {
                    bytes,
                    spans: &self.notes,
                },
            },
            used,
        )
    }

    fn line<'a>(
        &mut self,
        bytes: &'a [u8],
        (at, line): (usize, &'a [u8]),
        head: &mut Head<'a>,
        rest: Rest,
    ) -> Line<'a> {
        if line.first() == Some(&b'#') {
            if line.starts_with(TIME) {
                if head.seen_any {
                    return Line::NextEvent;
                }
                self.take_time(line, head);
            } else if line.starts_with(USER) {
                if head.seen_more {
                    return Line::NextEvent;
                }
                self.users
                    .take(line.get(USER.len()..).unwrap_or_default(), head);
            } else if line.starts_with(COMMAND) {
                return match head.seen_any {
                    true => Line::Command(known(line.get(2..).unwrap_or_default()).as_bytes()),
                    false => Line::OfNone,
                };
            } else if head.seen_set || head.used.is_some() {
                // These are a head's last lines: this one is of the statement, or there is none.
                return match starts_measured(bytes, at, rest) {
                    Some(true) => Line::NextEvent,
                    Some(false) => Line::Statement,
                    None => Line::Undecided,
                };
            } else {
                head.seen_more = true;
                self.take_attributes(bytes, (at, line), head);
            }
            head.seen_any = true;
            return Line::Head;
        }
        if head.seen_set {
            return Line::Statement;
        }
        if let Some(setting) = line.strip_prefix(b"SET ")
            && let Some(seconds) = timestamp_of(setting)
        {
            head.set(seconds);
            let with_end = bytes.get(at..at + line.len() + 1).unwrap_or_default();
            if with_end.len() <= SET_BYTES_MAX && with_end.ends_with(b"\n") {
                self.set.clear();
                self.set.extend_from_slice(with_end);
                self.set_seconds = seconds;
            }
            return Line::Head;
        }
        if head.used.is_none() && line.starts_with(b"use ") && line.trim_ascii_end().ends_with(b";")
        {
            head.used = Some(trim_statement(line));
            head.seen_more = true;
            return Line::Head;
        }
        Line::Statement
    }

    /// `# Time: 071218 11:48:27`, and on the same line perhaps `# User@Host: …`.
    fn take_time<'a>(&mut self, line: &'a [u8], head: &mut Head<'a>) {
        let text = line.get(TIME.len()..).unwrap_or_default();
        let Some((time, length)) = timestamp(text) else {
            return;
        };
        self.time = Some(time);
        head.time = Some(time);
        if let Some(user) = text
            .get(length..)
            .and_then(|more| more.trim_ascii_start().strip_prefix(USER))
        {
            self.users.take(user, head);
        }
    }

    /// Where the next line starts, when this one is like an earlier one: what [`Self::line`] finds in it, without looking
    /// for its end and its words.
    fn known_line<'a>(&mut self, bytes: &'a [u8], at: usize, head: &mut Head<'a>) -> Option<usize> {
        match bytes.get(at)? {
            b'#' if head.used.is_none() => {
                let (fields, next) = self.templates.read(bytes, at, head.lines)?;
                head.lines += 1;
                head.seen_more = true;
                for (role, name, value) in fields {
                    take_field(&mut self.attributes, bytes, (*role, *name, *value), head);
                }
                Some(next)
            }
            b'S' if !self.set.is_empty() && bytes.get(at..)?.starts_with(&self.set) => {
                head.set(self.set_seconds);
                Some(at + self.set.len())
            }
            _ => None,
        }
    }

    /// `# Name: value  Name: value`. Values may be missing (`Schema:  QC_hit: No`), and lines may have no name.
    fn take_attributes<'a>(
        &mut self,
        bytes: &'a [u8],
        (at, line): (usize, &'a [u8]),
        head: &mut Head<'a>,
    ) {
        if line.starts_with(b"# explain: ") || !line.contains(&b':') {
            let words = line.get(1..).unwrap_or_default().trim_ascii();
            if !words.is_empty() && self.notes.len() < NOTES_MAX {
                self.notes
                    .push(Span::new(at + 2, at + line.trim_ascii_end().len().max(2)));
            }
            return;
        }
        let mut words = Words {
            bytes,
            at: at + 1,
            end: at + line.len(),
        };
        self.fields.clear();
        let mut next = words.next();
        while let Some(name) = next {
            next = words.next();
            let Some(name) = without_colon(bytes, name) else {
                continue;
            };
            let value = match next {
                Some(value) if without_colon(bytes, value).is_none() => {
                    next = words.next();
                    value
                }
                // The next name: this one has no value.
                _ => Span {
                    from: name.to,
                    to: name.to,
                },
            };
            let role = Role::of(name.of(bytes));
            take_field(&mut self.attributes, bytes, (role, name, value), head);
            if self.fields.len() < ATTRIBUTES_MAX {
                self.fields.push((name, value));
            }
        }
        head.lines += 1;
        self.templates.learn(bytes, at, &self.fields);
    }

    /// A line of the head is longer than any room for it.
    fn cut_head(&mut self, bytes: &[u8]) -> Step<'static> {
        self.stray_bytes += bytes.len() as u64;
        self.is_in_cut = true;
        Step::Skipped(bytes.len())
    }

    /// The rest of an event whose start was told.
    fn skip_cut(&mut self, bytes: &[u8], rest: Rest) -> Step<'static> {
        match statement_end(bytes, 0, rest) {
            End::At(end) => {
                self.is_in_cut = false;
                Step::Skipped(end)
            }
            // What may be the start of the next event stays.
            End::Beyond(0) if rest == Rest::Follows => Step::More,
            End::Beyond(0) => Step::Skipped(bytes.len()),
            End::Beyond(needed) => Step::Skipped(needed),
        }
    }
}

struct Found<'a> {
    statement: &'a [u8],
    is_command: bool,
    is_cut: bool,
}

impl Found<'_> {
    fn cut() -> Self {
        Self {
            statement: b"",
            is_command: false,
            is_cut: true,
        }
    }
}
