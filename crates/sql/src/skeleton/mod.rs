//! A statement with its plain literals replaced, fast: statements that differ in nothing else have the same skeleton.
//!
//! A skeleton is a statement itself, and its fingerprint is the statement's. So it is enough to make the fingerprint of
//! one statement of a skeleton. The converse does not hold: many skeletons may have one fingerprint.
//!
//! One pass, eight bytes at a time. Numbers become `1` where they surely are numbers, strings `''`, comments empty;
//! equal items of `IN (…)` and rows after `VALUES` are left out where they are plain. Whatever would need the lexer's
//! care (dollar quotes, version comments and hints with more than words and numbers in them) makes the statement its own
//! skeleton.

mod eight;
mod lists;
mod literals;

use crate::lexer::SqlMode;
use crate::scan::{byte_at, is_blank};
use eight::{HIGH, at_least, end_where, equal, load};
use lists::{Items, ListKind, list_after};
use literals::{may_be_beside_number, number, string_end};

/// Longest skeleton, in bytes; a statement with a longer one is its own.
const SKELETON_BYTES_MAX: usize = 64 * 1024;

/// Lists are shortened where the bytes before them and the items of a row are no more than this together. So what is
/// written of a list before the fingerprint shortens it stays below [`crate::REDACTED_BYTES_MAX`], even if each byte
/// before it is no UTF-8 and becomes three (an item is `, ?`): no list is cut that is not cut in the skeleton.
const BEFORE_LIST_AND_ROW_MAX: usize = 660;

/// Room for skeletons.
pub(crate) struct Skeleton {
    mode: SqlMode,
    room: Vec<u8>,
}

impl Skeleton {
    pub(crate) fn new(mode: SqlMode) -> Self {
        Self {
            mode,
            room: Vec::new(),
        }
    }

    /// The skeleton of a statement.
    pub(crate) fn of<'a>(&'a mut self, statement: &'a [u8]) -> &'a [u8] {
        let room = (statement.len() + 16).min(SKELETON_BYTES_MAX);
        if self.room.len() < room {
            self.room.resize(room, 0);
        }
        let mut writer = Writer {
            text: statement,
            output: &mut self.room,
            at: 0,
            length: 0,
            mode: self.mode,
        };
        let length = writer.write().map(|()| writer.length);
        length
            .and_then(|length| self.room.get(..length))
            .unwrap_or(statement)
    }
}

struct Writer<'a> {
    text: &'a [u8],
    output: &'a mut [u8],
    /// What is before this place is done.
    at: usize,
    /// Bytes of the skeleton.
    length: usize,
    mode: SqlMode,
}

impl Writer<'_> {
    /// Writes all of the skeleton; `None` when the statement has to be its own.
    fn write(&mut self) -> Option<()> {
        while self.at < self.text.len() {
            let (word, valid) = load(self.text, self.at);
            self.store(word)?;
            let mut flags = interesting(word);
            loop {
                if flags == 0 {
                    self.at += valid;
                    self.length += valid;
                    break;
                }
                let offset = (flags.trailing_zeros() / 8) as usize;
                flags &= flags - 1;
                let place = self.at + offset;
                let ordinary = match byte_at(self.text, place) {
                    b'0'..=b'9' => {
                        if is_inside_of_name(self.text, place) {
                            continue;
                        }
                        let Some((end, canon)) = number(self.text, place) else {
                            continue;
                        };
                        self.skip_to(offset, end);
                        self.emit(canon)?;
                        break;
                    }
                    b'\'' | b'"' | b'`' => false,
                    b'(' => !self.opens_list(offset),
                    b'-' => !self.opens_line_comment(place),
                    b'/' => byte_at(self.text, place + 1) != b'*',
                    b'#' => false,
                    b'$' => return None,
                    _ => true,
                };
                if !ordinary {
                    self.skip_to(offset, place);
                    self.token(byte_at(self.text, place))?;
                    break;
                }
            }
        }
        Some(())
    }

    /// The bytes up to the offset are copied already; goes on at `place`.
    fn skip_to(&mut self, offset: usize, place: usize) {
        self.length += offset;
        self.at = place;
    }

    fn store(&mut self, word: u64) -> Option<()> {
        self.output
            .get_mut(self.length..self.length + 8)?
            .copy_from_slice(&word.to_le_bytes());
        Some(())
    }

    fn emit(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.length + bytes.len();
        self.output
            .get_mut(self.length..end)?
            .copy_from_slice(bytes);
        self.length = end;
        Some(())
    }

    /// What starts here with `first` and is no number.
    fn token(&mut self, first: u8) -> Option<()> {
        match first {
            b'(' => self.list(),
            b'/' => self.comment(),
            b'#' | b'-' => self.line_comment(first),
            b'`' => self.quoted_name(first),
            b'"' if self.mode.ansi_quotes => self.quoted_name(first),
            _ => {
                let end = string_end(self.text, self.at, !self.mode.no_backslash_escapes);
                // A string that never ends needs no second quote to be one.
                let canon = [first, first];
                let canon: &[u8] = if end.is_some() { &canon } else { &canon[..1] };
                self.at = end.unwrap_or(self.text.len());
                self.emit(canon)
            }
        }
    }

    /// Copied as it is; a doubled quote is two names here, with the same bytes.
    fn quoted_name(&mut self, quote: u8) -> Option<()> {
        let end = end_where(self.text, self.at + 1, |word| equal(word, quote)) + 1;
        let end = end.min(self.text.len());
        let name = self.text.get(self.at..end)?;
        self.at = end;
        self.emit(name)
    }

    fn comment(&mut self) -> Option<()> {
        let end = comment_end(self.text, self.at + 2);
        if let Some([b'!' | b'+', ..] | [b'M', b'!', ..]) = self.text.get(self.at + 2..) {
            return self.version_comment_or_hint(end?);
        }
        match end {
            Some(end) => {
                self.at = end;
                self.emit(b"/**/")
            }
            None => {
                self.at = self.text.len();
                self.emit(b"/*")
            }
        }
    }

    /// Copied as it is when nothing in it could hide its end; otherwise `None`.
    fn version_comment_or_hint(&mut self, end: usize) -> Option<()> {
        let comment = self.text.get(self.at..end)?;
        let is_calm = |byte: &u8| {
            byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b' ' | b'_' | b'(' | b')' | b',' | b'.' | b'=' | b'+' | b'!'
                )
        };
        let inside = comment.get(2..comment.len() - 2)?;
        if !inside.iter().all(is_calm) {
            return None;
        }
        self.at = end;
        self.emit(comment)
    }

    /// Two minuses and a blank start a comment, and so do two at the end.
    fn opens_line_comment(&self, place: usize) -> bool {
        byte_at(self.text, place + 1) == b'-' && is_blank(byte_at(self.text, place + 2))
    }

    fn line_comment(&mut self, first: u8) -> Option<()> {
        let ends = |byte: u8| matches!(byte, b'\n' | 0);
        let canon: &[u8] = match first {
            b'#' => b"#",
            _ if ends(byte_at(self.text, self.at + 2)) => b"--",
            _ => b"-- ",
        };
        self.at = end_where(self.text, self.at, |word| {
            equal(word, b'\n') | equal(word, 0)
        });
        self.emit(canon)
    }

    /// Whether what is copied, with `offset` bytes more, opens a list that may be shortened.
    fn opens_list(&self, offset: usize) -> bool {
        let before = self.output.get(..self.length + offset);
        self.length < BEFORE_LIST_AND_ROW_MAX && before.and_then(list_after).is_some()
    }

    /// Writes the parenthesis and goes on at the last of the items, or rows, that are equal.
    fn list(&mut self) -> Option<()> {
        let escapes = !self.mode.no_backslash_escapes;
        let quote = if self.mode.ansi_quotes { b'\'' } else { b'"' };
        let items = Items {
            text: self.text,
            escapes,
            other_quote: quote,
        };
        self.at = match self.output.get(..self.length).and_then(list_after) {
            Some(ListKind::Items) => items.last_of_items(self.at + 1),
            Some(ListKind::Rows) => {
                let row_items_max = BEFORE_LIST_AND_ROW_MAX.saturating_sub(self.length);
                items.last_of_rows(self.at, row_items_max) + 1
            }
            None => self.at + 1,
        };
        self.emit(b"(")
    }
}

/// The high bit of each byte that may begin what is replaced: digits, quotes, `#`, `$`, `(`, `-`, `/`; also `%`, `&`.
const fn interesting(word: u64) -> u64 {
    let low = word & !HIGH;
    let quotes = at_least(low, b'"') & !at_least(low, b'(' + 1);
    let digits = at_least(low, b'-') & !at_least(low, b'9' + 1);
    let ranges = (quotes | digits) & !word & HIGH;
    (ranges & !equal(word, b'.')) | equal(word, b'`')
}

/// Whether a digit belongs to a name or a number, or may.
fn is_inside_of_name(text: &[u8], place: usize) -> bool {
    let before = |distance| place.checked_sub(distance).map(|at| byte_at(text, at));
    match before(1) {
        None | Some(b'(') => false,
        // `1e-5` is one number, and what may follow it differs.
        Some(b'-' | b'+') => matches!(before(2), Some(b'e' | b'E')),
        Some(byte) => !may_be_beside_number(byte),
    }
}

/// The end of a block comment whose inside starts at `from`.
fn comment_end(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at = end_where(text, at, |word| equal(word, b'*'));
        if at >= text.len() {
            return None;
        }
        if byte_at(text, at + 1) == b'/' {
            return Some(at + 2);
        }
        at += 1;
    }
}
