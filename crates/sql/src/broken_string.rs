//! Strings that end too early.
//!
//! A program that puts values into its statements without escaping them sends `'Alice's card is 4711'`; the server answers
//! with a syntax error, and the general log, a packet, a list of sessions hold the statement. So do tickets: a page, a mail
//! or a word processor turns the marks within a value into plain quotes. Read as SQL, the value's rest is names.
//!
//! SQL puts no name directly behind a string, and no two behind one: that is an alias at the most, and then a word of the
//! grammar or a sign follows. Where it is otherwise the string has ended too early, and nothing behind it is shown.

use crate::lexer::{Lexer, Token, TokenKind};
use crate::prose::{is_behind_is, is_of_grammar};
use crate::scan::{byte, end_of, is_blank, is_word};
use crate::word::ShortWord;

/// Whether the string that ends where `behind` starts is one that ended too early.
pub(crate) fn ends_too_early(behind: &Lexer<'_>) -> bool {
    let rest = behind.rest();
    let at = end_of(rest, 0, is_blank);
    let next = byte(rest, at);
    // Nearly always a sign follows, and nothing has to be read.
    if !is_word(next) && !matches!(next, b'`' | b'/') {
        return false;
    }
    let mut tokens = behind.clone().filter(|token| !is_gap(*token));
    let Some(first) = tokens.next() else {
        return false;
    };
    let touches = at == 0 && next != b'/';
    match first.kind {
        TokenKind::Word if touches => !may_touch(first.text),
        TokenKind::Word => match first.text.eq_ignore_ascii_case("is") {
            true => tokens.next().is_some_and(|what| !may_follow_is(what)),
            false => !is_of_statements(first.text) && tokens.next().is_some_and(goes_on),
        },
        TokenKind::Number if touches => true,
        TokenKind::Number | TokenKind::QuotedName => tokens.next().is_some_and(goes_on),
        _ => false,
    }
}

fn is_gap(token: Token<'_>) -> bool {
    matches!(
        token.kind,
        TokenKind::Whitespace
            | TokenKind::Comment
            | TokenKind::VersionOpen
            | TokenKind::VersionClose
    )
}

/// Words of statements that some write directly behind a string. `or` and `on` are none: names and sentences have them
/// behind an apostrophe, too.
fn may_touch(word: &str) -> bool {
    matches!(
        ShortWord::new(word).as_bytes(),
        b"and"
            | b"collate"
            | b"else"
            | b"end"
            | b"from"
            | b"group"
            | b"having"
            | b"limit"
            | b"order"
            | b"then"
            | b"union"
            | b"when"
            | b"where"
    )
}

/// Words that stand behind strings in statements.
fn is_of_statements(word: &str) -> bool {
    // Most first: they need no look into the list.
    may_touch(word)
        || matches!(
            ShortWord::new(word).as_bytes(),
            b"as"
                | b"asc"
                | b"between"
                | b"desc"
                | b"in"
                | b"like"
                | b"not"
                | b"on"
                | b"or"
                // Units of an interval.
                | b"day"
                | b"hour"
                | b"microsecond"
                | b"minute"
                | b"month"
                | b"quarter"
                | b"second"
                | b"week"
                | b"year"
                // Words of accounts and of tables that are names as well.
                | b"account"
                | b"attribute"
                | b"cipher"
                | b"compression"
                | b"connection"
                | b"encryption"
                | b"error"
                | b"issuer"
                | b"member"
                | b"password"
                | b"subject"
                | b"visible"
        )
        || is_of_grammar(word)
}

/// What stands behind a name that is no alias: a second one, another string, the middle of a sentence.
fn goes_on(second: Token<'_>) -> bool {
    match second.kind {
        TokenKind::Word => !may_follow_alias(second.text),
        TokenKind::Number | TokenKind::QuotedName | TokenKind::String | TokenKind::Unterminated => {
            true
        }
        _ => false,
    }
}

fn may_follow_alias(word: &str) -> bool {
    matches!(
        ShortWord::new(word).as_bytes(),
        b"except"
            | b"for"
            | b"from"
            | b"group"
            | b"having"
            | b"intersect"
            | b"into"
            | b"limit"
            | b"lock"
            | b"minus"
            | b"order"
            | b"union"
            | b"where"
            | b"window"
    )
}

fn may_follow_is(token: Token<'_>) -> bool {
    match token.kind {
        TokenKind::Word => is_behind_is(token.text),
        TokenKind::String | TokenKind::Unterminated | TokenKind::QuotedName => false,
        _ => true,
    }
}

/// Whether a word holds a quotation mark of a word processor. No name has one: the marks of a string were made
/// prettier, and where it ends nobody can tell.
pub(crate) fn holds_mark(word: &str) -> bool {
    !word.is_ascii() && word.contains(is_mark)
}

fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{ab}' | '\u{b4}' | '\u{bb}' | '\u{2018}'
            ..='\u{201f}'
                | '\u{2032}'
                | '\u{2033}'
                | '\u{2039}'
                | '\u{203a}'
                | '\u{2bc}'
                | '\u{275b}'..='\u{275e}'
                | '\u{300c}'..='\u{300f}'
                | '\u{301d}'..='\u{301f}'
                | '\u{ff02}'
                | '\u{ff07}'
                | '\u{ff62}'
                | '\u{ff63}'
    )
}

/// Quotation marks as JSON and programs write them behind a backslash, in small letters.
const ESCAPED: [&str; 9] = [
    "u0022", "u0027", "u0060", "u2018", "u2019", "u201c", "u201d", "x22", "x27",
];

/// Whether a token and what is behind it are a quotation mark that was written as an escape, by whoever put the statement
/// into a text of another language: `a = \u0027hunter2\u0027`.
pub(crate) fn is_escaped_mark(token: Token<'_>, behind: &Lexer<'_>) -> bool {
    let is_it = |escaped: &&str| {
        let begin = behind.rest().get(..escaped.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(escaped))
    };
    token.text == "\\" && ESCAPED.iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use crate::{Fingerprinter, SqlMode, fingerprint, redact};

    #[test]
    fn nothing_is_shown_behind_a_string_that_ended_too_early() {
        for (statement, redacted) in [
            (
                "INSERT INTO t VALUES ('Alice's secret', 'x')",
                "INSERT INTO t VALUES (?",
            ),
            (
                "SELECT a FROM t WHERE name = 'O'Secret' AND pw = 'x'",
                "SELECT a FROM t WHERE name = ?",
            ),
            (
                "SELECT a FROM t WHERE size = \"5\" secret screen\" AND b = \"x\"",
                "SELECT a FROM t WHERE size = ?",
            ),
            ("SET a = 'the users' secret', b = 'x'", "SET a = ?"),
            ("SET a = 'the users' secret is old', b = 5", "SET a = ?"),
            ("SET a = 'the users' is secret', b = 5", "SET a = ?"),
            ("SET a = 'say \"secret\" to', b = 5", "SET a = ?, b = ?"),
            ("SET a = \"say \"secret\" to\", b = 5", "SET a = ?"),
            ("SET a = '{'secret': 5}'", "SET a = ?"),
            ("SET a = 'coupe d'or secret', b = 5", "SET a = ?"),
            ("SET a = 'qu'on secret', b = 5", "SET a = ?"),
            ("SET a = 'x' 'it's secret'", "SET a = ?"),
            ("SET a = 'the' /* c */ secret word', b = 5", "SET a = ?"),
            ("SET a = 'pin'4711', b = 5", "SET a = ?"),
            ("SET a = \u{2018}secret word\u{2019}, b = 5", "SET a = ?"),
            ("SET a = \u{201c}secret\u{201d}, b = 5", "SET a = ?"),
            ("SET a = \u{ab}secret word\u{bb}", "SET a = ?"),
            ("SET a = \u{b4}secret word\u{b4}", "SET a = ?"),
            ("SET a = \u{300c}secret\u{300d}, b = 5", "SET a = ?"),
            ("SET a = \u{2bc}secret\u{2bc}, b = 5", "SET a = ?"),
            (r"SET a = \u0027secret\u0027, b = 5", "SET a = ?"),
            (r"SET a = \X27secret word\X27", "SET a = ?"),
            (r"SET a = b, c = \u201Csecret\u201D", "SET a = b, c = ?"),
        ] {
            assert_eq!(redact(statement), redacted);
            assert!(!fingerprint(statement).contains("secret"), "{statement}");
            let mut classes = Fingerprinter::new(SqlMode::default());
            let class = classes.class_of(statement.as_bytes());
            assert_eq!(
                classes.fingerprint_of(class),
                Some(fingerprint(statement).as_str())
            );
        }
    }

    #[test]
    fn statements_are_whole() {
        for (statement, redacted) in [
            ("SELECT 'x' a, 'y' AS b FROM t", "SELECT ? a, ? AS b FROM t"),
            ("SELECT 'x' a FROM t", "SELECT ? a FROM t"),
            ("SELECT 'x' `a` FROM t", "SELECT ? `a` FROM t"),
            ("SELECT 'x' 'y' FROM t", "SELECT ? FROM t"),
            (
                "SELECT a FROM t WHERE b='x'and c='y'limit 5",
                "SELECT a FROM t WHERE b=?and c=?limit ?",
            ),
            (
                "SELECT CASE WHEN a='x'THEN'y'ELSE'z'END FROM t",
                "SELECT CASE WHEN a=?THEN?ELSE?END FROM t",
            ),
            (
                "SELECT a LIKE 'x' ESCAPE '|' IS NOT NULL",
                "SELECT a LIKE ? ESCAPE ? IS NOT NULL",
            ),
            ("SELECT 'x' IS NULL", "SELECT ? IS NULL"),
            (
                "SELECT DATE '2026-01-01' + INTERVAL '5' DAY, 1",
                "SELECT DATE ? + INTERVAL ? DAY, ?",
            ),
            (
                "SELECT a COLLATE utf8mb4_bin, 'x' COLLATE utf8mb4_bin b FROM t",
                "SELECT a COLLATE utf8mb4_bin, ? COLLATE utf8mb4_bin b FROM t",
            ),
            (
                "SELECT GROUP_CONCAT(a ORDER BY b SEPARATOR ',') c FROM t",
                "SELECT GROUP_CONCAT(a ORDER BY b SEPARATOR ?) c FROM t",
            ),
            (
                "SELECT MATCH (a) AGAINST ('x' IN NATURAL LANGUAGE MODE) score FROM t",
                "SELECT MATCH (a) AGAINST (? IN NATURAL LANGUAGE MODE) score FROM t",
            ),
            (
                "CREATE TABLE t (a INT DEFAULT 'x' COMMENT 'y' CHECK (a), b ENUM('x') NOT NULL) COMMENT='z' ENGINE=InnoDB",
                "CREATE TABLE t (a INT DEFAULT ? COMMENT ? CHECK (a), b ENUM(?) NOT NULL) COMMENT=? ENGINE=InnoDB",
            ),
            (
                "CREATE USER 'a'@'b' IDENTIFIED BY 'x' REQUIRE SSL PASSWORD EXPIRE ACCOUNT LOCK",
                "CREATE USER ?@? IDENTIFIED BY ? REQUIRE SSL PASSWORD EXPIRE ACCOUNT LOCK",
            ),
            (
                "ALTER USER 'a'@localhost IDENTIFIED BY 'x' ACCOUNT UNLOCK",
                "ALTER USER ?@localhost IDENTIFIED BY ? ACCOUNT UNLOCK",
            ),
            (
                "LOAD DATA INFILE 'x' INTO TABLE t FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' LINES STARTING BY 'x'",
                "LOAD DATA INFILE ? INTO TABLE t FIELDS TERMINATED BY ? OPTIONALLY ENCLOSED BY ? LINES STARTING BY ?",
            ),
            (
                "CREATE SERVER s FOREIGN DATA WRAPPER 'mysql' OPTIONS (USER 'a', HOST 'b')",
                "CREATE SERVER s FOREIGN DATA WRAPPER ? OPTIONS (USER ?, HOST ?)",
            ),
            (
                "GRANT ALL ON a TO b REQUIRE SUBJECT 'x' ISSUER 'y' CIPHER 'z'",
                "GRANT ALL ON a TO b REQUIRE SUBJECT ? ISSUER ? CIPHER ?",
            ),
            ("SELECT x'41'b'1', _utf8'a' b", "SELECT ?, ? b"),
            (r"SELECT \N, a FROM t\G", r"SELECT \N, a FROM t\G"),
            (r"SELECT a\nFROM t", r"SELECT a\nFROM t"),
        ] {
            assert_eq!(redact(statement), redacted);
        }
    }
}
