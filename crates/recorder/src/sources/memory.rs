//! The host's memory: use, reclaim, free blocks, pressure, transparent huge pages.

use kernel::procfs::meminfo::Amount;
use kernel::procfs::{buddyinfo as buddy, meminfo as mem, pressure as psi, thp as huge};
use model::{Absent, Fact, Reading, Reason, SourceData, Unit};

use super::host::HostState;
use super::{Outcome, Reader, absent, readings, signals};

/// What is kept of /proc/vmstat (mm/vmstat.c, `vmstat_text`). A trailing `*` stands for any ending.
const KEPT_OF_VMSTAT: [&str; 10] = [
    "vmstat.compact_*",
    "vmstat.thp_*",
    "vmstat.allocstall_*",
    "vmstat.pgscan_direct*",
    "vmstat.pgscan_kswapd",
    "vmstat.pgsteal*",
    "vmstat.pswp*",
    "vmstat.pgfault",
    "vmstat.pgmajfault",
    "vmstat.oom_kill",
];

pub(crate) static VMSTAT: Reader<HostState> = Reader {
    source: "vmstat",
    signals: &[signals(
        &KEPT_OF_VMSTAT,
        "c",
        "compaction, huge pages, reclaim, swap, faults",
    )],
    read: vmstat,
};

fn vmstat(state: &mut HostState) -> Outcome {
    let bytes =
        kernel::procfs::vmstat::read(&state.proc).map_err(|error| absent("vmstat", &error))?;
    Ok(readings(
        kernel::procfs::vmstat::pairs(&bytes)
            .map(|(name, value)| (format!("vmstat.{name}"), value))
            .filter(|(name, _)| {
                let mut kept = KEPT_OF_VMSTAT.iter();
                kept.any(|kept| model::matches_pattern(kept, name))
            })
            .map(|(name, value)| Reading::counter(name, Unit::Count, value as f64))
            .collect(),
    ))
}

#[rustfmt::skip]
pub(crate) static MEMINFO: Reader<HostState> = Reader {
    source: "meminfo",
    signals: &[
        signals(&["meminfo.*"], "g", "bytes where the kernel writes kB, else count"),
    ],
    read: meminfo,
};

fn meminfo(state: &mut HostState) -> Outcome {
    let bytes = mem::read(&state.proc).map_err(|error| absent("meminfo", &error))?;
    Ok(readings(
        mem::pairs(&bytes)
            .map(|(name, amount)| {
                let (unit, value) = match amount {
                    Amount::Kib(kib) => (Unit::Bytes, kib * 1024),
                    Amount::Count(count) => (Unit::Count, count),
                };
                Reading::gauge(format!("meminfo.{name}"), unit, value as f64)
            })
            .collect(),
    ))
}

#[rustfmt::skip]
pub(crate) static BUDDYINFO: Reader<HostState> = Reader {
    source: "buddyinfo",
    signals: &[
        signals(&["buddyinfo.order_*_free_blocks"], "g", "free blocks of 2^N pages, all zones"),
    ],
    read: buddyinfo,
};

/// Free blocks of each size over all zones: without the large ones, huge pages need compaction.
fn buddyinfo(state: &mut HostState) -> Outcome {
    let zones = buddy::read(&state.proc).map_err(|error| absent("buddyinfo", &error))?;
    let orders = zones.iter().map(|zone| zone.free_blocks.len()).max();
    Ok(readings(
        (0..orders.unwrap_or(0))
            .map(|order| {
                let blocks: u64 = zones
                    .iter()
                    .filter_map(|zone| zone.free_blocks.get(order))
                    .sum();
                let name = format!("buddyinfo.order_{order}_free_blocks");
                Reading::gauge(name, Unit::Count, blocks as f64)
            })
            .collect(),
    ))
}

#[rustfmt::skip]
pub(crate) static PRESSURE: Reader<HostState> = Reader {
    source: "pressure",
    signals: &[
        signals(&["psi.cpu.some_us", "psi.cpu.full_us", "psi.memory.some_us", "psi.memory.full_us", "psi.io.some_us", "psi.io.full_us"], "c, µs", "time that some tasks, or all, waited"),
    ],
    read: pressure,
};

fn pressure(state: &mut HostState) -> Outcome {
    let mut out = Vec::new();
    for resource in ["cpu", "memory", "io"] {
        let path = state.proc.file(&format!("pressure/{resource}"));
        let pressure = psi::read(&path).map_err(|error| match error {
            // Off with psi=0 or CONFIG_PSI_DEFAULT_DISABLED: the file is there and cannot be read.
            kernel::read::ReadError::Io { .. } => Absent::new(
                "pressure",
                Reason::Unsupported,
                format!("{error}; the kernel may be booted with psi=0"),
            ),
            other => absent("pressure", &other),
        })?;
        for (kind, stalled) in [("some", pressure.some), ("full", pressure.full)] {
            out.extend(stalled.map(|stalled| {
                let name = format!("psi.{resource}.{kind}_us");
                Reading::counter(name, Unit::Microseconds, stalled.total_us as f64)
            }));
        }
    }
    Ok(readings(out))
}

pub(crate) static THP: Reader<HostState> = Reader {
    source: "thp",
    signals: &[],
    read: thp,
};

fn thp(state: &mut HostState) -> Outcome {
    let settings = huge::read(&state.sys);
    let facts: Vec<Fact> = [
        ("thp.enabled", settings.enabled),
        ("thp.defrag", settings.defrag),
        ("thp.khugepaged_defrag", settings.khugepaged_defrag),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some(Fact::new(name, value?)))
    .collect();
    if facts.is_empty() {
        let detail = settings.absent.join("; ");
        return Err(Absent::new("thp", Reason::Unsupported, detail));
    }
    Ok(SourceData {
        facts,
        ..SourceData::default()
    })
}
