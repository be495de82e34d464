//! Names of functions and locks against patterns, fast: a catalogue has hundreds of patterns and a
//! record has thousands of names.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use model::{Side, StackBook, StackId};
use regex::{Regex, RegexBuilder};

/// Longest pattern that is shown whole, in bytes.
const SHORT: usize = 48;

/// A regular expression. One that is only words with `|` between them, as most are, is compared as
/// words.
#[derive(Debug, Clone)]
pub(crate) struct NamePattern {
    text: String,
    how: How,
}

#[derive(Debug, Clone)]
enum How {
    Words(Vec<Word>),
    Regex(Regex),
}

#[derive(Debug, Clone)]
struct Word {
    text: String,
    /// `^` stood before it.
    begins: bool,
    /// `$` stood behind it.
    ends: bool,
}

impl NamePattern {
    /// Reads a pattern; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let words: Option<Vec<Word>> = text.split('|').map(word).collect();
        let how = match words {
            Some(words) => How::Words(words),
            None => How::Regex(regular_expression(text)?),
        };
        Ok(Self {
            text: text.to_owned(),
            how,
        })
    }

    pub(crate) fn is_match(&self, name: &str) -> bool {
        match &self.how {
            How::Regex(regex) => regex.is_match(name),
            How::Words(words) => words.iter().any(|word| match (word.begins, word.ends) {
                (true, true) => name == word.text,
                (true, false) => name.starts_with(&word.text),
                (false, true) => name.ends_with(&word.text),
                (false, false) => name.contains(&word.text),
            }),
        }
    }

    /// Short, for people: its first words.
    pub(crate) fn short(&self) -> String {
        match self.text.split_once('|') {
            Some((first, _)) if self.text.len() > SHORT => format!("{first}|…"),
            _ => self.text.clone(),
        }
    }

    /// As it stands in the file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Largest regular expression, in bytes as the library counts them: ours have some thousands, and a
/// user's file may ask for `(a{1000}){1000}`.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// What a search remembers of its way through a text, in bytes for each thread. There are hundreds
/// of patterns in a process that must stay small; one that needs more is searched more slowly.
const CACHE_BYTES_MAX: usize = 64 << 10;

/// Reads a regular expression; the error says in one line what is wrong with it.
pub(crate) fn regular_expression(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text)
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(CACHE_BYTES_MAX)
        .build()
        .map_err(|error| {
            let told = error.to_string();
            let last = told.lines().last().unwrap_or_default().trim();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        })
}

/// A plain word, or nothing when the text means more than itself.
fn word(text: &str) -> Option<Word> {
    let (begins, rest) = match text.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (ends, rest) = match rest.strip_suffix('$') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_:~ -<>,&".contains(&byte);
    (!rest.is_empty() && rest.bytes().all(plain)).then(|| Word {
        text: rest.to_owned(),
        begins,
        ends,
    })
}

/// Which frames of a book a pattern matches.
struct Matching {
    /// By number of the frame.
    frames: Vec<bool>,
    /// At least one does. Most patterns of a catalogue match nothing in a record, and then no stack
    /// need be looked at.
    any: bool,
}

impl Matching {
    fn get(&self, frame: usize) -> bool {
        self.frames.get(frame).copied().unwrap_or(false)
    }
}

/// The frames of a record, each tested once against each pattern.
pub(crate) struct Frames<'a> {
    book: &'a StackBook,
    tested: RefCell<HashMap<String, Rc<Matching>>>,
}

impl<'a> Frames<'a> {
    pub(crate) fn new(book: &'a StackBook) -> Self {
        Self {
            book,
            tested: RefCell::default(),
        }
    }

    /// For each frame of the book whether its name matches.
    fn matching(&self, pattern: &NamePattern) -> Rc<Matching> {
        let mut tested = self.tested.borrow_mut();
        if let Some(done) = tested.get(pattern.text()) {
            return Rc::clone(done);
        }
        let frames = self.book.frames().iter();
        let frames: Vec<bool> = frames.map(|frame| pattern.is_match(&frame.name)).collect();
        let done = Rc::new(Matching {
            any: frames.contains(&true),
            frames,
        });
        tested.insert(pattern.text().to_owned(), Rc::clone(&done));
        done
    }

    /// Whether each of these patterns matches some frame: where one does not, no stack goes through
    /// them all.
    pub(crate) fn have(&self, patterns: &[NamePattern]) -> bool {
        patterns.iter().all(|pattern| self.matching(pattern).any)
    }

    /// Whether a stack goes through frames that match these patterns, innermost first, with any
    /// frames between them.
    pub(crate) fn goes_through(&self, patterns: &[NamePattern], stack: StackId) -> bool {
        let mut frames = self.book.stack(stack).frames.iter();
        patterns.iter().all(|pattern| {
            let matching = self.matching(pattern);
            matching.any && frames.any(|frame| matching.get(frame.0 as usize))
        })
    }

    /// The same with none between them.
    pub(crate) fn calls(&self, patterns: &[NamePattern], stack: StackId) -> bool {
        let matching: Vec<Rc<Matching>> = patterns.iter().map(|one| self.matching(one)).collect();
        let frames = &self.book.stack(stack).frames;
        frames.windows(matching.len().max(1)).any(|frames| {
            let mut pairs = frames.iter().zip(&matching);
            pairs.all(|(frame, matching)| matching.get(frame.0 as usize))
        })
    }

    /// The innermost frame that matches `pattern` on one side of the system call boundary and has a
    /// caller that matches `under`. With `only_self` it must be the stack's innermost.
    pub(crate) fn innermost(
        &self,
        pattern: &NamePattern,
        under: Option<&NamePattern>,
        side: Option<Side>,
        only_self: bool,
        stack: StackId,
    ) -> Option<&'a str> {
        let matching = self.matching(pattern);
        if !matching.any {
            return None;
        }
        let callers = under.map(|under| self.matching(under));
        let frames = &self.book.stack(stack).frames;
        let depth = if only_self { 1 } else { frames.len() };
        for (index, id) in frames.iter().enumerate().take(depth) {
            let Some(frame) = self.book.frame(*id) else {
                continue;
            };
            let this = matching.get(id.0 as usize)
                && side.is_none_or(|side| frame.side == side)
                && callers.as_ref().is_none_or(|callers| {
                    let mut outer = frames.iter().skip(index + 1);
                    outer.any(|caller| callers.get(caller.0 as usize))
                });
            if this {
                return Some(&frame.name);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_expressions_match_alike() {
        for (pattern, name, expected) in [
            ("malloc", "_int_malloc", true),
            ("^malloc$", "_int_malloc", false),
            ("^malloc$|^free$", "free", true),
            ("^_int_", "_int_free", true),
            ("_slowpath$", "rwsem_down_read_slowpath", true),
            ("THD::init", "THD::init_for_queries", true),
            ("^(malloc|free)$", "free", true),
            ("flush_tlb_.*", "flush_tlb_mm_range", true),
            ("a|b", "c", false),
        ] {
            let parsed = NamePattern::parse(pattern).unwrap();
            assert_eq!(parsed.is_match(name), expected, "{pattern} {name}");
            let regex = Regex::new(pattern).unwrap();
            assert_eq!(regex.is_match(name), expected, "{pattern} {name}");
        }
        assert!(matches!(
            NamePattern::parse("^malloc$|free").unwrap().how,
            How::Words(_)
        ));
        assert!(NamePattern::parse("(").is_err());
        assert!(NamePattern::parse("a||b").unwrap().is_match(""));
    }
}
