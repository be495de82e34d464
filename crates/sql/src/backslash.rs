//! Whether a backslash in a string is an escape: a log, a packet, a processlist do not tell the session's `sql_mode`, and
//! of the two readings the wrong one takes strings for what is between them.

use crate::lexer::{Lexer, SqlMode, TokenKind};

const NO_ESCAPES: SqlMode = SqlMode {
    ansi_quotes: false,
    no_backslash_escapes: true,
};

/// The beginning of a statement of an unknown session that may be read in the default mode: all of it where both ways to
/// read a backslash agree, or where only the usual one gives a statement (every string ends, no backslash stands outside
/// of one). Else it ends at the first backslash, whose string is then one that never ends, of which nothing is shown.
///
/// `'it\'s', 'x'` is read as usual: without escapes its last quote would open a string. `'C:\', 'secret'` ends at the
/// backslash: as usual its last quote would.
pub(crate) fn readable(statement: &str) -> &str {
    let Some(first) = statement.find('\\') else {
        return statement;
    };
    if !ends_a_string(statement.as_bytes()) || is_alike(statement) {
        return statement;
    }
    if is_statement(statement, SqlMode::default()) && !is_statement(statement, NO_ESCAPES) {
        return statement;
    }
    statement.get(..first).unwrap_or_default()
}

/// Whether a string, a quoted name or a comment of the statement may have no end yet, so that what follows in a text belongs
/// to it.
///
/// ```
/// assert!(sql::is_open("UPDATE t SET a = '"));
/// assert!(!sql::is_open("UPDATE t SET a = 'x'"));
/// ```
pub fn is_open(statement: &str) -> bool {
    let bytes = statement.as_bytes();
    let may_open = |byte: &u8| matches!(byte, b'\'' | b'"' | b'`' | b'$' | b'*');
    if !bytes.iter().any(may_open) {
        return false;
    }
    let modes: &[SqlMode] = match memchr::memchr(b'\\', bytes) {
        None => &[NO_ESCAPES],
        Some(_) => &[SqlMode::default(), NO_ESCAPES],
    };
    modes.iter().any(|mode| {
        let last = Lexer::new(statement, *mode).last();
        last.is_some_and(|token| match token.kind {
            TokenKind::Unterminated => true,
            TokenKind::Comment => token.text.starts_with("/*") && !token.text.ends_with("*/"),
            _ => false,
        })
    })
}

/// Whether a backslash stands before a quote: elsewhere it moves no end of a string.
pub(crate) fn ends_a_string(statement: &[u8]) -> bool {
    statement
        .windows(2)
        .any(|pair| matches!(pair, [b'\\', b'\'' | b'"']))
}

/// Whether both readings have the same tokens.
fn is_alike(statement: &str) -> bool {
    let usual = Lexer::new(statement, SqlMode::default());
    let other = Lexer::new(statement, NO_ESCAPES);
    usual.eq(other)
}

/// Whether every string ends and no backslash stands outside of one, but for `\N`, which is `NULL`.
fn is_statement(statement: &str, mode: SqlMode) -> bool {
    let mut after_backslash = false;
    for token in Lexer::new(statement, mode) {
        if after_backslash && token.text != "N" {
            return false;
        }
        after_backslash = token.kind == TokenKind::Operator && token.text.contains('\\');
        if token.kind == TokenKind::Unterminated {
            return false;
        }
    }
    !after_backslash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reading_that_gives_a_statement_is_believed() {
        for statement in [
            "SELECT 1",
            r"SELECT 'a\nb', '\\d', c",
            r"INSERT INTO t VALUES ('it\'s', 'x')",
            r"INSERT INTO t VALUES ('it\'s', 'that\'s')",
            r#"SELECT "say \"x\"", '\'', \N"#,
            r"SELECT 'C:\\', 'x'",
        ] {
            assert_eq!(readable(statement), statement);
        }
    }

    #[test]
    fn what_may_be_read_in_two_ways_ends_at_the_backslash() {
        for (statement, readable_part) in [
            (r"SELECT 'C:\', 'secret'", "SELECT 'C:"),
            (r"SELECT 'C:\', 'secret', 'D:\', 'more'", "SELECT 'C:"),
            (r"SELECT 'x\', 'a \b ''c'' \'' d', '\'", "SELECT 'x"),
            // Cut in a string: both have lost an end.
            (
                r"INSERT INTO t VALUES ('it\'s', 'secr",
                "INSERT INTO t VALUES ('it",
            ),
        ] {
            assert_eq!(readable(statement), readable_part);
            assert!(!crate::redact(readable_part).contains("secr"));
        }
    }
}
