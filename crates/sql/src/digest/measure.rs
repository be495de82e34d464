//! A number that each statement of a class has.

use model::QueryMeasure;

use super::histogram::{Histogram, QUANTILE_ERROR};

/// Microseconds in a second.
pub(crate) const SECOND_US: f64 = 1e6;

/// How the numbers of a name are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// As they are.
    Whole,
    /// The log has seconds; microseconds are kept.
    Seconds,
    /// The log has milliseconds; nanoseconds are kept.
    Milliseconds,
    /// `Yes` is 1 and `No` is 0.
    YesNo,
}

impl Unit {
    /// Of a name of the log. What ends like this is in seconds in every server, but for what MariaDB's storage engines
    /// tell.
    pub(crate) fn of(name: &[u8], value: &[u8]) -> Self {
        if value == b"Yes" || value == b"No" {
            Self::YesNo
        } else if matches!(name, b"Engine_time" | b"Pages_read_time") {
            Self::Milliseconds
        } else if name.ends_with(b"_time") || name.ends_with(b"_wait") {
            Self::Seconds
        } else {
            Self::Whole
        }
    }

    /// The number in a value; `None` when there is none of this unit.
    pub(crate) fn read(self, value: &[u8]) -> Option<u64> {
        match self {
            Self::YesNo => match value {
                b"Yes" => Some(1),
                b"No" => Some(0),
                _ => None,
            },
            Self::Whole => decimal(value, 0),
            Self::Seconds | Self::Milliseconds => decimal(value, 6),
        }
    }

    /// A kept number as the log's; times are in seconds.
    fn summary(self, kept: f64) -> f64 {
        match self {
            Self::Seconds => kept / SECOND_US,
            Self::Milliseconds => kept / SECOND_US / 1000.0,
            Self::Whole | Self::YesNo => kept,
        }
    }
}

/// A number with so many digits after its point, more being cut off: `0.000134` with six of them is 134.
fn decimal(text: &[u8], places: u32) -> Option<u64> {
    let plain = match text {
        [digit @ b'0'..=b'9'] if places == 0 => Some(u64::from(digit - b'0')),
        // Seconds and microseconds, as all servers write them since 5.1.
        [whole @ .., b'.', _, _, _, _, _, _] if places == 6 && (1..=9).contains(&whole.len()) => {
            let part = text.last_chunk().and_then(six_digits);
            short(whole)
                .zip(part)
                .map(|(whole, part)| whole * 1_000_000 + part)
        }
        _ if places == 0 && text.len() <= 18 => short(text),
        _ => None,
    };
    plain.or_else(|| any_decimal(text, places))
}

/// The number of the last six of eight bytes, all at once: neighbours become pairs, pairs fours, fours the number.
fn six_digits(text: &[u8; 8]) -> Option<u64> {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    let digits = (u64::from_le_bytes(*text) & !0xffff) ^ (ZEROS & !0xffff);
    // What is more than 9 carries into the high bit, or has it already.
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    let number = (fours * 10_000).wrapping_add(fours >> 32) & 0xffff_ffff;
    (others == 0).then_some(number)
}

/// The number of up to 18 digits.
fn short(text: &[u8]) -> Option<u64> {
    let mut number = 0;
    let mut others = text.is_empty();
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        others |= digit > 9;
        // What is no digit may carry over the end; the number is thrown away then.
        number = u64::wrapping_add(u64::wrapping_mul(number, 10), u64::from(digit));
    }
    (!others).then_some(number)
}

fn any_decimal(text: &[u8], places: u32) -> Option<u64> {
    let mut number = 0_u64;
    let mut left = None;
    let mut digits = 0;
    for byte in text {
        match byte {
            b'0'..=b'9' => {
                digits += 1;
                match &mut left {
                    Some(0) => continue,
                    Some(left) => *left -= 1,
                    None => {}
                }
                number = number
                    .saturating_mul(10)
                    .saturating_add(u64::from(byte - b'0'));
            }
            b'.' if left.is_none() => left = Some(places),
            _ => return None,
        }
    }
    let missing = left.unwrap_or(places);
    (digits > 0).then(|| number.saturating_mul(10_u64.saturating_pow(missing)))
}

/// The numbers of one name in one class. Most names of most classes are always zero, which takes no room.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measure {
    count: u64,
    rest: Option<Box<NonZero>>,
}

/// The values that are not zero.
#[derive(Debug, Clone, Default)]
struct NonZero {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
    squares: f64,
    histogram: Histogram,
}

impl Measure {
    pub(crate) fn record(&mut self, value: u64, room: &mut usize) {
        self.count += 1;
        if value == 0 {
            return;
        }
        let rest = self.rest.get_or_insert_with(|| {
            *room = room.saturating_sub(size_of::<NonZero>());
            Box::new(NonZero {
                min: u64::MAX,
                ..NonZero::default()
            })
        });
        rest.count += 1;
        rest.sum = rest.sum.saturating_add(value);
        rest.min = rest.min.min(value);
        rest.max = rest.max.max(value);
        rest.squares += value as f64 * value as f64;
        rest.histogram.record(value, room);
    }

    pub(crate) fn merge(&mut self, other: Self, room: &mut usize) {
        self.count += other.count;
        let Some(other) = other.rest else {
            return;
        };
        let Some(rest) = &mut self.rest else {
            *room = room.saturating_sub(size_of::<NonZero>() + other.histogram.bytes());
            self.rest = Some(other);
            return;
        };
        rest.count += other.count;
        rest.sum = rest.sum.saturating_add(other.sum);
        rest.min = rest.min.min(other.min);
        rest.max = rest.max.max(other.max);
        rest.squares += other.squares;
        rest.histogram.merge(other.histogram, room);
    }

    /// The sum, in the kept unit.
    pub(crate) fn sum(&self) -> u64 {
        self.rest.as_ref().map_or(0, |rest| rest.sum)
    }

    pub(crate) fn max(&self) -> u64 {
        self.rest.as_ref().map_or(0, |rest| rest.max)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// For people and programs.
    pub(crate) fn summarise(&self, name: &str, unit: Unit) -> QueryMeasure {
        let zeros = self.count - self.rest.as_ref().map_or(0, |rest| rest.count);
        let empty = NonZero::default();
        let rest = self.rest.as_deref().unwrap_or(&empty);
        let min = if zeros > 0 { 0 } else { rest.min };
        let quantiles = rest
            .histogram
            .quantiles(zeros, [0.5, 0.95, 0.99])
            .map(|found| {
                // The middle of a part may lie beyond the values in it.
                found.map(|value| unit.summary(value.clamp(min as f64, rest.max as f64)))
            });
        let [median, p95, p99] = match quantiles {
            Some(found) => found.map(Some),
            None => [None; 3],
        };
        let count = self.count as f64;
        let variance = match self.count {
            0 | 1 => 0.0,
            _ => ((rest.squares - rest.sum as f64 * (rest.sum as f64 / count)) / (count - 1.0))
                .max(0.0),
        };
        QueryMeasure {
            name: name.to_owned(),
            count: self.count,
            sum: unit.summary(rest.sum as f64),
            min: Some(unit.summary(min as f64)),
            max: Some(unit.summary(rest.max as f64)),
            median,
            p95,
            p99,
            stddev: Some(unit.summary(variance.sqrt())),
            quantile_error: quantiles.map(|_| QUANTILE_ERROR),
            decades: Vec::new(),
        }
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.rest
            .as_ref()
            .map_or(0, |rest| size_of::<NonZero>() + rest.histogram.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_generation() {
        for (name, value, read) in [
            ("Query_time", "2", Some(2_000_000)),
            ("Query_time", "0.000134", Some(134)),
            ("Query_time", "10.5", Some(10_500_000)),
            ("Query_time", "0.0001349", Some(134)),
            (
                "Query_time",
                "18446744073709.55",
                Some(18_446_744_073_709_550_000),
            ),
            ("Query_time", "-1", None),
            ("Query_time", "1.2.3", None),
            ("Query_time", ".", None),
            ("Rows_sent", "5", Some(5)),
            ("Rows_sent", "18446744073709551615", Some(u64::MAX)),
            ("Rows_sent", "99999999999999999999999", Some(u64::MAX)),
            ("Rows_sent", "", None),
            // Eighteen of what is furthest from a digit.
            ("Rows_sent", "//////////////////", None),
            // Milliseconds, as MariaDB writes them.
            ("Engine_time", "0.0169", Some(16_900)),
            ("Pages_read_time", "12.5000", Some(12_500_000)),
            ("QC_Hit", "Yes", Some(1)),
            ("Full_scan", "No", Some(0)),
        ] {
            let unit = Unit::of(name.as_bytes(), value.as_bytes());
            assert_eq!(unit.read(value.as_bytes()), read, "{name}: {value}");
        }
    }

    #[test]
    fn six_digits_at_once_are_as_one_by_one() {
        for number in (0..1_000_000_u64).step_by(997).chain([999_999]) {
            let text = format!("0.{number:06}");
            assert_eq!(decimal(text.as_bytes(), 6), Some(number));
            let bytes = text.as_bytes().last_chunk().unwrap();
            assert_eq!(six_digits(bytes), Some(number));
        }
        for byte in 0..=u8::MAX {
            for place in 2..8 {
                let mut text = *b"0.123456";
                text[place] = byte;
                assert_eq!(
                    six_digits(&text).is_some(),
                    byte.is_ascii_digit(),
                    "{text:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_told() {
        let mut room = 10_000;
        let (mut one, mut other) = (Measure::default(), Measure::default());
        for value in [0, 1_000_000, 3_000_000] {
            one.record(value, &mut room);
        }
        other.record(4_000_000, &mut room);
        one.merge(other, &mut room);
        let summary = one.summarise("Query_time", Unit::Seconds);
        assert_eq!((summary.count, summary.sum), (4, 8.0));
        assert_eq!(
            (summary.min, summary.max, summary.median),
            (Some(0.0), Some(4.0), Some(1.0))
        );
        // A statement of 0.26 ms was in the engine for 16.9 µs of it, not for 16.9 ms.
        let mut engine = Measure::default();
        engine.record(16_900, &mut room);
        let told = engine.summarise("Engine_time", Unit::Milliseconds);
        assert!((told.sum - 16.9e-6).abs() < 1e-12, "{}", told.sum);
        // Sample standard deviation of 0, 1, 3, 4.
        assert!((summary.stddev.unwrap() - 1.825_741_858).abs() < 1e-6);
    }
}
