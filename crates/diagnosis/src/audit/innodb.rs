//! Rules about InnoDB: buffer pool, redo log, flushing, purge, locks.

use super::{Judged, Look, Untold, fine_if, graded, maybe, note, or, serious};
use crate::human::{Show, show};

pub(super) fn pool_reads(look: &Look) -> Judged {
    let reads = look.status_rate("Innodb_buffer_pool_reads")?;
    let requests = look.status_rate("Innodb_buffer_pool_read_requests")?;
    let pool = look.variable_number("innodb_buffer_pool_size")?;
    let waits = or(look.status_rate("Innodb_buffer_pool_wait_free"), 0.0)?;
    let available = look.last("meminfo.MemAvailable")?;
    if waits > 0.0 {
        return serious(format!(
            "threads wait for a free page of the buffer pool of {}, at {}",
            show(pool, Show::Bytes),
            show(waits, Show::PerSecond)
        ));
    }
    fine_if(reads < 100.0 || requests <= 0.0 || reads / requests < 0.01)?;
    note(format!(
        "{} of the page requests are read from disk, at {}, with a buffer pool of {} and {} of \
         memory available",
        show(reads / requests, Show::Percent),
        show(reads, Show::PerSecond),
        show(pool, Show::Bytes),
        show(available, Show::Bytes)
    ))
}

/// Bytes that the redo log holds.
fn redo_capacity(look: &Look) -> Result<f64, Untold> {
    if let Some(capacity) = maybe(look.variable_number("innodb_redo_log_capacity"))? {
        return Ok(capacity);
    }
    let size = look.variable_number("innodb_log_file_size")?;
    let files = or(look.variable_number("innodb_log_files_in_group"), 1.0)?;
    Ok(size * files)
}

pub(super) fn checkpoint_age(look: &Look) -> Judged {
    let status = |name: &str| look.status(name).ok();
    let (age, max) = if let (Some(age), Some(max)) = (
        status("Innodb_checkpoint_age"),
        status("Innodb_checkpoint_max_age"),
    ) {
        (age, max)
    } else if let (Some(now), Some(checkpoint)) = (
        status("Innodb_redo_log_current_lsn"),
        status("Innodb_redo_log_checkpoint_lsn"),
    ) {
        (now - checkpoint, or(redo_capacity(look), 0.0)?)
    } else {
        let age = look.last("innodb.checkpoint_age_bytes")?;
        // Up to 5.7 about 0.9 of the files is used (log0log.cc, log_calc_max_ages).
        (age, or(redo_capacity(look), 0.0)? * 0.9)
    };
    fine_if(max <= 0.0 || age / max < 0.75)?;
    let text = format!(
        "the redo log is {} full: a checkpoint age of {} of {}",
        show(age / max, Show::Percent),
        show(age, Show::Bytes),
        show(max, Show::Bytes)
    );
    graded(age / max >= 0.85, text)
}

/// Minutes of writes below which a redo log makes InnoDB flush in a hurry.
const REDO_MINUTES: f64 = 5.0;

pub(super) fn redo_size(look: &Look) -> Judged {
    let rate = look.status_rate("Innodb_os_log_written")?;
    let capacity = redo_capacity(look)?;
    fine_if(rate < 1024.0 * 1024.0 || capacity / rate > REDO_MINUTES * 60.0)?;
    note(format!(
        "the redo log of {} holds {} of writes at the present {} a second",
        show(capacity, Show::Bytes),
        show(capacity / rate, Show::Seconds),
        show(rate, Show::Bytes)
    ))
}

pub(super) fn log_buffer(look: &Look) -> Judged {
    let waits = look.status_rate("Innodb_log_waits")?;
    fine_if(waits <= 0.0)?;
    note(format!(
        "transactions wait for room in the log buffer (innodb_log_buffer_size {}), at {}",
        show(
            or(look.variable_number("innodb_log_buffer_size"), 0.0)?,
            Show::Bytes
        ),
        show(waits, Show::PerSecond)
    ))
}

pub(super) fn io_capacity(look: &Look) -> Judged {
    let flushed = look.status_rate("Innodb_buffer_pool_pages_flushed")?;
    let dirty = look.status("Innodb_buffer_pool_pages_dirty")?;
    let total = look.status("Innodb_buffer_pool_pages_total")?;
    let capacity = look.variable_number("innodb_io_capacity")?;
    fine_if(total <= 0.0 || dirty / total < 0.5 || flushed < 0.9 * capacity)?;
    note(format!(
        "{} of the buffer pool's pages are changed and not written, while InnoDB writes pages at {}, \
         at its limit (innodb_io_capacity {})",
        show(dirty / total, Show::Percent),
        show(flushed, Show::PerSecond),
        show(capacity, Show::Count)
    ))
}

pub(super) fn doublewrite(look: &Look) -> Judged {
    let pages = look.status_rate("Innodb_dblwr_pages_written")?;
    let writes = look.status_rate("Innodb_dblwr_writes")?;
    // Since 8.0.20 it has files of its own (innodb_doublewrite_files).
    let one_buffer = maybe(look.variable("innodb_doublewrite_files"))?.is_none();
    fine_if(!one_buffer || pages < 2000.0 || writes <= 0.0 || !look.is_on("innodb_doublewrite")?)?;
    note(format!(
        "pages go through the one doublewrite buffer at {}, {} at a time",
        show(pages, Show::PerSecond),
        show(pages / writes, Show::Count)
    ))
}

/// Seconds from which a transaction is long.
const LONG_TRANSACTION: f64 = 600.0;

pub(super) fn history(look: &Look) -> Judged {
    let length = look
        .status("Innodb_history_list_length")
        .or_else(|_| look.last("innodb.history_list_length"))?;
    let oldest = look.last_or("innodb.active_seconds_max", 0.0);
    let text = format!(
        "the history list is {} long; the oldest transaction runs for {}",
        show(length, Show::Count),
        show(oldest, Show::Seconds)
    );
    fine_if(length < 100_000.0)?;
    graded(length >= 1_000_000.0, text)
}

pub(super) fn long_transaction(look: &Look) -> Judged {
    let oldest = look.last("innodb.active_seconds_max")?;
    fine_if(oldest < LONG_TRANSACTION)?;
    note(format!(
        "a transaction is open for {}",
        show(oldest, Show::Seconds)
    ))
}

pub(super) fn row_locks(look: &Look) -> Judged {
    let waits = look.status("Innodb_row_lock_current_waits")?;
    let longest = look.last_or("innodb.lock_wait_seconds_max", 0.0);
    let text = format!(
        "{} sessions wait for row locks, the longest for {}",
        show(waits, Show::Count),
        show(longest, Show::Seconds)
    );
    fine_if(waits < 1.0 || (waits < 3.0 && longest < 10.0))?;
    graded(waits >= 20.0, text)
}

pub(super) fn thread_concurrency(look: &Look) -> Judged {
    let limit = look.variable_number("innodb_thread_concurrency")?;
    fine_if(limit == 0.0)?;
    let queued = look.last("innodb.queries_in_queue")?;
    fine_if(queued < 1.0)?;
    note(format!(
        "{} queries wait to get into InnoDB (innodb_thread_concurrency {limit})",
        show(queued, Show::Count)
    ))
}
