//! Rules about the host: processors, disks, the network's queues, the page cache.

use super::{Judged, Look, Untold::Fine, fine_if, graded, note, or, serious};
use crate::human::{Show, show};

const MIB: f64 = (1_u64 << 20) as f64;
const GIB: f64 = (1_u64 << 30) as f64;

pub(super) fn cgroup_cpu(look: &Look) -> Judged {
    let quota = look.fact("cgroup.cpu_max")?;
    fine_if(quota.starts_with("max"))?;
    let periods = look.last("cgroup.cpu.nr_periods")?;
    let throttled = look.last("cgroup.cpu.nr_throttled")?;
    let now = look.rate("cgroup.cpu.nr_throttled")? / look.rate("cgroup.cpu.nr_periods")?.max(1e-9);
    if now > 0.05 && look.rate("cgroup.cpu.nr_throttled")? > 0.0 {
        return serious(format!(
            "the server's cgroup may use {} µs of CPU (cpu.max) and is held back in {} of its \
             periods now",
            quota.replace(' ', " of each "),
            show(now.min(1.0), Show::Percent)
        ));
    }
    if periods > 0.0 && throttled / periods > 0.01 {
        return note(format!(
            "the server's cgroup was held back in {} of its periods since it exists (cpu.max {quota})",
            show(throttled / periods, Show::Percent)
        ));
    }
    Err(Fine)
}

pub(super) fn steal(look: &Look) -> Judged {
    let share = look.mean("cpu.steal_share")?;
    fine_if(share < 0.05)?;
    let text = format!(
        "the hypervisor kept {} of this machine's CPU time to itself",
        show(share, Show::Percent)
    );
    graded(share >= 0.2, text)
}

pub(super) fn dirty_pages(look: &Look) -> Judged {
    let dirty = look.mean("meminfo.Dirty")?;
    let limit = match look.maybe("sysctl.vm.dirty_bytes").map(str::parse::<f64>) {
        Some(Ok(bytes)) if bytes > 0.0 => bytes,
        // Of the memory that is free or can be had, not of all (vm.rst, dirty_ratio).
        _ => look.number("sysctl.vm.dirty_ratio")? / 100.0 * look.last("meminfo.MemAvailable")?,
    };
    fine_if(dirty < GIB && dirty < 0.5 * limit)?;
    // A half of a small limit is a matter of a second.
    fine_if(dirty < 256.0 * MIB)?;
    let text = format!(
        "{} of written data wait in the page cache for the disk; at {} (vm.dirty_ratio, \
         vm.dirty_bytes) whoever writes has to wait",
        show(dirty, Show::Bytes),
        show(limit, Show::Bytes)
    );
    graded(dirty >= 0.5 * limit, text)
}

pub(super) fn buffered_writes(look: &Look) -> Judged {
    let method = look.variable("innodb_flush_method")?;
    fine_if(!matches!(method, "" | "fsync" | "fdatasync"))?;
    let written = or(look.status_rate("Innodb_data_written"), 0.0)?;
    fine_if(written < 10.0 * MIB)?;
    note(format!(
        "InnoDB writes {} a second through the page cache (innodb_flush_method {}), beside a \
         buffer pool that holds the same pages",
        show(written, Show::Bytes),
        if method.is_empty() { "not set" } else { method }
    ))
}

/// Flushes a second that make a mean.
const FLUSHES_MIN: f64 = 1.0;

pub(super) fn slow_flush(look: &Look) -> Judged {
    let mut worst: Option<(&str, f64, f64)> = None;
    let disks = look.named("disk.", ".flushes");
    if disks.is_empty() {
        return Err(look.missing("disk.*.flushes"));
    }
    for disk in disks {
        let flushes = look.rate_or_zero(&format!("disk.{disk}.flushes"));
        if flushes < FLUSHES_MIN {
            continue;
        }
        let mean = look.rate_or_zero(&format!("disk.{disk}.flush_ms")) / flushes;
        if worst.is_none_or(|(_, known, _)| mean > known) {
            worst = Some((disk, mean, flushes));
        }
    }
    let (disk, mean, flushes) = worst.ok_or(Fine)?;
    fine_if(mean < 20.0)?;
    let setting = |name: &str| {
        look.maybe(&format!("variables.{name}"))
            .unwrap_or("unknown")
            .to_owned()
    };
    let text = format!(
        "a flush of disk {disk} takes {} in the mean, at {}; innodb_flush_log_at_trx_commit is {}, \
         sync_binlog {}",
        show(mean, Show::Milliseconds),
        show(flushes, Show::PerSecond),
        setting("innodb_flush_log_at_trx_commit"),
        setting("sync_binlog")
    );
    graded(mean >= 100.0, text)
}

/// Connections that were turned away since boot that are more than an accident, altogether and an
/// hour: the kernel does not count them by program.
const OVERFLOWS: f64 = 100.0;
const OVERFLOWS_PER_HOUR: f64 = 10.0;

pub(super) fn accept_queue(look: &Look) -> Judged {
    let limit = look.last("accept_queue.tcp.limit")?;
    let length = look.last("accept_queue.tcp.length")?;
    let overflows = look.last("net.listen_overflows")?;
    let now = look.rate("net.listen_overflows")?;
    let back_log = or(look.variable("back_log"), "unknown")?;
    let somaxconn = look.fact("sysctl.net.core.somaxconn")?;
    let queue = format!(
        "this server's queue of new connections holds {} (the smaller of back_log {back_log} and \
         net.core.somaxconn {somaxconn})",
        show(limit, Show::Count)
    );
    if limit > 0.0 && length >= 0.8 * limit {
        return serious(format!(
            "{queue} and is {} full",
            show(length / limit, Show::Percent)
        ));
    }
    if now > 0.0 {
        return serious(format!(
            "the kernel turns connections away now, at {} (any program's: TcpExtListenOverflows); \
             {queue}",
            show(now, Show::PerSecond)
        ));
    }
    let hours = look.number("host.uptime_seconds")? / 3600.0;
    if overflows >= OVERFLOWS && overflows >= OVERFLOWS_PER_HOUR * hours && limit < 1024.0 {
        let syn = look
            .maybe("sysctl.net.ipv4.tcp_max_syn_backlog")
            .unwrap_or("unknown");
        return note(format!(
            "the kernel turned {} connections away since boot (any program's: \
             TcpExtListenOverflows); {queue}; net.ipv4.tcp_max_syn_backlog is {syn}",
            show(overflows, Show::Count)
        ));
    }
    Err(Fine)
}

/// File systems on which fsync or locks behave otherwise than on a disk.
const ODD_FILE_SYSTEMS: [&str; 9] = [
    "nfs", "nfs4", "overlay", "9p", "virtiofs", "fuse", "cifs", "smb3", "aufs",
];

/// Discards a second that a device may feel.
const DISCARDS: f64 = 100.0;

pub(super) fn mount(look: &Look) -> Judged {
    let kind = look.fact("place.datadir.file_system")?;
    let options = look.fact("place.datadir.mount_options")?;
    if ODD_FILE_SYSTEMS
        .iter()
        .any(|odd| kind == *odd || kind.starts_with("fuse."))
    {
        return note(format!("the data directory is on {kind}"));
    }
    let discards: f64 = look
        .named("disk.", ".discards")
        .iter()
        .map(|disk| look.rate_or_zero(&format!("disk.{disk}.discards")))
        .sum();
    if options.split(',').any(|option| option == "discard") && discards >= DISCARDS {
        return note(format!(
            "the data directory's {kind} is mounted with discard, and disks discard now, at {}",
            show(discards, Show::PerSecond)
        ));
    }
    Err(Fine)
}

/// The directories that matter: what they are, and what they are called in facts.
const PLACES: [(&str, &str); 4] = [
    ("datadir", "the data directory"),
    ("tmpdir", "the directory for temporary files"),
    ("innodb_log", "the directory of the redo log"),
    ("log_bin", "the directory of the binary log"),
];

pub(super) fn disk_space(look: &Look) -> Judged {
    let mut worst: Option<(f64, bool, String)> = None;
    let mut known = false;
    for (place, what) in PLACES {
        let number = |part: &str| look.number(&format!("place.{place}.{part}"));
        let (Ok(total), Ok(free)) = (number("bytes"), number("free_bytes")) else {
            continue;
        };
        known = true;
        if total > 0.0 && ((free / total < 0.05 && free < 20.0 * GIB) || free < GIB) {
            let serious = free / total < 0.01 || free < 256.0 * MIB;
            let path = look.maybe(&format!("place.{place}.path")).unwrap_or(place);
            let text = format!(
                "{what} ({path}) has {} free of {} ({})",
                show(free, Show::Bytes),
                show(total, Show::Bytes),
                show(free / total, Show::Percent)
            );
            if worst.as_ref().is_none_or(|(least, ..)| free < *least) {
                worst = Some((free, serious, text));
            }
        }
        let inodes = (number("inodes"), number("free_inodes"));
        if let (Ok(total), Ok(free)) = inodes
            && total > 0.0
            && free / total < 0.01
        {
            let text = format!(
                "{what} has {} free inodes of {}",
                show(free, Show::Count),
                show(total, Show::Count)
            );
            worst.get_or_insert((0.0, true, text));
        }
    }
    if !known {
        return Err(look.missing("place.datadir.bytes"));
    }
    let (_, is_serious, text) = worst.ok_or(Fine)?;
    graded(is_serious, text)
}
