//! What a log says in sum: classes of statements with counts, times and everything else that the log measures.
//!
//! One pass, in bounded memory: over the limit of classes, or of bytes, statements of classes that are not known yet
//! are counted together. Sums and counts are exact; quantiles have a stated error.

mod class;
mod filter;
mod histogram;
mod measure;
mod names;
mod order;
mod tell;

use std::collections::{HashMap, HashSet};

pub use filter::Filter;
pub use histogram::QUANTILE_ERROR;
pub use order::{Order, Statistic};
pub use tell::LogDigest;

use crate::log::Event;
use crate::{ClassKey, Fingerprinter, SqlMode, compat};
use class::{Class, Slot, Translation};
use measure::Unit;
use names::{Folding, INHERITED, Names, OTHERS};

/// Different numbers of a log; the most that one server writes is about 40.
const SLOTS_MAX: usize = 96;

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
    /// Bytes of memory for what is kept, about.
    pub bytes_max: usize,
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

/// What is done with an attribute.
#[derive(Debug, Clone, Copy)]
enum Use {
    /// It is measured in this slot.
    Slot(usize),
    /// Not zero when the statement failed.
    Error,
    /// One statement in so many was logged.
    Rate,
    /// It says something of the statement in words.
    Words,
    /// It is an identity or a moment, of which a sum means nothing.
    Passed,
    /// There are too many.
    Dropped,
}

/// Takes events and tells their digest.
pub struct Digester {
    options: Options,
    fingerprinter: Fingerprinter,
    index: HashMap<Key, u32, Folding>,
    classes: Vec<Class>,
    names: Names,
    slots: Vec<Slot>,
    uses: HashMap<Box<[u8]>, Use>,
    /// What the attributes of the last event were used for, by place: the next one's mostly stand in the same order.
    layout: Vec<(Box<[u8]>, Use)>,
    time_slot: Option<usize>,
    folded: Class,
    folded_keys: HashSet<Key, Folding>,
    /// Folded classes of parts beyond those in `folded_keys`.
    folded_more: u64,
    room: usize,
    errors_known: bool,
    /// Statements that were left out.
    filtered: u64,
    cut: u64,
    dropped_attributes: u64,
    rate_max: u64,
    notes: Vec<u8>,
}

impl Digester {
    /// One that has seen nothing.
    pub fn new(options: Options) -> Self {
        Self {
            fingerprinter: Fingerprinter::new(options.mode),
            room: options.bytes_max,
            options,
            index: HashMap::default(),
            classes: Vec::new(),
            names: Names::default(),
            slots: Vec::new(),
            uses: HashMap::new(),
            layout: Vec::new(),
            time_slot: None,
            folded: Class::default(),
            folded_keys: HashSet::default(),
            folded_more: 0,
            errors_known: false,
            filtered: 0,
            cut: 0,
            dropped_attributes: 0,
            rate_max: 0,
            notes: Vec::new(),
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
            .map(|name| self.names.number(name, &mut self.room));
        let host = event
            .host
            .map(|name| self.names.number(name, &mut self.room));
        let database = match event.database {
            _ if event.database_unknown => Some(INHERITED),
            Some(name) => Some(self.names.number(name, &mut self.room)),
            None => None,
        };
        let key = self.key_of(event, user, host, database);
        let place = match self.index.get(&key) {
            Some(place) => Some(*place as usize),
            None => self.new_class(key, event),
        };
        // Out of its place while it is added to, so that everything else can be reached meanwhile.
        let mut class = match place {
            Some(place) => self.classes.get_mut(place).map(std::mem::take),
            None => Some(std::mem::take(&mut self.folded)),
        }
        .unwrap_or_default();
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
        if let Some(time_us) = time_us {
            class.seen_at(time_us);
        }
        self.add_attributes(&mut class, event, place.is_some());
        let home = match place {
            Some(place) => self.classes.get_mut(place),
            None => Some(&mut self.folded),
        };
        if let Some(home) = home {
            *home = class;
        }
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
        let least = Class::bytes_of_new("", self.slots.len());
        if self.classes.len() >= self.options.classes_max || self.room < least {
            self.fold(key);
            return None;
        }
        let compat_id = match self.options.group_by {
            GroupBy::CompatFingerprint => Some(compat::compat_checksum(event.statement)),
            GroupBy::Fingerprint if !event.is_cut => Some(compat::compat_checksum(event.statement)),
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
                let label = crate::fingerprint(&String::from_utf8_lossy(start));
                (label, compat_id.clone().unwrap_or_default())
            }
        };
        let bytes = Class::bytes_of_new(&label, self.slots.len());
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

    fn add_attributes(&mut self, class: &mut Class, event: &Event<'_>, keeps_sample: bool) {
        let mut time = None;
        let mut words = false;
        for (place, (name, value)) in event.attributes.iter().enumerate() {
            match self.use_of(place, name, value) {
                Use::Slot(slot) => {
                    let Some(number) = self.slots.get(slot).and_then(|slot| slot.unit.read(value))
                    else {
                        continue;
                    };
                    if Some(slot) == self.time_slot {
                        class.took(number);
                        time = Some(number);
                    }
                    if let Some(measure) = class.measure(slot, self.slots.len()) {
                        measure.record(number, &mut self.room);
                    }
                }
                Use::Error => {
                    self.errors_known = true;
                    class.errors += u64::from(value != b"0");
                }
                Use::Rate => {
                    let rate = Unit::Whole.read(value).unwrap_or_default();
                    self.rate_max = self.rate_max.max(rate);
                }
                Use::Words => words = true,
                Use::Passed => {}
                Use::Dropped => self.dropped_attributes += 1,
            }
        }
        let time = time.unwrap_or_default();
        if keeps_sample && class.is_worst(time) {
            self.notes.clear();
            if words {
                for (name, value) in event.attributes.iter() {
                    if matches!(self.uses.get(name), Some(Use::Words)) {
                        self.notes.extend_from_slice(name);
                        self.notes.extend_from_slice(b": ");
                        self.notes.extend_from_slice(value);
                        self.notes.push(b'\n');
                    }
                }
            }
            for note in event.notes.iter() {
                self.notes.extend_from_slice(note);
                self.notes.push(b'\n');
            }
            class.keep_sample(time, event.statement, &self.notes, &mut self.room);
        }
    }

    /// What an attribute is used for.
    fn use_of(&mut self, place: usize, name: &[u8], value: &[u8]) -> Use {
        if let Some((known, used)) = self.layout.get(place)
            && **known == *name
        {
            return *used;
        }
        let used = match self.uses.get(name) {
            Some(used) => *used,
            None => {
                let used = self.new_use(name, value);
                // Names of the outside: an endless log of new ones is bounded by the slots.
                if self.uses.len() < 4 * SLOTS_MAX {
                    self.uses.insert(name.into(), used);
                }
                used
            }
        };
        let places = self.layout.len();
        match self.layout.get_mut(place) {
            Some(known) => *known = (name.into(), used),
            None if place == places => self.layout.push((name.into(), used)),
            None => {}
        }
        used
    }

    fn new_use(&mut self, name: &[u8], value: &[u8]) -> Use {
        match name {
            b"Errno" | b"Last_errno" => return Use::Error,
            b"Log_slow_rate_limit" => return Use::Rate,
            b"Log_slow_rate_type" | b"InnoDB_trx_id" | b"Start" | b"End" => return Use::Passed,
            _ => {}
        }
        let unit = Unit::of(name, value);
        if unit.read(value).is_none() {
            return Use::Words;
        }
        match self.slot_of(&String::from_utf8_lossy(name), unit) {
            Some(slot) => Use::Slot(slot),
            None => Use::Dropped,
        }
    }

    fn slot_of(&mut self, name: &str, unit: Unit) -> Option<usize> {
        if let Some(slot) = self.slots.iter().position(|slot| &*slot.name == name) {
            return Some(slot);
        }
        if self.slots.len() >= SLOTS_MAX {
            return None;
        }
        let slot = self.slots.len();
        self.slots.push(Slot {
            name: name.into(),
            unit,
        });
        if name == "Query_time" {
            self.time_slot = Some(slot);
        }
        Some(slot)
    }

    /// Adds what another saw of a later part. `database` is the default one where that part starts. What both keep
    /// is within this one's limits afterwards.
    pub fn merge(&mut self, mut other: Self, database: Option<&[u8]>) {
        let slots: Vec<Option<usize>> = std::mem::take(&mut other.slots)
            .into_iter()
            .map(|slot| self.slot_of(&slot.name, slot.unit))
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
            slots_count: self.slots.len(),
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
        self.folded
            .merge(other.folded, &translation, &mut self.room);
        for key in other.folded_keys {
            if self.folded_keys.len() < FOLDED_KEYS_MAX {
                self.folded_keys.insert(key_of(key));
            }
        }
        self.folded_more += other.folded_more;
        self.errors_known |= other.errors_known;
        self.filtered += other.filtered;
        self.cut += other.cut;
        self.dropped_attributes += other.dropped_attributes;
        self.rate_max = self.rate_max.max(other.rate_max);
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
