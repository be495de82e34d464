//! The host's disks, from /proc/diskstats.

use kernel::procfs::diskstats;
use model::{Reading, Unit};

use super::host::HostState;
use super::{Outcome, Reader, absent, readings, signals};

/// Disks recorded at the most.
const DISKS_MAX: usize = 64;

/// Kernel names of devices that stand for memory or for a file, not for a disk.
const NOT_DISKS: [&str; 4] = ["loop", "ram", "zram", "fd"];

/// Sectors of /proc/diskstats are 512 bytes whatever the device's own size.
const SECTOR_BYTES: u64 = 512;

#[rustfmt::skip]
pub(crate) static DISK: Reader<HostState> = Reader {
    source: "disk",
    signals: &[
        signals(&["disk.*.reads", "disk.*.writes", "disk.*.discards", "disk.*.flushes", "disk.*.read_bytes", "disk.*.write_bytes"], "c", "completed requests of a whole disk; bytes"),
        signals(&["disk.*.read_ms", "disk.*.write_ms", "disk.*.flush_ms", "disk.*.busy_ms"], "c, ms", "time of the requests; time with any under way"),
        signals(&["disk.*.in_flight"], "g", "requests under way"),
    ],
    read: disks,
};

fn disks(state: &mut HostState) -> Outcome {
    let disks = diskstats::read(&state.proc).map_err(|error| absent("disk", &error))?;
    let mut out = Vec::new();
    let mut count = 0;
    for disk in disks {
        if !is_recorded(state, &disk.name) {
            continue;
        }
        count += 1;
        if count > DISKS_MAX {
            break;
        }
        let flushes = disk.flushes.as_ref();
        for (name, unit, value) in [
            ("reads", Unit::Count, Some(disk.reads)),
            ("writes", Unit::Count, Some(disk.writes)),
            (
                "read_bytes",
                Unit::Bytes,
                Some(disk.sectors_read * SECTOR_BYTES),
            ),
            (
                "write_bytes",
                Unit::Bytes,
                Some(disk.sectors_written * SECTOR_BYTES),
            ),
            ("read_ms", Unit::Milliseconds, Some(disk.read_ms)),
            ("write_ms", Unit::Milliseconds, Some(disk.write_ms)),
            ("busy_ms", Unit::Milliseconds, Some(disk.io_ms)),
            (
                "discards",
                Unit::Count,
                disk.discards.as_ref().map(|d| d.completed),
            ),
            ("flushes", Unit::Count, flushes.map(|f| f.completed)),
            ("flush_ms", Unit::Milliseconds, flushes.map(|f| f.ms)),
        ] {
            let name = format!("disk.{}.{name}", disk.name);
            out.extend(value.map(|value| Reading::counter(name, unit, value as f64)));
        }
        let name = format!("disk.{}.in_flight", disk.name);
        out.push(Reading::gauge(name, Unit::Count, disk.in_flight as f64));
    }
    Ok(readings(out))
}

/// Whole disks only: a partition's I/O is its disk's too and would be counted twice.
fn is_recorded(state: &mut HostState, name: &str) -> bool {
    if let Some(known) = state.whole_disks.get(name) {
        return *known;
    }
    let disk = !NOT_DISKS.iter().any(|kind| name.starts_with(kind))
        && diskstats::is_whole_disk(&state.sys, name);
    state.whole_disks.insert(name.to_owned(), disk);
    disk
}
