//! Many words that a line may begin with.

/// Words of which a text begins with one, found by the first byte.
pub(crate) struct Prefixes {
    words: &'static [&'static str],
    /// For each byte the words that begin with it, a bit each.
    by_first: [u64; 256],
}

impl Prefixes {
    /// At most 64 words, none of which is empty; others do not compile where this is a constant.
    pub(crate) const fn new(words: &'static [&'static str]) -> Self {
        assert!(words.len() <= 64, "a bit for each word");
        let mut by_first = [0; 256];
        let mut nth = 0;
        while nth < words.len() {
            by_first[words[nth].as_bytes()[0] as usize] |= 1 << nth;
            nth += 1;
        }
        Self { words, by_first }
    }

    /// The text begins with one of them.
    pub(crate) fn match_start(&self, text: &str) -> bool {
        let Some(first) = text.as_bytes().first() else {
            return false;
        };
        let mut left = self.by_first[usize::from(*first)];
        while left != 0 {
            let word = self.words.get(left.trailing_zeros() as usize);
            if word.is_some_and(|word| text.starts_with(word)) {
                return true;
            }
            left &= left - 1;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::Prefixes;

    #[test]
    fn a_text_begins_with_one_of_the_words() {
        static WORDS: Prefixes = Prefixes::new(&["Thread ", "TID ", "InnoDB: ", "ä"]);
        for text in ["Thread 1", "TID 1", "InnoDB: ", "äx"] {
            assert!(WORDS.match_start(text), "{text}");
        }
        for text in ["", "T", "Thread", "thread 1", "x InnoDB: ", "ö"] {
            assert!(!WORDS.match_start(text), "{text}");
        }
    }
}
