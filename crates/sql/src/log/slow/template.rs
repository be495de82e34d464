//! Lines of attributes that differ from earlier ones in their values only, as nearly all of a log do.
//!
//! A line is `# Name: value  Name: value`. What stands before each value, its *lead*, is compared as a whole, so that names need
//! not be looked for. A line that is not exactly like an earlier one is left to the reader's slow way, which teaches it.

use super::super::{Span, line_end};

/// Templates that are known at a time; a server writes fewer kinds of lines.
const TEMPLATES_MAX: usize = 8;

/// Names of one line.
const FIELDS_MAX: usize = 64;

/// Bytes of a lead, as words.
const LEAD_WORDS: usize = 4;
const LEAD_BYTES: usize = 8 * LEAD_WORDS;

/// Lines of a head of which it is remembered what they were like the last time.
const PLACES_MAX: usize = 8;

/// What a name is for the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The default database.
    Schema,
    /// The connection's number.
    Connection,
    Attribute,
}

impl Role {
    pub(super) fn of(name: &[u8]) -> Self {
        match name {
            b"Schema" => Self::Schema,
            b"Thread_id" | b"Id" => Self::Connection,
            _ => Self::Attribute,
        }
    }
}

/// What a name is, where it is, and where its value is.
pub(super) type Found = (Role, Span, Span);

#[derive(Debug, PartialEq)]
struct Field {
    /// The lead's bytes; those after its end are masked out.
    words: [u64; LEAD_WORDS],
    masks: [u64; LEAD_WORDS],
    length: usize,
    /// Where the name is in the lead.
    name: (usize, usize),
    has_value: bool,
    role: Role,
}

impl Field {
    fn new(lead: &[u8], name: (usize, usize), has_value: bool, role: Role) -> Option<Self> {
        let mut bytes = [0; LEAD_BYTES];
        let mut mask = [0; LEAD_BYTES];
        bytes.get_mut(..lead.len())?.copy_from_slice(lead);
        mask.get_mut(..lead.len())?.fill(0xff);
        Some(Self {
            words: words(&bytes),
            masks: words(&mask),
            length: lead.len(),
            name,
            has_value,
            role,
        })
    }

    fn is_at(&self, bytes: &[u8; LEAD_BYTES]) -> bool {
        let found = words(bytes);
        let mut differences = 0;
        for ((found, word), mask) in found.iter().zip(&self.words).zip(&self.masks) {
            differences |= (found ^ word) & mask;
        }
        differences == 0
    }
}

fn words(bytes: &[u8; LEAD_BYTES]) -> [u64; LEAD_WORDS] {
    let mut words = [0; LEAD_WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

#[derive(Debug, PartialEq)]
struct Template {
    fields: Vec<Field>,
    /// What stands after the last value, up to the line's end.
    tail: Vec<u8>,
}

impl Template {
    /// Where the next line starts, when the line at `at` is like this; its names and values go to `found`.
    fn read(&self, bytes: &[u8], at: usize, found: &mut Vec<Found>) -> Option<usize> {
        let mut at = at;
        for field in &self.fields {
            if !field.is_at(bytes.get(at..)?.first_chunk()?) {
                return None;
            }
            let name = Span::new(at + field.name.0, at + field.name.1);
            at += field.length;
            let value = if field.has_value {
                let end = word_end(bytes, at)?;
                let value = bytes.get(at..end)?;
                // A word that looks like a name is one.
                if value.is_empty() || value.len() > 1 && value.last() == Some(&b':') {
                    return None;
                }
                let value = Span::new(at, end);
                at = end;
                value
            } else {
                Span {
                    from: name.to,
                    to: name.to,
                }
            };
            found.push((field.role, name, value));
        }
        let rest = bytes.get(at..)?;
        let rest = match self.tail.as_slice() {
            // Comparing nothing takes longer than the line: an empty vector's address is on no page, and libc's masked
            // load of no byte at it is served by microcode.
            [] => rest,
            tail => rest.strip_prefix(tail)?,
        };
        (rest.first() == Some(&b'\n')).then_some(at + self.tail.len() + 1)
    }
}

/// Where the word that starts here ends: at a blank or a line end. `None` where that is not certain at once.
fn word_end(bytes: &[u8], from: usize) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = from;
    loop {
        let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
        // The high bit of each byte that is above a blank, as far as the seven low bits go.
        let above = (word & !HIGH) + ONES * (0x80 - 0x21);
        let ends = !(above | word) & HIGH;
        if ends != 0 {
            let end = at + (ends.trailing_zeros() / 8) as usize;
            // Other control bytes are parts of words.
            return matches!(bytes.get(end)?, b' ' | b'\t' | b'\r' | b'\n').then_some(end);
        }
        at += 8;
    }
}

/// The lines that are known.
#[derive(Debug, Default)]
pub(super) struct Templates {
    known: Vec<Template>,
    /// The one that is replaced next.
    oldest: usize,
    /// What each line of a head was like the last time.
    expected: [usize; PLACES_MAX],
    found: Vec<Found>,
}

impl Templates {
    /// Names and values of the line at `at`, the head's line with this number, and where the next line starts; `None` when
    /// no earlier line was like it.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        at: usize,
        place: usize,
    ) -> Option<(&[Found], usize)> {
        let place = place.min(PLACES_MAX - 1);
        let expected = self.expected.get(place).copied().unwrap_or_default();
        let others = (0..self.known.len()).filter(|index| *index != expected);
        for index in [expected].into_iter().chain(others) {
            self.found.clear();
            let template = self.known.get(index)?;
            if let Some(next) = template.read(bytes, at, &mut self.found) {
                if let Some(expected) = self.expected.get_mut(place) {
                    *expected = index;
                }
                return Some((&self.found, next));
            }
        }
        None
    }

    /// Learns a line from its names and values, as the slow way found them.
    pub(super) fn learn(&mut self, bytes: &[u8], at: usize, fields: &[(Span, Span)]) {
        let Some(template) = template_of(bytes, at, fields) else {
            return;
        };
        // At the end of the bytes the slow way reads what is known.
        if self.known.contains(&template) {
            return;
        }
        if self.known.len() < TEMPLATES_MAX {
            self.known.push(template);
        } else if let Some(old) = self.known.get_mut(self.oldest) {
            *old = template;
            self.oldest = (self.oldest + 1) % TEMPLATES_MAX;
        }
    }
}

fn template_of(bytes: &[u8], line: usize, spans: &[(Span, Span)]) -> Option<Template> {
    if spans.is_empty() || spans.len() > FIELDS_MAX {
        return None;
    }
    let mut at = line;
    let mut fields = Vec::with_capacity(spans.len());
    for (name, value) in spans {
        let has_value = value.from != value.to;
        let (from, to) = (name.from as usize, name.to as usize);
        let (start, next) = if has_value {
            (value.from as usize, value.to as usize)
        } else {
            (to + 1, to + 1)
        };
        let lead = bytes.get(at..start)?;
        let role = Role::of(name.of(bytes));
        let place = (from.checked_sub(at)?, to.checked_sub(at)?);
        fields.push(Field::new(lead, place, has_value, role)?);
        at = next;
    }
    let tail = bytes.get(at..line_end(bytes, at)?)?;
    Some(Template {
        fields,
        tail: tail.to_vec(),
    })
}
