//! Where plain numbers and strings end.

use super::eight::{digits_end, end_where, equal};
use crate::scan::byte_at;

/// Bytes of no token that could have a number as a part of it.
pub(super) fn may_be_beside_number(byte: u8) -> bool {
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
pub(super) fn number(text: &[u8], start: usize) -> Option<(usize, &'static [u8])> {
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

/// The end of the string that opens here, as [`crate::scan::quoted_end`] tells it.
pub(super) fn string_end(text: &[u8], open: usize, escapes: bool) -> Option<usize> {
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
