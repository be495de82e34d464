//! Entries that no beginning of a word tells: all of a kind are looked for in one pass.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// So much of a text is looked for, in bytes: an automaton of whole messages takes each start of the program three times
/// as long to make, and what is found is compared anyway.
const BEGIN_BYTES_MAX: usize = 12;

/// The part of a text that an automaton looks for.
pub(crate) fn begin_of(text: &str) -> &[u8] {
    let bytes = text.as_bytes();
    bytes.get(..BEGIN_BYTES_MAX).unwrap_or(bytes)
}

/// Entries of one kind, by the longest text that stands in all that they are for, in lower case.
#[derive(Debug, Default)]
pub(crate) struct Anywhere {
    pub(crate) numbers: Vec<usize>,
    anchors: Vec<String>,
    /// Made when the first text is looked up; nothing where they are too many for it.
    automaton: OnceLock<Option<AhoCorasick>>,
}

impl Anywhere {
    pub(crate) fn add(&mut self, number: usize, anchor: &'static str) {
        self.numbers.push(number);
        self.anchors.push(anchor.to_lowercase());
    }

    /// The entries that a text, in lower case, may be of.
    pub(crate) fn candidates(&self, text: &str) -> Vec<usize> {
        let automaton = self.automaton.get_or_init(|| {
            AhoCorasick::builder()
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .build(self.anchors.iter().map(|anchor| begin_of(anchor)))
                .ok()
        });
        let Some(automaton) = automaton else {
            return self.numbers.clone();
        };
        let found = automaton.find_overlapping_iter(text);
        let mut numbers: Vec<usize> = found
            .filter_map(|at| self.numbers.get(at.pattern().as_usize()).copied())
            .collect();
        // An anchor that stands there twice is found twice.
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}
