//! Profiles for pprof: a gzip'ed message of `profile.proto`
//! (<https://github.com/google/pprof/blob/main/proto/profile.proto>).

use std::{
    collections::{BTreeMap, HashMap},
    io::Write,
};

use flate2::{Compression, write::GzEncoder};
use model::{FrameId, Profile, StackFrame, StackTable};

use crate::escape;

/// Nanoseconds in a second.
const NANOSECONDS: u64 = 1_000_000_000;
/// Nanoseconds in a millisecond.
const NANOSECONDS_PER_MS: i64 = 1_000_000;

/// What pprof is told beside the profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PprofOptions {
    /// Wall-clock time at the profile's moment 0, milliseconds since 1970 UTC; 0 when not known.
    pub wall_at_zero_ms: i64,
    /// Build ids of images, hexadecimal, by file name.
    pub build_ids: HashMap<String, String>,
    /// Leave out what is not the server's.
    pub server_only: bool,
}

/// The profile as pprof reads it. Sample types are `samples` (count) and `cpu` (nanoseconds); each
/// sample has the label `thread`. Addresses are not kept: each function is one location.
pub fn pprof(profile: &Profile, book: &StackTable, options: &PprofOptions) -> Vec<u8> {
    let message = message(profile, book, options);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    // Writing into memory does not fail.
    let _ = gzip.write_all(&message);
    gzip.finish().unwrap_or_default()
}

/// Numbers of the fields of `Profile`.
mod field {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const MAPPING: u32 = 3;
    pub(super) const LOCATION: u32 = 4;
    pub(super) const FUNCTION: u32 = 5;
    pub(super) const STRING_TABLE: u32 = 6;
    pub(super) const TIME_NANOS: u32 = 9;
    pub(super) const DURATION_NANOS: u32 = 10;
    pub(super) const PERIOD_TYPE: u32 = 11;
    pub(super) const PERIOD: u32 = 12;
    pub(super) const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

fn message(profile: &Profile, book: &StackTable, options: &PprofOptions) -> Vec<u8> {
    let mut strings = Strings::new();
    let mut places = Places::default();
    let mut out = Vec::new();
    let [samples, count, cpu, nanoseconds, thread] =
        ["samples", "count", "cpu", "nanoseconds", "thread"].map(|text| strings.number(text));
    for (kind, unit) in [(samples, count), (cpu, nanoseconds)] {
        bytes(&mut out, field::SAMPLE_TYPE, &value_type(kind, unit));
    }
    let period = match profile.hz {
        0 => 0,
        hz => NANOSECONDS / u64::from(hz),
    };
    for ((stack, name), count) in sums(profile, options.server_only) {
        let mut locations = Vec::new();
        for id in &book.stack(stack).frames {
            if let Some(frame) = book.frame(*id) {
                varint(&mut locations, places.location(*id, frame));
            }
        }
        let mut values = Vec::new();
        varint(&mut values, count);
        varint(
            &mut values,
            count.saturating_mul(period).min(i64::MAX as u64),
        );
        let mut label = Vec::new();
        number(&mut label, 1, thread);
        number(&mut label, 2, strings.number(&name));
        let mut sample = Vec::new();
        bytes(&mut sample, 1, &locations);
        bytes(&mut sample, 2, &values);
        bytes(&mut sample, 3, &label);
        bytes(&mut out, field::SAMPLE, &sample);
    }
    places.write(&mut out, &mut strings, &options.build_ids);
    strings.write(&mut out);
    if options.wall_at_zero_ms != 0 {
        let begin = options
            .wall_at_zero_ms
            .saturating_add_unsigned(profile.from);
        let begin = begin.saturating_mul(NANOSECONDS_PER_MS);
        number(&mut out, field::TIME_NANOS, begin.cast_unsigned());
    }
    let duration = i64::try_from(profile.to.saturating_sub(profile.from)).unwrap_or(i64::MAX);
    let duration = duration.saturating_mul(NANOSECONDS_PER_MS);
    number(&mut out, field::DURATION_NANOS, duration.cast_unsigned());
    bytes(&mut out, field::PERIOD_TYPE, &value_type(cpu, nanoseconds));
    number(&mut out, field::PERIOD, period);
    number(&mut out, field::DEFAULT_SAMPLE_TYPE, cpu);
    out
}

/// Samples by stack and thread; pprof's numbers are signed.
fn sums(profile: &Profile, server_only: bool) -> BTreeMap<(model::StackId, String), u64> {
    let mut sums: BTreeMap<_, u64> = BTreeMap::new();
    for row in &profile.counts {
        if row.count > 0 && (row.server || !server_only) {
            let sum = sums.entry((row.stack, row.thread.clone())).or_default();
            *sum = sum.saturating_add(row.count).min(i64::MAX as u64);
        }
    }
    sums
}

fn value_type(kind: u64, unit: u64) -> Vec<u8> {
    let mut out = Vec::new();
    number(&mut out, 1, kind);
    number(&mut out, 2, unit);
    out
}

/// The string table; number 0 is the empty string.
struct Strings {
    texts: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Strings {
    fn new() -> Self {
        Self {
            texts: vec![String::new()],
            numbers: HashMap::from([(String::new(), 0)]),
        }
    }

    /// pprof prints names to terminals as they are: what a terminal obeys becomes visible.
    fn number(&mut self, text: &str) -> u64 {
        let text = escape::terminal(text);
        if let Some(number) = self.numbers.get(&text) {
            return *number;
        }
        let number = self.texts.len() as u64;
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    fn write(&self, out: &mut Vec<u8>) {
        for text in &self.texts {
            bytes(out, field::STRING_TABLE, text.as_bytes());
        }
    }
}

/// Functions with their locations, one for each frame, and the images they lie in. Numbers begin
/// at 1.
#[derive(Default)]
struct Places<'a> {
    functions: Vec<(&'a StackFrame, u64)>,
    numbers: HashMap<FrameId, u64>,
    images: Vec<&'a str>,
}

impl<'a> Places<'a> {
    fn location(&mut self, id: FrameId, frame: &'a StackFrame) -> u64 {
        if let Some(number) = self.numbers.get(&id) {
            return *number;
        }
        let mapping = self.mapping(&frame.image);
        self.functions.push((frame, mapping));
        let number = self.functions.len() as u64;
        self.numbers.insert(id, number);
        number
    }

    /// The image's number; 0 when it is not known.
    fn mapping(&mut self, image: &'a str) -> u64 {
        if image.is_empty() {
            return 0;
        }
        let known = self.images.iter().position(|other| *other == image);
        let index = known.unwrap_or_else(|| {
            self.images.push(image);
            self.images.len() - 1
        });
        index as u64 + 1
    }

    fn write(&self, out: &mut Vec<u8>, strings: &mut Strings, build_ids: &HashMap<String, String>) {
        for (index, image) in self.images.iter().enumerate() {
            let mut mapping = Vec::new();
            number(&mut mapping, 1, index as u64 + 1);
            number(&mut mapping, 5, strings.number(image));
            if let Some(build_id) = build_ids.get(*image) {
                number(&mut mapping, 6, strings.number(build_id));
            }
            // has_functions: pprof need not look for symbols.
            number(&mut mapping, 7, 1);
            bytes(out, field::MAPPING, &mapping);
        }
        for (index, (frame, mapping)) in self.functions.iter().enumerate() {
            let id = index as u64 + 1;
            let name = strings.number(&frame.name);
            let mut line = Vec::new();
            number(&mut line, 1, id);
            let mut location = Vec::new();
            number(&mut location, 1, id);
            number(&mut location, 2, *mapping);
            bytes(&mut location, 4, &line);
            bytes(out, field::LOCATION, &location);
            let mut function = Vec::new();
            number(&mut function, 1, id);
            number(&mut function, 2, name);
            number(&mut function, 3, name);
            number(&mut function, 4, strings.number(&frame.image));
            bytes(out, field::FUNCTION, &function);
        }
    }
}

/// A field of wire type 0; the default value 0 is left out.
fn number(out: &mut Vec<u8>, field: u32, value: u64) {
    if value != 0 {
        varint(out, u64::from(field) << 3);
        varint(out, value);
    }
}

/// A field of wire type 2.
fn bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    varint(out, u64::from(field) << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
