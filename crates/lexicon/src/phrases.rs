//! Entries of several words within a line of prose: states, messages, terms of people; found in one pass.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::Lexicon;
use crate::denial::is_fine;
use crate::entry::{Entry, Kind, Mention};
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
    /// Of small letters. One that knows both cases takes each start of the program three times as long to make.
    automaton: AhoCorasick,
    /// By number of the text in the automaton.
    anchors: Vec<Anchor>,
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
        let mut texts: Vec<String> = Vec::new();
        let mut anchors = Vec::new();
        for (entry, pattern) in lexicon.entries.iter().filter(|(entry, _)| is_wanted(entry)) {
            if let Some(halves) = near::halves(entry.pattern) {
                for (side, words) in halves.into_iter().enumerate() {
                    let texts_of = words.iter().map(|word| word.trim_end_matches('*'));
                    texts.extend(texts_of.map(str::to_ascii_lowercase));
                    anchors.extend(words.iter().map(|word| Anchor::Half(entry, side, word)));
                }
            } else if entry.kind == Kind::Term || pattern.anchor().trim().len() >= ANCHOR_BYTES_MIN
            {
                texts.push(pattern.anchor().to_ascii_lowercase());
                anchors.push(Anchor::Whole(entry, pattern));
            }
        }
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(texts)
            .ok()?;
        Some(Self { automaton, anchors })
    }

    pub(crate) fn within<'t>(&self, line: &'t str) -> Vec<(usize, Mention<'t>)> {
        let mut found = Vec::new();
        let mut halves = Vec::new();
        let mut lower = None;
        let small = line.to_ascii_lowercase();
        for at in self.automaton.find_overlapping_iter(&small) {
            let (entry, pattern) = match self.anchors.get(at.pattern().as_usize()) {
                Some(Anchor::Whole(entry, pattern)) => (entry, pattern),
                Some(Anchor::Half(entry, side, word)) => {
                    let (from, to) = (at.start(), at.end());
                    if is_term(word, line, from, to) {
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
            let Some(text) = line.get(at.start()..) else {
                continue;
            };
            let is_it = match entry.kind {
                Kind::Term => is_term(entry.pattern, line, at.start(), at.end()),
                // A state is written as the server writes it, or it is prose.
                Kind::State | Kind::InnodbWord if pattern.is_family() => {
                    let is_begin = entry.pattern.starts_with(pattern.anchor());
                    (!is_begin || starts_word(line, at.start())) && pattern.is_in(line)
                }
                Kind::State | Kind::InnodbWord => {
                    let text = text.get(..entry.pattern.len()).unwrap_or(text);
                    let is_strong = entry.is_strong
                        && (pattern.matches(text) || entry.pattern.split(' ').count() >= WORDS_MIN);
                    is_word(line, at.start(), at.end())
                        && (is_strong || is_quoted(line, at.start(), at.end()))
                }
                _ => {
                    let lower = lower.get_or_insert_with(|| line.to_lowercase());
                    starts_word(line, at.start()) && pattern.matches_lower(lower)
                }
            };
            if is_it {
                let text = match entry.kind {
                    // What stands for the asterisk may be anybody's.
                    Kind::State | Kind::InnodbWord if pattern.is_family() => entry.pattern,
                    Kind::Statement | Kind::Term => entry.name,
                    Kind::State | Kind::InnodbWord | Kind::KernelLine => {
                        text.get(..at.end() - at.start()).unwrap_or(text)
                    }
                    _ => text,
                };
                let entry: &'static Entry = entry;
                found.push((at.start(), Mention { entry, text }));
            }
        }
        let pairs = near::pairs(line, &halves).into_iter();
        found.extend(pairs.map(|(from, entry)| {
            let text = entry.name;
            (from, Mention { entry, text })
        }));
        found
    }
}

/// Whether a term of the field stands there: as a word, or before any ending where it asks for that. Scripts without
/// blanks have no words to tell apart; names of capital letters are told from words by them.
fn is_term(pattern: &str, line: &str, from: usize, to: usize) -> bool {
    let has_ending = pattern.ends_with('*');
    let text = line.get(from..to).unwrap_or_default();
    let is_name = pattern.bytes().all(|c| !c.is_ascii_lowercase()) && pattern.is_ascii();
    if is_name && text != pattern {
        return false;
    }
    // A setting with its value is found as one.
    let behind = line.get(to..).unwrap_or_default().trim_start();
    if let Some(value) = behind.strip_prefix(['=', ':']) {
        let value = value.trim_start();
        let is_zero = value.starts_with('0') && !value.starts_with("0.");
        let has_no_limit = NO_LIMIT.iter().any(|none| value.starts_with(none));
        if pattern.contains('_') || is_zero || has_no_limit {
            return false;
        }
    }
    let stands_there = match pattern.starts_with(|c: char| c.is_alphabetic() && is_parted(c)) {
        false => !pattern.is_ascii() || is_word(line, from, to),
        true => {
            starts_word(line, from)
                && (has_ending || is_word(line, from, to) || is_plural(line, to))
        }
    };
    stands_there && !is_fine(line, to)
}

/// Letters of scripts that write blanks between words.
fn is_parted(c: char) -> bool {
    // From Hiragana and the ideographs on; Hangul has blanks, and particles behind its words.
    c < '\u{2e80}'
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

fn is_word(line: &str, from: usize, to: usize) -> bool {
    let behind = line.get(to..).and_then(|text| text.chars().next());
    starts_word(line, from)
        && !behind.is_some_and(|c| c.is_alphanumeric() && is_parted(c) || c == '_')
}
