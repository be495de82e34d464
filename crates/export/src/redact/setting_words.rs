//! Words that servers and kernels have as values of their settings: engines, modes, switches, character sets.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::pseudonyms::Pseudonyms;
use super::{paths, well_known};

static VALUES: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| lines(include_str!("words/setting-values.txt")));

static CHARACTER_SETS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| lines(include_str!("words/character-sets.txt")));

/// What stands behind a character set in the name of a collation.
static COLLATIONS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| lines(include_str!("words/collations.txt")));

fn lines(text: &'static str) -> HashSet<&'static str> {
    text.split_ascii_whitespace().collect()
}

/// Whether a word is one of a server's, a kernel's or a distribution's in the value of a setting.
pub(super) fn is_known(pseudonyms: &Pseudonyms<'_>, word: &str) -> bool {
    pseudonyms.is_own(word) || is_value(&word.to_ascii_lowercase()) || is_locale(word)
}

/// The same for a word in lower case, whatever words an incident has.
fn is_value(lower: &str) -> bool {
    VALUES.contains(lower)
        || is_collation(lower)
        || paths::PATH.contains(&lower)
        || well_known::PROGRAMS.contains(&lower)
        || well_known::SCHEMAS.contains(&lower)
}

/// `utf8mb4_0900_ai_ci`, and a character set alone.
fn is_collation(lower: &str) -> bool {
    let mut parts = lower.split('_');
    parts.next().is_some_and(|set| CHARACTER_SETS.contains(set))
        && parts.all(|part| COLLATIONS.contains(part))
}

/// `en_US`: the language of messages.
fn is_locale(word: &str) -> bool {
    let is_code =
        |part: &str, of: fn(&u8) -> bool| part.len() == 2 && part.bytes().all(|byte| of(&byte));
    word.split_once('_').is_some_and(|(language, country)| {
        is_code(language, u8::is_ascii_lowercase) && is_code(country, u8::is_ascii_uppercase)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collations_are_put_together() {
        for word in [
            "utf8mb4",
            "utf8mb4_0900_ai_ci",
            "latin1_swedish_ci",
            "utf8mb3_uca1400_ai_ci",
            "binary",
        ] {
            assert!(is_value(word), "{word}");
        }
        for word in ["utf8mb4_acme", "acme_ci", "acme", "hr_db"] {
            assert!(!is_value(word), "{word}");
        }
    }
}
