//! The little of Perl's regular expressions that the rules need, on bytes.

use std::borrow::Cow;

/// `\s` of Perl 5.18 and later for bytes.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// `\w` for bytes.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The byte at a place; NUL, which no rule looks for, past the end.
pub(super) fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

pub(super) fn tail(text: &[u8], from: usize) -> &[u8] {
    text.get(from..).unwrap_or_default()
}

/// `\b`
pub(super) fn is_boundary(text: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).is_some_and(|at| is_word(byte(text, at)));
    before != is_word(byte(text, at))
}

/// Whether a word stands here, in any case.
pub(super) fn has_word(text: &[u8], at: usize, word: &[u8]) -> bool {
    text.get(at..at + word.len())
        .is_some_and(|found| found.eq_ignore_ascii_case(word))
}

/// The first place from `from` on whose byte is not `wanted`; the end when all are.
pub(super) fn end_of(text: &[u8], from: usize, wanted: impl Fn(u8) -> bool) -> usize {
    let rest = tail(text, from);
    let length = rest.iter().position(|&byte| !wanted(byte));
    from.min(text.len()) + length.unwrap_or(rest.len())
}

pub(super) fn skip_spaces(text: &[u8], from: usize) -> usize {
    end_of(text, from, is_space)
}

/// The first place from `from` on where these two bytes are.
pub(super) fn find_pair(text: &[u8], from: usize, pair: [u8; 2]) -> Option<usize> {
    let at = tail(text, from).windows(2).position(|two| two == pair)?;
    Some(from + at)
}

/// `s/…/…/g`: tries a match at each place whose byte `starts` one, from left to right and not inside of an earlier match.
/// `matched` is given the text, the place and an empty vector for the replacement, and returns the end of the match,
/// which is behind the place.
pub(super) fn replace_all(
    text: &mut Cow<'_, [u8]>,
    starts: impl Fn(u8) -> bool,
    mut matched: impl FnMut(&[u8], usize, &mut Vec<u8>) -> Option<usize>,
) {
    let mut output = Vec::new();
    let mut replacement = Vec::new();
    // What is before this place is in the output.
    let mut written = 0;
    let mut at = 0;
    while let Some(distance) = tail(text, at).iter().position(|&byte| starts(byte)) {
        at += distance;
        replacement.clear();
        let Some(end) = matched(text, at, &mut replacement) else {
            at += 1;
            continue;
        };
        output.extend_from_slice(text.get(written..at).unwrap_or_default());
        output.extend_from_slice(&replacement);
        written = end.max(at + 1);
        at = written;
    }
    if written > 0 {
        output.extend_from_slice(tail(text, written));
        *text = Cow::Owned(output);
    }
}
