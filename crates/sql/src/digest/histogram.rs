//! Numbers of one kind, of which sums are exact and quantiles are known to within a stated error.
//!
//! A value falls into one of 64 equal parts between two powers of two; values below 128 have a part each. A quantile is
//! told as the middle of its part, so it is off by at most one in 128. Only the powers of two that occur take room, and
//! the first few values are kept as they are, because most classes of a log have few statements.

/// Parts of each power of two, as a power of two.
const PARTS_BITS: u32 = 6;
const PARTS: usize = 1 << PARTS_BITS;

/// The largest relative error of a quantile.
pub const QUANTILE_ERROR: f64 = 1.0 / 128.0;

/// Values that are kept as they are before they are counted in parts.
const FEW: usize = 6;

/// Powers of two that [`place`] tells apart, filled up to a round number.
const OCTAVES: usize = 64;

/// Bytes of the counts of one power of two.
pub(crate) const PAGE_BYTES: usize = PARTS * size_of::<u32>();

/// Counts of values other than zero. See the module.
#[derive(Debug, Default, Clone)]
pub(crate) struct Histogram {
    few: Vec<u64>,
    pages: Option<Box<Pages>>,
    /// There was no room for a page: quantiles are not known.
    given_up: bool,
}

/// Counts by power of two. Which page is whose stands in a table: counting bits would be slower on processors that are
/// not known to have an instruction for it.
#[derive(Debug, Clone)]
struct Pages {
    /// By power of two the place of its page, and one more: zero is none.
    places: [u8; OCTAVES],
    pages: Vec<[u32; PARTS]>,
}

impl Histogram {
    /// Counts a value; takes bytes for it from `room`.
    pub(crate) fn record(&mut self, value: u64, room: &mut usize) {
        if let Some(pages) = &mut self.pages
            && pages.count(value, 1)
        {
            return;
        }
        self.record_new(value, room);
    }

    /// Counts one of the first values, or the first one in a power of two.
    fn record_new(&mut self, value: u64, room: &mut usize) {
        if self.pages.is_none() && !self.given_up && self.few.len() < FEW {
            if self.few.is_empty() {
                self.few.reserve_exact(FEW);
                *room = room.saturating_sub(FEW * size_of::<u64>());
            }
            self.few.push(value);
            return;
        }
        self.count(value, 1, room);
    }

    /// Counts a value in its part, and the first values in theirs.
    fn count(&mut self, value: u64, count: u32, room: &mut usize) {
        for value in std::mem::take(&mut self.few) {
            self.count_in_part(value, 1, room);
        }
        self.count_in_part(value, count, room);
    }

    fn count_in_part(&mut self, value: u64, count: u32, room: &mut usize) {
        let pages = self.pages.as_mut();
        let bytes = pages.as_ref().map_or(size_of::<Pages>(), |_| 0) + PAGE_BYTES;
        if pages.is_some_and(|pages| pages.count(value, count)) {
            return;
        }
        if self.given_up || *room < bytes {
            self.give_up(room);
            return;
        }
        *room -= bytes;
        let pages = self.pages.get_or_insert_default();
        pages.add_page(value);
        pages.count(value, count);
    }

    fn give_up(&mut self, room: &mut usize) {
        *room += self.pages_bytes();
        *self = Self {
            given_up: true,
            ..Self::default()
        };
    }

    /// Adds the values of another, whose bytes are of another account.
    pub(crate) fn merge(&mut self, other: Self, room: &mut usize) {
        if other.given_up {
            self.give_up(room);
            return;
        }
        for value in other.few {
            self.record(value, room);
        }
        for (start, _, count) in other.pages.iter().flat_map(|pages| pages.parts()) {
            self.count(start, count, room);
        }
    }

    /// The values at these shares of `zeros` zeros and all others, shares rising: the smallest value that so many
    /// of the values do not exceed.
    pub(crate) fn quantiles<const N: usize>(
        &self,
        zeros: u64,
        shares: [f64; N],
    ) -> Option<[f64; N]> {
        if self.given_up {
            return None;
        }
        let mut counted: Vec<(f64, u64)> =
            self.few.iter().map(|value| (*value as f64, 1)).collect();
        counted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let parts = self.pages.iter().flat_map(|pages| pages.parts());
        counted.extend(parts.map(|(_, middle, count)| (middle, u64::from(count))));
        let total = zeros + counted.iter().map(|(_, count)| count).sum::<u64>();
        Some(shares.map(|share| {
            let rank = ((share * total as f64).ceil() as u64).max(1);
            let mut below = zeros;
            if below >= rank {
                return 0.0;
            }
            let found = counted.iter().find(|(_, count)| {
                below += count;
                below >= rank
            });
            found.map_or(0.0, |(value, _)| *value)
        }))
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.pages_bytes() + self.few.capacity() * size_of::<u64>()
    }

    fn pages_bytes(&self) -> usize {
        let pages = self.pages.as_ref();
        pages.map_or(0, |pages| {
            size_of::<Pages>() + pages.pages.len() * PAGE_BYTES
        })
    }
}

impl Default for Pages {
    fn default() -> Self {
        Self {
            places: [0; OCTAVES],
            pages: Vec::new(),
        }
    }
}

impl Pages {
    /// Counts a value, when its power of two has a page.
    fn count(&mut self, value: u64, count: u32) -> bool {
        let (octave, part) = place(value);
        let place = usize::from(self.places[octave % OCTAVES]);
        let page = self.pages.get_mut(place.wrapping_sub(1));
        let Some(cell) = page.and_then(|page| page.get_mut(part)) else {
            return false;
        };
        *cell = cell.saturating_add(count);
        true
    }

    /// Makes the page of a value's power of two.
    fn add_page(&mut self, value: u64) {
        let (octave, _) = place(value);
        // Rare, and room for twice as many pages would mostly stay empty.
        self.pages.reserve_exact(1);
        self.pages.push([0; PARTS]);
        self.places[octave % OCTAVES] = u8::try_from(self.pages.len()).unwrap_or(0);
    }

    /// The parts with values, rising: the smallest value of each, its middle, and how many there are.
    fn parts(&self) -> impl Iterator<Item = (u64, f64, u32)> {
        let pages = self
            .places
            .iter()
            .enumerate()
            .filter_map(|(octave, place)| {
                let page = self.pages.get(usize::from(*place).wrapping_sub(1))?;
                Some((octave, page))
            });
        pages.flat_map(|(octave, page)| {
            let filled = page.iter().enumerate().filter(|(_, count)| **count > 0);
            filled
                .map(move |(part, count)| (start_of(octave, part), middle_of(octave, part), *count))
        })
    }
}

/// The power of two (0 for all values below 128) and the part in it.
fn place(value: u64) -> (usize, usize) {
    let bits = u64::BITS - value.leading_zeros();
    let octave = bits.saturating_sub(PARTS_BITS + 1);
    // Below 64 the parts of octave 0 start at 0; octave n holds 64·2ⁿ to 128·2ⁿ, and octave 1 is 128 to 255.
    match octave {
        0 if value < PARTS as u64 => (0, value as usize),
        _ => (
            octave as usize + 1,
            (value >> octave) as usize & (PARTS - 1),
        ),
    }
}

/// The smallest value of a part.
fn start_of(octave: usize, part: usize) -> u64 {
    match octave {
        0 => part as u64,
        _ => (PARTS + part) as u64 * (1_u64 << (octave - 1)),
    }
}

fn middle_of(octave: usize, part: usize) -> f64 {
    let width = match octave {
        0 | 1 => 1.0,
        _ => (1_u64 << (octave - 1)) as f64,
    };
    start_of(octave, part) as f64 + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_its_part() {
        for value in (0..2000).chain([4095, 4096, 65_535, 1 << 40, u64::MAX - 1, u64::MAX]) {
            let (octave, part) = place(value);
            let start = start_of(octave, part);
            let error = (middle_of(octave, part) - value as f64).abs();
            assert!(start <= value, "{value} is before {start}");
            assert!(
                error <= value as f64 * QUANTILE_ERROR,
                "{value} is told as {}",
                middle_of(octave, part)
            );
        }
    }

    #[test]
    fn quantiles_of_many_values() {
        let mut room = usize::MAX / 2;
        let (mut one, mut other) = (Histogram::default(), Histogram::default());
        for value in 1..=100_000_u64 {
            let half = if value % 2 == 0 { &mut one } else { &mut other };
            half.record(value, &mut room);
        }
        one.merge(other, &mut room);
        let found = one.quantiles(0, [0.5, 0.95, 0.99]).unwrap();
        for (found, exact) in found.into_iter().zip([50_000.0, 95_000.0, 99_000.0]) {
            assert!(
                (found - exact).abs() <= exact * QUANTILE_ERROR,
                "{found} for {exact}"
            );
        }
        // Zeros are values too.
        assert_eq!(one.quantiles(100_001, [0.5]), Some([0.0]));
    }

    #[test]
    fn few_values_are_exact() {
        let mut room = 1000;
        let mut few = Histogram::default();
        for value in [1_000_003, 7, 500_009] {
            few.record(value, &mut room);
        }
        assert_eq!(
            few.quantiles(0, [0.5, 0.95]),
            Some([500_009.0, 1_000_003.0])
        );
    }

    #[test]
    fn without_room_there_are_no_quantiles() {
        let mut room = PAGE_BYTES;
        let mut narrow = Histogram::default();
        for value in 0..100 {
            narrow.record(1 << (value % 40), &mut room);
        }
        assert_eq!(narrow.quantiles(0, [0.5]), None);
    }

    #[test]
    fn what_is_given_up_gives_its_room_back() {
        let few = FEW * size_of::<u64>();
        let mut room = 10_000;
        let mut wide = Histogram::default();
        for value in 0..FEW as u32 + 1 {
            wide.record(1 << value, &mut room);
        }
        let pages = wide.bytes();
        assert!(pages > PAGE_BYTES);
        assert_eq!(room + few + pages, 10_000);
        for value in 0..60 {
            wide.record(1 << value, &mut room);
        }
        assert_eq!(wide.quantiles(0, [0.5]), None);
        assert_eq!(room + few, 10_000);
    }
}
