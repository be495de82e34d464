//! What the recorder reads, one row a source, with the areas of signals and facts that each brings. Threads, absences,
//! verdicts, redaction and documents take from here what they say of a source.

use crate::Millis;

/// What a source costs the machine or the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Under a tenth of a millisecond of CPU.
    Small,
    /// Up to a few milliseconds of CPU; limited by itself where it grows with the server.
    Medium,
    /// A statement of the server.
    Statement,
    /// A connection to the server.
    Connection,
}

/// A source: one row of the one table.
#[derive(Debug)]
pub struct SourceSpec {
    /// Name in checks, absences and the configuration (`buddyinfo`).
    pub name: &'static str,
    /// The files or statements that it reads, for people.
    pub reads: &'static str,
    /// Time between readings, milliseconds.
    pub cadence_ms: Millis,
    /// When a reading that is not back is called missing, milliseconds.
    pub deadline_ms: Millis,
    /// What a reading costs the machine or the server.
    pub cost: Cost,
    /// The right or the setting without which it is absent, for people.
    pub needs: &'static str,
    /// The areas that it brings; one that several bring is in the row of the first.
    pub areas: &'static [Area],
    /// What it is called in absences, beside its name.
    absent_as: &'static [&'static str],
}

impl SourceSpec {
    /// It asks the server; the others read this host, or the recorder itself.
    pub fn asks_server(&self) -> bool {
        matches!(self.cost, Cost::Statement | Cost::Connection)
    }

    /// It reads this host, which tells nothing of a server that runs on another one.
    pub fn is_of_host(&self) -> bool {
        // And what another one says of that host.
        !self.asks_server() && !self.is_of_recorder() && self.name != METRICS
    }

    /// It reads the recorder itself: its CPU, memory and clock.
    pub fn is_of_recorder(&self) -> bool {
        self.name == "own"
    }

    /// It is read of a server on this host, or `elsewhere` on another one.
    pub fn is_read(&self, elsewhere: bool) -> bool {
        match elsewhere {
            true => !self.is_of_host(),
            // Here the log itself is read, and the host.
            false => self.name != ERROR_LOG_TABLE && self.name != METRICS,
        }
    }

    /// It is missed there: not read, and nothing else is in its place.
    pub fn is_missed(&self, elsewhere: bool) -> bool {
        elsewhere && self.is_of_host() && self.name != "error-log"
    }

    /// It is read where its target names a way to it, and else no absence is told of it.
    pub fn is_named_by_target(&self) -> bool {
        self.name == METRICS
    }

    /// What it brings is of these sources as well, in coarser steps: they are not missed where it is read.
    pub fn stands_for(&self) -> &'static [&'static str] {
        match self.is_named_by_target() {
            true => &["stat", "meminfo", "disk", "filesystem"],
            false => &[],
        }
    }

    const fn slow(mut self) -> Self {
        self.deadline_ms = 30_000;
        self
    }

    const fn absent_as(mut self, names: &'static [&'static str]) -> Self {
        self.absent_as = names;
        self
    }
}

/// An area: the first component of the names of signals and facts, and where these are from. Signals of one source are
/// not independent of each other.
#[derive(Debug)]
pub struct Area {
    /// The first component.
    pub name: &'static str,
    /// The source's name in a verdict.
    pub source: &'static str,
    /// What its source says about causes.
    pub says: Says,
    /// What it is, as people call it.
    pub plain: &'static str,
    /// What takes it, for the reader who wants it the next time.
    pub taken_by: &'static str,
    /// What captures of other tools lack where it is absent.
    pub in_captures: &'static str,
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

impl Area {
    /// Whether an absence of this name is of the area.
    pub fn is_absent_as(&self, what: &str) -> bool {
        let mut takers = SOURCES.iter();
        let taker = takers.find(|source| source.areas.iter().any(|area| area.name == self.name));
        taker.is_some_and(|source| source.name == what || source.absent_as.contains(&what))
            // `stacks, profiles and locks` are absent together.
            || what
                .split(", ")
                .flat_map(|some| some.split(" and "))
                .any(|one| one.starts_with(self.name) || one.starts_with(self.source))
    }

    const fn from(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    const fn in_captures(mut self, name: &'static str) -> Self {
        self.in_captures = name;
        self
    }
}

use Cost::{Connection, Medium, Small, Statement};
use Says::{Deep, General, Usual};

const fn source(
    name: &'static str,
    reads: &'static str,
    cadence_ms: Millis,
    cost: Cost,
    needs: &'static str,
    areas: &'static [Area],
) -> SourceSpec {
    SourceSpec {
        name,
        reads,
        cadence_ms,
        deadline_ms: match cost {
            // The connection has deadlines of its own; this is for the connect that has none.
            Connection => 4000,
            // Far beyond what any of these takes on a healthy machine.
            Small | Medium | Statement => 2000,
        },
        cost,
        needs,
        areas,
        absent_as: &[],
    }
}

const fn area(name: &'static str, says: Says, plain: &'static str, taken_by: &'static str) -> Area {
    Area {
        name,
        source: name,
        says,
        plain,
        taken_by,
        in_captures: "processors, memory and disks of the host",
    }
}

const NOTHING: &str = "nothing";
const PTRACE: &str = "the server's user, or CAP_SYS_PTRACE";
const BPF: &str = "CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE";
const PERF: &str = "CAP_PERFMON; user stacks as allocator";
const WIRE: &str = "CAP_NET_RAW";
const SYSLOG: &str = "CAP_SYSLOG, or kernel.dmesg_restrict = 0";
const SOCKETS: &str = "as allocator, and CAP_DAC_READ_SEARCH";
const LOGIN: &str = "a login";
const PROCESS: &str = "a login with PROCESS";
const REPLICATION: &str = "a login with REPLICATION CLIENT (MariaDB: SLAVE MONITOR)";
const PERFORMANCE_SCHEMA: &str = "a login with SELECT on performance_schema";

const ERROR_LOG_TABLE: &str = "error-log-table";
const METRICS: &str = "metrics";
const STATUS: &str = "SHOW ENGINE INNODB STATUS, needs a login with PROCESS";
const DIGESTS: &str = "performance_schema's digests of statements, where it is on";

/// Every source. Those of one thread are read in this order.
#[rustfmt::skip]
pub static SOURCES: &[SourceSpec] = &[
    source("stat", "/proc/stat: CPU time by mode and CPU, context switches, run queue", 1000, Small, NOTHING, &[
        area("cpu", General, "the load of the processors", "/proc/stat"),
    ]),
    source("pressure", "/proc/pressure: time that tasks waited for CPU, memory, I/O", 1000, Small, NOTHING, &[
        area("psi", General, "the kernel's pressure figures", "/proc/pressure, Linux 4.20 and later with PSI on"),
    ]),
    source("vmstat", "/proc/vmstat: compaction, huge pages, reclaim, swap, faults", 1000, Small, NOTHING, &[
        area("vmstat", Usual, "the kernel's memory figures", "/proc/vmstat"),
    ]),
    source("meminfo", "/proc/meminfo", 1000, Small, NOTHING, &[
        area("meminfo", Usual, "the kernel's memory figures", "/proc/meminfo"),
    ]),
    source("buddyinfo", "/proc/buddyinfo: free memory by block size", 1000, Small, NOTHING, &[
        area("buddyinfo", Usual, "the kernel's memory figures", "/proc/buddyinfo"),
    ]),
    source("disk", "/proc/diskstats of whole disks", 1000, Small, NOTHING, &[
        area("disk", Usual, "the load of the disks", "/proc/diskstats"),
    ]),
    source("netstat", "/proc/net/netstat: listen overflows and drops", 1000, Small, NOTHING, &[
        area("net", Usual, "the network's queues", "/proc/net/netstat"),
    ]),
    source("accept-queue", "sock_diag: connections that wait to be accepted by the server", 1000, Small, SOCKETS, &[
        area("accept_queue", Usual, "the network's queues", "the listening sockets' queues"),
    ]).absent_as(&["accept queue"]),
    source("connections", "sock_diag: TCP connections with a request that has no answer", 1000, Medium, SOCKETS, &[
        area("connections", Usual, "the network's queues", "the kernel's times of each TCP connection (sock_diag), in the server's network namespace"),
    ]),
    source("thp", "/sys/kernel/mm/transparent_hugepage: settings", 10_000, Small, NOTHING, &[
        area("thp", Usual, "the kernel's settings", "/sys/kernel/mm/transparent_hugepage and /proc/PID/status"),
    ]),
    source("host", "kernel, CPUs, memory", 60_000, Small, NOTHING, &[
        area("host", Deep, "the kernel's settings", "the host's /proc and /sys"),
        area("sysctl", Usual, "the kernel's settings", "/proc/sys"),
    ]),
    source("own", "the recorder's own CPU and memory, the wall clock's steps", 1000, Small, NOTHING, &[
        area("recorder", General, "the recorder's own figures", "the recorder itself"),
        area("clock", Usual, "the clock", "the recorder's clock"),
    ]),
    source("process", "/proc/PID/stat and status of the server", 1000, Small, NOTHING, &[
        area("process", General, "the load of the server's threads", "/proc/PID/stat of the server").from("threads").in_captures("stacks of all threads"),
    ]),
    source("threads", "/proc/PID/task/*/stat and schedstat of the server, by thread name", 1000, Medium, NOTHING, &[
        area("threads", General, "the load of the server's threads", "/proc/PID/task of the server").in_captures("stacks of all threads"),
    ]),
    source("cgroup", "cpu.stat, memory.events, pids.events and limits of the server's cgroup", 1000, Small, NOTHING, &[
        area("cgroup", Deep, "the limits of the server's control group", "the control group's files"),
    ]),
    source("server", "which process the server is, and its listening sockets", 5000, Small, SOCKETS, &[]),
    source("allocator", "/proc/PID/maps, once per start of the server: the malloc in use", 5000, Small, PTRACE, &[]),
    source("status", "SHOW GLOBAL STATUS", 1000, Statement, LOGIN, &[
        area("status", Usual, "the server's counters", "SHOW GLOBAL STATUS, needs a login").in_captures("server status, repeated"),
    ]),
    source("processlist", "SHOW PROCESSLIST: histograms and the longest sessions", 1000, Statement, PROCESS, &[
        area("processlist", Usual, "the list of sessions", "the processlist, needs a login with PROCESS").in_captures("processlist"),
    ]),
    source("innodb", "SHOW ENGINE INNODB STATUS, and once more at a trigger", 10_000, Statement, PROCESS, &[
        area("innodb", Usual, "the status of InnoDB", STATUS).in_captures("InnoDB status"),
        area("semaphores", Usual, "the status of InnoDB", STATUS).from("innodb").in_captures("InnoDB status"),
    ]),
    source("variables", "SHOW GLOBAL VARIABLES: at the start and what changes", 30_000, Statement, LOGIN, &[
        area("variables", Usual, "the server's settings", "SHOW GLOBAL VARIABLES, needs a login").in_captures("server variables"),
    ]),
    source("compression", "performance_schema: sessions with the compressed protocol, at a trigger only", 1000, Statement, PERFORMANCE_SCHEMA, &[
        area("sessions", Usual, "which sessions use compression", "performance_schema.status_by_thread, where performance_schema is on"),
    ]).absent_as(&["compressed sessions"]),
    source("digests", "performance_schema: statements by class since the last reading", 10_000, Statement, PERFORMANCE_SCHEMA, &[
        area("digests", Deep, "which statements ran", DIGESTS).from("performance_schema").in_captures("statements"),
        area("performance_schema", Deep, "which statements ran", DIGESTS).in_captures("statements"),
    ]).absent_as(&["statement digests"]),
    source(ERROR_LOG_TABLE, "performance_schema.error_log, of a server on another host: new lines of its error log, without literals", 5000, Statement, PERFORMANCE_SCHEMA, &[]),
    source(METRICS, "a file or command that a target on another host names: what its operator says of that host", 1000, Small, "`metrics` of the target", &[]).slow(),
    source("replica", "SHOW REPLICA STATUS: how far behind; once a minute where the server is no replica", 2000, Statement, REPLICATION, &[
        area("replica", Deep, "the state of replication", "SHOW REPLICA STATUS, needs a login with REPLICATION CLIENT (MariaDB: SLAVE MONITOR)"),
    ]),
    source("query-probe", "SELECT 1 on a kept connection", 200, Statement, LOGIN, &[
        area("probe", Usual, "the test queries", "the query and connect probes"),
    ]).absent_as(&["query probe", "connect-probe", "connect probe"]),
    source("connect-probe", "connect, greeting, authentication, quit", 1000, Connection, LOGIN, &[]),
    source("stacks", "stacks of all threads of the server, none is stopped, by BPF or else by /proc; ten a second at a trigger", 1000, Medium, BPF, &[
        area("stacks", Deep, "what each thread of the server did", "snapshots of all threads, by BPF or /proc (freezeframe check says what they need)").in_captures("stacks of all threads"),
    ]),
    source("profile", "what the processors run, kernel and user: 49 samples a second, 99 at a trigger", 1000, Medium, PERF, &[
        area("profile", Deep, "where the processors were", "perf events, need CAP_PERFMON").in_captures("profile of the processors"),
    ]),
    source("error-log", "new lines of the server's error log, without literals", 1000, Small, PTRACE, &[
        area("error_log", Deep, "the server's error log", "the server's error log, needs to be readable for the recorder").in_captures("error log"),
    ]),
    source("filesystem", "statvfs of the server's data directory: how full its file system is", 5000, Small, PTRACE, &[
        area("filesystem", Usual, "how full the disks are", "statvfs of the data directory; df -k, in captures of other tools"),
    ]),
    source("kernel-log", "/dev/kmsg: new lines from warnings on, and on memory, disks, hung tasks", 1000, Small, SYSLOG, &[
        area("kernel_log", Deep, "the kernel's log", "/dev/kmsg, needs CAP_SYSLOG or kernel.dmesg_restrict = 0").in_captures("kernel log"),
    ]),
    source("packets", "statements on the server's TCP ports, at a trigger only: 10 s, then 5 s each minute", 1000, Medium, WIRE, &[
        area("packets", Deep, "which statements ran", "packets on the server's port from the trigger on, need CAP_NET_RAW and clients that use TCP without TLS").in_captures("statements"),
        area("statements", Deep, "which statements ran", "performance_schema's digests of statements, or packets on the server's port from the trigger on").in_captures("statements"),
    ]),
];

/// Areas that only captures of other tools have.
#[rustfmt::skip]
static OF_OTHERS: [Area; 4] = [
    area("interrupts", Usual, "the interrupts", "/proc/interrupts, in captures of other tools"),
    area("plockstat", Deep, "what each thread of the server did", "plockstat of Solaris, in captures of other tools").from("stacks"),
    area("slab", Usual, "the kernel's memory figures", "/proc/slabinfo, in captures of other tools"),
    area("numa", Usual, "the kernel's memory figures", "numastat, in captures of other tools"),
];

/// Every area.
pub fn areas() -> impl Iterator<Item = &'static Area> {
    let taken = SOURCES.iter().flat_map(|source| source.areas);
    taken.chain(&OF_OTHERS)
}

/// The area of a signal or fact, by its name.
pub fn area_of(name: &str) -> Option<&'static Area> {
    let first = name.split('.').next().unwrap_or(name);
    areas().find(|area| area.name == first)
}

/// What a source says about causes; one that is no area's says what most do.
pub fn source_says(source: &str) -> Says {
    let known = areas().find(|area| area.source == source);
    known.map_or(Usual, |area| area.says)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_cadences_sane() {
        for source in SOURCES {
            let of_name = SOURCES.iter().filter(|other| other.name == source.name);
            assert_eq!(of_name.count(), 1, "{}", source.name);
            assert!(source.cadence_ms >= 200 && source.deadline_ms >= 1000);
        }
        for area in areas() {
            let of_name = areas().filter(|other| other.name == area.name);
            assert_eq!(of_name.count(), 1, "{}", area.name);
        }
    }
    #[test]
    fn what_a_reader_says_is_absent_is_of_its_area() {
        let is_of = |area: &str, what: &str| {
            super::area_of(area).is_some_and(|area| area.is_absent_as(what))
        };
        assert!(is_of("digests", "statement digests"));
        assert!(is_of("probe", "query probe"));
        assert!(!is_of("probe", "statement digests"));
    }
}
