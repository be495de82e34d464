//! What is older than its table keeps it.

use rusqlite::params;

use super::ddl;
use super::open::{Store, sqlite};
use crate::error::StoreError;
use crate::table::{Table, Type};
use crate::tables::{STACKS, TABLES};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// Tokens are kept so many days: a spool that is sent later than that repeats rows, and their keys are there already.
const TOKEN_DAYS: i64 = 90;

impl Store {
    /// Deletes rows whose time is over and empties columns that are kept for less; returns how many rows went. `now`:
    /// seconds since 1970.
    ///
    /// # Errors
    ///
    /// When SQLite cannot write.
    pub fn expire(&mut self, now: i64) -> Result<usize, StoreError> {
        let path = self.path.clone();
        self.expire_all(now).map_err(sqlite(&path))
    }

    fn expire_all(&mut self, now: i64) -> rusqlite::Result<usize> {
        let transaction = self.connection.transaction()?;
        let mut gone = 0;
        for table in TABLES {
            let Some((moment, days)) = table.keep else {
                continue;
            };
            let before = |days: u16| unit(table, moment) * (now - i64::from(days) * DAY);
            let sql = format!("DELETE FROM {} WHERE \"{moment}\" < ?1", table.name);
            gone += transaction.execute(&sql, params![before(days)])?;
            if table.name == STACKS.name {
                let sums = "DELETE FROM stack_sums WHERE ts < ?1";
                transaction.execute(sums, params![before(days)])?;
            }
            for column in table.columns {
                let Some(days) = column.keep_days else {
                    continue;
                };
                let name = ddl::name(column);
                let sql = format!(
                    "UPDATE {} SET {name} = '[]' WHERE \"{moment}\" < ?1 AND {name} <> '[]'",
                    table.name
                );
                transaction.execute(&sql, params![before(days)])?;
            }
        }
        let tokens = "DELETE FROM batch_tokens WHERE at < ?1";
        transaction.execute(tokens, params![now - TOKEN_DAYS * DAY])?;
        transaction.commit()?;
        Ok(gone)
    }
}

/// How many units of this column a second has.
fn unit(table: &Table, moment: &str) -> i64 {
    match table.column(moment).map(|column| column.of) {
        Some(Type::Millis) => 1000,
        _ => 1,
    }
}
