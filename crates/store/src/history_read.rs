//! Reading sessions of a history back into samples, texts, facts and absences.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;

use flate2::read::DeflateDecoder;
use model::{
    Absent, Clock, Fact, Incident, Millis, Reason, Server, SignalKind, TextKind, TimedAbsent,
    TimedFact, TimedText, Timeline, Unit, Window,
};
use rusqlite::{Connection, params};

use crate::budget::{OverBudget, READ_BYTES_MAX, ReadBudget};
use crate::codec::{LastValues, decode_tick, take_varint};
use crate::session::OpenIncident;

/// A minute of the recorder's clock: the unit of reading and of deleting.
pub(crate) const MINUTE_MS: Millis = 60_000;

/// Of names, readings and texts of a history a stretch may take these shares of its memory, percent.
pub(crate) const NAMES_PERCENT: u64 = 10;
pub(crate) const READINGS_PERCENT: u64 = 50;
pub(crate) const TEXTS_PERCENT: u64 = 50;

/// What a name in a list takes beside its letters, bytes.
const NAME_BYTES: u64 = 128;

/// A series with fewer readings is of a source that seldom reads.
const OFTEN_READ: usize = 8;

/// Of a longer stretch there is no telling how many readings a series will have.
const ROOM_SECONDS_MAX: Millis = 256;

/// A text is not unpacked beyond this, bytes.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// An incident rebuilt from the history after its recorder died.
#[derive(Debug)]
pub struct Recovered {
    /// The incident, as far as the history goes.
    pub incident: Incident,
    /// Chunks of values that could not be read.
    pub damaged_chunks: usize,
}

pub(crate) fn read_window(
    connection: &Connection,
    session: i64,
    window: Window,
    open: OpenIncident,
) -> rusqlite::Result<Recovered> {
    let (clock, host, tool_version, server) = connection.query_row(
        "SELECT wall_at_zero_ms, boot_id, host, tool_version, server FROM session WHERE id = ?1",
        [session],
        |row| {
            let clock = Clock {
                wall_at_zero_ms: row.get(0)?,
                boot_id: row.get(1)?,
            };
            let server: String = row.get(4)?;
            let server: Server = serde_json::from_str(&server).unwrap_or_default();
            Ok((clock, row.get(2)?, row.get(3)?, server))
        },
    )?;
    let mut timeline = Timeline::default();
    let mut account = ReadBudget::new(READ_BYTES_MAX);
    let damaged_chunks = read_timeline(
        connection,
        session,
        window,
        (&TimelineTarget::default(), &|_| true),
        (&mut timeline, &mut account),
    )?;
    let last = timeline
        .sources
        .iter()
        .filter_map(|source| source.ticks.last().copied())
        .max()
        .unwrap_or(open.stall.trigger);
    let incident = Incident {
        mentions: Vec::new(),
        known_words: Vec::new(),
        id: open.id,
        host,
        tool_version,
        server,
        clock,
        stall: open.stall,
        window: Window {
            from: window.from,
            to: window.to.min(last),
        },
        timeline,
        texts: read_texts(connection, session, window, &mut account)?,
        stacks: model::StackEvidence::default(),
        queries: Vec::new(),
        facts: read_facts(connection, session, window, &mut account)?,
        absent: read_absent(connection, session, window, &mut account)?,
    };
    Ok(Recovered {
        incident,
        damaged_chunks,
    })
}

/// What the ids in a session's chunks stand for.
#[derive(Debug, Default)]
pub(crate) struct Names {
    sources: HashMap<u64, String>,
    signals: BTreeMap<u32, (String, Unit, SignalKind)>,
    /// Ids from here on were not read yet, of sources and of signals: they rise as names come.
    next: (i64, i64),
}

impl Names {
    /// Reads those that are not known yet.
    pub(crate) fn read(
        &mut self,
        connection: &Connection,
        session: i64,
        wanted: &dyn Fn(&str) -> bool,
        account: &mut ReadBudget,
    ) -> rusqlite::Result<()> {
        let mut share = account.part(NAMES_PERCENT);
        let mut statement = connection.prepare_cached(
            "SELECT id, name, unit, kind FROM signal WHERE session = ?1 AND id >= ?2",
        )?;
        let mut rows = statement.query([session, self.next.1])?;
        while let Some(row) = rows.next()? {
            let id: u32 = row.get(0)?;
            self.next.1 = i64::from(id) + 1;
            let name: String = row.get(1)?;
            if !wanted(&name) {
                continue;
            }
            if share.take(NAME_BYTES + name.len() as u64).is_err() {
                break;
            }
            let (unit, kind): (String, String) = (row.get(2)?, row.get(3)?);
            if let (Some(unit), Some(kind)) = (Unit::from_name(&unit), SignalKind::from_name(&kind))
            {
                self.signals.insert(id, (name, unit, kind));
            }
        }
        let mut statement = connection
            .prepare_cached("SELECT id, name FROM source WHERE session = ?1 AND id >= ?2")?;
        let mut rows = statement.query([session, self.next.0])?;
        while let Some(row) = rows.next()? {
            let id: u32 = row.get(0)?;
            self.next.0 = i64::from(id) + 1;
            let name: String = row.get(1)?;
            if share.take(NAME_BYTES + name.len() as u64).is_err() {
                break;
            }
            self.sources.insert(id.into(), name);
        }
        if share.is_over() {
            account.settle(&share);
        }
        Ok(())
    }
}

/// Where readings go in a timeline, and how many of them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TimelineTarget {
    /// Added to each moment, milliseconds; what would come before 0 is left out.
    pub(crate) shift: i64,
    /// Readings of a source that are closer together than this are left out, milliseconds.
    pub(crate) step: Millis,
    /// Of what is before this moment of the session's clock the last reading of a source is enough, milliseconds.
    pub(crate) whole_from: Millis,
}

/// What becomes of a tick.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tick {
    /// It is left out.
    Left,
    /// It comes at this moment of the timeline.
    At(Millis),
    /// So it does if no later one of its source is there to begin from.
    Before(Millis),
}

impl TimelineTarget {
    pub(crate) fn moved(&self, at: Millis) -> Option<Millis> {
        at.checked_add_signed(self.shift)
    }
}

/// Adds a session's readings of the wanted signals in a window to a timeline, as far as the account goes; answers with the
/// chunks that could not be read.
pub(crate) fn read_timeline(
    connection: &Connection,
    session: i64,
    window: Window,
    (place, wanted): (&TimelineTarget, &dyn Fn(&str) -> bool),
    (timeline, account): (&mut Timeline, &mut ReadBudget),
) -> rusqlite::Result<usize> {
    let mut chunks = ChunkReader::default();
    chunks.names.read(connection, session, wanted, account)?;
    let mut share = account.part(READINGS_PERCENT);
    let mut kept: HashMap<u64, Millis> = HashMap::new();
    let seconds = window.to.saturating_sub(window.from.max(place.whole_from)) / 1000;
    let mut statement = connection.prepare(
        "SELECT fresh, payload FROM chunk
         WHERE session = ?1 AND minute BETWEEN ?2 AND ?3 ORDER BY id",
    )?;
    let minutes = |at: Millis| i64::try_from(at / MINUTE_MS).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![session, minutes(window.from), minutes(window.to)])?;
    while let Some(row) = rows.next()? {
        if share.is_over() {
            break;
        }
        let mut take = |source: u64, at: Millis| -> Tick {
            let near = kept
                .get(&source)
                .is_some_and(|before| at < before.saturating_add(place.step));
            if at < window.from || at > window.to || near {
                return Tick::Left;
            }
            kept.insert(source, at);
            match place.moved(at) {
                Some(moved) if at < place.whole_from => Tick::Before(moved),
                Some(moved) => Tick::At(moved),
                None => Tick::Left,
            }
        };
        let chunk: (bool, Vec<u8>) = (row.get(0)?, row.get(1)?);
        chunks.read(chunk, &mut take, (timeline, &mut share));
        if seconds <= ROOM_SECONDS_MAX {
            make_room(timeline, seconds as usize + 2);
        }
    }
    // Another session may go on from there.
    let _ = chunks.begin_from((timeline, &mut share));
    account.settle(&share);
    Ok(chunks.damaged)
}

/// Makes room for a reading a second in each series that has them: a thousand that double as they grow leave as much memory
/// behind as they take in the end, and a recorder reads a minute each minute.
fn make_room(timeline: &mut Timeline, readings: usize) {
    for series in &mut timeline.series {
        let values = &mut series.values;
        if values.len() >= OFTEN_READ && values.capacity() < readings {
            values.reserve_exact(readings.saturating_sub(values.len()));
        }
    }
}

/// Reads a session's chunks in their order.
#[derive(Debug, Default)]
pub(crate) struct ChunkReader {
    pub(crate) names: Names,
    last: HashMap<u64, LastValues>,
    /// By source, the moment of its last tick, where that one is to begin from and is not in the timeline yet.
    begins: BTreeMap<u64, Millis>,
    /// After a damaged chunk the differences have no base until a chunk begins anew.
    skip: bool,
    /// Chunks that could not be read.
    pub(crate) damaged: usize,
}

impl ChunkReader {
    /// Reads the next one; `take` says where a tick of a source comes.
    pub(crate) fn read(
        &mut self,
        (fresh, payload): (bool, Vec<u8>),
        take: &mut impl FnMut(u64, Millis) -> Tick,
        (timeline, account): (&mut Timeline, &mut ReadBudget),
    ) {
        if fresh {
            // Afterwards nobody knows their values.
            let _ = self.begin_from((timeline, account));
            self.skip = false;
            self.last.clear();
        }
        self.skip = self.skip || self.chunk(&payload, take, (timeline, account)).is_none();
        if self.skip {
            self.begins.clear();
        }
        self.damaged += usize::from(self.skip && !account.is_over());
    }

    fn chunk(
        &mut self,
        payload: &[u8],
        take: &mut impl FnMut(u64, Millis) -> Tick,
        (timeline, account): (&mut Timeline, &mut ReadBudget),
    ) -> Option<()> {
        let mut input = payload;
        while !input.is_empty() {
            let id = take_varint(&mut input)?;
            let source = self.names.sources.get(&id)?;
            let at = take_varint(&mut input)?;
            let values = self.last.entry(id).or_default();
            let tick = take(id, at);
            if let Tick::At(_) = tick
                && let Some(begin) = self.begins.remove(&id)
            {
                push((source, begin), &self.names, values, (timeline, account))?;
            }
            decode_tick(values, &mut input)?;
            match tick {
                Tick::Left => {}
                Tick::Before(at) => {
                    self.begins.insert(id, at);
                }
                Tick::At(at) => push((source, at), &self.names, values, (timeline, account))?,
            }
        }
        Some(())
    }

    /// Adds the ticks that are to begin from, as far as the account goes.
    fn begin_from(&mut self, (timeline, account): (&mut Timeline, &mut ReadBudget)) -> Option<()> {
        for (id, at) in std::mem::take(&mut self.begins) {
            if let Some((source, values)) = self.names.sources.get(&id).zip(self.last.get(&id)) {
                push((source, at), &self.names, values, (timeline, account))?;
            }
        }
        Some(())
    }
}

/// Adds a tick with a source's wanted values.
fn push(
    (source, at): (&str, Millis),
    names: &Names,
    values: &LastValues,
    (timeline, account): (&mut Timeline, &mut ReadBudget),
) -> Option<()> {
    let readings = readings(names, values);
    if readings.is_empty() && !values.is_empty() {
        // None of this source is wanted.
        return Some(());
    }
    let bytes = tick_bytes(timeline, source, readings.len());
    account.take(bytes).ok()?;
    timeline.push_values(source, at, readings);
    Some(())
}

/// A wanted signal of a tick, and its value.
type Value<'a> = (&'a str, Unit, SignalKind, f64);

/// The wanted ones of a source's values, by id. A source may have hundreds, of which few are wanted: then these are looked
/// for, since a day has a hundred thousand ticks.
fn readings<'a>(names: &'a Names, values: &LastValues) -> Vec<Value<'a>> {
    let reading = |(name, unit, kind): &'a (String, Unit, SignalKind), value: f64| {
        (name.as_str(), *unit, *kind, value)
    };
    match names.signals.len() < values.len() {
        true => {
            let wanted = names.signals.iter();
            wanted
                .filter_map(|(id, named)| Some(reading(named, values.get(*id)?)))
                .collect()
        }
        false => values
            .iter()
            .filter_map(|(id, value)| Some(reading(names.signals.get(&id)?, value)))
            .collect(),
    }
}

/// What one more tick of a source takes: a place in each of its series, and more where there is a
/// series more.
fn tick_bytes(timeline: &Timeline, source: &str, readings: usize) -> u64 {
    let (series, ticks) = timeline.size_of(source);
    let new = readings.saturating_sub(series);
    let value = size_of::<f64>();
    let bytes = readings.max(series) * value + new * (ticks * value + size_of::<model::Series>());
    bytes as u64
}

pub(crate) fn bounds(window: Window) -> (i64, i64) {
    let ms = |at: Millis| i64::try_from(at).unwrap_or(i64::MAX);
    (ms(window.from), ms(window.to))
}

fn read_texts(
    connection: &Connection,
    session: i64,
    window: Window,
    account: &mut ReadBudget,
) -> rusqlite::Result<Vec<TimedText>> {
    let (from, to) = bounds(window);
    let mut statement = connection.prepare(
        "SELECT at_ms, kind, body FROM text
         WHERE session = ?1 AND at_ms BETWEEN ?2 AND ?3 ORDER BY at_ms",
    )?;
    let mut rows = statement.query(params![session, from, to])?;
    let mut texts = Vec::new();
    let mut share = account.part(TEXTS_PERCENT);
    while let Some(row) = rows.next()? {
        let Some(text) = text_of(row)? else { continue };
        if share.take(text_bytes(&text)).is_err() {
            break;
        }
        texts.push(text);
    }
    account.settle(&share);
    Ok(texts)
}

/// What a text takes.
pub(crate) fn text_bytes(timed: &TimedText) -> u64 {
    (timed.text.body().len() + 2 * size_of::<TimedText>()) as u64
}

/// The text with this number; nothing where it cannot be read.
pub(crate) fn read_text(connection: &Connection, id: i64) -> rusqlite::Result<Option<TimedText>> {
    connection
        .prepare_cached("SELECT at_ms, kind, body FROM text WHERE id = ?1")?
        .query_row([id], text_of)
}

/// Its moment, kind and packed text; nothing where it cannot be read.
pub(crate) fn text_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<TimedText>> {
    let (at, kind, packed): (i64, String, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let mut body = String::new();
    let unpacked = DeflateDecoder::new(&packed[..])
        .take(TEXT_BYTES_MAX)
        .read_to_string(&mut body);
    Ok(match (TextKind::from_name(&kind), unpacked) {
        (Some(kind), Ok(_)) => Some(TimedText {
            at: at.unsigned_abs(),
            text: server_text::stored(kind, &body),
        }),
        _ => None,
    })
}

/// The facts that held in the window: those read before it too, each the last one of its name.
pub(crate) fn read_facts(
    connection: &Connection,
    session: i64,
    window: Window,
    account: &mut ReadBudget,
) -> rusqlite::Result<Vec<TimedFact>> {
    let (from, to) = bounds(window);
    let mut statement = connection.prepare(
        "SELECT max(at_ms) AS at, name, value FROM fact
         WHERE session = ?1 AND at_ms < ?2 GROUP BY name
         UNION ALL
         SELECT at_ms AS at, name, value FROM fact WHERE session = ?1 AND at_ms BETWEEN ?2 AND ?3
         ORDER BY at",
    )?;
    let mut rows = statement.query(params![session, from, to])?;
    let mut facts = Vec::new();
    while let Some(row) = rows.next()? {
        let fact = fact_of(row)?;
        let bytes = fact.fact.name.len() + fact.fact.value.len() + 2 * size_of::<TimedFact>();
        if let Err(OverBudget) = account.take(bytes as u64) {
            break;
        }
        facts.push(fact);
    }
    Ok(facts)
}

/// Its moment, name and value.
pub(crate) fn fact_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<TimedFact> {
    Ok(TimedFact {
        at: row.get::<_, i64>(0)?.unsigned_abs(),
        fact: Fact {
            name: row.get(1)?,
            value: row.get(2)?,
        },
    })
}

pub(crate) fn read_absent(
    connection: &Connection,
    session: i64,
    window: Window,
    account: &mut ReadBudget,
) -> rusqlite::Result<Vec<TimedAbsent>> {
    let (from, to) = bounds(window);
    let mut statement = connection.prepare(
        "SELECT min(at_ms), max(at_ms), count(*), what, reason, detail FROM absent
         WHERE session = ?1 AND at_ms BETWEEN ?2 AND ?3 GROUP BY what, reason, detail",
    )?;
    let mut rows = statement.query(params![session, from, to])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let absent = absent_of(row)?;
        let letters = absent.absent.what.len() + absent.absent.detail.len();
        if let Err(OverBudget) = account.take((letters + 2 * size_of::<TimedAbsent>()) as u64) {
            break;
        }
        all.push(absent);
    }
    Ok(all)
}

/// The first and the last moment, how many, and what they are of: name, reason, detail.
pub(crate) fn absent_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<TimedAbsent> {
    let reason: String = row.get(4)?;
    let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
    Ok(TimedAbsent {
        first: number(0)?,
        last: number(1)?,
        count: number(2)?,
        absent: Absent {
            what: row.get(3)?,
            reason: serde_json::from_value(serde_json::Value::String(reason))
                .unwrap_or(Reason::Failed),
            detail: row.get(5)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_for_what_is_read_each_second() {
        let mut timeline = Timeline::default();
        for second in 0..12_u64 {
            let value = |name| (name, Unit::Count, SignalKind::Gauge, second as f64);
            timeline.push_values("often", second * 1000, [value("a.often")]);
            if second % 10 == 0 {
                timeline.push_values("seldom", second * 1000, [value("a.seldom")]);
            }
            make_room(&mut timeline, 77);
        }
        let capacity = |name: &str| timeline.get(name).map(|series| series.values.capacity());
        assert!(capacity("a.often").is_some_and(|room| (77..100).contains(&room)));
        assert!(capacity("a.seldom").is_some_and(|room| room < 10));
        let often = timeline.get("a.often").map(|series| series.values.len());
        assert_eq!(often, Some(12));
    }
}
