//! The history while it is recorded: samples in, unfinished incidents out.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{Absent, Millis, Sample, Server, Stall, Text, Trigger, Window};
use rusqlite::{Connection, Transaction, params};

use crate::StoreError;
use crate::codec::{LastValues, encode_tick, put_varint};
use crate::files::make_private_dir;
use crate::history_open::{begin_session, cap_size, keep_reserve, lock, open_database, put_aside};
use crate::history_read::{MINUTE_MS, Recovered, read_window};
use crate::history_upgrade::packed;
use crate::session::{OpenIncident, SessionStart};

/// How much is kept: whichever is less. The oldest goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Age.
    pub age: Duration,
    /// Size of the file in bytes.
    pub bytes: u64,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self {
            age: Duration::from_secs(24 * 3600),
            bytes: 512 * 1024 * 1024,
        }
    }
}

/// What an incident covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IncidentMargins {
    /// Before its onset, milliseconds.
    pub before_ms: Millis,
    /// After its end, milliseconds.
    pub after_ms: Millis,
    /// From its onset at the most, milliseconds.
    pub longest_ms: Millis,
}

/// The history of one server on disk, written by one recorder.
#[derive(Debug)]
pub struct History {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    /// Held as long as we record: another recorder would take our open incident for a dead one's.
    _lock: File,
    pub(crate) session: i64,
    /// All that this process began, with the time of day at their common zero as the first one had it.
    pub(crate) own_sessions: Vec<i64>,
    pub(crate) begun_wall_ms: i64,
    pub(crate) limits: HistoryLimits,
    /// A session was deleted, by an earlier process maybe, and rows of it may be left.
    pub(crate) may_have_orphans: bool,
    signal_ids: HashMap<Cow<'static, str>, u32>,
    source_ids: HashMap<String, u32>,
    last: HashMap<&'static str, LastValues>,
    /// Of each source the names in the order of its last reading, with their ids: mostly the next one has the same, and
    /// none has to be looked for.
    order: HashMap<&'static str, Vec<(Cow<'static, str>, u32)>>,
    pub(crate) minute: Millis,
    /// The next chunk begins with all values, not with differences to the chunk before.
    fresh: bool,
}

impl History {
    /// Opens the history at `path`, or makes it, and begins a session. A damaged file, and one of a
    /// newer format, is put aside under another name and told in the second value; a new one is
    /// begun.
    pub fn open(
        path: &Path,
        limits: HistoryLimits,
        start: &SessionStart,
    ) -> Result<(Self, Option<String>), StoreError> {
        if let Some(dir) = path.parent() {
            make_private_dir(dir)?;
        }
        let lock = lock(path)?;
        let begin = || -> Result<(Connection, i64), StoreError> {
            let connection = open_database(path)?;
            cap_size(&connection, limits.bytes).map_err(StoreError::sqlite(path))?;
            let session = begin_session(&connection, start).map_err(StoreError::sqlite(path))?;
            Ok((connection, session))
        };
        let mut note = None;
        let (connection, session) = match begin() {
            Err(error) if error.is_damage() || matches!(error, StoreError::TooNew { .. }) => {
                let aside = put_aside(path)?;
                note = Some(format!("{error}; renamed to {}", aside.display()));
                begin()?
            }
            other => other?,
        };
        let history = Self {
            connection,
            path: path.to_owned(),
            _lock: lock,
            session,
            own_sessions: vec![session],
            begun_wall_ms: start.clock.wall_at_zero_ms,
            limits,
            may_have_orphans: true,
            signal_ids: HashMap::new(),
            source_ids: HashMap::new(),
            last: HashMap::new(),
            order: HashMap::new(),
            minute: Millis::MAX,
            fresh: true,
        };
        keep_reserve(path);
        Ok((history, note))
    }

    /// Closes a history whose file turned out to be damaged and puts the file aside; tells where.
    pub fn put_aside(self) -> Result<PathBuf, StoreError> {
        let path = self.path.clone();
        drop(self.connection);
        put_aside(&path)
    }

    /// Adds samples in one transaction. When it fails nothing of them is kept; the next call
    /// begins a minute anew, so that the file stays readable.
    pub fn append(&mut self, samples: &[Sample]) -> Result<(), StoreError> {
        let result = self.try_append(samples);
        if result.is_err() {
            self.begin_anew();
        }
        result.map_err(StoreError::sqlite(&self.path))
    }

    /// Nothing is known of what the session has.
    fn begin_anew(&mut self) {
        self.last.clear();
        self.signal_ids.clear();
        self.order.clear();
        self.source_ids.clear();
        self.minute = Millis::MAX;
    }

    /// Begins another session with the same zero, because the time of day was set: what is added from here on is found
    /// under the new one.
    pub fn begin_session(&mut self, start: &SessionStart) -> Result<(), StoreError> {
        self.session =
            begin_session(&self.connection, start).map_err(StoreError::sqlite(&self.path))?;
        self.own_sessions.push(self.session);
        self.begin_anew();
        self.fresh = true;
        Ok(())
    }

    fn try_append(&mut self, samples: &[Sample]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        if self.signal_ids.is_empty() {
            let known = known_ids(&transaction, "signal", self.session)?;
            self.signal_ids = known
                .into_iter()
                .map(|(name, id)| (name.into(), id))
                .collect();
            self.source_ids = known_ids(&transaction, "source", self.session)?;
        }
        let mut payload = Vec::new();
        for sample in samples {
            let taken = match &sample.outcome {
                Ok(taken) => taken,
                Err(absent) => {
                    insert_absent(&transaction, self.session, sample.at, absent)?;
                    continue;
                }
            };
            for absent in &taken.absent {
                insert_absent(&transaction, self.session, sample.at, absent)?;
            }
            for text in &taken.texts {
                insert_text(&transaction, self.session, sample.at, text)?;
            }
            for fact in &taken.facts {
                transaction
                    .prepare_cached(
                        "INSERT INTO fact (session, at_ms, name, value) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![
                        self.session,
                        sample.at as i64,
                        fact.name,
                        fact.value
                    ])?;
            }
            if taken.readings.is_empty() {
                continue;
            }
            let minute = sample.at / MINUTE_MS;
            if minute != self.minute {
                let chunk = (self.session, self.minute, self.fresh);
                insert_chunk(&transaction, chunk, &mut payload)?;
                self.last.clear();
                self.fresh = true;
                self.minute = minute;
            }
            let mut values = Vec::with_capacity(taken.readings.len());
            let order = self.order.entry(sample.source).or_default();
            let readings = taken.readings.iter().enumerate();
            for (place, reading) in readings.filter(|(_, reading)| !reading.value.is_nan()) {
                let known = order
                    .get(place)
                    .filter(|(name, _)| is_same(name, &reading.name));
                let known = known.map(|(_, id)| *id);
                let known = known.or_else(|| self.signal_ids.get(reading.name.as_ref()).copied());
                let id = match known {
                    Some(id) => id,
                    None => {
                        let id = self.signal_ids.len() as u32;
                        transaction
                            .prepare_cached(
                                "INSERT INTO signal (session, id, name, unit, kind)
                                 VALUES (?1, ?2, ?3, ?4, ?5)",
                            )?
                            .execute(params![
                                self.session,
                                id,
                                reading.name,
                                reading.unit.name(),
                                reading.kind.name()
                            ])?;
                        self.signal_ids.insert(reading.name.clone(), id);
                        id
                    }
                };
                let is_next = place == order.len();
                match order.get_mut(place) {
                    Some((name, known)) if *known == id => {
                        if let Cow::Borrowed(kept) = reading.name {
                            *name = Cow::Borrowed(kept);
                        }
                    }
                    Some(known) => *known = (reading.name.clone(), id),
                    None if is_next => order.push((reading.name.clone(), id)),
                    None => {}
                }
                values.push((id, reading.value));
            }
            if !values.is_sorted_by(|(a, _), (b, _)| a < b) {
                // Of two values of one name the last counts.
                values.reverse();
                values.sort_by_key(|(id, _)| *id);
                values.dedup_by_key(|(id, _)| *id);
            }
            let source = match self.source_ids.get(sample.source) {
                Some(id) => *id,
                None => {
                    let id = self.source_ids.len() as u32;
                    transaction
                        .prepare_cached(
                            "INSERT INTO source (session, id, name) VALUES (?1, ?2, ?3)",
                        )?
                        .execute(params![self.session, id, sample.source])?;
                    self.source_ids.insert(sample.source.to_owned(), id);
                    id
                }
            };
            put_varint(u64::from(source), &mut payload);
            put_varint(sample.at, &mut payload);
            let last = self.last.entry(sample.source).or_default();
            encode_tick(last, &values, &mut payload);
        }
        let written = !payload.is_empty();
        let chunk = (self.session, self.minute, self.fresh);
        insert_chunk(&transaction, chunk, &mut payload)?;
        transaction.commit()?;
        self.fresh &= !written;
        Ok(())
    }

    /// Moves what is in the log into the file itself. Without it nothing is lost, but the file
    /// alone is not the whole history.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(StoreError::sqlite(&self.path))
    }

    /// Notes the server as it is known now.
    pub fn note_server(&mut self, server: &Server) -> Result<(), StoreError> {
        let json = serde_json::to_string(server).unwrap_or_default();
        self.connection
            .execute(
                "UPDATE session SET server = ?2 WHERE id = ?1",
                params![self.session, json],
            )
            .map(|_| ())
            .map_err(StoreError::sqlite(&self.path))
    }

    /// Notes an incident that is under way.
    pub fn note_incident(&mut self, incident: &OpenIncident) -> Result<(), StoreError> {
        let stall = &incident.stall;
        let triggers: Vec<(&str, &str)> = stall
            .triggers
            .iter()
            .map(|trigger| (trigger.rule.as_str(), trigger.says.as_str()))
            .collect();
        self.connection
            .execute(
                "INSERT OR REPLACE INTO open_incident
                 (session, id, onset_ms, trigger_ms, end_ms, triggers)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![
                    self.session,
                    incident.id,
                    stall.onset as i64,
                    stall.trigger as i64,
                    stall.end.map(|end| end as i64),
                    serde_json::to_string(&triggers).unwrap_or_default()
                ],
            )
            .map(|_| ())
            .map_err(StoreError::sqlite(&self.path))
    }

    /// Forgets an incident whose file is written.
    pub fn forget_incident(&mut self, id: &str) -> Result<(), StoreError> {
        self.connection
            .execute("DELETE FROM open_incident WHERE id = ?1", [id])
            .map(|_| ())
            .map_err(StoreError::sqlite(&self.path))
    }

    /// The incidents of earlier sessions of which no file was written, rebuilt from the history:
    /// what `around` says, as far as the history goes.
    pub fn recover(&self, around: IncidentMargins) -> Result<Vec<Recovered>, StoreError> {
        self.try_recover(around)
            .map_err(StoreError::sqlite(&self.path))
    }

    fn try_recover(&self, around: IncidentMargins) -> rusqlite::Result<Vec<Recovered>> {
        let mut statement = self.connection.prepare(
            "SELECT session, id, onset_ms, trigger_ms, end_ms, triggers FROM open_incident
             WHERE session <> ?1 ORDER BY session, trigger_ms",
        )?;
        let open: Vec<(i64, OpenIncident)> = statement
            .query_map([self.session], |row| {
                let ms = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
                let triggers: String = row.get(5)?;
                let triggers: Vec<(String, String)> =
                    serde_json::from_str(&triggers).unwrap_or_default();
                let stall = Stall {
                    earlier: Vec::new(),
                    onset: ms(2)?,
                    trigger: ms(3)?,
                    end: row.get::<_, Option<i64>>(4)?.map(i64::unsigned_abs),
                    triggers: triggers
                        .into_iter()
                        .map(|(rule, says)| Trigger { rule, says })
                        .collect(),
                };
                Ok((
                    row.get(0)?,
                    OpenIncident {
                        id: row.get(1)?,
                        stall,
                    },
                ))
            })?
            .collect::<Result<_, _>>()?;
        let mut recovered = Vec::new();
        for (session, incident) in open {
            let onset = incident.stall.onset;
            let latest = onset.saturating_add(around.longest_ms);
            let end = incident.stall.end.unwrap_or(latest);
            let window = Window {
                from: onset.saturating_sub(around.before_ms),
                to: end.saturating_add(around.after_ms).min(latest),
            };
            recovered.push(read_window(&self.connection, session, window, incident)?);
        }
        Ok(recovered)
    }
}

/// Most names are kept once for the whole program: the same text at the same place need not be read.
fn is_same(name: &str, other: &str) -> bool {
    std::ptr::eq(name, other) || name == other
}

fn known_ids(
    transaction: &Transaction<'_>,
    table: &str,
    session: i64,
) -> rusqlite::Result<HashMap<String, u32>> {
    transaction
        .prepare(&format!("SELECT name, id FROM {table} WHERE session = ?1"))?
        .query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn insert_chunk(
    transaction: &Transaction<'_>,
    (session, minute, fresh): (i64, Millis, bool),
    payload: &mut Vec<u8>,
) -> rusqlite::Result<()> {
    if payload.is_empty() {
        return Ok(());
    }
    transaction
        .prepare_cached(
            "INSERT INTO chunk (session, minute, fresh, payload) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![session, minute as i64, fresh, &payload[..]])?;
    payload.clear();
    Ok(())
}

fn insert_text(
    transaction: &Transaction<'_>,
    session: i64,
    at: Millis,
    text: &Text,
) -> rusqlite::Result<()> {
    let body = packed(text)?;
    transaction
        .prepare_cached("INSERT INTO text (session, at_ms, kind, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![session, at as i64, text.kind().name(), body])?;
    Ok(())
}

fn insert_absent(
    transaction: &Transaction<'_>,
    session: i64,
    at: Millis,
    absent: &Absent,
) -> rusqlite::Result<()> {
    let reason = serde_json::to_value(absent.reason).unwrap_or_default();
    transaction
        .prepare_cached(
            "INSERT INTO absent (session, at_ms, what, reason, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            session,
            at as i64,
            absent.what,
            reason.as_str().unwrap_or_default(),
            absent.detail
        ])?;
    Ok(())
}
