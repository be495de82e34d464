//! pprof's `profile.proto`, unpacked: what Go programs, `perf_to_profile`, Parca, Pyroscope and
//! `freezeframe profile --pprof` write. Source of the field numbers: `proto/profile.proto` of
//! github.com/google/pprof.

use std::collections::HashMap;

use model::{FrameSide, StackFrame};

use crate::format::{Format, Group};
use crate::read::listing::is_server;
use crate::read::{FRAMES_MAX, Listing, Read, Row, frame};

pub(crate) static FORMAT: Format = Format {
    id: "pprof",
    group: Group::Stacks,
    name: "pprof profile",
    printed_by: "tools that write pprof's format (also gzipped)",
    content: "samples by whole stack",
    read_bytes: |bytes| is_binary(bytes).then(|| read(bytes)).flatten(),
    ..Format::NONE
};

/// So many bytes tell whether a file is text.
const HEAD_BYTES: usize = 8 << 10;

/// Holds bytes that no text has.
fn is_binary(bytes: &[u8]) -> bool {
    let mut head = bytes.iter().take(HEAD_BYTES);
    head.any(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31))
}

/// Samples of one file that are read.
const SAMPLES_MAX: usize = 200_000;

/// Strings, functions and locations each that are read.
const NAMED_MAX: usize = 1_000_000;

/// What a profile may count that is time on processors.
const OF_PROCESSORS: [&str; 4] = ["samples", "cpu", "sample", "events"];

/// Keys of labels that hold a thread's name.
const THREAD_KEYS: [&str; 4] = ["thread", "comm", "thread_name", "thread_comm"];

/// The samples of a profile; absent when the bytes are none.
fn read(bytes: &[u8]) -> Option<Read> {
    let profile = Profile::decode(bytes)?;
    let mut read = Read::default();
    let names: Vec<&str> = profile
        .types
        .iter()
        .map(|(name, _)| profile.text(*name))
        .collect();
    let Some((column, per)) = profile.column() else {
        read.skipped.push((
            0,
            format!("it counts {}, not CPU samples", names.join(", ")).into(),
        ));
        return Some(read);
    };
    let mut listing = Listing {
        rows: Vec::new(),
        callers: Vec::new(),
        seconds: (profile.duration_ns > 0).then_some(profile.duration_ns as f64 * 1e-9),
    };
    for sample in &profile.samples {
        let value = sample.values.get(column).copied().unwrap_or(0).max(0);
        let count = value.unsigned_abs() / per;
        if count == 0 {
            continue;
        }
        let frames: Vec<StackFrame> = sample
            .locations
            .iter()
            .flat_map(|location| profile.frames(*location))
            .take(FRAMES_MAX)
            .collect();
        if frames.is_empty() {
            continue;
        }
        let thread = profile.text(sample.thread).to_owned();
        listing.rows.push(Row {
            server: is_server(&thread) || frames.iter().any(|frame| is_server(&frame.image)),
            frames,
            thread,
            count,
        });
    }
    // A profile of one program that does not tell its name.
    if !listing.rows.iter().any(|row| row.server) {
        for row in &mut listing.rows {
            row.server = true;
        }
    }
    let samples = listing
        .rows
        .iter()
        .fold(0_u64, |sum, row| sum.saturating_add(row.count));
    read.brought = format!("{samples} samples of {} stacks", listing.rows.len());
    if profile.left_out > 0 {
        read.skipped.push((
            0,
            format!("{} stacks over {SAMPLES_MAX}", profile.left_out).into(),
        ));
    }
    if listing.rows.is_empty() {
        read.skipped.push((0, "a profile without samples".into()));
    } else {
        read.listings.push(listing);
    }
    Some(read)
}

#[derive(Default)]
struct Profile<'a> {
    /// Name and unit of each column of values, as strings' numbers.
    types: Vec<(u64, u64)>,
    samples: Vec<Sample>,
    left_out: usize,
    /// File names by id.
    mappings: HashMap<u64, u64>,
    locations: HashMap<u64, Location>,
    /// Names by id.
    functions: HashMap<u64, u64>,
    strings: Vec<&'a [u8]>,
    duration_ns: i64,
    period: i64,
}

#[derive(Default)]
struct Sample {
    locations: Vec<u64>,
    values: Vec<i64>,
    /// Number of the string of the thread's name.
    thread: u64,
    /// Labels: strings' numbers of key and value.
    labels: Vec<(u64, u64)>,
}

#[derive(Default)]
struct Location {
    mapping: u64,
    /// Functions, the innermost inlined one first.
    functions: Vec<u64>,
}

impl<'a> Profile<'a> {
    /// Absent when it is no profile.
    fn decode(bytes: &'a [u8]) -> Option<Self> {
        let mut profile = Self::default();
        for field in Fields(bytes) {
            let (number, value) = field?;
            match (number, value) {
                (1, Value::Bytes(inner)) => {
                    let [name, unit] = numbers(inner, [1, 2])?;
                    profile.types.push((name, unit));
                }
                (2, Value::Bytes(_)) if profile.samples.len() >= SAMPLES_MAX => {
                    profile.left_out += 1;
                }
                (2, Value::Bytes(inner)) => profile.samples.push(sample(inner)?),
                (3, Value::Bytes(inner)) => {
                    let [id, file] = numbers(inner, [1, 5])?;
                    keep(&mut profile.mappings, id, file);
                }
                (4, Value::Bytes(inner)) => {
                    let (id, location) = location(inner)?;
                    keep(&mut profile.locations, id, location);
                }
                (5, Value::Bytes(inner)) => {
                    let [id, name] = numbers(inner, [1, 2])?;
                    keep(&mut profile.functions, id, name);
                }
                (6, Value::Bytes(text)) if profile.strings.len() < NAMED_MAX => {
                    profile.strings.push(text);
                }
                (10, Value::Number(ns)) => profile.duration_ns = ns.cast_signed(),
                (12, Value::Number(period)) => profile.period = period.cast_signed(),
                (1..=15, _) => {}
                _ => return None,
            }
        }
        // The first string is empty in every profile.
        let is_profile = profile
            .strings
            .first()
            .is_some_and(|first| first.is_empty())
            && !profile.types.is_empty();
        if !is_profile {
            return None;
        }
        let mut samples = std::mem::take(&mut profile.samples);
        for sample in &mut samples {
            let thread = sample
                .labels
                .iter()
                .find(|(key, _)| THREAD_KEYS.contains(&profile.text(*key)));
            sample.thread = thread.map_or(0, |(_, value)| *value);
        }
        profile.samples = samples;
        Some(profile)
    }

    fn text(&self, number: u64) -> &'a str {
        usize::try_from(number)
            .ok()
            .and_then(|number| self.strings.get(number))
            .and_then(|text| std::str::from_utf8(text).ok())
            .unwrap_or_default()
    }

    /// The column that counts samples, and by what its values are divided: time by the period.
    fn column(&self) -> Option<(usize, u64)> {
        let of = |names: &[&str], unit: &str| {
            self.types.iter().position(|(name, its)| {
                names.contains(&self.text(*name)) && self.text(*its) == unit
            })
        };
        let period = u64::try_from(self.period).unwrap_or(0).max(1);
        of(&OF_PROCESSORS, "count")
            .map(|column| (column, 1))
            .or_else(|| of(&["cpu", "samples"], "nanoseconds").map(|column| (column, period)))
    }

    fn frames(&self, id: u64) -> Vec<StackFrame> {
        let Some(location) = self.locations.get(&id) else {
            return Vec::new();
        };
        let image = self
            .mappings
            .get(&location.mapping)
            .map_or("", |file| self.text(*file));
        let one = |name: &str| {
            let is_kernel = image.starts_with("[kernel")
                || image.contains("vmlinux")
                || image.ends_with(".ko")
                || name.ends_with("_[k]");
            let name = name.strip_suffix("_[k]").unwrap_or(name);
            if is_kernel {
                frame(name, "[kernel]", FrameSide::Kernel)
            } else {
                frame(name, image, FrameSide::User)
            }
        };
        if location.functions.is_empty() {
            return vec![one("")];
        }
        location
            .functions
            .iter()
            .map(|function| {
                let name = self.functions.get(function).copied().unwrap_or(0);
                one(self.text(name))
            })
            .collect()
    }
}

fn keep<T>(map: &mut HashMap<u64, T>, id: u64, value: T) {
    if map.len() < NAMED_MAX {
        map.insert(id, value);
    }
}

fn sample(bytes: &[u8]) -> Option<Sample> {
    let mut sample = Sample::default();
    for field in Fields(bytes) {
        match field? {
            (1, Value::Number(id)) if sample.locations.len() < FRAMES_MAX => {
                sample.locations.push(id);
            }
            (1, Value::Bytes(packed)) => {
                let room = FRAMES_MAX.saturating_sub(sample.locations.len());
                sample.locations.extend(Varints(packed).take(room));
            }
            (2, Value::Number(value)) if sample.values.len() < 16 => {
                sample.values.push(value.cast_signed());
            }
            (2, Value::Bytes(packed)) => {
                let room = 16_usize.saturating_sub(sample.values.len());
                let values = Varints(packed).take(room).map(u64::cast_signed);
                sample.values.extend(values);
            }
            (3, Value::Bytes(label)) if sample.labels.len() < 32 => {
                let [key, text] = numbers(label, [1, 2])?;
                sample.labels.push((key, text));
            }
            _ => {}
        }
    }
    Some(sample)
}

fn location(bytes: &[u8]) -> Option<(u64, Location)> {
    let mut location = Location::default();
    let mut id = 0;
    for field in Fields(bytes) {
        match field? {
            (1, Value::Number(value)) => id = value,
            (2, Value::Number(value)) => location.mapping = value,
            (4, Value::Bytes(line)) if location.functions.len() < FRAMES_MAX => {
                let [function] = numbers(line, [1])?;
                location.functions.push(function);
            }
            _ => {}
        }
    }
    Some((id, location))
}

/// The numbers of these fields of a message, 0 where they are not there.
fn numbers<const N: usize>(bytes: &[u8], wanted: [u64; N]) -> Option<[u64; N]> {
    let mut found = [0; N];
    for field in Fields(bytes) {
        if let (number, Value::Number(value)) = field? {
            for (slot, wanted) in found.iter_mut().zip(wanted) {
                if number == wanted {
                    *slot = value;
                }
            }
        }
    }
    Some(found)
}

/// A value of protocol buffers' wire format.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message; `None` where it is damaged, and then no more.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u64, Value<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let key = varint(&mut self.0)?;
        let value = match key & 7 {
            0 => Value::Number(varint(&mut self.0)?),
            1 => Value::Bytes(self.take(8)?),
            2 => {
                let length = usize::try_from(varint(&mut self.0)?).ok()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Bytes(self.take(4)?),
            _ => return None,
        };
        (key >> 3 > 0).then_some((key >> 3, value))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

/// Numbers of seven bits a byte, one behind the other.
struct Varints<'a>(&'a [u8]);

impl Iterator for Varints<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        varint(&mut self.0)
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(field: u64, value: u64) -> Vec<u8> {
        [put(field << 3), put(value)].concat()
    }

    fn inner(field: u64, bytes: &[u8]) -> Vec<u8> {
        [put(field << 3 | 2), put(bytes.len() as u64), bytes.to_vec()].concat()
    }

    fn put(mut value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
        out
    }

    /// A profile whose columns are named by `columns`.
    fn profile(columns: &[(u64, u64)]) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, unit) in columns {
            out.extend(inner(1, &[number(1, *name), number(2, *unit)].concat()));
        }
        let values: Vec<u8> = columns.iter().flat_map(|_| put(30_000_000)).collect();
        let sample = [
            inner(1, &[put(1), put(2)].concat()),
            inner(2, &values),
            inner(3, &[number(1, 9), number(2, 10)].concat()),
        ];
        out.extend(inner(2, &sample.concat()));
        out.extend(inner(3, &[number(1, 1), number(5, 5)].concat()));
        out.extend(inner(3, &[number(1, 2), number(5, 6)].concat()));
        for (id, mapping) in [(1, 2), (2, 1)] {
            let line = inner(4, &number(1, id));
            out.extend(inner(
                4,
                &[number(1, id), number(2, mapping), line].concat(),
            ));
        }
        out.extend(inner(5, &[number(1, 1), number(2, 7)].concat()));
        out.extend(inner(5, &[number(1, 2), number(2, 8)].concat()));
        for text in [
            "",
            "samples",
            "count",
            "cpu",
            "nanoseconds",
            "/usr/sbin/mysqld",
            "[kernel.kallsyms]",
            "clear_page",
            "row_search_mvcc",
            "thread",
            "connection",
            "alloc_space",
        ] {
            out.extend(inner(6, text.as_bytes()));
        }
        out.extend(number(10, 2_000_000_000));
        out.extend(number(12, 10_000_000));
        out
    }

    #[test]
    fn samples_with_threads_images_and_sides() {
        let read = read(&profile(&[(1, 2), (3, 4)])).unwrap();
        let listing = &read.listings[0];
        let row = &listing.rows[0];
        assert_eq!(
            (row.count, row.thread.as_str(), row.server),
            (30_000_000, "connection", true)
        );
        assert_eq!(row.frames[0].name, "clear_page");
        assert_eq!(row.frames[0].side, FrameSide::Kernel);
        assert_eq!(
            (row.frames[1].name.as_str(), row.frames[1].image.as_str()),
            ("row_search_mvcc", "mysqld")
        );
        assert_eq!(listing.seconds, Some(2.0));
    }

    #[test]
    fn time_is_divided_by_the_period() {
        let read = read(&profile(&[(3, 4)])).unwrap();
        assert_eq!(read.listings[0].rows[0].count, 3);
    }

    #[test]
    fn memory_is_no_time() {
        let read = read(&profile(&[(11, 2)])).unwrap();
        assert!(read.listings.is_empty());
        assert!(read.skipped[0].1.contains("alloc_space"));
    }

    #[test]
    fn other_bytes_and_cut_ones_are_none() {
        let whole = profile(&[(1, 2)]);
        for cut in 0..whole.len() {
            let _ = read(&whole[..cut]);
        }
        assert!(read(b"Thread 1 (LWP 5):\n").is_none());
        assert!(read(&[0; 64]).is_none());
        assert!(read(&[0xff; 64]).is_none());
    }
}
