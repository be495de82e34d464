//! A status as named numbers.

use model::SemaphoreWait;

use super::status::InnodbStatus;

/// The numbers of `status` that its text told, by signal name.
///
/// All are levels at the time of the printout. Names that end in `_seconds_max` are seconds, in
/// `_bytes` bytes, in `_pages` or `_dirty_pages` InnoDB pages; `innodb.hit_rate_per_1000` is a
/// share of 1000; all others count.
pub fn signals(status: &InnodbStatus) -> Vec<(&'static str, f64)> {
    let transactions = &status.transactions;
    let io = &status.pending_io;
    let pool = &status.buffer_pool;
    let waits = status
        .semaphores
        .listed
        .then_some(status.semaphore_waits.len());
    let longest_wait = status
        .semaphore_waits
        .iter()
        .map(SemaphoreWait::lasts_seconds)
        .fold(0.0, f64::max);
    let counts = [
        (
            "innodb.history_list_length",
            transactions.history_list_length,
        ),
        ("innodb.active_transactions", transactions.active_count),
        (
            "innodb.lock_wait_transactions",
            transactions.lock_wait_count,
        ),
        ("innodb.prepared_transactions", transactions.prepared_count),
        ("innodb.lock_structs", transactions.lock_structs),
        ("innodb.pending_log_flushes", io.log_flushes),
        ("innodb.pending_log_writes", io.log_writes),
        ("innodb.pending_checkpoint_writes", io.checkpoint_writes),
        ("innodb.pending_fsyncs", io.fsyncs),
        ("innodb.pending_aio_reads", io.aio_reads),
        ("innodb.pending_aio_writes", io.aio_writes),
        ("innodb.pending_preads", io.preads),
        ("innodb.pending_pwrites", io.pwrites),
        ("innodb.pending_reads", io.page_reads),
        ("innodb.pending_writes", io.page_writes),
        (
            "innodb.checkpoint_age_bytes",
            status.log.checkpoint_age_bytes(),
        ),
        (
            "innodb.checkpoint_age_max_bytes",
            status.log.checkpoint_age_max_bytes,
        ),
        ("innodb.log_unflushed_bytes", status.log.unflushed_bytes()),
        ("innodb.buffer_pool_pages", pool.total_pages),
        ("innodb.free_buffers_pages", pool.free_pages),
        ("innodb.dirty_pages", pool.dirty_pages),
        ("innodb.hit_rate_per_1000", pool.hit_rate_per_1000),
        ("innodb.change_buffer_pages", status.change_buffer_pages),
        ("innodb.queries_inside", status.rows.queries_inside),
        ("innodb.queries_in_queue", status.rows.queries_in_queue),
        ("innodb.read_views", status.rows.read_views),
    ];
    let seconds = [
        (
            "innodb.semaphore_wait_seconds_max",
            waits.map(|_| longest_wait),
        ),
        (
            "innodb.active_seconds_max",
            none_is_zero(
                transactions.active_count,
                transactions.longest_active_seconds,
            ),
        ),
        (
            "innodb.lock_wait_seconds_max",
            none_is_zero(
                transactions.lock_wait_count,
                transactions.longest_lock_wait_seconds,
            ),
        ),
    ];
    waits
        .map(|waits| ("innodb.semaphore_waits", waits as f64))
        .into_iter()
        .chain(
            counts
                .into_iter()
                .filter_map(|(name, count)| Some((name, count? as f64))),
        )
        .chain(
            seconds
                .into_iter()
                .filter_map(|(name, seconds)| Some((name, seconds?))),
        )
        .collect()
}

/// The longest of `count` times, which is zero when there is none.
fn none_is_zero(count: Option<u64>, longest: Option<f64>) -> Option<f64> {
    longest.or((count? == 0).then_some(0.0))
}
