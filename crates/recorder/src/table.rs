use model::Millis;

use crate::sources::{
    Outcome, database, disk, filesystem, host, logs, memory, network, own, packets, probes,
    process, profile, replica, stacks,
};

/// The thread a source runs on. Sources that can block together share one, so that none of them
/// holds up another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worker {
    /// Files of the host that never block.
    Host,
    /// Files of the server's process.
    Process,
    /// What may wait for the server's mmap_lock.
    Memory,
    /// The kept connection for status.
    Database,
    /// The kept connection to a replica, whose status may wait for a statement that stops it.
    Replica,
    /// The kept connection of the query probe.
    QueryProbe,
    /// The connect probe.
    ConnectProbe,
    /// All threads' stacks: copying them may wait for the server's mmap_lock.
    Stacks,
    /// Samples of what the processors run.
    Profile,
    /// Logs: a disk that hangs may hold up reading them.
    Logs,
    /// Packets on the server's port, which are read for nearly a second at a time.
    Packets,
}

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

pub(crate) enum Take {
    Host(fn(&mut host::HostState) -> Outcome),
    Process(fn(&mut process::ProcessState) -> Outcome),
    Memory(fn(&mut process::MemoryState) -> Outcome),
    Database(fn(&mut database::DatabaseState) -> Outcome),
    Replica(fn(&mut replica::ReplicaState) -> Outcome),
    QueryProbe(fn(&mut probes::QueryProbe) -> Outcome),
    ConnectProbe(fn(&mut probes::ConnectProbe) -> Outcome),
    Stacks(fn(&mut stacks::StackState) -> Outcome),
    Profile(fn(&mut profile::ProfileState) -> Outcome),
    Logs(fn(&mut logs::LogState) -> Outcome),
    Packets(fn(&mut packets::PacketState) -> Outcome),
}

/// A source: one line of the one table. The documentation and `freezeframe sources` are made of it.
pub struct SourceSpec {
    /// Name.
    pub name: &'static str,
    /// What it reads.
    pub reads: &'static str,
    /// Time between readings, milliseconds.
    pub cadence_ms: Millis,
    /// When a reading that is not back is called missing, milliseconds.
    pub deadline_ms: Millis,
    /// What it costs.
    pub cost: Cost,
    /// What it needs.
    pub needs: &'static str,
    pub(crate) take: Take,
}

impl SourceSpec {
    /// The thread it runs on.
    pub fn worker(&self) -> Worker {
        match self.take {
            Take::Host(_) => Worker::Host,
            Take::Process(_) => Worker::Process,
            Take::Memory(_) => Worker::Memory,
            Take::Database(_) => Worker::Database,
            Take::Replica(_) => Worker::Replica,
            Take::QueryProbe(_) => Worker::QueryProbe,
            Take::ConnectProbe(_) => Worker::ConnectProbe,
            Take::Stacks(_) => Worker::Stacks,
            Take::Profile(_) => Worker::Profile,
            Take::Logs(_) => Worker::Logs,
            Take::Packets(_) => Worker::Packets,
        }
    }

    /// It reads this host, which tells nothing of a server that runs on another one.
    pub(crate) fn is_of_host(&self) -> bool {
        let by_sql = matches!(
            self.take,
            Take::Database(_) | Take::Replica(_) | Take::QueryProbe(_) | Take::ConnectProbe(_)
        );
        // What is of the recorder itself: its own CPU, memory and clock.
        !by_sql && self.name != "own"
    }
}

const fn source(
    name: &'static str,
    reads: &'static str,
    cadence_ms: Millis,
    cost: Cost,
    needs: &'static str,
    take: Take,
) -> SourceSpec {
    SourceSpec {
        name,
        reads,
        cadence_ms,
        deadline_ms: match cost {
            // The connection has deadlines of its own; this is for the connect that has none.
            Cost::Connection => 4000,
            // Far beyond what any of these takes on a healthy machine.
            Cost::Small | Cost::Medium | Cost::Statement => 2000,
        },
        cost,
        needs,
        take,
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

/// Every source, in the order of their threads.
#[rustfmt::skip]
pub static SOURCES: &[SourceSpec] = &[
    source("stat", "/proc/stat: CPU time by mode and CPU, context switches, run queue", 1000, Cost::Small, NOTHING, Take::Host(host::stat)),
    source("pressure", "/proc/pressure: time that tasks waited for CPU, memory, I/O", 1000, Cost::Small, NOTHING, Take::Host(memory::pressure)),
    source("vmstat", "/proc/vmstat: compaction, huge pages, reclaim, swap, faults", 1000, Cost::Small, NOTHING, Take::Host(memory::vmstat)),
    source("meminfo", "/proc/meminfo", 1000, Cost::Small, NOTHING, Take::Host(memory::meminfo)),
    source("buddyinfo", "/proc/buddyinfo: free memory by block size", 1000, Cost::Small, NOTHING, Take::Host(memory::buddyinfo)),
    source("disk", "/proc/diskstats of whole disks", 1000, Cost::Small, NOTHING, Take::Host(disk::disks)),
    source("netstat", "/proc/net/netstat: listen overflows and drops", 1000, Cost::Small, NOTHING, Take::Host(network::netstat)),
    source("accept-queue", "sock_diag: connections that wait to be accepted by the server", 1000, Cost::Small, SOCKETS, Take::Host(network::accept_queue)),
    source("connections", "sock_diag: TCP connections with a request that has no answer", 1000, Cost::Medium, SOCKETS, Take::Host(network::connections)),
    source("thp", "/sys/kernel/mm/transparent_hugepage: settings", 10_000, Cost::Small, NOTHING, Take::Host(memory::thp)),
    source("host", "kernel, CPUs, memory", 60_000, Cost::Small, NOTHING, Take::Host(host::facts)),
    source("own", "the recorder's own CPU and memory, the wall clock's steps", 1000, Cost::Small, NOTHING, Take::Host(own::own)),
    source("process", "/proc/PID/stat and status of the server", 1000, Cost::Small, NOTHING, Take::Process(process::process)),
    source("threads", "/proc/PID/task/*/stat and schedstat of the server, by thread name", 1000, Cost::Medium, NOTHING, Take::Process(process::threads)),
    source("cgroup", "cpu.stat, memory.events, pids.events and limits of the server's cgroup", 1000, Cost::Small, NOTHING, Take::Process(process::cgroup)),
    source("server", "which process the server is, and its listening sockets", 5000, Cost::Small, SOCKETS, Take::Memory(process::identity)),
    source("allocator", "/proc/PID/maps, once per start of the server: the malloc in use", 5000, Cost::Small, PTRACE, Take::Memory(process::allocator)),
    source("status", "SHOW GLOBAL STATUS", 1000, Cost::Statement, LOGIN, Take::Database(database::status)),
    source("processlist", "SHOW PROCESSLIST: histograms and the longest sessions", 1000, Cost::Statement, PROCESS, Take::Database(database::processlist)),
    source("innodb", "SHOW ENGINE INNODB STATUS, and once more at a trigger", 10_000, Cost::Statement, PROCESS, Take::Database(database::innodb)),
    source("variables", "SHOW GLOBAL VARIABLES: at the start and what changes", 30_000, Cost::Statement, LOGIN, Take::Database(database::variables)),
    source("compression", "performance_schema: sessions with the compressed protocol, at a trigger only", 1000, Cost::Statement, "a login with SELECT on performance_schema", Take::Database(database::compression)),
    source("digests", "performance_schema: statements by class since the last reading", 10_000, Cost::Statement, "a login with SELECT on performance_schema", Take::Database(database::digests)),
    source("replica", "SHOW REPLICA STATUS: how far behind; once a minute where the server is no replica", 2000, Cost::Statement, REPLICATION, Take::Replica(replica::replica)),
    source("query-probe", "SELECT 1 on a kept connection", 200, Cost::Statement, LOGIN, Take::QueryProbe(probes::query)),
    source("connect-probe", "connect, greeting, authentication, quit", 1000, Cost::Connection, LOGIN, Take::ConnectProbe(probes::connect)),
    source("stacks", "stacks of all threads of the server, none is stopped, by BPF or else by /proc; ten a second at a trigger", 1000, Cost::Medium, BPF, Take::Stacks(stacks::snapshot)),
    source("profile", "what the processors run, kernel and user: 49 samples a second, 99 at a trigger", 1000, Cost::Medium, PERF, Take::Profile(profile::profile)),
    source("error-log", "new lines of the server's error log, without literals", 1000, Cost::Small, PTRACE, Take::Logs(logs::error_log)),
    source("filesystem", "statvfs of the server's data directory: how full its file system is", 5000, Cost::Small, PTRACE, Take::Logs(filesystem::filesystem)),
    source("kernel-log", "/dev/kmsg: new lines from warnings on, and on memory, disks, hung tasks", 1000, Cost::Small, SYSLOG, Take::Logs(logs::kernel_log)),
    source("packets", "statements on the server's TCP ports, at a trigger only: 10 s, then 5 s each minute", 1000, Cost::Medium, WIRE, Take::Packets(packets::packets)),
];

/// The index of a source by its name.
pub(crate) fn index_of(name: &str) -> Option<usize> {
    SOURCES.iter().position(|source| source.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_cadences_sane() {
        for (index, source) in SOURCES.iter().enumerate() {
            assert_eq!(index_of(source.name), Some(index), "{}", source.name);
            assert!(source.cadence_ms >= 200 && source.deadline_ms >= 1000);
        }
    }
}
