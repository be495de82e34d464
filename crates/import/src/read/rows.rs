//! Rows of the server's tables as they stand in a capture; what those of all captures tell together is worked out in `server_tables`.

use crate::read::cells::Cells;

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

/// A table at a moment.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    pub(crate) table: Table,
    /// When, where the capture tells.
    pub(crate) at: Option<i64>,
    /// How many prints of the same table stand in front of it in this section.
    pub(crate) nth: u64,
    /// Names of the columns, in lower case.
    pub(crate) columns: Vec<String>,
    /// The values of a row behind those of the row before.
    pub(crate) values: Cells,
}

impl Rows {
    /// The values of some columns, row by row; empty where there is no such column.
    pub(crate) fn each<const N: usize>(
        &self,
        columns: [&str; N],
    ) -> impl Iterator<Item = [&str; N]> {
        let places = columns.map(|name| self.columns.iter().position(|column| column == name));
        (0..self.values.len())
            .step_by(self.columns.len().max(1))
            .map(move |row| {
                places.map(|place| {
                    place
                        .and_then(|place| self.values.get(row + place))
                        .unwrap_or_default()
                })
            })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.values.len() / self.columns.len().max(1)
    }
}
