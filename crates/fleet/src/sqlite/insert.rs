//! A batch into the store, exactly once.

use std::collections::BTreeSet;

use rusqlite::{Transaction, TransactionBehavior, params, params_from_iter};

use super::cell::cell;
use super::open::{Store, sqlite};
use super::{ddl, places};
use crate::batch::{Batch, TableRows};
use crate::error::StoreError;
use crate::table::Repeated;
use crate::tables::{INCIDENTS, SIGNALS, STACKS};
use crate::value::Value;

/// What became of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// All its rows are in the store now.
    New,
    /// Its token was there already: nothing was done.
    Repeated,
}

impl Store {
    /// Inserts a batch, all of it or nothing. `now`: seconds since 1970, kept with the token.
    ///
    /// # Errors
    ///
    /// When a row does not fit its table, or SQLite cannot write.
    pub fn insert(&mut self, batch: &Batch, now: i64) -> Result<Inserted, StoreError> {
        let inserted = self.insert_all(std::slice::from_ref(batch), now)?;
        Ok(inserted.first().copied().unwrap_or(Inserted::Repeated))
    }

    /// Inserts these batches, all of them or none, and says of each whether it was there.
    ///
    /// # Errors
    ///
    /// As [`Store::insert`].
    pub fn insert_all(&mut self, batches: &[Batch], now: i64) -> Result<Vec<Inserted>, StoreError> {
        for rows in batches.iter().flat_map(Batch::tables) {
            let columns = rows.table.columns;
            let fits = |row: &Vec<Value>| {
                let mut pairs = row.iter().zip(columns);
                row.len() == columns.len() && pairs.all(|(value, column)| value.fits(column.of))
            };
            let is_made = matches!(rows.table.repeated, Repeated::MadeOf(_));
            if is_made || !rows.rows.iter().all(fits) {
                return Err(StoreError::WrongRow(rows.table.name));
            }
        }
        let path = self.path.clone();
        self.insert_checked(batches, now).map_err(sqlite(&path))
    }

    fn insert_checked(&mut self, batches: &[Batch], now: i64) -> rusqlite::Result<Vec<Inserted>> {
        // At once to write: two that read first and write then would both wait for the other.
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        let inserted = batches
            .iter()
            .map(|batch| insert_one(&transaction, batch, now));
        let inserted = inserted.collect::<rusqlite::Result<_>>()?;
        transaction.commit()?;
        Ok(inserted)
    }
}

fn insert_one(
    transaction: &Transaction<'_>,
    batch: &Batch,
    now: i64,
) -> rusqlite::Result<Inserted> {
    let new = transaction.execute(
        "INSERT INTO batch_tokens (token, at) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        params![batch.token.to_string(), now],
    )?;
    if new == 0 {
        return Ok(Inserted::Repeated);
    }
    for rows in batch.tables() {
        insert_rows(transaction, rows)?;
    }
    places::update(transaction, batch.rows_of(&STACKS))?;
    update_hours(transaction, batch.rows_of(&SIGNALS))?;
    forget_earlier_findings(transaction, batch.rows_of(&INCIDENTS))?;
    Ok(Inserted::New)
}

fn insert_rows(transaction: &Transaction<'_>, rows: &TableRows) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(&ddl::insert(rows.table))?;
    for row in &rows.rows {
        let pairs = row.iter().zip(rows.table.columns);
        insert.execute(params_from_iter(
            pairs.map(|(value, column)| cell(value, column.of)),
        ))?;
    }
    Ok(())
}

/// Makes the hours anew that these minutes lie in. An hour whose minutes are gone in part keeps what it had of more.
fn update_hours(transaction: &Transaction<'_>, minutes: &[Vec<Value>]) -> rusqlite::Result<()> {
    let key = |row: &Vec<Value>| match row.as_slice() {
        [
            Value::Unsigned(host),
            Value::Text(signal),
            Value::Signed(ts),
            ..,
        ] => Some((host.cast_signed(), signal.clone(), ts - ts.rem_euclid(3600))),
        _ => None,
    };
    let hours: BTreeSet<_> = minutes.iter().filter_map(key).collect();
    let mut update = transaction.prepare_cached(
        "INSERT INTO signals_1h (host_id, signal, ts, mn, mx, sm, cnt)
         SELECT host_id, signal, ?3, min(mn), max(mx), sum(av * n), sum(n) FROM signals
         WHERE signal = ?2 AND host_id = ?1 AND ts >= ?3 AND ts < ?3 + 3600
         GROUP BY host_id, signal
         ON CONFLICT (signal, host_id, ts) DO UPDATE SET
             mn = min(mn, excluded.mn), mx = max(mx, excluded.mx),
             sm = iif(excluded.cnt >= cnt, excluded.sm, sm), cnt = max(cnt, excluded.cnt)",
    )?;
    for (host, signal, hour) in hours {
        update.execute(params![host, signal, hour])?;
    }
    Ok(())
}

/// A later judgement may have fewer findings, or others.
fn forget_earlier_findings(
    transaction: &Transaction<'_>,
    incidents: &[Vec<Value>],
) -> rusqlite::Result<()> {
    let mut delete = transaction.prepare_cached(
        "DELETE FROM findings WHERE incident_id = ?1
         AND rev < (SELECT max(rev) FROM incidents WHERE incident_id = ?1)",
    )?;
    for row in incidents {
        if let Some((id, column)) = row.first().zip(INCIDENTS.columns.first()) {
            delete.execute([cell(id, column.of)])?;
        }
    }
    Ok(())
}
