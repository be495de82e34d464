//! The server's own form of a class, brought to ours.

use std::borrow::Cow;
use std::sync::LazyLock;

/// Our fingerprint of a `DIGEST_TEXT`, so that a class of performance_schema is the same class as in a log or in packets.
///
/// The server quotes every name and writes `(...)` for a list of values. Names that need no quotes lose them: whether
/// the statement had them cannot be known, and most have none. What cannot be brought together, because the server has
/// forgotten it: how many values a call (`CALL p (...)`) or a select list (`SELECT ?, ...`) had, the names of user
/// variables (`SET @? = ?`), and `<>`, which is `!=` here.
pub fn fingerprint_of_digest_text(text: &str) -> String {
    sql::fingerprint(&statement_like(text))
}

/// The text as somebody would have written it.
fn statement_like(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let Some((name, after)) = quoted_name(from) else {
            rest = from;
            break;
        };
        if is_plain(&name) {
            out.push_str(&name);
        } else {
            out.push_str(from.get(..from.len() - after.len()).unwrap_or_default());
        }
        rest = after;
    }
    out.push_str(rest);
    lists(&out)
}

/// The name in backquotes at the start, and what follows it.
fn quoted_name(from: &str) -> Option<(Cow<'_, str>, &str)> {
    let inner = from.strip_prefix('`')?;
    let mut end = inner.find('`')?;
    while inner.get(end + 1..)?.starts_with('`') {
        end += 2 + inner.get(end + 2..)?.find('`')?;
    }
    let name = inner.get(..end)?;
    let name = if name.contains('`') {
        Cow::Owned(name.replace("``", "`"))
    } else {
        Cow::Borrowed(name)
    };
    Some((name, inner.get(end + 1..)?))
}

/// Lists of values in the server's words and in ours.
fn lists(text: &str) -> String {
    let text = text
        .replace(" /* , ... */", "")
        .replace("(...)", "(?+)")
        // A limit with an offset has two values and never more.
        .replace("LIMIT ?, ...", "LIMIT ?, ?");
    // The server cuts a long statement and says so with three points.
    match text.strip_suffix("...") {
        Some(whole) if !whole.ends_with("?, ") => format!("{}{}", whole, sql::CUT_MARK),
        _ => text,
    }
}

/// A name that can stand without quotes, and is no word of the language: somebody who wrote such a word as a name had
/// to quote it.
fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
        && !is_reserved(name)
}

fn is_reserved(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    RESERVED.binary_search(&lower.as_str()).is_ok()
}

/// Reserved words of MySQL 8.4 (manual, 11.3 "Keywords and Reserved Words") that people use as names; sorted. The rest
/// would be a name in quotes only by somebody's whim.
static RESERVED: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("reserved.txt").lines().collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_meet_those_of_statements() {
        for (digest, statement) in [
            (
                "SELECT `a` , COUNT ( * ) FROM `t` WHERE `id` IN (...)",
                "select a, count(*) from t where id in (1, 2)",
            ),
            (
                "SELECT `x` . `a` FROM `db` . `T` `x` LIMIT ?, ...",
                "SELECT x.a FROM db.T x LIMIT 5, 10",
            ),
            (
                "INSERT INTO `t` VALUES (...) /* , ... */",
                "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
            ),
            (
                "INSERT INTO `t` ( `a` ) VALUES (?)",
                "insert into t (a) values (7)",
            ),
            ("SHOW WARNINGS", "show warnings"),
            (
                "SELECT @@`version_comment` LIMIT ?",
                "select @@version_comment limit 1",
            ),
            ("SELECT `order` FROM `key`", "select `order` from `key`"),
            ("SELECT `a b` FROM `c``d`", "select `a b` from `c``d`"),
            ("SELECT `SLEEP` (?)", "select sleep(0.1)"),
            (
                "UPDATE `t` SET `a` = `a` + ? WHERE `id` = ?",
                "update t set a = a + 1 where id = 3",
            ),
        ] {
            assert_eq!(
                fingerprint_of_digest_text(digest),
                sql::fingerprint(statement),
                "{digest}"
            );
        }
    }

    #[test]
    fn a_cut_text_ends_with_our_mark() {
        let cut = fingerprint_of_digest_text("SELECT `a` , ...");
        assert!(cut.ends_with(sql::CUT_MARK), "{cut}");
    }

    #[test]
    fn broken_quotes_are_left_alone() {
        for text in ["`", "SELECT `", "a `b``", "``", "```", "`é`"] {
            let _ = fingerprint_of_digest_text(text);
        }
        assert_eq!(statement_like("SELECT `"), "SELECT `");
        assert_eq!(statement_like("`a``"), "`a``");
    }

    #[test]
    fn reserved_words_can_be_searched() {
        assert!(RESERVED.is_sorted());
    }
}
