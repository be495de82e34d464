//! Areas of signals and facts: from which source they are, and what takes it.

/// An area: the first component of the names of signals and facts, and where these are from. Signals of one source are
/// not independent of each other.
#[derive(Debug)]
pub struct Area {
    /// The first component.
    pub name: &'static str,
    /// The source's name in a verdict.
    pub source: &'static str,
    /// What takes it, for the reader who wants it the next time.
    pub taken_by: &'static str,
    /// What its source says about causes.
    pub says: Says,
    /// What it is called in absences, where that is not its name.
    pub absent_as: &'static [&'static str],
}

/// What a source says about causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// What points at a cause, and is there on most systems.
    Usual,
    /// What many systems do not have, or captures of other tools: that it is absent is no reason to name every cause
    /// that could be looked for in it.
    Deep,
    /// It rises with any trouble: it points at no cause in particular.
    General,
}

use Says::{Deep, General, Usual};

const fn area(
    name: &'static str,
    source: &'static str,
    says: Says,
    taken_by: &'static str,
    absent_as: &'static [&'static str],
) -> Area {
    Area {
        name,
        source,
        taken_by,
        says,
        absent_as,
    }
}

const STATUS: &str = "SHOW ENGINE INNODB STATUS, needs a login with PROCESS";
const DIGESTS: &str = "performance_schema's digests of statements, where it is on";

/// Every area.
#[rustfmt::skip]
pub static AREAS: [Area; 38] = [
    area("status", "status", Usual, "SHOW GLOBAL STATUS, needs a login", &[]),
    area("processlist", "processlist", Usual, "the processlist, needs a login with PROCESS", &[]),
    area("innodb", "innodb", Usual, STATUS, &[]),
    area("sessions", "sessions", Usual, "performance_schema.status_by_thread, where performance_schema is on", &["compressed sessions"]),
    area("semaphores", "innodb", Usual, STATUS, &[]),
    area("error_log", "error_log", Deep, "the server's error log, needs to be readable for the recorder", &["error-log"]),
    area("kernel_log", "kernel_log", Deep, "/dev/kmsg, needs CAP_SYSLOG or kernel.dmesg_restrict = 0", &["kernel-log"]),
    area("probe", "probe", Usual, "the query and connect probes", &["query probe", "connect probe", "probe answer"]),
    area("cpu", "cpu", General, "/proc/stat", &["stat"]),
    area("psi", "psi", General, "/proc/pressure, Linux 4.20 and later with PSI on", &["pressure"]),
    area("vmstat", "vmstat", Usual, "/proc/vmstat", &[]),
    area("meminfo", "meminfo", Usual, "/proc/meminfo", &[]),
    area("buddyinfo", "buddyinfo", Usual, "/proc/buddyinfo", &[]),
    area("disk", "disk", Usual, "/proc/diskstats", &[]),
    area("net", "net", Usual, "/proc/net/netstat", &["netstat"]),
    area("filesystem", "filesystem", Usual, "statvfs of the data directory; df -k, in captures of other tools", &[]),
    area("replica", "replica", Deep, "SHOW REPLICA STATUS, needs a login with REPLICATION CLIENT (MariaDB: SLAVE MONITOR)", &[]),
    area("interrupts", "interrupts", Usual, "/proc/interrupts, in captures of other tools", &[]),
    area("plockstat", "stacks", Deep, "plockstat of Solaris, in captures of other tools", &[]),
    area("slab", "slab", Usual, "/proc/slabinfo, in captures of other tools", &[]),
    area("numa", "numa", Usual, "numastat, in captures of other tools", &[]),
    area("accept_queue", "accept_queue", Usual, "the listening sockets' queues", &["accept queue", "accept-queue"]),
    area("connections", "connections", Usual, "the kernel's times of each TCP connection (sock_diag), in the server's network namespace", &[]),
    area("cgroup", "cgroup", Deep, "the control group's files", &[]),
    area("process", "threads", General, "/proc/PID/stat of the server", &[]),
    area("threads", "threads", General, "/proc/PID/task of the server", &[]),
    area("stacks", "stacks", Deep, "snapshots of all threads, by BPF or /proc (freezeframe check says what they need)", &[]),
    area("profile", "profile", Deep, "perf events, need CAP_PERFMON", &[]),
    area("packets", "packets", Deep, "packets on the server's port from the trigger on, need CAP_NET_RAW and clients that use TCP without TLS", &[]),
    area("digests", "performance_schema", Deep, DIGESTS, &[]),
    area("performance_schema", "performance_schema", Deep, DIGESTS, &[]),
    area("statements", "statements", Deep, "performance_schema's digests of statements, or packets on the server's port from the trigger on", &[]),
    area("sysctl", "sysctl", Usual, "/proc/sys", &[]),
    area("clock", "clock", Usual, "the recorder's clock", &[]),
    area("recorder", "recorder", General, "the recorder itself", &[]),
    area("variables", "variables", Usual, "SHOW GLOBAL VARIABLES, needs a login", &[]),
    area("thp", "thp", Usual, "/sys/kernel/mm/transparent_hugepage and /proc/PID/status", &[]),
    area("host", "host", Deep, "the host's /proc and /sys", &[]),
];

/// The area of a signal or fact, by its name.
pub fn area_of(name: &str) -> Option<&'static Area> {
    let first = name.split('.').next().unwrap_or(name);
    AREAS.iter().find(|area| area.name == first)
}

/// What a source says about causes; one that is no area's says what most do.
pub fn source_says(source: &str) -> Says {
    let known = AREAS.iter().find(|area| area.source == source);
    known.map_or(Usual, |area| area.says)
}
