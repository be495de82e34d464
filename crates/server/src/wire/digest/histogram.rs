//! Times of a class: exact sums, quantiles with a stated error.

use model::QueryMeasure;

/// Parts of each power of two.
const PARTS: u32 = 32;
const PARTS_BITS: u32 = 5;

/// A quantile is told as the middle of its part.
const QUANTILE_ERROR: f64 = 0.5 / PARTS as f64;

/// The parts of one power of two.
#[derive(Debug, Clone)]
struct Page {
    octave: u16,
    counts: Box<[u64; PARTS as usize]>,
}

/// Numbers from 0 up, counted in parts that grow with them. At most some 1,900 parts; a class has those of few powers of
/// two.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    /// By their power of two.
    pages: Vec<Page>,
    /// Where the latest number went: the next one is mostly near.
    latest: usize,
    count: u64,
    sum: f64,
    squares: f64,
    min: u64,
    max: u64,
}

/// Lower ends of pt-query-digest's columns but the first, microseconds.
const DECADES: [u64; 7] = [10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

impl Histogram {
    pub(super) fn record(&mut self, value: u64) {
        let part = part_of(value);
        let (octave, within) = (part / PARTS as u16, part % PARTS as u16);
        if self
            .pages
            .get(self.latest)
            .is_none_or(|page| page.octave != octave)
        {
            self.latest = self.page_of(octave);
        }
        if let Some(page) = self.pages.get_mut(self.latest)
            && let Some(count) = page.counts.get_mut(usize::from(within))
        {
            *count += 1;
        }
        self.min = if self.count == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.max = self.max.max(value);
        self.count += 1;
        self.sum += value as f64;
        self.squares += (value as f64).powi(2);
    }

    fn page_of(&mut self, octave: u16) -> usize {
        match self.pages.binary_search_by_key(&octave, |page| page.octave) {
            Ok(at) => at,
            Err(at) => {
                let counts = Box::new([0; PARTS as usize]);
                self.pages.insert(at, Page { octave, counts });
                at
            }
        }
    }

    /// Parts with numbers in them and how many, from the smallest on.
    fn parts(&self) -> impl Iterator<Item = (u16, u64)> {
        self.pages.iter().flat_map(|page| {
            let first = page.octave * PARTS as u16;
            (first..)
                .zip(page.counts.iter().copied())
                .filter(|(_, count)| *count > 0)
        })
    }

    pub(super) fn sum(&self) -> f64 {
        self.sum
    }

    fn quantile(&self, share: f64) -> f64 {
        let wanted = ((self.count as f64) * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (part, count) in self.parts() {
            seen += count;
            if seen >= wanted {
                return middle_of(part).clamp(self.min as f64, self.max as f64);
            }
        }
        self.max as f64
    }

    /// As a measure whose unit is `unit` of the recorded ones.
    pub(super) fn measure(&self, name: &str, unit: f64) -> Option<QueryMeasure> {
        if self.count == 0 {
            return None;
        }
        let count = self.count as f64;
        let variance = (self.squares / count - (self.sum / count).powi(2)).max(0.0);
        Some(QueryMeasure {
            name: name.to_owned(),
            count: self.count,
            sum: self.sum * unit,
            min: Some(self.min as f64 * unit),
            max: Some(self.max as f64 * unit),
            median: Some(self.quantile(0.5) * unit),
            p95: Some(self.quantile(0.95) * unit),
            p99: Some(self.quantile(0.99) * unit),
            stddev: Some(variance.sqrt() * unit),
            quantile_error: Some(QUANTILE_ERROR),
            decades: Vec::new(),
        })
    }

    /// pt-query-digest's histogram of recorded microseconds; at a limit between two columns it is as exact as the parts.
    pub(super) fn decades(&self) -> Vec<u64> {
        let mut columns = vec![0; DECADES.len() + 1];
        for (part, count) in self.parts() {
            let middle = middle_of(part);
            let index = DECADES
                .iter()
                .take_while(|limit| middle >= **limit as f64)
                .count();
            if let Some(column) = columns.get_mut(index) {
                *column += count;
            }
        }
        columns
    }
}

/// Values below [`PARTS`] have a part each.
fn part_of(value: u64) -> u16 {
    if value < u64::from(PARTS) {
        return value as u16;
    }
    let octave = value.ilog2() - PARTS_BITS;
    let within = (value >> octave) as u32 - PARTS;
    ((octave + 1) * PARTS + within) as u16
}

fn middle_of(part: u16) -> f64 {
    let part = u32::from(part);
    if part < PARTS {
        return part.into();
    }
    let octave = part / PARTS - 1;
    let within = part % PARTS;
    let width = 2_f64.powi(octave as i32);
    f64::from(PARTS + within) * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_their_error() {
        let mut histogram = Histogram::default();
        let mut values = Vec::new();
        let mut value = 3_u64;
        for _ in 0..20_000 {
            value = value
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let one = (value >> 33) % 5_000_000;
            values.push(one);
            histogram.record(one);
        }
        values.sort_unstable();
        let measure = histogram.measure("Query_time", 1.0).unwrap();
        for (told, share) in [
            (measure.median, 0.5),
            (measure.p95, 0.95),
            (measure.p99, 0.99),
        ] {
            let exact = values[(20_000.0 * share) as usize - 1] as f64;
            let error = (told.unwrap() - exact).abs() / exact;
            assert!(error <= QUANTILE_ERROR, "{share}: {told:?} for {exact}");
        }
        assert_eq!(measure.min, Some(values[0] as f64));
        assert_eq!(measure.max, Some(values[19_999] as f64));
        assert_eq!(measure.sum, values.iter().sum::<u64>() as f64);
        assert_eq!(histogram.decades().iter().sum::<u64>(), 20_000);
    }

    #[test]
    fn every_value_is_in_its_part() {
        for value in (0..5_000).chain([u64::from(u32::MAX), u64::MAX / 3, u64::MAX]) {
            let middle = middle_of(part_of(value));
            let error = (middle - value as f64).abs();
            assert!(error <= value as f64 * QUANTILE_ERROR, "{value}: {middle}");
        }
    }

    #[test]
    fn columns_of_ten() {
        let mut histogram = Histogram::default();
        for value in [0, 5, 50, 500, 5_000, 50_000, 500_000, 5_000_000, 50_000_000] {
            histogram.record(value);
        }
        assert_eq!(histogram.decades(), [2, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(Histogram::default().measure("x", 1.0), None);
    }
}
