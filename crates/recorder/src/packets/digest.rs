use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::Arc;

use model::{Absent, ConnectionMix, FoldedClasses, PER_CONNECTION, QueryDigest, QueryWay};
use server::wire::{Statement, StatementKind};

use super::capture::Captured;
use super::class::Class;
use super::histogram::Histogram;

/// Classes that are kept apart; statements of further ones are counted together.
const CLASSES_MAX: usize = 2_000;

/// Texts whose class is remembered; when there are more, all are forgotten.
const REMEMBERED_MAX: usize = 16_384;

/// Pairs of a class and a connection that are counted; further ones are left out.
const PAIRS_MAX: usize = 100_000;

/// A class takes the upper bits of a pair, the decoder's number of the connection the others.
const CLASS_BITS: u32 = 12;
const _: () = assert!(CLASSES_MAX < 1 << CLASS_BITS);

/// A class and a connection as one number. Connections are numbered from 0 on: they do not reach 2^52.
fn pair_of(class: usize, connection: u64) -> u64 {
    (class as u64) << (64 - CLASS_BITS) | (connection << CLASS_BITS >> CLASS_BITS)
}

fn class_in(pair: u64) -> usize {
    (pair >> (64 - CLASS_BITS)) as usize
}

/// For keys that are hashes already, or numbers that nobody outside chooses: the bits are only mixed.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // The multiplier of Fibonacci hashing; tables take the lowest and the highest bits.
        let mixed = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (mixed as u64) ^ (mixed >> 64) as u64;
    }
}

/// Sums statements up by class, in bounded memory.
pub struct Collector {
    with_literals: bool,
    classes: Vec<Class>,
    by_fingerprint: HashMap<Arc<str>, usize>,
    /// The classes of commands, by their names, of which there are some thirty.
    by_command: Vec<(&'static str, usize)>,
    /// The class of a text, by the text's hash, which nobody can choose.
    remembered: HashMap<u64, usize, BuildHasherDefault<AsItIs>>,
    hasher: RandomState,
    /// How often a connection asked a class, by [`pair_of`].
    pairs: HashMap<u64, u64, BuildHasherDefault<AsItIs>>,
    count: u64,
    errors: u64,
    folded: FoldedClasses,
    folded_us: u64,
}

impl Collector {
    /// An empty one. Samples lose their literals unless the user asked for them.
    pub fn new(with_literals: bool) -> Self {
        Self {
            with_literals,
            classes: Vec::new(),
            by_fingerprint: HashMap::new(),
            by_command: Vec::new(),
            remembered: HashMap::default(),
            hasher: RandomState::new(),
            pairs: HashMap::default(),
            count: 0,
            errors: 0,
            folded: FoldedClasses::default(),
            folded_us: 0,
        }
    }

    /// Counts a statement.
    pub fn take(&mut self, statement: &Statement<'_>) {
        self.count += 1;
        self.errors += u64::from(statement.error.is_some());
        let Some(index) = self.class_of(statement) else {
            self.folded.count += 1;
            self.folded_us += statement.whole_us.unwrap_or(0);
            return;
        };
        if let Some(class) = self.classes.get_mut(index) {
            class.take(statement);
        }
        let pair = pair_of(index, statement.connection);
        if self.pairs.len() < PAIRS_MAX || self.pairs.contains_key(&pair) {
            *self.pairs.entry(pair).or_default() += 1;
        }
    }

    fn class_of(&mut self, statement: &Statement<'_>) -> Option<usize> {
        let command = match statement.kind {
            StatementKind::Query => None,
            StatementKind::Execute if !statement.text.is_empty() => None,
            other => Some(other.name()),
        };
        match command {
            Some(name) => self.class_of_command(name),
            None => self.class_of_text(statement.text),
        }
    }

    fn class_of_command(&mut self, name: &'static str) -> Option<usize> {
        if let Some((_, index)) = self.by_command.iter().find(|(known, _)| *known == name) {
            return Some(*index);
        }
        // pt-query-digest's words for what is no statement.
        let fingerprint = format!("administrator command: {name}");
        let index = self.class_named(&fingerprint, || "COMMAND".to_owned())?;
        self.by_command.push((name, index));
        Some(index)
    }

    fn class_of_text(&mut self, text: &[u8]) -> Option<usize> {
        let hash = self.hasher.hash_one(text);
        if let Some(index) = self.remembered.get(&hash) {
            return Some(*index);
        }
        let text = String::from_utf8_lossy(text);
        let kind = || sql::statement_class(&text).to_ascii_uppercase();
        let index = self.class_named(&sql::fingerprint(&text), kind)?;
        if self.remembered.len() >= REMEMBERED_MAX {
            self.remembered.clear();
        }
        self.remembered.insert(hash, index);
        Some(index)
    }

    fn class_named(&mut self, fingerprint: &str, kind: impl FnOnce() -> String) -> Option<usize> {
        if let Some(index) = self.by_fingerprint.get(fingerprint) {
            return Some(*index);
        }
        if self.classes.len() >= CLASSES_MAX {
            // How many different ones they are is not kept.
            self.folded.classes_at_least = 1;
            return None;
        }
        let index = self.classes.len();
        let fingerprint: Arc<str> = fingerprint.into();
        self.by_fingerprint.insert(fingerprint.clone(), index);
        self.classes.push(Class::new(fingerprint, kind()));
        Some(index)
    }

    /// What a capture saw, most time first.
    pub fn finish(mut self, captured: &Captured, blind: Vec<Absent>) -> QueryDigest {
        let mut per_class: HashMap<usize, Histogram> = HashMap::new();
        for (pair, count) in self.pairs.drain() {
            per_class.entry(class_in(pair)).or_default().record(count);
        }
        let mut classes: Vec<(f64, model::QueryClass)> = self
            .classes
            .iter()
            .enumerate()
            .map(|(index, class)| {
                let connections = per_class
                    .get(&index)
                    .and_then(|counts| counts.measure(PER_CONNECTION, 1.0));
                (class.seconds(), class.told(self.with_literals, connections))
            })
            .collect();
        classes.sort_by(|(a, one), (b, other)| {
            b.total_cmp(a).then_with(|| other.count.cmp(&one.count))
        });
        let folded = FoldedClasses {
            seconds: Some(self.folded_us as f64 / 1e6),
            ..self.folded
        };
        QueryDigest {
            tried: Vec::new(),
            way: QueryWay::Packets,
            from_us: Some(captured.from_us),
            to_us: Some(captured.to_us),
            count: self.count,
            errors: Some(self.errors),
            classes: classes.into_iter().map(|(_, class)| class).collect(),
            folded: (folded.count > 0).then_some(folded),
            lost: captured.lost,
            blind,
            connections: Some(connection_mix(captured)),
        }
    }
}

/// How clients were connected.
pub fn connection_mix(captured: &Captured) -> ConnectionMix {
    let seen = captured.connections;
    ConnectionMix {
        seen: seen.seen,
        compressed: seen.compressed,
        tls: seen.tls,
        bytes: seen.bytes,
        bytes_compressed: seen.bytes_compressed,
        guessed: seen.guessed,
        named: seen.named.min(seen.guessed),
        prepared: seen.prepared,
    }
}
