//! What an event's head says beside who asked: numbers, and few words.

use std::collections::HashMap;

use super::class::{Class, Slot};
use super::measure::Unit;
use crate::log::Event;

/// Different numbers of a log; the most that one server writes is about 40.
const SLOTS_MAX: usize = 96;

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

/// The names of a log, and what becomes of each.
#[derive(Default)]
pub(super) struct Attributes {
    pub(super) slots: Vec<Slot>,
    /// The slot of `Query_time`.
    pub(super) time_slot: Option<usize>,
    /// The log tells whether statements failed.
    pub(super) errors_known: bool,
    pub(super) dropped: u64,
    pub(super) rate_max: u64,
    uses: HashMap<Box<[u8]>, Use>,
    /// What the attributes of the last event were used for, by place: the next one's mostly stand in the same order.
    layout: Vec<(Box<[u8]>, Use)>,
    /// Likewise of an event's numbers.
    numbers: Vec<(&'static str, Use)>,
    notes: Vec<u8>,
}

impl Attributes {
    /// Adds what an event's head says to its class; where `keeps_sample`, its statement as well when it is the slowest.
    pub(super) fn add(
        &mut self,
        class: &mut Class,
        event: &Event<'_>,
        keeps_sample: bool,
        room: &mut usize,
    ) {
        let mut time = None;
        let mut words = false;
        for (place, (name, value)) in event.attributes.iter().enumerate() {
            match self.use_of(place, name, value) {
                Use::Slot(slot) => {
                    let Some(number) = self.slots.get(slot).and_then(|slot| slot.unit.read(value))
                    else {
                        continue;
                    };
                    self.record(class, slot, number, room);
                    if Some(slot) == self.time_slot {
                        time = Some(number);
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
                Use::Dropped => self.dropped += 1,
            }
        }
        for (place, (name, number)) in event.numbers.iter().enumerate() {
            let used = self.use_of_number(place, name);
            let Some(number) = *number else { continue };
            match used {
                Use::Slot(slot) => {
                    self.record(class, slot, number, room);
                    if Some(slot) == self.time_slot {
                        time = Some(number);
                    }
                }
                Use::Error => {
                    self.errors_known = true;
                    class.errors += u64::from(number != 0);
                }
                Use::Rate | Use::Words | Use::Passed | Use::Dropped => self.dropped += 1,
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
            class.keep_sample(time, event.statement, &self.notes, room);
        }
    }

    /// Counts a number of a class.
    fn record(&self, class: &mut Class, slot: usize, number: u64, room: &mut usize) {
        if Some(slot) == self.time_slot {
            class.took(number);
        }
        if let Some(measure) = class.measure(slot, self.slots.len()) {
            measure.record(number, room);
        }
    }

    /// What a number is used for.
    fn use_of_number(&mut self, place: usize, name: &'static str) -> Use {
        if let Some((known, used)) = self.numbers.get(place)
            && *known == name
        {
            return *used;
        }
        let used = self.new_use(name.as_bytes(), b"0");
        // By events of another shape: what was known does not hold.
        self.numbers.truncate(place);
        if self.numbers.len() == place {
            self.numbers.push((name, used));
        }
        used
    }

    /// What an attribute is used for.
    fn use_of(&mut self, place: usize, name: &[u8], value: &[u8]) -> Use {
        if let Some((known, used)) = self.layout.get(place)
            && is_same(known, name)
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

    /// The slot of a name; `None` when there are too many.
    pub(super) fn slot_of(&mut self, name: &str, unit: Unit) -> Option<usize> {
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

    /// Adds what another saw, but for its slots.
    pub(super) fn merge(&mut self, other: &Self) {
        self.errors_known |= other.errors_known;
        self.dropped += other.dropped;
        self.rate_max = self.rate_max.max(other.rate_max);
    }
}

/// A number of an event that is of no log, as a log has it.
pub(super) fn number_of(event: &Event<'_>, name: &str) -> Option<String> {
    let mut numbers = event.numbers.iter();
    let (known, number) = numbers.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    let number = (*number)?;
    Some(match Unit::of(known.as_bytes(), b"0") {
        Unit::Seconds => format!("{}.{:06}", number / 1_000_000, number % 1_000_000),
        Unit::Milliseconds => format!("{}.{:03}", number / 1000, number % 1000),
        Unit::Whole | Unit::YesNo => number.to_string(),
    })
}

/// As `==`, and faster for names of up to 16 bytes, which nearly all are.
fn is_same(known: &[u8], name: &[u8]) -> bool {
    if known.len() != name.len() {
        return false;
    }
    if !(8..=16).contains(&known.len()) {
        return known == name;
    }
    let ends = |text: &[u8]| -> Option<([u8; 8], [u8; 8])> {
        Some((*text.first_chunk()?, *text.last_chunk()?))
    };
    ends(known) == ends(name)
}
