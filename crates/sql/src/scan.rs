//! Where a token ends: the loops over bytes under the lexer.
//!
//! Every position given and returned is one of an ASCII byte or the end of the text, hence a character boundary.

/// Reads like MySQL's lexer: past the end there is a NUL.
pub(crate) fn byte(text: &str, at: usize) -> u8 {
    byte_at(text.as_bytes(), at)
}

/// [`byte`] of bytes.
pub(crate) fn byte_at(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

/// The first position from `from` whose byte is not `wanted`; the text's end when all are.
pub(crate) fn end_of(text: &str, from: usize, wanted: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    rest.iter()
        .position(|&byte| !wanted(byte))
        .map_or(text.len(), |length| from + length)
}

/// Blanks and control characters. MySQL knows six blanks; the other control characters never belong to a correct
/// statement, and as blanks they cannot reach a terminal.
pub(crate) fn is_blank(byte: u8) -> bool {
    byte <= b' ' || byte == 0x7f
}

/// Bytes of an unquoted name (MySQL 8.4 Reference Manual, 11.2 "Schema Object Names": `[0-9a-zA-Z$_]` and U+0080 up).
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// The end of a string or quoted name whose opening quote is at `open`; `None` when the text ends inside it.
/// A doubled quote stands for one; a backslash takes the next byte with it where `escapes` says so.
pub(crate) fn quoted_end(text: &str, open: usize, escapes: bool) -> Option<usize> {
    let quote = byte(text, open);
    let mut at = open + 1;
    loop {
        at = end_of(text, at, |byte| {
            byte != quote && !(escapes && byte == b'\\')
        });
        if at >= text.len() {
            return None;
        }
        if byte(text, at) != quote || byte(text, at + 1) == quote {
            at += 2;
        } else {
            return Some(at + 1);
        }
    }
}

/// The end of a line comment: the newline, or the NUL at which MySQL stops too (`MY_LEX_COMMENT` in sql_lex.cc).
pub(crate) fn line_comment_end(text: &str, from: usize) -> usize {
    end_of(text, from, |byte| byte != b'\n' && byte != 0)
}

/// The end of a block comment that opens at `open`.
pub(crate) fn block_comment_end(text: &str, open: usize) -> usize {
    let body = open + 2;
    let length = text.get(body..).and_then(|rest| rest.find("*/"));
    length.map_or(text.len(), |length| body + length + 2)
}

/// The end of a dollar-quoted string (`$$…$$`, `$tag$…$tag$`; MySQL 8.1 and up, the body of a stored program) that
/// would open at `open`; `Some(None)` when the text ends inside it, `None` when none opens here.
pub(crate) fn dollar_quoted_end(text: &str, open: usize) -> Option<Option<usize>> {
    let tag_end = end_of(text, open + 1, |byte| is_word(byte) && byte != b'$');
    if byte(text, tag_end) != b'$' {
        return None;
    }
    let body = tag_end + 1;
    let tag = text.get(open..body)?;
    let length = text.get(body..)?.find(tag);
    Some(length.map(|length| body + length + tag.len()))
}

/// The end of the number that starts at `start` with a digit or with a point before a digit; `None` when these digits
/// begin a name (`2024_sales`).
///
/// Follows `MY_LEX_NUMBER_IDENT` and `MY_LEX_REAL` in sql_lex.cc but for two cases, so that a number stays one when the
/// statement is cut off inside it and when a tool writes it otherwise: `12e` is a number and so is `0XFF`.
pub(crate) fn number_end(text: &str, start: usize) -> Option<usize> {
    let digits_end = |from| end_of(text, from, |byte| byte.is_ascii_digit());
    if byte(text, start) == b'0' {
        let end = match byte(text, start + 1) {
            b'x' | b'X' => end_of(text, start + 2, |byte| byte.is_ascii_hexdigit()),
            b'b' | b'B' => end_of(text, start + 2, |byte| matches!(byte, b'0' | b'1')),
            _ => 0,
        };
        if end > 0 {
            return (end > start + 2 && !is_word(byte(text, end))).then_some(end);
        }
    }
    let mut end = digits_end(start);
    let has_point = byte(text, end) == b'.';
    if has_point {
        end = digits_end(end + 1);
    }
    if matches!(byte(text, end), b'e' | b'E') {
        let sign_bytes = usize::from(matches!(byte(text, end + 1), b'+' | b'-'));
        let exponent = end + 1 + sign_bytes;
        let exponent_end = digits_end(exponent);
        if exponent_end > exponent {
            return Some(exponent_end);
        }
        if !is_word(byte(text, end + 1)) {
            return Some(end + 1);
        }
    }
    (has_point || !is_word(byte(text, end))).then_some(end)
}

/// The length of an operator that starts with `first`.
pub(crate) fn operator_length(first: u8, second: u8, third: u8) -> usize {
    match (first, second, third) {
        (b'<', b'=', b'>') | (b'-', b'>', b'>') => 3,
        (b'<', b'=' | b'>' | b'<', _)
        | (b'>', b'=' | b'>', _)
        | (b'-', b'>', _)
        | (b':' | b'!', b'=', _)
        | (b'&', b'&', _)
        | (b'|', b'|', _) => 2,
        _ => 1,
    }
}
