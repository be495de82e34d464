//! A batch into the store, exactly once.

use std::time::Duration;

use super::failure::{Failure, Then};
use super::request;
use super::rowbinary::encode;
use super::store::Store;
use super::sums;
use crate::batch::{Batch, TableRows};
use crate::table::Repeated;
use crate::tables::INCIDENTS;
use model::OrderBy;

/// How long the insert of a table may take.
const DEADLINE: Duration = Duration::from_secs(60);

impl Store {
    /// Inserts a batch with what is made of it: a request for each table, all with the batch's token. After a failure the
    /// whole batch is sent again: tables that had taken it know the token.
    ///
    /// # Errors
    ///
    /// When the server does not take it; [`Failure::then`] says what to do.
    pub fn insert(&self, batch: &Batch) -> Result<(), Failure> {
        let token = batch.token.to_string();
        let sums = sums::of_batch(batch);
        for rows in ordered(batch, &sums) {
            let (table, is_made) = (
                rows.table,
                matches!(rows.table.repeated, Repeated::MadeOf(_)),
            );
            let bytes = encode(table, &rows.rows).filter(|_| !is_made);
            let bytes = bytes.ok_or_else(|| Failure {
                then: Then::Leave,
                ..self.stop(format!("a row of '{}' does not fit its table", table.name))
            })?;
            // By name: an older store has fewer columns, and a newer one more behind them.
            let names: Vec<String> = table
                .columns
                .iter()
                .map(|column| format!("`{}`", column.name))
                .collect();
            let statement = format!(
                "INSERT INTO {} ({}) FORMAT RowBinary",
                table.name,
                names.join(", ")
            );
            let parameters = [
                ("database", self.address.database.as_str()),
                ("query", &statement),
                ("insert_deduplicate", "1"),
                ("insert_deduplication_token", &token),
                // The answer means: it is in the table, on every shard. Buffered inserts do not look at tokens unless
                // they are told to.
                ("async_insert", "0"),
                ("async_insert_deduplicate", "1"),
                ("distributed_foreground_insert", "1"),
                ("wait_end_of_query", "1"),
            ];
            request::post(&self.address, &parameters, bytes, DEADLINE)
                .map_err(Failure::of_insert)?;
        }
        Ok(())
    }
}

/// Incidents last: who sees one finds all that belongs to it.
fn ordered<'a>(batch: &'a Batch, sums: &'a [TableRows]) -> Vec<&'a TableRows> {
    let mut tables: Vec<&TableRows> = batch.tables().iter().chain(sums).collect();
    tables.order_by_key(|rows| rows.table.name == INCIDENTS.name);
    tables
}
