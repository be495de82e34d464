//! Classes of many statements, most of which differ from an earlier one in their values only.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use twox_hash::XxHash3_64;

use crate::fingerprint::fingerprint_in;
use crate::identity::ClassKey;
use crate::lexer::SqlMode;
use crate::skeleton::Skeleton;

/// Skeletons that are remembered: this many sets of this many.
const SETS: usize = 4096;
const WAYS: usize = 4;

/// Longest skeleton that is remembered, in bytes. Longer statements take longer than their fingerprint's making.
const REMEMBERED_BYTES_MAX: usize = 4096;

/// Bytes of all remembered skeletons; when there are more, all are forgotten.
const MEMO_BYTES_MAX: usize = 16 << 20;

/// Texts of classes that are kept, and their bytes.
const TEXTS_MAX: usize = 16_384;
const TEXT_BYTES_MAX: usize = 8 << 20;

/// Tells the class of one statement after the other. A statement that differs from one of the last some thousand in
/// plain values only takes about as long as reading it; memory is bounded (about 25 MB at most).
pub struct Fingerprinter {
    mode: SqlMode,
    skeleton: Skeleton,
    /// So that nobody can choose statements that share a set.
    seed: u64,
    sets: Vec<[Option<Entry>; WAYS]>,
    memo_bytes: usize,
    texts: HashMap<ClassKey, Arc<str>>,
    text_bytes: usize,
    last: Last,
}

/// A skeleton and its class.
struct Entry {
    hash: u64,
    class: ClassKey,
    skeleton: Box<[u8]>,
    text: Arc<str>,
}

/// The class that was told last.
enum Last {
    /// It is the first of this set.
    InSet(usize),
    /// It was not remembered.
    Other(ClassKey, Arc<str>),
}

impl Fingerprinter {
    /// For statements of servers or sessions in the given mode.
    pub fn new(mode: SqlMode) -> Self {
        Self {
            mode,
            skeleton: Skeleton::new(mode),
            seed: RandomState::new().hash_one(0),
            sets: Vec::new(),
            memo_bytes: 0,
            texts: HashMap::new(),
            text_bytes: 0,
            last: Last::InSet(0),
        }
    }

    /// The class of a statement: that of its [`crate::fingerprint_in`]. Bytes that are no UTF-8 count as U+FFFD.
    pub fn class_of(&mut self, statement: &[u8]) -> ClassKey {
        let skeleton = self.skeleton.of(statement);
        if skeleton.len() > REMEMBERED_BYTES_MAX {
            let (class, text) = fingerprint_of(skeleton, self.mode);
            self.keep_text(class, &text);
            self.last = Last::Other(class, text);
            return class;
        }
        let hash = XxHash3_64::oneshot_with_seed(self.seed, skeleton);
        let index = hash as usize % SETS;
        if let Some(set) = self.sets.get_mut(index) {
            let found = set.iter().position(|entry| {
                entry
                    .as_ref()
                    .is_some_and(|entry| entry.hash == hash && *entry.skeleton == *skeleton)
            });
            if let Some(found) = found {
                set.swap(0, found);
                if let Some(entry) = &set[0] {
                    self.last = Last::InSet(index);
                    return entry.class;
                }
            }
        }
        let (class, text) = fingerprint_of(skeleton, self.mode);
        let entry = Entry {
            hash,
            class,
            skeleton: skeleton.into(),
            text: Arc::clone(&text),
        };
        self.remember(index, entry);
        self.keep_text(class, &text);
        class
    }

    /// The fingerprint of a class: always of the one that [`Self::class_of`] told last, of earlier ones while there is
    /// room to keep them.
    pub fn fingerprint_of(&self, class: ClassKey) -> Option<&str> {
        let (last, text) = match &self.last {
            Last::InSet(index) => match self.sets.get(*index).and_then(|set| set[0].as_ref()) {
                Some(entry) => (entry.class, &entry.text),
                None => return None,
            },
            Last::Other(class, text) => (*class, text),
        };
        if last == class {
            return Some(text);
        }
        self.texts.get(&class).map(AsRef::as_ref)
    }

    fn remember(&mut self, index: usize, entry: Entry) {
        if self.sets.is_empty() || self.memo_bytes > MEMO_BYTES_MAX {
            self.sets.clear();
            self.sets.resize_with(SETS, Default::default);
            self.memo_bytes = 0;
        }
        if let Some(set) = self.sets.get_mut(index) {
            self.memo_bytes += entry.skeleton.len();
            set.rotate_right(1);
            let forgotten = set[0].replace(entry);
            self.memo_bytes -= forgotten.map_or(0, |entry| entry.skeleton.len());
        }
        self.last = Last::InSet(index);
    }

    fn keep_text(&mut self, class: ClassKey, text: &Arc<str>) {
        let has_room =
            self.texts.len() < TEXTS_MAX && self.text_bytes + text.len() <= TEXT_BYTES_MAX;
        if has_room && self.texts.insert(class, Arc::clone(text)).is_none() {
            self.text_bytes += text.len();
        }
    }
}

fn fingerprint_of(skeleton: &[u8], mode: SqlMode) -> (ClassKey, Arc<str>) {
    let fingerprint = fingerprint_in(&String::from_utf8_lossy(skeleton), mode);
    (
        ClassKey::of_fingerprint(&fingerprint),
        Arc::from(fingerprint),
    )
}
