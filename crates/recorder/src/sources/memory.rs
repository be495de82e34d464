use kernel::procfs::meminfo::Amount;
use kernel::procfs::{buddyinfo as buddy, meminfo as mem, pressure as psi, thp as huge};
use model::{Absent, Fact, Reading, Reason, Taken, Unit};

use super::Outcome;
use super::host::HostState;
use super::{absent, readings};

/// Names of /proc/vmstat that are kept: compaction, huge pages, reclaim, swap and faults
/// (mm/vmstat.c, `vmstat_text`). A trailing `*` stands for any ending.
pub(crate) const VMSTAT: [&str; 10] = [
    "compact_*",
    "thp_*",
    "allocstall_*",
    "pgscan_direct*",
    "pgscan_kswapd",
    "pgsteal*",
    "pswp*",
    "pgfault",
    "pgmajfault",
    "oom_kill",
];

pub(crate) fn vmstat(state: &mut HostState) -> Outcome {
    let bytes =
        kernel::procfs::vmstat::read(&state.proc).map_err(|error| absent("vmstat", &error))?;
    Ok(readings(
        kernel::procfs::vmstat::pairs(&bytes)
            .filter(|(name, _)| {
                VMSTAT
                    .iter()
                    .any(|wanted| model::matches_pattern(wanted, name))
            })
            .map(|(name, value)| {
                Reading::counter(format!("vmstat.{name}"), Unit::Count, value as f64)
            })
            .collect(),
    ))
}

pub(crate) fn meminfo(state: &mut HostState) -> Outcome {
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

/// Free blocks of each size over all zones: without the large ones, huge pages need compaction.
pub(crate) fn buddyinfo(state: &mut HostState) -> Outcome {
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

pub(crate) fn pressure(state: &mut HostState) -> Outcome {
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

pub(crate) fn thp(state: &mut HostState) -> Outcome {
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
    Ok(Taken {
        facts,
        ..Taken::default()
    })
}
