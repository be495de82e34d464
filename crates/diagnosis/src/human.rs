//! Numbers as people read them. A number in a sentence must be right: it is rounded first, its
//! prefix is chosen after.

use serde::{Deserialize, Serialize};

/// How a number is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all(serialize = "kebab-case", deserialize = "snake_case"))]
pub enum Show {
    /// A share, 1 being 100 %.
    Percent,
    /// Events a second.
    PerSecond,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A plain number.
    #[default]
    Count,
}

/// Significant digits of a number in a sentence.
const DIGITS: i32 = 3;

/// From here on nobody reads seconds.
const LONG_SECONDS: f64 = 600.0;

/// A number with its unit, as it stands in the sentence of a sign.
pub fn show(value: f64, how: Show) -> String {
    match how {
        Show::Percent => format!("{} %", plain(round(value * 100.0))),
        Show::PerSecond => format!("{}/s", show(value, Show::Count)),
        Show::Milliseconds if round(value).abs() < 1000.0 => {
            format!("{} ms", plain(round(value)))
        }
        Show::Milliseconds => format!("{} s", plain(round(value / 1000.0))),
        Show::Seconds if value != 0.0 && round(value).abs() < 1.0 => {
            format!("{} ms", plain(round(value * 1000.0)))
        }
        Show::Seconds if round(value) >= LONG_SECONDS => long(round(value)),
        Show::Seconds => format!("{} s", plain(round(value))),
        Show::Bytes => {
            let (number, unit) = scaled(value, 1024.0, &["bytes", "KiB", "MiB", "GiB", "TiB"]);
            format!("{number} {unit}")
        }
        Show::Count => match scaled(value, 1000.0, &["", "k", "M", "G"]) {
            (number, "") => number,
            (number, prefix) => format!("{number} {prefix}"),
        },
    }
}

/// Minutes, hours and minutes, or days and hours: `20 min`, `1 h 41 min`, `3 d 4 h`.
fn long(seconds: f64) -> String {
    let minutes = (seconds / 60.0) as u64;
    let ((number, unit), (rest, of)) = match minutes {
        0..60 => return format!("{minutes} min"),
        60..2_880 => ((minutes / 60, "h"), (minutes % 60, "min")),
        _ => ((minutes / 1_440, "d"), (minutes % 1_440 / 60, "h")),
    };
    match rest {
        0 => format!("{number} {unit}"),
        _ => format!("{number} {unit} {rest} {of}"),
    }
}

/// How many times, as in "12 times".
pub(crate) fn times(factor: f64) -> String {
    match factor < 10_000.0 {
        true => format!("{} times", plain(round(factor))),
        false => format!("{} times", show(factor, Show::Count)),
    }
}

fn scaled<'a>(value: f64, base: f64, prefixes: &[&'a str]) -> (String, &'a str) {
    let mut number = round(value);
    let mut prefix = prefixes.first().copied().unwrap_or("");
    for next in prefixes.iter().skip(1) {
        if number.abs() < base {
            break;
        }
        number = round(number / base);
        prefix = next;
    }
    (plain(number), prefix)
}

/// To [`DIGITS`] significant digits, and to whole numbers from there on.
fn round(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let places = DIGITS - 1 - magnitude(value);
    if places <= 0 {
        return value.round();
    }
    let factor = 10f64.powi(places.min(12));
    (value * factor).round() / factor
}

/// The power of ten of the first digit. Not by a logarithm: its last bit is not the same with every
/// C library, and a verdict is to be the same everywhere.
fn magnitude(value: f64) -> i32 {
    let text = format!("{:e}", value.abs());
    let exponent = text
        .rsplit('e')
        .next()
        .and_then(|digits| digits.parse().ok());
    exponent.unwrap_or(0)
}

/// Without an exponent and without zeros at the end.
fn plain(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let text = format!("{number:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "0" | "-0" => "less than 0.000001".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        for (value, how, expected) in [
            (0.4321, Show::Percent, "43.2 %"),
            (0.43, Show::Percent, "43 %"),
            (0.0041, Show::Percent, "0.41 %"),
            (0.99996, Show::Percent, "100 %"),
            (12_345.0, Show::PerSecond, "12.3 k/s"),
            (999.96, Show::PerSecond, "1 k/s"),
            (999_960.0, Show::PerSecond, "1 M/s"),
            (63.0, Show::PerSecond, "63/s"),
            (0.25, Show::PerSecond, "0.25/s"),
            (0.0, Show::PerSecond, "0/s"),
            (1.2, Show::Milliseconds, "1.2 ms"),
            (0.1234, Show::Milliseconds, "0.123 ms"),
            (999.9, Show::Milliseconds, "1 s"),
            (12_340.0, Show::Milliseconds, "12.3 s"),
            (0.0421, Show::Seconds, "42.1 ms"),
            (75.0, Show::Seconds, "75 s"),
            (599.4, Show::Seconds, "599 s"),
            (599.6, Show::Seconds, "10 min"),
            (1_234.0, Show::Seconds, "20 min"),
            (6075.0, Show::Seconds, "1 h 41 min"),
            (7200.0, Show::Seconds, "2 h"),
            (172_700.0, Show::Seconds, "47 h 58 min"),
            (273_600.0, Show::Seconds, "3 d 4 h"),
            (0.0, Show::Seconds, "0 s"),
            (63.2, Show::Bytes, "63.2 bytes"),
            (1024.0 * 1.5, Show::Bytes, "1.5 KiB"),
            (3.0 * 1024.0 * 1024.0 * 1024.0, Show::Bytes, "3 GiB"),
            (4.0, Show::Count, "4"),
            (18.08, Show::Count, "18.1"),
            (1234.0, Show::Count, "1.23 k"),
            (-2.0, Show::Count, "-2"),
            (1e-9, Show::Count, "less than 0.000001"),
        ] {
            assert_eq!(show(value, how), expected, "{value} {how:?}");
        }
        for (value, expected) in [(1000.0, 3), (999.999, 2), (1e-9, -9), (0.1, -1), (-50.0, 1)] {
            assert_eq!(magnitude(value), expected, "{value}");
        }
        assert_eq!(times(11.94), "11.9 times");
        assert_eq!(times(1.3), "1.3 times");
        assert_eq!(times(1_230.4), "1230 times");
        assert_eq!(times(129_375.0), "129 k times");
    }
}
