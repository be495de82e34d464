//! Classes of many statements, most of which differ from an earlier one in their values only.

use std::collections::HashMap;
use std::collections::hash_map::Entry as TextEntry;
use std::hash::{BuildHasher, RandomState};

use twox_hash::XxHash3_64;

use crate::backslash::{ends_a_string, readable};
use crate::fingerprint::fingerprint_in;
use crate::identity::ClassKey;
use crate::lexer::SqlMode;
use crate::skeleton::Skeleton;

/// Skeletons that are remembered: this many sets of this many. In a set the one used last comes first.
const SETS: usize = 4096;
const WAYS: usize = 4;

/// Longest skeleton that is remembered, in bytes: making the fingerprint of a longer one is little beside reading it.
const REMEMBERED_BYTES_MAX: usize = 4096;

/// Bytes of all remembered skeletons and their fingerprints at the most; when there are more, all are forgotten.
const MEMO_BYTES_MAX: usize = 16 << 20;

/// After so many statements in a row that were not remembered, one in so many is.
const MISSES_MAX: u32 = 4096;
const MISSES_PER_REMEMBERED: u32 = 16;

/// Texts of classes that are kept, and their bytes.
const TEXTS_MAX: usize = 16_384;
const TEXT_BYTES_MAX: usize = 8 << 20;

/// Tells the class of one statement after the other. A statement that differs from one of the last thousands in plain
/// values only takes about as long as reading it. Memory is bounded: about 1 MB, and at most 25 MB for what is
/// remembered.
pub struct Fingerprinter {
    mode: SqlMode,
    skeleton: Skeleton,
    /// So that nobody can choose statements that share a set.
    seed: u64,
    sets: Vec<[Option<Entry>; WAYS]>,
    memo_bytes: usize,
    memo_bytes_max: usize,
    /// Statements since the last one that was remembered.
    misses: u32,
    texts: HashMap<ClassKey, Box<str>>,
    text_bytes: usize,
    text_bytes_max: usize,
    last: Last,
}

/// A skeleton and its class.
struct Entry {
    hash: u64,
    class: ClassKey,
    skeleton: Box<[u8]>,
    fingerprint: Box<str>,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.skeleton.len() + self.fingerprint.len()
    }
}

/// The class that was told last.
enum Last {
    /// It is the first of this set.
    InSet(usize),
    /// It is not remembered.
    Other(ClassKey, String),
}

impl Fingerprinter {
    /// For statements of servers or sessions in the given mode.
    pub fn new(mode: SqlMode) -> Self {
        Self::within(mode, usize::MAX)
    }

    /// Likewise, with no more than so many bytes for skeletons, and no more than so many for texts of classes.
    pub fn within(mode: SqlMode, bytes_max: usize) -> Self {
        Self {
            memo_bytes_max: bytes_max.min(MEMO_BYTES_MAX),
            text_bytes_max: bytes_max.min(TEXT_BYTES_MAX),
            mode,
            skeleton: Skeleton::new(mode),
            seed: RandomState::new().hash_one(0),
            sets: Vec::new(),
            memo_bytes: 0,
            misses: 0,
            texts: HashMap::new(),
            text_bytes: 0,
            last: Last::Other(ClassKey::of_fingerprint(""), String::new()),
        }
    }

    /// The class of a statement: that of its [`crate::fingerprint_in`]. Bytes that are no UTF-8 count as U+FFFD.
    ///
    /// In the default mode a statement whose strings end elsewhere when a backslash is no escape, and nothing tells which
    /// is meant, has the class of what stands before its first backslash.
    pub fn class_of(&mut self, statement: &[u8]) -> ClassKey {
        let statement = match self.mode == SqlMode::default() {
            true => readable_bytes(statement),
            false => statement,
        };
        let skeleton = self.skeleton.of(statement);
        let hash = XxHash3_64::oneshot_with_seed(self.seed, skeleton);
        let index = hash as usize % SETS;
        if let Some(set) = self.sets.get_mut(index)
            && let Some(class) = find(set, hash, skeleton)
        {
            self.misses = 0;
            self.last = Last::InSet(index);
            return class;
        }
        let fingerprint = fingerprint_in(&String::from_utf8_lossy(skeleton), self.mode);
        let class = ClassKey::of_fingerprint(&fingerprint);
        self.misses = self.misses.saturating_add(1);
        let is_worth_it =
            self.misses < MISSES_MAX || self.misses.is_multiple_of(MISSES_PER_REMEMBERED);
        let entry = (is_worth_it && skeleton.len() <= REMEMBERED_BYTES_MAX).then(|| Entry {
            hash,
            class,
            skeleton: skeleton.into(),
            fingerprint: fingerprint.as_str().into(),
        });
        self.keep_text(class, &fingerprint);
        self.last = match entry {
            Some(entry) => {
                self.remember(index, entry);
                Last::InSet(index)
            }
            None => Last::Other(class, fingerprint),
        };
        class
    }

    /// The fingerprint of a class: always of the one that [`Self::class_of`] told last, of earlier ones while there is
    /// room to keep them.
    pub fn fingerprint_of(&self, class: ClassKey) -> Option<&str> {
        let last = match &self.last {
            Last::InSet(index) => {
                let [first, ..] = self.sets.get(*index)?;
                first
                    .as_ref()
                    .map(|entry| (entry.class, &*entry.fingerprint))
            }
            Last::Other(class, fingerprint) => Some((*class, fingerprint.as_str())),
        };
        match last {
            Some((last, fingerprint)) if last == class => Some(fingerprint),
            _ => self.texts.get(&class).map(AsRef::as_ref),
        }
    }

    fn remember(&mut self, index: usize, entry: Entry) {
        if self.sets.is_empty() || self.memo_bytes > self.memo_bytes_max {
            self.sets.clear();
            self.sets.resize_with(SETS, Default::default);
            self.memo_bytes = 0;
        }
        if let Some(set) = self.sets.get_mut(index) {
            self.memo_bytes += entry.bytes();
            set.rotate_right(1);
            let [first, ..] = set;
            let forgotten = first.replace(entry);
            self.memo_bytes -= forgotten.map_or(0, |entry| entry.bytes());
        }
    }

    fn keep_text(&mut self, class: ClassKey, fingerprint: &str) {
        let has_room = self.texts.len() < TEXTS_MAX
            && self.text_bytes + fingerprint.len() <= self.text_bytes_max;
        if has_room && let TextEntry::Vacant(place) = self.texts.entry(class) {
            self.text_bytes += fingerprint.len();
            place.insert(fingerprint.into());
        }
    }
}

/// The class of a remembered skeleton, which becomes the first of its set.
/// [`readable`] of bytes: a place before a backslash is the same in both.
fn readable_bytes(statement: &[u8]) -> &[u8] {
    let Some(first) = memchr::memchr(b'\\', statement) else {
        return statement;
    };
    if !ends_a_string(statement) {
        return statement;
    }
    let text = String::from_utf8_lossy(statement);
    match readable(&text).len() == text.len() {
        true => statement,
        false => statement.get(..first).unwrap_or_default(),
    }
}

fn find(set: &mut [Option<Entry>; WAYS], hash: u64, skeleton: &[u8]) -> Option<ClassKey> {
    let is_it = |entry: &Entry| entry.hash == hash && *entry.skeleton == *skeleton;
    let found = set
        .iter()
        .position(|entry| entry.as_ref().is_some_and(is_it))?;
    if found > 0 {
        set.swap(0, found);
    }
    let [first, ..] = set;
    first.as_ref().map(|entry| entry.class)
}
