//! Classes as percona-toolkit makes them, so that histories which people keep by its query IDs go on.
//!
//! The rules are those of `fingerprint` in lib/QueryRewriter.pm, in its order and with its defects: what it leaves of
//! literals is left here too. **The result is not redacted**; [`crate::fingerprint`] is. Perl reads a log as bytes, so
//! everything here is bytes, and only ASCII letters have a case.
//!
//! What the tool calls a statement is the text between two headers of its log without the `;` and newline at the end,
//! `administrator command: Quit` for a command that is no statement, and `use db` with a statement of its own.

mod rules;
mod text;
mod union;

use std::borrow::Cow;

use md5::{Digest, Md5};

use crate::SqlMode;
use crate::redact::whole_in;

/// The rules changed once: 3.4.0 (2022) reads backslashes before quotes in another way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// percona-toolkit 2.2 to 3.3.1.
    Before3_4,
    /// percona-toolkit 3.4.0 and later.
    #[default]
    Since3_4,
}

/// The fingerprint of a statement, of the rules since 3.4.
///
/// ```
/// assert_eq!(sql::compat::fingerprint(b"SELECT a FROM t1 WHERE b=5"), b"select a from t? where b=?");
/// ```
pub fn fingerprint(statement: &[u8]) -> Vec<u8> {
    fingerprint_of(statement, Release::default())
}

/// [`fingerprint`] of a release.
pub fn fingerprint_of(statement: &[u8], release: Release) -> Vec<u8> {
    if let Some(whole) = rules::special_case(statement) {
        return whole;
    }
    let mut query = Cow::Borrowed(rules::first_row(statement));
    rules::drop_block_comments(&mut query);
    rules::drop_line_comments(&mut query);
    if let Some(whole) = rules::use_of_any_database(&query) {
        return whole;
    }
    match release {
        Release::Before3_4 => rules::strings_before_3_4(&mut query),
        Release::Since3_4 => rules::strings(&mut query),
    }
    rules::truth_values(&mut query);
    rules::numbers(&mut query);
    rules::leftovers(&mut query);
    let mut query = rules::plain_blanks_lower_case(&query);
    rules::nulls(&mut query);
    rules::lists(&mut query);
    union::fold_repeated(&mut query);
    rules::limit(&mut query);
    rules::ascending(&mut query);
    query.into_owned()
}

/// pt-query-digest's query ID since 3.0: the MD5 of a fingerprint's bytes, 32 hexadecimal digits in upper case.
pub fn checksum(fingerprint: &[u8]) -> String {
    Md5::digest(fingerprint)
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect()
}

/// The query ID of a statement: the [`checksum`] of its [`fingerprint`].
///
/// ```
/// assert_eq!(sql::compat::compat_checksum(b"SELECT 1"), "1FE1379FE2A31B8D16219655761820A2");
/// ```
pub fn compat_checksum(statement: &[u8]) -> String {
    checksum(&fingerprint(statement))
}

/// The same for what is kept and shown to others: none where the fingerprint has a part of a literal in it, since whoever
/// guesses a short one finds it by its checksum. It is the fingerprint of the statement without its literals, however a
/// backslash is read, or there is none.
pub(crate) fn public_checksum(statement: &[u8], mode: SqlMode) -> Option<String> {
    let theirs = fingerprint(statement);
    let text = String::from_utf8_lossy(statement);
    let other = SqlMode {
        no_backslash_escapes: !mode.no_backslash_escapes,
        ..mode
    };
    let modes = [mode, other];
    let count = if text.contains('\\') { 2 } else { 1 };
    // Two strings side by side are one to others.
    let once = |mut text: Vec<u8>| {
        text.dedup_by(|one, other| *one == b'?' && *other == b'?');
        text
    };
    let told = once(theirs.clone());
    let is_free = |mode: &SqlMode| {
        let bare = whole_in(&text, *mode);
        once(fingerprint(bare.as_bytes())) == told
    };
    let is_free = modes.iter().take(count).all(is_free);
    is_free.then(|| checksum(&theirs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_of_parts_of_a_literal_is_not_told() {
        let told = |statement: &str| public_checksum(statement.as_bytes(), SqlMode::default());
        for statement in [
            "CALL f('hunter2(5)', 1)",
            "CREATE USER a IDENTIFIED BY hunter2",
            "SELECT 'C:\\', 'hunter2' FROM t",
        ] {
            let theirs = String::from_utf8(fingerprint(statement.as_bytes())).unwrap();
            assert!(theirs.contains("hunter"), "{theirs}");
            assert_eq!(told(statement), None, "{theirs}");
        }
        for statement in [
            "SELECT b FROM t WHERE id = 2",
            "select a, b\n from t1 where a in (1, -2, 3.5) and b like 'x%' limit 5, 10",
            "INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'it''s')",
            "UPDATE t SET a = NULL WHERE b = TRUE",
            "CALL f(5, 'x')",
            "administrator command: Ping",
        ] {
            let theirs = compat_checksum(statement.as_bytes());
            assert_eq!(told(statement), Some(theirs), "{statement}");
        }
    }
}
