//! Stretches of a history, read beside the recorder that writes it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use model::{
    Clock, Incident, Millis, Server, StackEvidence, Stall, TextKind, TimedText, Timeline, Window,
};
use rusqlite::{Connection, params};

use crate::StoreError;
use crate::budget::{READ_BYTES_MAX, ReadBudget, open_careful};
use crate::history_open::HISTORY_VERSION;
use crate::history_read::MINUTE_MS;
use crate::history_read::{self, TEXTS_PERCENT, TimelineTarget, text_bytes};

/// Time before a stretch that is read too, so that its first second has a rate; milliseconds.
const LEAD_MS: Millis = 120_000;

/// Of a stretch up to this long all readings are kept, milliseconds: what came a moment after another
/// one tells when a stall was over.
const WHOLE_MS: Millis = 3_600_000;

/// Readings of a source that are kept of a longer one, as an even selection.
pub(crate) const READINGS_MAX: Millis = 3_600;

/// The same where a few signals alone are read: each second of a day.
const FEW_READINGS_MAX: Millis = 86_400;

/// Texts of a kind that are read at the most; of more, an even selection.
const TEXTS_MAX: usize = 2_000;

/// Texts of a kind that are listed at the most: one a second of two weeks.
const TEXTS_LISTED_MAX: i64 = 1_000_000;

/// Memory that a stretch may take, bytes: two are compared.
pub(crate) const WINDOW_BYTES_MAX: u64 = READ_BYTES_MAX / 2;

/// Pages of a history that are kept in memory while minutes are read, KiB: each is needed once. SQLite itself keeps 2,000.
const MINUTES_CACHE_KIB: i64 = 256;

/// Sessions that are looked through, the newest.
const SESSIONS_MAX: i64 = 1_000;

/// How long the recorder may hold the file before we give up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A stretch of a history as an incident: the stretch is its stall.
#[derive(Debug)]
pub struct HistoryWindow {
    /// What was recorded. It may hold several sessions of the recorder; its clock is the wall's.
    pub incident: Incident,
    /// The stretch itself, on the incident's clock; the readings begin a little earlier.
    pub window: Window,
    /// How much of it was recorded, milliseconds, to the minute.
    pub recorded_ms: Millis,
    /// Chunks of values that could not be read.
    pub damaged_chunks: usize,
    /// Some of it was left out: it is over this much memory, bytes.
    pub over_bytes: Option<u64>,
}

struct Session {
    id: i64,
    clock: Clock,
    host: String,
    tool_version: String,
    server: Server,
}

/// Reads what a history holds between two moments, milliseconds since 1970 UTC, with the texts of
/// these kinds. Nothing when it holds nothing of that time.
pub fn read_history(
    path: &Path,
    from_wall_ms: i64,
    to_wall_ms: i64,
    kinds: &[TextKind],
) -> Result<Option<HistoryWindow>, StoreError> {
    let connection = open(path)?;
    let wanted = Wanted {
        kinds,
        signals: &|_| true,
        readings_max: READINGS_MAX,
        has_facts: true,
        has_lead: true,
    };
    read(&connection, (from_wall_ms, to_wall_ms), &wanted).map_err(StoreError::sqlite(path))
}

/// The same without texts, and of the time before it the last reading of each source alone, so that its first second has
/// a rate: for whoever reads a history minute by minute.
pub fn read_minutes(
    path: &Path,
    from_wall_ms: i64,
    to_wall_ms: i64,
) -> Result<Option<HistoryWindow>, StoreError> {
    let connection = open(path)?;
    connection
        .pragma_update(None, "cache_size", -MINUTES_CACHE_KIB)
        .map_err(StoreError::sqlite(path))?;
    let wanted = Wanted {
        kinds: &[],
        signals: &|_| true,
        readings_max: READINGS_MAX,
        has_facts: true,
        has_lead: false,
    };
    read(&connection, (from_wall_ms, to_wall_ms), &wanted).map_err(StoreError::sqlite(path))
}

/// The same of a few signals alone, those whose names are `wanted`: no texts and facts, and of a day each second.
pub fn read_signals(
    path: &Path,
    from_wall_ms: i64,
    to_wall_ms: i64,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Option<HistoryWindow>, StoreError> {
    let connection = open(path)?;
    let wanted = Wanted {
        kinds: &[],
        signals: wanted,
        readings_max: FEW_READINGS_MAX,
        has_facts: false,
        has_lead: true,
    };
    read(&connection, (from_wall_ms, to_wall_ms), &wanted).map_err(StoreError::sqlite(path))
}

/// Server and host of a history, as its last session knew them; nothing where it has none.
pub fn history_of(path: &Path) -> Result<Option<(Server, String)>, StoreError> {
    let connection = open(path)?;
    let sessions = sessions(&connection).map_err(StoreError::sqlite(path))?;
    let last = sessions.into_iter().next_back();
    Ok(last.map(|session| (session.server, session.host)))
}

/// What of a history is read.
pub(crate) struct Wanted<'a> {
    pub(crate) kinds: &'a [TextKind],
    pub(crate) signals: &'a dyn Fn(&str) -> bool,
    /// Readings of a source that are kept of a long stretch.
    pub(crate) readings_max: Millis,
    /// Facts, and what was absent.
    pub(crate) has_facts: bool,
    /// All readings of the time before, not only the last one of each source.
    pub(crate) has_lead: bool,
}

/// How much of a time a history holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HistoryCoverage {
    /// Milliseconds, to the minute.
    pub ms: Millis,
    /// The first recorded moment of the time, milliseconds since 1970 UTC.
    pub first_wall_ms: Option<i64>,
    /// The last one.
    pub last_wall_ms: Option<i64>,
}

/// How much of the time between two moments a history holds.
pub fn history_coverage(
    path: &Path,
    from_wall_ms: i64,
    to_wall_ms: i64,
) -> Result<HistoryCoverage, StoreError> {
    let connection = open(path)?;
    let mut all = HistoryCoverage::default();
    for session in sessions(&connection).map_err(StoreError::sqlite(path))? {
        let one = of_session(&connection, &session, from_wall_ms, to_wall_ms)
            .map_err(StoreError::sqlite(path))?;
        all.ms = all.ms.saturating_add(one.ms);
        all.first_wall_ms = all.first_wall_ms.into_iter().chain(one.first_wall_ms).min();
        all.last_wall_ms = all.last_wall_ms.max(one.last_wall_ms);
    }
    Ok(all)
}

pub(crate) fn open(path: &Path) -> Result<Connection, StoreError> {
    // SQLite's own words for a missing file say too little.
    std::fs::metadata(path).map_err(StoreError::io(path))?;
    let connection = open_careful(path).map_err(StoreError::sqlite(path))?;
    let version = || -> rusqlite::Result<i64> {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_query_value(None, "user_version", |row| row.get(0))
    };
    let version = version().map_err(StoreError::sqlite(path))?;
    if version > HISTORY_VERSION {
        return Err(StoreError::TooNew {
            path: path.to_owned(),
            found: version,
            known: HISTORY_VERSION,
        });
    }
    Ok(connection)
}

fn sessions(connection: &Connection) -> rusqlite::Result<Vec<Session>> {
    let mut statement = connection.prepare(
        "SELECT id, wall_at_zero_ms, boot_id, host, tool_version, server FROM
         (SELECT * FROM session ORDER BY id DESC LIMIT ?1) ORDER BY id",
    )?;
    statement
        .query_map([SESSIONS_MAX], |row| {
            let server: String = row.get(5)?;
            Ok(Session {
                id: row.get(0)?,
                clock: Clock {
                    wall_at_zero_ms: row.get(1)?,
                    boot_id: row.get(2)?,
                },
                host: row.get(3)?,
                tool_version: row.get(4)?,
                server: serde_json::from_str(&server).unwrap_or_default(),
            })
        })?
        .collect()
}

/// The minutes of a session that lie between two moments, as far as they do.
fn of_session(
    connection: &Connection,
    session: &Session,
    from: i64,
    to: i64,
) -> rusqlite::Result<HistoryCoverage> {
    let zero = session.clock.wall_at_zero_ms;
    let length = MINUTE_MS as i64;
    let own = |wall: i64| wall.saturating_sub(zero).div_euclid(length);
    // A day has a hundred thousand chunks: those of the time alone.
    let minutes: BTreeSet<i64> = connection
        .prepare_cached(
            "SELECT DISTINCT minute FROM chunk WHERE session = ?1 AND minute BETWEEN ?2 AND ?3",
        )?
        .query_map(params![session.id, own(from), own(to)], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut recorded = HistoryCoverage::default();
    for minute in minutes {
        let begin = zero.saturating_add(minute.saturating_mul(length));
        let end = begin.saturating_add(length).min(to);
        let begin = begin.max(from);
        if let Ok(inside @ 1..) = u64::try_from(end.saturating_sub(begin)) {
            recorded.ms = recorded.ms.saturating_add(inside);
            recorded.first_wall_ms = recorded.first_wall_ms.or(Some(begin));
            recorded.last_wall_ms = Some(end);
        }
    }
    Ok(recorded)
}

pub(crate) fn read(
    connection: &Connection,
    (from, to): (i64, i64),
    wanted: &Wanted<'_>,
) -> rusqlite::Result<Option<HistoryWindow>> {
    let length = u64::try_from(to.saturating_sub(from)).unwrap_or(0);
    let begin = from.saturating_sub_unsigned(LEAD_MS);
    let window = Window {
        from: LEAD_MS,
        to: LEAD_MS.saturating_add(length),
    };
    let mut incident: Option<Incident> = None;
    let (mut recorded_ms, mut damaged_chunks) = (0, 0);
    let mut account = ReadBudget::new(WINDOW_BYTES_MAX);
    let mut all = sessions(connection)?;
    for (index, stretch) in stretches(connection, &all, (begin, from, to))? {
        let Some(session) = all.get_mut(index) else {
            continue;
        };
        let inside = of_session(connection, session, stretch.start.max(from), stretch.end)?.ms;
        recorded_ms += inside;
        let zero = session.clock.wall_at_zero_ms;
        let own = |wall: i64| u64::try_from(wall.saturating_sub(zero)).unwrap_or(0);
        let of_time = Window {
            from: own(stretch.start),
            to: own(stretch.end),
        };
        let place = TimelineTarget {
            shift: zero.saturating_sub(begin),
            step: match length > WHOLE_MS.max(wanted.readings_max * 1000) {
                true => length / wanted.readings_max,
                false => 0,
            },
            whole_from: match wanted.has_lead {
                true => 0,
                false => own(from),
            },
        };
        let into = incident.get_or_insert_with(|| empty(session, begin, window));
        damaged_chunks += history_read::read_timeline(
            connection,
            session.id,
            of_time,
            (&place, wanted.signals),
            (&mut into.timeline, &mut account),
        )?;
        into.server.clone_from(&session.server);
        if !wanted.has_facts {
            continue;
        }
        let moved = |at: Millis| place.moved(at).unwrap_or(0);
        into.texts.extend(
            texts(connection, session.id, of_time, wanted.kinds, &mut account)?
                .into_iter()
                .map(|timed| TimedText {
                    at: moved(timed.at),
                    ..timed
                }),
        );
        for mut fact in history_read::read_facts(connection, session.id, of_time, &mut account)? {
            fact.at = moved(fact.at);
            into.facts.push(fact);
        }
        for mut absent in history_read::read_absent(connection, session.id, of_time, &mut account)?
        {
            absent.first = moved(absent.first);
            absent.last = moved(absent.last);
            into.absent.push(absent);
        }
    }
    Ok(incident.map(|incident| HistoryWindow {
        incident,
        window,
        recorded_ms: recorded_ms.min(length),
        damaged_chunks,
        over_bytes: account.is_over().then_some(WINDOW_BYTES_MAX),
    }))
}

/// The parts of a time that each of these sessions recorded, by the session's place, in the order of time. Where two of them
/// recorded the same time, because the time of day was set back in between, the later one has it.
fn stretches(
    connection: &Connection,
    sessions: &[Session],
    (lead, from, to): (i64, i64, i64),
) -> rusqlite::Result<Vec<(usize, Range<i64>)>> {
    let mut taken: Vec<Range<i64>> = Vec::new();
    let mut stretches = Vec::new();
    for (index, session) in sessions.iter().enumerate().rev() {
        let found = of_session(connection, session, lead, to)?;
        let (Some(begin), Some(end)) = (found.first_wall_ms, found.last_wall_ms) else {
            continue;
        };
        // What leads to a time is nothing without it.
        if end <= from {
            continue;
        }
        let whole = begin..end;
        let mut parts = vec![whole.clone()];
        for other in &taken {
            parts = parts
                .into_iter()
                .flat_map(|part| {
                    [
                        part.start..part.end.min(other.start),
                        part.start.max(other.end)..part.end,
                    ]
                })
                .filter(|part| !part.is_empty())
                .collect();
        }
        taken.push(whole);
        stretches.extend(parts.into_iter().map(|part| (index, part)));
    }
    stretches.sort_by_key(|(_, part)| part.start);
    Ok(stretches)
}

fn empty(session: &Session, begin: i64, window: Window) -> Incident {
    Incident {
        mentions: Vec::new(),
        known_words: Vec::new(),
        id: format!("history of {}", session.server.label),
        host: session.host.clone(),
        tool_version: session.tool_version.clone(),
        server: session.server.clone(),
        clock: Clock {
            wall_at_zero_ms: begin,
            boot_id: session.clock.boot_id.clone(),
        },
        stall: Stall {
            earlier: Vec::new(),
            onset: window.from,
            trigger: window.from,
            end: Some(window.to),
            triggers: Vec::new(),
        },
        // What was read for the first second's rate is no calm to compare with.
        window,
        timeline: Timeline::default(),
        texts: Vec::new(),
        facts: Vec::new(),
        stacks: StackEvidence::default(),
        queries: Vec::new(),
        absent: Vec::new(),
    }
}

/// An even selection, in the order of time: as many as are looked at and as the account has room for.
fn texts(
    connection: &Connection,
    session: i64,
    window: Window,
    kinds: &[TextKind],
    account: &mut ReadBudget,
) -> rusqlite::Result<Vec<TimedText>> {
    let (from, to) = history_read::bounds(window);
    let mut chosen: Vec<i64> = Vec::new();
    for kind in kinds {
        let ids: Vec<i64> = connection
            .prepare_cached(
                "SELECT id FROM text WHERE session = ?1 AND at_ms BETWEEN ?2 AND ?3 AND kind = ?4
                 ORDER BY at_ms LIMIT ?5",
            )?
            .query_map(
                params![session, from, to, kind.name(), TEXTS_LISTED_MAX],
                |row| row.get(0),
            )?
            .collect::<Result<_, _>>()?;
        let step = ids.len().div_ceil(TEXTS_MAX).max(1);
        chosen.extend(ids.into_iter().step_by(step));
    }
    // By time, whatever the kind.
    chosen.sort_unstable();
    let mut share = account.part(TEXTS_PERCENT);
    let mut texts = Vec::new();
    // Wherever it ends for want of room, what was read is spread over the whole stretch.
    for index in halving(chosen.len()) {
        let Some(id) = chosen.get(index) else {
            continue;
        };
        let Some(text) = history_read::read_text(connection, *id)? else {
            continue;
        };
        if share.take(text_bytes(&text)).is_err() {
            break;
        }
        texts.push(text);
    }
    account.settle(&share);
    texts.sort_by_key(|timed| timed.at);
    Ok(texts)
}

/// All numbers below a limit: first those that are far apart, then those in the middle between them.
fn halving(count: usize) -> impl Iterator<Item = usize> {
    let largest = count.max(1).next_power_of_two();
    let steps = std::iter::successors(Some(largest), |step| (*step > 1).then_some(step / 2));
    steps.flat_map(move |step| {
        let is_first = step == largest;
        (0..count)
            .step_by(step)
            .filter(move |index| is_first || index % (2 * step) != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_gives_each_number_once() {
        for count in 0..40 {
            let mut all: Vec<usize> = halving(count).collect();
            if count == 10 {
                assert_eq!(all[..4], [0, 8, 4, 2]);
            }
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }
}
