//! Lists of plain literals, of which one item or row says as much as all.

use super::literals::{number, string_end};
use crate::scan::{byte_at, is_blank};

/// Blanks beside `IN` and `VALUES` that are looked over.
const BLANKS_MAX: usize = 8;

/// What a parenthesis opens.
#[derive(Clone, Copy)]
pub(super) enum ListKind {
    /// `IN (`
    Items,
    /// `VALUES (`
    Rows,
}

/// What a parenthesis opens after a skeleton's part, told by the word before it. That word has a blank before it, and
/// before that something ends which it cannot belong to: `t. in (1, 1)` calls a function.
pub(super) fn list_after(part: &[u8]) -> Option<ListKind> {
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
pub(super) struct Items<'a> {
    pub(super) text: &'a [u8],
    pub(super) escapes: bool,
    /// The quote of strings besides `'`, or `'` again.
    pub(super) other_quote: u8,
}

impl Items<'_> {
    /// Where the last of the items starts that have nothing but plain ones before them. All are `?`.
    pub(super) fn last_of_items(&self, from: usize) -> usize {
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

    /// Where the parenthesis of the last row is that has nothing but plain ones before it, none with more items than that.
    /// All are `(?+)`.
    pub(super) fn last_of_rows(&self, open: usize, row_items_max: usize) -> usize {
        let mut last = open;
        let Some(mut end) = self.row_end(open, row_items_max) else {
            return last;
        };
        loop {
            let comma = self.skip_blanks(end);
            let next = self.skip_blanks(comma + 1);
            if byte_at(self.text, comma) != b',' || byte_at(self.text, next) != b'(' {
                return last;
            }
            let Some(next_end) = self.row_end(next, row_items_max) else {
                return last;
            };
            last = next;
            end = next_end;
        }
    }

    /// The end of a row of plain items.
    fn row_end(&self, open: usize, items_max: usize) -> Option<usize> {
        let mut at = open;
        for _ in 0..items_max {
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
