//! A text as it was printed, before its lines are looked at.

use std::borrow::Cow;

use memchr::memmem;

use crate::clean::known;
use crate::line::{self, has};
use crate::{characters, decoration, quoted_printable, recordings};

/// A text as it was printed: in plain characters, with line ends, and without what stands in front of each line.
pub(crate) fn as_printed(text: &str) -> Cow<'_, str> {
    let text = then(quoted_printable::decoded(text), recordings::shown);
    let text = then(text, characters::plain);
    let text = then(text, with_lines);
    then(text, without_decoration)
}

/// A step on a text that mostly stays as it is.
fn then<'a>(text: Cow<'a, str>, step: impl Fn(&str) -> Cow<'_, str>) -> Cow<'a, str> {
    let other = match step(&text) {
        Cow::Owned(other) => Some(other),
        Cow::Borrowed(_) => None,
    };
    other.map_or(text, Cow::Owned)
}

/// A text whose lines are lines: `mysql -B` writes a whole InnoDB status on one, its line ends as `\\n`, its tabs as `\\t`
/// and each backslash twice; so do programs that print a text as they would write it in a source. Statements in it are
/// read as they were, or their strings would seem to end elsewhere.
fn with_lines(text: &str) -> Cow<'_, str> {
    if !has(text, b'\\') || !may_be_escaped(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut tried = 0;
    for line in text.split_inclusive('\n') {
        // In JSON the same signs are JSON's.
        let is_json = line.trim_start().starts_with(['{', '[', '"']);
        let is_status = line.contains(STATUS_ON_A_LINE);
        let from = out.len();
        if !is_json && (is_status || (tried < ESCAPED_LINES_MAX && may_be_escaped(line))) {
            tried += 1;
            unescape(line, &mut out);
            let lines = out.get(from..).unwrap_or_default();
            if is_status || known(lines) > known(line) {
                continue;
            }
            out.truncate(from);
        }
        out.push_str(line);
    }
    Cow::Owned(out)
}

/// Fewer line ends on a line are those of a statement.
const ESCAPED_MIN: usize = 3;

/// So many lines are tried: of a log with line ends in its statements all are alike.
const ESCAPED_LINES_MAX: usize = 24;

/// Line ends in it became two signs.
fn may_be_escaped(text: &str) -> bool {
    let ends = memmem::find_iter(text.as_bytes(), b"\\n");
    match ends.take(ESCAPED_MIN).count() {
        0 => false,
        ESCAPED_MIN => true,
        _ => text.contains(STATUS_ON_A_LINE),
    }
}

/// The head of an InnoDB status whose line end became two signs.
const STATUS_ON_A_LINE: &str = "INNODB MONITOR OUTPUT\\n";

/// What `mysql --batch` escaped as it was.
fn unescape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let (sign, taken) = match after.as_bytes().first() {
            Some(b'n') => ('\n', 1),
            Some(b't') => ('\t', 1),
            Some(b'\\') => ('\\', 1),
            _ => ('\\', 0),
        };
        out.push(sign);
        rest = after.get(taken..).unwrap_or_default();
    }
    out.push_str(rest);
}

/// A longer text, or one of more lines, is no paste, and takes too much memory.
const DECORATED_BYTES_MAX: usize = 64 << 20;
const DECORATED_LINES_MAX: usize = 1 << 20;

fn without_decoration(text: &str) -> Cow<'_, str> {
    let count = || memchr::memchr_iter(b'\n', text.as_bytes()).count();
    if text.len() > DECORATED_BYTES_MAX || count() > DECORATED_LINES_MAX {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = line::split(text).collect();
    match decoration::undone(&lines, known) {
        Some(bare) => Cow::Owned(bare.join("\n")),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_on_one_line_has_its_lines_again() {
        let batch = r"InnoDB  INNODB MONITOR OUTPUT\nupdate t set a = 'it\\'s'\n\tx\\n";
        assert_eq!(
            with_lines(batch),
            "InnoDB  INNODB MONITOR OUTPUT\nupdate t set a = 'it\\'s'\n\tx\\n"
        );
        let json = r#"{"log":"x INNODB MONITOR OUTPUT\n","stream":"stderr"}"#;
        assert_eq!(with_lines(json), json);
    }
}
