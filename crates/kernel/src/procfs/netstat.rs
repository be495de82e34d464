//! `/proc/net/netstat` and `/proc/net/snmp`: counters of the network namespace in pairs of lines, names then values
//! (net/ipv4/proc.c, `netstat_seq_show`, `snmp_seq_show`). `TcpExt ListenOverflows` counts connections refused
//! because an accept queue was full, `ListenDrops` these and every other reason.

use super::text::{fields, lines, named, number};
use crate::read::{self, ReadError};
use std::path::Path;

const NETSTAT_BYTES_MAX: usize = 256 << 10;

/// Every counter as (group, name, value), such as (`TcpExt`, `ListenOverflows`, 3). Negative values, which stand for
/// "dynamic" (`Tcp MaxConn`), are left out.
pub fn counters(bytes: &[u8]) -> impl Iterator<Item = (&str, &str, u64)> {
    pairs(bytes).flat_map(|(group, names, values)| {
        fields(names)
            .zip(fields(values))
            .filter_map(move |(name, value)| {
                Some((group, str::from_utf8(name).ok()?, number(value)?))
            })
    })
}

fn pairs(bytes: &[u8]) -> impl Iterator<Item = (&str, &[u8], &[u8])> {
    let mut header = None;
    lines(bytes).filter_map(move |line| {
        let (group, rest) = named(line)?;
        match header.take() {
            Some((name, names)) if name == group => Some((group, names, rest)),
            _ => {
                header = Some((group, rest));
                None
            }
        }
    })
}

/// The bytes of `/proc/net/netstat` or `/proc/net/snmp` (`/proc/PID/net/…` for another namespace), for [`counters`].
pub fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    read::whole(path, NETSTAT_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_netstat() {
        let bytes = include_bytes!("../../tests/fixtures/netstat-6.18");
        let value = |group, name| {
            counters(bytes)
                .find(|c| (c.0, c.1) == (group, name))
                .map(|c| c.2)
        };
        assert_eq!(value("TcpExt", "ListenOverflows"), Some(5));
        assert_eq!(value("TcpExt", "ListenDrops"), Some(7));
        assert_eq!(value("IpExt", "InOctets"), Some(187_550_883));
    }

    #[test]
    fn a_header_without_its_values_does_not_shift_the_next() {
        let found: Vec<_> =
            counters(b"A: x y\nB: p q\nB: 1 -1\nA: x\nA: 7 8\nC: alone\n").collect();
        assert_eq!(found, [("B", "p", 1), ("A", "x", 7)]);
    }
}
