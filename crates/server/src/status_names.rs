//! The names of status variables, kept once for all servers. One process may record hundreds of them, each with the same
//! five hundred names each second; what a name says of its kind and unit is looked up in tables of forty parts.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use model::{Reading, SignalKind, Unit, kind_of_status_variable};

/// Names that are kept, for as long as the process runs; servers have some hundred of their own, plug-ins bring more. A
/// server that invents others has them read anew each time.
const NAMES_MAX: usize = 4096;

/// Longest name that is kept, bytes: an identifier of the server's.
const NAME_BYTES_MAX: usize = 64;

/// What is known of a variable.
#[derive(Debug, Clone, Copy)]
struct Known {
    signal: &'static str,
    unit: Unit,
    kind: SignalKind,
}

/// A status variable as a signal; absent when its value is no number. Of a file it is the number that its name ends with.
pub fn status_reading(name: &str, value: &str) -> Option<Reading> {
    let value = number(name, value)?;
    let (signal, unit, kind) = signal_of(name);
    Some(Reading {
        name: signal.into(),
        unit,
        kind,
        value,
    })
}

/// MariaDB's `Binlog_snapshot_file` is `binlog.000086`, and each new binary log adds one.
fn number(name: &str, value: &str) -> Option<f64> {
    let file_number = || {
        let (_, number) = value.rsplit_once('.')?;
        let is_number = number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(number)
    };
    let digits = match name.ends_with("_file") {
        true => file_number().unwrap_or(value),
        false => value,
    };
    digits.parse::<f64>().ok().filter(|value| value.is_finite())
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

static KNOWN: RwLock<Option<HashMap<&'static str, Known>>> = RwLock::new(None);

/// The readings of a status; what is no number has none.
pub(crate) fn readings<'a>(status: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Reading> {
    let mut readings = Vec::with_capacity(512);
    let mut unknown = Vec::new();
    {
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        for (name, value) in status {
            let known = known.as_ref().and_then(|known| known.get(name));
            let Some(known) = known else {
                let reading = status_reading(name, value);
                if reading.is_some() {
                    unknown.push(name);
                }
                readings.extend(reading);
                continue;
            };
            // A level that is a word now and then is a number only sometimes.
            let value = number(name, value);
            readings.extend(value.map(|value| Reading {
                name: known.signal.into(),
                unit: known.unit,
                kind: known.kind,
                value,
            }));
        }
    }
    if !unknown.is_empty() {
        remember(&unknown);
    }
    readings
}

fn remember(names: &[&str]) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_with(HashMap::new);
    for name in names {
        if known.len() >= NAMES_MAX || name.len() > NAME_BYTES_MAX || known.contains_key(name) {
            continue;
        }
        let (signal, unit, kind) = signal_of(name);
        let signal: &'static str = Box::leak(signal.into_boxed_str());
        let Some(name) = signal.get(signal.len() - name.len()..) else {
            continue;
        };
        known.insert(name, Known { signal, unit, kind });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let first = readings(status.into_iter());
        let again = readings(status.into_iter());
        assert_eq!(first, again);
        let plain = status.into_iter();
        let plain: Vec<Reading> = plain
            .filter_map(|(name, value)| status_reading(name, value))
            .collect();
        assert_eq!(again, plain);
        assert!(matches!(again[0].name, std::borrow::Cow::Borrowed(_)));
    }
}
