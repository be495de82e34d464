//! What a log says in sum: classes of statements with counts, times and everything else that the log measures.
//!
//! One pass, in bounded memory: over the limit of classes, or of bytes, statements of classes that are not known yet
//! are counted together. Sums and counts are exact; quantiles have a stated error.
//!
//! **Memory is an account.** A digest has a number of bytes; classes, names, samples and pages of histograms take
//! from it. Without room new classes are counted together (`folded`), a measure gives its quantiles up and keeps its
//! sum, names become `(others)`. Counts and sums stay exact.
//!
//! **Quantiles come from 64 parts of each power of two**, at most 1/128 off (pt-query-digest: 5 %). Only powers of
//! two that occur have a page, and the first six values are kept as they are: most classes of a log have few
//! statements.

mod attributes;
mod class;
mod connections;
mod filter;
mod histogram;
mod measure;
mod names;
mod order;
mod summary;

use std::collections::{HashMap, HashSet};

pub use filter::Filter;
pub use histogram::QUANTILE_ERROR;
pub use order::{Order, Statistic};
pub use summary::LogDigest;

use crate::log::Event;
use crate::{ClassKey, Fingerprinter, SqlMode, compat};
use attributes::Attributes;
use class::{Class, Translation};
use connections::Connections;
use names::{Folding, INHERITED, Names, OTHERS};

/// Classes over the limit that are still told apart, to count them.
const FOLDED_KEYS_MAX: usize = 65_536;

/// Bytes of a statement that its kind is told from.
const KIND_BYTES_MAX: usize = 16_384;

/// What makes a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// The statement without literals.
    #[default]
    Fingerprint,
    /// pt-query-digest's fingerprint.
    CompatFingerprint,
    /// The kind of statement.
    Kind,
    /// Who asked.
    User,
    /// From where.
    Host,
    /// In which database.
    Database,
}

/// What is digested, and how much of it is kept.
#[derive(Debug, Clone)]
pub struct Options {
    /// What makes a class.
    pub group_by: GroupBy,
    /// How servers read quotes.
    pub mode: SqlMode,
    /// Seconds that the server's local time is ahead of UTC, for logs that do not tell it.
    pub ahead_seconds: i64,
    /// Only events from this moment on, microseconds since 1970 UTC. Events without a time are then left out.
    pub since_us: Option<i64>,
    /// Only events before this moment.
    pub until_us: Option<i64>,
    /// Only events for which all of these hold.
    pub filters: Vec<Filter>,
    /// Classes that are told apart.
    pub classes_max: usize,
    /// Bytes of memory for what is kept, about; and as many for what makes it fast.
    pub bytes_max: usize,
    /// Counts how often each connection asked a class ([`model::PER_CONNECTION`]).
    pub per_connection: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            group_by: GroupBy::default(),
            mode: SqlMode::default(),
            ahead_seconds: 0,
            since_us: None,
            until_us: None,
            filters: Vec::new(),
            classes_max: 20_000,
            bytes_max: 20 << 20,
            per_connection: false,
        }
    }
}

impl Options {
    /// Whether parts of a log can be digested apart: not where the default database decides, which a part may not know.
    pub fn can_be_parted(&self) -> bool {
        self.group_by != GroupBy::Database && !self.filters.iter().any(Filter::asks_database)
    }
}

/// Which class an event is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Class(ClassKey),
    /// A name's number.
    Name(u32),
    /// pt-query-digest's checksum.
    Compat(u128),
}

/// Takes events and tells their digest.
pub struct Digester {
    options: Options,
    fingerprinter: Fingerprinter,
    index: HashMap<Key, u32, Folding>,
    classes: Vec<Class>,
    names: Names,
    attributes: Attributes,
    connections: Connections,
    folded: Class,
    folded_keys: HashSet<Key, Folding>,
    /// Folded classes of parts beyond those in `folded_keys`.
    folded_more: u64,
    room: usize,
    /// Statements that were left out.
    filtered: u64,
    cut: u64,
}

impl Digester {
    /// One that has seen nothing.
    pub fn new(options: Options) -> Self {
        Self {
            fingerprinter: Fingerprinter::within(options.mode, options.bytes_max),
            room: options.bytes_max,
            options,
            index: HashMap::default(),
            classes: Vec::new(),
            names: Names::default(),
            attributes: Attributes::default(),
            connections: Connections::default(),
            folded: Class::default(),
            folded_keys: HashSet::default(),
            folded_more: 0,
            filtered: 0,
            cut: 0,
        }
    }

    /// Takes an event.
    pub fn add(&mut self, event: &Event<'_>) {
        let time_us = event.time.map(|time| time.us(self.options.ahead_seconds));
        if !self.is_wanted(event, time_us) {
            self.filtered += 1;
            return;
        }
        self.cut += u64::from(event.is_cut);
        let user = event
            .user
            .map(|name| self.names.number_again(0, name, &mut self.room));
        let host = event
            .host
            .map(|name| self.names.number_again(1, name, &mut self.room));
        let database = match event.database {
            _ if event.database_unknown => Some(INHERITED),
            Some(name) => Some(self.names.number_again(2, name, &mut self.room)),
            None => None,
        };
        let key = self.key_of(event, user, host, database);
        let place = match self.index.get(&key) {
            Some(place) => Some(*place as usize),
            None => self.new_class(key, event),
        };
        let class = match place.and_then(|place| self.classes.get_mut(place)) {
            Some(class) => class,
            None => &mut self.folded,
        };
        class.count += 1;
        for (counts, name) in [
            (&mut class.users, user),
            (&mut class.hosts, host),
            (&mut class.databases, database),
        ] {
            if let Some(name) = name {
                counts.add(name, 1, &mut self.room);
            }
        }
        if let Some(program) = event.program {
            let name = self.names.number_again(3, program, &mut self.room);
            class.programs.add(name, 1, &mut self.room);
        }
        if self.options.per_connection
            && let Some((place, connection)) = place.zip(event.connection)
        {
            self.connections.count(place, connection, 1, &mut self.room);
        }
        if let Some(time_us) = time_us {
            class.seen_at(time_us);
        }
        self.attributes
            .add(class, event, place.is_some(), &mut self.room);
    }

    fn is_wanted(&self, event: &Event<'_>, time_us: Option<i64>) -> bool {
        let options = &self.options;
        if let Some(since) = options.since_us
            && time_us.is_none_or(|time| time < since)
        {
            return false;
        }
        if let Some(until) = options.until_us
            && time_us.is_none_or(|time| time >= until)
        {
            return false;
        }
        options.filters.iter().all(|filter| filter.holds(event))
    }

    fn key_of(
        &mut self,
        event: &Event<'_>,
        user: Option<u32>,
        host: Option<u32>,
        database: Option<u32>,
    ) -> Key {
        let of_name = |name: Option<u32>| Key::Name(name.unwrap_or(INHERITED));
        match self.options.group_by {
            // Its words are no SQL: taken apart they would not be what people know.
            GroupBy::Fingerprint if event.is_command => {
                Key::Name(self.names.number(event.statement, &mut self.room))
            }
            GroupBy::Fingerprint => Key::Class(self.fingerprinter.class_of(event.statement)),
            GroupBy::CompatFingerprint => {
                let checksum = compat::compat_checksum(event.statement);
                Key::Compat(u128::from_str_radix(&checksum, 16).unwrap_or_default())
            }
            GroupBy::Kind => {
                let kind = kind_of(event);
                Key::Name(self.names.number(kind.as_bytes(), &mut self.room))
            }
            GroupBy::User => of_name(user),
            GroupBy::Host => of_name(host),
            GroupBy::Database => of_name(database),
        }
    }

    /// Makes room for a class; `None` when there is none.
    fn new_class(&mut self, key: Key, event: &Event<'_>) -> Option<usize> {
        // First what is known at once: a log may have a million classes.
        let least = Class::bytes_of_new("", self.attributes.slots.len());
        if self.classes.len() >= self.options.classes_max || self.room < least {
            self.fold(key);
            return None;
        }
        let compat_id = match self.options.group_by {
            GroupBy::CompatFingerprint => Some(compat::compat_checksum(event.statement)),
            GroupBy::Fingerprint if !event.is_cut => {
                compat::public_checksum(event.statement, self.options.mode)
            }
            _ => None,
        };
        let (label, id) = match key {
            Key::Class(class) => {
                let label = self.fingerprinter.fingerprint_of(class).unwrap_or_default();
                (label.to_owned(), class.to_string())
            }
            Key::Name(number) => {
                let name = match self.names.name(number) {
                    b"" => "(none)".to_owned(),
                    name => String::from_utf8_lossy(name).into_owned(),
                };
                let id = crate::fingerprint_id(&name);
                (name, id)
            }
            // The class is pt-query-digest's, the text is ours: theirs may have parts of literals in it.
            Key::Compat(_) => {
                let start = event
                    .statement
                    .get(..KIND_BYTES_MAX)
                    .unwrap_or(event.statement);
                let start = String::from_utf8_lossy(start);
                // As for our own classes: in the default mode a log does not tell what a backslash is.
                let label = match self.options.mode == SqlMode::default() {
                    true => crate::fingerprint_in_any_mode(&start),
                    false => crate::fingerprint_in(&start, self.options.mode),
                };
                (label, compat_id.clone().unwrap_or_default())
            }
        };
        let bytes = Class::bytes_of_new(&label, self.attributes.slots.len());
        if self.room < bytes {
            self.fold(key);
            return None;
        }
        self.room -= bytes;
        let place = self.classes.len();
        self.classes.push(Class {
            label: label.into(),
            id: id.into(),
            compat_id: compat_id.map(Into::into),
            kind: match self.options.group_by {
                GroupBy::Fingerprint | GroupBy::CompatFingerprint | GroupBy::Kind => {
                    kind_of(event).into()
                }
                GroupBy::User | GroupBy::Host | GroupBy::Database => "".into(),
            },
            ..Class::default()
        });
        self.index
            .insert(key, u32::try_from(place).unwrap_or(u32::MAX));
        Some(place)
    }

    fn fold(&mut self, key: Key) {
        if self.folded_keys.len() < FOLDED_KEYS_MAX {
            self.folded_keys.insert(key);
        }
    }

    /// Adds what another saw of a later part. `database` is the default one where that part starts. What both keep
    /// is within this one's limits afterwards.
    pub fn merge(&mut self, mut other: Self, database: Option<&[u8]>) {
        let slots: Vec<Option<usize>> = std::mem::take(&mut other.attributes.slots)
            .into_iter()
            .map(|slot| self.attributes.slot_of(&slot.name, slot.unit))
            .collect();
        let names: Vec<u32> = (0..other.names.len())
            .map(|number| match number {
                INHERITED | OTHERS => number,
                _ => self.names.number(other.names.name(number), &mut self.room),
            })
            .collect();
        let inherited = match database {
            Some(name) if !name.is_empty() => self.names.number(name, &mut self.room),
            _ => INHERITED,
        };
        let translation = Translation {
            slots: &slots,
            slots_count: self.attributes.slots.len(),
            names: &names,
            inherited,
        };
        let key_of = |key: Key| match key {
            Key::Name(number) => Key::Name(names.get(number as usize).copied().unwrap_or(OTHERS)),
            Key::Class(_) | Key::Compat(_) => key,
        };
        let mut keys: Vec<(Key, u32)> = other.index.drain().collect();
        // As the other found them, so that two runs tell the same.
        keys.sort_by_key(|(_, place)| *place);
        let mut places = Vec::with_capacity(keys.len());
        let mut classes = other.classes.into_iter();
        for (key, _) in keys {
            let (key, Some(class)) = (key_of(key), classes.next()) else {
                continue;
            };
            let place = match self.index.get(&key) {
                Some(place) => Some(*place as usize),
                None if self.classes.len() >= self.options.classes_max => None,
                None if self.room < class.heap_bytes() => None,
                None => {
                    let place = self.classes.len();
                    let bytes = Class::bytes_of_new(&class.label, slots.len());
                    self.room = self.room.saturating_sub(bytes);
                    self.classes.push(Class {
                        label: class.label.clone(),
                        id: class.id.clone(),
                        compat_id: class.compat_id.clone(),
                        kind: class.kind.clone(),
                        ..Class::default()
                    });
                    self.index
                        .insert(key, u32::try_from(place).unwrap_or(u32::MAX));
                    Some(place)
                }
            };
            places.push(place);
            match place.and_then(|place| self.classes.get_mut(place)) {
                Some(mine) => mine.merge(class, &translation, &mut self.room),
                None => {
                    if self.folded_keys.len() < FOLDED_KEYS_MAX {
                        self.folded_keys.insert(key);
                    }
                    self.folded.merge(class, &translation, &mut self.room);
                }
            }
        }
        self.connections
            .merge(other.connections, &places, &mut self.room);
        self.folded
            .merge(other.folded, &translation, &mut self.room);
        for key in other.folded_keys {
            if self.folded_keys.len() < FOLDED_KEYS_MAX {
                self.folded_keys.insert(key_of(key));
            }
        }
        self.folded_more += other.folded_more;
        self.filtered += other.filtered;
        self.cut += other.cut;
        self.attributes.merge(&other.attributes);
    }

    /// Statements that were taken, without those that were left out.
    pub fn count(&self) -> u64 {
        self.folded.count + self.classes.iter().map(|class| class.count).sum::<u64>()
    }

    /// Statements that were left out by times and filters.
    pub fn filtered(&self) -> u64 {
        self.filtered
    }

    /// Bytes of memory that are kept, about.
    pub fn kept_bytes(&self) -> usize {
        let classes = self.classes.iter().chain([&self.folded]);
        classes
            .map(|class| size_of::<Class>() + class.heap_bytes())
            .sum()
    }
}

/// The kind of an event, as the processlist's statements are classified, in capitals; `COMMAND` for what is no
/// statement.
fn kind_of(event: &Event<'_>) -> String {
    if event.is_command {
        return "COMMAND".to_owned();
    }
    let start = event
        .statement
        .get(..KIND_BYTES_MAX)
        .unwrap_or(event.statement);
    crate::statement_class(&String::from_utf8_lossy(start)).to_ascii_uppercase()
}
