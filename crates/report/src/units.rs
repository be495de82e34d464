//! Numbers as people read them: three significant digits and the unit that fits.

use model::{Series, SignalKind, Unit, matches_pattern};

use crate::time_format;

/// Clock ticks a second of the kernel's USER_HZ (`include/asm-generic/param.h`).
const TICKS_PER_SECOND: f64 = 100.0;

/// Numbers of things below this keep all their digits.
const WHOLE_COUNT_MAX: f64 = 99_999.5;

/// What a shown number counts, after its raw unit was brought to a base unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Things.
    Count,
    /// Things a second.
    PerSecond,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Pages.
    Pages,
    /// Pages a second.
    PagesPerSecond,
    /// Seconds.
    Seconds,
    /// Seconds of something within each second of time.
    SecondsPerSecond,
    /// CPU time within each second of time.
    Cores,
    /// A share of 1.
    Share,
    /// A code.
    Code,
}

/// A unit to print numbers in: the number divided by `factor`, followed by `suffix`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    /// Base units in one shown unit.
    pub(crate) factor: f64,
    /// What follows the number, a blank included where there is one.
    pub(crate) suffix: &'static str,
}

impl Scale {
    /// The suffix on an axis, where room is short and the legend says what is counted.
    pub(crate) fn short_suffix(self) -> &'static str {
        match self.suffix {
            " pages" | " cores" => "",
            "k pages" => "k",
            "M pages" => "M",
            " pages/s" => "/s",
            "k pages/s" => "k/s",
            "M pages/s" => "M/s",
            suffix => suffix,
        }
    }
}

const fn scale(factor: f64, suffix: &'static str) -> Scale {
    Scale { factor, suffix }
}

const COUNT: [Scale; 5] = [
    scale(1.0, ""),
    scale(1e3, "k"),
    scale(1e6, "M"),
    scale(1e9, "G"),
    scale(1e12, "T"),
];
const PER_SECOND: [Scale; 5] = [
    scale(1.0, "/s"),
    scale(1e3, "k/s"),
    scale(1e6, "M/s"),
    scale(1e9, "G/s"),
    scale(1e12, "T/s"),
];
const PAGES: [Scale; 3] = [
    scale(1.0, " pages"),
    scale(1e3, "k pages"),
    scale(1e6, "M pages"),
];
const PAGES_PER_SECOND: [Scale; 3] = [
    scale(1.0, " pages/s"),
    scale(1e3, "k pages/s"),
    scale(1e6, "M pages/s"),
];
const KIB: f64 = 1024.0;
const BYTES: [Scale; 5] = [
    scale(1.0, " B"),
    scale(KIB, " KiB"),
    scale(KIB * KIB, " MiB"),
    scale(KIB * KIB * KIB, " GiB"),
    scale(KIB * KIB * KIB * KIB, " TiB"),
];
const BYTES_PER_SECOND: [Scale; 4] = [
    scale(1.0, " B/s"),
    scale(KIB, " KiB/s"),
    scale(KIB * KIB, " MiB/s"),
    scale(KIB * KIB * KIB, " GiB/s"),
];
const SECONDS: [Scale; 4] = [
    scale(1e-9, " ns"),
    scale(1e-6, " µs"),
    scale(1e-3, " ms"),
    scale(1.0, " s"),
];
/// Units of an axis that is long. A time alone is said in two of them: nobody counts in hundredths of a minute.
const LONG_SECONDS: [(f64, Scale); 2] = [
    (MINUTES_FROM, scale(60.0, " min")),
    (7200.0, scale(3600.0, " h")),
];

/// From so many seconds on a time is said in minutes and seconds.
const MINUTES_FROM: f64 = 120.0;

/// Counters of time whose growth within a second has a better name.
const BY_NAME: [(&str, Quantity); 4] = [
    ("psi.*", Quantity::Share),
    ("disk.*.busy_ms", Quantity::Share),
    ("threads.by_name.*.run_ns", Quantity::Cores),
    ("threads.by_name.*.wait_ns", Quantity::Count),
];

impl Quantity {
    /// What is shown for a series: counters as rates, gauges as they are.
    pub(crate) fn for_series(series: &Series) -> Self {
        let names_it = |(pattern, _): &&(&str, Self)| matches_pattern(pattern, &series.name);
        if let Some((_, quantity)) = BY_NAME.iter().find(names_it)
            && series.kind == SignalKind::Counter
        {
            return *quantity;
        }
        match (series.kind, series.unit) {
            (SignalKind::Counter, Unit::Count) => Self::PerSecond,
            (SignalKind::Counter, Unit::Bytes) => Self::BytesPerSecond,
            (SignalKind::Counter, Unit::Pages) => Self::PagesPerSecond,
            (SignalKind::Counter, Unit::Ticks) => Self::Cores,
            (
                SignalKind::Counter,
                Unit::Nanoseconds | Unit::Microseconds | Unit::Milliseconds | Unit::Seconds,
            ) => Self::SecondsPerSecond,
            (SignalKind::Gauge, Unit::Bytes) => Self::Bytes,
            (SignalKind::Gauge, Unit::Pages) => Self::Pages,
            (SignalKind::Gauge, Unit::Count) => Self::Count,
            (
                SignalKind::Gauge,
                Unit::Nanoseconds
                | Unit::Microseconds
                | Unit::Milliseconds
                | Unit::Seconds
                | Unit::Ticks,
            ) => Self::Seconds,
            (_, Unit::Share) => Self::Share,
            (_, Unit::Code) => Self::Code,
        }
    }

    /// The unit in which a number of this size reads best.
    pub(crate) fn scale_for(self, magnitude: f64) -> Scale {
        match self {
            Self::Count => largest(&COUNT, magnitude),
            Self::PerSecond => largest(&PER_SECOND, magnitude),
            Self::Bytes => largest(&BYTES, magnitude),
            Self::BytesPerSecond => largest(&BYTES_PER_SECOND, magnitude),
            Self::Pages => largest(&PAGES, magnitude),
            Self::PagesPerSecond => largest(&PAGES_PER_SECOND, magnitude),
            Self::Seconds => LONG_SECONDS
                .iter()
                .rev()
                .find(|(from, _)| magnitude.abs() >= *from)
                .map_or_else(|| largest(&SECONDS, magnitude), |(_, scale)| *scale),
            Self::SecondsPerSecond => scale(1.0, " s/s"),
            Self::Cores => scale(1.0, " cores"),
            Self::Share => scale(0.01, "%"),
            Self::Code => scale(1.0, ""),
        }
    }

    /// What is counted, where the number alone does not say it.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Pages | Self::PagesPerSecond => "pages",
            Self::Cores => "cores",
            _ => "",
        }
    }

    /// A number with its unit: `48.1k/s`, `3.2 ms`, `2 min 43 s`, `83%`, `2.5 cores`.
    pub(crate) fn to_text(self, value: f64) -> String {
        self.said(value, |scale| scale.suffix)
    }

    /// As [`Quantity::to_text`] where the noun stands elsewhere.
    pub(crate) fn to_short_text(self, value: f64) -> String {
        self.said(value, Scale::short_suffix)
    }

    fn said(self, value: f64, suffix: impl Fn(Scale) -> &'static str) -> String {
        if !value.is_finite() {
            return "–".to_owned();
        }
        if value == 0.0 && self == Self::Seconds {
            return "0 s".to_owned();
        }
        if self == Self::Seconds && value.abs() >= MINUTES_FROM {
            let sign = if value < 0.0 { "-" } else { "" };
            let words = time_format::duration((value.abs() * 1000.0).round() as u64);
            return format!("{sign}{words}");
        }
        if self == Self::Count && value.abs() < WHOLE_COUNT_MAX {
            return bare(value);
        }
        let scale = self.scale_for(value);
        format!("{}{}", digits(value / scale.factor), suffix(scale))
    }
}

/// Base units in one raw unit of a series: seconds in a microsecond, cores in a tick a second.
pub(crate) fn to_base(unit: Unit) -> f64 {
    match unit {
        Unit::Nanoseconds => 1e-9,
        Unit::Microseconds => 1e-6,
        Unit::Milliseconds => 1e-3,
        Unit::Ticks => 1.0 / TICKS_PER_SECOND,
        Unit::Count | Unit::Bytes | Unit::Pages | Unit::Seconds | Unit::Share | Unit::Code => 1.0,
    }
}

fn largest(scales: &[Scale], magnitude: f64) -> Scale {
    scales
        .iter()
        .rev()
        .find(|scale| magnitude.abs() >= scale.factor)
        .or(scales.first())
        .copied()
        .unwrap_or(scale(1.0, ""))
}

/// Three significant digits, no trailing zeros.
pub(crate) fn digits(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    match text {
        "" | "0" | "-0" if size > 0.0 => if value < 0.0 { ">-0.001" } else { "<0.001" }.to_owned(),
        "-0" => "0".to_owned(),
        _ => text.to_owned(),
    }
}

/// A number without a unit, as a witness carries it: `1,250`, `0.83`, `5.6M`.
pub(crate) fn bare(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() || size >= 999_999.5 {
        return Quantity::Count.to_text(value);
    }
    if size < 99.95 {
        return digits(value);
    }
    grouped(value.round() as i64)
}

/// An average as people say it: three significant digits, thousands apart: `15,600`, `0.83`, `5.6M`. What was counted one
/// by one keeps its digits.
pub(crate) fn rounded(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return bare(value);
    }
    let mut step = 1.0;
    while size / step >= 999.5 {
        step *= 10.0;
    }
    match step > 1.0 {
        true => bare((value / step).round() * step),
        false => bare(value),
    }
}

/// A whole number with its thousands apart: `12,345`.
pub(crate) fn grouped(value: impl TryInto<i64>) -> String {
    let value = value.try_into().unwrap_or(i64::MAX);
    let plain = value.unsigned_abs().to_string();
    let mut out = if value < 0 {
        String::from("-")
    } else {
        String::new()
    };
    for (index, digit) in plain.chars().enumerate() {
        if index > 0 && (plain.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `thread`, `threads`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    match count {
        1 => noun.to_owned(),
        _ => format!("{noun}s"),
    }
}

/// `1 thread`, `57 threads`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{} {}", grouped(count), plural(count, noun))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        for (quantity, value, words) in [
            (Quantity::PerSecond, 48_123.0, "48.1k/s"),
            (Quantity::PerSecond, 0.0, "0/s"),
            (Quantity::Count, 999.0, "999"),
            (Quantity::Count, 0.0001, "<0.001"),
            (Quantity::Seconds, 0.000_312, "312 µs"),
            (Quantity::Seconds, 0.0, "0 s"),
            (Quantity::Seconds, 30.0, "30 s"),
            (Quantity::Seconds, 119.0, "119 s"),
            (Quantity::Seconds, 163.2, "2 min 43 s"),
            (Quantity::Seconds, -163.2, "-2 min 43 s"),
            (Quantity::Seconds, 600.0, "10 min"),
            (Quantity::Seconds, 6_075.0, "1 h 41 min"),
            (Quantity::Bytes, 1.5 * 1024.0 * 1024.0, "1.5 MiB"),
            (Quantity::Share, 0.834, "83.4%"),
            (Quantity::Cores, 25.6, "25.6 cores"),
            (Quantity::Count, f64::NAN, "–"),
            (Quantity::Count, -1500.0, "-1,500"),
            (Quantity::Count, 123_456.0, "123k"),
        ] {
            assert_eq!(quantity.to_text(value), words);
        }
    }

    #[test]
    fn averages_have_three_digits() {
        for (value, words) in [
            (0.834, "0.834"),
            (409.3, "409"),
            (999.4, "999"),
            (999.6, "1,000"),
            (4_805.3, "4,810"),
            (15_624.0, "15,600"),
            (-48_112.4, "-48,100"),
            (999_960.0, "1M"),
            (5.64e6, "5.64M"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(rounded(value), words);
        }
    }

    #[test]
    fn bare_numbers_keep_their_digits() {
        for (value, words) in [
            (0.834, "0.834"),
            (1_000.0, "1,000"),
            (48_112.4, "48,112"),
            (5.6e6, "5.6M"),
            (-1234.0, "-1,234"),
        ] {
            assert_eq!(bare(value), words);
        }
        assert_eq!(grouped(i64::MIN), "-9,223,372,036,854,775,808");
    }
}
