//! What must not stand in a redacted result, read from the incident by other code than the one that redacts.
//!
//! The redactor searches for the names that it met. What it read wrongly it did not meet, and so it would say
//! that nothing is left. Here every source of an incident is read once more, in the plainest way, for users,
//! hosts, schemas, tables and values; the lines of logs as the file has them, before anything was left out.
//! And what could not be looked for is told with its reason, source by source.

mod sources;

use std::collections::{BTreeMap, HashSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use model::Incident;

use crate::redact::Leak;

/// Shorter names stand in other words by chance.
const CHARS_MIN: usize = 4;

/// Longest name that is looked for, in bytes: more of a value need not be compared.
const BYTES_MAX: usize = 200;

/// Different names of one incident.
const NAMES_MAX: usize = 200_000;

/// Where a name must not stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    /// Nowhere in the result.
    Everywhere,
    /// In no text of a log: a word in quotes there may be a setting's value elsewhere.
    Logs,
}

/// What is looked for in a result.
pub struct Check {
    finder: Option<AhoCorasick>,
    /// By pattern.
    scopes: Vec<Scope>,
    names: Vec<String>,
    unchecked: Vec<Unchecked>,
}

/// Names of one source that could not be looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unchecked {
    /// The source, in words: `sessions`.
    pub source: &'static str,
    /// Why not.
    pub why: &'static str,
    /// How many different names.
    pub names: usize,
}

/// Where a part of a result stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Lines of the server's or the kernel's log.
    Log,
    /// Anything else.
    Other,
}

impl Check {
    /// Reads the incident as it is before redaction. `raw_logs` are texts of logs as the incident's file holds
    /// them; `also` is text that every result has.
    pub fn of(incident: &Incident, raw_logs: &[String], also: &str) -> Self {
        let mut found = Found::new(incident, also);
        sources::read(incident, raw_logs, &mut found);
        found.into_check()
    }

    /// How many names are looked for.
    pub fn searched(&self) -> usize {
        self.names.len()
    }

    /// What could not be looked for.
    pub fn unchecked(&self) -> &[Unchecked] {
        &self.unchecked
    }

    /// The first name in these bytes, whatever its letters' case.
    pub fn find(&self, bytes: &[u8], part: Part) -> Option<Leak> {
        let Some(finder) = &self.finder else {
            // What cannot be searched is not shown.
            return Some(Leak::unsearchable(
                "anything (there are too many names to search for)",
            ));
        };
        let mut at = 0;
        while let Some(hit) = finder.find(bytes.get(at..)?) {
            let (start, end) = (at + hit.start(), at + hit.end());
            let index = hit.pattern().as_usize();
            let counts = part == Part::Log || self.scopes.get(index) == Some(&Scope::Everywhere);
            if counts && is_boundary(bytes, start) && is_boundary(bytes, end) {
                return Some(Leak::of_kind("name", start..end));
            }
            at = start + 1;
        }
        None
    }
}

/// Words do not go on across this place.
fn is_boundary(bytes: &[u8], at: usize) -> bool {
    let word = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80)
    };
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    !(word(before) && word(bytes.get(at)))
}

/// `+00:00`, `12:30:00`: few digits with signs between, and no address.
fn is_time(text: &str) -> bool {
    const DIGITS_MAX: usize = 8;
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_sign = |byte: u8| byte.is_ascii_digit() || b":.+-".contains(&byte);
    (1..=DIGITS_MAX).contains(&digits)
        && text.bytes().all(is_sign)
        && text.parse::<std::net::IpAddr>().is_err()
}

/// Names that were met, with their sources.
struct Found {
    /// Words of servers, kernels and of our own files, in lower case.
    own: HashSet<String>,
    names: BTreeMap<String, Scope>,
    left_out: BTreeMap<(&'static str, &'static str), HashSet<String>>,
    is_over: bool,
}

impl Found {
    fn new(incident: &Incident, also: &str) -> Self {
        let mut own = HashSet::new();
        let mut add = |text: &str| {
            for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
                own.insert(word.to_lowercase());
            }
        };
        add(also);
        add(crate::redact::STRUCTURE_WORDS);
        crate::redact::server_words().for_each(&mut add);
        add(&crate::stalk::own_words());
        let timeline = &incident.timeline;
        timeline.sources.iter().for_each(|source| add(&source.name));
        // What stands in a path is not the server's: the signals of file systems have it.
        let series = timeline
            .series
            .iter()
            .filter(|series| !series.name.contains('/'));
        let facts = incident.facts.iter().map(|timed| &timed.fact.name);
        series
            .map(|series| &series.name)
            .chain(facts)
            .filter(|name| !crate::redact::is_somebodys_variable(name))
            .for_each(|name| add(name));
        let foreign = crate::redact::Foreign::of(incident);
        let frames = incident.stacks.table.frames().iter().enumerate();
        frames
            .filter(|(number, _)| !foreign.has_frame(*number))
            .for_each(|(_, frame)| add(&frame.name));
        Self {
            own,
            names: BTreeMap::new(),
            left_out: BTreeMap::new(),
            is_over: false,
        }
    }

    /// A name that was met in a source.
    fn add(&mut self, source: &'static str, scope: Scope, name: &str) {
        let mut lower = name.trim().to_lowercase();
        lower.truncate(lower.floor_char_boundary(BYTES_MAX));
        if lower.is_empty() || crate::redact::is_everybodys(&lower) {
            return;
        }
        let why = if lower.chars().count() < CHARS_MIN {
            "shorter than four characters"
        } else if lower.bytes().all(|byte| byte.is_ascii_digit()) || is_time(&lower) {
            "a number"
        } else if self.is_own(&lower) {
            "a word that servers use themselves"
        } else if self.names.len() >= NAMES_MAX {
            self.is_over = true;
            return;
        } else {
            let known = self.names.entry(lower).or_insert(scope);
            *known = (*known).min(scope);
            return;
        };
        self.left_out
            .entry((source, why))
            .or_default()
            .insert(lower);
    }

    /// Every word of it is one of servers and files; an address has none.
    fn is_own(&self, lower: &str) -> bool {
        let mut words = lower
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|word| !word.is_empty() && !word.bytes().all(|byte| byte.is_ascii_digit()))
            .peekable();
        words.peek().is_some()
            && words.all(|word| self.own.contains(word) || server_text::is_message_word(word))
    }

    fn into_check(self) -> Check {
        let (names, scopes): (Vec<String>, Vec<Scope>) = self.names.into_iter().unzip();
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&names)
            .ok()
            .filter(|_| !self.is_over);
        let unchecked = self.left_out.into_iter();
        Check {
            finder,
            scopes,
            names,
            unchecked: unchecked
                .map(|((source, why), names)| Unchecked {
                    source,
                    why,
                    names: names.len(),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
