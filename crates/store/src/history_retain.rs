//! Keeping a history within its limits: the oldest minutes go first.
//!
//! By default 24 hours and 512 MiB, whichever is less. Once a minute the recorder deletes what is older than the age
//! (by the wall clock), then the oldest minutes while the pages in use are over the size, facts and absences beyond
//! 100,000 rows, and sessions with nothing left. The file cannot grow past the size and a quarter.
//!
//! A disk that is full: the oldest tenth of the minutes goes and the write is tried again (`history-LABEL.db.reserve`
//! keeps 512 KiB for that). If that fails too, this is said once, the recorder goes on in memory and tries again
//! every 30 s; the next chunk is `fresh`.
//!
//! `synchronous = NORMAL`: a killed recorder loses about a second, a crashed machine the last seconds. A damaged or
//! newer file is renamed to `history-LABEL.db.damaged-N` and a new one begun. `history-LABEL.db.lock` is held (flock)
//! by the recorder; a second one records without a history.

use std::path::Path;

use model::Millis;
use rusqlite::{Connection, OptionalExtension, params};

use crate::StoreError;
use crate::history::History;
use crate::history_open::{keep_reserve, reserve_path};
use crate::history_read::MINUTE_MS;

/// Facts and absences kept at the most, rows. Both are rare; a flood of them must not fill the file.
const ROWS_MAX: i64 = 100_000;

/// Minutes that stay however little room there is: what just happened is explained from them.
const MINUTES_MIN: i64 = 60;

impl History {
    /// Deletes what is over the limits, the oldest first. `now` is the recorder's clock.
    pub fn retain(&mut self, now: Millis) -> Result<(), StoreError> {
        self.try_retain(now).map_err(StoreError::sqlite(&self.path))
    }

    fn try_retain(&mut self, now: Millis) -> rusqlite::Result<()> {
        let age_ms = self.limits.age.as_millis() as i64;
        // By the time of day that it began with: one that is set ahead by a day makes nothing older.
        let oldest_wall = self.begun_wall_ms + now as i64 - age_ms;
        let sessions: Vec<(i64, i64)> = self
            .connection
            .prepare("SELECT id, wall_at_zero_ms FROM session")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        keep_reserve(&self.path);
        for (session, zero) in sessions {
            let zero = match self.own_sessions.contains(&session) {
                true => self.begun_wall_ms,
                false => zero,
            };
            self.delete_before(session, oldest_wall - zero)?;
        }
        while used_bytes(&self.connection)? > self.limits.bytes {
            if !self.delete_oldest()? {
                break;
            }
        }
        self.connection.execute(
            "DELETE FROM fact WHERE rowid <= (SELECT max(rowid) FROM fact) - ?1",
            [ROWS_MAX],
        )?;
        self.connection.execute(
            "DELETE FROM absent WHERE rowid <= (SELECT max(rowid) FROM absent) - ?1",
            [ROWS_MAX],
        )?;
        let deleted = self.connection.execute(
            "DELETE FROM session WHERE id <> ?1
             AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.session = session.id)
             AND NOT EXISTS (SELECT 1 FROM open_incident WHERE open_incident.session = session.id)",
            [self.session],
        )?;
        self.may_have_orphans |= deleted > 0;
        if self.may_have_orphans {
            self.delete_orphans()?;
            self.may_have_orphans = false;
        }
        Ok(())
    }

    /// Deletes what is of no session any more. It reads all of these tables, the texts of a day among them.
    fn delete_orphans(&self) -> rusqlite::Result<()> {
        for table in ["source", "signal", "fact", "absent", "text"] {
            self.connection.execute(
                &format!("DELETE FROM {table} WHERE session NOT IN (SELECT id FROM session)"),
                [],
            )?;
        }
        Ok(())
    }

    /// Makes room when the disk is full: the oldest tenth of the minutes goes, but not the present
    /// one. False when there is nothing to delete. Deleting needs room itself, for the log of it;
    /// that is what the reserve file is for.
    pub fn make_room(&mut self) -> Result<bool, StoreError> {
        let _ = std::fs::remove_file(reserve_path(&self.path));
        let minutes: i64 = self
            .connection
            .query_row(
                "SELECT count(*) FROM (SELECT DISTINCT session, minute FROM chunk)",
                [],
                |row| row.get(0),
            )
            .map_err(StoreError::sqlite(&self.path))?;
        let mut deleted = false;
        for _ in 0..(minutes / 10).max(1) {
            if !self
                .delete_oldest()
                .map_err(StoreError::sqlite(&self.path))?
            {
                break;
            }
            deleted = true;
        }
        Ok(deleted)
    }

    /// Makes the file smaller by `wanted` bytes, where it can: the oldest minutes go, but not those of the last hour.
    /// Answers by how many bytes it became smaller.
    pub fn give_room(&mut self, wanted: u64) -> Result<u64, StoreError> {
        self.try_give_room(wanted)
            .map_err(StoreError::sqlite(&self.path))
    }

    fn try_give_room(&mut self, wanted: u64) -> rusqlite::Result<u64> {
        let page = pragma(&self.connection, "page_size")?.max(1);
        let pages = pragma(&self.connection, "page_count")?;
        let wanted = wanted.div_ceil(page).min(pages);
        let mut minutes: i64 = self.connection.query_row(
            "SELECT count(*) FROM (SELECT DISTINCT session, minute FROM chunk)",
            [],
            |row| row.get(0),
        )?;
        while pragma(&self.connection, "freelist_count")? < wanted
            && minutes > MINUTES_MIN
            && self.delete_oldest()?
        {
            minutes -= 1;
        }
        // Does nothing to a file that was begun without (`auto_vacuum`).
        let mut vacuum = self
            .connection
            .prepare(&format!("PRAGMA incremental_vacuum({wanted})"))?;
        // A page a row.
        let mut given = vacuum.query([])?;
        while given.next()?.is_some() {}
        drop(given);
        drop(vacuum);
        let left = pragma(&self.connection, "page_count")?;
        if left < pages {
            // Until then the old pages are in the file, and the new ones in its log.
            self.connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        Ok(pages.saturating_sub(left) * page)
    }

    /// Bytes of the file that hold something.
    pub fn used_bytes(&self) -> Result<u64, StoreError> {
        used_bytes(&self.connection).map_err(StoreError::sqlite(&self.path))
    }

    /// Deletes the oldest minute, but not the present one.
    fn delete_oldest(&mut self) -> rusqlite::Result<bool> {
        let oldest: Option<(i64, i64)> = self
            .connection
            .query_row(
                "SELECT session, minute FROM chunk ORDER BY id LIMIT 1",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        let Some((session, minute)) = oldest else {
            return Ok(false);
        };
        if session == self.session && minute.unsigned_abs() == self.minute {
            return Ok(false);
        }
        self.delete_before(session, (minute + 1) * MINUTE_MS as i64)?;
        Ok(true)
    }

    fn delete_before(&mut self, session: i64, before_ms: i64) -> rusqlite::Result<()> {
        let minute = before_ms.div_euclid(MINUTE_MS as i64);
        let delete = |sql: &str, limit: i64| self.connection.execute(sql, params![session, limit]);
        delete(
            "DELETE FROM chunk WHERE session = ?1 AND minute < ?2",
            minute,
        )?;
        delete(
            "DELETE FROM text WHERE session = ?1 AND at_ms < ?2",
            before_ms,
        )?;
        delete(
            "DELETE FROM absent WHERE session = ?1 AND at_ms < ?2",
            before_ms,
        )?;
        Ok(())
    }
}

/// A number that SQLite tells of the file.
fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<u64> {
    let number: i64 = connection.pragma_query_value(None, name, |row| row.get(0))?;
    Ok(number.unsigned_abs())
}

/// Bytes that a history holds, read beside the recorder that writes it.
pub fn history_bytes(path: &Path) -> Result<u64, StoreError> {
    let connection = crate::budget::open_careful(path).map_err(StoreError::sqlite(path))?;
    used_bytes(&connection).map_err(StoreError::sqlite(path))
}

pub(crate) fn used_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let pages = pragma(connection, "page_count")? - pragma(connection, "freelist_count")?;
    Ok(pages * pragma(connection, "page_size")?)
}
