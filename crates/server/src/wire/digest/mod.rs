//! What statements on the wire say in sum: classes with counts and times, in bounded memory.

mod class;
mod histogram;

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use model::{
    Absent, ConnectionMix, Counted, FoldedClasses, PER_CONNECTION, QueryClass, QueryDigest,
    QueryWay,
};

use super::{Connections, Statement, StatementKind};
use class::Class;
use histogram::Histogram;

/// The class that is a signal of its own, as [`sql::statement_class`] names it.
pub const SHOW_WARNINGS: &str = "show warnings";

/// Senders that are named.
const SENDERS_MAX: usize = 3;

/// What a capture was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured {
    /// When it began, microseconds since 1970 UTC.
    pub from_us: i64,
    /// When it ended.
    pub to_us: i64,
    /// Packets that were read.
    pub packets: u64,
    /// Packets that found no room, or could not be read.
    pub lost: u64,
    /// The connections.
    pub connections: Connections,
    /// What capturing and decoding took of a processor, without what the kernel does for each packet.
    pub cpu: Duration,
}

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

/// Whether a statement is one, by its first words.
pub fn is_show_warnings(text: &[u8]) -> bool {
    text.get(..SHOW_WARNINGS.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(SHOW_WARNINGS.as_bytes()))
}

/// "orm at 10.0.0.7 with Connector/J (98 %)", most first; empty when nobody sent any.
pub fn senders(classes: &[QueryClass]) -> String {
    let flood = classes
        .iter()
        .filter(|class| class.kind.eq_ignore_ascii_case(SHOW_WARNINGS));
    let mut told = Vec::new();
    for class in flood {
        for (word, names) in [
            ("user", &class.users),
            ("host", &class.hosts),
            ("program", &class.programs),
        ] {
            let named = names.iter().filter(|one| !one.name.is_empty());
            let words: Vec<String> = named
                .take(SENDERS_MAX)
                .map(|one| format!("{} ({})", one.name, percent(one, class.count)))
                .collect();
            if !words.is_empty() {
                told.push(format!("{word} {}", words.join(", ")));
            }
        }
    }
    told.truncate(SENDERS_MAX);
    told.join("; ")
}

fn percent(part: &Counted, whole: u64) -> String {
    format!("{:.0} %", part.count as f64 * 100.0 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_are_told_with_their_share() {
        let counted = |name: &str, count| Counted {
            name: name.to_owned(),
            count,
        };
        let class = QueryClass {
            kind: "SHOW WARNINGS".to_owned(),
            count: 200,
            users: vec![counted("orm", 150), counted("", 50)],
            hosts: vec![counted("10.0.0.7", 200)],
            ..QueryClass::default()
        };
        let other = QueryClass {
            kind: "SELECT".to_owned(),
            count: 9,
            users: vec![counted("app", 9)],
            ..QueryClass::default()
        };
        assert_eq!(senders(std::slice::from_ref(&other)), "");
        assert_eq!(
            senders(&[other, class]),
            "user orm (75 %); host 10.0.0.7 (100 %)"
        );
    }
}
