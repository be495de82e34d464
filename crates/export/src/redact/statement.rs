//! A statement without literals, and with other names.

use sql::{Lexer, SqlMode, Token, TokenKind};

use super::keywords::{BEFORE_NAMES, NO_NAMES, is_keyword};
use super::pseudonyms::{NameKind, Pseudonyms};
use super::well_known;

/// Shorter literals are not remembered: `1` and `'a'` stand everywhere.
const LITERAL_CHARS_MIN: usize = 4;

/// The statement with `?` for each literal, without comments, and with another name for each that is
/// not SQL's own. What is named in a schema of the server itself stays.
pub(super) fn rename(pseudonyms: &mut Pseudonyms<'_>, statement: &str) -> String {
    let tokens: Vec<Token<'_>> = Lexer::new(statement, SqlMode::default()).collect();
    let mut out = String::with_capacity(statement.len());
    let mut before = String::new();
    let mut in_own_schema = false;
    // The name before was a schema: what follows its point is a table.
    let mut in_schema = false;
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens
            .get(index + 1..)
            .unwrap_or_default()
            .iter()
            .find(|token| !matches!(token.kind, TokenKind::Whitespace | TokenKind::Comment));
        match token.kind {
            TokenKind::Whitespace => {
                out.push_str(token.text);
                continue;
            }
            // A comment may hold anything.
            TokenKind::Comment => continue,
            TokenKind::String | TokenKind::Unterminated => {
                literal(pseudonyms, token.text);
                out.push('?');
            }
            TokenKind::Number => out.push('?'),
            TokenKind::QuotedName => {
                let quote = token.text.get(..1).unwrap_or("`");
                let inner = token.text.trim_matches(['`', '"']).replace("``", "`");
                let (name, what) = name(
                    pseudonyms,
                    &inner,
                    &before,
                    next,
                    (in_own_schema, in_schema),
                );
                out.push_str(quote);
                out.push_str(&name);
                out.push_str(quote);
                in_own_schema = is_own_schema(&inner);
                in_schema = what == NameKind::Schema;
            }
            TokenKind::Variable => out.push_str(&variable(pseudonyms, token.text)),
            TokenKind::Word => {
                let lower = token.text.to_ascii_lowercase();
                let expected = BEFORE_NAMES.contains(&before.as_str())
                    || before == "."
                    || next.is_some_and(|next| next.kind == TokenKind::Dot);
                // `\G` of the client.
                let is_end = before == "\\" && lower == "g";
                let is_sql =
                    is_end || (is_keyword(&lower) && (!expected || may_stay(&lower, &before)));
                if is_sql {
                    out.push_str(token.text);
                } else {
                    let (word, what) = name(
                        pseudonyms,
                        token.text,
                        &before,
                        next,
                        (in_own_schema, in_schema),
                    );
                    in_schema = what == NameKind::Schema;
                    out.push_str(&word);
                }
                in_own_schema = is_own_schema(token.text);
            }
            _ => {
                out.push_str(token.text);
                if token.kind != TokenKind::Dot {
                    in_own_schema = false;
                }
            }
        }
        before = token.text.to_ascii_lowercase();
    }
    out
}

/// Whether a word of SQL is one also where a name is expected.
fn may_stay(lower: &str, before: &str) -> bool {
    before != "." && (NO_NAMES.contains(&lower) || (lower == "status" && before == "table"))
}

fn is_own_schema(word: &str) -> bool {
    !word.is_empty() && well_known::SCHEMAS.contains(&word.to_ascii_lowercase().as_str())
}

fn name(
    pseudonyms: &mut Pseudonyms<'_>,
    word: &str,
    before: &str,
    next: Option<&Token<'_>>,
    (in_own_schema, in_schema): (bool, bool),
) -> (String, NameKind) {
    let is_own = is_own_schema(word)
        || (before == "." && in_own_schema)
        || well_known::INNODB_NAMES.contains(&word.to_ascii_lowercase().as_str())
        // A cut statement's mark.
        || word.chars().all(|c| c == sql::CUT_MARK);
    if is_own {
        return (word.to_owned(), NameKind::Name);
    }
    let what = match (before, next.map(|next| next.kind)) {
        (".", _) if in_schema => NameKind::Table,
        ("use" | "database" | "schema", _) => NameKind::Schema,
        (_, Some(TokenKind::Dot))
            if ["from", "join", "into", "update", "table"].contains(&before) =>
        {
            NameKind::Schema
        }
        (
            "from" | "join" | "straight_join" | "into" | "update" | "table" | "tables" | "truncate",
            _,
        ) => NameKind::Table,
        _ => NameKind::Name,
    };
    // The mark of a cut may stand at its end.
    let stem = word.trim_end_matches(sql::CUT_MARK);
    let mark = word.get(stem.len()..).unwrap_or_default();
    (format!("{}{mark}", pseudonyms.name(what, stem)), what)
}

/// What the parts before the last of a name of the server's own may be.
const SCOPES: [&str; 5] = ["global", "session", "local", "persist", "persist_only"];

/// `@name`, or the server's own `@@name`, which may have somebody's name in front: of a replication connection or of a
/// cache (`@@acme.key_buffer_size`).
fn variable(pseudonyms: &mut Pseudonyms<'_>, text: &str) -> String {
    if let Some(name) = text.strip_prefix("@@") {
        return format!("@@{}", servers_variable(pseudonyms, name));
    }
    let inner = text.trim_start_matches('@').trim_matches(['`', '\'', '"']);
    match inner {
        "" => text.to_owned(),
        inner => format!("@{}", pseudonyms.name(NameKind::Name, inner)),
    }
}

fn servers_variable(pseudonyms: &mut Pseudonyms<'_>, name: &str) -> String {
    if let Some(quoted) = name.strip_prefix('`') {
        let inner = quoted.trim_end_matches('`').replace("``", "`");
        return format!("`{}`", part_of_variable(pseudonyms, &inner, true));
    }
    let last = name.matches('.').count();
    let parts: Vec<String> = name
        .split('.')
        .enumerate()
        .map(|(place, part)| part_of_variable(pseudonyms, part, place == last))
        .collect();
    parts.join(".")
}

fn part_of_variable(pseudonyms: &mut Pseudonyms<'_>, part: &str, is_last: bool) -> String {
    // The mark of a cut may stand at its end.
    let stem = part.trim_end_matches(sql::CUT_MARK);
    let mark = part.get(stem.len()..).unwrap_or_default();
    let lower = stem.to_ascii_lowercase();
    let is_word = |word: &str| {
        word.chars().count() < 2
            || word.bytes().all(|byte| byte.is_ascii_digit())
            || pseudonyms.is_own(word)
            || is_keyword(word)
            || server_text::is_message_word(word)
    };
    // There are a thousand variables of servers, all made of the same few words.
    let is_servers = SCOPES.contains(&lower.as_str())
        || pseudonyms.is_own(&lower)
        || (is_last && lower.split('_').all(is_word));
    match is_servers {
        true => part.to_owned(),
        false => format!("{}{mark}", pseudonyms.name(NameKind::Name, stem)),
    }
}

fn literal(pseudonyms: &mut Pseudonyms<'_>, text: &str) {
    let inner = match text.find(['\'', '"']) {
        Some(quote) => text
            .get(quote..)
            .unwrap_or_default()
            .trim_matches(['\'', '"']),
        None => "",
    };
    if inner.chars().count() >= LITERAL_CHARS_MIN && inner.chars().any(char::is_alphabetic) {
        pseudonyms.name(NameKind::Literal, inner);
    }
}
