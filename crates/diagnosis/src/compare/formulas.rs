//! What the formulas of the catalogue are called where they are compared.

/// A formula as it stands in the files, and as people call it. A test sees to it that each formula has its name.
const NAMES: [(&str, &str); 83] = [
    ("rate(disk.*.busy_ms) / 1000", "time the disk * is busy"),
    (
        "rate(psi.memory.some_us) / 1000000",
        "time with waits for memory (PSI)",
    ),
    (
        "(rate(process.user_ticks) + rate(process.system_ticks)) / 100",
        "CPUs that the server uses",
    ),
    (
        "rate(process.system_ticks) / 100",
        "CPUs that the server uses in the kernel",
    ),
    (
        "1 / ((rate(status.Connections) + 0.01) / mean(processlist.state.login))",
        "time of a login",
    ),
    (
        "mean(cpu.busy_share) - mean(cpu.system_share)",
        "CPU time in programs",
    ),
    (
        "p95(probe.connect_us) / 1000",
        "time of a new connection (95 %)",
    ),
    (
        "rate(psi.cpu.some_us) / 1000000",
        "time with waits for a CPU (PSI)",
    ),
    (
        "mean(cpu.procs_running) / fact(host.cpus)",
        "tasks that run or want to, by CPU",
    ),
    (
        "mean(threads.running) / fact(host.cpus)",
        "threads that run or want to, by CPU",
    ),
    (
        "max(status.Innodb_checkpoint_age) / max(status.Innodb_checkpoint_max_age)",
        "redo log in use, at the most",
    ),
    (
        "max(accept_queue.*.length) / max(accept_queue.*.limit)",
        "accept queue of * in use",
    ),
    (
        "largest(max(probe.query_us), max(probe.query_waiting_us)) / 1000",
        "time of SELECT 1",
    ),
    (
        "share(probe.connect_outcome, 2)",
        "connection attempts that timed out",
    ),
    (
        "rate(status.wsrep_flow_control_paused_ns) / 1000000000",
        "time paused by flow control",
    ),
    (
        "rate(status.Handler_read_rnd_next) / rate(status.Questions)",
        "rows read in scans, by statement",
    ),
    (
        "rate(psi.io.some_us) / 1000000",
        "time with waits for I/O (PSI)",
    ),
    (
        "rate(psi.io.full_us) / 1000000",
        "time in which all waited for I/O (PSI)",
    ),
    (
        "rate(process.user_ticks) + rate(process.system_ticks)",
        "CPU time of the server, ticks",
    ),
    (
        "rate(process.minor_faults) / rate(status.Questions)",
        "page faults of a statement",
    ),
    (
        "max(status.Threads_connected) / fact(variables.max_connections)",
        "connections by max_connections",
    ),
    (
        "max(status.Open_tables) / fact(variables.table_open_cache)",
        "open tables by table_open_cache",
    ),
    ("share(probe.query_outcome, 2)", "probes that timed out"),
    (
        "share(probe.connect_outcome, 8)",
        "connection attempts refused for want of a thread or memory",
    ),
    (
        "share(probe.connect_outcome, 3)",
        "connection attempts refused: too many connections",
    ),
    (
        "share(probe.connect_outcome, 1) + share(probe.connect_outcome, 5)",
        "connection attempts that found no server",
    ),
    (
        "rate(vmstat.pswpout) + rate(vmstat.pswpin)",
        "pages swapped a second",
    ),
    (
        "rate(vmstat.compact_migrate_scanned) + rate(vmstat.compact_free_scanned)",
        "pages scanned for compaction a second",
    ),
    (
        "rate(threads.by_name.*.wait_ns) / 1000000000",
        "threads * that wait for a CPU",
    ),
    (
        "rate(status.Opened_tables) + rate(status.Opened_table_definitions)",
        "tables and definitions opened a second",
    ),
    (
        "rate(status.Innodb_rows_read) / rate(status.Questions)",
        "rows read by statement",
    ),
    (
        "rate(status.Innodb_rows_inserted) + rate(status.Innodb_rows_updated) + rate(status.Innodb_rows_deleted)",
        "rows changed a second",
    ),
    (
        "rate(status.Innodb_buffer_pool_reads) / rate(status.Innodb_buffer_pool_read_requests)",
        "pages missed in the buffer pool",
    ),
    (
        "rate(status.Innodb_buffer_pool_pages_flushed) / fact(variables.innodb_io_capacity)",
        "pages flushed by innodb_io_capacity",
    ),
    (
        "rate(status.Connections) / rate(status.Questions)",
        "connections by statement",
    ),
    (
        "rate(status.Com_commit) + rate(status.Com_insert) + rate(status.Com_update)",
        "commits, inserts and updates a second",
    ),
    (
        "rate(status.Bytes_sent) / rate(status.Com_show_warnings)",
        "bytes sent for each SHOW WARNINGS",
    ),
    (
        "rate(psi.memory.full_us) / 1000000",
        "time in which all waited for memory (PSI)",
    ),
    (
        "rate(packets.show_warnings) / rate(packets.statements)",
        "SHOW WARNINGS among the statements on the wire",
    ),
    (
        "rate(packets.show_warnings) / (rate(packets.statements) - rate(packets.show_warnings))",
        "SHOW WARNINGS by other statement on the wire",
    ),
    (
        "rate(packets.compressed_bytes) / rate(packets.bytes)",
        "compressed part of the bytes on the wire",
    ),
    (
        "rate(disk.*.write_ms) / rate(disk.*.writes)",
        "time of a write of *",
    ),
    (
        "rate(disk.*.flush_ms) / rate(disk.*.flushes)",
        "time of a flush of *",
    ),
    (
        "rate(cgroup.memory.high) + rate(cgroup.memory.max)",
        "runs into the group's memory limit a second",
    ),
    (
        "rate(cgroup.cpu.throttled_us) / 1000000",
        "time throttled by the CPU limit",
    ),
    (
        "rate(cgroup.cpu.nr_throttled) / rate(cgroup.cpu.nr_periods)",
        "periods throttled by the CPU limit",
    ),
    (
        "mean(status.Threads_running) / fact(host.cpus)",
        "sessions at work by CPU",
    ),
    (
        "mean(status.Threads_running) / (rate(status.Questions) + 1)",
        "time of a statement",
    ),
    (
        "mean(status.Innodb_checkpoint_age) / max(status.Innodb_checkpoint_max_age)",
        "redo log in use",
    ),
    (
        "mean(buddyinfo.order_9_free_blocks) + mean(buddyinfo.order_10_free_blocks)",
        "free blocks of 2 MiB and more",
    ),
    (
        "max(status.Open_files) / fact(variables.open_files_limit)",
        "open files by open_files_limit",
    ),
    (
        "max(status.Innodb_num_open_files) / fact(variables.innodb_open_files)",
        "open files of InnoDB by innodb_open_files",
    ),
    (
        "max(status.Innodb_buffer_pool_pages_total) / min(status.Innodb_buffer_pool_pages_total)",
        "change of the buffer pool's size",
    ),
    (
        "max(status.Innodb_buffer_pool_pages_dirty) / max(status.Innodb_buffer_pool_pages_total)",
        "dirty pages of the buffer pool",
    ),
    (
        "max(slab.bytes) / max(meminfo.MemTotal)",
        "memory in the kernel's caches of objects",
    ),
    (
        "max(sessions.compressed) / max(sessions.counted)",
        "sessions with compression",
    ),
    (
        "max(status.Max_used_connections) / fact(variables.max_connections)",
        "most connections since the start, by max_connections",
    ),
    (
        "mean(status.Threads_running) / fact(variables.innodb_thread_concurrency)",
        "statements at work for each that is let into InnoDB",
    ),
    (
        "rate(status.Table_locks_waited) / rate(status.Questions)",
        "statements that wait for a table's lock",
    ),
    (
        "max(processlist.sessions) / fact(variables.max_connections)",
        "sessions by max_connections",
    ),
    (
        "max(process.resident_bytes) / (fact(variables.innodb_buffer_pool_size) + 4000000000)",
        "memory of the server, by its pool and 4 GB",
    ),
    (
        "max(process.resident_bytes) / (fact(variables.innodb_buffer_pool_size) + 1000000000)",
        "memory of the server, by its pool and 1 GB",
    ),
    (
        "max(probe.connect_us) / 1000",
        "time of a new connection, at the most",
    ),
    (
        "max(plockstat.allocator_holds) / max(plockstat.holds)",
        "holds of the allocator's locks",
    ),
    (
        "max(packets.compressed_connections) / max(packets.connections)",
        "connections with compression",
    ),
    (
        "max(meminfo.Dirty) + max(meminfo.Writeback)",
        "pages to be written, of the page cache",
    ),
    (
        "max(meminfo.AnonHugePages) / max(process.resident_bytes)",
        "huge pages by the server's memory",
    ),
    (
        "max(innodb.checkpoint_age_bytes) / max(innodb.checkpoint_age_max_bytes)",
        "redo log in use, at the most",
    ),
    (
        "max(innodb.checkpoint_age_bytes) / fact(variables.innodb_redo_log_capacity)",
        "redo log in use, by its capacity",
    ),
    (
        "max(innodb.checkpoint_age_bytes) / (0.81 * fact(variables.innodb_log_file_size) * fact(variables.innodb_log_files_in_group))",
        "redo log in use, by its files",
    ),
    (
        "(max(status.Innodb_redo_log_current_lsn) - max(status.Innodb_redo_log_checkpoint_lsn)) / fact(variables.innodb_redo_log_capacity)",
        "redo log in use, by its positions",
    ),
    (
        "max(cgroup.pids.current) / fact(cgroup.pids_max)",
        "threads by the group's limit",
    ),
    (
        "max(cgroup.memory.current_bytes) / fact(cgroup.memory_max)",
        "memory by the group's limit",
    ),
    (
        "fact(variables.innodb_buffer_pool_size) / fact(host.memory_bytes)",
        "buffer pool by the host's memory",
    ),
    (
        "1000 * mean(status.Threads_running) / rate(status.Questions)",
        "time of a statement",
    ),
    (
        "1000 * mean(status.Innodb_data_pending_fsyncs) / (rate(status.Innodb_data_fsyncs) + 0.2)",
        "time of an fsync of InnoDB",
    ),
    (
        "(rate(disk.*.write_ms) + rate(disk.*.read_ms)) / (rate(disk.*.writes) + rate(disk.*.reads))",
        "time of a request to *",
    ),
    (
        "(max(status.Threadpool_threads) - min(status.Threadpool_idle_threads)) / fact(variables.thread_pool_max_threads)",
        "workers of the pool in use",
    ),
    (
        "rate(vmstat.pgscan_file) + rate(vmstat.pgscan_anon)",
        "pages looked through to free memory, a second",
    ),
    (
        "1000 * mean(process.cpus) / (rate(status.Questions) + 1)",
        "CPU time of the server, by statement",
    ),
    (
        "max(meminfo.SwapTotal) - min(meminfo.SwapFree)",
        "memory in swap",
    ),
    (
        "1000 * mean(process.cpus) / (rate(status.Handler_read_key) + rate(status.Handler_read_next) + rate(status.Handler_read_rnd_next) + 1)",
        "CPU time of the server, by row that was read",
    ),
    (
        "mean(process.cpus) / fact(host.cpus)",
        "CPUs that the server uses, of all",
    ),
];

/// What the formula is called.
pub(super) fn name_of(formula: &str) -> Option<&'static str> {
    let of = |(text, _): &&(&str, &str)| *text == formula;
    NAMES.iter().find(of).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Catalogue;
    use crate::measure::Test;
    use expression::Expression;

    /// What is called by its signal: `Com_show_warnings a second`.
    fn has_words(expression: &Expression) -> bool {
        matches!(expression, Expression::Signal { function, .. } if !function.words.is_empty())
    }

    #[test]
    fn each_formula_of_the_catalogue_has_a_name_and_no_other_has() {
        let causes = Catalogue::builtin().causes().iter();
        let formulas: BTreeSet<&str> = causes
            .flat_map(|cause| &cause.witnesses)
            .filter_map(|sign| match &sign.test {
                Test::Signals(test) if !has_words(&test.expression) => Some(test.text.as_str()),
                _ => None,
            })
            .collect();
        let named: BTreeSet<&str> = NAMES.iter().map(|(text, _)| *text).collect();
        assert_eq!(formulas, named);
    }
}
