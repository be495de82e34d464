//! `/proc/buddyinfo`: free blocks of memory by size, the picture of fragmentation
//! (mm/vmstat.c, `frag_show_print`).

use super::text::{fields, lines, number};
use crate::read::{self, ReadError};
use crate::roots::ProcRoot;

const BUDDYINFO_BYTES_MAX: usize = 256 << 10;

/// More than any configuration's `MAX_PAGE_ORDER`, which is 10 by default (include/linux/mmzone.h).
const ORDERS_MAX: usize = 32;

/// The free blocks of one zone of one NUMA node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    /// NUMA node.
    pub node: u32,
    /// `DMA`, `DMA32`, `Normal`, `Movable`, …
    pub zone: String,
    /// At index n: how many free blocks of 2^n pages.
    pub free_blocks: Vec<u64>,
}

/// Parses `/proc/buddyinfo`.
pub fn parse(bytes: &[u8]) -> Vec<Zone> {
    lines(bytes).filter_map(zone).collect()
}

fn zone(line: &[u8]) -> Option<Zone> {
    let mut rest = fields(line);
    if rest.next()? != b"Node" {
        return None;
    }
    let node = number(rest.next()?.strip_suffix(b",")?)?;
    if rest.next()? != b"zone" {
        return None;
    }
    let zone = String::from_utf8_lossy(rest.next()?).into_owned();
    // A number that cannot be read would shift the orders after it: the whole line is dropped.
    let free_blocks = rest.take(ORDERS_MAX).map(number).collect::<Option<_>>()?;
    Some(Zone {
        node,
        zone,
        free_blocks,
    })
}

/// Reads `/proc/buddyinfo`.
pub fn read(proc: &ProcRoot) -> Result<Vec<Zone>, ReadError> {
    Ok(parse(&read::whole(
        &proc.file("buddyinfo"),
        BUDDYINFO_BYTES_MAX,
    )?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_nodes() {
        let zones = parse(
            b"Node 0, zone   Normal     66      0      2      1      2     37     32     14      8      3     13 \n\
              Node 1, zone  Movable      1      2      3      4      5      6      7      8      9     10     11 \n",
        );
        assert_eq!(zones.len(), 2);
        assert_eq!(zones[0].zone, "Normal");
        assert_eq!(
            (zones[0].free_blocks[0], zones[0].free_blocks[10]),
            (66, 13)
        );
        assert_eq!((zones[1].node, zones[1].zone.as_str()), (1, "Movable"));
    }

    #[test]
    fn a_damaged_line_is_dropped() {
        assert!(
            parse(b"Node 0, zone Normal 1 x 3\nNode x, zone DMA 1\nPage block order: 9\n")
                .is_empty()
        );
    }
}
