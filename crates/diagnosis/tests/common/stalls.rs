//! The stalls with known truth.

use super::Story;

pub fn show_warnings_flood() -> Story {
    Story::healthy()
        .rate("status.Com_show_warnings", 10.0, 12_300.0)
        .rate("status.Questions", 4_000.0, 16_000.0)
        .rate("status.Bytes_sent", 4_000_000.0, 5_500_000.0)
        .level("cpu.system_share", 0.1, 0.8)
        .level("cpu.busy_share", 0.35, 1.0)
        .rate("process.system_ticks", 20.0, 600.0)
        .level("status.Threads_running", 4.0, 30.0)
        .busy(&[
            ("show warnings", "", "orm", 25),
            ("select", "Sending data", "app", 5),
        ])
}

pub fn compressed_show_warnings() -> Story {
    show_warnings_flood()
        .rate("status.Bytes_sent", 1_000_000.0, 12_300.0 * 103.0)
        .rate("process.minor_faults", 200.0, 16_000.0 * 18.0)
        .level("sessions.compressed", 0.0, 30.0)
}

/// What the capture of packets sees of a flood over the compressed protocol.
pub fn on_the_wire(story: Story) -> Story {
    story
        .rate("packets.statements", 16_000.0, 16_000.0)
        .rate("packets.show_warnings", 12_300.0, 12_300.0)
        .rate("packets.bytes", 2_400_000.0, 2_400_000.0)
        .rate("packets.compressed_bytes", 2_300_000.0, 2_300_000.0)
        .level("packets.connections", 30.0, 30.0)
        .level("packets.compressed_connections", 29.0, 29.0)
        .fact(
            "packets.show_warnings.senders",
            "orm at 10.0.0.7 with Connector/J (98 %)",
        )
}

pub fn thp_compaction() -> Story {
    Story::healthy()
        .rate("vmstat.compact_stall", 0.2, 310.0)
        .rate("vmstat.compact_migrate_scanned", 100.0, 4_000_000.0)
        .rate("vmstat.thp_fault_fallback", 0.0, 200.0)
        .level("cpu.system_share", 0.1, 0.83)
        .level("cpu.busy_share", 0.35, 0.95)
        .rate("process.system_ticks", 20.0, 700.0)
        .level("buddyinfo.order_9_free_blocks", 30.0, 3.0)
        .level("buddyinfo.order_10_free_blocks", 5.0, 0.0)
        .rate("psi.memory.some_us", 0.0, 600_000.0)
        .rate("status.Questions", 4_000.0, 300.0)
        .level("status.Threads_running", 4.0, 40.0)
        .busy(&[
            ("select", "Sending data", "app", 30),
            ("insert", "update", "app", 8),
        ])
}

pub fn max_connections() -> Story {
    Story::healthy()
        .level("probe.connect_outcome", 0.0, 3.0)
        .rate("status.Connection_errors_max_connections", 0.0, 40.0)
        .level("status.Threads_connected", 60.0, 151.0)
        .level("processlist.sessions", 60.0, 149.0)
}

pub fn connection_storm() -> Story {
    Story::healthy()
        .rate("status.Connections", 20.0, 900.0)
        .rate("status.Threads_created", 0.1, 400.0)
        .level("probe.connect_us", 900.0, 1_300_000.0)
        .level("accept_queue.tcp.length", 0.0, 120.0)
        .rate("net.listen_overflows", 0.0, 30.0)
        .busy(&[
            ("", "login", "unauthenticated user", 40),
            ("select", "Sending data", "app", 3),
        ])
}

pub fn small_bufpool() -> Story {
    Story::healthy()
        .rate("status.Innodb_buffer_pool_reads", 900.0, 4_000.0)
        .rate(
            "status.Innodb_buffer_pool_read_requests",
            90_000.0,
            100_000.0,
        )
        .rate("status.Innodb_buffer_pool_wait_free", 0.0, 20.0)
        .rate("disk.sda.reads", 900.0, 4_000.0)
        .rate("disk.sda.busy_ms", 400.0, 990.0)
        .rate("psi.io.some_us", 200_000.0, 900_000.0)
        .level("cpu.iowait_share", 0.1, 0.5)
        .level("cpu.procs_blocked", 2.0, 50.0)
        .level("status.Innodb_data_pending_reads", 2.0, 50.0)
        .rate("status.Questions", 800.0, 900.0)
        .level("status.Threads_running", 8.0, 60.0)
        .busy(&[("select", "Sending data", "app", 55)])
        .busy_before(&[("select", "Sending data", "app", 30)])
}

pub fn slow_fsync() -> Story {
    Story::healthy()
        .fact("variables.innodb_flush_log_at_trx_commit", "1")
        .rate("status.Innodb_data_fsyncs", 300.0, 2.0)
        .level("status.Innodb_data_pending_fsyncs", 0.3, 1.0)
        .rate("disk.sda.flushes", 100.0, 2.0)
        .rate("disk.sda.flush_ms", 200.0, 900.0)
        .rate("disk.sda.writes", 300.0, 10.0)
        .rate("disk.sda.write_ms", 300.0, 2_000.0)
        .rate("psi.io.full_us", 5_000.0, 700_000.0)
        .level("threads.uninterruptible", 0.2, 4.0)
        .rate("status.Questions", 4_000.0, 40.0)
        .level("status.Threads_running", 4.0, 30.0)
        .level("innodb.pending_log_flushes", 0.0, 1.0)
        .busy(&[
            ("commit", "Commit", "app", 24),
            ("select", "Sending data", "app", 3),
        ])
}

pub fn row_lock_pileup() -> Story {
    Story::healthy()
        .level("status.Innodb_row_lock_current_waits", 0.1, 35.0)
        .level("innodb.lock_wait_transactions", 0.0, 35.0)
        .level("innodb.lock_wait_seconds_max", 0.0, 12.0)
        .level("innodb.active_seconds_max", 1.0, 80.0)
        .rate("status.Questions", 4_000.0, 60.0)
        .level("status.Threads_running", 4.0, 37.0)
        .level("cpu.busy_share", 0.35, 0.04)
        .busy(&[
            ("update", "Updating", "app", 35),
            ("select", "Sending data", "app", 2),
        ])
}

/// Every stall with the cause that it has.
pub fn all() -> Vec<(&'static str, Story)> {
    vec![
        ("show-warnings-flood", show_warnings_flood()),
        ("compressed-protocol", compressed_show_warnings()),
        ("thp-compaction", thp_compaction()),
        ("max-connections", max_connections()),
        ("connection-storm", connection_storm()),
        ("small-bufpool", small_bufpool()),
        ("slow-fsync", slow_fsync()),
        ("row-lock-pileup", row_lock_pileup()),
    ]
}
