//! What is known of one class.

use model::QueryClass;

use super::measure::{Measure, Unit};
use super::names::{Counts, INHERITED, Names};

/// Bytes of a sample that are kept while there is room, and when there is little.
const SAMPLE_BYTES_MAX: usize = 4096;
const SAMPLE_BYTES_MIN: usize = 256;

/// Powers of ten that `Query_time` is sorted into.
const DECADES: usize = 8;

/// A number of the log: its name and how it is kept.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) name: Box<str>,
    pub(crate) unit: Unit,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Class {
    /// The fingerprint, or the name that the class stands for.
    pub(crate) label: Box<str>,
    pub(crate) id: Box<str>,
    pub(crate) compat_id: Option<Box<str>>,
    pub(crate) kind: Box<str>,
    pub(crate) count: u64,
    pub(crate) errors: u64,
    /// By slot.
    pub(crate) measures: Vec<Measure>,
    pub(crate) users: Counts,
    pub(crate) hosts: Counts,
    pub(crate) databases: Counts,
    pub(crate) programs: Counts,
    pub(crate) first_us: Option<i64>,
    pub(crate) last_us: Option<i64>,
    pub(crate) decades: [u64; DECADES],
    /// `Query_time` of the sample, microseconds, and one more: zero is none yet.
    pub(crate) worst: u64,
    pub(crate) sample: Vec<u8>,
    pub(crate) notes: Vec<u8>,
}

impl Class {
    /// Bytes that a new class with this label takes.
    pub(crate) fn bytes_of_new(label: &str, slots: usize) -> usize {
        // The id, an entry of the index, four counted names each.
        size_of::<Self>() + label.len() + 32 + 32 + 3 * 4 * 16 + slots * size_of::<Measure>()
    }

    pub(crate) fn measure(&mut self, slot: usize, slots: usize) -> Option<&mut Measure> {
        if slot >= self.measures.len() {
            self.make_slots(slots.max(slot + 1));
        }
        self.measures.get_mut(slot)
    }

    /// Rare, and apart so that what is done for each number stays short.
    #[cold]
    fn make_slots(&mut self, slots: usize) {
        self.measures.resize_with(slots, Measure::default);
    }

    pub(crate) fn seen_at(&mut self, time_us: i64) {
        self.first_us = Some(self.first_us.map_or(time_us, |first| first.min(time_us)));
        self.last_us = Some(self.last_us.map_or(time_us, |last| last.max(time_us)));
    }

    /// Counts a `Query_time` of microseconds.
    pub(crate) fn took(&mut self, time_us: u64) {
        let decade = (time_us.max(1).ilog10() as usize).min(DECADES - 1);
        if let Some(count) = self.decades.get_mut(decade) {
            *count += 1;
        }
    }

    /// Whether a statement of this time would be the sample.
    pub(crate) fn is_worst(&self, time_us: u64) -> bool {
        time_us.saturating_add(1) > self.worst
    }

    pub(crate) fn keep_sample(
        &mut self,
        time_us: u64,
        statement: &[u8],
        notes: &[u8],
        room: &mut usize,
    ) {
        self.worst = time_us.saturating_add(1);
        *room += self.sample.capacity() + self.notes.capacity();
        for (kept, new) in [(&mut self.sample, statement), (&mut self.notes, notes)] {
            let limit = if *room > SAMPLE_BYTES_MAX {
                SAMPLE_BYTES_MAX
            } else {
                SAMPLE_BYTES_MIN
            };
            let new = new.get(..limit).unwrap_or(new);
            // No more than is needed: there may be thousands of these.
            if kept.capacity() < new.len() || kept.capacity() > 2 * new.len() + 64 {
                *kept = Vec::with_capacity(new.len());
            }
            kept.clear();
            kept.extend_from_slice(new);
            *room = room.saturating_sub(kept.capacity());
        }
    }

    /// Adds what another knows of the same class. `slots` and `names` translate its numbers.
    pub(crate) fn merge(&mut self, other: Self, translation: &Translation<'_>, room: &mut usize) {
        self.count += other.count;
        self.errors += other.errors;
        for (slot, measure) in other.measures.into_iter().enumerate() {
            if measure.is_empty() {
                continue;
            }
            if let Some(slot) = translation.slots.get(slot).copied().flatten()
                && let Some(mine) = self.measure(slot, translation.slots_count)
            {
                mine.merge(measure, room);
            }
        }
        for (mine, others) in [
            (&mut self.users, &other.users),
            (&mut self.hosts, &other.hosts),
            (&mut self.databases, &other.databases),
            (&mut self.programs, &other.programs),
        ] {
            for (number, count) in others.iter() {
                mine.add(translation.name(number), count, room);
            }
        }
        for time in [other.first_us, other.last_us].into_iter().flatten() {
            self.seen_at(time);
        }
        for (mine, count) in self.decades.iter_mut().zip(other.decades) {
            *mine += count;
        }
        if other.worst > self.worst {
            *room += self.sample.capacity() + self.notes.capacity();
            self.worst = other.worst;
            self.sample = other.sample;
            self.notes = other.notes;
            *room = room.saturating_sub(self.sample.capacity() + self.notes.capacity());
        }
    }

    /// A copy of what can be summed up.
    pub(crate) fn without_sample(&self) -> Self {
        Self {
            count: self.count,
            errors: self.errors,
            measures: self.measures.clone(),
            users: self.users.clone(),
            hosts: self.hosts.clone(),
            databases: self.databases.clone(),
            programs: self.programs.clone(),
            first_us: self.first_us,
            last_us: self.last_us,
            decades: self.decades,
            ..Self::default()
        }
    }

    /// For people and programs.
    pub(crate) fn summarise(&self, options: &SummaryOptions<'_>) -> QueryClass {
        let mut measures = Vec::new();
        for (slot, measure) in options.slots.iter().zip(&self.measures) {
            if measure.is_empty() {
                continue;
            }
            let mut summary = measure.summarise(&slot.name, slot.unit);
            if &*slot.name == "Query_time" {
                summary.decades = self.decades.to_vec();
            }
            measures.push(summary);
        }
        let has_sample = self.worst > 0 && options.samples;
        let sample = has_sample.then(|| {
            let text = String::from_utf8_lossy(&self.sample);
            if options.literals {
                text.into_owned()
            } else {
                crate::redact_in_any_mode(&text)
            }
        });
        let notes = String::from_utf8_lossy(&self.notes);
        let notes = notes.lines();
        let notes = notes.filter(|note| options.literals || is_servers(note));
        QueryClass {
            fingerprint: self.label.to_string(),
            id: self.id.to_string(),
            compat_id: self.compat_id.as_deref().map(str::to_owned),
            kind: self.kind.to_string(),
            count: self.count,
            errors: options.errors_known.then_some(self.errors),
            measures,
            users: self.users.counted(options.names),
            hosts: self.hosts.counted(options.names),
            databases: self.databases.counted(options.names),
            programs: self.programs.counted(options.names),
            first_us: self.first_us,
            last_us: self.last_us,
            sample,
            notes: notes.map(str::to_owned).collect(),
        }
    }

    /// Bytes on the heap, about.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.label.len()
            + self.sample.capacity()
            + self.notes.capacity()
            + self.users.bytes()
            + self.hosts.bytes()
            + self.databases.bytes()
            + self.programs.bytes()
            + self
                .measures
                .iter()
                .map(|measure| size_of::<Measure>() + measure.bytes())
                .sum::<usize>()
    }
}

/// Whether a server writes such a line, without a value in it: a row of MariaDB's plan, or the name of a routine. Any other
/// may be a comment of a statement, a warning that quotes a cell, or of a person.
fn is_servers(note: &str) -> bool {
    /// A plan has 10 columns at the least.
    const TABS_MIN: usize = 9;
    match note.split_once(": ") {
        Some(("explain", row)) => row.matches('\t').count() >= TABS_MIN,
        Some(("Stored_routine", name)) => !name.contains(char::is_whitespace),
        _ => false,
    }
}

/// Numbers of one digest in another.
pub(crate) struct Translation<'a> {
    /// Slots by slot; `None` where there was no room.
    pub(crate) slots: &'a [Option<usize>],
    pub(crate) slots_count: usize,
    /// Names by number.
    pub(crate) names: &'a [u32],
    /// What the database is that the other part did not know.
    pub(crate) inherited: u32,
}

impl Translation<'_> {
    fn name(&self, number: u32) -> u32 {
        match number {
            INHERITED => self.inherited,
            _ => self
                .names
                .get(number as usize)
                .copied()
                .unwrap_or(super::names::OTHERS),
        }
    }
}

/// How classes are told.
pub(crate) struct SummaryOptions<'a> {
    pub(crate) slots: &'a [Slot],
    pub(crate) names: &'a Names,
    pub(crate) errors_known: bool,
    pub(crate) samples: bool,
    pub(crate) literals: bool,
}
