//! Characters that terminals, browsers, editors and word processors put into a text, as the ones that a program printed.
//!
//! A capture goes through a terminal's recording, a chat, a word processor, a PDF: colours, blanks that do not break,
//! marks without width, typographic quotation marks, ligatures, boxes drawn with lines. Every reader would have to know
//! them all; so they are gone before any line is looked at.

use std::borrow::Cow;

use memchr::memmem;

use crate::line::has;

/// A longer text is no paste, and a copy of it takes too much memory.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// Longest sequence of a terminal that is looked for its end, in bytes: a window's title is one.
const SEQUENCE_BYTES_MAX: usize = 256;

/// So much of a text is looked at before it is asked whether there was something.
const PIECE_BYTES: usize = 4096;

const ESCAPE: char = '\u{1b}';

/// The text in plain characters.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.len() > TEXT_BYTES_MAX || is_plain(text) {
        return Cow::Borrowed(text);
    }
    // A terminal's sequences after something took their first character away, or wrote it as two.
    let has_shown = text.contains("^[[");
    let has_bare = text.contains("[0m") && !has_shown && !text.contains(ESCAPE);
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if is_plain(line) && !has_shown && !has_bare {
            out.push_str(line);
            continue;
        }
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line.trim_end_matches('\r'), "\n"),
            None => (line, ""),
        };
        let from = out.len();
        let line = match has_shown {
            true => Cow::Owned(line.replace("^[[", "\u{1b}[")),
            false => Cow::Borrowed(line),
        };
        let line = match has_bare {
            true => without_bare(&line),
            false => line,
        };
        one_line(&line, &mut out);
        if let Some(row) = out.get(from..).and_then(drawn_row) {
            out.truncate(from);
            out.push_str(&row);
        }
        out.push_str(end);
    }
    Cow::Owned(out)
}

/// Nothing in it is put right.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_control = |byte: &u8| *byte < b' ' && !matches!(byte, b'\n' | b'\t');
    // Each piece to its end: that is many bytes at once.
    let has_control = |piece: &[u8]| {
        piece
            .iter()
            .fold(false, |found, byte| found | is_control(byte))
    };
    let has_words = |words: &[u8]| memmem::find(bytes, words).is_some();
    text.is_ascii()
        && !bytes.chunks(PIECE_BYTES).any(has_control)
        && !(has(text, b'[') && (has_words(b"^[[") || has_words(b"[0m")))
}

/// A line without its end. A carriage return within it begins a line: so do old files end theirs, and progress that was
/// written over.
fn one_line(line: &str, out: &mut String) {
    let from = out.len();
    let mut rest = line;
    let mut open = OpenQuote::default();
    while let Some(char) = rest.chars().next() {
        let behind = rest.get(char.len_utf8()..).unwrap_or_default();
        rest = behind;
        open.pass(char);
        match char {
            ESCAPE => rest = behind_sequence(behind),
            '\r' if out.len() > from && !out.ends_with('\n') => {
                out.push('\n');
                open = OpenQuote::default();
            }
            '\u{8}' if out.len() > from => {
                out.pop();
            }
            '\t' | '\n' => out.push(char),
            '\0'..' ' => {}
            '\u{2013}' | '\u{2014}' => {
                let begins = out.is_empty() || out.ends_with(|c: char| c.is_whitespace());
                let is_option = begins && behind.starts_with(|c: char| c.is_alphanumeric());
                let is_long = is_option || (char == '\u{2014}' && begins);
                out.push_str(if is_long { "--" } else { "-" });
            }
            _ => match plain_char(char) {
                Some(plain) if !open.is(plain) => out.push_str(plain),
                _ => out.push(char),
            },
        }
    }
}

/// Which plain quotation marks are open at a place of a line. What would become another of the kind there is part of a
/// value: `'Alice’s card'` is one string, and `'Alice's card'` is none. A statement in JSON is within marks of the other
/// kind, so each is looked at alone.
#[derive(Default)]
pub(crate) struct OpenQuote {
    single: bool,
    double: bool,
    before: Option<char>,
}

impl OpenQuote {
    /// Goes over a character.
    pub(crate) fn pass(&mut self, char: char) {
        // `can't` opens nothing.
        let may_open = !self.before.is_some_and(char::is_alphanumeric);
        let may_close = self.before != Some('\\');
        let open = match char {
            '\'' => Some(&mut self.single),
            '"' => Some(&mut self.double),
            _ => None,
        };
        if let Some(open) = open {
            *open = match *open {
                true => !may_close,
                false => may_open,
            };
        }
        self.before = Some(char);
    }

    /// Whether this mark is one that is open.
    pub(crate) fn is(&self, mark: &str) -> bool {
        match mark {
            "'" => self.single,
            "\"" => self.double,
            _ => false,
        }
    }
}

/// What stands for a character; nothing where it stays as it is.
fn plain_char(char: char) -> Option<&'static str> {
    Some(match char {
        // Marks without width: where a word may break, which way it runs, in what order bytes are.
        '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}' => "",
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        '\u{2018}' | '\u{2019}' | '\u{201a}' => "'",
        '\u{201c}'..='\u{201e}' => "\"",
        '\u{2010}' | '\u{2011}' | '\u{2212}' => "-",
        '\u{2026}' => "...",
        '\u{fb00}' => "ff",
        '\u{fb01}' => "fi",
        '\u{fb02}' => "fl",
        '\u{fb03}' => "ffi",
        '\u{fb04}' => "ffl",
        _ => return None,
    })
}

/// The text behind a terminal's sequence whose escape was passed (ECMA-48, "Control functions"; a window's title ends
/// with a bell).
fn behind_sequence(text: &str) -> &str {
    let head = text
        .get(..text.floor_char_boundary(SEQUENCE_BYTES_MAX))
        .unwrap_or(text);
    let end = match head.as_bytes().first() {
        Some(b'[') => head
            .bytes()
            .skip(1)
            .position(|byte| (0x40..=0x7e).contains(&byte))
            .map(|at| at + 2),
        Some(b']') => head
            .find('\u{7}')
            .map(|at| at + 1)
            .or_else(|| head.find("\u{1b}\\").map(|at| at + 2)),
        Some(b'(' | b')') => Some(2),
        Some(_) => Some(1),
        None => None,
    };
    end.and_then(|end| text.get(end..)).unwrap_or(text)
}

/// Without `[0m` and `[1;31m`, whose escape is lost.
fn without_bare(line: &str) -> Cow<'_, str> {
    if !line.contains('[') {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once('[') {
        out.push_str(before);
        let end = behind.find(|c: char| !(c.is_ascii_digit() || c == ';'));
        match end {
            Some(end) if end > 0 && behind.get(end..).is_some_and(|end| end.starts_with('m')) => {
                rest = behind.get(end + 1..).unwrap_or_default();
            }
            _ => {
                out.push('[');
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// A row of a box, or a rule between its rows, that is drawn with lines (Unicode, "Box Drawing"), as `mysql` has it.
fn drawn_row(line: &str) -> Option<String> {
    let is_drawn = |c: char| ('\u{2500}'..='\u{257f}').contains(&c);
    let text = line.trim();
    let is_row = text.starts_with(is_drawn)
        && text.ends_with(is_drawn)
        && text.chars().filter(|c| is_drawn(*c)).count() > 1;
    let plain = |c: char| match c {
        '\u{2502}' | '\u{2503}' | '\u{2551}' => '|',
        '\u{2500}' | '\u{2501}' | '\u{2550}' => '-',
        c if is_drawn(c) => '+',
        c => c,
    };
    is_row.then(|| text.chars().map(plain).collect())
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_terminals_write_is_gone() {
        for (written, text) in [
            ("\u{1b}[32mInnoDB:\u{1b}[0m a\u{1b}[K\n", "InnoDB: a\n"),
            ("\u{1b}]0;root@db1: ~\u{7}\u{1b}[?2004l\ra\r\n", "a\n"),
            ("^[[32ma^[[0m\n", "a\n"),
            ("[0m[1;31ma[0m [Note] [x]\n", "a [Note] [x]\n"),
            ("_\u{8}a\u{8}ab\n", "ab\n"),
            ("a\rb\rc", "a\nb\nc"),
            ("a\r\r\nb\r\n", "a\nb\n"),
            ("\u{c}a\n", "a\n"),
            ("\u{1b}", ""),
            ("\u{1b}[31", "[31"),
        ] {
            assert_eq!(plain(written), text, "{written:?}");
        }
    }

    #[test]
    fn what_editors_write_is_plain() {
        for (written, text) in [
            ("a\u{200b}_b\u{ad}c\u{feff} d\u{a0}\u{202f}e", "a_bc d  e"),
            ("\u{2018}a\u{2019} \u{201c}b\u{201d}", "'a' \"b\""),
            (
                "\u{2014}Thread 1 \u{2013}skip a\u{2013}b",
                "--Thread 1 --skip a-b",
            ),
            ("\u{fb01}l\u{fb02} \u{2026}", "filfl ..."),
        ] {
            assert_eq!(plain(written), text, "{written:?}");
        }
    }

    #[test]
    fn a_mark_within_a_value_stays() {
        for text in [
            "VALUES ('Alice\u{2019}s card', 5)",
            "VALUES ('x', 'the users\u{2019} cards', 'it''s Alice\u{2019}s')",
            "VALUES (\"say \u{201c}x\u{201d} to\", 5)",
            "VALUES ('it\\'s Alice\u{2019}s', 5)",
            // Cut by the server.
            "VALUES ('Alice\u{2019}s ca",
            "{\"Info\": \"VALUES ('Alice\u{2019}s card')\"}",
            "{\"Info\": \"VALUES (\\\"say \u{201c}x\u{201d} to\\\")\"}",
        ] {
            assert_eq!(plain(text), text);
        }
        for (written, text) in [
            ("can't find \u{2018}x\u{2019}", "can't find 'x'"),
            ("'a' = \u{2018}b\u{2019}", "'a' = 'b'"),
            ("\"Can\u{2019}t create\"", "\"Can't create\""),
            ("'say \u{201c}x\u{201d}'", "'say \"x\"'"),
            ("'a\r\u{2018}b\u{2019}", "'a\n'b'"),
        ] {
            assert_eq!(plain(written), text, "{written:?}");
        }
    }

    #[test]
    fn boxes_that_are_drawn_are_those_of_mysql() {
        let drawn = "┌────┬───┐\n│ Id │ A │\n╞════╪═══╡\n║ 1  ║ é ║\n╰────┴───╯\n";
        let boxed = "+----+---+\n| Id | A |\n+----+---+\n| 1  | é |\n+----+---+\n";
        assert_eq!(plain(drawn), boxed);
        for text in ["├─1234 mysqld\n", "│ a\n", "─\n"] {
            assert_eq!(plain(text), text);
        }
    }

    #[test]
    fn plain_text_is_not_copied() {
        let text = "a\tb\n[0] c ^ d\n";
        assert!(matches!(plain(text), std::borrow::Cow::Borrowed(_)));
    }
}
