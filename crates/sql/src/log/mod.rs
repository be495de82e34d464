//! Slow logs and general logs as events, from bytes as they come.
//!
//! A reader is given a stretch of a log that starts at a line, and gives the first event in it and how many bytes that
//! took. It keeps what later events depend on (the default database, the connections of a general log) and nothing
//! else, so a log of any size is read in the memory of its longest event. Nothing fails: what is no event is skipped
//! and counted.
//!
//! **Most lines are like an earlier one.** What precedes each value of a slow log's line is kept as a template
//! (`log/slow/template.rs`). The next line is compared with it eight bytes at a time. Only a line that is not exactly
//! like any template is split into words, which adds a template. A property test checks that both ways give the same
//! result. The line of the user is remembered whole (`log/slow/user.rs`): a log has few of them.
//!
//! **A file is cut where events begin**, and its parts are digested in parallel. A part cannot know one thing: the
//! default database that an earlier part set with `use`. Statements of an unknown database are counted under a name
//! of their own, which gets its meaning when the parts are merged. Where the database decides what is counted
//! (`--filter db=…`), a file is read in one piece.

mod commands;
mod general;
mod slow;
mod time;

pub use general::GeneralReader;
pub use slow::{SlowReader, slow_border};
pub use time::LogTime;

/// Bytes of one event that are looked at; a longer one is cut there. The largest packet that servers accept is 1 GiB,
/// and a log may be one line.
pub const EVENT_BYTES_MAX: usize = 8 << 20;

/// What a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// A slow log.
    Slow,
    /// A general log.
    General,
}

/// One statement as a log tells it. Borrowed: nothing is copied.
#[derive(Debug, Clone, Copy, Default)]
pub struct Event<'a> {
    /// The statement, without the server's `use` and `SET timestamp`, semicolon and line end. Empty where the log has
    /// none.
    pub statement: &'a [u8],
    /// The command is no statement: `administrator command: Quit`.
    pub is_command: bool,
    /// The statement was longer than [`EVENT_BYTES_MAX`], or the log ends in it.
    pub is_cut: bool,
    /// When: where the log tells it with its zone (5.7 and later), the moment the event was written; else
    /// `SET timestamp`, whole seconds; else the log's local time.
    pub time: Option<LogTime>,
    /// The user whose rights counted.
    pub user: Option<&'a [u8]>,
    /// The client's host name, or its address where there is no name.
    pub host: Option<&'a [u8]>,
    /// The default database.
    pub database: Option<&'a [u8]>,
    /// The log has not said yet which database is the default; what came before the reader's first byte may have.
    pub database_unknown: bool,
    /// The connection.
    pub connection: Option<u64>,
    /// The client's program, of an event that is of no log.
    pub program: Option<&'a [u8]>,
    /// Everything else that stands in the event's head, as it stands there.
    pub attributes: Attributes<'a>,
    /// What was measured of an event that is of no log, by the names that logs have for it; times in microseconds.
    pub numbers: &'a [(&'static str, Option<u64>)],
    /// Lines of the head that are no attributes: the plan that MariaDB writes (`explain: …`).
    pub notes: Notes<'a>,
}

/// A step of a reader.
#[derive(Debug)]
pub enum Step<'a> {
    /// An event, which starts at the first byte, and the bytes up to its end.
    Event(Event<'a>, usize),
    /// So many bytes have no event.
    Skipped(usize),
    /// The event in the bytes is not whole.
    More,
}

/// What follows the bytes that a reader is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// More, that can be read to these.
    Follows,
    /// More, but there is no room for it: the event is cut.
    NoRoom,
    /// Nothing.
    Nothing,
}

/// A place in the bytes of an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

impl Span {
    /// Events are at most [`EVENT_BYTES_MAX`] long, which fits.
    pub(crate) fn new(from: usize, to: usize) -> Self {
        Self {
            from: u32::try_from(from).unwrap_or(u32::MAX),
            to: u32::try_from(to).unwrap_or(u32::MAX),
        }
    }

    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes
            .get(self.from as usize..self.to as usize)
            .unwrap_or_default()
    }
}

/// Names and values of an event's head, in the order of the log.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attributes<'a> {
    bytes: &'a [u8],
    spans: &'a [(Span, Span)],
}

impl<'a> Attributes<'a> {
    /// Names with values.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let bytes = self.bytes;
        self.spans
            .iter()
            .map(move |(name, value)| (name.of(bytes), value.of(bytes)))
    }

    /// The value of a name.
    pub fn get(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }
}

/// Lines of an event's head that are no attributes, without the `# `.
#[derive(Debug, Clone, Copy, Default)]
pub struct Notes<'a> {
    bytes: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Notes<'a> {
    /// The lines.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let bytes = self.bytes;
        self.spans.iter().map(move |span| span.of(bytes))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
}

/// A reader of either kind.
#[derive(Debug)]
pub enum Reader {
    /// Of a slow log.
    Slow(SlowReader),
    /// Of a general log.
    General(GeneralReader),
}

impl Reader {
    /// A reader for a log of this kind.
    pub fn new(kind: LogKind) -> Self {
        match kind {
            LogKind::Slow => Self::Slow(SlowReader::default()),
            LogKind::General => Self::General(GeneralReader::default()),
        }
    }

    /// The first event in bytes that start where the one before ended.
    pub fn next<'a>(&'a mut self, bytes: &'a [u8], rest: Rest) -> Step<'a> {
        match self {
            Self::Slow(reader) => reader.next(bytes, rest),
            Self::General(reader) => reader.next(bytes, rest),
        }
    }

    /// Bytes that belong to no event, the servers' own lines at the top of a log excepted.
    pub fn stray_bytes(&self) -> u64 {
        match self {
            Self::Slow(reader) => reader.stray_bytes,
            Self::General(reader) => reader.stray_bytes,
        }
    }

    /// The default database at the end of what was read, where the log's kind has one.
    pub fn database(&self) -> Option<&[u8]> {
        match self {
            Self::Slow(reader) => reader.database(),
            Self::General(_) => None,
        }
    }
}

/// What a log is, by its first bytes; `None` when no line of them is one that only such a log has. A log may start in
/// the middle of an event.
pub fn log_kind(start: &[u8]) -> Option<LogKind> {
    let mut lines = start.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        if slow::is_head(line) {
            Some(LogKind::Slow)
        } else if general::starts_event(line) {
            Some(LogKind::General)
        } else {
            None
        }
    })
}

/// Where the line at `from` ends: at its line end, or at the end of the bytes.
pub(crate) fn line_end(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map(|length| from + length)
}

/// Without the white space at the end, and the one semicolon that servers put there.
pub(crate) fn trim_statement(statement: &[u8]) -> &[u8] {
    let statement = statement.trim_ascii_end();
    statement
        .strip_suffix(b";")
        .unwrap_or(statement)
        .trim_ascii_end()
}

/// The lines that servers write when they open a log file:
///
/// ```text
/// /usr/sbin/mysqld, Version: 5.0.67-log. started with:
/// Tcp port: 3306  Unix socket: /var/run/mysqld/mysqld.sock
/// Time                 Id Command    Argument
/// ```
pub(crate) fn is_opening_line(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    match line.first() {
        Some(b'T') => {
            line.starts_with(b"Tcp port: ")
                || line.starts_with(b"TCP Port: ")
                || line.starts_with(b"Time ") && line.ends_with(b"Id Command    Argument")
                || line.starts_with(b"Time\t") && line.ends_with(b"Argument")
        }
        _ => {
            (line.ends_with(b"started with:") || line.ends_with(b"embedded library"))
                && memchr::memmem::find(line, b", Version: ").is_some()
        }
    }
}
