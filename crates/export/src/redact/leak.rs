//! What a search says of a name that it found: enough to look it up, and nothing of the name itself.
//!
//! A refusal is printed, logged and pasted into bug reports. So the name is not in here at all: nobody can print it by
//! mistake. Whoever has the text that was searched finds it there by its place.

use std::fmt;
use std::ops::Range;

/// A name in a text where none may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    kind: String,
    /// What stands for it in what is exported with the same salt; nothing where nothing does.
    pseudonym: Option<String>,
    /// Byte in the text, from 0.
    pub at: usize,
    bytes: usize,
}

impl Leak {
    /// One that was replaced elsewhere by this pseudonym, which begins with the kind of it.
    pub(super) fn replaced(pseudonym: &str, range: Range<usize>) -> Self {
        let kind = pseudonym.split_once('_').map(|(kind, _)| kind);
        Self {
            pseudonym: kind.map(|_| pseudonym.to_owned()),
            ..Self::of_kind(kind.unwrap_or("literal"), range)
        }
    }

    /// One for which nothing stands.
    pub(crate) fn of_kind(kind: &str, range: Range<usize>) -> Self {
        Self {
            kind: kind.to_owned(),
            pseudonym: None,
            at: range.start,
            bytes: range.len(),
        }
    }

    /// What cannot be searched for is not shown either, and why it cannot.
    pub(crate) fn unsearchable(why: &str) -> Self {
        Self::of_kind(why, 0..0)
    }

    /// Where it stands in the text that was searched.
    pub fn range(&self) -> Range<usize> {
        self.at..self.at.saturating_add(self.bytes)
    }
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.pseudonym, self.bytes) {
            (_, 0) => f.write_str(&self.kind),
            (None, bytes) => write!(f, "a {} of {bytes} bytes", self.kind),
            (Some(pseudonym), bytes) => {
                write!(f, "a {} of {bytes} bytes ({pseudonym})", self.kind)
            }
        }
    }
}
