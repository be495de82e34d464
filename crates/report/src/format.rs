//! Numbers and moments as the reports write them, for other views of an incident.

use model::{Clock, Millis, Series};

use crate::time_format;
use crate::units::{Quantity, to_base};

/// A value of a series with its unit: of a counter its growth a second, as it is recorded.
pub fn value(series: &Series, recorded: f64) -> String {
    Quantity::for_series(series).to_text(recorded * to_base(series.unit))
}

/// A number of things: `12,345`, `123k`.
pub fn count(value: f64) -> String {
    Quantity::Count.to_text(value)
}

/// A number of things a second.
pub fn per_second(value: f64) -> String {
    Quantity::PerSecond.to_text(value)
}

/// A share of 1 in percent.
pub fn share(value: f64) -> String {
    Quantity::Share.to_text(value)
}

/// Seconds in the unit that fits.
pub fn seconds(value: f64) -> String {
    Quantity::Seconds.to_text(value)
}

/// Bytes in the unit that fits.
pub fn bytes(value: f64) -> String {
    Quantity::Bytes.to_text(value)
}

/// How long: `4.2 s`, `1 min 15 s`.
pub fn duration(ms: Millis) -> String {
    time_format::duration(ms)
}

/// A moment of an incident: `03:12:05`, UTC, or `+12 s` where no time of day is known.
pub fn time_text(clock: &Clock, at: Millis) -> String {
    time_format::time_text(clock, at)
}
