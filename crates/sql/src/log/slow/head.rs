//! What the lines of an event's head say.

use super::super::{LogTime, Span};
use super::template::Role;

/// Attributes of one event that are kept; the most that a server writes today is about 40.
pub(super) const ATTRIBUTES_MAX: usize = 128;

/// What the lines of a head said so far.
#[derive(Default)]
pub(super) struct Head<'a> {
    pub(super) seen_any: bool,
    /// More than a time and a user, which a head may tell twice: something was asked or measured.
    pub(super) seen_more: bool,
    /// `SET timestamp`: what follows is the statement, whatever it looks like.
    pub(super) seen_set: bool,
    pub(super) time: Option<LogTime>,
    pub(super) user: Option<&'a [u8]>,
    pub(super) host: Option<&'a [u8]>,
    pub(super) database: Option<&'a [u8]>,
    /// The log said which database is the default, and that may be none.
    pub(super) seen_schema: bool,
    pub(super) connection: Option<u64>,
    /// A `use` line, which is the statement when none follows.
    pub(super) used: Option<&'a [u8]>,
    /// Lines of attributes.
    pub(super) lines: usize,
}

impl Head<'_> {
    /// `SET timestamp`.
    pub(super) fn set(&mut self, seconds: Option<i64>) {
        self.seen_set = true;
        self.seen_more = true;
        // Without its zone the other time is worth less.
        if !matches!(self.time, Some(LogTime::Utc(_))) {
            self.time = seconds.map(|seconds| LogTime::Utc(seconds.saturating_mul(1_000_000)));
        }
    }
}

/// A name with its value.
pub(super) fn take_field<'a>(
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

/// Of `timestamp=1700000000;` or `last_insert_id=1,insert_id=2,timestamp=3;`, as servers write it before a statement;
/// `None` for any other `SET`, which is a statement.
pub(super) fn timestamp_of(setting: &[u8]) -> Option<Option<i64>> {
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

pub(in super::super) fn number(text: &[u8]) -> Option<u64> {
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
pub(super) fn without_colon(bytes: &[u8], word: Span) -> Option<Span> {
    let text = word.of(bytes);
    (text.len() > 1 && text.last() == Some(&b':')).then_some(Span {
        from: word.from,
        to: word.to - 1,
    })
}

/// Words between blanks.
pub(super) struct Words<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) end: usize,
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
