//! From which source a signal is, and what takes it.

use model::Incident;

/// A source of evidence. Signals of one source are not independent of each other.
struct Origin {
    /// First component of the signals' and facts' names.
    prefix: &'static str,
    /// The source's name in a verdict.
    source: &'static str,
    /// What takes it, for the reader who wants it the next time.
    taken_by: &'static str,
}

const fn origin(prefix: &'static str, source: &'static str, taken_by: &'static str) -> Origin {
    Origin {
        prefix,
        source,
        taken_by,
    }
}

const ORIGINS: [Origin; 38] = [
    origin("status", "status", "SHOW GLOBAL STATUS, needs a login"),
    origin(
        "processlist",
        "processlist",
        "the processlist, needs a login with PROCESS",
    ),
    origin(
        "innodb",
        "innodb",
        "SHOW ENGINE INNODB STATUS, needs a login with PROCESS",
    ),
    origin(
        "sessions",
        "sessions",
        "performance_schema.status_by_thread, where performance_schema is on",
    ),
    origin(
        "semaphores",
        "innodb",
        "SHOW ENGINE INNODB STATUS, needs a login with PROCESS",
    ),
    origin(
        "error_log",
        "error_log",
        "the server's error log, needs to be readable for the recorder",
    ),
    origin(
        "kernel_log",
        "kernel_log",
        "/dev/kmsg, needs CAP_SYSLOG or kernel.dmesg_restrict = 0",
    ),
    origin("probe", "probe", "the query and connect probes"),
    origin("cpu", "cpu", "/proc/stat"),
    origin(
        "psi",
        "psi",
        "/proc/pressure, Linux 4.20 and later with PSI on",
    ),
    origin("vmstat", "vmstat", "/proc/vmstat"),
    origin("meminfo", "meminfo", "/proc/meminfo"),
    origin("buddyinfo", "buddyinfo", "/proc/buddyinfo"),
    origin("disk", "disk", "/proc/diskstats"),
    origin("net", "net", "/proc/net/netstat"),
    origin(
        "filesystem",
        "filesystem",
        "statvfs of the data directory; df -k, in captures of other tools",
    ),
    origin(
        "replica",
        "replica",
        "SHOW REPLICA STATUS, needs a login with REPLICATION CLIENT (MariaDB: SLAVE MONITOR)",
    ),
    origin(
        "interrupts",
        "interrupts",
        "/proc/interrupts, in captures of other tools",
    ),
    origin(
        "plockstat",
        "stacks",
        "plockstat of Solaris, in captures of other tools",
    ),
    origin("slab", "slab", "/proc/slabinfo, in captures of other tools"),
    origin("numa", "numa", "numastat, in captures of other tools"),
    origin(
        "accept_queue",
        "accept_queue",
        "the listening sockets' queues",
    ),
    origin(
        "connections",
        "connections",
        "the kernel's times of each TCP connection (sock_diag), in the server's network namespace",
    ),
    origin("cgroup", "cgroup", "the control group's files"),
    origin("process", "threads", "/proc/PID/stat of the server"),
    origin("threads", "threads", "/proc/PID/task of the server"),
    origin(
        "stacks",
        "stacks",
        "snapshots of all threads, by BPF or /proc (freezeframe check says what they need)",
    ),
    origin("profile", "profile", "perf events, need CAP_PERFMON"),
    origin(
        "packets",
        "packets",
        "packets on the server's port from the trigger on, need CAP_NET_RAW and clients that use TCP without TLS",
    ),
    origin(
        "digests",
        "performance_schema",
        "performance_schema's digests of statements, where it is on",
    ),
    origin(
        "performance_schema",
        "performance_schema",
        "performance_schema's digests of statements, where it is on",
    ),
    origin(
        "statements",
        "statements",
        "performance_schema's digests of statements, or packets on the server's port from the trigger on",
    ),
    origin("sysctl", "sysctl", "/proc/sys"),
    origin("clock", "clock", "the recorder's clock"),
    origin("recorder", "recorder", "the recorder itself"),
    origin(
        "variables",
        "variables",
        "SHOW GLOBAL VARIABLES, needs a login",
    ),
    origin(
        "thp",
        "thp",
        "/sys/kernel/mm/transparent_hugepage and /proc/PID/status",
    ),
    origin("host", "host", "the host's /proc and /sys"),
];

/// What sources are called in absences, where that is not the first component of their signals.
const ABSENT_AS: [(&str, &str); 11] = [
    ("stat", "cpu"),
    ("pressure", "psi"),
    ("netstat", "net"),
    ("accept queue", "accept_queue"),
    ("accept-queue", "accept_queue"),
    ("error-log", "error_log"),
    ("kernel-log", "kernel_log"),
    ("compressed sessions", "sessions"),
    ("query probe", "probe"),
    ("connect probe", "probe"),
    ("probe answer", "probe"),
];

fn of(name: &str) -> Option<&'static Origin> {
    let prefix = name.split('.').next().unwrap_or(name);
    ORIGINS.iter().find(|origin| origin.prefix == prefix)
}

/// The source of a signal or fact: what witnesses must differ in to be independent.
pub(crate) fn source_of(name: &str) -> String {
    let prefix = name.split('.').next().unwrap_or(name);
    of(name).map_or(prefix, |origin| origin.source).to_owned()
}

/// Names that are told of one source, at the most.
const NAMES_MAX: usize = 3;

/// Says that signals or facts of one source are missing, what would have taken them, and why it did not.
pub(crate) fn missing(incident: &Incident, names: &[&str]) -> String {
    let Some(first) = names.first() else {
        return String::new();
    };
    let told = names.len().min(NAMES_MAX);
    let mut listed = names.get(..told).unwrap_or_default().join(", ");
    match (names.len(), names.len() - told) {
        (1, _) => listed.push_str(" is"),
        (_, 0) => listed.push_str(" are"),
        (_, more) => listed.push_str(&format!(" and {more} more are")),
    }
    let Some(origin) = of(first) else {
        return format!("{listed} not in the record");
    };
    let mut text = format!("{listed} not in the record; taken by {}", origin.taken_by);
    let why = incident.absent.iter().find(|timed| {
        let what = timed.absent.what.as_str();
        let alias = ABSENT_AS.iter().find(|(told, _)| *told == what);
        match alias {
            Some((_, prefix)) => *prefix == origin.prefix,
            // `stacks, profiles and locks` are absent together.
            None => what
                .split(", ")
                .flat_map(|some| some.split(" and "))
                .any(|one| one.starts_with(origin.prefix) || one.starts_with(origin.source)),
        }
    });
    if let Some(timed) = why {
        text.push_str(&format!(
            " ({}: {})",
            timed.absent.reason.words(),
            timed.absent.detail
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use model::{Absent, Incident, Reason, Server, Stall, TimedAbsent, Timeline, Window};

    use super::*;

    #[test]
    fn the_reason_is_found_under_the_name_that_the_recorder_tells() {
        let incident = |what: &str| Incident {
            mentions: Vec::new(),
            id: String::new(),
            host: String::new(),
            tool_version: String::new(),
            server: Server::default(),
            clock: model::Clock::default(),
            stall: Stall {
                earlier: Vec::new(),
                onset: 0,
                trigger: 0,
                end: None,
                triggers: Vec::new(),
            },
            window: Window { from: 0, to: 0 },
            timeline: Timeline::default(),
            texts: Vec::new(),
            facts: Vec::new(),
            stacks: model::StackEvidence::default(),
            queries: Vec::new(),
            absent: vec![TimedAbsent {
                first: 0,
                last: 0,
                count: 1,
                absent: Absent::new(what, Reason::Permission, "the reason"),
            }],
        };
        for (what, signal) in [
            ("pressure", "psi.io.some_us"),
            ("stat", "cpu.system_share"),
            ("compressed sessions", "sessions.compressed"),
            ("status", "status.Questions"),
            ("innodb status", "innodb.lock_waits"),
            ("stacks, profiles and locks", "profile"),
        ] {
            let text = missing(&incident(what), &[signal]);
            assert!(
                text.ends_with("(not permitted: the reason)"),
                "{what}: {text}"
            );
        }
        let other = missing(&incident("status"), &["cpu.system_share"]);
        assert!(!other.contains("the reason"), "{other}");
    }
}
