//! Numbers and moments as the reports write them, for other views of an incident.

use model::{Clock, Millis, Series};

use crate::units::{Quantity, to_base};
use crate::when;

/// A value of a series with its unit: of a counter its growth a second, as it is recorded.
pub fn value(series: &Series, recorded: f64) -> String {
    Quantity::of(series).say(recorded * to_base(series.unit))
}

/// A number of things: `12,345`, `123k`.
pub fn count(value: f64) -> String {
    Quantity::Count.say(value)
}

/// A number of things a second.
pub fn per_second(value: f64) -> String {
    Quantity::PerSecond.say(value)
}

/// A share of 1 in percent.
pub fn share(value: f64) -> String {
    Quantity::Share.say(value)
}

/// Seconds in the unit that fits.
pub fn seconds(value: f64) -> String {
    Quantity::Seconds.say(value)
}

/// Bytes in the unit that fits.
pub fn bytes(value: f64) -> String {
    Quantity::Bytes.say(value)
}

/// How long: `4.2 s`, `1 min 15 s`.
pub fn duration(ms: Millis) -> String {
    when::duration(ms)
}

/// A moment of an incident: `03:12:05`, UTC, or `+12 s` where no time of day is known.
pub fn moment(clock: &Clock, at: Millis) -> String {
    when::moment(clock, at)
}
