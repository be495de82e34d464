//! A statement with its plain literals replaced, fast: statements that differ in nothing else have the same skeleton.
//!
//! A skeleton is a statement itself, and its fingerprint is the statement's. So it is enough to make the fingerprint of
//! one statement of a skeleton. The converse does not hold: many skeletons may have one fingerprint.
//!
//! One pass, eight bytes at a time. Numbers become `1` where they surely are numbers, strings `''`, comments empty;
//! equal items of `IN (…)` and rows after `VALUES` are left out where they are plain. Whatever would need the lexer's
//! care (dollar quotes, version comments and hints with more than words and numbers in them) makes the statement its own skeleton.

use crate::lexer::SqlMode;
use crate::scan::{byte_at, is_blank};

/// Longest skeleton, in bytes; a statement with a longer one is its own.
const SKELETON_BYTES_MAX: usize = 64 * 1024;

/// Lists are shortened where no more than this is before them, and no row has more items. So what is written of a list
/// before the fingerprint shortens it stays below [`crate::REDACTED_BYTES_MAX`], even if each byte before it is no UTF-8
/// and becomes three: no list is cut that is not cut in the skeleton.
const BEFORE_ITEMS_BYTES_MAX: usize = 640;
const BEFORE_ROWS_BYTES_MAX: usize = 400;
const ROW_ITEMS_MAX: usize = 256;

/// Blanks beside `IN` and `VALUES` that are looked over.
const BLANKS_MAX: usize = 8;

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
        match before.and_then(list_after) {
            Some(ListKind::Items) => self.length <= BEFORE_ITEMS_BYTES_MAX,
            Some(ListKind::Rows) => self.length <= BEFORE_ROWS_BYTES_MAX,
            None => false,
        }
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
            Some(ListKind::Rows) => items.last_of_rows(self.at) + 1,
            None => self.at + 1,
        };
        self.emit(b"(")
    }
}

/// Eight bytes from a place on, the first one lowest, and how many of them there are; the others are 0.
fn load(text: &[u8], at: usize) -> (u64, usize) {
    if let Some(Ok(bytes)) = text.get(at..at + 8).map(TryInto::try_into) {
        return (u64::from_le_bytes(bytes), 8);
    }
    let valid = text.len().saturating_sub(at);
    if let Some(bytes) = text.last_chunk::<8>()
        && valid > 0
    {
        return (u64::from_le_bytes(*bytes) >> (8 * (8 - valid)), valid);
    }
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(text.get(at..).unwrap_or_default()) {
        *to = *from;
    }
    (u64::from_le_bytes(bytes), valid)
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte that is at least `limit` when its own high bit is left out.
const fn at_least(low: u64, limit: u8) -> u64 {
    low + ONES * (0x80 - limit as u64)
}

/// The high bit of each byte that is this one.
const fn equal(word: u64, byte: u8) -> u64 {
    let difference = word ^ (ONES * byte as u64);
    !(((difference & !HIGH) + !HIGH) | difference) & HIGH
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

/// Bytes of no token that could have a number as a part of it.
fn may_be_beside_number(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t'
            | b'\n'
            | b'\r'
            | b','
            | b';'
            | b'='
            | b'<'
            | b'>'
            | b'+'
            | b'-'
            | b'*'
            | b'/'
            | b'%'
            | b'|'
            | b'&'
            | b'^'
            | b'!'
    )
}

/// The end of the plain number that starts here, and what stands for it.
fn number(text: &[u8], start: usize) -> Option<(usize, &'static [u8])> {
    let mut canon: &[u8] = b"1";
    let mut end = digits_end(text, start);
    match byte_at(text, end) {
        b'.' => end = digits_end(text, end + 1),
        b'x' | b'X' if end == start + 1 && byte_at(text, start) == b'0' => {
            let digits = text.get(end + 1..)?;
            let length = digits.iter().take_while(|byte| byte.is_ascii_hexdigit());
            let length = length.count();
            if length == 0 {
                return None;
            }
            end += 1 + length;
            // With an introducer before it, this one is a string.
            canon = b"0x1";
        }
        _ => {}
    }
    let next = byte_at(text, end);
    let ends = end >= text.len() || next == b')' || may_be_beside_number(next);
    ends.then_some((end, canon))
}

fn digits_end(text: &[u8], from: usize) -> usize {
    end_where(text, from, |word| {
        let low = word & !HIGH;
        !(at_least(low, b'0') & !at_least(low, b'9' + 1) & !word) & HIGH
    })
}

/// The first place from `from` on whose byte's high bit is set in the flags of the eight bytes that it is one of; the
/// end when there is none.
fn end_where(text: &[u8], from: usize, flags: impl Fn(u64) -> u64) -> usize {
    let mut at = from;
    loop {
        let (word, valid) = load(text, at);
        let offset = (flags(word).trailing_zeros() / 8) as usize;
        if offset < valid {
            return at + offset;
        }
        at += valid;
        if valid < 8 {
            return at;
        }
    }
}

/// The end of the string that opens here, as [`crate::scan::quoted_end`] tells it.
fn string_end(text: &[u8], open: usize, escapes: bool) -> Option<usize> {
    let quote = byte_at(text, open);
    let mut at = open + 1;
    loop {
        at = end_where(text, at, |word| {
            let backslashes = if escapes { equal(word, b'\\') } else { 0 };
            equal(word, quote) | backslashes
        });
        if at >= text.len() {
            return None;
        }
        if byte_at(text, at) != quote || byte_at(text, at + 1) == quote {
            at += 2;
        } else {
            return Some(at + 1);
        }
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

/// What a parenthesis opens.
#[derive(Clone, Copy)]
enum ListKind {
    /// `IN (`
    Items,
    /// `VALUES (`
    Rows,
}

/// What a parenthesis opens after a skeleton's part, told by the word before it. That word has a blank before it, and
/// before that something ends which it cannot belong to: `t. in (1, 1)` calls a function.
fn list_after(part: &[u8]) -> Option<ListKind> {
    let before = trim_blanks(part);
    let (kind, rest) = if ends_with_word(before, b"in") {
        (ListKind::Items, before.len() - 2)
    } else if ends_with_word(before, b"values") {
        (ListKind::Rows, before.len() - 6)
    } else {
        return None;
    };
    let rest = before.get(..rest)?;
    let earlier = trim_blanks(rest);
    let last = earlier.last().copied()?;
    let is_apart = earlier.len() < rest.len();
    (is_apart && (last.is_ascii_alphanumeric() || matches!(last, b'_' | b')' | b'`')))
        .then_some(kind)
}

fn ends_with_word(text: &[u8], word: &[u8]) -> bool {
    let start = text.len().checked_sub(word.len());
    start
        .and_then(|start| text.get(start..))
        .is_some_and(|end| end.eq_ignore_ascii_case(word))
}

fn trim_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().rev().take(BLANKS_MAX);
    let count = blanks.take_while(|&&byte| is_blank(byte)).count();
    text.get(..text.len() - count).unwrap_or(text)
}

/// Items of lists that are nothing but a literal.
struct Items<'a> {
    text: &'a [u8],
    escapes: bool,
    /// The quote of strings besides `'`, or `'` again.
    other_quote: u8,
}

impl Items<'_> {
    /// Where the last of the items starts that have nothing but plain ones before them. All are `?`.
    fn last_of_items(&self, from: usize) -> usize {
        let mut last = from;
        let Some(mut end) = self.item_end(from, false) else {
            return last;
        };
        while byte_at(self.text, end) == b',' {
            let next = end + 1;
            let Some(next_end) = self.item_end(next, false) else {
                break;
            };
            last = next;
            end = next_end;
        }
        last
    }

    /// Where the parenthesis of the last row is that has nothing but plain ones before it. All are `(?+)`.
    fn last_of_rows(&self, open: usize) -> usize {
        let mut last = open;
        let Some(mut end) = self.row_end(open) else {
            return last;
        };
        loop {
            let comma = self.skip_blanks(end);
            let next = self.skip_blanks(comma + 1);
            if byte_at(self.text, comma) != b',' || byte_at(self.text, next) != b'(' {
                return last;
            }
            let Some(next_end) = self.row_end(next) else {
                return last;
            };
            last = next;
            end = next_end;
        }
    }

    /// The end of a row of plain items.
    fn row_end(&self, open: usize) -> Option<usize> {
        let mut at = open;
        for _ in 0..ROW_ITEMS_MAX {
            at = self.item_end(at + 1, true)?;
            match byte_at(self.text, at) {
                b',' => {}
                b')' => return Some(at + 1),
                _ => return None,
            }
        }
        None
    }

    /// Where the comma or parenthesis after a plain item is; where the text ends, for an item that it ends with.
    fn item_end(&self, from: usize, in_row: bool) -> Option<usize> {
        let start = self.skip_blanks(from);
        let end = match byte_at(self.text, start) {
            b'-' | b'+' if byte_at(self.text, start + 1).is_ascii_digit() => {
                number(self.text, start + 1)?.0
            }
            b'0'..=b'9' => number(self.text, start)?.0,
            quote if quote == b'\'' || quote == self.other_quote => {
                string_end(self.text, start, self.escapes)?
            }
            _ => self.word_end(start, in_row)?,
        };
        let end = self.skip_blanks(end);
        let next = byte_at(self.text, end);
        (matches!(next, b',' | b')') || end >= self.text.len()).then_some(end)
    }

    fn word_end(&self, start: usize, in_row: bool) -> Option<usize> {
        let words: [&[u8]; 4] = [b"null", b"true", b"false", b"default"];
        let known = if in_row { 4 } else { 3 };
        let rest = self.text.get(start..)?;
        let word = words.iter().take(known).find(|word| {
            rest.get(..word.len())
                .is_some_and(|found| found.eq_ignore_ascii_case(word))
        })?;
        let end = start + word.len();
        let next = byte_at(self.text, end);
        (is_blank(next) || matches!(next, b',' | b')')).then_some(end)
    }

    fn skip_blanks(&self, from: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|&&byte| is_blank(byte)).count()
    }
}
