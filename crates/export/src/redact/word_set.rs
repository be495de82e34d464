//! Words that are kept for long: a set that takes little more than their letters, where one of texts takes ten times that.

use std::cmp::Ordering;
use std::collections::HashSet;

/// A set of words.
pub(super) struct WordSet {
    /// All of them in their order, without anything between.
    letters: String,
    /// Where each ends in it, bytes.
    ends: Vec<u32>,
}

impl WordSet {
    /// The set of these words. Of more than 4 GiB those in front are in it.
    pub(super) fn of(words: &HashSet<String>) -> Self {
        let mut sorted: Vec<&str> = words.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        let mut set = Self {
            letters: String::with_capacity(sorted.iter().map(|word| word.len()).sum()),
            ends: Vec::with_capacity(sorted.len()),
        };
        for word in sorted {
            let Ok(end) = u32::try_from(set.letters.len() + word.len()) else {
                break;
            };
            set.letters.push_str(word);
            set.ends.push(end);
        }
        set
    }

    /// Whether it has this word.
    pub(super) fn contains(&self, word: &str) -> bool {
        let (mut from, mut to) = (0, self.ends.len());
        while from < to {
            let middle = from + (to - from) / 2;
            match self.word(middle).cmp(word) {
                Ordering::Equal => return true,
                Ordering::Less => from = middle + 1,
                Ordering::Greater => to = middle,
            }
        }
        false
    }

    fn word(&self, place: usize) -> &str {
        let end = |place: usize| self.ends.get(place).map_or(0, |end| *end as usize);
        let begin = place.checked_sub(1).map_or(0, end);
        self.letters.get(begin..end(place)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_words_that_it_was_made_of_and_no_others() {
        let words = ["", "a", "ab", "abc", "b", "über", "innodb_buffer_pool_size"];
        for count in 0..=words.len() {
            let (has, has_not) = words.split_at(count);
            let set = WordSet::of(&has.iter().map(|word| (*word).to_owned()).collect());
            assert!(has.iter().all(|word| set.contains(word)), "{count}");
            assert!(!has_not.iter().any(|word| set.contains(word)), "{count}");
            assert!(!set.contains("bab") && !set.contains("zzz") && !set.contains("aa"));
        }
    }
}
