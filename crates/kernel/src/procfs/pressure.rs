//! `/proc/pressure/*` and a cgroup's `*.pressure`: pressure stall information, kernel 4.20
//! (kernel/sched/psi.c, `psi_show`; Documentation/accounting/psi.rst).

use super::text::{fields, lines, number};
use crate::read::{self, ReadError};
use std::path::Path;

/// Two lines of at most 80 bytes.
const PRESSURE_BYTES_MAX: usize = 4096;

/// The share of time in which tasks waited for a resource.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stalled {
    /// Percent of the last 10 seconds.
    pub avg10_percent: f64,
    /// Percent of the last 60 seconds.
    pub avg60_percent: f64,
    /// Percent of the last 300 seconds.
    pub avg300_percent: f64,
    /// Microseconds since boot; its difference over an interval is exact where the averages lag.
    pub total_us: u64,
}

/// Pressure of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pressure {
    /// At least one task waited. Absent for `irq`.
    pub some: Option<Stalled>,
    /// Every task that was not idle waited. Absent for the host's `cpu` before kernel 5.13.
    pub full: Option<Stalled>,
}

/// Parses a pressure file.
pub fn parse(bytes: &[u8]) -> Pressure {
    let mut pressure = Pressure::default();
    for line in lines(bytes) {
        let mut rest = fields(line);
        match rest.next() {
            Some(b"some") => pressure.some = stalled(rest),
            Some(b"full") => pressure.full = stalled(rest),
            _ => {}
        }
    }
    pressure
}

fn stalled<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Option<Stalled> {
    let (mut avg10, mut avg60, mut avg300, mut total) = (None, None, None, None);
    for field in fields {
        if let Some(value) = field.strip_prefix(b"avg10=") {
            avg10 = percent(value);
        } else if let Some(value) = field.strip_prefix(b"avg60=") {
            avg60 = percent(value);
        } else if let Some(value) = field.strip_prefix(b"avg300=") {
            avg300 = percent(value);
        } else if let Some(value) = field.strip_prefix(b"total=") {
            total = number(value);
        }
    }
    Some(Stalled {
        avg10_percent: avg10?,
        avg60_percent: avg60?,
        avg300_percent: avg300?,
        total_us: total?,
    })
}

fn percent(value: &[u8]) -> Option<f64> {
    number(value).filter(|p: &f64| p.is_finite() && *p >= 0.0)
}

/// Reads a pressure file. `EOPNOTSUPP` when the kernel was booted with `psi=0`.
pub fn read(path: &Path) -> Result<Pressure, ReadError> {
    Ok(parse(&read::whole(path, PRESSURE_BYTES_MAX)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_and_full() {
        let pressure = parse(
            b"some avg10=21.44 avg60=5.10 avg300=1.38 total=8500154\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
        );
        let some = pressure.some.unwrap();
        assert_eq!(
            (some.avg10_percent, some.avg60_percent, some.avg300_percent),
            (21.44, 5.10, 1.38)
        );
        assert_eq!(some.total_us, 8_500_154);
        assert_eq!(pressure.full.unwrap().total_us, 7);
    }

    #[test]
    fn cpu_before_5_13_and_nonsense() {
        let pressure = parse(b"some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
        assert!(pressure.some.is_some() && pressure.full.is_none());
        assert_eq!(
            parse(
                b"some avg10=NaN avg60=1 avg300=1 total=1\nfull avg10=-1 avg60=1 avg300=1 total=1"
            ),
            Pressure::default()
        );
    }
}
