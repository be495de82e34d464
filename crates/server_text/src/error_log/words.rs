//! Which words of a log are the server's own.
//!
//! `vocabulary.txt` holds the words that stand in the messages of MySQL 5.5, 5.7 and 9.7, MariaDB 10.1, 10.2,
//! 10.11 and 11.4 and Galera 4 (collected from their message files and programs: English words, names of settings and files; words
//! that are first names of people, and such as `token` or `secret`, are left out). What is not in it is a name or
//! a value.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Stands for what was left out.
pub(super) const GONE: &str = "?";

/// Digits of a number; longer ones are numbers of cards and accounts rather than of pages.
const DIGITS_MAX: usize = 12;

/// Digits of all numbers of a word that is made of several, such as a time.
const JOINED_DIGITS_MAX: usize = 14;

/// Longest word that is looked at, in bytes.
const WORD_BYTES_MAX: usize = 120;

/// What may stand behind a number.
const UNITS: [&str; 17] = [
    "", "ms", "s", "us", "k", "m", "g", "t", "kb", "mb", "gb", "kib", "mib", "gib", "b", "bytes",
    "th",
];

static VOCABULARY: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    include_str!("vocabulary.txt")
        .split_ascii_whitespace()
        .collect()
});

/// What a word of a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// A word of the servers.
    Own,
    /// A number, or made of numbers.
    Number,
    /// A path, with the folders and files that are not the server's replaced.
    Path(String),
    /// Somebody's.
    Unknown,
}

/// Judges what stands between blanks, brackets and commas.
pub(super) fn judge(word: &str) -> Word {
    let core = word.trim_matches(|c: char| ".:-/!?*+~".contains(c));
    if core.is_empty() {
        return Word::Own;
    }
    if word.len() > WORD_BYTES_MAX {
        return Word::Unknown;
    }
    if is_own(core) {
        return Word::Own;
    }
    if is_path(word) {
        return Word::Path(path(word));
    }
    if core.contains(['@', '$']) {
        return Word::Unknown;
    }
    let mut digits = 0;
    let mut letters = false;
    for piece in core.split(['-', '/', ':', '.', '+', '~', '*', '%', '#', '\'']) {
        match number(piece) {
            Some(count) => digits += count,
            None if is_own(piece) => letters = true,
            None if piece.is_empty() => {}
            None => return Word::Unknown,
        }
    }
    match (digits, letters) {
        (0, _) => Word::Own,
        (digits, _) if digits > JOINED_DIGITS_MAX || is_address(core) => Word::Unknown,
        _ => Word::Number,
    }
}

/// Whether a word stands in the messages of servers, whatever its letters' case.
pub fn is_message_word(word: &str) -> bool {
    is_own(word)
}

/// A word of the servers, whatever its letters' case.
fn is_own(word: &str) -> bool {
    // `row lock(s)`, `n bits 72`, `trx n:o`.
    ["s", "n", "o", "x"].contains(&word)
        || VOCABULARY.contains(word)
        || (word.bytes().any(|byte| byte.is_ascii_uppercase())
            && VOCABULARY.contains(word.to_ascii_lowercase().as_str()))
}

/// The digits of a number with its unit, or of an address of memory (which count as none: they are
/// nobody's).
fn number(piece: &str) -> Option<usize> {
    if let Some(hex) = piece.strip_prefix("0x") {
        let is_hex = (1..=16).contains(&hex.len()) && hex.bytes().all(|c| c.is_ascii_hexdigit());
        return is_hex.then_some(1);
    }
    let end = piece
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(piece.len());
    let (number, unit) = piece.split_at(end);
    let is_number = (1..=DIGITS_MAX).contains(&number.len())
        && UNITS.contains(&unit.to_ascii_lowercase().as_str());
    is_number.then_some(number.len())
}

/// `10.1.2.3` is a host; addresses that every host has are not.
fn is_address(word: &str) -> bool {
    let host = word.split(':').next().unwrap_or(word);
    let is_address = host.split('.').count() == 4
        && host
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit()));
    is_address && !["0.0.0.0", "127.0.0.1", "127.0.1.1"].contains(&host)
}

fn is_path(word: &str) -> bool {
    ["/", "./", "../"].iter().any(|head| word.starts_with(head)) && word.len() > 2
}

/// A path whose unknown parts are `?`.
fn path(word: &str) -> String {
    let stem = word.trim_end_matches([':', '.']);
    let end = word.get(stem.len()..).unwrap_or_default();
    let parts: Vec<String> = stem.split('/').map(file_name).collect();
    format!("{}{end}", parts.join("/"))
}

/// `binlog.000123`, `orders.ibd`: each part between points by itself.
fn file_name(name: &str) -> String {
    if name.is_empty() || name == "." || name == ".." {
        return name.to_owned();
    }
    let parts: Vec<&str> = name
        .split('.')
        .map(|part| match part {
            part if is_own(part) || part.split('-').all(is_own) => part,
            part if number(part).is_some_and(|digits| digits <= 6) => part,
            _ => GONE,
        })
        .collect();
    parts.join(".")
}
