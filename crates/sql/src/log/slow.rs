//! Slow logs: MySQL 5.0 to 9.x with and without `log_slow_extra`, Percona Server, MariaDB.

use super::template::{Role, Templates};
use super::time::moment;
use super::{
    Attributes, Event, LogTime, Notes, Rest, Span, Step, is_opening_line, line_end, trim_statement,
};

const TIME: &[u8] = b"# Time: ";
const USER: &[u8] = b"# User@Host: ";
const COMMAND: &[u8] = b"# administrator command: ";

/// Bytes that tell whether a line is one of the above.
const LOOK_AHEAD: usize = COMMAND.len();

/// Attributes of one event that are kept; the most that a server writes today is about 40.
const ATTRIBUTES_MAX: usize = 128;

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
    /// The last `SET timestamp` with its line end, and what it said: mostly the next one says the same.
    set: Vec<u8>,
    set_seconds: Option<i64>,
    /// The rest of an event that was cut is on its way.
    is_in_cut: bool,
    pub(super) stray_bytes: u64,
}

/// What the lines of a head said so far.
#[derive(Default)]
struct Head<'a> {
    seen_any: bool,
    /// More than a time: an event's second line is that of the user.
    seen_more: bool,
    /// `SET timestamp`: what follows is the statement, whatever it looks like.
    seen_set: bool,
    time: Option<LogTime>,
    user: Option<&'a [u8]>,
    host: Option<&'a [u8]>,
    database: Option<&'a [u8]>,
    /// The log said which database is the default, and that may be none.
    seen_schema: bool,
    connection: Option<u64>,
    /// A `use` line, which is the statement when none follows.
    used: Option<&'a [u8]>,
    /// Lines of attributes.
    lines: usize,
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
}

impl Head<'_> {
    /// `SET timestamp`.
    fn set(&mut self, seconds: Option<i64>) {
        self.seen_set = true;
        self.seen_more = true;
        // Without its zone the other time is worth less.
        if !matches!(self.time, Some(LogTime::Utc(_))) {
            self.time = seconds.map(|seconds| LogTime::Utc(seconds.saturating_mul(1_000_000)));
        }
    }
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
                return match head.seen_any {
                    true => self.event(bytes, head, Found::cut(), at),
                    false => Step::Skipped(bytes.len()),
                };
            }
            if !head.seen_any && !is_head(line) {
                if !is_opening_line(line) && !line.trim_ascii().is_empty() {
                    self.stray_bytes += (next - at) as u64;
                }
                return Step::Skipped(next);
            }
            match self.line(bytes, (at, line), &mut head) {
                Line::Head => at = next,
                Line::Command(command) => {
                    let found = Found {
                        statement: command,
                        is_command: true,
                        is_cut: false,
                    };
                    return self.event(bytes, head, found, next);
                }
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
            End::Beyond if rest == Rest::NoRoom => {
                self.is_in_cut = true;
                let found = Found {
                    statement: bytes.get(at..).unwrap_or_default(),
                    is_command: false,
                    is_cut: true,
                };
                self.event(bytes, head, found, bytes.len())
            }
            End::Beyond => Step::More,
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
                attributes: Attributes {
                    bytes,
                    spans: &self.attributes,
                },
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
                take_user(line.get(USER.len()..).unwrap_or_default(), head);
            } else if line.starts_with(COMMAND) {
                return Line::Command(trim_statement(line.get(2..).unwrap_or_default()));
            } else if head.seen_set {
                return Line::Statement;
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
        let Some((time, length)) = moment(text) else {
            return;
        };
        self.time = Some(time);
        head.time = Some(time);
        if let Some(user) = text
            .get(length..)
            .and_then(|more| more.trim_ascii_start().strip_prefix(USER))
        {
            take_user(user, head);
        }
    }

    /// Where the next line starts, when this one is like an earlier one: what [`Self::line`] finds in it, without looking
    /// for its end and its words.
    fn known_line<'a>(&mut self, bytes: &'a [u8], at: usize, head: &mut Head<'a>) -> Option<usize> {
        match bytes.get(at)? {
            b'#' => {
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
            // The start of a line stays: it may be that of the next event.
            End::Beyond => match memchr::memrchr(b'\n', bytes) {
                Some(end) if bytes.len() - end <= LOOK_AHEAD => match end {
                    0 => Step::More,
                    _ => Step::Skipped(end),
                },
                _ if bytes.is_empty() => Step::More,
                _ => Step::Skipped(bytes.len()),
            },
        }
    }
}

fn take_field<'a>(
    attributes: &mut Vec<(Span, Span)>,
    bytes: &'a [u8],
    (role, name, value): (Role, Span, Span),
    head: &mut Head<'a>,
) {
    match role {
        Role::Schema => {
            head.seen_schema = true;
            head.database = Some(value.of(bytes)).filter(|name| !name.is_empty());
        }
        Role::Connection => head.connection = number(value.of(bytes)),
        Role::Attribute if attributes.len() < ATTRIBUTES_MAX => attributes.push((name, value)),
        Role::Attribute => {}
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

enum End {
    At(usize),
    /// It is not among the bytes.
    Beyond,
}

/// Where a statement ends: before the line that starts the next event, or the lines of a server that opens its log.
fn statement_end(bytes: &[u8], from: usize, rest: Rest) -> End {
    let mut at = from;
    while let Some(end) = line_end(bytes, at) {
        let next = bytes.get(end + 1..).unwrap_or_default();
        match next.first() {
            Some(b'#') => {
                if next.len() < LOOK_AHEAD && rest != Rest::Nothing {
                    break;
                }
                let is_whole = || {
                    bytes
                        .get(..end)
                        .unwrap_or_default()
                        .trim_ascii_end()
                        .ends_with(b";")
                };
                if next.starts_with(TIME)
                    || next.starts_with(USER)
                    || next.starts_with(COMMAND) && is_whole()
                {
                    return End::At(end + 1);
                }
            }
            Some(b'T') => {
                if next.len() < LOOK_AHEAD && rest != Rest::Nothing {
                    break;
                }
                // The line before it names the server.
                let line = bytes.get(at..end).unwrap_or_default();
                if (next.starts_with(b"Tcp port: ") || next.starts_with(b"TCP Port: "))
                    && is_opening_line(line)
                    && at > from
                {
                    return End::At(at);
                }
            }
            None if rest != Rest::Nothing => break,
            None => return End::At(end + 1),
            Some(_) => {}
        }
        at = end + 1;
    }
    match rest {
        Rest::Nothing => End::At(bytes.len()),
        Rest::Follows | Rest::NoRoom => End::Beyond,
    }
}

/// Whether a line is of an event's head and of nothing else.
pub(super) fn is_head(line: &[u8]) -> bool {
    line.starts_with(b"# ")
        && (line.starts_with(USER)
            || line.starts_with(TIME)
            || line.starts_with(b"# Query_time: ")
            || line.starts_with(b"# Thread_id: ")
            || line.starts_with(COMMAND))
}

/// The first place after the first line at which an event starts, so that a log can be cut there.
pub fn slow_border(bytes: &[u8]) -> Option<usize> {
    let mut at = line_end(bytes, 0)? + 1;
    let mut is_after_time = true;
    while let Some(end) = line_end(bytes, at) {
        let line = bytes.get(at..end).unwrap_or_default();
        if line.starts_with(TIME) || line.starts_with(USER) && !is_after_time {
            return Some(at);
        }
        is_after_time = line.starts_with(TIME);
        at = end + 1;
    }
    None
}

/// `root[root] @ localhost [127.0.0.1]  Id:     5`.
fn take_user<'a>(text: &'a [u8], head: &mut Head<'a>) {
    head.seen_more = true;
    head.seen_any = true;
    // Not memmem, whose preparation takes longer than this short line.
    let is_middle = |at: &usize| {
        text.get(*at..)
            .is_some_and(|rest| rest.starts_with(b"] @ "))
    };
    let Some(middle) = memchr::memchr_iter(b']', text).find(is_middle) else {
        return;
    };
    let (who, rest) = text.split_at(middle);
    // A user whose rights are another's stands in the brackets; replication threads stand there alone.
    let open = memchr::memchr(b'[', who).unwrap_or(who.len());
    let (rights, session) = who.split_at(open);
    let session = session.get(1..).unwrap_or_default();
    head.user = [rights.trim_ascii(), session]
        .into_iter()
        .find(|name| !name.is_empty());
    let place = rest.get(4..).unwrap_or_default();
    let open = memchr::memchr(b'[', place).unwrap_or(place.len());
    let (name, address) = place.split_at(open);
    let address = address.get(1..).unwrap_or_default();
    let close = memchr::memchr(b']', address).unwrap_or(address.len());
    let (address, more) = address.split_at(close);
    head.host = [name.trim_ascii(), address]
        .into_iter()
        .find(|name| !name.is_empty());
    // `]  Id:     5`
    let more = more.get(1..).unwrap_or_default().trim_ascii_start();
    if let Some(id) = more.strip_prefix(b"Id:") {
        head.connection = number(id.trim_ascii());
    }
}

/// Of `timestamp=1700000000;` or `last_insert_id=1,insert_id=2,timestamp=3;`, as servers write it before a statement;
/// `None` for any other `SET`, which is a statement.
fn timestamp_of(setting: &[u8]) -> Option<Option<i64>> {
    let setting = setting.trim_ascii_end().strip_suffix(b";")?;
    let mut seconds = None;
    for part in setting.split(|byte| *byte == b',') {
        if let Some(value) = part.strip_prefix(b"timestamp=") {
            // MariaDB may write a fraction.
            let whole = value.split(|byte| *byte == b'.').next().unwrap_or_default();
            seconds = Some(i64::try_from(number(whole)?).ok()?);
        } else {
            let value = part
                .strip_prefix(b"last_insert_id=")
                .or_else(|| part.strip_prefix(b"insert_id="))?;
            number(value)?;
        }
    }
    Some(seconds)
}

pub(super) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// A name, when the word ends with a colon.
fn without_colon(bytes: &[u8], word: Span) -> Option<Span> {
    let text = word.of(bytes);
    (text.len() > 1 && text.last() == Some(&b':')).then_some(Span {
        from: word.from,
        to: word.to - 1,
    })
}

/// Words between blanks.
struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl Iterator for Words<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let line = self.bytes.get(..self.end)?;
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
        let from = self.at
            + line
                .get(self.at..)?
                .iter()
                .position(|byte| !is_blank(byte))?;
        let rest = line.get(from..)?;
        let to = from + rest.iter().position(is_blank).unwrap_or(rest.len());
        self.at = to;
        Some(Span::new(from, to))
    }
}
