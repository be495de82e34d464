//! `/proc/diskstats` (block/genhd.c, `diskstats_show`; Documentation/admin-guide/iostats.rst).

use super::text::{fields, lines, number};
use crate::read::{self, ReadError};
use crate::roots::{ProcRoot, SysRoot};

const DISKSTATS_BYTES_MAX: usize = 4 << 20;

/// Counters of one disk or partition since it appeared. A sector is 512 bytes whatever the device's own size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Major device number.
    pub major: u32,
    /// Minor device number.
    pub minor: u32,
    /// Kernel name, such as `nvme0n1`.
    pub name: String,
    /// Reads completed.
    pub reads: u64,
    /// Reads merged with an adjacent one before they were queued.
    pub reads_merged: u64,
    /// Sectors of 512 bytes read.
    pub sectors_read: u64,
    /// Milliseconds spent by all reads together.
    pub read_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Writes merged.
    pub writes_merged: u64,
    /// Sectors of 512 bytes written.
    pub sectors_written: u64,
    /// Milliseconds spent by all writes together.
    pub write_ms: u64,
    /// Requests under way now.
    pub in_flight: u64,
    /// Milliseconds in which at least one request was under way.
    pub io_ms: u64,
    /// `io_ms` weighted by the number of requests under way: its growth per millisecond is the mean queue length.
    pub weighted_io_ms: u64,
    /// Discards; kernel 4.18.
    pub discards: Option<Discards>,
    /// Flushes; kernel 5.5. Zero for partitions and devices that do not count them.
    pub flushes: Option<Flushes>,
}

/// Discard (TRIM) requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Discards {
    /// Completed.
    pub completed: u64,
    /// Merged.
    pub merged: u64,
    /// Sectors of 512 bytes discarded.
    pub sectors: u64,
    /// Milliseconds spent by all discards together.
    pub ms: u64,
}

/// Cache flushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flushes {
    /// Completed.
    pub completed: u64,
    /// Milliseconds spent by all flushes together.
    pub ms: u64,
}

/// Parses `/proc/diskstats` of every generation: 14 fields, 18 with discards, 20 with flushes. The short lines that
/// partitions had before kernel 2.6.25 are passed over.
pub fn parse(bytes: &[u8]) -> Vec<Disk> {
    lines(bytes).filter_map(disk).collect()
}

fn disk(line: &[u8]) -> Option<Disk> {
    let mut rest = fields(line);
    let major = number(rest.next()?)?;
    let minor = number(rest.next()?)?;
    let name = String::from_utf8_lossy(rest.next()?).into_owned();
    let mut next = || rest.next().and_then(number::<u64>);
    Some(Disk {
        major,
        minor,
        name,
        reads: next()?,
        reads_merged: next()?,
        sectors_read: next()?,
        read_ms: next()?,
        writes: next()?,
        writes_merged: next()?,
        sectors_written: next()?,
        write_ms: next()?,
        in_flight: next()?,
        io_ms: next()?,
        weighted_io_ms: next()?,
        discards: discards(&mut next),
        flushes: flushes(&mut next),
    })
}

fn discards(next: &mut impl FnMut() -> Option<u64>) -> Option<Discards> {
    Some(Discards {
        completed: next()?,
        merged: next()?,
        sectors: next()?,
        ms: next()?,
    })
}

fn flushes(next: &mut impl FnMut() -> Option<u64>) -> Option<Flushes> {
    Some(Flushes {
        completed: next()?,
        ms: next()?,
    })
}

/// Reads `/proc/diskstats`.
pub fn read(proc: &ProcRoot) -> Result<Vec<Disk>, ReadError> {
    Ok(parse(&read::whole(
        &proc.file("diskstats"),
        DISKSTATS_BYTES_MAX,
    )?))
}

/// Whether `name` is a whole disk and not a partition: `/sys/block` lists only the former, with `!` for `/`
/// (drivers/base/core.c, `dev_set_name` of names such as `cciss/c0d0`). A disk counts its partitions' requests too.
pub fn is_whole_disk(sys: &SysRoot, name: &str) -> bool {
    let entry = name.replace('/', "!");
    !matches!(entry.as_str(), "" | "." | "..") && sys.file("block").join(entry).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_generations() {
        let disks = parse(include_bytes!("../../tests/fixtures/diskstats-generations"));
        let names: Vec<_> = disks.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["vda", "sda", "sda1", "cciss/c0d0"]);
        assert_eq!(disks[0].io_ms, 10_844);
        assert_eq!(disks[0].discards.map(|d| d.sectors), Some(629_672));
        assert_eq!(
            disks[0].flushes,
            Some(Flushes {
                completed: 2529,
                ms: 116
            })
        );
        assert_eq!(disks[1].discards.map(|d| d.ms), Some(9));
        assert_eq!(disks[1].flushes, None);
        assert_eq!((disks[3].discards, disks[3].weighted_io_ms), (None, 48_211));
    }

    #[test]
    fn whole_disks_by_sysfs() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("block/cciss!c0d0")).unwrap();
        let sys = SysRoot::at(dir.path());
        assert!(is_whole_disk(&sys, "cciss/c0d0"));
        for other in ["cciss/c0d0p1", "", ".."] {
            assert!(!is_whole_disk(&sys, other));
        }
    }
}
