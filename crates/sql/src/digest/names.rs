//! Names that occur again and again, as numbers.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use model::Counted;

/// Different names that are kept apart.
const NAMES_MAX: usize = 20_000;

/// Bytes of a name that are kept.
const NAME_BYTES_MAX: usize = 255;

/// Different names of one kind that a class keeps apart.
const COUNTED_MAX: usize = 64;

/// The name of a default database that is told in a part of the log read elsewhere.
pub(crate) const INHERITED: u32 = 0;

/// All names over a limit.
pub(crate) const OTHERS: u32 = 1;

/// Multiplies and folds, eight bytes at a time; the seed is the process's own, so that nobody can write a log whose
/// names all meet.
#[derive(Debug, Clone)]
pub(crate) struct Folding(u64);

impl Default for Folding {
    fn default() -> Self {
        Self(RandomState::new().build_hasher().finish() | 1)
    }
}

impl BuildHasher for Folding {
    type Hasher = FoldingHasher;

    fn build_hasher(&self) -> FoldingHasher {
        FoldingHasher(self.0)
    }
}

/// 2^64 divided by the golden ratio, which spreads bits well.
const FOLD: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug)]
pub(crate) struct FoldingHasher(u64);

impl FoldingHasher {
    fn fold(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(FOLD);
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for FoldingHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.fold(word.try_into().map_or(0, u64::from_le_bytes));
        }
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(words.remainder()) {
            *to = *from;
        }
        self.fold(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn write_u64(&mut self, word: u64) {
        self.fold(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.fold(word as u64);
    }

    fn write_u8(&mut self, byte: u8) {
        self.fold(u64::from(byte));
    }
}

/// Names that are found again without a hash: of so many kinds, so many of each, up to so many bytes.
const KINDS: usize = 4;
const AGAIN_MAX: usize = 64;
const AGAIN_BYTES: usize = 32;

/// A name that was asked for lately, filled up with zeros.
#[derive(Debug, Clone, Copy)]
struct Again {
    bytes: [u8; AGAIN_BYTES],
    length: usize,
    number: u32,
}

/// Names by number.
#[derive(Debug)]
pub(crate) struct Names {
    numbers: HashMap<Box<[u8]>, u32, Folding>,
    names: Vec<Box<[u8]>>,
    again: [[Again; AGAIN_MAX]; KINDS],
}

impl Default for Names {
    fn default() -> Self {
        Self {
            numbers: HashMap::default(),
            // The two that are no names.
            names: vec![Box::from(&b""[..]), Box::from(&b"(others)"[..])],
            again: [[Again {
                bytes: [0; AGAIN_BYTES],
                length: usize::MAX,
                number: OTHERS,
            }; AGAIN_MAX]; KINDS],
        }
    }
}

impl Names {
    /// The number of a name.
    pub(crate) fn number(&mut self, name: &[u8], room: &mut usize) -> u32 {
        let name = name.get(..NAME_BYTES_MAX).unwrap_or(name);
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let bytes = 2 * name.len() + 64;
        if self.names.len() >= NAMES_MAX || *room < bytes {
            return OTHERS;
        }
        *room -= bytes;
        let number = u32::try_from(self.names.len()).unwrap_or(OTHERS);
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    /// The number of a name of one kind, of which there are few: users, hosts, databases, programs.
    pub(crate) fn number_again(&mut self, kind: usize, name: &[u8], room: &mut usize) -> u32 {
        let place = place_of(name);
        let again = self.again.get(kind).and_then(|kind| kind.get(place));
        if let Some(again) = again
            && again.length == name.len()
            && again.bytes.get(..name.len()) == Some(name)
        {
            return again.number;
        }
        let number = self.number(name, room);
        // Without room a name may get a number later.
        if number != OTHERS
            && let Some(again) = self
                .again
                .get_mut(kind)
                .and_then(|kind| kind.get_mut(place))
            && let Some(bytes) = again.bytes.get_mut(..name.len())
        {
            bytes.copy_from_slice(name);
            (again.length, again.number) = (name.len(), number);
        }
        number
    }

    /// Numbers that were given, `INHERITED` and `OTHERS` included.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.names.len()).unwrap_or(u32::MAX)
    }

    /// The name of a number.
    pub(crate) fn name(&self, number: u32) -> &[u8] {
        self.names.get(number as usize).map_or(b"", AsRef::as_ref)
    }
}

/// Where a name is found again, by its first and last bytes: web1 and web2, web1.example and web2.example.
fn place_of(name: &[u8]) -> usize {
    let (first, last) = match (name.first_chunk(), name.last_chunk()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => {
            let byte = |byte: Option<&u8>| byte.map_or(0, |byte| u64::from(*byte));
            (byte(name.first()), byte(name.last()))
        }
    };
    let mixed = (first ^ last.rotate_left(24) ^ name.len() as u64).wrapping_mul(FOLD);
    (mixed >> (u64::BITS - AGAIN_MAX.ilog2())) as usize
}

/// How often each name occurred, in the order of their first time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts(Vec<(u32, u64)>);

impl Counts {
    /// Counts a name; over the limit, or without room, as one of the others.
    pub(crate) fn add(&mut self, number: u32, count: u64, room: &mut usize) {
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| *known == number) {
            *known += count;
            return;
        }
        let is_name = number != OTHERS && number != INHERITED;
        let more = if self.0.len() == self.0.capacity() {
            self.0.len().max(4) * size_of::<(u32, u64)>()
        } else {
            0
        };
        if is_name && (self.0.len() >= COUNTED_MAX || *room < more) {
            return self.add(OTHERS, count, room);
        }
        *room = room.saturating_sub(more);
        self.0.push((number, count));
    }

    /// Numbers with counts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        self.0.iter().copied()
    }

    /// Most first, names of the same count by name; the others last.
    pub(crate) fn counted(&self, names: &Names) -> Vec<Counted> {
        let mut counted: Vec<(u32, u64)> = self.0.clone();
        counted.retain(|(number, _)| *number != INHERITED);
        counted.sort_by(|a, b| {
            let others = (a.0 == OTHERS).cmp(&(b.0 == OTHERS));
            others
                .then(b.1.cmp(&a.1))
                .then_with(|| names.name(a.0).cmp(names.name(b.0)))
        });
        counted
            .into_iter()
            .map(|(number, count)| Counted {
                name: String::from_utf8_lossy(names.name(number)).into_owned(),
                count,
            })
            .collect()
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<(u32, u64)>()
    }
}
