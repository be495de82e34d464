//! Tables of the server that tell of transactions, locks, threads and statements: which one it is,
//! by the names of its columns.

use super::is_vertical_row;
use super::place::Place;
use crate::notes;

/// A table whose rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Table {
    /// `information_schema.INNODB_TRX`.
    Transactions,
    /// Who waits for whom, joined, a row a pair: pt-stalk's query, `sys.innodb_lock_waits`.
    LockWaits,
    /// Who blocks how many: pt-stalk's query.
    Blockers,
    /// `information_schema.INNODB_LOCKS`.
    InnodbLocks,
    /// `information_schema.INNODB_LOCK_WAITS`: pairs of transactions.
    LockWaitPairs,
    /// `performance_schema.data_locks`.
    DataLocks,
    /// `performance_schema.data_lock_waits`.
    DataLockWaits,
    /// `performance_schema.metadata_locks`.
    MetadataLocks,
    /// `sys.schema_table_lock_waits`.
    MetadataWaits,
    /// `performance_schema.threads`, `sys.processlist`, `sys.session`.
    Threads,
    /// `performance_schema.events_statements_summary_by_digest`.
    Digests,
    /// `SHOW ENGINE INNODB MUTEX`.
    Mutexes,
    /// `information_schema.INNODB_METRICS`.
    Metrics,
}

/// The columns of `INNODB_METRICS`, those of MariaDB too: names and counts alone have many tables.
const METRICS: [&str; 18] = [
    "name",
    "subsystem",
    "count",
    "max_count",
    "min_count",
    "avg_count",
    "count_reset",
    "max_count_reset",
    "min_count_reset",
    "avg_count_reset",
    "time_enabled",
    "time_disabled",
    "time_elapsed",
    "time_reset",
    "status",
    "enabled",
    "type",
    "comment",
];

/// What the names of InnoDB's counters begin with.
const METRIC_NAMES: [&str; 16] = [
    "trx_",
    "purge_",
    "lock_",
    "buffer_",
    "log_",
    "os_",
    "index_",
    "adaptive_hash_",
    "file_",
    "ibuf_",
    "innodb_",
    "dml_",
    "ddl_",
    "icp_",
    "metadata_",
    "undo_",
];

/// Names of columns that only this table has together.
const TABLES: [(Table, &[&str]); 16] = [
    (Table::Transactions, &["trx_id", "trx_state", "trx_started"]),
    (Table::Blockers, &["who_blocks", "num_waiters"]),
    (
        Table::MetadataWaits,
        &["object_schema", "object_name", "waiting_thread_id"],
    ),
    (
        Table::MetadataWaits,
        &["object_name", "waiting_pid", "blocking_pid"],
    ),
    (Table::LockWaits, &["waiting_trx_id", "waiting_thread"]),
    (Table::LockWaits, &["waiting_pid", "blocking_pid"]),
    (
        Table::LockWaits,
        &["wait_started", "wait_age", "locked_table"],
    ),
    (
        Table::LockWaitPairs,
        &["requesting_trx_id", "blocking_trx_id"],
    ),
    (Table::InnodbLocks, &["lock_id", "lock_trx_id", "lock_mode"]),
    (
        Table::DataLockWaits,
        &["requesting_engine_lock_id", "requesting_thread_id"],
    ),
    (
        Table::DataLocks,
        &["engine_lock_id", "engine_transaction_id", "thread_id"],
    ),
    (
        Table::MetadataLocks,
        &["object_type", "object_schema", "lock_duration"],
    ),
    (
        Table::Threads,
        &["thread_id", "processlist_id", "processlist_user"],
    ),
    (
        Table::Threads,
        &["processlist_id", "processlist_command", "processlist_state"],
    ),
    (Table::Threads, &["conn_id", "command", "state"]),
    (Table::Digests, &["digest", "digest_text", "count_star"]),
];

/// The table with these columns, in lower case.
pub(crate) fn table_of(columns: &[String]) -> Option<Table> {
    let has = |name: &str| columns.iter().any(|column| column == name);
    if matches!(columns, [one, two, three] if one == "type" && two == "name" && three == "status") {
        return Some(Table::Mutexes);
    }
    if has("name") && has("count") && columns.iter().all(|name| METRICS.contains(&name.as_str())) {
        return Some(Table::Metrics);
    }
    TABLES
        .iter()
        .find(|(_, names)| names.iter().all(|name| has(name)))
        .map(|(table, _)| *table)
}

/// One of the lines tells of a counter of InnoDB.
fn has_metric(lines: &[&str]) -> bool {
    let is_name = |word: &str| METRIC_NAMES.iter().any(|start| word.starts_with(start));
    lines
        .iter()
        .any(|line| line.split(['|', '\t', ' ']).any(is_name))
}

/// The name and the value of a field of a row in the form of `\G`: `    trx_state: LOCK WAIT`. A
/// number is without what somebody noted behind it.
pub(crate) fn vertical_name(text: &str) -> Option<(&str, &str)> {
    let (name, value) = field(text, 64)?;
    Some((name, notes::without(value.trim_ascii())))
}

/// A name of so many bytes at the most, and what is behind its colon.
pub(crate) fn field(text: &str, name_bytes_max: usize) -> Option<(&str, &str)> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let end = text.bytes().position(|byte| !is_of_name(byte))?;
    let (name, rest) = text.split_at_checked(end)?;
    let value = rest.strip_prefix(':')?;
    (1..=name_bytes_max)
        .contains(&name.len())
        .then_some((name, value))
}

/// A head of such a table, or a row in the form of `\G` with the first of its fields behind it.
pub(super) fn is_rows(at: &Place<'_>) -> bool {
    let next = at.next;
    if is_vertical_row(at.text) {
        let names: Vec<String> = next
            .iter()
            .filter_map(|line| vertical_name(line.trim()))
            .map(|(name, _)| name.to_ascii_lowercase())
            .collect();
        return match table_of(&names) {
            Some(Table::Mutexes) => next.iter().take(3).any(|line| line.contains("waits=")),
            Some(Table::Metrics) => has_metric(next),
            table => table.is_some(),
        };
    }
    let cells = at.cells();
    if is_mutex_row(cells) {
        return true;
    }
    if cells.len() < 2 || !cells.iter().all(|cell| is_column(cell)) {
        return false;
    }
    let columns: Vec<String> = cells.iter().map(|cell| cell.to_ascii_lowercase()).collect();
    match table_of(&columns) {
        // SHOW ENGINE INNODB STATUS has the same columns.
        Some(Table::Mutexes) => next.iter().take(2).any(|line| line.contains("waits=")),
        Some(Table::Metrics) => has_metric(next),
        table => table.is_some(),
    }
}

/// A row of `SHOW ENGINE INNODB MUTEX`, which without its head (`mysql -N`) is known as well.
pub(crate) fn is_mutex_row(cells: &[&str]) -> bool {
    matches!(cells, ["InnoDB", _, waits] if waits.starts_with("waits=") || waits.starts_with("os_waits="))
}

fn is_column(cell: &str) -> bool {
    !cell.is_empty()
        && cell.len() <= 64
        && cell.starts_with(|c: char| c.is_ascii_alphabetic())
        && cell
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
