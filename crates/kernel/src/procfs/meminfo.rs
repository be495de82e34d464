//! `/proc/meminfo` (fs/proc/meminfo.c, `meminfo_proc_show`; proc_meminfo(5)).

use super::text::{fields, lines, named, number};
use crate::read::{self, ReadError};
use crate::roots::ProcRoot;

const MEMINFO_BYTES_MAX: usize = 64 << 10;

/// A value with the unit its line gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// The file says `kB` and means units of 1024 bytes.
    Kib(u64),
    /// A plain count, such as `HugePages_Total`.
    Count(u64),
}

/// Every line in the file's order.
pub fn pairs(bytes: &[u8]) -> impl Iterator<Item = (&str, Amount)> {
    lines(bytes).filter_map(|line| {
        let (name, rest) = named(line)?;
        let mut rest = fields(rest);
        let value = number(rest.next()?)?;
        match rest.next() {
            Some(b"kB") => Some((name, Amount::Kib(value))),
            Some(_) => None,
            None => Some((name, Amount::Count(value))),
        }
    })
}

/// The bytes of `/proc/meminfo`, for [`pairs`].
pub fn read(proc: &ProcRoot) -> Result<Vec<u8>, ReadError> {
    read::whole(&proc.file("meminfo"), MEMINFO_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kib_and_counts() {
        let bytes = include_bytes!("../../tests/fixtures/meminfo-6.18");
        let value = |name| pairs(bytes).find(|p| p.0 == name).map(|p| p.1);
        assert_eq!(value("MemTotal"), Some(Amount::Kib(24_684_084)));
        assert_eq!(value("Active(anon)"), Some(Amount::Kib(1540)));
        assert_eq!(value("HugePages_Total"), Some(Amount::Count(0)));
    }

    #[test]
    fn another_unit_is_not_taken_for_kib() {
        assert_eq!(
            pairs(b"MemTotal: 5 MB\nMemFree: x kB\nno colon 3 kB").count(),
            0
        );
    }
}
