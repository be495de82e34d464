//! Entries of several words within a line of prose: states, messages, terms of people; found in one pass.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::Lexicon;
use crate::anywhere::begin_of;
use crate::denial::{is_false, is_fine};
use crate::entry::{Entry, Kind, Mention};
use crate::letters::{is_parted, small};
use crate::near::{self, Half};
use crate::pattern::Pattern;

/// Shortest text of an entry that is looked for within sentences, in bytes.
const ANCHOR_BYTES_MIN: usize = 6;

/// A state of so many words is one, whatever its case.
const WORDS_MIN: usize = 3;

/// What people quote with.
const QUOTES: &str = "\"'`*_\u{b4}«»‹›‘’‚“”„「」『』《》";

/// Values of a limit that limits nothing.
const NO_LIMIT: [&str; 3] = ["infinity", "unlimited", "-1"];

/// Entries of several words, found in one pass.
pub(crate) struct Phrases {
    /// Of the beginnings, in small letters. One that knows both cases takes each start of the program three times as long
    /// to make.
    automaton: AhoCorasick,
    /// By number in the automaton: the whole text in small letters, and what it is for.
    anchors: Vec<(String, Anchor)>,
}

/// What a text of the automaton is for.
enum Anchor {
    /// An entry has it.
    Whole(&'static Entry, &'static Pattern),
    /// One of the words of a term that has two; which one, and as it stands in the file.
    Half(&'static Entry, usize, &'static str),
}

impl Phrases {
    pub(crate) fn of(lexicon: &'static Lexicon) -> Option<Self> {
        let is_wanted = |entry: &Entry| {
            let is_phrase = match entry.kind {
                Kind::State | Kind::InnodbWord => entry.pattern.contains([' ', '*']),
                Kind::Message | Kind::KernelLine | Kind::ClientError => true,
                Kind::Statement | Kind::Term => true,
                _ => false,
            };
            // A weak state is looked for where somebody quotes it.
            (entry.is_strong || entry.kind == Kind::State) && is_phrase
        };
        let mut anchors = Vec::new();
        for (entry, pattern) in lexicon.entries.iter().filter(|(entry, _)| is_wanted(entry)) {
            if let Some(halves) = near::halves(entry.pattern) {
                for (side, words) in halves.into_iter().enumerate() {
                    anchors.extend(words.into_iter().map(|word| {
                        let text = small(word.trim_end_matches('*'));
                        (text, Anchor::Half(entry, side, word))
                    }));
                }
            } else if entry.kind == Kind::Term || pattern.anchor().trim().len() >= ANCHOR_BYTES_MIN
            {
                let text = small(pattern.anchor());
                anchors.push((text, Anchor::Whole(entry, pattern)));
            }
        }
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(anchors.iter().map(|(text, _)| begin_of(text)))
            .ok()?;
        Some(Self { automaton, anchors })
    }

    pub(crate) fn within<'t>(&self, line: &'t str) -> Vec<(usize, Mention<'t>)> {
        let mut found = Vec::new();
        let mut halves = Vec::new();
        let mut lower = None;
        for (to, from, number) in self.hits(line) {
            let (entry, pattern) = match self.anchors.get(number) {
                Some((_, Anchor::Whole(entry, pattern))) => (entry, pattern),
                Some((_, Anchor::Half(entry, side, word))) => {
                    if stands_there(word, line, from, to) {
                        let side = *side;
                        halves.push(Half {
                            entry,
                            side,
                            from,
                            to,
                        });
                    }
                    continue;
                }
                None => continue,
            };
            let Some(text) = line.get(from..) else {
                continue;
            };
            let is_it = match entry.kind {
                Kind::Term => stands_there(entry.pattern, line, from, to) && !is_fine(line, to),
                // A state is written as the server writes it, or it is prose.
                Kind::State | Kind::InnodbWord if pattern.is_family() => {
                    let is_begin = entry.pattern.starts_with(pattern.anchor());
                    (!is_begin || starts_word(line, from)) && pattern.is_in(line)
                }
                Kind::State | Kind::InnodbWord => {
                    let text = text.get(..entry.pattern.len()).unwrap_or(text);
                    let is_strong = entry.is_strong
                        && (pattern.matches(text) || entry.pattern.split(' ').count() >= WORDS_MIN);
                    is_word(line, from, to) && (is_strong || is_quoted(line, from, to))
                }
                _ => {
                    let lower = lower.get_or_insert_with(|| line.to_lowercase());
                    starts_word(line, from)
                        && ends_number(line, to)
                        && pattern.matches_lower(lower)
                        && !is_false(line.get(to..).unwrap_or_default())
                }
            };
            if is_it {
                let text = match entry.kind {
                    // What stands for the asterisk may be anybody's.
                    Kind::State | Kind::InnodbWord if pattern.is_family() => entry.pattern,
                    Kind::Statement | Kind::Term => entry.name,
                    Kind::State | Kind::InnodbWord | Kind::KernelLine => {
                        text.get(..to - from).unwrap_or(text)
                    }
                    _ => text,
                };
                let entry: &'static Entry = entry;
                found.push((from, Mention { entry, text }));
            }
        }
        let pairs = near::pairs(line, &halves).into_iter();
        found.extend(pairs.map(|(from, entry)| {
            let text = entry.name;
            (from, Mention { entry, text })
        }));
        found
    }

    /// Where the texts stand in a line, in the order of their ends: end, begin, number of the text.
    fn hits(&self, line: &str) -> Vec<(usize, usize, usize)> {
        let small = small(line);
        let mut hits = Vec::new();
        for at in self.automaton.find_overlapping_iter(&small) {
            let (from, number) = (at.start(), at.pattern().as_usize());
            let text = self.anchors.get(number).map_or("", |(text, _)| text);
            let is_whole = small.get(from..).is_some_and(|rest| rest.starts_with(text));
            if is_whole {
                hits.push((from + text.len(), from, number));
            }
        }
        hits.sort_unstable();
        hits
    }
}

/// Whether a term of the field stands there: as a word, or before any ending where it asks for that. Scripts without
/// blanks have no words to tell apart; names of capital letters are told from words by them.
fn stands_there(pattern: &str, line: &str, from: usize, to: usize) -> bool {
    let is_word_there = match pattern.starts_with(|c: char| c.is_alphabetic() && is_parted(c)) {
        false => !pattern.is_ascii() || is_word(line, from, to),
        true => {
            let has_ending = pattern.ends_with('*');
            starts_word(line, from)
                && (has_ending || is_word(line, from, to) || is_plural(line, to))
        }
    };
    if !is_word_there {
        return false;
    }
    let text = line.get(from..to).unwrap_or_default();
    let is_name = || pattern.bytes().all(|c| !c.is_ascii_lowercase()) && pattern.is_ascii();
    if text != pattern && is_name() {
        return false;
    }
    // A setting with its value is found as one.
    let behind = line.get(to..).unwrap_or_default().trim_start();
    let Some(value) = behind.strip_prefix(['=', ':']) else {
        return true;
    };
    let value = value.trim_start();
    let is_zero = value.starts_with('0') && !value.starts_with("0.");
    let has_no_limit = NO_LIMIT.iter().any(|none| value.starts_with(none));
    !pattern.contains('_') && !is_zero && !has_no_limit
}

fn is_plural(line: &str, to: usize) -> bool {
    let behind = line.get(to..).and_then(|text| text.strip_prefix('s'));
    behind.is_some_and(|text| !text.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Whether a text stands in quotes of any kind, alone.
fn is_quoted(line: &str, from: usize, to: usize) -> bool {
    let before = line.get(..from).and_then(|text| text.chars().next_back());
    let behind = line.get(to..).and_then(|text| text.chars().next());
    let is_quote = |c: Option<char>| c.is_some_and(|c| QUOTES.contains(c));
    is_quote(before) && is_quote(behind)
}

/// In a script without blanks a name of another one stands between its letters: `发生OOM`.
fn starts_word(line: &str, from: usize) -> bool {
    let before = line.get(..from).and_then(|text| text.chars().next_back());
    !before.is_some_and(|c| c.is_alphanumeric() && is_parted(c))
}

/// Whether a number that ends there is a whole one: `errno: 11` is not in `errno: 113`.
fn ends_number(line: &str, to: usize) -> bool {
    let byte = |at: usize| line.as_bytes().get(at);
    let left = to.checked_sub(1).and_then(byte);
    !(left.is_some_and(u8::is_ascii_digit) && byte(to).is_some_and(u8::is_ascii_digit))
}

fn is_word(line: &str, from: usize, to: usize) -> bool {
    let behind = line.get(to..).and_then(|text| text.chars().next());
    starts_word(line, from)
        && !behind.is_some_and(|c| c.is_alphanumeric() && is_parted(c) || c == '_')
}
