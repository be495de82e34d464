//! A text word by word: each that is not known to be the server's gets another name, whatever it stands in.
//!
//! Forms of names were looked for before. What has none is left to this: the few words that servers use where the text
//! stands are known, and any other is somebody's.

use super::names::is_vendors;
use super::paths::{is_known_component, is_number, is_version};
use super::pseudonyms::{NameKind, Pseudonyms, is_pseudonym};

/// Whether a word is one that may stay.
pub(super) type Known<'a> = &'a dyn Fn(&Pseudonyms<'_>, &str) -> bool;

/// What may stand behind a number.
const UNITS: [&str; 19] = [
    "", "k", "m", "g", "t", "p", "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "s", "ms", "us",
    "ns", "min",
];

/// The text with another name for each word that is not known.
pub(super) fn rename(pseudonyms: &mut Pseudonyms<'_>, text: &str, known: Known<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in runs(text, is_of_piece) {
        if is_whole(piece) {
            out.push_str(piece);
            continue;
        }
        for word in runs(piece, is_of_word) {
            match !word.starts_with(is_of_word) || is_known(pseudonyms, word, known) {
                true => out.push_str(word),
                false => out.push_str(&pseudonyms.name(NameKind::Name, word)),
            }
        }
    }
    out
}

/// The words of a text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    runs(text, is_of_word).filter(|word| word.starts_with(is_of_word))
}

/// `128`, `12M`, `0x1f`.
fn is_quantity(word: &str) -> bool {
    if let Some(hex) = word.strip_prefix("0x") {
        return !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < word.len() && UNITS.contains(&unit.to_ascii_lowercase().as_str())
}

/// Whether a word may stay: numbers may, whatever else is known.
pub(super) fn is_known(pseudonyms: &Pseudonyms<'_>, word: &str, known: Known<'_>) -> bool {
    // A letter alone names nobody: `%Y-%m-%d`.
    word.chars().count() == 1
        || is_quantity(word)
        || is_pseudonym(&word.to_ascii_lowercase())
        || known(pseudonyms, word)
}

/// Numbers, versions, vendors and paths are more than their words.
fn is_whole(piece: &str) -> bool {
    is_number(piece)
        || is_version(piece)
        || is_vendors(piece)
        || (piece.contains('/') && piece.split('/').all(is_known_component))
}

/// Parts of the text in which all characters are of a kind, or none is.
fn runs(text: &str, is_in: fn(char) -> bool) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = is_in(rest.chars().next()?);
        let end = rest.find(|c| is_in(c) != first).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        rest = behind;
        Some(run)
    })
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_of_piece(c: char) -> bool {
    !c.is_whitespace() && !",;=|()[]{}<>\"'`".contains(c)
}
