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
