//! The words of short captures, to compare with those of known stalls: see `likeness`.

use std::collections::BTreeSet;

use crate::line::Line;
use crate::listed_waits;

/// Captures with more text than this are listings and logs of whatever went on: their words are those of any server.
const BYTES_MAX: usize = 64 << 10;

/// How like the texts of a cause a text is that tells of a stall though nothing in it is known: of texts about anything
/// else, manuals, configurations and programs, one of fifty is.
const LIKE_MIN: f64 = 0.14;

/// And so many of its words are known, and pairs of them: a line or two tell of no stall.
const WORDS_MIN: usize = 20;

/// What InnoDB's status says of a change buffer that is empty: it has its first page only.
const EMPTY_CHANGE_BUFFER: &str = "Ibuf: size 1,";

/// What is known of the words of some captures.
#[derive(Default)]
pub(crate) struct Vocabulary {
    words: BTreeSet<&'static str>,
    /// Of all text, with that whose words were not looked at.
    bytes: usize,
}

impl Vocabulary {
    /// Of lines; prints that always have the same names are left out by the caller.
    pub(crate) fn from_lines<'l>(lines: impl Iterator<Item = &'l Line<'l>> + Clone) -> Self {
        let bytes = lines.clone().map(|line| line.text.len()).sum();
        let words = match bytes > BYTES_MAX {
            true => BTreeSet::new(),
            false => {
                let little = listed_waits::little(lines.clone());
                let is_telling =
                    |line: &&Line<'_>| !little.contains(&line.number) && !is_at_rest(&line.text);
                let telling = lines.filter(is_telling);
                likeness::known(telling.map(|line| line.text.as_ref()))
                    .into_iter()
                    .collect()
            }
        };
        Self { words, bytes }
    }

    /// Whether they are those of a text about a stall.
    pub(crate) fn suggest_a_stall(&self) -> bool {
        let words: Vec<&str> = self.words.iter().copied().collect();
        let all = likeness::likenesses(&words);
        words.len() >= WORDS_MIN && all.first().is_some_and(|first| first.score >= LIKE_MIN)
    }

    /// Adds those of another capture.
    pub(crate) fn add(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.words.extend(other.words);
    }

    /// In the order of the alphabet.
    pub(crate) fn all(self) -> Vec<&'static str> {
        match self.bytes > BYTES_MAX {
            true => Vec::new(),
            false => self.words.into_iter().collect(),
        }
    }
}

/// A line that each status has, of what has nothing to do: its words are of no stall.
pub(crate) fn is_at_rest(text: &str) -> bool {
    text.trim_start().starts_with(EMPTY_CHANGE_BUFFER)
}

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, Vocabulary};

    fn vocabulary(text: &str) -> Vocabulary {
        let (lines, _) = crate::clean::lines_within(text);
        Vocabulary::from_lines(lines.iter())
    }

    #[test]
    fn words_of_our_own_vocabulary_alone_are_kept() {
        let words = vocabulary(
            "The buffer pool of geheimhost is full: geheim4711 waits in buf_LRU_get_free_block",
        )
        .all();
        assert!(words.contains(&"buffer pool"), "{words:?}");
        assert!(
            words.iter().all(|word| !word.contains("geheim")),
            "{words:?}"
        );
    }

    #[test]
    fn what_is_long_is_no_story() {
        let mut words = vocabulary(
            "Waiting for table metadata lock: all sessions have waited behind ALTER TABLE ADD COLUMN since a backup holds a \
             transaction open, and new queries of the same table pile up until we kill the ALTER",
        );
        assert!(words.suggest_a_stall());
        let long = "the buffer pool waits\n".repeat(BYTES_MAX / 20);
        assert!(vocabulary(&long).all().is_empty());
        words.add(vocabulary(&long));
        assert!(words.all().is_empty());
        assert!(
            !vocabulary("The apples of this tree are red, and the pears are green.")
                .suggest_a_stall()
        );
    }
}
