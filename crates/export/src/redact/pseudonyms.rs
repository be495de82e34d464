//! Which name stands for which: the same everywhere, and searched for at the end.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Anchored, Input, MatchKind, StartKind};
use model::Incident;
use sha2::{Digest, Sha256};

use super::foreign::Foreign;
use super::leak::Leak;
use super::word_set::WordSet;
use super::{variables, well_known};

/// What a name names. It shows in front of what stands for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum NameKind {
    User,
    Host,
    Address,
    Schema,
    Table,
    Name,
    Path,
    Program,
    Uuid,
    /// A literal: nothing stands for it but `?`.
    Literal,
}

impl NameKind {
    fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Host => "host",
            Self::Address => "addr",
            Self::Schema => "schema",
            Self::Table => "table",
            Self::Name => "name",
            Self::Path => "dir",
            Self::Program => "program",
            Self::Uuid => "uuid",
            Self::Literal => "literal",
        }
    }
}

/// How a name can be found in text that is not known to hold one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Search {
    /// Anywhere: it stands in no word that servers and kernels use themselves.
    Anywhere,
    /// As a whole word: it is a part of such words.
    Word,
    /// Not at all: it is such a word, or too short.
    Never,
}

/// Letters and digits without vowels, so that no word comes about by chance.
const ALPHABET: &[u8; 30] = b"bcdfghjklmnpqrstvwxz0123456789";

/// How many of them are letters. One at least is in each pseudonym: `user_4916123456` is somebody's account.
const LETTERS: usize = 20;

/// Characters of a pseudonym: 49 bits.
const PSEUDONYM_CHARS: usize = 10;

/// Shorter names are not searched for.
const SEARCHED_CHARS_MIN: usize = 3;

/// Shorter names are found as whole words only: by chance they are parts of others.
const ANYWHERE_CHARS_MIN: usize = 6;

/// Names of one incident. A statement of the longest kind has some thousands of words.
const NAMES_MAX: usize = 200_000;

/// Bytes of a name.
const NAME_BYTES_MAX: usize = 512;

/// What stands for what.
pub(super) struct Pseudonyms<'a> {
    salt: &'a [u8],
    /// By the name in lower case: servers do not tell cases apart where it matters.
    names: BTreeMap<String, NameKind>,
    /// Words of the server itself, in lower case.
    own: HashSet<String>,
    /// All of them in one text.
    own_text: String,
    sweep: Option<Sweep>,
    /// Names over the limit were met: the result must not leave the house.
    pub(super) overflow: bool,
}

struct Sweep {
    finder: AhoCorasick,
    /// By pattern: the name, what stands for it, and how it is searched.
    names: Vec<(String, String, Search)>,
}

impl<'a> Pseudonyms<'a> {
    /// `also` are words that the result will have besides.
    pub(super) fn new(incident: &Incident, salt: &'a [u8], also: &str) -> Self {
        let mut own = HashSet::new();
        let mut own_text = String::new();
        let mut add = |text: &str| {
            let text = text.to_ascii_lowercase();
            for word in text
                .split(|c: char| !is_word(c))
                .filter(|word| !word.is_empty())
            {
                if own.insert(word.to_owned()) {
                    own_text.push(' ');
                    own_text.push_str(word);
                }
            }
        };
        add(well_known::STRUCTURE);
        well_known::server().for_each(&mut add);
        add(also);
        add(&crate::stalk::own_words());
        for series in &incident.timeline.series {
            if !well_known::is_named_by_others(&series.name)
                && !variables::is_somebodys(&series.name)
            {
                add(&series.name);
            }
        }
        for source in &incident.timeline.sources {
            add(&source.name);
        }
        let facts = incident.facts.iter().map(|timed| &timed.fact.name);
        facts
            .filter(|name| !variables::is_somebodys(name))
            .for_each(|name| add(name));
        // `importe` is a column of somebody's, and `imported` how we call what others captured.
        add(model::Stall::IMPORTED);
        let foreign = Foreign::of(incident);
        for (number, frame) in incident.stacks.table.frames().iter().enumerate() {
            if !super::is_program_frame(&frame.name) && !foreign.has_frame(number) {
                add(&frame.name);
                // Its folders are whoever installed it.
                add(frame.image.rsplit('/').next().unwrap_or_default());
            }
        }
        Self {
            salt,
            names: BTreeMap::new(),
            own,
            own_text,
            sweep: None,
            overflow: false,
        }
    }

    /// What stands for a name from now on.
    pub(super) fn name(&mut self, what: NameKind, name: &str) -> String {
        let mut lower = name.to_lowercase();
        lower.truncate(lower.floor_char_boundary(NAME_BYTES_MAX));
        // `GRANT … TO app@localhost`: what every server has stays wherever it stands.
        if lower.trim().is_empty() || super::is_everybodys(&lower) {
            return name.to_owned();
        }
        if let Some(known) = self.names.get_mut(&lower) {
            *known = (*known).min(what);
        } else if self.names.len() < NAMES_MAX {
            self.names.insert(lower.clone(), what);
        } else {
            self.overflow = true;
        }
        self.pseudonym(what, &lower)
    }

    /// How many names are known.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Words of the server itself, as whole.
    pub(super) fn is_own(&self, word: &str) -> bool {
        self.own.contains(&word.to_ascii_lowercase())
    }

    fn pseudonym(&self, what: NameKind, lower: &str) -> String {
        if what == NameKind::Literal {
            return "?".to_owned();
        }
        // The first kind that a name was met as, in the order of kinds, wherever it stands.
        let what = self.names.get(lower).map_or(what, |known| what.min(*known));
        format!("{}_{}", what.word(), letters(self.salt, lower))
    }

    fn search(&self, lower: &str) -> Search {
        let length = lower.chars().count();
        let has_letters = lower.chars().any(char::is_alphabetic) || is_address(lower);
        // A hidden folder is called like a word with a point: `.cache` stands in `meminfo.Cached`.
        let is_own = self.own.contains(lower.trim_start_matches('.'));
        if length < SEARCHED_CHARS_MIN || !has_letters || is_own {
            Search::Never
        } else if length < ANYWHERE_CHARS_MIN || self.own_text.contains(lower) {
            Search::Word
        } else {
            Search::Anywhere
        }
    }

    /// From here on [`Pseudonyms::sweep`] finds every name that is known now.
    pub(super) fn learn(&mut self) {
        let mut patterns = Vec::new();
        let mut names = Vec::new();
        for (lower, what) in &self.names {
            let search = self.search(lower);
            if search == Search::Never {
                continue;
            }
            // The search knows both cases of ASCII's letters only.
            let upper = (!lower.is_ascii()).then(|| lower.to_uppercase());
            for pattern in std::iter::once(lower.clone()).chain(upper) {
                patterns.push(pattern);
                names.push((lower.clone(), self.pseudonym(*what, lower), search));
            }
        }
        self.sweep = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .start_kind(StartKind::Both)
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&patterns)
            .ok()
            .map(|finder| Sweep { finder, names });
        // Without it nothing can be promised.
        self.overflow |= self.sweep.is_none();
    }

    /// The text with every known name replaced, wherever it stands.
    pub(super) fn sweep<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(sweep) = &self.sweep else {
            return Cow::Borrowed(text);
        };
        let mut out = String::new();
        let mut copied = 0;
        let mut at = 0;
        while let Some(found) = sweep.next(text.as_bytes(), at) {
            out.push_str(text.get(copied..found.start).unwrap_or_default());
            out.push_str(found.pseudonym);
            copied = found.end;
            at = found.end;
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// What is searched for in the result.
    pub(super) fn into_names(self) -> Names {
        let unsearched = self
            .names
            .iter()
            .filter(|(lower, what)| {
                **what != NameKind::Literal && self.search(lower) == Search::Never
            })
            .map(|(lower, _)| lower.clone())
            .collect();
        Names {
            sweep: self.sweep,
            own: WordSet::of(&self.own),
            unsearched,
        }
    }
}

/// A name in a text.
struct Found<'a> {
    start: usize,
    end: usize,
    pseudonym: &'a str,
    search: Search,
}

impl Found<'_> {
    fn leak(&self) -> Leak {
        Leak::replaced(self.pseudonym, self.start..self.end)
    }
}

impl Sweep {
    /// The next name from a place on, of several that begin there the longest.
    fn next(&self, text: &[u8], from: usize) -> Option<Found<'_>> {
        let mut at = from;
        loop {
            let first = self.finder.find(Input::new(text).range(at..))?;
            let mut candidate = Some(first);
            while let Some(found) = candidate {
                let (_, pseudonym, search) = self.names.get(found.pattern().as_usize())?;
                let is_free = *search == Search::Anywhere
                    || (is_boundary(text, found.start()) && is_boundary(text, found.end()));
                if is_free {
                    return Some(Found {
                        start: found.start(),
                        end: found.end(),
                        pseudonym,
                        search: *search,
                    });
                }
                // A shorter one may end where a word does.
                let shorter = Input::new(text)
                    .range(found.start()..found.end().saturating_sub(1))
                    .anchored(Anchored::Yes);
                candidate = self.finder.find(shorter);
            }
            at = first.start() + 1;
        }
    }
}

/// Names of an incident that must not stand in what is made of it.
pub struct Names {
    sweep: Option<Sweep>,
    /// Words of the server itself, in lower case.
    pub(super) own: WordSet,
    /// Names that servers and kernels use as words themselves, or shorter than three characters: they
    /// were replaced where they stand as names, and searching for them would say nothing.
    pub unsearched: Vec<String>,
}

impl Names {
    /// How many are searched for.
    pub fn searched(&self) -> usize {
        let names = self.sweep.iter().flat_map(|sweep| &sweep.names);
        names.map(|(name, ..)| name).collect::<HashSet<_>>().len()
    }

    /// The first of the names in these bytes, whatever its letters' case.
    pub fn find(&self, bytes: &[u8]) -> Option<Leak> {
        let found = self.sweep.as_ref()?.next(bytes, 0)?;
        Some(found.leak())
    }

    /// The same in the bytes of a file, where the end of one text and the begin of the next stand side by
    /// side: names come about there by chance (`character_set_server` and a value with `s`), and each text was
    /// searched by itself. So only whole words count, and none that are parts of servers' own words.
    pub fn find_in_file(&self, bytes: &[u8]) -> Option<Leak> {
        let sweep = self.sweep.as_ref()?;
        let mut at = 0;
        while let Some(found) = sweep.next(bytes, at) {
            let is_word = is_boundary(bytes, found.start) && is_boundary(bytes, found.end);
            if found.search == Search::Anywhere && is_word {
                return Some(found.leak());
            }
            at = found.start + 1;
        }
        None
    }
}

/// What stands for a name, but for its kind; the name is in lower case.
fn letters(salt: &[u8], lower: &str) -> String {
    let mut hash = Sha256::new();
    hash.update((salt.len() as u64).to_le_bytes());
    hash.update(salt);
    hash.update(lower.as_bytes());
    let digest = hash.finalize();
    let of = |byte: u8, count: usize| {
        let letter = ALPHABET.get(usize::from(byte) % count.max(1));
        letter.map(|letter| char::from(*letter))
    };
    let bytes = || digest.iter().copied().take(PSEUDONYM_CHARS);
    let made: String = bytes()
        .filter_map(|byte| of(byte, ALPHABET.len()))
        .collect();
    match made.bytes().all(|byte| byte.is_ascii_digit()) {
        true => bytes().filter_map(|byte| of(byte, LETTERS)).collect(),
        false => made,
    }
}

/// What stands for a name beside the incidents that are redacted with this salt: the letters behind its kind are the
/// same there.
pub fn pseudonym(salt: &[u8], kind: &str, name: &str) -> String {
    let mut lower = name.to_lowercase();
    lower.truncate(lower.floor_char_boundary(NAME_BYTES_MAX));
    format!("{kind}_{}", letters(salt, &lower))
}

/// A letter of a word: what is beside a whole word is none.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Words do not go on across this place.
fn is_boundary(text: &[u8], at: usize) -> bool {
    let word = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80)
    };
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    !(word(before) && word(text.get(at)))
}

fn is_address(lower: &str) -> bool {
    lower.parse::<std::net::IpAddr>().is_ok()
}

/// What we made ourselves is no name.
pub(super) fn is_pseudonym(lower: &str) -> bool {
    lower.split_once('_').is_some_and(|(kind, rest)| {
        [
            "user", "host", "addr", "schema", "table", "name", "dir", "program", "uuid",
        ]
        .contains(&kind)
            && rest.len() == PSEUDONYM_CHARS
            && rest.bytes().all(|byte| ALPHABET.contains(&byte))
            && rest.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}
