//! Rules about memory: huge pages, swap, NUMA, reclaim, the cgroup's limit.

use super::{
    Judged, Look,
    Untold::{self, Fine},
    fine_if, graded, note, or, serious,
};
use crate::human::{Show, show};

const GIB: f64 = (1_u64 << 30) as f64;

/// Memory of a server from which compaction for it is worth a line; a smaller one faults little.
const LARGE_SERVER: f64 = 4.0 * GIB;

/// Compactions a second, on the average since boot, that are more than an accident: one a minute.
const COMPACTIONS: f64 = 1.0 / 60.0;

pub(super) fn huge_pages(look: &Look) -> Judged {
    let enabled = look.fact("thp.enabled")?;
    let off_for_server = look.maybe("thp.server") == Some("0");
    fine_if(enabled != "always" || off_for_server)?;
    let defrag = look.maybe("thp.defrag").unwrap_or("unknown");
    let resident = look.last("process.resident_bytes")?;
    let now = look.rate("vmstat.compact_stall")?;
    let allocator = look.maybe("server.allocator").unwrap_or("unknown");
    let state = format!(
        "transparent_hugepage/enabled is always, defrag is {defrag}, the server does not opt out \
         (THP_enabled: 1), uses {} and the allocator {allocator}",
        show(resident, Show::Bytes)
    );
    if now >= 1.0 {
        return serious(format!(
            "{state}; threads of this host compact memory now, at {}",
            show(now, Show::PerSecond)
        ));
    }
    fine_if(resident < LARGE_SERVER)?;
    let since_boot = look.last("vmstat.compact_stall")?;
    let uptime = look.number("host.uptime_seconds")?;
    if uptime > 0.0 && since_boot / uptime >= COMPACTIONS {
        return serious(format!(
            "{state}; {} direct compactions since boot, {} a day",
            show(since_boot, Show::Count),
            show(since_boot / uptime * 86_400.0, Show::Count)
        ));
    }
    if defrag == "always" {
        return note(format!(
            "{state}: each fault that finds no huge page compacts memory itself"
        ));
    }
    if allocator.contains("jemalloc") || allocator.contains("tcmalloc") {
        return note(state);
    }
    Err(Fine)
}

pub(super) fn swapped(look: &Look) -> Judged {
    fine_if(look.last("meminfo.SwapTotal")? == 0.0)?;
    let swapped = look.last("process.swap_bytes")?;
    let resident = look.last("process.resident_bytes")?;
    let swappiness = look.maybe("sysctl.vm.swappiness").unwrap_or("unknown");
    let moving = look.rate("vmstat.pswpin")?;
    // What was touched once at the start and never again may well lie in swap.
    fine_if(swapped < 0.02 * resident || swapped < 64.0 * 1024.0 * 1024.0)?;
    let state = format!(
        "{} of the server is in swap (VmSwap), beside {} resident; vm.swappiness is {swappiness}",
        show(swapped, Show::Bytes),
        show(resident, Show::Bytes)
    );
    if moving >= 10.0 {
        return serious(format!(
            "{state}; pages come back at {}",
            show(moving, Show::PerSecond)
        ));
    }
    note(state)
}

/// How many numbers a kernel list such as `0-1,4` holds.
fn listed(list: &str) -> f64 {
    list.trim()
        .split(',')
        .filter_map(|part| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
            Some(f64::from(to.saturating_sub(from)) + 1.0)
        })
        .sum()
}

pub(super) fn numa(look: &Look) -> Judged {
    let nodes = listed(look.fact("host.numa_nodes")?);
    fine_if(nodes < 2.0)?;
    let allowed = listed(look.fact("process.mems_allowed")?);
    let memory = look.number("host.memory_bytes")?;
    let pool = look.variable_number("innodb_buffer_pool_size")?;
    fine_if(
        allowed < 2.0 || look.is_on("innodb_numa_interleave")? || pool <= memory / nodes * 0.9,
    )?;
    let state = format!(
        "{nodes} NUMA nodes of about {} each, a buffer pool of {}, innodb_numa_interleave off \
         (a start under numactl --interleave cannot be seen without slowing the server)",
        show(memory / nodes, Show::Bytes),
        show(pool, Show::Bytes)
    );
    if look.last_or("process.swap_bytes", 0.0) > 0.01 * pool {
        return serious(format!("{state}; and the server is partly in swap"));
    }
    note(state)
}

pub(super) fn zone_reclaim(look: &Look) -> Judged {
    let mode = look.number("sysctl.vm.zone_reclaim_mode")?;
    let nodes = listed(look.fact("host.numa_nodes")?);
    fine_if(mode == 0.0 || nodes < 2.0)?;
    serious(format!(
        "vm.zone_reclaim_mode is {mode} on {nodes} NUMA nodes"
    ))
}

pub(super) fn direct_reclaim(look: &Look) -> Judged {
    let scanned = look.rate("vmstat.pgscan_direct")?;
    fine_if(scanned < 100.0)?;
    let min_free = look.number("sysctl.vm.min_free_kbytes")? * 1024.0;
    let memory = look.number("host.memory_bytes")?;
    serious(format!(
        "threads look for free memory themselves now and scan pages at {}; vm.min_free_kbytes is {} \
         of {}",
        show(scanned, Show::PerSecond),
        show(min_free, Show::Bytes),
        show(memory, Show::Bytes)
    ))
}

/// The memory that the server may have: the host's, or its cgroup's limit.
fn memory_limit(look: &Look) -> Result<(f64, &'static str), Untold> {
    let host = look.number("host.memory_bytes")?;
    Ok(match look.maybe_number("cgroup.memory_max") {
        Some(limit) if limit < host => (limit, "the limit of the server's cgroup (memory.max)"),
        _ => (host, "the memory of the host"),
    })
}

pub(super) fn pool_against_memory(look: &Look) -> Judged {
    let pool = look.variable_number("innodb_buffer_pool_size")?;
    let (limit, whose) = memory_limit(look)?;
    let state = format!(
        "innodb_buffer_pool_size is {}, {} of {whose} ({})",
        show(pool, Show::Bytes),
        show(pool / limit, Show::Percent),
        show(limit, Show::Bytes)
    );
    match pool / limit {
        share if share >= 0.9 => graded(share >= 1.0, state),
        _ => Err(Fine),
    }
}

pub(super) fn cgroup_memory(look: &Look) -> Judged {
    let killed = look.last("cgroup.memory.oom_kill")?;
    if killed > 0.0 {
        return serious(format!(
            "the kernel killed {} in the server's cgroup for want of memory (memory.events)",
            if killed == 1.0 {
                "a process".to_owned()
            } else {
                format!("{} processes", show(killed, Show::Count))
            }
        ));
    }
    let pushed = look.rate("cgroup.memory.max")? + look.rate_or_zero("cgroup.memory.high");
    if pushed >= 1.0 {
        return serious(format!(
            "the server's cgroup is at its limit now: the kernel takes memory back at {} (memory.events)",
            show(pushed, Show::PerSecond)
        ));
    }
    let limit = look.maybe_number("cgroup.memory_max").ok_or(Fine)?;
    // memory.current counts the page cache too, which the kernel takes back; the process does not
    // give its own memory.
    let resident = look.last("process.resident_bytes")?;
    fine_if(resident < 0.9 * limit)?;
    note(format!(
        "the server alone fills {} of its cgroup's limit of {}",
        show(resident / limit, Show::Percent),
        show(limit, Show::Bytes)
    ))
}

pub(super) fn session_buffers(look: &Look) -> Judged {
    let sessions = or(look.status("Max_used_connections"), 0.0)?;
    let mut sum = 0.0;
    let mut largest = ("", 0.0);
    for name in [
        "sort_buffer_size",
        "join_buffer_size",
        "read_buffer_size",
        "read_rnd_buffer_size",
    ] {
        let bytes = or(look.variable_number(name), 0.0)?;
        sum += bytes;
        if bytes > largest.1 {
            largest = (name, bytes);
        }
    }
    // What each sort or join without an index allocates anew.
    let uses = or(look.status_rate("Sort_scan"), 0.0)?
        + or(look.status_rate("Sort_range"), 0.0)?
        + or(look.status_rate("Select_full_join"), 0.0)?;
    if largest.1 > 2.0 * 1024.0 * 1024.0 && uses >= 100.0 {
        return note(format!(
            "{} is {}, and sorts and joins that allocate such buffers come at {}",
            largest.0,
            show(largest.1, Show::Bytes),
            show(uses, Show::PerSecond)
        ));
    }
    let (limit, whose) = memory_limit(look)?;
    let pool = or(look.variable_number("innodb_buffer_pool_size"), 0.0)?;
    let need = sessions * sum;
    fine_if(pool + need <= limit || need < GIB)?;
    note(format!(
        "{} sessions at once (Max_used_connections) with sort, join and read buffers of {} each \
         may take {}; with the buffer pool of {} that is more than {whose} ({})",
        show(sessions, Show::Count),
        show(sum, Show::Bytes),
        show(need, Show::Bytes),
        show(pool, Show::Bytes),
        show(limit, Show::Bytes)
    ))
}

pub(super) fn core_pattern(look: &Look) -> Judged {
    let pattern = look.fact("sysctl.kernel.core_pattern")?;
    let resident = look.last("process.resident_bytes")?;
    let core = look.fact("limits.core_bytes")?;
    // A pipe gets the core whatever the limit is, except where it is one byte (core(5)).
    fine_if(!pattern.starts_with('|') || resident < 8.0 * GIB || core == "1")?;
    note(format!(
        "a crash would pipe {} of memory to '{}' before the server can start again",
        show(resident, Show::Bytes),
        pattern.split_whitespace().next().unwrap_or(pattern)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel_are_counted() {
        assert_eq!(listed("0"), 1.0);
        assert_eq!(listed("0-1"), 2.0);
        assert_eq!(listed("0,2-3\n"), 3.0);
        assert_eq!(listed("nonsense"), 0.0);
    }
}
