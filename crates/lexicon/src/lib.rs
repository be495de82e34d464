//! What an observable means: a function on a stack, a state of a session, a latch, an instrument, a line of a
//! log, an error of a client, a status variable, a setting.
//!
//! The knowledge is data, an entry a line (`data/`, described in `docs/reference/lexicon.md`). Entries tell the layer that
//! works or waits there, and whether what stands there works, waits or is idle. Whoever judges a stall asks by
//! the kind of what was seen; whoever asks for a word by itself gets every kind that knows it.

mod anywhere;
mod denial;
mod entry;
mod letters;
mod mention;
mod near;
mod pattern;
mod phrases;

pub use entry::{Entry, Kind, Layer, Mention, Role};
pub use mention::{mentions, mentions_after};

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use anywhere::Anywhere;
use pattern::Pattern;

/// The files of `data/` as (name, packed text), embedded by `build.rs`.
const PACKED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/data.rs"));

/// Those that have entries, each of one kind.
const FILES: [(Kind, &str); 16] = [
    (Kind::Function, "functions-innodb.txt"),
    (Kind::Function, "functions-server.txt"),
    (Kind::Function, "functions-kernel.txt"),
    (Kind::Function, "functions-libc.txt"),
    (Kind::State, "states.txt"),
    (Kind::InnodbWord, "innodb-words.txt"),
    (Kind::Latch, "latches.txt"),
    (Kind::Place, "places.txt"),
    (Kind::Instrument, "instruments.txt"),
    (Kind::Message, "messages.txt"),
    (Kind::KernelLine, "kernel-log.txt"),
    (Kind::ClientError, "errors.txt"),
    (Kind::Statement, "statements.txt"),
    (Kind::Term, "terms.txt"),
    (Kind::Status, "status.txt"),
    (Kind::Setting, "settings.txt"),
];

/// Layers that tell how something waits or runs, not what it is for: whose code called it says more.
const GENERAL: [&str; 8] = [
    "libc",
    "threads",
    "kernel-scheduler",
    "kernel-lock",
    "kernel-interrupt",
    "innodb-latch",
    "executor",
    "other",
];

/// The layers; few, and asked for by those who need no entries.
static LAYERS: LazyLock<Vec<Layer>> =
    LazyLock::new(|| text("layers.txt").lines().filter_map(Layer::read).collect());

/// The terms by name; few, like the layers.
static TERMS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let entries = text("terms.txt")
        .lines()
        .flat_map(|line| Entry::read(Kind::Term, line));
    let named = entries.filter(|entry| entry.pattern == entry.name);
    named.map(|entry| entry.name).collect()
});

/// Words of three letters and more in lines of the kernel's log, in lower case.
static KERNEL_WORDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let lines = text("kernel-log.txt").lines();
    let entries = lines.flat_map(|line| Entry::read(Kind::KernelLine, line));
    let words = entries.flat_map(|entry| entry.pattern.split(|c: char| !c.is_ascii_alphabetic()));
    words
        .filter(|word| word.len() >= 3)
        .map(str::to_ascii_lowercase)
        .collect()
});

/// Whether a word, in lower case, stands in lines of the kernel's log. It needs no other entries.
pub fn is_kernel_word(lower: &str) -> bool {
    KERNEL_WORDS.contains(lower)
}

/// The text of a file. It is kept as long as the program runs, like what is made of it.
fn text(name: &str) -> &'static str {
    let packed = PACKED.iter().find(|(file, _)| *file == name);
    packed.map_or("", |(_, packed)| embed::unpack(packed).leak())
}

/// Families whose name begins with fewer letters than this are looked at for every word.
const PREFIX_BYTES: usize = 3;

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::read);

/// All layers.
pub fn layers() -> &'static [Layer] {
    &LAYERS
}

/// Whether a term of the field has this name. It needs no other entries.
pub fn is_term(name: &str) -> bool {
    TERMS.contains(&name)
}

/// Whether a layer tells how something waits or runs, not what it is for.
pub fn is_general(layer: &str) -> bool {
    GENERAL.contains(&layer)
}

/// The layer of this name.
pub fn layer(name: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| layer.name == name)
}

/// All entries, ready to be asked.
#[derive(Debug)]
pub struct Lexicon {
    entries: Vec<(Entry, Pattern)>,
    /// Entries without a family, by their name in lower case: the first, and others of the same name.
    names: HashMap<&'static str, (usize, Vec<usize>)>,
    /// Families by how their name begins.
    families: HashMap<[u8; PREFIX_BYTES], Vec<usize>>,
    /// Families that begin with anything, and what is looked for within lines, by kind.
    anywhere: HashMap<Kind, Anywhere>,
}

impl Lexicon {
    /// The one that comes with the program; read at first use.
    pub fn get() -> &'static Self {
        &LEXICON
    }

    fn read() -> Self {
        let files = FILES.map(|(kind, file)| (kind, text(file)));
        let lines = files.iter().map(|(_, text)| text.lines().count()).sum();
        let mut lexicon = Self {
            entries: Vec::with_capacity(lines),
            names: HashMap::with_capacity(lines),
            families: HashMap::new(),
            anywhere: HashMap::new(),
        };
        for (kind, text) in files {
            text.lines()
                .flat_map(|line| Entry::read(kind, line))
                .for_each(|entry| lexicon.add(entry));
        }
        lexicon
    }

    fn add(&mut self, entry: Entry) {
        let number = self.entries.len();
        let pattern = Pattern::new(entry.pattern, entry.kind.is_within_lines());
        match (pattern.name(), pattern.begin()) {
            (Some(name), _) => {
                let known = self.names.entry(name);
                let known = known.and_modify(|(_, others)| others.push(number));
                known.or_insert((number, Vec::new()));
            }
            (None, Some(begin)) => self.families.entry(begin).or_default().push(number),
            (None, None) => {
                let anywhere = self.anywhere.entry(entry.kind).or_default();
                anywhere.add(number, pattern.anchor());
            }
        }
        self.entries.push((entry, pattern));
    }

    /// All entries, kind by kind.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|(entry, _)| entry)
    }

    /// What something of one kind means, by the entry that says most of it: a name before a family, of
    /// families the one with the most letters.
    pub fn lookup(&self, kind: Kind, text: &str) -> Option<&Entry> {
        self.candidates(text, self.anywhere.get(&kind).into_iter())
            .filter(|(entry, _)| entry.kind == kind)
            .max_by_key(|(_, pattern)| pattern.letters())
            .map(|(entry, _)| entry)
    }

    /// What a stack is in, by its functions, the innermost first: the first that says what it is for; where none does, the
    /// first that is known.
    pub fn stack<'n>(&self, functions: impl Iterator<Item = &'n str>) -> Option<(&'n str, &Entry)> {
        let entry = |name| Some((name, self.lookup(Kind::Function, name)?));
        let mut known = functions.filter_map(entry);
        let first = known.next()?;
        let telling = std::iter::once(first)
            .chain(known)
            .find(|(_, entry)| !is_general(entry.layer));
        telling.or(Some(first))
    }

    /// What a word or a line means, by each kind that knows it, the surest first. A server's source file may have the path in
    /// front where it was built.
    pub fn find(&self, text: &str) -> Vec<&Entry> {
        let found = self.find_as_it_is(text);
        match text.rsplit_once('/') {
            Some((_, file)) if found.is_empty() && file.contains('.') => self.find_as_it_is(file),
            _ => found,
        }
    }

    fn find_as_it_is(&self, text: &str) -> Vec<&Entry> {
        let mut best: HashMap<Kind, (&Entry, usize)> = HashMap::new();
        for (entry, pattern) in self.candidates(text, self.anywhere.values()) {
            let letters = pattern.letters();
            let known = best.entry(entry.kind).or_insert((entry, letters));
            if letters > known.1 {
                *known = (entry, letters);
            }
        }
        let mut found: Vec<_> = best.into_values().collect();
        found.sort_by_key(|(entry, letters)| (Reverse(*letters), entry.kind));
        found.into_iter().map(|(entry, _)| entry).collect()
    }

    /// Names that have this word in them, at the most so many: for a word that nothing knows.
    pub fn near(&self, word: &str, max: usize) -> Vec<&Entry> {
        let word = word.to_lowercase();
        self.entries()
            .filter(|entry| entry.pattern.to_lowercase().contains(&word))
            .take(max)
            .collect()
    }

    /// The entries of which a word in lower case has the name, or the beginning.
    fn by_begin(&self, lower: &str) -> impl Iterator<Item = usize> {
        let named = self.names.get(lower);
        let named = named.map(|(first, others)| std::iter::once(first).chain(others));
        let begin = lower.as_bytes().first_chunk::<PREFIX_BYTES>();
        let family = begin.and_then(|begin| self.families.get(begin));
        let numbers = named.into_iter().flatten();
        numbers.chain(family.into_iter().flatten()).copied()
    }

    /// `anywhere` are lists of those that no beginning of a word tells.
    fn candidates<'a>(
        &'a self,
        text: &str,
        anywhere: impl Iterator<Item = &'a Anywhere>,
    ) -> impl Iterator<Item = &'a (Entry, Pattern)> {
        let text = text.trim();
        let lower = text.to_lowercase();
        let anywhere = anywhere.flat_map(|all| all.candidates(&lower));
        let numbers: Vec<usize> = self.by_begin(&lower).chain(anywhere).collect();
        let text = text.to_owned();
        numbers
            .into_iter()
            .filter_map(|number| self.entries.get(number))
            .filter(move |(entry, pattern)| match entry.kind.is_case_told() {
                true => pattern.matches(&text),
                false => pattern.matches_lower(&lower),
            })
    }
}
