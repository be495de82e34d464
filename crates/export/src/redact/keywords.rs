//! Words of SQL itself: statements, clauses, types, functions.

use std::sync::LazyLock;

use super::well_known::Words;

/// Whether a word, in lower case, is one of SQL's own.
pub(crate) fn is_keyword(word: &str) -> bool {
    WORDS.binary_search(&word).is_ok()
}

/// Behind these stands a name, whatever word it is.
pub(super) static BEFORE_NAMES: Words =
    LazyLock::new(|| include_str!("words/before-names.txt").lines().collect());

/// Words of SQL that may stand where a name is expected.
pub(super) static NO_NAMES: Words =
    LazyLock::new(|| include_str!("words/no-names.txt").lines().collect());

/// In the order of their bytes.
static WORDS: Words = LazyLock::new(|| include_str!("words/keywords.txt").lines().collect());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted_so_that_they_are_found() {
        assert!(WORDS.is_sorted());
        assert!(is_keyword("select") && is_keyword("zerofill") && is_keyword("abs"));
        assert!(!is_keyword("orders"));
    }
}
