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

/// Bytes of the counts of one power of two.
pub(crate) const PAGE_BYTES: usize = PARTS * size_of::<u32>();

/// Counts of values other than zero. See the module.
#[derive(Debug, Default, Clone)]
pub(crate) struct Histogram {
    few: Vec<u64>,
    /// Which powers of two have a page, a bit each.
    octaves: u64,
    pages: Vec<[u32; PARTS]>,
    /// There was no room for a page: quantiles are not known.
    given_up: bool,
}

impl Histogram {
    /// Counts a value; takes bytes for it from `room`.
    pub(crate) fn record(&mut self, value: u64, room: &mut usize) {
        if self.octaves == 0 {
            if self.few.len() < FEW && !self.given_up {
                if self.few.is_empty() {
                    self.few.reserve_exact(FEW);
                    *room = room.saturating_sub(FEW * size_of::<u64>());
                }
                self.few.push(value);
                return;
            }
            for value in std::mem::take(&mut self.few) {
                self.count(value, 1, room);
            }
        }
        self.count(value, 1, room);
    }

    fn count(&mut self, value: u64, count: u32, room: &mut usize) {
        let (octave, part) = place(value);
        let bit = 1_u64 << octave;
        let index = (self.octaves & (bit - 1)).count_ones() as usize;
        if self.octaves & bit == 0 {
            if self.given_up || *room < PAGE_BYTES {
                self.give_up(room);
                return;
            }
            *room -= PAGE_BYTES;
            self.octaves |= bit;
            // Rare, and room for twice as many pages would mostly stay empty.
            self.pages.reserve_exact(1);
            self.pages.insert(index, [0; PARTS]);
        }
        if let Some(cell) = self
            .pages
            .get_mut(index)
            .and_then(|page| page.get_mut(part))
        {
            *cell = cell.saturating_add(count);
        }
    }

    fn give_up(&mut self, room: &mut usize) {
        *room += self.pages.len() * PAGE_BYTES;
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
        let mut octaves = other.octaves;
        for page in other.pages {
            let octave = octaves.trailing_zeros();
            octaves &= octaves.wrapping_sub(1);
            for (part, count) in page.iter().enumerate().filter(|(_, count)| **count > 0) {
                if self.octaves == 0 {
                    for value in std::mem::take(&mut self.few) {
                        self.count(value, 1, room);
                    }
                }
                self.count(start_of(octave, part), *count, room);
            }
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
        let mut octaves = self.octaves;
        for page in &self.pages {
            let octave = octaves.trailing_zeros();
            octaves &= octaves.wrapping_sub(1);
            let filled = page.iter().enumerate().filter(|(_, count)| **count > 0);
            counted
                .extend(filled.map(|(part, count)| (middle_of(octave, part), u64::from(*count))));
        }
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
        self.pages.len() * PAGE_BYTES + self.few.capacity() * size_of::<u64>()
    }
}

/// The power of two (0 for all values below 128) and the part in it.
fn place(value: u64) -> (u32, usize) {
    let bits = u64::BITS - value.leading_zeros();
    let octave = bits.saturating_sub(PARTS_BITS + 1);
    // Below 64 the parts of octave 0 start at 0; octave n holds 64·2ⁿ to 128·2ⁿ, and octave 1 is 128 to 255.
    match octave {
        0 if value < PARTS as u64 => (0, value as usize),
        _ => (octave + 1, (value >> octave) as usize & (PARTS - 1)),
    }
}

/// The smallest value of a part.
fn start_of(octave: u32, part: usize) -> u64 {
    match octave {
        0 => part as u64,
        _ => (PARTS + part) as u64 * (1_u64 << (octave - 1)),
    }
}

fn middle_of(octave: u32, part: usize) -> f64 {
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
}
