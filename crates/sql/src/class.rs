//! What a statement does, in one of a few dozen words.

use crate::lexer::{Lexer, SqlMode, Token, TokenKind};
use crate::word::ShortWord;

/// The class of a statement, from a small fixed set (`"select"`, `"show warnings"`, …, `"other"`), for histograms;
/// `""` for a statement without a word. Ignores case, comments, parentheses and the marks of version comments, and looks
/// through `WITH …` and MariaDB's `SET STATEMENT … FOR`. Allocates nothing.
///
/// ```
/// assert_eq!(sql::statement_class("/* app */ (SELECT 1)"), "select");
/// assert_eq!(sql::statement_class("SHOW COUNT(*) WARNINGS"), "show warnings");
/// ```
pub fn statement_class(statement: &str) -> &'static str {
    let mut tokens = Lexer::new(statement, SqlMode::default()).filter(|token| {
        !matches!(
            token.kind,
            TokenKind::Whitespace
                | TokenKind::Comment
                | TokenKind::VersionOpen
                | TokenKind::VersionClose
        )
    });
    loop {
        let Some(first) =
            tokens.find(|token| !matches!(token.kind, TokenKind::LeftParen | TokenKind::Semicolon))
        else {
            return "";
        };
        match word_of(first).as_bytes() {
            b"with" => return class_of_with(tokens),
            b"show" => return class_of_show(tokens),
            b"start" => {
                let is_transaction = tokens
                    .next()
                    .is_some_and(|next| word_of(next).as_bytes() == b"transaction");
                return if is_transaction { "begin" } else { "other" };
            }
            b"set" => {
                let is_wrapper = tokens
                    .next()
                    .is_some_and(|next| word_of(next).as_bytes() == b"statement");
                if !is_wrapper || !tokens.any(|token| word_of(token).as_bytes() == b"for") {
                    return "set";
                }
            }
            word => return class_of_word(word),
        }
    }
}

fn word_of(token: Token<'_>) -> ShortWord {
    if token.kind == TokenKind::Word {
        ShortWord::new(token.text)
    } else {
        ShortWord::default()
    }
}

fn class_of_word(word: &[u8]) -> &'static str {
    match word {
        b"select" => "select",
        b"insert" => "insert",
        b"update" => "update",
        b"delete" => "delete",
        b"replace" => "replace",
        b"begin" => "begin",
        b"commit" => "commit",
        b"rollback" => "rollback",
        b"call" => "call",
        b"create" => "create",
        b"alter" => "alter",
        b"drop" => "drop",
        b"truncate" => "truncate",
        b"use" => "use",
        b"prepare" => "prepare",
        b"execute" => "execute",
        b"load" => "load",
        b"lock" => "lock",
        b"unlock" => "unlock",
        b"flush" => "flush",
        b"optimize" => "optimize",
        b"analyze" => "analyze",
        b"explain" | b"describe" | b"desc" => "explain",
        _ => "other",
    }
}

/// The first word of data manipulation outside the parentheses of the common table expressions.
fn class_of_with<'a>(tokens: impl Iterator<Item = Token<'a>>) -> &'static str {
    let mut depth = 0_usize;
    for token in tokens {
        match token.kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            TokenKind::Word if depth == 0 => {
                let word = ShortWord::new(token.text);
                if matches!(
                    word.as_bytes(),
                    b"select" | b"insert" | b"update" | b"delete" | b"replace"
                ) {
                    return class_of_word(word.as_bytes());
                }
            }
            _ => {}
        }
    }
    "other"
}

fn class_of_show<'a>(mut tokens: impl Iterator<Item = Token<'a>>) -> &'static str {
    let is_modifier = |token: &Token<'_>| {
        matches!(
            word_of(*token).as_bytes(),
            b"full" | b"global" | b"session" | b"local"
        )
    };
    match tokens
        .find(|token| !is_modifier(token))
        .map(word_of)
        .unwrap_or_default()
        .as_bytes()
    {
        b"warnings" => "show warnings",
        b"status" => "show status",
        b"processlist" => "show processlist",
        b"engine" => "show engine",
        // COUNT(*) WARNINGS or COUNT(*) ERRORS
        b"count" => match tokens.nth(3).map(word_of).unwrap_or_default().as_bytes() {
            b"warnings" => "show warnings",
            _ => "show other",
        },
        _ => "show other",
    }
}
