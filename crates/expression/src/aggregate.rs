//! The functions of one signal: a row for each, which parser, diagnosis, comparison and documents take from here.

/// A function of one signal, or of all signals that match a pattern: how the values of a window become one number.
#[derive(Debug)]
pub struct Aggregate {
    /// Its name in expressions.
    pub name: &'static str,
    /// What it is computed from.
    pub of: Of,
    /// What its number is called, where `{}` is the signal; empty where only the expression says it.
    pub words: &'static str,
    /// What it is.
    pub says: &'static str,
}

/// What a number is computed from.
#[derive(Debug)]
pub enum Of {
    /// Growth a second of a counter; of several signals the sum, as of the next ones.
    Rate,
    /// Growth of a counter in all.
    Delta,
    /// Mean of the readings.
    Mean,
    /// Largest reading.
    Max,
    /// Smallest reading.
    Min,
    /// Latest reading.
    Last,
    /// All readings of all signals.
    Readings(fn(Vec<f64>) -> Option<f64>),
    /// All readings of all signals, and the value behind the signal's name.
    ReadingsAndValue(fn(Vec<f64>, f64) -> Option<f64>),
}

/// What a name alone is in a trigger.
pub(crate) const LAST: Aggregate = aggregate("last", Of::Last, "{}", "latest reading");

/// Every function of one signal.
#[rustfmt::skip]
pub static AGGREGATES: &[Aggregate] = &[
    aggregate("rate", Of::Rate, "{} a second", "growth of a counter a second; a restart counts from zero"),
    aggregate("delta", Of::Delta, "growth of {}", "growth of a counter in all"),
    aggregate("mean", Of::Mean, "{}", "mean of a level"),
    aggregate("max", Of::Max, "largest {}", "largest reading"),
    aggregate("min", Of::Min, "smallest {}", "smallest reading"),
    LAST,
    aggregate("p95", Of::Readings(p95), "95 % of {}", "what 95 % of the readings do not exceed"),
    aggregate("share", Of::ReadingsAndValue(share), "", "share of readings that are exactly this value, for [codes](frame-format.md#probe-outcomes)"),
];

const fn aggregate(
    name: &'static str,
    of: Of,
    words: &'static str,
    says: &'static str,
) -> Aggregate {
    Aggregate {
        name,
        of,
        words,
        says,
    }
}

impl PartialEq for Aggregate {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The nearest rank: of 20 readings the 19th.
fn p95(mut readings: Vec<f64>) -> Option<f64> {
    readings.sort_unstable_by(f64::total_cmp);
    let rank = (readings.len() * 95).div_ceil(100);
    readings.get(rank.saturating_sub(1)).copied()
}

fn share(readings: Vec<f64>, wanted: f64) -> Option<f64> {
    let equal = readings.iter().filter(|value| **value == wanted).count();
    (!readings.is_empty()).then(|| equal as f64 / readings.len() as f64)
}
