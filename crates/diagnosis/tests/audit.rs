//! Each rule of the audit with what makes it speak and with what must not.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;

use diagnosis::{Catalogue, Look, Severity, audit, rules};
use model::{
    Absent, FrameSide, ProcessList, Profile, ProfileCount, Reading, Reason, Session, StackEnd,
    StackFrame, StackTable, TimedAbsent, Unit,
};

const MIB: f64 = (1_u64 << 20) as f64;
const GIB: f64 = (1_u64 << 30) as f64;

/// Seconds of a look.
const SECONDS: u64 = 4;

/// Changes to a healthy server.
#[derive(Clone, Copy)]
enum Change {
    /// A fact.
    Fact(&'static str, &'static str),
    /// A level.
    Level(&'static str, f64),
    /// A counter: growth a second, and its value at the begin.
    Counter(&'static str, f64, f64),
    /// Sessions in a state: how many, how long each.
    State(&'static str, u64, f64),
    /// A session of another host, in a state.
    Host(&'static str, &'static str),
    /// A function of the server in so many of 100 samples.
    Function(&'static str, u64),
}
use Change::{Counter, Fact, Function, Host, Level, State};

/// A server of 2 GiB on 16 GiB and 4 processors, which does a little of everything.
fn healthy() -> Vec<Change> {
    vec![
        Fact("thp.enabled", "always"),
        Fact("thp.defrag", "madvise"),
        Fact("thp.server", "1"),
        Fact("server.allocator", "glibc"),
        Fact("server.version", "10.11.14-MariaDB"),
        Fact("host.memory_bytes", "17179869184"),
        Fact("host.cpus", "4"),
        Fact("host.numa_nodes", "0"),
        Fact("host.uptime_seconds", "86400.5"),
        Fact("process.mems_allowed", "0"),
        Fact("process.open_files", "60"),
        Fact("limits.open_files", "32184"),
        Fact("limits.core_bytes", "0"),
        Fact("sysctl.kernel.core_pattern", "core"),
        Fact("sysctl.vm.swappiness", "60"),
        Fact("sysctl.vm.zone_reclaim_mode", "0"),
        Fact("sysctl.vm.min_free_kbytes", "67584"),
        Fact("sysctl.vm.dirty_ratio", "20"),
        Fact("sysctl.vm.dirty_bytes", "0"),
        Fact("sysctl.net.core.somaxconn", "4096"),
        Fact("cgroup.cpu_max", "200000 100000"),
        Fact("cgroup.memory_max", "8589934592"),
        Fact("cgroup.pids_max", "4915"),
        Fact("variables.thread_handling", "one-thread-per-connection"),
        Level("cgroup.pids.current", 40.0),
        Fact("place.datadir.path", "/var/lib/mysql"),
        Fact("place.datadir.file_system", "ext4"),
        Fact("place.datadir.mount_options", "rw,relatime,discard"),
        Fact("place.datadir.bytes", "107374182400"),
        Fact("place.datadir.free_bytes", "53687091200"),
        Fact("place.datadir.inodes", "6553600"),
        Fact("place.datadir.free_inodes", "6000000"),
        Fact("variables.innodb_buffer_pool_size", "2147483648"),
        Fact("variables.innodb_log_file_size", "1073741824"),
        Fact("variables.innodb_log_buffer_size", "16777216"),
        Fact("variables.innodb_io_capacity", "200"),
        Fact("variables.innodb_doublewrite", "ON"),
        Fact("variables.innodb_flush_method", "fsync"),
        Fact("variables.innodb_thread_concurrency", "0"),
        Fact("variables.innodb_numa_interleave", "OFF"),
        Fact("variables.sort_buffer_size", "2097152"),
        Fact("variables.join_buffer_size", "262144"),
        Fact("variables.max_connections", "151"),
        Fact("variables.table_open_cache", "2000"),
        Fact("variables.open_files_limit", "32184"),
        Fact("variables.query_cache_type", "OFF"),
        Fact("variables.query_cache_size", "1048576"),
        Fact("variables.general_log", "OFF"),
        Fact("variables.log_output", "FILE"),
        Fact("variables.slow_query_log", "ON"),
        Fact("variables.long_query_time", "10.000000"),
        Fact("variables.time_zone", "SYSTEM"),
        Fact("variables.performance_schema", "ON"),
        Fact("variables.skip_name_resolve", "OFF"),
        Fact("variables.back_log", "80"),
        Level("process.resident_bytes", GIB),
        Level("process.swap_bytes", 0.0),
        Level("meminfo.SwapTotal", 2.0 * GIB),
        Level("meminfo.MemAvailable", 8.0 * GIB),
        Level("meminfo.Dirty", 20.0 * MIB),
        Level("cpu.steal_share", 0.01),
        Level("accept_queue.tcp.limit", 80.0),
        Level("accept_queue.tcp.length", 0.0),
        Level("sessions.compressed", 0.0),
        Level("sessions.counted", 10.0),
        Level("innodb.active_seconds_max", 3.0),
        Level("innodb.history_list_length", 40.0),
        Level("innodb.checkpoint_age_bytes", 10.0 * MIB),
        Level("innodb.queries_in_queue", 0.0),
        Level("status.Threads_connected", 20.0),
        Level("status.Threads_running", 3.0),
        Level("status.Max_used_connections", 40.0),
        Level("status.Open_tables", 300.0),
        Level("status.Innodb_row_lock_current_waits", 0.0),
        Level("status.Innodb_checkpoint_age", 100.0 * MIB),
        Level("status.Innodb_checkpoint_max_age", 800.0 * MIB),
        Level("status.Innodb_buffer_pool_pages_dirty", 1000.0),
        Level("status.Innodb_buffer_pool_pages_total", 131_072.0),
        Level("status.wsrep_flow_control_paused", 0.0),
        Counter("vmstat.compact_stall", 0.0, 20.0),
        Counter("vmstat.pswpin", 0.0, 100.0),
        Counter("vmstat.pgscan_direct", 0.0, 100.0),
        Counter("net.listen_overflows", 0.0, 23.0),
        Counter("cgroup.cpu.nr_periods", 10.0, 1e6),
        Counter("cgroup.cpu.nr_throttled", 0.0, 100.0),
        Counter("cgroup.memory.oom_kill", 0.0, 0.0),
        Counter("cgroup.memory.max", 0.0, 12.0),
        Counter("disk.vda.flushes", 20.0, 1e5),
        Counter("disk.vda.flush_ms", 40.0, 2e5),
        Counter("disk.vda.discards", 10.0, 1e5),
        Counter("status.Questions", 500.0, 1e6),
        Counter("status.Connections", 2.0, 1e4),
        Counter("status.Com_show_warnings", 1.0, 100.0),
        Counter("status.Slow_queries", 0.0, 9.0),
        Counter("status.Opened_tables", 0.0, 400.0),
        Counter("status.Sort_scan", 30.0, 1e4),
        Counter("status.Select_full_join", 0.0, 10.0),
        Counter("status.Created_tmp_tables", 20.0, 1e4),
        Counter("status.Created_tmp_disk_tables", 1.0, 100.0),
        Counter("status.Qcache_hits", 0.0, 0.0),
        Counter("status.Qcache_inserts", 0.0, 0.0),
        Counter("status.Qcache_lowmem_prunes", 0.0, 0.0),
        Counter("status.Innodb_buffer_pool_reads", 5.0, 1e5),
        Counter("status.Innodb_buffer_pool_read_requests", 50_000.0, 1e9),
        Counter("status.Innodb_buffer_pool_wait_free", 0.0, 0.0),
        Counter("status.Innodb_buffer_pool_pages_flushed", 50.0, 1e5),
        Counter("status.Innodb_os_log_written", 100_000.0, 1e9),
        Counter("status.Innodb_log_waits", 0.0, 0.0),
        Counter("status.Innodb_data_written", 200_000.0, 1e9),
        Counter("status.Innodb_dblwr_pages_written", 50.0, 1e6),
        Counter("status.Innodb_dblwr_writes", 2.0, 1e5),
        Function("do_select", 40),
    ]
}

fn look(changes: &[Change]) -> Look {
    let mut look = Look::default();
    let mut list = ProcessList::default();
    let (mut book, mut counts) = (StackTable::default(), Vec::new());
    let mut readings: Vec<Vec<Reading>> = vec![Vec::new(); SECONDS as usize + 1];
    let mut put = |name: &'static str, counter: bool, value: &dyn Fn(f64) -> f64| {
        for (second, row) in readings.iter_mut().enumerate() {
            row.retain(|reading| reading.name != name);
            let value = value(second as f64);
            row.push(if counter {
                Reading::counter(name, Unit::Count, value)
            } else {
                Reading::gauge(name, Unit::Count, value)
            });
        }
    };
    let session = |user: &str, host: &str, state: &str, seconds: f64| Session {
        id: 1,
        user: user.to_owned(),
        host: host.to_owned(),
        db: String::new(),
        command: "Query".to_owned(),
        seconds,
        state: state.to_owned(),
        statement: String::new(),
    };
    list.longest.push(session("app", "localhost", "", 0.0));
    for change in changes {
        match *change {
            Fact(name, value) => {
                look.facts.insert(name.to_owned(), value.to_owned());
            }
            Level(name, value) => put(name, false, &|_| value),
            Counter(name, rate, begin) => put(name, true, &|second| begin + rate * second),
            State(state, count, seconds) => {
                list.by_state.insert(state.to_owned(), count);
                list.longest
                    .push(session("app", "localhost", state, seconds));
            }
            Host(host, state) => list.longest.push(session("app", host, state, 3.0)),
            Function(name, count) => {
                let frame = StackFrame {
                    name: name.to_owned(),
                    image: "mysqld".to_owned(),
                    side: FrameSide::User,
                    nameless: None,
                };
                let stack = book.intern([frame], StackEnd::Complete);
                counts.push(ProfileCount {
                    stack,
                    thread: "mysqld".to_owned(),
                    server: true,
                    count,
                });
            }
        }
    }
    for (second, row) in readings.iter().enumerate() {
        look.timeline
            .push_readings("all", second as u64 * 1000, row);
    }
    let counted: u64 = counts.iter().map(|row| row.count).sum();
    if let Some(first) = counts.first_mut() {
        first.count += 100_u64.saturating_sub(counted);
    }
    look.stacks.table = book;
    look.stacks.profiles.push(Profile {
        from: 0,
        to: SECONDS * 1000,
        hz: 49,
        processors: 4,
        counts,
        lost: 0,
    });
    look.processlist = Some(list);
    look
}

/// What a rule says about a healthy server with these changes.
fn says(rule: &str, changes: &[Change]) -> Option<(Severity, String)> {
    let mut all = healthy();
    all.extend(changes);
    let audit = audit(&look(&all));
    assert!(
        !audit.not_judged.iter().any(|not| not.rule == rule),
        "{rule}: {:?}",
        audit.not_judged
    );
    let line = audit.lines.into_iter().find(|line| line.rule == rule)?;
    Some((line.severity, line.saw))
}

#[test]
fn strangers_are_told_no_host_no_path_and_no_program() {
    let changes = [
        Host("payroll-web3.acme.internal", "login"),
        Fact("place.datadir.path", "/srv/acme_prod/mysql"),
        Fact("place.datadir.free_bytes", "209715200"),
    ];
    let mut all = healthy();
    all.extend(changes);
    let lines = audit(&look(&all)).lines;
    let of = |rule: &str| lines.iter().find(|line| line.rule == rule).unwrap();
    let (names, space) = (of("name-resolution"), of("disk-space"));
    assert!(names.saw.contains("payroll-web3") && space.saw.contains("acme_prod"));
    assert!(
        names.shared.contains("1 other hosts (such as (hidden))"),
        "{}",
        names.shared
    );
    assert!(
        space.shared.contains("has 200 MiB free of 100 GiB"),
        "{}",
        space.shared
    );
    for line in &lines {
        assert!(!line.shared.contains("acme"), "{}", line.shared);
    }
}

#[test]
fn a_healthy_server_gets_no_line_and_every_rule_is_judged() {
    let audit = audit(&look(&healthy()));
    assert_eq!(audit.lines, []);
    assert_eq!(audit.not_judged, []);
    assert_eq!(audit.fine.len(), rules().len());
}

/// Rule, what makes it speak, how loud, a part of what it says; and what must leave it silent.
type Case = (
    &'static str,
    &'static [Change],
    Severity,
    &'static str,
    &'static [Change],
);

const SERIOUS: Severity = Severity::Serious;
const NOTE: Severity = Severity::Note;

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("huge-pages", &[Counter("vmstat.compact_stall", 60.0, 1e5)], SERIOUS, "at 60/s",
        &[Counter("vmstat.compact_stall", 60.0, 1e5), Fact("thp.server", "0")]),
    ("huge-pages", &[Counter("vmstat.compact_stall", 0.0, 1e5), Level("process.resident_bytes", 6.0 * GIB)], SERIOUS, "100 k direct compactions since boot",
        &[Counter("vmstat.compact_stall", 0.0, 1e5)]),
    ("huge-pages", &[Fact("thp.defrag", "always"), Level("process.resident_bytes", 6.0 * GIB)], NOTE, "defrag is always",
        &[Fact("thp.defrag", "always"), Level("process.resident_bytes", 6.0 * GIB), Fact("thp.enabled", "madvise")]),
    ("swapped", &[Level("process.swap_bytes", 0.5 * GIB), Counter("vmstat.pswpin", 50.0, 0.0)], SERIOUS, "512 MiB of the server is in swap",
        &[Level("process.swap_bytes", 10.0 * MIB), Counter("vmstat.pswpin", 50.0, 0.0)]),
    ("swapped", &[Level("process.swap_bytes", 0.5 * GIB)], NOTE, "vm.swappiness is 60", &[Level("meminfo.SwapTotal", 0.0), Level("process.swap_bytes", 0.5 * GIB)]),
    ("numa", &[Fact("host.numa_nodes", "0-1"), Fact("process.mems_allowed", "0-1"), Fact("variables.innodb_buffer_pool_size", "12884901888")], NOTE, "2 NUMA nodes of about 8 GiB",
        &[Fact("host.numa_nodes", "0-1"), Fact("process.mems_allowed", "0-1"), Fact("variables.innodb_buffer_pool_size", "12884901888"), Fact("variables.innodb_numa_interleave", "ON")]),
    ("zone-reclaim", &[Fact("sysctl.vm.zone_reclaim_mode", "1"), Fact("host.numa_nodes", "0-1")], SERIOUS, "zone_reclaim_mode is 1", &[Fact("sysctl.vm.zone_reclaim_mode", "1")]),
    ("direct-reclaim", &[Counter("vmstat.pgscan_direct", 5000.0, 0.0)], SERIOUS, "at 5 k/s", &[Counter("vmstat.pgscan_direct", 50.0, 1e9)]),
    ("pool-against-memory", &[Fact("variables.innodb_buffer_pool_size", "9663676416")], SERIOUS, "113 % of the limit of the server's cgroup",
        &[Fact("variables.innodb_buffer_pool_size", "9663676416"), Fact("cgroup.memory_max", "max")]),
    ("pool-against-memory", &[Fact("variables.innodb_buffer_pool_size", "15999999999"), Fact("cgroup.memory_max", "max")], NOTE, "of the memory of the host",
        &[Fact("variables.innodb_buffer_pool_size", "12884901888"), Fact("cgroup.memory_max", "max")]),
    ("cgroup-memory", &[Counter("cgroup.memory.oom_kill", 0.0, 1.0)], SERIOUS, "killed a process", &[]),
    ("cgroup-memory", &[Counter("cgroup.memory.max", 20.0, 0.0)], SERIOUS, "at 20/s", &[Counter("cgroup.memory.max", 0.0, 1e6)]),
    ("cgroup-memory", &[Level("process.resident_bytes", 7.8 * GIB)], NOTE, "97.5 %", &[Level("process.resident_bytes", 7.8 * GIB), Fact("cgroup.memory_max", "max")]),
    ("session-buffers", &[Fact("variables.sort_buffer_size", "33554432"), Counter("status.Sort_scan", 300.0, 0.0)], NOTE, "sort_buffer_size is 32 MiB",
        &[Fact("variables.sort_buffer_size", "33554432")]),
    ("session-buffers", &[Fact("variables.join_buffer_size", "268435456"), Level("status.Max_used_connections", 100.0)], NOTE, "more than the limit",
        &[Fact("variables.join_buffer_size", "268435456"), Level("status.Max_used_connections", 10.0)]),
    ("core-dump", &[Fact("sysctl.kernel.core_pattern", "|/usr/share/apport/apport -p%p"), Level("process.resident_bytes", 20.0 * GIB)], NOTE, "'|/usr/share/apport/apport'",
        &[Fact("sysctl.kernel.core_pattern", "|/usr/share/apport/apport -p%p")]),
    ("cgroup-cpu", &[Counter("cgroup.cpu.nr_throttled", 4.0, 0.0)], SERIOUS, "may use 2 CPUs (cpu.max 200000 100000) and is held back in 40 %", &[Counter("cgroup.cpu.nr_throttled", 4.0, 0.0), Fact("cgroup.cpu_max", "max 100000")]),
    ("cgroup-cpu", &[Counter("cgroup.cpu.nr_throttled", 0.0, 30_000.0)], NOTE, "in 3 % of its periods", &[Counter("cgroup.cpu.nr_throttled", 0.0, 3000.0)]),
    ("steal", &[Level("cpu.steal_share", 0.3)], SERIOUS, "30 %", &[Level("cpu.steal_share", 0.04)]),
    ("dirty-pages", &[Level("meminfo.Dirty", 1.2 * GIB)], SERIOUS, "1.2 GiB of written data wait", &[Level("meminfo.Dirty", 0.2 * GIB)]),
    ("dirty-pages", &[Level("meminfo.Dirty", 1.2 * GIB), Level("meminfo.MemAvailable", 80.0 * GIB)], NOTE, "at 16 GiB", &[Level("meminfo.Dirty", 100.0 * MIB), Fact("sysctl.vm.dirty_bytes", "134217728")]),
    ("buffered-writes", &[Counter("status.Innodb_data_written", 50.0 * MIB, 0.0)], NOTE, "50 MiB a second", &[Counter("status.Innodb_data_written", 50.0 * MIB, 0.0), Fact("variables.innodb_flush_method", "O_DIRECT")]),
    ("slow-flush", &[Counter("disk.vda.flush_ms", 3000.0, 0.0)], SERIOUS, "disk vda takes 150 ms", &[Counter("disk.vda.flush_ms", 3000.0, 0.0), Counter("disk.vda.flushes", 500.0, 0.0)]),
    ("slow-flush", &[Counter("disk.vda.flush_ms", 600.0, 0.0)], NOTE, "30 ms", &[Counter("disk.vda.flush_ms", 60.0, 0.0), Counter("disk.vda.flushes", 0.2, 0.0)]),
    ("accept-queue", &[Level("accept_queue.tcp.length", 78.0)], SERIOUS, "97.5 % full", &[Level("accept_queue.tcp.length", 10.0)]),
    ("accept-queue", &[Counter("net.listen_overflows", 5.0, 0.0)], SERIOUS, "at 5/s", &[]),
    ("accept-queue", &[Counter("net.listen_overflows", 0.0, 5000.0)], NOTE, "5 k connections away since boot", &[Counter("net.listen_overflows", 0.0, 5000.0), Level("accept_queue.tcp.limit", 4096.0)]),
    ("mount", &[Fact("place.datadir.file_system", "nfs4")], NOTE, "on nfs4", &[Fact("place.datadir.file_system", "xfs")]),
    ("mount", &[Counter("disk.vda.discards", 400.0, 0.0)], NOTE, "at 400/s", &[Counter("disk.vda.discards", 400.0, 0.0), Fact("place.datadir.mount_options", "rw,noatime")]),
    ("disk-space", &[Fact("place.datadir.free_bytes", "209715200")], SERIOUS, "/var/lib/mysql) has 200 MiB free of 100 GiB", &[Fact("place.datadir.free_bytes", "10737418240")]),
    ("disk-space", &[Fact("place.tmpdir.bytes", "10737418240"), Fact("place.tmpdir.free_bytes", "524288000")], NOTE, "temporary files", &[Fact("place.tmpdir.bytes", "10737418240"), Fact("place.tmpdir.free_bytes", "5368709120")]),
    ("disk-space", &[Fact("place.datadir.free_inodes", "10")], SERIOUS, "10 free inodes", &[Fact("place.datadir.free_inodes", "0"), Fact("place.datadir.inodes", "0")]),
    ("pool-reads", &[Counter("status.Innodb_buffer_pool_reads", 2000.0, 0.0)], NOTE, "4 % of the page requests", &[Counter("status.Innodb_buffer_pool_reads", 20.0, 0.0), Counter("status.Innodb_buffer_pool_read_requests", 100.0, 0.0)]),
    ("pool-reads", &[Counter("status.Innodb_buffer_pool_wait_free", 3.0, 0.0)], SERIOUS, "at 3/s", &[Counter("status.Innodb_buffer_pool_wait_free", 0.0, 300.0)]),
    ("checkpoint-age", &[Level("status.Innodb_checkpoint_age", 720.0 * MIB)], SERIOUS, "90 % full", &[Level("status.Innodb_checkpoint_age", 500.0 * MIB)]),
    ("checkpoint-age", &[Level("status.Innodb_checkpoint_age", 640.0 * MIB)], NOTE, "80 % full", &[]),
    ("redo-size", &[Counter("status.Innodb_os_log_written", 10.0 * MIB, 0.0)], NOTE, "102 s of writes", &[Counter("status.Innodb_os_log_written", 10.0 * MIB, 0.0), Fact("variables.innodb_redo_log_capacity", "17179869184")]),
    ("log-buffer", &[Counter("status.Innodb_log_waits", 4.0, 0.0)], NOTE, "innodb_log_buffer_size 16 MiB", &[Counter("status.Innodb_log_waits", 0.0, 40.0)]),
    ("io-capacity", &[Level("status.Innodb_buffer_pool_pages_dirty", 100_000.0), Counter("status.Innodb_buffer_pool_pages_flushed", 200.0, 0.0)], NOTE, "76.3 %", &[Counter("status.Innodb_buffer_pool_pages_flushed", 200.0, 0.0)]),
    ("doublewrite", &[Counter("status.Innodb_dblwr_pages_written", 5000.0, 0.0), Counter("status.Innodb_dblwr_writes", 50.0, 0.0)], NOTE, "100 at a time",
        &[Counter("status.Innodb_dblwr_pages_written", 5000.0, 0.0), Fact("variables.innodb_doublewrite_files", "2")]),
    ("history-list", &[Level("status.Innodb_history_list_length", 3e6)], SERIOUS, "3 M long", &[Level("innodb.history_list_length", 50_000.0)]),
    ("history-list", &[Level("innodb.history_list_length", 200_000.0)], NOTE, "200 k long", &[]),
    ("long-transaction", &[Level("innodb.active_seconds_max", 7200.0)], NOTE, "open for 2 h", &[Level("innodb.active_seconds_max", 60.0)]),
    ("row-locks", &[Level("status.Innodb_row_lock_current_waits", 40.0)], SERIOUS, "40 sessions", &[Level("status.Innodb_row_lock_current_waits", 2.0)]),
    ("row-locks", &[Level("status.Innodb_row_lock_current_waits", 1.0), Level("innodb.lock_wait_seconds_max", 30.0)], NOTE, "longest for 30 s", &[]),
    ("thread-concurrency", &[Fact("variables.innodb_thread_concurrency", "8"), Level("innodb.queries_in_queue", 12.0)], NOTE, "12 queries wait", &[Fact("variables.innodb_thread_concurrency", "8")]),
    ("connections", &[Level("status.Threads_connected", 148.0)], SERIOUS, "148 of 151", &[Level("status.Threads_connected", 100.0)]),
    ("connections", &[Level("status.Threads_connected", 135.0)], NOTE, "135 of 151", &[]),
    ("connections", &[Level("status.Connection_errors_max_connections", 7.0)], NOTE, "7 refused", &[Level("status.Max_used_connections", 151.0)]),
    ("threads", &[Fact("cgroup.pids_max", "110")], NOTE, "90 connections fit", &[Fact("cgroup.pids_max", "max")]),
    ("threads", &[Fact("cgroup.pids_max", "42")], SERIOUS, "22 connections fit", &[Fact("cgroup.pids_max", "42"), Fact("variables.thread_handling", "pool-of-threads")]),
    ("table-cache", &[Level("status.Open_tables", 2000.0), Counter("status.Opened_tables", 50.0, 0.0)], NOTE, "at 50/s", &[Level("status.Open_tables", 2000.0)]),
    ("open-files", &[Fact("process.open_files", "32000")], SERIOUS, "32 k files", &[Fact("process.open_files", "20000")]),
    ("open-files", &[Fact("process.open_files", "28000")], NOTE, "28 k files", &[]),
    ("huge-open-files", &[Fact("server.version", "5.7.44"), Fact("variables.open_files_limit", "1073741816")], SERIOUS, "open_files_limit is 1.07 G", &[Fact("variables.open_files_limit", "1073741816")]),
    ("query-cache", &[Fact("variables.query_cache_type", "ON"), Counter("status.Qcache_inserts", 300.0, 0.0), Counter("status.Qcache_lowmem_prunes", 200.0, 0.0)], SERIOUS, "room at 200/s",
        &[Fact("variables.query_cache_type", "ON"), Fact("variables.query_cache_size", "0"), Counter("status.Qcache_inserts", 300.0, 0.0)]),
    ("query-cache", &[Fact("variables.query_cache_type", "ON"), Counter("status.Qcache_hits", 300.0, 0.0)], NOTE, "hits at 300/s", &[Fact("variables.query_cache_type", "ON")]),
    ("general-log", &[Fact("variables.general_log", "ON")], NOTE, "at 500/s", &[Fact("variables.general_log", "ON"), Fact("variables.log_output", "NONE")]),
    ("general-log", &[Fact("variables.general_log", "ON"), Fact("variables.log_output", "TABLE")], SERIOUS, "log_output TABLE", &[]),
    ("slow-log", &[Fact("variables.long_query_time", "0.000000"), Counter("status.Slow_queries", 4000.0, 0.0)], NOTE, "at 4 k/s", &[Fact("variables.long_query_time", "0.000000")]),
    ("time-zone", &[Function("__tz_convert", 30)], SERIOUS, "30 % of the server's CPU time", &[Function("__tz_convert", 30), Fact("variables.time_zone", "+00:00")]),
    ("time-zone", &[Function("__tz_convert", 5)], NOTE, "5 %", &[Function("__tz_convert", 1)]),
    ("performance-schema", &[Function("pfs_start_mutex_wait_v1", 12)], NOTE, "12 %", &[Function("pfs_start_mutex_wait_v1", 12), Fact("variables.performance_schema", "OFF")]),
    ("name-resolution", &[Host("app1.example", "")], NOTE, "such as app1.example", &[Host("app1.example", ""), Fact("variables.skip_name_resolve", "ON")]),
    ("name-resolution", &[Host("10.0.0.9", "login")], SERIOUS, "1 have been logging in", &[Host("127.0.0.1", "login")]),
    ("compressed-sessions", &[Level("sessions.compressed", 4.0)], NOTE, "4 of 10 sessions", &[]),
    ("compressed-sessions", &[Level("sessions.compressed", 4.0), Counter("status.Com_show_warnings", 9000.0, 0.0)], SERIOUS, "SHOW WARNINGS at 9 k/s", &[Counter("status.Com_show_warnings", 9000.0, 0.0)]),
    ("show-warnings", &[Counter("status.Com_show_warnings", 200.0, 0.0)], NOTE, "40 % of all statements", &[Counter("status.Com_show_warnings", 200.0, 0.0), Counter("status.Questions", 50_000.0, 0.0)]),
    ("show-warnings", &[Counter("status.Com_show_warnings", 9000.0, 0.0), Counter("status.Questions", 20_000.0, 0.0)], SERIOUS, "45 %", &[]),
    ("temporary-tables", &[Counter("status.Created_tmp_disk_tables", 15.0, 0.0)], NOTE, "at 15/s, 75 % of all", &[Counter("status.Created_tmp_disk_tables", 15.0, 0.0), Counter("status.Created_tmp_tables", 900.0, 0.0)]),
    ("metadata-locks", &[State("Waiting for table metadata lock", 8, 4.0)], SERIOUS, "8 sessions", &[State("Opening tables", 8, 4.0)]),
    ("metadata-locks", &[State("Waiting for table metadata lock", 2, 4.0)], NOTE, "the longest for 4 s", &[State("Waiting for table metadata lock", 1, 0.0)]),
    ("global-locks", &[State("Waiting for global read lock", 3, 4.0)], SERIOUS, "3 sessions", &[State("Sending data", 3, 4.0)]),
    ("running-threads", &[Level("status.Threads_running", 80.0)], NOTE, "80 threads", &[Level("status.Threads_running", 80.0), Fact("host.cpus", "64")]),
    ("flow-control", &[Level("status.wsrep_flow_control_paused", 0.3)], NOTE, "30 % of the time", &[Level("status.wsrep_flow_control_paused", 0.01)]),
];

#[test]
fn each_rule_speaks_for_its_evidence_and_is_silent_without() {
    for (rule, changes, severity, part, silent) in CASES {
        let (seen, text) = says(rule, changes).unwrap_or_else(|| panic!("{rule} is silent"));
        assert_eq!(seen, *severity, "{rule}: {text}");
        assert!(text.contains(part), "{rule}: {text}");
        assert_eq!(says(rule, silent), None, "{rule}");
    }
}

#[test]
fn every_rule_has_a_case_a_reason_and_a_known_cause() {
    let tested: BTreeSet<&str> = CASES.iter().map(|case| case.0).collect();
    let mut ids = BTreeSet::new();
    let causes: BTreeSet<&str> = Catalogue::builtin()
        .causes()
        .iter()
        .map(|cause| cause.id.as_str())
        .collect();
    for rule in rules() {
        assert!(ids.insert(&rule.id), "{} twice", rule.id);
        assert!(tested.contains(rule.id.as_str()), "{} has no case", rule.id);
        assert!(
            !rule.why.is_empty() && !rule.source.is_empty(),
            "{}",
            rule.id
        );
        if let Some(cause) = rule.cause.as_deref() {
            assert!(causes.contains(cause), "{}: {cause}", rule.id);
        }
    }
}

#[test]
fn without_evidence_nothing_is_said_and_the_reason_is_told() {
    let mut look = Look::default();
    look.absent.push(TimedAbsent {
        first: 0,
        last: 0,
        count: 1,
        absent: Absent::new("variables", Reason::Permission, "access denied"),
    });
    let audit = audit(&look);
    assert_eq!(audit.lines, []);
    assert!(audit.fine.is_empty(), "{:?}", audit.fine);
    assert_eq!(audit.not_judged.len(), rules().len());
    let general_log = audit
        .not_judged
        .iter()
        .find(|not| not.rule == "general-log")
        .unwrap();
    assert!(
        general_log.why.contains("access denied"),
        "{}",
        general_log.why
    );
}

#[test]
fn hostile_values_are_no_trouble() {
    for value in [
        "",
        "-1",
        "NaN",
        "1e999",
        "99999999999999999999",
        "ON\u{1b}[2J",
        "0-",
    ] {
        let mut changes = healthy();
        let facts: Vec<Change> = changes
            .iter()
            .filter_map(|change| match change {
                Fact(name, _) => Some(Fact(name, value)),
                _ => None,
            })
            .collect();
        changes.extend(facts);
        for level in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            let levels: Vec<Change> = healthy()
                .iter()
                .filter_map(|change| match change {
                    Level(name, _) => Some(Level(name, level)),
                    Counter(name, ..) => Some(Counter(name, level, level)),
                    _ => None,
                })
                .collect();
            let mut all = changes.clone();
            all.extend(levels);
            audit(&look(&all));
        }
    }
}
