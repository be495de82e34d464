use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
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

/// Sums statements up by class, in bounded memory.
pub struct Collector {
    with_literals: bool,
    classes: Vec<Class>,
    by_fingerprint: HashMap<Arc<str>, usize>,
    /// The class of a text, by the text's hash, which nobody can choose.
    remembered: HashMap<u64, usize>,
    hasher: RandomState,
    /// How often a connection asked a class.
    pairs: HashMap<(usize, u64), u64>,
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
            remembered: HashMap::new(),
            hasher: RandomState::new(),
            pairs: HashMap::new(),
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
        let pair = (index, statement.connection);
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
        let hash = self.hasher.hash_one((command, statement.text));
        if command.is_none()
            && let Some(index) = self.remembered.get(&hash)
        {
            return Some(*index);
        }
        let (fingerprint, kind) = match command {
            // pt-query-digest's words for what is no statement.
            Some(name) => (
                format!("administrator command: {name}"),
                "COMMAND".to_owned(),
            ),
            None => {
                let text = String::from_utf8_lossy(statement.text);
                let kind = sql::statement_class(&text).to_ascii_uppercase();
                (sql::fingerprint(&text), kind)
            }
        };
        let index = self.class_named(&fingerprint, kind)?;
        if command.is_none() {
            if self.remembered.len() >= REMEMBERED_MAX {
                self.remembered.clear();
            }
            self.remembered.insert(hash, index);
        }
        Some(index)
    }

    fn class_named(&mut self, fingerprint: &str, kind: String) -> Option<usize> {
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
        self.classes.push(Class::new(fingerprint, kind));
        Some(index)
    }

    /// What a capture saw, most time first.
    pub fn finish(mut self, captured: &Captured, blind: Vec<Absent>) -> QueryDigest {
        let mut per_class: HashMap<usize, Histogram> = HashMap::new();
        for ((class, _), count) in self.pairs.drain() {
            per_class.entry(class).or_default().record(count);
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
