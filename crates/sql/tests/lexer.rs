//! Token kinds, by the rules of MySQL's lexer.

use sql::TokenKind::{self, *};
use sql::{Lexer, SqlMode};

/// The tokens of a statement but for the blanks.
fn tokens_in(statement: &str, mode: SqlMode) -> Vec<(TokenKind, &str)> {
    Lexer::new(statement, mode)
        .filter(|token| token.kind != Whitespace)
        .map(|token| (token.kind, token.text))
        .collect()
}

fn tokens(statement: &str) -> Vec<(TokenKind, &str)> {
    tokens_in(statement, SqlMode::default())
}

/// The kind of a text that is one token.
fn kind(text: &str) -> TokenKind {
    let tokens = tokens(text);
    assert_eq!(tokens.len(), 1, "{tokens:?}");
    assert_eq!(tokens[0].1, text);
    tokens[0].0
}

#[test]
fn strings() {
    for text in [
        "''",
        "'a'",
        "\"a\"",
        "'it''s'",
        "\"a\"\"b\"",
        r"'it\'s'",
        r"'a\\'",
        "'\"'",
        "'a\nb'",
        "'é…'",
        r"'\é'",
    ] {
        assert_eq!(kind(text), String, "{text}");
    }
    for text in [
        "N'a'",
        "n'a'",
        "x'4D'",
        "X''",
        "b'01'",
        "B'1'",
        "_utf8mb4'a'",
        "_utf8mb4 'a'",
        "_latin1\t\"a\"",
    ] {
        assert_eq!(kind(text), String, "{text}");
    }
    for text in [
        "_binary x'4D'",
        "_latin1 0x41",
        "_UTF8 b'1'",
        "$$ it's $$",
        "$js$ a $$ b $js$",
    ] {
        assert_eq!(kind(text), String, "{text}");
    }
    assert_eq!(tokens("'a' 'b'"), [(String, "'a'"), (String, "'b'")]);
    assert_eq!(tokens("_name 'a'"), [(Word, "_name"), (String, "'a'")]);
    assert_eq!(tokens("_utf8 a"), [(Word, "_utf8"), (Word, "a")]);
    assert_eq!(tokens("ax'4D'"), [(Word, "ax"), (String, "'4D'")]);
}

#[test]
fn a_string_or_name_without_its_end_takes_all_the_rest() {
    for text in [
        "'a",
        "'",
        "\"a",
        r"'a\'",
        r"'a\",
        "'a''",
        "x'4",
        "N'a",
        "_utf8 'a",
        "_utf8 x'4",
        "`a",
        "`a``",
        "@`a",
        "$$a$",
    ] {
        assert_eq!(kind(text), Unterminated, "{text}");
    }
}

#[test]
fn numbers() {
    for text in [
        "0", "12", "1.5", "1.", ".5", "1e3", "1E+3", "1.5e-3", ".5e3", "0xFF", "0Xff", "0b01",
        "0B1", "12e", "1.5e",
    ] {
        assert_eq!(kind(text), Number, "{text}");
    }
    for text in [
        "t1",
        "2024_sales",
        "1st",
        "0x",
        "0xfg",
        "0b12",
        "é1",
        "_1",
        "$1",
        "a$b",
    ] {
        assert_eq!(kind(text), Word, "{text}");
    }
    assert_eq!(tokens("1e5x"), [(Number, "1e5"), (Word, "x")]);
    assert_eq!(
        tokens("db.2024_t"),
        [(Word, "db"), (Dot, "."), (Word, "2024_t")]
    );
    assert_eq!(tokens("a .5"), [(Word, "a"), (Number, ".5")]);
    assert_eq!(
        tokens("1-2"),
        [(Number, "1"), (Operator, "-"), (Number, "2")]
    );
}

#[test]
fn names_and_variables() {
    assert_eq!(kind("`a-1`"), QuotedName);
    assert_eq!(kind("`a``b`"), QuotedName);
    assert_eq!(kind(r"`a\`"), QuotedName);
    for text in [
        "@a",
        "@a.b$c",
        "@`a b`",
        "@@version",
        "@@global.max_connections",
        "@@`a`",
    ] {
        assert_eq!(kind(text), Variable, "{text}");
    }
    assert_eq!(
        tokens("'a'@'%'"),
        [(String, "'a'"), (Operator, "@"), (String, "'%'")]
    );
    assert_eq!(
        tokens("root@localhost"),
        [(Word, "root"), (Variable, "@localhost")]
    );
}

#[test]
fn operators_and_marks() {
    for text in [
        "->", "->>", ":=", "<=>", "<=", ">=", "<>", "!=", "<<", ">>", "&&", "||", "=", "+", "-",
        "/", "*", "%", ":", "\\",
    ] {
        assert_eq!(kind(text), Operator, "{text}");
    }
    assert_eq!(kind("?"), Parameter);
    assert_eq!(
        tokens("(a,b);"),
        [
            (LeftParen, "("),
            (Word, "a"),
            (Comma, ","),
            (Word, "b"),
            (RightParen, ")"),
            (Semicolon, ";")
        ]
    );
    assert_eq!(
        tokens("d->-1"),
        [
            (Word, "d"),
            (Operator, "->"),
            (Operator, "-"),
            (Number, "1")
        ]
    );
}

#[test]
fn comments() {
    for text in [
        "-- a", "--", "--\ta", "# a'", "/* a */", "/**/", "/*/ a */", "/* a", "/*+ a */",
        "/*+ it's",
    ] {
        assert_eq!(kind(text), Comment, "{text}");
    }
    assert_eq!(
        tokens("a--1"),
        [(Word, "a"), (Operator, "-"), (Operator, "-"), (Number, "1")]
    );
    assert_eq!(tokens("-- a\nb"), [(Comment, "-- a"), (Word, "b")]);
    assert_eq!(tokens("# a\0b"), [(Comment, "# a"), (Word, "b")]);
    assert_eq!(tokens("/* /* */ a"), [(Comment, "/* /* */"), (Word, "a")]);
}

#[test]
fn version_comments_hold_sql() {
    for open in ["/*!", "/*!50100", "/*!100100", "/*M!", "/*M!100100"] {
        let statement = format!("{open} a */ b");
        assert_eq!(
            tokens(&statement),
            [
                (VersionOpen, open),
                (Word, "a"),
                (VersionClose, "*/"),
                (Word, "b")
            ]
        );
    }
    assert_eq!(
        tokens("/*!123 */"),
        [(VersionOpen, "/*!"), (Number, "123"), (VersionClose, "*/")]
    );
    let nested = "/*!50100 a /* b */ /*!80000 c */ d */ e";
    let words: Vec<&str> = tokens(nested)
        .iter()
        .filter(|token| token.0 == Word)
        .map(|token| token.1)
        .collect();
    assert_eq!(words, ["a", "c", "d", "e"]);
    assert_eq!(
        tokens("a */"),
        [(Word, "a"), (Operator, "*"), (Operator, "/")]
    );
}

#[test]
fn hints_hold_tokens_after_the_words_they_advise() {
    assert_eq!(
        tokens("select /*+ BKA(t#1) -- 5 */ 6"),
        [
            (Word, "select"),
            (HintOpen, "/*+"),
            (Word, "BKA"),
            (LeftParen, "("),
            (Word, "t"),
            (Operator, "#"),
            (Number, "1"),
            (RightParen, ")"),
            (Operator, "-"),
            (Operator, "-"),
            (Number, "5"),
            (HintClose, "*/"),
            (Number, "6"),
        ]
    );
    assert_eq!(
        tokens("select 1 /*+ a */").last(),
        Some(&(Comment, "/*+ a */"))
    );
    assert_eq!(
        tokens("from /*+ a */ t"),
        [(Word, "from"), (Comment, "/*+ a */"), (Word, "t")]
    );
}

/// A server that skips the comment would end it at the first `*/`, one that executes it would not.
#[test]
fn a_quote_over_the_end_of_a_version_comment_hides_all_the_rest() {
    for text in ["'t */ a, '", "`t */ a, `", "-- */ a\n"] {
        let statement = format!("/*!99999 {text} b");
        assert_eq!(
            tokens(&statement),
            [(VersionOpen, "/*!99999"), (Unterminated, &statement[9..])]
        );
    }
    assert_eq!(
        tokens("select /*+ it's */ a 'b'").last(),
        Some(&(Unterminated, "'s */ a 'b'"))
    );
}

#[test]
fn modes() {
    let ansi = SqlMode {
        ansi_quotes: true,
        ..SqlMode::default()
    };
    assert_eq!(tokens_in("\"a\"\"b\"", ansi), [(QuotedName, "\"a\"\"b\"")]);
    assert_eq!(tokens_in("\"a", ansi), [(Unterminated, "\"a")]);
    let plain = SqlMode {
        no_backslash_escapes: true,
        ..SqlMode::default()
    };
    assert_eq!(
        tokens_in(r"'C:\', 'x'", plain),
        [(String, r"'C:\'"), (Comma, ","), (String, "'x'")]
    );
}
