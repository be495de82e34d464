//! Classes of many statements, most of which differ from an earlier one in their values only.

use std::collections::HashMap;

use crate::fingerprint::fingerprint_in;
use crate::identity::ClassKey;
use crate::lexer::SqlMode;

/// Texts of classes that are kept, at most.
const TEXTS_MAX: usize = 16_384;

/// Tells the class of one statement after the other.
pub struct Fingerprinter {
    mode: SqlMode,
    texts: HashMap<ClassKey, Box<str>>,
    last: Option<(ClassKey, String)>,
}

impl Fingerprinter {
    /// For statements of servers or sessions in the given mode.
    pub fn new(mode: SqlMode) -> Self {
        Self {
            mode,
            texts: HashMap::new(),
            last: None,
        }
    }

    /// The class of a statement; see [`crate::fingerprint_in`]. Bytes that are no UTF-8 count as U+FFFD.
    pub fn class_of(&mut self, statement: &[u8]) -> ClassKey {
        let fingerprint = fingerprint_in(&String::from_utf8_lossy(statement), self.mode);
        let class = ClassKey::of_fingerprint(&fingerprint);
        if self.texts.len() < TEXTS_MAX && !self.texts.contains_key(&class) {
            self.texts.insert(class, fingerprint.as_str().into());
        }
        self.last = Some((class, fingerprint));
        class
    }

    /// The fingerprint of a class: always of the one that [`Self::class_of`] returned last, of earlier ones as long as
    /// there is room to keep them.
    pub fn fingerprint_of(&self, class: ClassKey) -> Option<&str> {
        match &self.last {
            Some((last, fingerprint)) if *last == class => Some(fingerprint),
            _ => self.texts.get(&class).map(AsRef::as_ref),
        }
    }
}
