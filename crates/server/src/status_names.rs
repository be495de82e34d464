//! The names of status variables, kept once for all servers. One process may record hundreds of them, each with the same
//! five hundred names each second; what a name says of its kind and unit is looked up in tables of forty parts.
//!
//! A server tells them in the same order each time, so a connection remembers what stood at each place ([`StatusOrder`]):
//! a name that stands there again is compared, and not looked up.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use model::{Reading, SignalKind, Unit, kind_of_status_variable};

/// Names that are kept, for as long as the process runs; servers have some hundred of their own, plug-ins bring more. A
/// server that invents others has them read anew each time.
const NAMES_MAX: usize = 4096;

/// Variables of one status that are read.
const ROWS_MAX: usize = 20_000;

/// Longest name that is kept, bytes: an identifier of the server's.
const NAME_BYTES_MAX: usize = 64;

/// Whole numbers with so many digits are exact in a float.
const EXACT_DIGITS: usize = 15;

/// What is known of a variable.
#[derive(Debug, Clone, Copy)]
struct Known {
    name: &'static str,
    signal: &'static str,
    unit: Unit,
    kind: SignalKind,
    /// Its value may be the name of a file.
    is_file: bool,
}

/// What stood at each place of a server's last status.
#[derive(Debug, Default)]
pub(crate) struct StatusOrder(Vec<Option<&'static Known>>);

/// A status variable as a signal; absent when its value is no number. Of a file it is the number that its name ends with.
pub fn status_reading(name: &str, value: &str) -> Option<Reading> {
    let value = number(is_file(name), value)?;
    // A capture has the same names a thousand times.
    let known = known(name).or_else(|| remember(name));
    let (signal, unit, kind) = match known {
        Some(known) => (known.signal.into(), known.unit, known.kind),
        None => {
            let (signal, unit, kind) = signal_of(name);
            (signal.into(), unit, kind)
        }
    };
    Some(Reading {
        name: signal,
        unit,
        kind,
        value,
    })
}

fn is_file(name: &str) -> bool {
    name.ends_with("_file")
}

/// MariaDB's `Binlog_snapshot_file` is `binlog.000086`, and each new binary log adds one.
fn number(is_file: bool, value: &str) -> Option<f64> {
    let file_number = || {
        let (_, number) = value.rsplit_once('.')?;
        let is_number = number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(number)
    };
    let digits = match is_file {
        true => file_number().unwrap_or(value),
        false => value,
    };
    digits.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Digits and nothing else, as nearly all values are, and so few that a float has the number exactly.
fn whole(digits: &[u8]) -> Option<f64> {
    if digits.is_empty() || digits.len() > EXACT_DIGITS {
        return None;
    }
    let sum = digits.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| sum * 10 + u64::from(digit))
    });
    sum.map(|sum| sum as f64)
}

/// The signal that a status variable is.
fn signal_of(name: &str) -> (String, Unit, SignalKind) {
    let signal = format!("status.{name}");
    (signal, unit_of(name), kind_of_status_variable(name))
}

fn unit_of(name: &str) -> Unit {
    if name.starts_with("Bytes_") || name.contains("_bytes") || name.starts_with("Memory_") {
        Unit::Bytes
    } else if name.contains("_pages_") {
        Unit::Pages
    } else if name.contains("_row_lock_time") {
        Unit::Milliseconds
    } else if name.starts_with("Uptime") {
        Unit::Seconds
    } else {
        Unit::Count
    }
}

static KNOWN: RwLock<Option<HashMap<&'static str, &'static Known>>> = RwLock::new(None);

fn known(name: &str) -> Option<&'static Known> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.as_ref()?.get(name).copied()
}

/// A status that is being read.
#[derive(Debug)]
pub(crate) struct Status<'a> {
    order: &'a mut StatusOrder,
    place: usize,
    readings: Vec<Reading>,
}

impl StatusOrder {
    /// The next status begins.
    pub(crate) fn begin(&mut self) -> Status<'_> {
        Status {
            place: 0,
            readings: Vec::with_capacity(self.0.len()),
            order: self,
        }
    }

    /// What is known of the name at a place. Places are asked for one after the other.
    fn at(&mut self, place: usize, name: &[u8]) -> Option<&'static Known> {
        let last = self.0.get(place).copied().flatten();
        if let Some(last) = last.filter(|last| last.name.as_bytes() == name) {
            return Some(last);
        }
        let known = std::str::from_utf8(name).ok().and_then(known);
        match self.0.get_mut(place) {
            Some(last) => *last = known,
            None => self.0.push(known),
        }
        known
    }
}

impl Status<'_> {
    /// Takes the next variable; what is no number has no reading.
    pub(crate) fn take(&mut self, name: &[u8], value: &[u8]) {
        if self.place >= ROWS_MAX {
            return;
        }
        let known = self.order.at(self.place, name);
        self.place += 1;
        let Some(known) = known else {
            let reading = status_reading(&lossy(name), &lossy(value));
            self.readings.extend(reading);
            return;
        };
        // A level that is a word now and then is a number only sometimes.
        let value = whole(value).or_else(|| number(known.is_file, &lossy(value)));
        self.readings.extend(value.map(|value| Reading {
            name: known.signal.into(),
            unit: known.unit,
            kind: known.kind,
            value,
        }));
    }

    /// The readings of all that was taken.
    pub(crate) fn readings(self) -> Vec<Reading> {
        self.readings
    }
}

fn lossy(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(text)
}

/// What is known of a name from now on; nothing where no more names are kept.
fn remember(name: &str) -> Option<&'static Known> {
    let mut all = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let all = all.get_or_insert_with(HashMap::new);
    if let Some(known) = all.get(name) {
        return Some(known);
    }
    if all.len() >= NAMES_MAX || name.len() > NAME_BYTES_MAX {
        return None;
    }
    let (signal, unit, kind) = signal_of(name);
    let signal: &'static str = signal.leak();
    let name = signal.get(signal.len() - name.len()..)?;
    let known: &'static Known = Box::leak(Box::new(Known {
        name,
        signal,
        unit,
        kind,
        is_file: is_file(name),
    }));
    all.insert(name, known);
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(order: &mut StatusOrder, variables: &[(&str, &str)]) -> Vec<Reading> {
        let mut status = order.begin();
        for (name, value) in variables {
            status.take(name.as_bytes(), value.as_bytes());
        }
        status.readings()
    }

    #[test]
    fn a_file_is_the_number_of_its_name() {
        let value = |name, value| status_reading(name, value).map(|reading| reading.value);
        assert_eq!(
            value("Binlog_snapshot_file", "mysqld-bin.000086"),
            Some(86.0)
        );
        assert_eq!(value("Binlog_snapshot_file", ""), None);
        assert_eq!(value("Some_other", "mysqld-bin.000086"), None);
    }

    #[test]
    fn a_known_name_is_read_as_a_new_one() {
        let status = [
            ("Questions", "5"),
            ("Threads_running", "2"),
            ("Ssl_cipher", "none"),
            ("Innodb_row_lock_time", "7"),
            ("Questions_odd", "inf"),
            ("Binlog_snapshot_file", "binlog.000086"),
        ];
        let mut order = StatusOrder::default();
        let first = read(&mut order, &status);
        let again = read(&mut order, &status);
        assert_eq!(first, again);
        assert_eq!(read(&mut order, &status), again, "by their places");
        let mut turned = status;
        turned.reverse();
        let turned = read(&mut order, &turned);
        assert!(turned.iter().eq(again.iter().rev()), "another order");
        let plain = status.into_iter();
        let plain: Vec<Reading> = plain
            .filter_map(|(name, value)| status_reading(name, value))
            .collect();
        assert_eq!(again, plain);
        assert!(matches!(again[0].name, Cow::Borrowed(_)));
    }

    #[test]
    fn digits_are_read_as_any_number_is() {
        for text in [
            "",
            "0",
            "007",
            "4294967295",
            "999999999999999",
            "9007199254740993",
            "18446744073709551615",
            "-1",
            "+1",
            "1e3",
            "0.25",
            "12a",
            "٣",
            "inf",
        ] {
            let parsed = text.parse::<f64>().ok().filter(|value| value.is_finite());
            let whole = whole(text.as_bytes());
            assert!(whole.is_none() || whole == parsed, "{text}");
            assert_eq!(whole.or_else(|| number(false, text)), parsed, "{text}");
        }
    }
}
