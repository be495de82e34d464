//! A history that a recorder writes, read on from where it was read last.
//!
//! Rows are only added, and what took long to read is in a later one. So a row's number tells whether it is new, and
//! a second of reading on costs the rows of a second, however much was recorded before.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::{Server, TextKind, TimedAbsent, TimedFact, TimedText, Timeline};
use rusqlite::{Connection, Params};

use crate::StoreError;
use crate::budget::ReadBudget;
use crate::history_read::{
    ChunkReader, MINUTE_MS, Tick, TimelineTarget, absent_of, fact_of, text_of,
};
use crate::history_window::{
    HistoryWindow, READINGS_MAX, WINDOW_BYTES_MAX, Wanted, open, read as read_window,
};

/// A recorder's history, and how far it was read.
#[derive(Debug)]
pub struct HistoryFollower {
    connection: Connection,
    path: PathBuf,
    /// Device and inode: a file that is put aside is another one.
    file: (u64, u64),
    kinds: Vec<TextKind>,
    /// The session that is written.
    session: i64,
    place: TimelineTarget,
    chunks: ChunkReader,
    /// The last chunk that was read.
    chunk: i64,
    rows: Rows,
}

/// The last row of each table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rows {
    session: i64,
    text: i64,
    fact: i64,
    absent: i64,
}

/// What was written since, on the clock of the stretch that was read first. Its ticks may begin earlier: those that are
/// there already are told again.
#[derive(Debug, Default)]
pub struct HistoryPart {
    /// The server, as it is known now.
    pub server: Server,
    /// The values.
    pub timeline: Timeline,
    /// The texts of the wanted kinds, oldest first.
    pub texts: Vec<TimedText>,
    /// The facts, oldest first.
    pub facts: Vec<TimedFact>,
    /// What was absent.
    pub absent: Vec<TimedAbsent>,
    /// Chunks that could not be read.
    pub damaged_chunks: usize,
}

impl HistoryFollower {
    /// Reads a stretch up to the newest moment as [`crate::read_history`] does, and all its readings, to be read on.
    pub fn open(
        path: &Path,
        (from_wall_ms, to_wall_ms): (i64, i64),
        kinds: &[TextKind],
    ) -> Result<Option<(Self, HistoryWindow)>, StoreError> {
        let file = file_of(path)?;
        let connection = open(path)?;
        let wanted = Wanted {
            kinds,
            signals: &|_| true,
            readings_max: 2 * READINGS_MAX,
            has_facts: true,
            has_lead: true,
        };
        let read = || {
            // Of one moment: what is written meanwhile is read on.
            let moment = connection.unchecked_transaction()?;
            let Some(window) = read_window(&moment, (from_wall_ms, to_wall_ms), &wanted)? else {
                return Ok(None);
            };
            let session = Rows::newest(&moment)?.session;
            let zero: i64 = moment.query_row(
                "SELECT wall_at_zero_ms FROM session WHERE id = ?1",
                [session],
                |row| row.get(0),
            )?;
            let until = to_wall_ms.saturating_sub(zero);
            let rows = Rows::until(&moment, session, until)?;
            // Differences have a base from a chunk on that has all values.
            let chunk = moment.query_row(
                "SELECT coalesce((SELECT id - 1 FROM chunk
                                  WHERE +session = ?1 AND fresh = 1 AND minute <= ?2
                                  ORDER BY id DESC LIMIT 1),
                                 (SELECT min(id) - 1 FROM chunk WHERE session = ?1),
                                 (SELECT max(id) FROM chunk), 0)",
                [session, until / MINUTE_MS as i64],
                |row| row.get(0),
            )?;
            Ok(Some((window, rows, zero, chunk)))
        };
        let read = read().map_err(StoreError::sqlite(path))?;
        let Some((window, rows, zero, chunk)) = read else {
            return Ok(None);
        };
        let follower = Self {
            path: path.to_owned(),
            file,
            kinds: kinds.to_vec(),
            session: rows.session,
            place: TimelineTarget {
                shift: zero.saturating_sub(window.incident.clock.wall_at_zero_ms),
                ..TimelineTarget::default()
            },
            chunks: ChunkReader::default(),
            chunk,
            rows,
            connection,
        };
        Ok(Some((follower, window)))
    }

    /// What was written since. Nothing where it does not go on here: another session is written, or another file; then
    /// all is to be read again.
    pub fn read_on(&mut self) -> Result<Option<HistoryPart>, StoreError> {
        if file_of(&self.path)? != self.file {
            return Ok(None);
        }
        let path = self.path.clone();
        self.part().map_err(StoreError::sqlite(&path))
    }

    fn part(&mut self) -> rusqlite::Result<Option<HistoryPart>> {
        let moment = self.connection.unchecked_transaction()?;
        let known = std::mem::replace(&mut self.rows, Rows::newest(&moment)?);
        if self.rows.session != self.session {
            return Ok(None);
        }
        let mut budget = ReadBudget::new(WINDOW_BYTES_MAX);
        let mut part = HistoryPart::default();
        let names = &mut self.chunks.names;
        names.read(&moment, self.session, &|_| true, &mut budget)?;
        let server: String = moment
            .prepare_cached("SELECT server FROM session WHERE id = ?1")?
            .query_row([self.session], |row| row.get(0))?;
        part.server = serde_json::from_str(&server).unwrap_or_default();
        let place = self.place;
        let mut statement = moment.prepare_cached(
            "SELECT id, fresh, payload FROM chunk WHERE id > ?1 AND +session = ?2 ORDER BY id",
        )?;
        let mut rows = statement.query([self.chunk, self.session])?;
        self.chunks.damaged = 0;
        while let Some(row) = rows.next()? {
            self.chunk = row.get(0)?;
            let into = (&mut part.timeline, &mut budget);
            let mut take = |_, at| place.moved(at).map_or(Tick::Left, Tick::At);
            self.chunks
                .read((row.get(1)?, row.get(2)?), &mut take, into);
        }
        part.damaged_chunks = self.chunks.damaged;
        let moved = |at| place.moved(at).unwrap_or(0);
        let mut statement = moment.prepare_cached(
            "SELECT at_ms, kind, body FROM text WHERE id > ?1 AND +session = ?2 ORDER BY at_ms",
        )?;
        let texts = statement.query_map([known.text, self.session], text_of)?;
        for text in texts {
            part.texts
                .extend(text?.filter(|timed| self.kinds.contains(&timed.text.kind())));
        }
        part.texts.iter_mut().for_each(|one| one.at = moved(one.at));
        let mut statement = moment.prepare_cached(
            "SELECT at_ms, name, value FROM fact WHERE rowid > ?1 AND session = ?2 ORDER BY at_ms",
        )?;
        let facts = statement.query_map([known.fact, self.session], fact_of)?;
        part.facts = facts.collect::<Result<_, _>>()?;
        part.facts.iter_mut().for_each(|one| one.at = moved(one.at));
        let mut statement = moment.prepare_cached(
            "SELECT min(at_ms), max(at_ms), count(*), what, reason, detail FROM absent
             WHERE rowid > ?1 AND +session = ?2 GROUP BY what, reason, detail",
        )?;
        let absent = statement.query_map([known.absent, self.session], absent_of)?;
        part.absent = absent.collect::<Result<_, _>>()?;
        for one in &mut part.absent {
            (one.first, one.last) = (moved(one.first), moved(one.last));
        }
        Ok((!budget.is_over()).then_some(part))
    }
}

impl Rows {
    fn newest(moment: &Connection) -> rusqlite::Result<Self> {
        let rows = "SELECT (SELECT max(id) FROM session), (SELECT max(id) FROM text),
                           (SELECT max(rowid) FROM fact), (SELECT max(rowid) FROM absent)";
        Self::of(moment, rows, [])
    }

    /// Those up to a moment of the session: a recorder's clock may be ahead of ours, and what is later is read on.
    fn until(moment: &Connection, session: i64, at_ms: i64) -> rusqlite::Result<Self> {
        let rows = "SELECT ?1,
            coalesce((SELECT min(id) - 1 FROM text WHERE session = ?1 AND at_ms > ?2),
                     (SELECT max(id) FROM text)),
            coalesce((SELECT min(rowid) - 1 FROM fact WHERE session = ?1 AND at_ms > ?2),
                     (SELECT max(rowid) FROM fact)),
            coalesce((SELECT min(rowid) - 1 FROM absent WHERE session = ?1 AND at_ms > ?2),
                     (SELECT max(rowid) FROM absent))";
        Self::of(moment, rows, [session, at_ms])
    }

    fn of(moment: &Connection, rows: &str, wanted: impl Params) -> rusqlite::Result<Self> {
        moment.prepare_cached(rows)?.query_row(wanted, |row| {
            let last = |column| -> rusqlite::Result<i64> {
                Ok(row.get::<_, Option<i64>>(column)?.unwrap_or(0))
            };
            Ok(Self {
                session: last(0)?,
                text: last(1)?,
                fact: last(2)?,
                absent: last(3)?,
            })
        })
    }
}

fn file_of(path: &Path) -> Result<(u64, u64), StoreError> {
    let file = std::fs::metadata(path).map_err(StoreError::io(path))?;
    Ok((file.dev(), file.ino()))
}
