//! Batches that the store refuses as they are: beside those that wait, so that nothing waits for them.
//!
//! **A group that is refused is halved**, until it is one batch, and that one is set aside. It is kept, and tried again by
//! itself. Rows of a group that was halved may be in the store already, of the tables that took them: they come again
//! under another token, and every table replaces rows of one key.

use rusqlite::{OptionalExtension, TransactionBehavior, params};

use super::journal::{Group, Journal, size_of};
use crate::error::StoreError;
use crate::sqlite::sqlite;

/// What was set aside may take one in so many bytes of all that may wait.
const SHARE: u64 = 4;

/// What became of a group that the store refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Narrowed {
    /// The next group is the first half of it.
    Halved,
    /// It was one batch, and is set aside.
    SetAside {
        /// So many that were set aside before had to go for want of room.
        lost: usize,
    },
}

/// A batch that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// What it is told apart by in the journal.
    pub id: i64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Journal {
    /// The store refuses this group as it is.
    ///
    /// # Errors
    ///
    /// When the disk does not take that: then the group is still the next one.
    pub fn narrow(&mut self, group: &Group) -> Result<Narrowed, StoreError> {
        let path = self.path.clone();
        let narrowed = match group.batches.len() {
            0 | 1 => self.set_aside(group),
            count => self.halve(group, count / 2),
        };
        narrowed.map_err(sqlite(&path))
    }

    fn halve(&mut self, group: &Group, half: usize) -> rusqlite::Result<Narrowed> {
        let half = i64::try_from(half).unwrap_or(i64::MAX);
        self.connection.execute(
            "UPDATE plan SET last = (
                 SELECT max(id) FROM (SELECT id FROM waiting WHERE id <= ?1 ORDER BY id LIMIT ?2))",
            params![group.last, half],
        )?;
        Ok(Narrowed::Halved)
    }

    fn set_aside(&mut self, group: &Group) -> rusqlite::Result<Narrowed> {
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        transaction.execute(
            "INSERT OR REPLACE INTO aside (id, bytes) SELECT id, bytes FROM waiting WHERE id <= ?1",
            [group.last],
        )?;
        transaction.execute("DELETE FROM waiting WHERE id <= ?1", [group.last])?;
        transaction.execute("DELETE FROM plan", [])?;
        let mut lost = 0;
        let mut aside = size_of(&transaction, "aside")?;
        while aside.0 > 1 && aside.1 > self.bytes_max / SHARE {
            let oldest = "DELETE FROM aside WHERE id = (SELECT min(id) FROM aside)";
            lost += transaction.execute(oldest, [])?;
            aside = size_of(&transaction, "aside")?;
        }
        transaction.commit()?;
        let bytes: u64 = group.batches.iter().map(|one| one.len() as u64).sum();
        self.batches = self.batches.saturating_sub(group.batches.len() as u64);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.aside = aside;
        Ok(Narrowed::SetAside { lost })
    }

    /// The first batch that was set aside behind this one, and behind the last the first of all.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn next_aside(&self, behind: i64) -> Result<Option<Aside>, StoreError> {
        if self.aside.0 == 0 {
            return Ok(None);
        }
        let next = "SELECT id, bytes FROM aside ORDER BY id <= ?1, id LIMIT 1";
        let next = self.connection.query_row(next, [behind], |row| {
            Ok(Aside {
                id: row.get(0)?,
                bytes: row.get(1)?,
            })
        });
        next.optional().map_err(sqlite(&self.path))
    }

    /// The store has this batch, or the disk has damaged it.
    ///
    /// # Errors
    ///
    /// When the disk does not take that: then it comes again.
    pub fn forget_aside(&mut self, one: &Aside) -> Result<(), StoreError> {
        let forget = "DELETE FROM aside WHERE id = ?1";
        let done = self
            .connection
            .execute(forget, [one.id])
            .and_then(|_| size_of(&self.connection, "aside"));
        self.aside = done.map_err(sqlite(&self.path))?;
        Ok(())
    }
}
