//! Words of the lexicon within sentences: what people quote when they tell of a stall.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::Lexicon;
use crate::denial::is_denied;
use crate::entry::{Entry, Kind, Mention};
use crate::phrases::Phrases;

/// Shortest name of a function that is told from a word of prose, in bytes.
const NAME_BYTES_MIN: usize = 6;

/// Instruments that begin with anything, by what stands first in them behind that. Lists of files have thousands of names
/// with a `/`, and none of it.
static INSTRUMENTS: LazyLock<BTreeMap<&str, Vec<usize>>> = LazyLock::new(|| {
    let lexicon = Lexicon::get();
    let mut by_stem: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let instruments = lexicon.anywhere.get(&Kind::Instrument);
    for number in instruments.into_iter().flat_map(|all| &all.numbers) {
        if let Some((_, pattern)) = lexicon.entries.get(*number) {
            by_stem.entry(pattern.stem()).or_default().push(*number);
        }
    }
    by_stem
});

static PHRASES: LazyLock<Option<Phrases>> = LazyLock::new(|| Phrases::of(Lexicon::get()));

/// The strong words of the lexicon in a line of prose, each once, in the order in which they stand there.
/// What the sentence denies or only supposes is left out, as far as a few words in front of it tell.
pub fn mentions(line: &str) -> Vec<Mention<'_>> {
    mentions_after("", line)
}

/// The same of a line whose sentence begins in the one before it: what that denies at its end is left out, too.
pub fn mentions_after<'l>(before: &str, line: &'l str) -> Vec<Mention<'l>> {
    let lexicon = Lexicon::get();
    let mut found: Vec<(usize, Mention)> = Vec::new();
    for (at, token) in tokens(line) {
        let Some(entry) = lexicon.named(token) else {
            continue;
        };
        if !entry.kind.is_amount() {
            found.push((at, Mention { entry, text: token }));
        } else if let Some(text) = with_amount(line, at, token, entry.kind) {
            found.push((at, Mention { entry, text }));
        }
    }
    if let Some(phrases) = PHRASES.as_ref() {
        found.extend(phrases.within(line));
    }
    let sentence = match before {
        "" => Cow::Borrowed(line),
        before => Cow::Owned(format!("{before} {line}")),
    };
    let begin = sentence.len() - line.len();
    found.retain(|(at, _)| !is_denied(&sentence, begin + *at));
    found.retain(|(at, mention)| mention.entry.kind != Kind::Term || !is_in_path(line, *at));
    // A term within a state, a message or a name adds nothing to it.
    let spans: Vec<_> = found
        .iter()
        .filter(|(_, mention)| mention.entry.kind != Kind::Term)
        .map(|(at, mention)| *at..*at + mention.text.len())
        .collect();
    found.retain(|(at, mention)| {
        mention.entry.kind != Kind::Term || !spans.iter().any(|span| span.contains(at))
    });
    found.sort_by_key(|(at, _)| *at);
    let letters = |entry: &Entry| entry.pattern.bytes().filter(|byte| *byte != b'*').count();
    let mut once: Vec<Mention> = Vec::new();
    for here in found.chunk_by(|left, right| left.0 == right.0) {
        for (_, mention) in here {
            // Of a family and one of its members the one that says most.
            let is_less = here.iter().any(|(_, other)| {
                other.entry.kind == mention.entry.kind
                    && letters(other.entry) > letters(mention.entry)
            });
            let is_same = |before: &Mention| {
                before.entry.kind == mention.entry.kind && before.entry.name == mention.entry.name
            };
            if !is_less && !once.iter().any(is_same) {
                once.push(*mention);
            }
        }
    }
    once
}

/// Whether a place of a line is within the path of a file: `--dest=/backup/slow-fsync/today` tells of no backup.
fn is_in_path(line: &str, at: usize) -> bool {
    let is_end = |c: char| c.is_whitespace() || "=:,;'\"`()[]<>|".contains(c);
    let (before, behind) = (line.get(..at), line.get(at..));
    let begin = before.and_then(|before| before.rsplit(is_end).next());
    let end = behind.and_then(|behind| behind.split(is_end).next());
    let word = format!("{}{}", begin.unwrap_or_default(), end.unwrap_or_default());
    let begins = ["/", "~/", "./", "../"]
        .iter()
        .any(|root| word.starts_with(root));
    begins && word.matches('/').count() >= 2
}

impl Lexicon {
    /// The strong entry of a name as programs write them, such as a function's.
    fn named(&'static self, token: &str) -> Option<&'static Entry> {
        self.named_so(token, &token.to_ascii_lowercase())
            .or_else(|| self.named_but_for_bars(token))
    }

    /// Underscores in front of a name get lost, or are a mark of somebody's text.
    fn named_but_for_bars(&'static self, token: &str) -> Option<&'static Entry> {
        let bare = token.trim_start_matches('_');
        if bare.len() < NAME_BYTES_MIN || bare.contains('/') {
            return None;
        }
        let barred = format!("__{bare}");
        let lower = barred.to_ascii_lowercase();
        // With none, one and two.
        let names = (0..=2)
            .rev()
            .filter_map(|at| barred.get(at..).zip(lower.get(at..)));
        let mut others = names.filter(|(name, _)| *name != token);
        others.find_map(|(name, lower)| self.named_so(name, lower))
    }

    /// The same of a name as it is; `lower` is the name in lower case.
    fn named_so(&'static self, token: &str, lower: &str) -> Option<&'static Entry> {
        // `/backup/slow-fsync/today` names no function.
        let is_path = token.contains('/');
        let is_wanted = |entry: &Entry| {
            let by_name = match entry.kind {
                Kind::Function => !is_path,
                Kind::Latch | Kind::Instrument | Kind::Status | Kind::Setting => true,
                _ => false,
            };
            by_name && (entry.is_strong || entry.kind.is_amount())
        };
        // Instruments are known by their ends; what is in front of them depends on who tells. A path from the root is a
        // file's.
        let may_be = is_path && !token.starts_with('/');
        let stems = may_be.then_some(&*INSTRUMENTS).into_iter().flatten();
        let instruments = stems.filter(|(stem, _)| token.contains(**stem));
        let instruments = instruments.flat_map(|(_, numbers)| numbers.iter().copied());
        self.by_begin(lower)
            .chain(instruments)
            .filter_map(|number| self.entries.get(number))
            .filter(|(entry, pattern)| {
                is_wanted(entry)
                    && match entry.kind.is_amount() {
                        true => pattern.matches_lower(lower),
                        false => pattern.matches(token),
                    }
            })
            .max_by_key(|(_, pattern)| pattern.letters())
            .map(|(entry, _)| entry)
    }
}

/// Words that are names of programs rather than of a language: `buf_LRU_scan`, `MDL_context::acquire_lock`,
/// `wait/io/file`. They have ASCII letters only.
fn tokens(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_:/~.".contains(byte);
    let mut end = 0;
    let words = std::iter::from_fn(move || {
        let rest = line.as_bytes().get(end..)?;
        let begin = end + rest.iter().position(is_of_name)?;
        let word = line.as_bytes().get(begin..)?;
        let bytes = word.iter().position(|byte| !is_of_name(byte));
        end = begin + bytes.unwrap_or(word.len());
        line.get(begin..end)
    });
    words
        .map(|token| {
            token
                .trim_end_matches(['.', ':'])
                .trim_start_matches(['.', ':'])
        })
        .filter(|token| token.len() >= NAME_BYTES_MIN && is_name(token))
        .map(move |token| (token.as_ptr() as usize - line.as_ptr() as usize, token))
}

/// It has what words of a language do not have: a bar, a path, a scope, or the humps of `AnonHugePages`.
fn is_name(token: &str) -> bool {
    let is_sign = |pair: &[u8]| {
        let [before, byte] = pair else {
            return false;
        };
        match byte {
            b'_' | b'/' => true,
            b':' => *before == b':',
            _ => byte.is_ascii_uppercase() && before.is_ascii_lowercase(),
        }
    };
    token.starts_with(['_', '/']) || token.as_bytes().windows(2).any(is_sign)
}

/// Values of settings and states of the server that are kept as they stand: they are words of the server's, not of its users.
const VALUES: [&str; 14] = [
    "on",
    "yes",
    "system",
    "always",
    "table",
    "none",
    "non-primary",
    "disconnected",
    "pool-of-threads",
    "loaded-dynamically",
    "read-write",
    "demand",
    "withdrawing",
    "resizing",
];

/// Longest number that is kept beside a name, in bytes.
const NUMBER_BYTES_MAX: usize = 24;

/// A name of an amount with what stands behind it: `Innodb_log_waits = 4711`, `time_zone is SYSTEM`. What is zero or off was
/// not seen, nor was a setting without a value. Of a counter people also say that it rises.
fn with_amount<'t>(line: &'t str, at: usize, name: &str, kind: Kind) -> Option<&'t str> {
    let behind = line.get(at + name.len()..)?;
    let between = |c: char| c.is_whitespace() || "=:|`'\"*,>".contains(c);
    let mut value = behind.trim_start_matches(between);
    for word in ["is ", "was ", "set to ", "at ", "of "] {
        let rest = value.strip_prefix(word);
        value = rest.map_or(value, |rest| rest.trim_start_matches(between));
    }
    let is_of_value = |c: char| c.is_ascii_alphanumeric() || ".,-+%".contains(c);
    let end = value.find(|c| !is_of_value(c)).unwrap_or(value.len());
    let value = value.get(..end)?.trim_end_matches(['.', ',', '-']);
    let is_number = value.len() <= NUMBER_BYTES_MAX
        && value.starts_with(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| matches!(c, '1'..='9'));
    let is_value = is_number || VALUES.contains(&value.to_lowercase().as_str());
    let is_zero = value.starts_with(|c: char| c.is_ascii_digit())
        || ["off", "no", "disabled"].contains(&value.to_lowercase().as_str());
    if kind == Kind::Status && !is_value && !is_zero {
        return line.get(at..at + name.len());
    }
    let end = value.as_ptr() as usize + value.len() - line.as_ptr() as usize;
    line.get(at..end).filter(|_| is_value)
}

#[cfg(test)]
mod tests;
